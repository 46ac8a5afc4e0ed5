"""The one solver: MM steps along a schedule with a rule for the weights.

`iterate_runs` takes any number of runs on the same rows from given centroids and weights to their
fixed points at the schedule's last exponent, all in one pass per step; runs that are finished drop
out. Runs may differ in their starts, exponents, penalties and weights of the rows. `iterate` is the
same for one run. Everything else in the family (k-means, power k-means, EWP and the peers) is a
choice of schedule and rule; improving the partition found is `ewp.solver.polish`'s business.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ewp.common.types import Array
from ewp.engine.base import Engine, RowMass
from ewp.engine.divergence import SQUARED_EUCLIDEAN, BregmanDivergence
from ewp.engine.precision import DOUBLE
from ewp.engine.statistics import RunStatistics, Statistics, StepFunction
from ewp.solver.schedules import Schedule
from ewp.solver.weights import WeightRule

__all__ = [
    "Solution",
    "Solutions",
    "Step",
    "TraceRow",
    "centroid_step",
    "iterate",
    "iterate_runs",
    "step_of_run",
]

#: Squared distances of up to so many times the least are rounding errors of a mean.
_EXACT = 1e4
#: In single precision a run ends after so many steps at the limit none of which lowers the
#: objective by this share of the sum of distances.
_PATIENCE, _NOTICED = 3, 1e-8


@dataclass(frozen=True)
class TraceRow:
    """Values at the parameters an iteration starts from, and the size of the step it takes."""

    phase: str
    s: float
    f_s: float
    f_inf: float
    entropy: float
    effective_features: float
    delta_centroids: float
    delta_weights: float


@dataclass
class Solution:
    """Where an iteration ended.

    Attributes
    ----------
    theta : ndarray of shape (k, p)
        Centroids in the engine's coordinates.
    weights : ndarray of shape (p,)
    objective : float
        The objective at these parameters and the schedule's last exponent: f_-inf, except where a
        schedule ends at a finite exponent.
    trace : list of TraceRow
        One row per iteration; the last belongs to the returned parameters.
    n_iter : int
        MM steps taken.
    converged : bool
        Whether a fixed point at the last exponent was reached.
    """

    theta: Array
    weights: Array
    objective: float
    trace: list[TraceRow] = field(default_factory=list)
    n_iter: int = 0
    converged: bool = False


class Step(NamedTuple):
    """What a step recorded of the runs that took it."""

    runs: np.ndarray
    values: Array

    def row(self, b: int, finish: str) -> TraceRow | None:
        """Return the row of the trace of one run, None if it was finished before."""
        at = int(np.searchsorted(self.runs, b))
        if at == len(self.runs) or self.runs[at] != b:
            return None
        s, f_s, f_inf, entropy, *deltas = self.values[:, at].tolist()
        phase = finish if math.isinf(s) else "anneal"
        return TraceRow(phase, s, f_s, f_inf, entropy, math.exp(entropy), *deltas)


@dataclass
class Solutions:
    """Where the iterations of some runs ended, see `Solution`.

    Attributes
    ----------
    theta : ndarray of shape (runs, k, p)
    weights : ndarray of shape (runs, p)
    objective, n_iter, converged : ndarray of shape (runs,)
    """

    theta: Array
    weights: Array
    objective: Array
    n_iter: np.ndarray
    converged: np.ndarray
    steps: list[Step] = field(default_factory=list)
    finish: str = "finish"

    def take(self, runs: np.ndarray) -> Solutions:
        """Return where some of the runs ended, without their traces."""
        return Solutions(
            self.theta[runs],
            self.weights[runs],
            self.objective[runs],
            self.n_iter[runs],
            self.converged[runs],
            finish=self.finish,
        )

    def run(self, b: int) -> Solution:
        """Return where one run ended, with its trace if one was kept."""
        rows = [step.row(b, self.finish) for step in self.steps]
        return Solution(
            self.theta[b],
            self.weights[b],
            float(self.objective[b]),
            [row for row in rows if row is not None],
            int(self.n_iter[b]),
            bool(self.converged[b]),
        )


def step_of_run(statistics: StepFunction, theta: Array, weights: Array, s: float) -> RunStatistics:
    """Statistics of a step of one run: centroids (k, p), weights (p,) and an exponent."""
    return statistics(theta[None], weights[None], np.array([s])).run(0)


def centroid_step(
    stats: Statistics | RunStatistics,
    theta: Array,
    divergence: BregmanDivergence = SQUARED_EUCLIDEAN,
) -> tuple[Array, Array, np.ndarray]:
    """New centroids, the dispersions about them, and which clusters got no rows.

    Of one run or of several, with a first axis of runs. A centroid none of whose rows has a value
    in a column is at the mean there.
    """
    sums, mass = stats.sums, stats.mass
    empty = mass <= 0.0
    if len(stats.columns):
        each = stats.entry_mass()
        stay = np.where(empty[..., None], theta, 0.0)
        new = np.divide(sums, each, out=stay, where=each > 0.0)
    elif empty.any():
        new = np.divide(sums, mass[..., None], out=theta.copy(), where=~empty[..., None])
    else:
        new = sums / mass[..., None]
    # sums over no rows are zero
    dispersion = divergence.dispersion(stats.scatter, sums, mass, new)
    return new, np.maximum(dispersion, 0.0, out=dispersion), empty


def _reseed(
    engine: Engine, theta: Array, metric: Array, empty: np.ndarray, row_mass: Array | None
) -> Array:
    """Move centroids without rows to the worst-fitted rows, which never raises f_-inf."""
    rows = engine.sample_for_starts(len(theta))
    _, nearest = rows.assign(theta, metric)
    row_mass = rows.sample_weight if row_mass is None else row_mass
    if row_mass is not None:
        nearest[row_mass == 0] = 0.0
    theta = theta.copy()
    exact = _EXACT * float(rows.metric(theta[None], metric[None]).floor[0])
    for j in np.flatnonzero(empty):
        farthest = float(nearest.max())
        if farthest <= exact:  # every row sits on a centroid in this metric
            break
        # among equally bad rows the first in canonical order, not in the order they came
        tied = nearest[rows.order] >= farthest * (1 - 1e-12)
        worst = int(rows.order[np.argmax(tied)])
        theta[j] = rows.seeds(np.array([worst]))[0]
        moved = rows.distances(theta[j : j + 1], metric)[:, 0]
        np.minimum(nearest, moved, out=nearest)
    return theta


def iterate(
    engine: Engine,
    theta: Array,
    weights: Array,
    rule: WeightRule,
    schedule: Schedule,
    *,
    max_iter: int,
    tol: float,
    finish: str = "finish",
    on_step: Callable[[int], None] | None = None,
) -> Solution:
    """Run MM steps of one run along a schedule until nothing moves at its last exponent.

    Parameters
    ----------
    engine : Engine
    theta : ndarray of shape (k, p)
        Starting centroids in the engine's coordinates.
    weights : ndarray of shape (p,)
        Starting weights.
    rule, schedule, max_iter, tol, finish, on_step
        As in `iterate_runs`.
    """
    found = iterate_runs(
        engine,
        theta[None],
        weights[None],
        rule,
        schedule,
        max_iter=max_iter,
        tol=tol,
        finish=finish,
        on_step=on_step,
    )
    return found.run(0)


def iterate_runs(
    engine: Engine,
    theta: Array,
    weights: Array,
    rule: WeightRule,
    schedule: Schedule,
    *,
    max_iter: int,
    tol: float,
    mass: RowMass | None = None,
    finish: str = "finish",
    trace: bool = True,
    on_step: Callable[[int], None] | None = None,
) -> Solutions:
    """Run MM steps of some runs along a schedule until nothing moves at its last exponent.

    Parameters
    ----------
    engine : Engine
    theta : ndarray of shape (runs, k, p)
        Starting centroids in the engine's coordinates.
    weights : ndarray of shape (runs, p)
        Starting weights.
    rule : WeightRule
    schedule : Schedule
    max_iter : int
        Largest number of MM steps.
    tol : float
        A fixed point is reached when the centroids move by at most `tol` in units of the
        columns' standard deviations (root mean square over the features), and the weights by at
        most `tol` in total variation; in single precision also when the objective at the limit
        has stopped falling.
    mass : RowMass, optional
        Weights of the rows in every run; by default the sample weights in all of them.
    finish : str
        Name of the phase at s = -inf in the trace.
    trace : bool
        Whether traces are kept.
    on_step : callable, optional
        Called at every step with the number of runs that take it.

    Returns
    -------
    Solutions
    """
    runs = len(theta)
    # every feature counts, also one without weight: its centroids are reported too
    precision = engine.movement_units / engine.p
    statistics = engine.step_function()
    total = np.full(runs, engine.total) if mass is None else mass.totals
    s = np.array(np.broadcast_to(schedule.start, runs), dtype=float)
    found = Solutions(
        theta.copy(),
        np.array(weights),
        np.empty(runs),
        np.zeros(runs, dtype=int),
        np.zeros(runs, dtype=bool),
        finish=finish,
    )
    alive = np.arange(runs)
    # in single precision rows may change sides for ever, and the objective stays where it is
    lowest, idle = np.full(runs, np.inf), np.zeros(runs, dtype=int)
    for step in range(max_iter + 1):
        if not trace and (order := _soft_first(s)) is not None:
            alive, total, theta, weights = alive[order], total[order], theta[order], weights[order]
            s, rule, schedule = s[order], rule.take(order), schedule.take(order)
            mass = None if mass is None else mass.take(order)
        stats = statistics(theta, rule.metric(weights), s, mass)
        new_theta, dispersion, empty = centroid_step(stats, theta, engine.divergence)
        new_weights = rule.update(dispersion)
        hard = np.isinf(s)
        if empty.any():
            for b in np.flatnonzero(hard & empty.any(axis=1)):
                metric = rule.take(np.array([b])).metric(new_weights[b : b + 1])[0]
                own = None if mass is None else mass.table[mass.index[b]]
                new_theta[b] = _reseed(engine, new_theta[b], metric, empty[b], own)
        moved = new_theta - theta
        moved *= moved
        delta_theta = np.sqrt(np.add.reduce(moved @ precision, axis=1))
        moved = np.abs(new_weights - weights)
        delta_weights = 0.5 * np.add.reduce(moved, axis=1)
        final = schedule.is_final(s)
        done = final & (delta_theta <= tol) & (delta_weights <= tol)
        if engine.dtype != DOUBLE:
            value = np.where(hard, stats.nearest, np.inf)
            value += rule.penalty(weights)
            fallen = value < lowest - _NOTICED * stats.nearest
            idle = np.where(hard & ~fallen, idle + 1, 0)
            lowest = np.minimum(lowest, value)
            done |= idle >= _PATIENCE
        last = step == max_iter
        if trace or last or done.any():
            penalty = rule.penalty(weights)
            f_s, f_inf = stats.power + penalty, stats.nearest + penalty
        if trace:
            values = (s, f_s, f_inf, _entropy(weights), delta_theta, delta_weights)
            found.steps.append(Step(alive, np.array(values)))
        if on_step is not None:
            on_step(len(alive))
        if last or done.any():
            ended = np.ones(len(alive), dtype=bool) if last else done
            which = alive[ended]
            found.theta[which], found.weights[which] = theta[ended], weights[ended]
            found.objective[which] = np.where(final, f_s, f_inf)[ended]
            found.n_iter[which], found.converged[which] = step, done[ended]
            kept = np.flatnonzero(~ended)
            if not len(kept):
                return found
            alive, total = alive[kept], total[kept]
            new_theta, new_weights, s = new_theta[kept], new_weights[kept], s[kept]
            lowest, idle = lowest[kept], idle[kept]
            softness = stats.softness[kept] / total
            rule, schedule = rule.take(kept), schedule.take(kept)
            mass = None if mass is None else mass.take(kept)
        else:
            softness = stats.softness / total
        theta, weights = new_theta, new_weights
        s = schedule.next_exponent(s, softness)
    raise AssertionError("unreachable")


def _soft_first(s: Array) -> np.ndarray | None:
    """Order that puts runs at finite exponents first, None if they are: passes need no copies then.

    >>> _soft_first(np.array([-np.inf, -3.0, -np.inf, -2.0])).tolist()
    [1, 3, 0, 2]
    """
    hard = np.isinf(s)
    soft = len(s) - np.count_nonzero(hard)
    if not soft or not hard[:soft].any():
        return None
    return np.argsort(hard, kind="stable")


def _entropy(weights: Array) -> Array:
    """Entropies of the weights of some runs."""
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return -np.einsum("bl,bl->b", weights, logs)
