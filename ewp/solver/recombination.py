"""Recombining partitions: children of two that are good, and what they lead to.

Where the starts of a fit do not agree, what one of them missed another has often found. A child
takes every centroid from one or the other of two parents, whose centroids are matched first
(Gribel and Vidal 2019, whose recipe this is, for weights that are not learned). Weights have traps
of their own: with few features weighted a partition is best that keeps them few. So some children
make a detour, by a smaller or larger penalty, and some begin afresh in a metric of random weights.
Every child descends, to where no move of a single row helps, and the lowest survive.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from ewp.common.types import Array
from ewp.engine.base import RowEngine
from ewp.solver.iterate import Solution, iterate_runs
from ewp.solver.polish import search
from ewp.solver.row_moves import Ends, RowMoves
from ewp.solver.schedules import Hard
from ewp.solver.starts import choose_starts, draw, seed_numbers
from ewp.solver.weights import RelativeEntropy

__all__ = ["Recombined", "recombine"]

#: Children of a generation, by how they come about; survivors of a generation.
_CROSSED, _DETOURS, _FRESH = 4, 3, 1
_SURVIVORS = 10
#: Generations in a row without anything lower, after which there are no more.
_PATIENCE = 5
#: Penalties of detours, as multiples of the fit's, their steps, and how near they come to an end.
_DETOUR, _DETOUR_STEPS, _DETOUR_TOL = (0.25, 4.0), 8, 1e-3
#: Passes of a child in which all rows go to their nearest centroids.
_STEPS = 2
#: Shares of crossed children whose partition is improved before rows move, and whose weights are
#: the geometric means of their parents'.
_IMPROVED, _MEAN_WEIGHTS = 0.5, 0.3


class Recombined(NamedTuple):
    """The lowest of all children and parents, and how many children there were."""

    theta: Array
    weights: Array
    objective: float
    children: int


def recombine(
    engine: RowEngine,
    rule: RelativeEntropy,
    moves: RowMoves,
    parents: Ends,
    rng: np.random.Generator,
    *,
    most: int,
    same: float,
    breathes: bool,
    on_step: Callable[[int], None] | None = None,
) -> Recombined:
    """Recombine partitions as long as that leads lower.

    Parameters
    ----------
    engine : RowEngine
    rule : RelativeEntropy
        Of one run.
    moves : RowMoves
        The rows of the engine.
    parents : Ends
        Partitions that no move of a single row improves.
    rng : Generator
    most : int
        Children.
    same : float
        Objectives that differ by less are the same.
    breathes : bool
        Whether partitions are improved by breathing k-means; if not, a centroid moves.
    on_step : callable, optional
        Called with the number of children that descend.

    References
    ----------
    Gribel, D. and Vidal, T. (2019). HG-means: A scalable hybrid genetic algorithm for minimum
    sum-of-squares clustering. *Pattern Recognition* 88, 569-583.
    """
    pool = _survivors(parents, same)
    made = failures = 0
    while made < most and failures < _PATIENCE:
        lowest = float(pool.objective[0])
        theta, weights = _children(engine, rule, moves, pool, rng, breathes=breathes)
        if on_step is not None:
            on_step(len(theta))
        pool = _survivors(pool.join(moves.descend(theta, weights, steps=_STEPS)), same)
        failures = 0 if pool.objective[0] < lowest - same else failures + 1
        made += len(theta)
    return Recombined(pool.theta[0], pool.weights[0], float(pool.objective[0]), made)


def _survivors(ends: Ends, same: float) -> Ends:
    """The lowest of those that differ, in increasing order."""
    kept: list[int] = []
    for i in np.argsort(ends.objective, kind="stable").tolist():
        if not kept or ends.objective[i] > ends.objective[kept[-1]] + same:
            kept.append(i)
        if len(kept) == _SURVIVORS:
            break
    return ends.take(np.array(kept))


def _children(
    engine: RowEngine,
    rule: RelativeEntropy,
    moves: RowMoves,
    pool: Ends,
    rng: np.random.Generator,
    *,
    breathes: bool,
) -> tuple[Array, Array]:
    """Centroids and weights from which the next generation descends."""
    k = pool.theta.shape[1]
    pairs = [_pair(len(pool.objective), rng) for _ in range(_CROSSED + _DETOURS)]
    crossed = [_cross(pool, first, second, rng) for first, second in pairs]
    theta = np.array([one for one, _ in crossed])
    weights = np.array([one for _, one in crossed])
    for i in np.flatnonzero(rng.random(_CROSSED) < _IMPROVED).tolist():
        if breathes:
            begun = Solution(theta[i], weights[i], np.inf)
            theta[i], weights[i] = search(engine, begun, 1.0, rule, rng)
        else:
            theta[i] = _move_one(moves, theta[i], rule.metric(weights[i : i + 1]), rng)
    low, high = np.log(_DETOUR)
    factors = np.exp(rng.uniform(low, high, _DETOURS))
    detour = dataclasses.replace(rule, lam=(rule.lam * factors)[:, None])
    ended = iterate_runs(
        engine,
        theta[_CROSSED:],
        weights[_CROSSED:],
        detour,
        Hard(),
        max_iter=_DETOUR_STEPS,
        tol=_DETOUR_TOL,
        trace=False,
    )
    own = moves.random_weights(_FRESH, rng)
    numbers = seed_numbers(rng, _FRESH, k)
    fresh = choose_starts(engine, k, "k-means++", rule.metric(own), numbers)
    return (
        np.concatenate([theta[:_CROSSED], ended.theta, fresh]),
        np.concatenate([weights[:_CROSSED], ended.weights, own]),
    )


def _pair(count: int, rng: np.random.Generator) -> tuple[int, int]:
    """Two of the parents, the same one twice if there is no other."""
    first = int(rng.integers(count))
    return first, (first + int(rng.integers(1, count))) % count if count > 1 else first


def _cross(pool: Ends, first: int, second: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Every centroid from one or the other of two parents, and weights."""
    theta, weights = pool.theta[[first, second]], pool.weights[[first, second]]
    root = np.sqrt(weights.mean(axis=0))
    _, match = linear_sum_assignment(cdist(theta[0] * root, theta[1] * root, "sqeuclidean"))
    chosen = rng.random(len(match)) < 0.5
    child = np.where(chosen[:, None], theta[0], theta[1][match])
    own, which = weights[int(rng.integers(2))], rng.random()
    mean = np.sqrt(weights[0] * weights[1])
    if which < _MEAN_WEIGHTS and mean.any():
        own = mean / mean.sum()
    return child, own


def _move_one(moves: RowMoves, theta: Array, metric: Array, rng: np.random.Generator) -> Array:
    """Move one centroid to a row that is drawn by its distance from the others."""
    leaving = int(rng.integers(len(theta)))
    rest = np.delete(theta, leaving, axis=0)
    error = moves.mass * moves.distances(rest[None], metric)[0].min(axis=0)
    moved = theta.copy()
    moved[leaving] = moves.X[draw(error, rng.random(1))[0]]
    return moved
