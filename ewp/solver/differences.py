"""The last digits of a fit: in single precision, and where clusters lie very far apart.

A fit in single precision ends with steps in double precision, from where it came to: they are few,
and what is returned is a fixed point of the data to the last digit. `end_in_double` takes them.

A step takes the dispersions from sums of squares about the mean of all rows, which are as large as
the distances between the clusters: where these are some 1e6 times the spread within, the digits
that the weights depend on are lost. `settle_digits` notices that and finishes the fit with sums of
differences to the centroids, which lose none.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import entr

from ewp.engine.base import Engine
from ewp.engine.statistics import RunStatistics
from ewp.solver.iterate import Solution, TraceRow, centroid_step, iterate
from ewp.solver.schedules import Hard
from ewp.solver.weights import WeightRule

__all__ = ["digits_are_lost", "end_in_double", "settle_digits"]

#: Rounding errors of a sum of squares, as a share of it.
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
#: Changes of the weights (total variation) that nobody would see.
_NEGLIGIBLE = 1e-6


def end_in_double(
    engine: Engine, solution: Solution, rule: WeightRule, *, max_iter: int, tol: float
) -> Solution:
    """Go on from a solution of the limit problem in single precision.

    Parameters
    ----------
    engine : Engine
        Of double precision.
    solution : Solution
        One that has not converged is only looked at.
    rule : WeightRule
    max_iter, tol
        As in `ewp.solver.iterate`.

    Returns
    -------
    Solution
        Its trace goes on in the phase "finish".
    """
    steps = max_iter if solution.converged else 0
    theta, weights = solution.theta, solution.weights
    found = iterate(engine, theta, weights, rule, Hard(), max_iter=steps, tol=tol)
    found.trace = [*solution.trace[:-1], *found.trace]
    found.n_iter += solution.n_iter
    return found


def digits_are_lost(stats: RunStatistics, solution: Solution, rule: WeightRule) -> bool:
    """Whether rounding errors of the sums of squares would show in the weights.

    Parameters
    ----------
    stats : RunStatistics
        Of a step with hard memberships from the solution.
    solution : Solution
    rule : WeightRule
    """
    _, dispersion, _ = centroid_step(stats, solution.theta)
    # errors of another size in every feature: the same one in all would cancel in the weights
    error = _ROUNDING * stats.scatter * np.cos(np.arange(1.0, len(dispersion) + 1.0))
    weights = solution.weights if solution.converged else rule.update(dispersion)
    others = (rule.update(np.maximum(dispersion + way * error, 0.0)) for way in (1.0, -1.0))
    return any(float(np.abs(other - weights).sum()) > 2.0 * _NEGLIGIBLE for other in others)


def settle_digits(
    engine: Engine, solution: Solution, rule: WeightRule, *, max_iter: int, tol: float
) -> Solution:
    """Go on from a solution of the limit problem to the fixed point of exact dispersions.

    Labels, means and weights are found in turn, none of which raises the objective; a cluster
    without rows stays where it is.

    Parameters
    ----------
    engine : Engine
    solution : Solution
    rule : WeightRule
    max_iter, tol
        As in `ewp.solver.iterate`.

    Returns
    -------
    Solution
        Its trace goes on in the phase "finish".
    """
    theta, weights = solution.theta, solution.weights
    precision = engine.movement_units / engine.p
    trace = list(solution.trace[:-1])
    for step in range(max_iter + 1):
        found = engine.deviations(theta, rule.metric(weights))
        mass = found.mass
        moved = np.divide(found.sums, mass, out=np.zeros_like(theta), where=mass > 0)
        new_theta = theta + moved
        dispersion = np.maximum(found.squares - (mass * moved**2).sum(axis=0), 0.0)
        new_weights = rule.update(dispersion)
        delta_theta = math.sqrt(float((moved**2 @ precision).sum()))
        delta_weights = 0.5 * float(np.abs(new_weights - weights).sum())
        objective = found.nearest + rule.penalty(weights)
        entropy = float(entr(weights).sum())
        trace.append(
            TraceRow(
                "finish",
                -math.inf,
                objective,
                objective,
                entropy,
                math.exp(entropy),
                delta_theta,
                delta_weights,
            )
        )
        converged = delta_theta <= tol and delta_weights <= tol
        if converged or step == max_iter:
            n_iter = solution.n_iter + step
            return Solution(theta, weights, objective, trace, n_iter, converged)
        theta, weights = new_theta, new_weights
    raise AssertionError("unreachable")
