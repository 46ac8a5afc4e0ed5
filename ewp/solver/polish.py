"""Improving partitions: swaps of centroids, re-seeding, and breathing k-means.

Annealing learns the weights reliably and the partition nearly. What it leaves are a few clusters
that share a centroid and a few that have two, and starts that ended beside the best optimum. With
few clusters the cure is to move one centroid to a row that is fitted badly, or to draw the
centroids anew in the learned metric, and to go down from there; the proposals of many runs go down
together. With many clusters such single moves hardly ever help: there the partition is searched as
a k-means problem on the few features that matter (`ewp.solver.breathing`), from the annealed
centroids and from fresh seeds. What is found runs through the full limit problem, weights included,
and is kept if it lowers f_-inf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ewp.common.types import Array
from ewp.engine.base import Engine, RowEngine, RowMass
from ewp.engine.divergence import SQUARED_EUCLIDEAN
from ewp.engine.precision import DOUBLE, PRECISION
from ewp.engine.sparse import SparseEngine
from ewp.solver.breathing import SparsePoints, WeightedPoints, breathing_kmeans
from ewp.solver.iterate import Solution, iterate, iterate_runs
from ewp.solver.schedules import Hard
from ewp.solver.starts import choose_starts, draw_runs, kmeans_plus_plus, seed_numbers
from ewp.solver.weights import WeightRule

__all__ = [
    "PolishEffort",
    "distinct_rows",
    "first_lowest",
    "lower",
    "polish",
    "polish_runs",
    "polishes_together",
    "search",
]

#: Up to so many clusters partitions are improved by moving single centroids.
_FEW_CLUSTERS = 7
#: Features with less than this share of the metric's spread are left out of the search.
_NEGLIGIBLE = 1e-6
#: Rows a cluster that the search looks at, and the fewest rows it is content with.
_ROWS_A_CLUSTER = 100
_FEWEST_ROWS = 2000
#: Largest copy of the data that the search may make.
_SEARCH_BYTES = 16 * 2**20
#: Distances of so many pairs of a row and a centroid are held at once.
_PAIRS_AT_ONCE = 2**20
#: Objectives that differ by less than this share are equal, unless said otherwise.
_ROUNDING = PRECISION[DOUBLE].objective


@dataclass(frozen=True)
class PolishEffort:
    """How hard a polish looks.

    Attributes
    ----------
    rounds : int
        Largest number of searches in every metric; three times as many rounds of swaps.
    sharpness : tuple of float
        Powers of the learned weights in whose metrics partitions are searched, in turn, until none
        of them finds anything better.
    proposals : int
        Partitions that a round of swaps tries.
    """

    rounds: int
    sharpness: tuple[float, ...]
    proposals: int

    NONE: ClassVar[PolishEffort]
    #: For fits that are many and need only be good enough to be compared.
    LIGHT: ClassVar[PolishEffort]
    FULL: ClassVar[PolishEffort]


PolishEffort.NONE = PolishEffort(0, (), 0)
PolishEffort.LIGHT = PolishEffort(1, (1.0,), 2)
PolishEffort.FULL = PolishEffort(3, (1.0, 2.0), 4)


def polishes_together(engine: Engine, k: int) -> bool:
    """Whether the polish of several runs is done in common passes."""
    few = k <= _FEW_CLUSTERS or engine.divergence is not SQUARED_EUCLIDEAN
    return k > 1 and few and engine.sample_for_starts(k) is engine


def polish(
    engine: Engine,
    solution: Solution,
    rule: WeightRule,
    rng: np.random.Generator,
    *,
    effort: PolishEffort,
    max_iter: int,
    tol: float,
    on_step: Callable[[int], None] | None = None,
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
    max_iter, tol, on_step
        For the iterations of the limit problem, as in `ewp.solver.iterate`.

    Returns
    -------
    Solution
        The same solution, or one with a lower f_-inf whose trace goes on with phase "polish".
    """
    k = len(solution.theta)
    if k == 1 or not effort.rounds:
        return solution
    limits: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "on_step": on_step}
    if polishes_together(engine, k):
        assert isinstance(engine, RowEngine)
        return polish_runs(engine, [solution], rule, [rng], effort=effort, **limits)[0]

    def descend(where: Engine, theta: Array, weights: Array) -> Solution:
        return iterate(where, theta, weights, rule, Hard(), finish="polish", **limits)

    small = engine.sample_for_starts(k)
    if small is engine:
        return _rounds(small, solution, rule, rng, effort, descend)
    # the whole search in a sample; all rows are passed over only for what it found
    sample = _as_heavy(small, engine.total)
    begin = descend(sample, solution.theta, solution.weights)
    if polishes_together(sample, k):
        found = polish_runs(sample, [begin], rule, [rng], effort=effort, **limits)[0]
    else:
        found = _rounds(sample, begin, rule, rng, effort, descend)
    if found is begin:
        return solution
    end = descend(engine, found.theta, found.weights)
    return lower(solution, end, PRECISION[engine.dtype].objective)


