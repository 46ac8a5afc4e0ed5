r"""Feature weights for every cluster: their rule, and the steps that lower the objective.

Cluster j has weights :math:`w_j` of its own on the simplex, and

.. math::
    f_s(\Theta, W) = \sum_i M_s(\delta_{i1}, \dots, \delta_{ik}), \qquad
    \delta_{ij} = \sum_l w_{jl} (x_{il} - \theta_{jl})^2
    + \frac{\lambda}{n} \sum_l w_{jl} \log \frac{w_{jl}}{\pi_l} .

The second part is the price of a cluster's metric, paid by every row that is assigned to it. With
equal weights in all clusters it is the same for all, and in the limit the objective is that of
common weights at the same penalty. Without it, a cluster that concentrates on one feature in which
it is tight would take the rows that happen to be close in this feature. :math:`M_s` is concave, so
its tangent at the present distances majorises it: with :math:`\phi_{ij} = \partial M_s / \partial
\delta_{ij}` and :math:`c_j = \sum_i \phi_{ij}`, the step

.. math::
    \theta_j = \frac{1}{c_j} \sum_i \phi_{ij} x_i, \qquad
    w_{jl} \propto \pi_l \exp(-n V_{jl} / \lambda), \quad
    V_{jl} = \frac{1}{c_j} \sum_i \phi_{ij} (x_{il} - \theta_{jl})^2,

minimises the tangent and never raises the objective. The prior is normalised here, so that prices
are not negative and distances remain positive; a constant brings the objective back to the scale
of common weights. In the between form the prior has the factor :math:`e^{T_l / \lambda}`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logsumexp, xlogy

from ewp.common.types import Array
from ewp.engine.base import RowEngine, RowMass
from ewp.engine.cluster_metric import ClusterMetric, cluster_distances, cluster_statistics
from ewp.solver.iterate import Solutions, Step
from ewp.solver.schedules import Schedule
from ewp.solver.weights import RelativeEntropy

__all__ = ["ClusterEntropy", "cluster_labels", "iterate_clusters"]

#: Distances that differ by less than this share are the same.
_TIED = 1e-12


@dataclass(frozen=True)
class ClusterEntropy:
    """The rule for the weights of every cluster, in some runs.

    Parameters
    ----------
    lam : ndarray of shape (runs,)
        Penalty in the units of a sum over rows.
    total : ndarray of shape (runs,)
        Weight of all rows.
    log_prior : ndarray of shape (runs, p)
        Logarithm of the prior on a scale on which uniform is 0; ``-inf`` excludes a feature.
    reward : ndarray of shape (runs, p)
        Sums of squares of the columns in the between form, else 0.
    units : ndarray of shape (runs, p)
        What squared differences are multiplied by.
    """

    lam: Array
    total: Array
    log_prior: Array
    reward: Array
    units: Array

    @classmethod
    def of(cls, rule: RelativeEntropy, total: Array, p: int) -> ClusterEntropy:
        """Build the rule from that of common weights.

        Parameters
        ----------
        rule : RelativeEntropy
        total : ndarray of shape (runs,)
        p : int
            Number of columns.
        """
        shape = (len(total), p)
        return cls(
            np.array(np.broadcast_to(np.ravel(rule.lam), len(total)), dtype=float),
            total,
            np.broadcast_to(rule.log_prior, shape),
            np.broadcast_to(rule.reward, shape),
            np.ones(shape) if rule.units is None else np.broadcast_to(rule.units, shape),
        )

    def take(self, runs: np.ndarray) -> ClusterEntropy:
        """Return the rule of some of the runs."""
        parts = (self.lam, self.total, self.log_prior, self.reward, self.units)
        return ClusterEntropy(*(part[runs] for part in parts))

    def times(self, factor: Any) -> ClusterEntropy:
        """Return the rule with a larger penalty."""
        return ClusterEntropy(
            factor * self.lam, self.total, self.log_prior, self.reward, self.units
        )

    @cached_property
    def _log_normal(self) -> Array:
        """Logarithm of the normalised prior, rewards in it."""
        found = self.log_prior + self.reward / self.lam[:, None]
        return found - logsumexp(found, axis=-1, keepdims=True)

    @cached_property
    def constant(self) -> Array:
        """What the objective is above the sum of power means, one a run."""
        normaliser = logsumexp(self.log_prior + self.reward / self.lam[:, None], axis=-1)
        found: Array = -self.lam * normaliser
        return found

    @property
    def per_row(self) -> Array:
        """Penalty of a row, (runs,)."""
        return self.lam / self.total

    def start(self, k: int) -> Array:
        """Return equal weights on all features that are not excluded, of k clusters."""
        included = np.isfinite(self.log_prior)
        equal = included / np.count_nonzero(included, axis=-1, keepdims=True)
        return np.repeat(equal[:, None, :], k, axis=1)

    def update(self, variances: Array) -> Array:
        """Return the weights that minimise the objective at variances of shape (runs, k, p)."""
        with np.errstate(over="ignore"):  # a tiny penalty leaves one feature
            cost = variances * (self.units / self.per_row[:, None])[:, None, :]
        included = np.isfinite(self._log_normal)[:, None, :]
        # the least cost first: a difference of two large ones has no digits left
        cost -= np.min(cost, axis=-1, keepdims=True, initial=np.inf, where=included)
        exponent = self._log_normal[:, None, :] - cost
        exponent -= exponent.max(axis=-1, keepdims=True)
        weights: Array = np.exp(exponent)
        return weights / weights.sum(axis=-1, keepdims=True)

    def price(self, weights: Array) -> Array:
        """Return what every row of a cluster pays for its metric, (runs, k)."""
        prior = np.where(np.isfinite(self._log_normal), self._log_normal, 0.0)
        entropy = (xlogy(weights, weights) - weights * prior[:, None, :]).sum(axis=-1)
        found: Array = np.maximum(self.per_row[:, None] * entropy, 0.0)
        return found

    def metric(self, theta: Array, weights: Array) -> ClusterMetric:
        """Return the metrics of centroids and weights."""
        return ClusterMetric(theta, weights * self.units[:, None, :], self.price(weights))


def cluster_labels(engine: RowEngine, metric: ClusterMetric) -> tuple[np.ndarray, Array]:
    """Nearest centroids of all rows and the distances to them, arrays (runs, n)."""
    runs, k, _ = metric.shape
    labels = np.empty((runs, engine.n), dtype=np.min_scalar_type(k - 1))
    nearest = np.empty((runs, engine.n))
    for rows, distance in cluster_distances(engine, metric):
        labels[:, rows] = distance.argmin(axis=1)
        nearest[:, rows] = distance.min(axis=1)
    return labels, nearest


def _reseed(
    engine: RowEngine,
    rule: ClusterEntropy,
    theta: Array,
    weights: Array,
    empty: np.ndarray,
    mass: Array | None,
) -> None:
    """Move centroids of one run without rows to the worst-fitted rows, with equal weights.

    In place. Nothing was nearest to these centroids, so that wherever they go no distance to the
    nearest one rises.
    """
    equal = rule.start(1)
    _, (nearest,) = cluster_labels(engine, rule.metric(theta[None], weights[None]))
    mass = engine.sample_weight if mass is None else mass
    if mass is not None:
        nearest[mass == 0] = 0.0
    for j in np.flatnonzero(empty):
        # among equally bad rows the first in canonical order, not in the order they came
        tied = nearest[engine.order] >= nearest.max() * (1 - _TIED)
        theta[j] = engine.rows(engine.order[np.argmax(tied)][None])[0]
        weights[j] = equal[0, 0]
        moved = rule.metric(theta[None, j, None], equal)
        np.minimum(nearest, cluster_labels(engine, moved)[1][0], out=nearest)


def _entropy(weights: Array, mass: Array) -> Array:
    """Mean entropies of the clusters' weights, by what belongs to them."""
    each = -xlogy(weights, weights).sum(axis=-1)
    found: Array = (each * mass).sum(axis=1) / np.maximum(mass.sum(axis=1), np.finfo(float).tiny)
    return found


