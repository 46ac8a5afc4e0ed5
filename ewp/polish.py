"""Improving a partition: re-seeding and breathing in the learned metric.

Annealing learns the weights reliably and the partition nearly; what it leaves are a few clusters
that share a centroid and a few that have two. With the weights held fixed that is a k-means
problem on the few features that matter, cheap enough to be searched well: from the annealed
centroids and from fresh k-means++ seeds, centroids are added where the error is largest, removed
where they are missed least, and moved by Lloyd's iteration, as in Fritzke's breathing k-means
(2020). The best candidates then run through the full limit problem, weights included, and one is
kept if it lowers f_-inf.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from ewp.backend import Engine
from ewp.engine import ArrayEngine
from ewp.kernel import Array
from ewp.rules import FixedWeights, WeightRule
from ewp.schedules import Hard
from ewp.solver import Solution, iterate
from ewp.starts import draw_rows, plus_plus

__all__ = ["FULL", "LIGHT", "NONE", "Effort", "polish"]


@dataclass(frozen=True)
class Effort:
    """How hard a polish looks.

    Attributes
    ----------
    rounds : int
        Largest number of rounds; the search also ends with the first that finds nothing.
    sharpness : tuple of float
        Powers of the learned weights in whose metrics partitions are searched in a round.
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
_LLOYD_ITER = 10
_LLOYD_TOL = 1e-2
#: Centroids added and removed at once.
_DEPTH = 5
#: Relative fall of the error below which breathing goes no deeper.
_WORTHWHILE = 1e-3


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


def _search_engine(
    engine: ArrayEngine, k: int, weights: Array, rng: np.random.Generator
) -> tuple[ArrayEngine, np.ndarray]:
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
    X = np.empty((len(rows), len(used)))
    for start in range(0, len(rows), 256):
        part = slice(start, start + 256)
        X[part] = engine.rows(rows[part])[:, used] * np.sqrt(weights[used])
    return ArrayEngine(X, mass, center=np.zeros(len(used)), n_jobs=engine.n_jobs), used


def _lloyd(engine: ArrayEngine, theta: Array) -> Solution:
    ones = np.ones(engine.p)
    return iterate(
        engine, theta, ones, FixedWeights(ones), Hard(), max_iter=_LLOYD_ITER, tol=_LLOYD_TOL
    )


def _split(engine: ArrayEngine, theta: Array, count: int, rng: np.random.Generator) -> Array:
    """Give the clusters with the largest errors a second centroid, at one of their worse rows."""
    labels, error = engine.assign(theta, np.ones(engine.p))
    if engine.sample_weight is not None:
        error = error * engine.sample_weight
    worst = np.argsort(-np.bincount(labels, error, len(theta)), kind="stable")[:count]
    rows = [draw_rows(engine, np.where(labels == j, error, 0.0), rng, 1)[0] for j in worst]
    return np.vstack([theta, engine.rows(np.array(rows))])


def _remove(engine: ArrayEngine, theta: Array, count: int) -> Array:
    """Drop the centroids that are missed least, never two neighbours at once."""
    labels, nearest, second = engine.two_nearest(theta, np.ones(engine.p))
    missed = second - nearest
    if engine.sample_weight is not None:
        missed *= engine.sample_weight
    utility = np.bincount(labels, missed, len(theta))
    gaps = cdist(theta, theta, "sqeuclidean")
    np.fill_diagonal(gaps, np.inf)
    spared: set[int] = set()
    dropped: list[int] = []
    order = np.argsort(utility, kind="stable")
    for j in order:
        if len(dropped) < count and int(j) not in spared:
            dropped.append(int(j))
            spared.add(int(gaps[j].argmin()))
    for j in order:  # with very few clusters everything is somebody's neighbour
        if len(dropped) < count and int(j) not in dropped:
            dropped.append(int(j))
    return np.delete(theta, dropped, axis=0)


def _breathe(engine: ArrayEngine, start: Solution, rng: np.random.Generator) -> Solution:
    """Add and remove centroids as long as the error falls, fewer at once when it does not."""
    best = start
    k = len(start.theta)
    depth = min(_DEPTH, 1 + k // 4)
    while depth:
        wider = _lloyd(engine, _split(engine, best.theta, depth, rng))
        trial = _lloyd(engine, _remove(engine, wider.theta, depth))
        if trial.objective < best.objective * (1 - _WORTHWHILE):
            best = trial
        else:
            depth //= 2
    return best


def polish(
    engine: Engine,
    solution: Solution,
    rule: WeightRule,
    rng: np.random.Generator,
    *,
    effort: Effort,
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
    """Search and descend until a round finds nothing lower."""
    for _ in range(effort.rounds):
        starts = [_search(engine, solution, power, rule, rng) for power in effort.sharpness]
        candidate = min((descend(engine, *start) for start in starts), key=lambda c: c.objective)
        better = _lower(solution, candidate)
        if better is solution:
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
    search, used = _search_engine(engine, k, metric, rng)
    ones = np.ones(search.p)
    seeds = [
        solution.theta[:, used] * np.sqrt(metric[used]),
        plus_plus(search, k, ones, rng),
    ]
    found = min(
        (_breathe(search, _lloyd(search, seed), rng) for seed in seeds),
        key=lambda c: c.objective,
    )
    # features left out start at their mean, without weight
    theta = np.zeros_like(solution.theta)
    theta[:, used] = found.theta / np.sqrt(metric[used])
    start = np.zeros_like(weights)
    start[used] = weights[used] / weights[used].sum()
    return theta, start