def polish_runs(
    engine: RowEngine,
    solutions: Sequence[Solution],
    rule: WeightRule,
    rngs: Sequence[np.random.Generator],
    *,
    effort: PolishEffort,
    max_iter: int,
    tol: float,
    mass: RowMass | None = None,
    trace: bool = True,
    on_step: Callable[[int], None] | None = None,
) -> list[Solution]:
    """Improve the partitions of some runs by moving centroids, all in common passes.

    Parameters
    ----------
    engine : RowEngine
    solutions : sequence of Solution
        Fixed points of the limit problem, one a run.
    rule : WeightRule
    rngs : sequence of Generator
        One a run: what becomes of a run does not depend on those beside it.
    effort, max_iter, tol
        As in `polish`.
    mass : RowMass, optional
        Weights of the rows in every run.
    trace : bool
        Whether traces go on.
    on_step : callable, optional

    Returns
    -------
    list of Solution
    """
    best = list(solutions)
    if not best:
        return best
    rounding = PRECISION[engine.dtype].objective
    failures = np.zeros(len(best), dtype=int)
    patience = len(effort.sharpness)
    for _ in range(3 * effort.rounds):
        active = np.flatnonzero(failures < patience)
        if not len(active):
            break
        numbers = active.tolist()
        own = rule.take(active)
        own_mass = None if mass is None else mass.take(active)
        theta, weights, of_run = _propose(
            engine, [best[b] for b in numbers], own, [rngs[b] for b in numbers], own_mass, effort
        )
        found = iterate_runs(
            engine,
            theta,
            weights,
            own.take(of_run),
            Hard(),
            max_iter=max_iter,
            tol=tol,
            mass=None if own_mass is None else own_mass.take(of_run),
            finish="polish",
            trace=trace,
            on_step=on_step,
        )
        ends = found.objective.reshape(len(numbers), -1)
        lowest = first_lowest(ends, rounding) + ends.shape[1] * np.arange(len(numbers))
        before = np.array([best[b].objective for b in numbers])
        fallen = _is_lower(found.objective[lowest], before, rounding)
        failures[active] = np.where(fallen, 0, failures[active] + 1)
        for i in np.flatnonzero(fallen).tolist():
            best[numbers[i]] = lower(best[numbers[i]], found.run(int(lowest[i])), rounding)
    return best


