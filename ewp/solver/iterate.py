"""The one solver: MM steps along a schedule with a rule for the weights.

`iterate` runs from given centroids and weights to the fixed point at the schedule's last exponent
and keeps a trace. Everything else in the family (k-means, power k-means, EWP and the peers) is a
choice of schedule and rule; improving the partition found is `ewp.solver.polish`'s business.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import entr

from ewp.common.types import Array
from ewp.engine.base import Engine
from ewp.engine.kernel import RunStatistics, StepFunction
from ewp.solver.schedules import Schedule
from ewp.solver.weights import WeightRule

__all__ = ["Solution", "TraceRow", "centroid_step", "iterate", "step_of_run"]

#: Squared distances of up to so many times the least are rounding errors of a mean.
_EXACT = 1e4


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
        One row an iteration; the last belongs to the returned parameters.
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


def step_of_run(statistics: StepFunction, theta: Array, weights: Array, s: float) -> RunStatistics:
    """Statistics of a step of one run: centroids (k, p), weights (p,) and an exponent."""
    return statistics(theta[None], weights[None], np.array([s])).run(0)


def centroid_step(stats: RunStatistics, theta: Array) -> tuple[Array, Array, np.ndarray]:
    """New centroids, the dispersions about them, and the clusters that got no rows."""
    sums, mass = stats.sums, stats.mass
    empty = mass <= 0.0
    if empty.any():
        new = np.divide(sums, mass[:, None], out=theta.copy(), where=~empty[:, None])
    else:
        new = sums / mass[:, None]
    # the sums of a cluster without rows are zero
    dispersion = stats.scatter - np.einsum("jl,jl->l", new, sums)
    return new, np.maximum(dispersion, 0.0), np.flatnonzero(empty)


def _reseed(engine: Engine, theta: Array, metric: Array, empty: np.ndarray) -> Array:
    """Move centroids without rows to the worst-fitted rows, which never raises f_-inf."""
    rows = engine.sample_for_starts(len(theta))
    _, nearest = rows.assign(theta, metric)
    if rows.sample_weight is not None:
        nearest[rows.sample_weight == 0] = 0.0
    theta = theta.copy()
    exact = _EXACT * float(rows.metric(theta[None], metric[None]).floor[0])
    for j in empty:
        farthest = float(nearest.max())
        if farthest <= exact:  # every row sits on a centroid in this metric
            break
        # among equally bad rows the first in canonical order, not in the order they came
        tied = nearest[rows.order] >= farthest * (1 - 1e-12)
        worst = int(rows.order[np.argmax(tied)])
        theta[j] = rows.rows(np.array([worst]))[0]
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
    on_step: Callable[[TraceRow], None] | None = None,
) -> Solution:
    """Run MM steps along a schedule until nothing moves at its last exponent.

    Parameters
    ----------
    engine : Engine
    theta : ndarray of shape (k, p)
        Starting centroids in the engine's coordinates.
    weights : ndarray of shape (p,)
        Starting weights.
    rule : WeightRule
    schedule : Schedule
    max_iter : int
        Largest number of MM steps.
    tol : float
        A fixed point is reached when the centroids move by at most `tol` in units of the
        columns' standard deviations (root mean square over the features), and the weights by at
        most `tol` in total variation.
    finish : str
        Name of the phase at s = -inf in the trace.
    on_step : callable, optional
        Called with every row of the trace as it is made.

    Returns
    -------
    Solution
    """
    s = schedule.start
    # every feature counts, also one without weight: its centroids are reported too
    varying = engine.squares > 0
    precision = varying * engine.total / np.where(varying, engine.squares, 1.0) / engine.p
    trace: list[TraceRow] = []
    statistics = engine.step_function()
    for step in range(max_iter + 1):
        stats = step_of_run(statistics, theta, rule.metric(weights), s)
        new_theta, dispersion, empty = centroid_step(stats, theta)
        new_weights = rule.update(dispersion)
        hard = math.isinf(s)
        if hard and len(empty):
            new_theta = _reseed(engine, new_theta, rule.metric(new_weights), empty)
        delta_theta = math.sqrt(float((((new_theta - theta) ** 2) @ precision).sum()))
        delta_weights = 0.5 * float(np.abs(new_weights - weights).sum())
        penalty = rule.penalty(weights)
        entropy = float(entr(weights).sum())
        trace.append(
            TraceRow(
                finish if hard else "anneal",
                s,
                stats.power + penalty,
                stats.nearest + penalty,
                entropy,
                math.exp(entropy),
                delta_theta,
                delta_weights,
            )
        )
        if on_step is not None:
            on_step(trace[-1])
        final = schedule.is_final(s)
        converged = final and delta_theta <= tol and delta_weights <= tol
        if converged or step == max_iter:
            objective = trace[-1].f_s if final else trace[-1].f_inf
            return Solution(theta, weights, objective, trace, step, converged)
        theta, weights = new_theta, new_weights
        s = schedule.next_exponent(s, stats.softness / engine.total)
    raise AssertionError("unreachable")
