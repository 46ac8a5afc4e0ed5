"""Starting centroids: k-means++, random rows or the user's own.

Rows are drawn by inverting their cumulated weights in the engine's canonical order, which depends
on the rows' values and not on their positions. So a row of weight 2 has the chances of that row
given twice, and the same seed finds the same start when rows are shuffled. The starts of many runs
are drawn together, each from numbers of its own: a start does not depend on those beside it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ewp.common.types import Array
from ewp.engine.base import RowEngine, RowMass

__all__ = [
    "SeedRows",
    "choose_start",
    "choose_starts",
    "draw",
    "draw_runs",
    "kmeans_plus_plus",
    "seed_numbers",
]

#: Distances of the candidates of so many entries are held at once.
_AT_ONCE = 2**21
#: Up to so many rows are counted through for a place among them: the calls of a search take longer.
_FEW_ROWS = 2000


def draw(mass: Array, uniform: Array) -> np.ndarray:
    """Positions with probabilities proportional to `mass`, for uniform numbers in [0, 1)."""
    cumulated = np.cumsum(mass, dtype=np.float64)
    position = np.searchsorted(cumulated, uniform * cumulated[-1], side="right")
    return np.minimum(position, len(mass) - 1)


def draw_runs(mass: Array, uniform: Array) -> np.ndarray:
    """`draw` in several runs, (runs, n) and (runs, trials), all at once where rows are few."""
    if mass.shape[1] > _FEW_ROWS:
        return np.array([draw(one, u) for one, u in zip(mass, uniform, strict=True)])
    cumulated = np.cumsum(mass, axis=1)
    asked = uniform * cumulated[:, -1:]
    position = np.empty(uniform.shape, dtype=np.intp)
    for j in range(uniform.shape[1]):
        position[:, j] = np.count_nonzero(cumulated <= asked[:, j : j + 1], axis=1)
    return np.minimum(position, mass.shape[1] - 1)


def seed_numbers(rng: np.random.Generator, runs: int, k: int) -> Array:
    """Uniform numbers for the starts of some runs, (runs, k, trials).

    A generator that is asked for the starts one after the other, or for some at a time, gives the
    same numbers.
    """
    return rng.random((runs, k, 2 + int(np.log(k))))


class SeedRows(Protocol):
    """Rows among which k-means++ chooses, for some runs that may differ in weights and metric."""

    @property
    def mass(self) -> Array:
        """Weights of the rows, (n,) or (runs, n)."""

    @property
    def order(self) -> np.ndarray | slice:
        """Order of the rows in which they are drawn."""

    def take(self, index: np.ndarray) -> Array:
        """Return rows, by an array of numbers of any shape."""

    def distances(self, theta: Array, runs: slice) -> Array:
        """Squared distances of all rows to some centroids of each of some runs, (runs, t, n)."""


class _EngineRows:
    """The rows of an engine in the metrics of some runs."""

    def __init__(self, engine: RowEngine, weights: Array, mass: RowMass | None) -> None:
        self._engine, self._weights = engine, weights
        given = engine.sample_weight
        if mass is not None:
            self.mass = mass.table[mass.index]
        else:
            self.mass = np.ones(engine.n) if given is None else given
        self._lengths = engine.lengths_of_runs(weights)

    @property
    def order(self) -> np.ndarray:
        return self._engine.order

    def take(self, index: np.ndarray) -> Array:
        return self._engine.seeds(index.ravel()).reshape(*index.shape, -1)

    def distances(self, theta: Array, runs: slice) -> Array:
        weights, lengths = self._weights[runs], self._lengths[runs]
        return self._engine.distances_of_runs(theta, weights, lengths)


def kmeans_plus_plus(rows: SeedRows, k: int, uniform: Array) -> Array:
    """Greedy k-means++ seeding (Arthur & Vassilvitskii 2007) of some runs.

    Every new centroid is the best of 2 + log k rows drawn with probabilities proportional to
    their weight times their squared distance to the centroids chosen so far.

    Parameters
    ----------
    rows : SeedRows
    k : int
    uniform : ndarray of shape (runs, k, 2 + log k)
        From `seed_numbers`.

    Returns
    -------
    ndarray of shape (runs, k, p)
    """
    n = rows.mass.shape[-1]
    size = max(_AT_ONCE // (n * uniform.shape[2]), 1)
    parts = [
        _seed_runs(rows, k, uniform[start : start + size], slice(start, start + size))
        for start in range(0, len(uniform), size)
    ]
    return np.concatenate(parts)


def _seed_runs(rows: SeedRows, k: int, uniform: Array, runs: slice) -> Array:
    """Seed some of the runs."""
    count = len(uniform)
    mass = rows.mass if rows.mass.ndim == 1 else rows.mass[runs]
    each = np.broadcast_to(mass, (count, mass.shape[-1]))
    first = draw_runs(each[:, rows.order], uniform[:, 0, :1])
    chosen = rows.take(_numbers(rows, first))
    theta = np.empty((count, k, chosen.shape[-1]))
    theta[:, 0] = chosen[:, 0]
    nearest = rows.distances(chosen, runs)[:, 0]
    here = np.arange(count)
    for j in range(1, k):
        potential = mass * nearest
        nothing = ~potential.any(axis=1)
        if nothing.any():  # the rest cannot be told apart in this metric
            potential[nothing] = each[nothing]
        potential = potential[:, rows.order]
        drawn = draw_runs(potential, uniform[:, j])
        candidates = rows.take(_numbers(rows, drawn))
        distance = rows.distances(candidates, runs)
        np.minimum(distance, nearest[:, None, :], out=distance)
        left = (
            np.matmul(distance, mass) if mass.ndim == 1 else np.einsum("btn,bn->bt", distance, mass)
        )
        # of two rows that are each other's nearest either leaves the same: the first one drawn
        best = np.argmax(left <= left.min(axis=1, keepdims=True) * (1 + 1e-10), axis=1)
        theta[:, j] = candidates[here, best]
        nearest = distance[here, best]
    return theta


def _numbers(rows: SeedRows, position: np.ndarray) -> np.ndarray:
    """Numbers of the rows at some positions of their order."""
    return position if isinstance(rows.order, slice) else rows.order[position]


def _random_rows(engine: RowEngine, k: int, uniform: Array, mass: Array | None) -> Array:
    """Draw k distinct rows, with probabilities proportional to their weights."""
    order = engine.order
    given = engine.sample_weight if mass is None else mass
    left = np.ones(engine.n) if given is None else given.copy()
    chosen = []
    for j in range(k):
        row = order[draw(left[order], uniform[j, :1])[0]]
        chosen.append(row)
        left[engine.equal_rows(int(row))] = 0.0
    return engine.seeds(np.array(chosen))


def choose_starts(
    engine: RowEngine,
    k: int,
    init: str,
    weights: Array,
    uniform: Array,
    mass: RowMass | None = None,
) -> Array:
    """Starting centroids of some runs in the engine's coordinates.

    Parameters
    ----------
    engine : RowEngine
    k : int
    init : {"k-means++", "random"}
    weights : ndarray of shape (runs, p)
        Metrics for k-means++.
    uniform : ndarray of shape (runs, k, 2 + log k)
        From `seed_numbers`.
    mass : RowMass, optional
        Weights of the rows in every run.

    Returns
    -------
    ndarray of shape (runs, k, p)
    """
    if init == "random":
        own = [None] * len(uniform) if mass is None else mass.table[mass.index]
        return np.array(
            [_random_rows(engine, k, u, one) for u, one in zip(uniform, own, strict=True)]
        )
    return kmeans_plus_plus(_EngineRows(engine, weights, mass), k, uniform)


def choose_start(
    engine: RowEngine, k: int, init: str | Array, weights: Array, rng: np.random.Generator
) -> Array:
    """Starting centroids of one run, (k, p), see `choose_starts`; an array is in data units."""
    if not isinstance(init, str):
        return engine.to_engine_units(init)
    return choose_starts(engine, k, init, weights[None], seed_numbers(rng, 1, k))[0]
