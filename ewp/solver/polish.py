"""Improving a partition: re-seeding and breathing k-means in the learned metric.

Annealing learns the weights reliably and the partition nearly; what it leaves are a few clusters
that share a centroid and a few that have two. With the weights held fixed that is a k-means
problem on the few features that matter, cheap enough to be searched well, from the annealed
centroids and from fresh k-means++ seeds, by breathing k-means (Fritzke 2020): add centroids where
the error is largest, remove those that are missed least. The search is plain k-means on a small
array, run hundreds of times, so it does no more than it needs; distances are good to the last
digits of the rows' own lengths. What is found runs through the full limit problem, weights
included, and is kept if it lowers f_-inf.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csc_array
from scipy.spatial.distance import cdist

from ewp.common.types import Array
from ewp.engine.array import ArrayEngine
from ewp.engine.base import Engine, RowEngine
from ewp.solver.iterate import Solution, iterate
from ewp.solver.schedules import Hard
from ewp.solver.starts import draw, kmeans_plus_plus
from ewp.solver.weights import WeightRule

__all__ = [
    "KMeansState",
    "PolishEffort",
    "WeightedPoints",
    "breathing_kmeans",
    "polish",
]

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
#: Squared distances below this part of a row's squared length are rounding errors.
_ROUNDING = 1e-14
_SMALLEST = np.finfo(float).tiny
#: Distances of a block of rows should stay in a core's cache.
_BLOCK_BYTES = 2**20


@dataclass(frozen=True)
class PolishEffort:
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

    NONE: ClassVar[PolishEffort]
    #: For fits that are many and need only be good enough to be compared.
    LIGHT: ClassVar[PolishEffort]
    FULL: ClassVar[PolishEffort]


PolishEffort.NONE = PolishEffort(0, ())
PolishEffort.LIGHT = PolishEffort(1, (1.0,))
PolishEffort.FULL = PolishEffort(3, (1.0, 2.0))


def _sample(engine: RowEngine, size: int, rng: np.random.Generator) -> np.ndarray:
    """Systematic sample of rows along the canonical order, by weight, repetitions included."""
    mass = np.ones(engine.n) if engine.sample_weight is None else engine.sample_weight
    cumulated = np.cumsum(mass[engine.order])
    points = (np.arange(size) + rng.random()) * (cumulated[-1] / size)
    return engine.order[np.minimum(np.searchsorted(cumulated, points, "right"), engine.n - 1)]


def _distinct(engine: RowEngine) -> tuple[np.ndarray, Array | None]:
    """One of all equal rows each, in canonical order, and how much they weigh together."""
    order, first = engine.canonical
    if engine.sample_weight is None and first.all():
        return order, None
    mass = np.ones(engine.n) if engine.sample_weight is None else engine.sample_weight
    together = np.add.reduceat(mass[order], np.flatnonzero(first))
    return order[first][together > 0], together[together > 0]


def _search_points(
    engine: RowEngine, k: int, weights: Array, rng: np.random.Generator
) -> tuple[WeightedPoints, np.ndarray]:
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
    return WeightedPoints(engine.take(rows, used) * np.sqrt(weights[used]), mass), used


def polish(
    engine: Engine,
    solution: Solution,
    rule: WeightRule,
    rng: np.random.Generator,
    *,
    effort: PolishEffort,
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
    effort : PolishEffort
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
    small = engine.sample_for_starts(k)
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
    engine: RowEngine,
    solution: Solution,
    rule: WeightRule,
    rng: np.random.Generator,
    effort: PolishEffort,
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


def _as_heavy(sample: RowEngine, total: float) -> ArrayEngine:
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
    engine: RowEngine,
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
    seeds = [solution.theta[:, used] * np.sqrt(metric[used]), kmeans_plus_plus(points, k, rng)]
    found = min((breathing_kmeans(points, seed, rng) for seed in seeds), key=lambda c: c.error)
    # features left out start at their mean, without weight
    theta = np.zeros_like(solution.theta)
    theta[:, used] = found.theta / np.sqrt(metric[used])
    start = np.zeros_like(weights)
    start[used] = weights[used] / weights[used].sum()
    return theta, start


@dataclass(frozen=True)
class KMeansState:
    """Centroids, the nearest one of every row with its squared distance, and their weighted sum."""

    theta: Array
    labels: np.ndarray
    nearest: Array
    error: float


class WeightedPoints:
    """Rows in an order that depends on their values only, with their weights.

    Parameters
    ----------
    X : ndarray of shape (m, q)
        Centred rows, already multiplied by the roots of the weights of the features.
    mass : ndarray of shape (m,) or None
        Weights of the rows, all positive.
    """

    def __init__(self, X: Array, mass: Array | None) -> None:
        self.X = X
        self.mass = np.ones(len(X)) if mass is None else mass
        self._extended = np.column_stack([X, np.ones(len(X))])
        self._length = np.einsum("il,il->i", X, X)
        squares = self.mass @ X**2
        varying = squares > 0
        total = float(self.mass.sum())
        self._precision = varying * total / np.where(varying, squares, 1.0) / X.shape[1]

    def take(self, index: np.ndarray) -> Array:
        """Return rows."""
        return self.X[index]

    def draw(self, mass: Array, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw row numbers with probabilities proportional to `mass`."""
        return draw(mass, rng, size)

    def distances(self, theta: Array) -> Array:
        """Squared distances to a few centroids, an (m, t) array."""
        found = self._extended @ _augmented(theta)
        found += self._length[:, None]
        found[found < _ROUNDING * self._length[:, None]] = 0.0
        return found

    def assign(self, theta: Array) -> KMeansState:
        """Nearest centroid of every row."""
        labels, nearest, _ = self._rank(theta, second=False)
        return KMeansState(theta, labels, nearest, float(self.mass @ nearest))

    def second(self, theta: Array) -> tuple[np.ndarray, Array]:
        """Nearest centroid of every row, and how much farther away the next one is."""
        labels, nearest, farther = self._rank(theta, second=True)
        return labels, farther - nearest

    def _rank(self, theta: Array, *, second: bool) -> tuple[np.ndarray, Array, Array]:
        product = _augmented(theta)
        m, k = len(self.X), len(theta)
        labels = np.empty(m, dtype=np.intp)
        nearest, farther = np.empty(m), np.empty(m if second else 0)
        size = min(max(_BLOCK_BYTES // (8 * k), 64), m)
        buffer, each = np.empty((size, k)), np.arange(size)
        for start in range(0, m, size):
            rows = slice(start, min(start + size, m))
            count = rows.stop - start
            distance = np.matmul(self._extended[rows], product, out=buffer[:count])
            first = distance.argmin(axis=1)
            labels[rows] = first
            nearest[rows] = distance[each[:count], first]
            if second:
                distance[each[:count], first] = np.inf
                farther[rows] = distance.min(axis=1)
        nearest += self._length
        # what is left of a row's own length is rounding error
        nearest[nearest < _ROUNDING * self._length] = 0.0
        if second:
            farther += self._length
        return labels, nearest, farther

    def lloyd(self, theta: Array) -> KMeansState:
        """Lloyd's iteration, until centroids move by less than a hundredth of the spread."""
        found = self.assign(theta)
        for _ in range(_LLOYD_ITER):
            new = self._means(found)
            moved = math.sqrt(float((((new - found.theta) ** 2) @ self._precision).sum()))
            if moved <= _LLOYD_TOL:
                break
            found = self.assign(new)
        return found

    def _means(self, found: KMeansState) -> Array:
        """Means of the clusters; an empty one moves to the row that is fitted worst."""
        k, m = len(found.theta), len(self.X)
        member = csc_array((self.mass, found.labels, np.arange(m + 1)), shape=(k, m))
        sums: Array = member @ self._extended
        mass = sums[:, -1:]
        if mass.all():
            return sums[:, :-1] / mass
        new = np.divide(sums[:, :-1], mass, out=found.theta.copy(), where=mass > 0)
        nearest = found.nearest
        for j in np.flatnonzero(mass == 0):
            worst = int(np.argmax(nearest))
            new[j] = self.X[worst]
            nearest = np.minimum(nearest, self.distances(new[j : j + 1])[:, 0])
        return new


def _augmented(theta: Array) -> Array:
    """What rows with a last 1 are multiplied by: distances but for the rows' own lengths."""
    return np.vstack([-2.0 * theta.T, np.einsum("jl,jl->j", theta, theta)])


def _ascending(values: np.ndarray) -> np.ndarray:
    """Order of values; those that differ by rounding errors keep theirs.

    Two rows that are each other's nearest are missed alike: which one goes may not depend on the
    order in which sums were taken.
    """
    return np.argsort(np.round(values / max(np.abs(values).max(), _SMALLEST), 9), kind="stable")


def _add_centroids(
    points: WeightedPoints, found: KMeansState, count: int, rng: np.random.Generator
) -> Array:
    """Give the clusters with the largest errors a second centroid, at one of their worse rows."""
    error = points.mass * found.nearest
    share = np.bincount(found.labels, error, len(found.theta))
    worst = _ascending(-share)[:count]
    rows = [points.draw(np.where(found.labels == j, error, 0.0), rng, 1)[0] for j in worst]
    return np.vstack([found.theta, points.take(np.array(rows))])


def _remove_centroids(points: WeightedPoints, theta: Array, count: int) -> Array:
    """Drop the centroids that are missed least, never two neighbours at once."""
    labels, missed = points.second(theta)
    utility = np.bincount(labels, points.mass * missed, len(theta))
    gaps = cdist(theta, theta, "sqeuclidean")
    np.fill_diagonal(gaps, np.inf)
    spared: set[int] = set()
    dropped: list[int] = []
    order = _ascending(utility)
    for j in order:
        if len(dropped) < count and int(j) not in spared:
            dropped.append(int(j))
            spared.add(int(gaps[j].argmin()))
    for j in order:  # with very few clusters everything is somebody's neighbour
        if len(dropped) < count and int(j) not in dropped:
            dropped.append(int(j))
    return np.delete(theta, dropped, axis=0)


def breathing_kmeans(points: WeightedPoints, theta: Array, rng: np.random.Generator) -> KMeansState:
    """Add and remove centroids as long as the error falls, fewer at once when it does not.

    Parameters
    ----------
    points : WeightedPoints
    theta : ndarray of shape (k, q)
        Centroids to start from.
    rng : Generator

    Returns
    -------
    KMeansState
        The best partition found, of the same number of clusters.

    References
    ----------
    Fritzke, B. (2020). The breathing k-means algorithm. arXiv:2006.15666.
    """
    best = points.lloyd(theta)
    depth = min(_DEPTH, 1 + len(theta) // 4)
    while depth:
        wider = points.lloyd(_add_centroids(points, best, depth, rng))
        trial = points.lloyd(_remove_centroids(points, wider.theta, depth))
        if trial.error < best.error * (1 - _WORTHWHILE):
            best = trial
        else:
            depth //= 2
    return best
