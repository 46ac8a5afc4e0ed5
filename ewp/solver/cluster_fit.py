"""A fit with weights for every cluster: starts, annealing of the penalty, polish, canonical order.

Weights of one cluster alone see few rows, and at a small penalty they lock in to what a start
happens to hold. So the penalty is annealed too: most starts go through the problem at larger
penalties, where weights are nearly equal, before the one that was asked for. The fit with common
weights is one more start: equal rows of weights have its objective, so that a fit never ends above
it. The lowest starts are polished by moving single centroids.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ewp.common.types import Array
from ewp.data.canonical import order_clusters
from ewp.data.validation import check_spread
from ewp.engine.base import Partition, RowEngine, RowMass
from ewp.metrics import rand_index
from ewp.solver.cluster_weights import ClusterEntropy, cluster_labels, iterate_clusters
from ewp.solver.critical_exponent import engine_critical_exponent
from ewp.solver.fit import Fit, FitOptions, WarmStart, default_prior, fit_engine
from ewp.solver.iterate import Solution, Solutions
from ewp.solver.multistart import StartPlan, StartRecord
from ewp.solver.polish import PolishEffort, lower
from ewp.solver.schedules import Annealed, Fixed, Hard, Schedule, annealing
from ewp.solver.starts import choose_starts, draw, seed_numbers
from ewp.solver.weights import RelativeEntropy

__all__ = ["anneal_penalty", "fit_clusters", "polish_clusters"]

#: Factor between the penalties that a start goes through, and through how many before its own
#: penalty the starts go, in turn.
_FACTOR, _RUNGS = 4.0, (2, 1, 2, 0)
#: Tolerance and most steps at larger penalties.
_COARSE, _COARSE_STEPS = 1e-3, 100
#: Starts of a block; automatic starts: the fewest, the most, and how many must agree. Of fewer
#: products n * k * p than the last number starts are so many at least.
_BLOCK, _FEWEST, _MOST, _AGREE = 4, 16, 40, 3
_LEAST, _SMALL = 8, 5e6
#: Objectives that differ by less than this part of the weighted sum of squares are the same.
_SAME = 1e-5
#: Distinct optima that are described.
_KEPT = 5


def _hard_but(schedule: Annealed | Fixed, annealed: np.ndarray) -> Schedule:
    """Return the schedule of some runs, those beside the annealed ones at the limit."""
    if isinstance(schedule, Fixed):
        return schedule
    return dataclasses.replace(schedule, s0=np.where(annealed, schedule.s0, -math.inf))


def anneal_penalty(
    engine: RowEngine,
    theta: Array,
    rule: ClusterEntropy,
    rungs: np.ndarray,
    schedules: Sequence[Annealed | Fixed],
    *,
    max_iter: int,
    tol: float,
    mass: RowMass | None = None,
    trace: bool = True,
    on_step: Callable[[int], None] | None = None,
) -> Solutions:
    """Run some starts through larger penalties to their own.

    Parameters
    ----------
    engine : RowEngine
    theta : ndarray of shape (runs, k, p)
        Starting centroids; weights start equal.
    rule : ClusterEntropy
    rungs : ndarray of int, shape (runs,)
        How many larger penalties every run goes through, each a quarter of the one before.
    schedules : sequence of schedules
        By the number of larger penalties, of a run that begins there; later penalties go on at
        the limit.
    max_iter, tol, mass, trace, on_step
        As in `ewp.solver.cluster_weights.iterate_clusters`; at larger penalties steps are few and
        coarse.
    """
    theta, weights = theta.copy(), rule.start(theta.shape[1])
    for level in range(int(rungs.max()), 0, -1):
        which = np.flatnonzero(rungs >= level)
        found = iterate_clusters(
            engine,
            theta[which],
            weights[which],
            rule.take(which).times(_FACTOR**level),
            _hard_but(schedules[level], rungs[which] == level),
            max_iter=min(_COARSE_STEPS, max_iter),
            tol=max(_COARSE, tol),
            mass=None if mass is None else mass.take(which),
            trace=False,
            on_step=on_step,
        )
        theta[which], weights[which] = found.theta, found.weights
    return iterate_clusters(
        engine,
        theta,
        weights,
        rule,
        _hard_but(schedules[0], rungs == 0),
        max_iter=max_iter,
        tol=tol,
        mass=mass,
        trace=trace,
        on_step=on_step,
    )


def polish_clusters(
    engine: RowEngine,
    solution: Solution,
    rule: ClusterEntropy,
    rng: np.random.Generator,
    effort: PolishEffort,
    limits: dict[str, Any],
) -> Solution:
    """Move single centroids to badly fitted rows, with equal weights, as long as that helps."""
    k = len(solution.theta)
    proposals, failures = effort.proposals + k // 2, 0
    several = rule.take(np.zeros(proposals, dtype=int))
    given = np.ones(engine.n) if engine.sample_weight is None else engine.sample_weight
    for _ in range(3 * effort.rounds if k > 1 else 0):
        metric = rule.metric(solution.theta[None], solution.weights[None])
        error = (cluster_labels(engine, metric)[1][0] * given)[engine.order]
        uniform = rng.random((proposals, 2))
        theta = np.repeat(solution.theta[None], proposals, axis=0)
        weights = np.repeat(solution.weights[None], proposals, axis=0)
        here, leaving = np.arange(proposals), (uniform[:, 0] * k).astype(int)
        theta[here, leaving] = engine.rows(engine.order[draw(error, uniform[:, 1])])
        weights[here, leaving] = rule.start(1)[0, 0]
        coarse: dict[str, Any] = {
            **limits,
            "max_iter": min(_COARSE_STEPS, limits["max_iter"]),
            "tol": max(_COARSE, limits["tol"]),
        }
        eased = iterate_clusters(
            engine, theta, weights, several.times(_FACTOR), Hard(), trace=False, **coarse
        )
        ends = iterate_clusters(
            engine, eased.theta, eased.weights, several, Hard(), finish="polish", **limits
        )
        better = lower(solution, ends.run(int(np.argmin(ends.objective))))
        failures = failures + 1 if better is solution else 0
        solution = better
        if failures == len(effort.sharpness):
            break
    return solution


def _plan(n_init: int | str, engine: RowEngine, k: int) -> tuple[int, int]:
    """Return the fewest and the most starts."""
    if not isinstance(n_init, str):
        return n_init, n_init
    if k == 1:
        return 1, 1
    least = _LEAST if float(engine.n) * engine.p * k <= _SMALL else _BLOCK
    most = int(np.clip(StartPlan.of(n_init, engine, k).most // 2, least, _MOST))
    return min(_FEWEST, most), most


def _from_starts(
    engine: RowEngine,
    rule: ClusterEntropy,
    schedules: Sequence[Annealed | Fixed],
    options: FitOptions,
    rng: np.random.Generator,
    first: list[Solution],
    same: float,
    limits: dict[str, Any],
) -> list[Solution]:
    """Where starts end, those that were the lowest so far after a polish.

    What becomes of a start does not depend on those after it.
    """
    k, effort = options.n_clusters, options.effort
    seeds, polishing = rng.spawn(2)
    ended, lowest = list(first), min((one.objective for one in first), default=math.inf)
    given = not isinstance(options.init, str)
    fewest, most = _plan(1 if given else options.n_init, engine, k)
    made = 0
    while made < most:
        count = min(_BLOCK, most - made)
        if isinstance(options.init, str):
            metric = (rule.start(1)[:, 0] * rule.units).repeat(count, axis=0)
            theta = choose_starts(engine, k, options.init, metric, seed_numbers(seeds, count, k))
        else:
            theta = engine.to_engine_units(options.init)[None]
        rungs = np.array([_RUNGS[i % len(_RUNGS)] for i in range(made, made + count)])
        if given or not effort.rounds or options.first_exponent is not None:
            rungs[:] = 0
        several = rule.take(np.zeros(count, dtype=int))
        found = anneal_penalty(engine, theta, several, rungs, schedules, **limits)
        for i, own in enumerate(polishing.spawn(count)):
            one = found.run(i)
            if effort.rounds and one.converged and one.objective < lowest - same:
                lowest = one.objective
                one = polish_clusters(engine, one, rule, own, effort, limits)
            ended.append(one)
        made += count
        best = min(one.objective for one in ended)
        agreeing = sum(one.objective <= best + same for one in ended)
        if isinstance(options.n_init, str) and made >= fewest and agreeing >= _AGREE:
            break
    return ended


def _summarise(
    engine: RowEngine, rule: ClusterEntropy, ended: list[Solution], known: int, same: float
) -> tuple[Solution, StartRecord]:
    """Return the lowest solution, and where the starts ended; the first ones were known before."""
    candidates = sorted(ended, key=lambda one: one.objective)
    distinct: list[Solution] = []
    for one in candidates:
        if not distinct or one.objective > distinct[-1].objective + same:
            distinct.append(one)
    del distinct[_KEPT:]
    several = rule.take(np.zeros(len(distinct), dtype=int))
    theta, weights = (
        np.array([getattr(d, name) for d in distinct]) for name in ("theta", "weights")
    )
    labels, _ = cluster_labels(engine, several.metric(theta, weights))
    agreement = [rand_index(labels[0], other, engine.sample_weight) for other in labels]
    starts = np.array([one.objective for one in ended[known:]])
    optima = np.array([one.objective for one in distinct])
    there = (starts >= optima[:, None]) & (starts <= optima[:, None] + same)
    none = np.zeros(len(optima), dtype=int)
    record = StartRecord(
        starts,
        np.zeros(len(starts), dtype=bool),
        optima,
        there.sum(axis=1),
        np.array(agreement),
        0,
        none,
        none.astype(bool),
    )
    return distinct[0], record


def _known(
    engine: RowEngine, rule: ClusterEntropy, known: Sequence[WarmStart], common: RelativeEntropy
) -> list[tuple[Array, Array]]:
    """Centroids and weights of every cluster of partitions found before."""
    found = []
    for one in known:
        theta = engine.to_engine_units(one.centroids)
        if one.variances is not None:
            weights = rule.update(one.variances[None] / engine.scale**2)[0]
        else:
            weights = np.tile(common.update(one.dispersion / engine.scale**2), (len(theta), 1))
        found.append((theta, weights))
    return found


def _canonical(engine: RowEngine, rule: ClusterEntropy, solution: Solution) -> None:
    """Put the clusters into their canonical order."""
    labels, _ = cluster_labels(engine, rule.metric(solution.theta[None], solution.weights[None]))
    share = np.bincount(labels[0], engine.sample_weight, len(solution.theta)) / engine.total
    order = order_clusters(solution.theta, share @ solution.weights, share)
    solution.theta, solution.weights = solution.theta[order], solution.weights[order]


def _partition(engine: RowEngine, rule: ClusterEntropy, theta: Array, weights: Array) -> Partition:
    """Labels of the rows; sizes, masses, and sums of squares without prices."""
    k, metric = len(theta), rule.metric(theta[None], weights[None])
    (labels,), (nearest,) = cluster_labels(engine, metric)
    labels = labels.astype(np.intp)
    mass = np.ones(engine.n) if engine.sample_weight is None else engine.sample_weight
    within = np.maximum(nearest - metric.price[0][labels], 0.0)
    return Partition(
        labels,
        np.bincount(labels, minlength=k),
        np.bincount(labels, mass, k).astype(np.float64),
        np.bincount(labels, mass * within, k).astype(np.float64),
    )


def fit_clusters(
    engine: RowEngine,
    options: FitOptions,
    rng: np.random.Generator,
    *,
    known: Sequence[WarmStart] = (),
    on_step: Callable[[int], None] | None = None,
) -> Fit:
    """Fit EWP with weights for every cluster, as `ewp.solver.fit.fit_engine` does with common ones.

    Parameters
    ----------
    engine : RowEngine
    options : FitOptions
        Settled, that is, with a number for the penalty.
    rng : Generator
    known : sequence of WarmStart
        Partitions found before, which are tried too.
    on_step : callable, optional

    Returns
    -------
    Fit
        With weights of shape (k, p).
    """
    k, engine = options.n_clusters, engine.in_double()
    check_spread(engine.squares, k)
    prior = default_prior(engine.varying) if options.prior is None else options.prior
    plain, starting = rng.spawn(2)
    begun = fit_engine(
        engine, dataclasses.replace(options, weights="common"), plain, known=known, on_step=on_step
    )
    common = RelativeEntropy.make(options.penalty, engine.squares, prior, between=options.between)
    rule = ClusterEntropy.of(common, np.array([engine.total]), engine.p)
    schedules = []
    critical = []
    rows = engine.sample_for_starts(k)
    for level in range(max(_RUNGS) + 1):
        eased = rule.times(_FACTOR**level)
        collapsed = eased.update((engine.squares / engine.total)[None, None])
        price = float(eased.price(collapsed)[0, 0])
        critical.append(engine_critical_exponent(rows, collapsed[0, 0], price))
        schedules.append(annealing(options.first_exponent, options.eta, critical[-1]))
    limits: dict[str, Any] = {
        "max_iter": options.max_iter,
        "tol": options.tol,
        "on_step": on_step,
    }
    same = _SAME * float(engine.squares @ rule.start(1)[0, 0])
    if rows is not engine:
        assert rows.sample_weight is not None
        rows = rows.with_weights(rows.sample_weight * (engine.total / rows.total))
    pairs = [
        *_known(engine, rule, known, common),
        (begun.solution.theta, np.tile(begun.weights, (k, 1))),
    ]
    theta, weights = (np.array(part) for part in zip(*pairs, strict=True))
    several = rule.take(np.zeros(len(pairs), dtype=int))
    found = iterate_clusters(rows, theta, weights, several, Hard(), **limits)
    first = [found.run(i) for i in range(len(pairs))]
    ended = _from_starts(rows, rule, schedules, options, starting, first, same, limits)
    solution, starts = _summarise(rows, rule, ended, len(known), same)
    if rows is not engine:
        theta, weights = solution.theta[None], solution.weights[None]
        solution = iterate_clusters(engine, theta, weights, rule, Hard(), **limits).run(0)
    _canonical(engine, rule, solution)
    centroids = engine.to_data_units(solution.theta)
    made = engine.decorrelation
    metric = rule.metric(solution.theta[None], solution.weights[None])
    return Fit(
        solution,
        centroids,
        solution.weights,
        # from the centroids in data units, as predictions are made
        _partition(engine, rule, engine.to_engine_units(centroids), solution.weights),
        engine.means,
        engine.divisors if made is None else made.scale,
        engine.squares,
        engine.column_deviations,
        made,
        engine.total,
        prior,
        schedules[0].start,
        critical[0],
        starts,
        None,
        None,
        price=metric.price[0],
    )
