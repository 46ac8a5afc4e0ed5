"""Starting centroids: k-means++, random rows or the user's own.

Rows are drawn by inverting their cumulated weights in the engine's canonical order, which depends
on the rows' values and not on their positions. So a row of weight 2 has the chances of that row
given twice, and the same seed finds the same start when rows are shuffled.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ewp.common.types import Array
from ewp.engine.base import RowEngine

__all__ = [
    "SeedRows",
    "choose_start",
    "draw",
    "kmeans_plus_plus",
]


def draw(mass: Array, rng: np.random.Generator, size: int) -> np.ndarray:
    """Draw positions with probabilities proportional to `mass`."""
    cumulated = np.cumsum(mass)
    position = np.searchsorted(cumulated, rng.random(size) * cumulated[-1], side="right")
    return np.minimum(position, len(mass) - 1)


class SeedRows(Protocol):
    """Rows among which k-means++ chooses."""

    @property
    def mass(self) -> Array:
        """Weights of the rows."""

    def draw(self, mass: Array, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw row numbers with probabilities proportional to `mass`."""

    def take(self, index: np.ndarray) -> Array:
        """Return rows."""

    def distances(self, theta: Array) -> Array:
        """Squared distances of all rows to some centroids, an (n, t) array."""


class _EngineRows:
    """The rows of an engine in a metric."""

    def __init__(self, engine: RowEngine, weights: Array) -> None:
        self._engine, self._weights = engine, weights
        given = engine.sample_weight
        self.mass = np.ones(engine.n) if given is None else given
        self._lengths = engine.lengths(weights)

    def draw(self, mass: Array, rng: np.random.Generator, size: int) -> np.ndarray:
        order = self._engine.order
        return order[draw(mass[order], rng, size)]

    def take(self, index: np.ndarray) -> Array:
        return self._engine.rows(index)

    def distances(self, theta: Array) -> Array:
        return self._engine.distances(theta, self._weights, self._lengths)


def kmeans_plus_plus(rows: SeedRows, k: int, rng: np.random.Generator) -> Array:
    """Greedy k-means++ seeding (Arthur & Vassilvitskii 2007).

    Every new centroid is the best of 2 + log k rows drawn with probabilities proportional to
    their weight times their squared distance to the centroids chosen so far.
    """
    trials = 2 + int(np.log(k))
    theta = rows.take(rows.draw(rows.mass, rng, 1))
    nearest = rows.distances(theta)[:, 0]
    for _ in range(1, k):
        potential = rows.mass * nearest
        if not potential.any():  # the rest cannot be told apart in this metric
            potential = rows.mass
        candidates = rows.take(rows.draw(potential, rng, trials))
        distance = rows.distances(candidates)
        np.minimum(distance, nearest[:, None], out=distance)
        left = rows.mass @ distance
        # of two rows that are each other's nearest either leaves the same: the first one drawn
        best = int(np.argmax(left <= left.min() * (1 + 1e-10)))
        theta = np.vstack([theta, candidates[best]])
        nearest = distance[:, best].copy()
    return theta


def _random_rows(engine: RowEngine, k: int, rng: np.random.Generator) -> Array:
    """Draw k distinct rows, with probabilities proportional to their weights."""
    order = engine.order
    mass = np.ones(engine.n) if engine.sample_weight is None else engine.sample_weight.copy()
    chosen = []
    for _ in range(k):
        row = order[draw(mass[order], rng, 1)[0]]
        chosen.append(row)
        mass[(engine.X[row] == engine.X).all(axis=1)] = 0.0
    return engine.rows(np.array(chosen))


def choose_start(
    engine: RowEngine,
    k: int,
    init: str | Array,
    weights: Array,
    rng: np.random.Generator,
) -> Array:
    """Starting centroids in the engine's coordinates.

    Parameters
    ----------
    engine : RowEngine
    k : int
    init : {"k-means++", "random"} or ndarray of shape (k, p)
        An array is in data units.
    weights : ndarray of shape (p,)
        Metric for k-means++.
    rng : Generator
    """
    if not isinstance(init, str):
        return engine.to_engine_units(init)
    if init == "random":
        return _random_rows(engine, k, rng)
    return kmeans_plus_plus(_EngineRows(engine, weights), k, rng)