def _propose(
    engine: RowEngine,
    solutions: list[Solution],
    rule: WeightRule,
    rngs: list[np.random.Generator],
    mass: RowMass | None,
    effort: PolishEffort,
) -> tuple[Array, Array, np.ndarray]:
    """Centroids and weights that may lead lower, and the run that each of them belongs to.

    The first of every run are its centroids but one, which moves to a row drawn by its distance;
    the last are drawn anew in the learned metric.
    """
    runs, (k, p) = len(solutions), solutions[0].theta.shape
    swaps = effort.proposals - 1
    theta = np.array([one.theta for one in solutions])
    weights = np.array([one.weights for one in solutions])
    metric = rule.metric(weights)
    uniform = np.array([rng.random((swaps, 2)) for rng in rngs])
    seeds = np.concatenate([seed_numbers(rng, 1, k) for rng in rngs])
    order = engine.order
    proposed = np.empty((runs, effort.proposals, k, p))
    proposed[:, :swaps] = theta[:, None]
    lengths = engine.lengths_of_runs(metric)
    given = np.ones(engine.n) if engine.sample_weight is None else engine.sample_weight
    size = max(_PAIRS_AT_ONCE // (k * engine.n), 1)
    for start in range(0, runs, size):
        part = slice(start, min(start + size, runs))
        distance = engine.distances_of_runs(theta[part], metric[part], lengths[part])
        error = distance.min(axis=1)
        error *= given if mass is None else mass.table[mass.index[part]]
        error = error[:, order]
        rows = draw_runs(error, uniform[part, :, 1])
        leaving = (uniform[part, :, 0] * k).astype(int)
        moved = engine.seeds(order[rows].ravel()).reshape(*rows.shape, p)
        here, which = np.indices(rows.shape)
        proposed[part][here, which, leaving] = moved
    proposed[:, swaps] = choose_starts(engine, k, "k-means++", metric, seeds, mass)
    of_run = np.repeat(np.arange(runs), effort.proposals)
    return proposed.reshape(-1, k, p), weights[of_run], of_run


def _is_lower(objective: Any, than: Any, rounding: float = _ROUNDING) -> Any:
    """Whether an objective is lower by more than rounding errors."""
    return objective < than - rounding * np.abs(than)


def first_lowest(objective: Array, rounding: float = _ROUNDING) -> np.ndarray:
    """Positions of the lowest objectives along the last axis, the first of equals.

    Ends in one partition differ by rounding errors alone, but not in the order of their clusters,
    from which a search goes on: which of them is taken may not depend on the order of sums.
    """
    lowest = objective.min(axis=-1, keepdims=True)
    first: np.ndarray = np.argmin(_is_lower(lowest, objective, rounding), axis=-1)
    return first


def lower(solution: Solution, candidate: Solution, rounding: float = _ROUNDING) -> Solution:
    """Return the solution, or a candidate whose objective is lower, with the trace of both."""
    if not _is_lower(candidate.objective, solution.objective, rounding):
        return solution
    if candidate.trace:
        down = [row for row in candidate.trace if row.f_inf <= solution.objective]
        candidate.trace = solution.trace + down
        candidate.n_iter = len(candidate.trace) - 1
    return candidate


def _sample(engine: RowEngine, size: int, rng: np.random.Generator) -> np.ndarray:
    """Systematic sample of rows along the canonical order, by weight, repetitions included."""
    mass = np.ones(engine.n) if engine.sample_weight is None else engine.sample_weight
    cumulated = np.cumsum(mass[engine.order])
    points = (np.arange(size) + rng.random()) * (cumulated[-1] / size)
    return engine.order[np.minimum(np.searchsorted(cumulated, points, "right"), engine.n - 1)]


def distinct_rows(engine: RowEngine) -> tuple[np.ndarray, Array | None]:
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
    rows, mass = distinct_rows(engine)
    if len(rows) > most:
        rows, mass = _sample(engine, most, rng), None
    if isinstance(engine, SparseEngine):
        return SparsePoints(*engine.weighted_entries(rows, used, weights[used]), mass), used
    points = engine.take(rows, used) * np.sqrt(weights[used])
    return WeightedPoints(points, mass, engine.take_marks(rows, used)), used


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
    for number, power in enumerate(metrics):
        fresh = number % len(effort.sharpness) > 0
        candidate = descend(engine, *search(engine, solution, power, rule, rng, fresh=fresh))
        better = lower(solution, candidate, PRECISION[engine.dtype].objective)
        failures = failures + 1 if better is solution else 0
        if failures == len(effort.sharpness):
            break
        solution = better
    return solution


def _as_heavy(sample: RowEngine, total: float) -> RowEngine:
    """Return a sample that weighs as much as what it stands for, so that a penalty fits both."""
    assert sample.sample_weight is not None
    return sample.with_weights(sample.sample_weight * (total / sample.total))


def search(
    engine: RowEngine,
    solution: Solution,
    sharpness: float,
    rule: WeightRule,
    rng: np.random.Generator,
    *,
    fresh: bool = False,
) -> tuple[Array, Array]:
    """Search the partition in the metric of the weights to a power: centroids and weights.

    From the centroids that are known, or from fresh seeds.
    """
    k = len(solution.theta)
    weights = solution.weights**sharpness
    weights /= weights.sum()
    metric = rule.metric(weights[None])[0]
    points, used = _search_points(engine, k, metric, rng)
    if fresh:
        seed = kmeans_plus_plus(points, k, seed_numbers(rng, 1, k))[0]
    else:
        seed = points.place(solution.theta[:, used] * np.sqrt(metric[used]))
    found = breathing_kmeans(points, seed, rng)
    # features left out start at their mean, without weight
    theta = np.zeros_like(solution.theta)
    theta[:, used] = points.displace(found.theta) / np.sqrt(metric[used])
    start = np.zeros_like(weights)
    start[used] = weights[used] / weights[used].sum()
    return theta, start