def iterate_clusters(
    engine: RowEngine,
    theta: Array,
    weights: Array,
    rule: ClusterEntropy,
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
    engine : RowEngine
    theta, weights : ndarray of shape (runs, k, p)
        Where the runs start.
    rule : ClusterEntropy
    schedule, max_iter, tol, mass, finish, trace, on_step
        As in `ewp.solver.iterate.iterate_runs`; the change of the weights is that of the cluster
        where it is largest.

    Returns
    -------
    Solutions
        With weights of shape (runs, k, p).
    """
    runs = len(theta)
    varying = engine.squares > 0
    precision = varying * engine.total / np.where(varying, engine.squares, 1.0) / engine.p
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
    for step in range(max_iter + 1):
        stats = cluster_statistics(engine, rule.metric(theta, weights), s, mass)
        filled = stats.mass > 0.0
        counted = np.where(filled, stats.mass, 1.0)[..., None]
        new_theta = np.where(filled[..., None], stats.sums / counted, theta)
        variances = stats.squares / counted - new_theta**2
        new_weights = rule.update(np.maximum(variances, 0.0, out=variances))
        new_weights = np.where(filled[..., None], new_weights, weights)
        hard = np.isinf(s)
        for b in np.flatnonzero(hard & ~filled.all(axis=1)):
            own = None if mass is None else mass.table[mass.index[b]]
            one = rule.take(np.array([b]))
            _reseed(engine, one, new_theta[b], new_weights[b], ~filled[b], own)
        moved = new_theta - theta
        moved *= moved
        delta_theta = np.sqrt((moved @ precision).sum(axis=1))
        delta_weights = 0.5 * np.abs(new_weights - weights).sum(axis=-1).max(axis=-1)
        final = schedule.is_final(s)
        done = final & (delta_theta <= tol) & (delta_weights <= tol)
        f_s, f_inf = stats.power + rule.constant, stats.nearest + rule.constant
        if trace:
            entropy = _entropy(weights, stats.mass)
            values = (s, f_s, f_inf, entropy, delta_theta, delta_weights)
            found.steps.append(Step(alive, np.array(values)))
        if on_step is not None:
            on_step(len(alive))
        softness = stats.softness / rule.total
        last = step == max_iter
        if last or done.any():
            ended = np.ones(len(alive), dtype=bool) if last else done
            which = alive[ended]
            found.theta[which], found.weights[which] = theta[ended], weights[ended]
            found.objective[which] = np.where(final, f_s, f_inf)[ended]
            found.n_iter[which], found.converged[which] = step, done[ended]
            kept = np.flatnonzero(~ended)
            if not len(kept):
                return found
            alive, s, softness = alive[kept], s[kept], softness[kept]
            new_theta, new_weights = new_theta[kept], new_weights[kept]
            rule, schedule = rule.take(kept), schedule.take(kept)
            mass = None if mass is None else mass.take(kept)
        theta, weights = new_theta, new_weights
        s = schedule.next_exponent(s, softness)
    raise AssertionError("unreachable")
