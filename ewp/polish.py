"""Improving a partition: re-seeding and breathing in the learned metric.

Annealing learns the weights reliably and the partition nearly; what it leaves are a few clusters
that share a centroid and a few that have two. With the weights held fixed that is a k-means
problem on the few features that matter, cheap enough to be searched well, from the annealed
centroids and from fresh k-means++ seeds, by `ewp.breathing`. What is found runs through the full
limit problem, weights included, and is kept if it lowers f_-inf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ewp.backend import Engine
from ewp.breathing import Points, breathe
from ewp.engine import ArrayEngine
from ewp.kernel import Array
from ewp.rules import WeightRule
from ewp.schedules import Hard
from ewp.solver import Solution, iterate
from ewp.starts import plus_plus

__all__ = ["FULL", "LIGHT", "NONE", "Effort", "polish"]


@dataclass(frozen=True)
class Effort:
    """How hard a polish looks.

    Attributes
    ----------
    rounds : int
        Largest number of searches in every metric.
    sharpness : tuple of float
        Powers of the learned weights in whose metrics partitions are searched, in turn, until none
        of them finds anything better.
    """

    rounds: int
    sharpness: tuple[float, ...]


NONE = Effort(0, ())
#: For fits that are many and need only be good enough to be compared.
LIGHT = Effort(1, (1.0,))
FULL = Effort(3, (1.0, 2.0))

#: Features with less than this share of the metric's spread are left out of the search.
_NEGLIGIBLE = 1e-6
#: Rows a cluster that the search looks at, and the fewest rows it is content with.
_ROWS_A_CLUSTER = 100
_FEWEST_ROWS = 2000
#: Largest copy of the data that the search may make.
_SEARCH_BYTES = 16 * 2**20


def _sample(engine: ArrayEngine, size: int, rng: np.random.Generator) -> np.ndarray:
    """Systematic sample of rows along the canonical order, by weight, repetitions included."""
    mass = np.ones(engine.n) if engine.sample_weight is None else engine.sample_weight
    cumulated = np.cumsum(mass[engine.order])
    points = (np.arange(size) + rng.random()) * (cumulated[-1] / size)
    return engine.order[np.minimum(np.searchsorted(cumulated, points, "right"), engine.n - 1)]


def _distinct(engine: ArrayEngine) -> tuple[np.ndarray, Array | None]:
    """One of all equal rows each, in canonical order, and how much they weigh together."""
    order, first = engine.canonical
    if engine.sample_weight is None and first.all():
        return order, None
    mass = np.ones(engine.n) if engine.sample_weight is None else engine.sample_weight
    together = np.add.reduceat(mass[order], np.flatnonzero(first))
    return order[first][together > 0], together[together > 0]


def _search_points(
    engine: ArrayEngine, k: int, weights: Array, rng: np.random.Generator
) -> tuple[Points, np.ndarray]:
    """Return the data in the coordinates ``sqrt(w_l) x_l`` on the features that matter."""
    share = engine.squares * weights
    used = np.flatnonzero(share > _NEGLIGIBLE * share.sum())
    if not len(used):
        used = np.array([int(np.argmax(weights))])
    most = min(_SEARCH_BYTES // (8 * len(used)), max(_ROWS_A_CLUSTER * k, _FEWEST_ROWS))
    most = max(most, 2 * k)
    rows, mass = _distinct(engine)
    if len(rows) > most:
        rows, mass = _sample(engine, most, rng), None
    return Points(engine.part(rows, used) * np.sqrt(weights[used]), mass), used


def polish(
    engine: Engine,
    solution: Solution,
    rule: WeightRule,
    rng: np.random.Generator,
    *,
    effort: Effort,
    known: Sequence[tuple[Array, Array]] = (),
    max_iter: int,
    tol: float,
) -> Solution:
    """Search for a better partition in the learned metric.

    Parameters
    ----------
    engine : Engine
    solution : Solution
        A fixed point of the limit problem.
    rule : WeightRule
    rng : Generator
    effort : Effort
    known : sequence of (centroids, weights)
        Candidates that were found before; they go first.
    max_iter, tol
        For the iterations of the limit problem, as in `ewp.solver.iterate`.

    Returns
    -------
    Solution
        The same solution, or one with a lower f_-inf whose trace goes on with phase "polish".
    """
    k = len(solution.theta)
    if k == 1:
        return solution

    def descend(where: Engine, theta: Array, weights: Array) -> Solution:
        return iterate(
            where, theta, weights, rule, Hard(), max_iter=max_iter, tol=tol, finish="polish"
        )

    for theta, weights in known:
        solution = _lower(solution, descend(engine, theta, weights))
    small = engine.small(k)
    if small is engine:
        return _rounds(small, solution, rule, rng, effort, descend)
    # the whole search in a sample; all rows are passed over only for what it found
    sample = _as_heavy(small, engine.total)
    begin = descend(sample, solution.theta, solution.weights)
    found = _rounds(sample, begin, rule, rng, effort, descend)
    if found is begin:
        return solution
    return _lower(solution, descend(engine, found.theta, found.weights))


def _rounds(
    engine: ArrayEngine,
    solution: Solution,
    rule: WeightRule,
    rng: np.random.Generator,
    effort: Effort,
    descend: Callable[[Engine, Array, Array], Solution],
) -> Solution:
    """Search and descend until no metric leads to anything lower."""
    metrics = effort.sharpness * effort.rounds
    failures = 0
    for power in metrics:
        candidate = descend(engine, *_search(engine, solution, power, rule, rng))
        better = _lower(solution, candidate)
        failures = failures + 1 if better is solution else 0
        if failures == len(effort.sharpness):
            break
        solution = better
    return solution


def _as_heavy(sample: ArrayEngine, total: float) -> ArrayEngine:
    """Return a sample that weighs as much as what it stands for, so that a penalty fits both."""
    assert sample.sample_weight is not None
    weight = sample.sample_weight * (total / sample.total)
    return ArrayEngine(
        sample.X,
        weight,
        center=sample.center,
        scale=sample.scale,
        n_jobs=sample.n_jobs,
        keep=False,  # the sample itself has a prepared copy already
    )


def _lower(solution: Solution, candidate: Solution) -> Solution:
    """Return the solution, or a candidate whose objective is lower, with the trace of both."""
    if not candidate.objective < solution.objective - 1e-9 * abs(solution.objective):
        return solution
    lower = [row for row in candidate.trace if row.f_inf <= solution.objective]
    candidate.trace = solution.trace + lower
    candidate.n_iter = len(candidate.trace) - 1
    return candidate


def _search(
    engine: ArrayEngine,
    solution: Solution,
    sharpness: float,
    rule: WeightRule,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Search the partition in the metric of the weights to a power: centroids and weights."""
    k = len(solution.theta)
    weights = solution.weights**sharpness
    weights /= weights.sum()
    metric = rule.metric(weights)
    points, used = _search_points(engine, k, metric, rng)
    seeds = [solution.theta[:, used] * np.sqrt(metric[used]), plus_plus(points, k, rng)]
    found = min((breathe(points, seed, rng) for seed in seeds), key=lambda c: c.error)
    # features left out start at their mean, without weight
    theta = np.zeros_like(solution.theta)
    theta[:, used] = found.theta / np.sqrt(metric[used])
    start = np.zeros_like(weights)
    start[used] = weights[used] / weights[used].sum()
    return theta, start
