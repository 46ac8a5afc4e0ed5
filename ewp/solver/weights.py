"""Rules by which feature weights follow from within-cluster dispersions.

A rule owns its penalty and its metric: the solver hands it the dispersions ``D_l = sum_ij phi_ij
(x_il - theta_jl)**2`` of a step and gets the weights that minimise ``sum_l metric(w)_l D_l +
penalty(w)``. The metric is the weights themselves in all rules but one. With a schedule
(`ewp.solver.schedules`) a rule names a method. A rule serves any number of runs in one pass: its
arrays, and those that it is given, may have a first axis of runs. The soft-thresholded weights of
sparse k-means, by the two ways to search their threshold, are here too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, Self

import numpy as np
from scipy.special import logsumexp

from ewp.common.types import Array

__all__ = [
    "FixedWeights",
    "PowerWeights",
    "RelativeEntropy",
    "Search",
    "SparseWeights",
    "WeightRule",
    "threshold_weights",
]

#: Shares of a feature's total sum of squares that are rounding errors of a dispersion.
_NO_DISPERSION = 1e-13
_NO_SEPARATION = 1e-10
Search = Literal["sparcl", "exact"]


class WeightRule(Protocol):
    """What the solver asks of a rule for the weights.

    Weights, dispersions and metrics are arrays of shape (p,) or (runs, p).
    """

    def start(self) -> Array:
        """Return the weights before the first step."""

    def update(self, dispersion: Array) -> Array:
        """Return the weights that minimise the objective at these dispersions."""

    def metric(self, weights: Array) -> Array:
        """Return the diagonal of the metric that these weights make."""

    def penalty(self, weights: Array) -> Any:
        """Return the part of the objective that does not depend on the partition, one per run."""

    def take(self, runs: np.ndarray) -> WeightRule:
        """Return the rule of some of the runs."""


class _OneForAll:
    """A rule that is the same in all runs."""

    def take(self, runs: np.ndarray) -> Self:
        """Return the rule itself."""
        return self


@dataclass(frozen=True)
class FixedWeights(_OneForAll):
    """Weights that are never updated; uniform ones give (power) k-means.

    Parameters
    ----------
    weights : ndarray of shape (p,)
    """

    weights: Array

    def start(self) -> Array:
        """Return the fixed weights."""
        return self.weights

    def update(self, dispersion: Array) -> Array:
        """Return the fixed weights."""
        return np.broadcast_to(self.weights, dispersion.shape)

    def metric(self, weights: Array) -> Array:
        """Return the weights."""
        return weights

    def penalty(self, weights: Array) -> Any:
        """Return 0."""
        return 0.0


@dataclass(frozen=True)
class RelativeEntropy:
    r"""Entropy penalty with a prior: :math:`\lambda \sum_l w_l \log(w_l / \pi_l)`.

    The minimiser is :math:`w_l \propto \pi_l \exp(-D_l / \lambda)`. The prior is on a scale on
    which a uniform one is all ones, so that the uniform prior gives the paper's penalty
    :math:`\lambda \sum_l w_l \log w_l`. The between form multiplies it by
    :math:`\exp(T_l / \lambda)` with the total sums of squares :math:`T_l`.

    Parameters
    ----------
    lam : float or ndarray of shape (runs, 1)
        Penalty in the units of a sum over rows.
    log_prior : ndarray of shape (p,) or (runs, p)
        Logarithm of the prior; ``-inf`` excludes a feature.
    reward : ndarray of shape (p,) or (runs, p)
        What a feature's dispersion is compared with: :math:`T_l` in the between form, else 0.
    units : ndarray of shape (runs, p) or None
        What dispersions and the metric are multiplied by where runs scale the features in
        different ways, :math:`1 / \sigma_l^2` for standardised ones; None for none.
    """

    lam: Any
    log_prior: Array
    reward: Array
    units: Array | None = None

    @classmethod
    def make(
        cls, lam: float, totals: Array, prior: Array | None = None, *, between: bool = False
    ) -> RelativeEntropy:
        """Build the rule from a penalty, the columns' sums of squares and a prior on ones.

        Parameters
        ----------
        lam : float
        totals : ndarray of shape (p,)
            Sum of squares of every column about its mean.
        prior : ndarray of shape (p,) or None
            Prior weights, 1 where the prior has no opinion.
        between : bool
            Multiply the prior by ``exp(totals / lam)``.
        """
        return cls(
            lam, _log_prior(prior, len(totals)), totals if between else np.zeros(len(totals))
        )

    @classmethod
    def of_runs(
        cls, lams: Array, totals: Array, prior: Array, between: np.ndarray, units: Array | None
    ) -> RelativeEntropy:
        """Build the rule of some runs.

        Parameters
        ----------
        lams : ndarray of shape (runs,)
        totals : ndarray of shape (runs, p)
            Sums of squares of the columns, in the engine's coordinates.
        prior : ndarray of shape (runs, p)
        between : ndarray of bool, shape (runs,)
        units : ndarray of shape (runs, p) or None
        """
        scaled = totals if units is None else totals * units
        log_prior = _log_prior(prior, totals.shape[-1])
        return cls(lams[:, None], log_prior, np.where(between[:, None], scaled, 0.0), units)

    @cached_property
    def _excludes(self) -> bool:
        """Whether the prior excludes any feature."""
        return not bool(np.isfinite(self.log_prior).all())

    @cached_property
    def _uniform(self) -> bool:
        """Whether the prior and the form say nothing: the weights depend on dispersions alone."""
        return not (self.log_prior.any() or self.reward.any())

    def take(self, runs: np.ndarray) -> RelativeEntropy:
        """Return the rule of some of the runs; itself if it is the same in all."""
        if np.ndim(self.lam) == 0:
            return self
        prior = self.log_prior if self.log_prior.ndim == 1 else self.log_prior[runs]
        reward = self.reward if self.reward.ndim == 1 else self.reward[runs]
        units = None if self.units is None else self.units[runs]
        found = RelativeEntropy(self.lam[runs], prior, reward, units)
        # what holds of all holds of some
        found.__dict__["_uniform"] = self._uniform
        if not self._excludes:
            found.__dict__["_excludes"] = False
        return found

    def start(self) -> Array:
        """Return equal weights on all features that are not excluded."""
        included = np.isfinite(self.log_prior)
        return included / np.count_nonzero(included, axis=-1, keepdims=True)

    def update(self, dispersion: Array) -> Array:
        """Return ``prior * exp(-dispersion / lam)``, normalised."""
        if self.units is not None:
            dispersion = dispersion * self.units
        if self._uniform:
            exponent = np.minimum.reduce(dispersion, axis=-1, keepdims=True) - dispersion
            with np.errstate(over="ignore"):  # a tiny penalty leaves one feature
                exponent /= self.lam
            np.exp(exponent, out=exponent)
            exponent /= np.add.reduce(exponent, axis=-1, keepdims=True)
            return exponent
        cost = dispersion - self.reward
        if self._excludes:
            included = np.isfinite(self.log_prior)
            cost -= np.min(cost, axis=-1, keepdims=True, initial=np.inf, where=included)
        else:
            cost -= cost.min(axis=-1, keepdims=True)
        with np.errstate(over="ignore"):  # a tiny penalty leaves one feature
            cost /= self.lam
        exponent = self.log_prior - cost
        exponent -= exponent.max(axis=-1, keepdims=True)
        np.exp(exponent, out=exponent)
        exponent /= exponent.sum(axis=-1, keepdims=True)
        return exponent

    def least(self, dispersion: Array) -> Any:
        """Return the objective at some dispersions and the weights that `update` has for them."""
        if self.units is not None:
            dispersion = dispersion * self.units
        cost = dispersion - self.reward
        included = np.isfinite(self.log_prior)
        lowest = np.min(cost, axis=-1, keepdims=True, initial=np.inf, where=included)
        cost -= lowest
        with np.errstate(over="ignore"):
            cost /= self.lam
        lam = self.lam if np.ndim(self.lam) == 0 else self.lam[:, 0]
        return lowest[..., 0] - lam * logsumexp(self.log_prior - cost, axis=-1)

    def metric(self, weights: Array) -> Array:
        """Return the weights, in the units of every run."""
        return weights if self.units is None else weights * self.units

    def penalty(self, weights: Array) -> Any:
        """Return the relative entropy of the weights times lam."""
        used = weights > 0
        logs = np.log(weights, out=np.zeros(weights.shape), where=used)
        lam = self.lam if np.ndim(self.lam) == 0 else self.lam[:, 0]
        if self._uniform:
            return lam * (weights * logs).sum(axis=-1)
        np.subtract(logs, self.log_prior, out=logs, where=used)
        entropy = (weights * logs).sum(axis=-1)
        return lam * entropy - (weights * self.reward).sum(axis=-1)


def _log_prior(prior: Array | None, p: int) -> Array:
    with np.errstate(divide="ignore"):
        return np.zeros(p) if prior is None else np.log(prior)


@dataclass(frozen=True)
class PowerWeights(_OneForAll):
    r"""Weights of WK-means: the metric is :math:`w_l^\beta`, the weights lie on the simplex.

    The minimiser of :math:`\sum_l w_l^\beta D_l` is :math:`w_l \propto D_l^{-1/(\beta-1)}`.
    Features without any dispersion within the clusters share all the weight, which makes the
    objective zero. (Huang et al. give them none, meaning constant columns; here a column that does
    not vary at all has no weight.)

    Parameters
    ----------
    beta : float
        Exponent, above 1.
    totals : ndarray of shape (p,)
        Sum of squares of every column about its mean.
    """

    beta: float
    totals: Array

    def start(self) -> Array:
        """Return equal weights on all columns that vary."""
        varying = _varying(self.totals)
        return varying / np.count_nonzero(varying)

    def update(self, dispersion: Array) -> Array:
        """Return ``dispersion ** (-1 / (beta - 1))``, normalised."""
        varying = _varying(self.totals)
        nothing = varying & (dispersion <= _NO_DISPERSION * self.totals)
        kept = varying & ~nothing
        exponent = np.full(dispersion.shape, -np.inf)
        np.log(dispersion, out=exponent, where=kept)
        np.divide(exponent, 1.0 - self.beta, out=exponent, where=kept)
        perfect = nothing.any(axis=-1, keepdims=True)
        exponent = np.where(perfect, np.where(nothing, 0.0, -np.inf), exponent)
        weights: Array = np.exp(exponent - exponent.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    def metric(self, weights: Array) -> Array:
        """Return the weights to the power beta."""
        powered: Array = weights**self.beta
        return powered

    def penalty(self, weights: Array) -> Any:
        """Return 0."""
        return 0.0


@dataclass(frozen=True)
class SparseWeights(_OneForAll):
    r"""Weights of sparse k-means: soft-thresholded sums of squares between the clusters.

    With the total sums of squares :math:`T_l`, what lies between the clusters is
    :math:`T_l - D_l`, and :math:`\sum_l w_l (T_l - D_l)` is maximised subject to
    :math:`\|w\|_2 \le 1, \|w\|_1 \le b`. So :math:`-\sum_l w_l T_l` is the penalty. Where nothing
    separates the clusters yet, the weights are equal.

    Parameters
    ----------
    bound : float
        Bound on the one-norm of the weights, 1 or more.
    totals : ndarray of shape (p,)
        Sum of squares of every column about its mean.
    search : {"exact", "sparcl"}
        See `ewp.solver.weights.threshold_weights`.
    """

    bound: float
    totals: Array
    search: Search = "exact"

    def start(self) -> Array:
        """Return equal weights of length 1."""
        p = len(self.totals)
        return np.full(p, p**-0.5)

    def update(self, dispersion: Array) -> Array:
        """Return the thresholded sums of squares between the clusters, scaled to length 1."""
        between = self.totals - dispersion
        between[between <= _NO_SEPARATION * self.totals] = 0.0
        if between.ndim == 1:
            return self._weights(between)
        return np.array([self._weights(one) for one in between])

    def _weights(self, between: Array) -> Array:
        if not between.any():
            # at the start only: once a feature separates, the objective is below zero and stays so
            return self.start()
        return threshold_weights(between, self.bound, self.search)

    def metric(self, weights: Array) -> Array:
        """Return the weights."""
        return weights

    def penalty(self, weights: Array) -> Any:
        """Return minus the weighted total sum of squares."""
        return -(weights @ self.totals)


def _varying(totals: Array) -> np.ndarray:
    """Which columns vary; all of them if none does."""
    varying = totals > 0
    return varying if varying.any() else np.ones_like(varying)


def threshold_weights(between: Array, bound: float, search: Search = "sparcl") -> Array:
    r"""Weights that maximise the weighted between-cluster sum of squares under a one-norm bound.

    .. math:: \max_w \sum_l w_l a_l
        \quad\text{subject to}\quad \|w\|_2 \le 1,\; \|w\|_1 \le b,\; w_l \ge 0 .

    With :math:`S(a, \Delta) = \max(a - \Delta, 0)` the solution is

    .. math:: w = S(a_+, \Delta) / \|S(a_+, \Delta)\|_2 ,

    where :math:`\Delta = 0` if that meets the bound and otherwise is the threshold at which
    :math:`\|w\|_1 = b`.

    Parameters
    ----------
    between : ndarray of shape (p,)
        Between-cluster sum of squares of each feature, :math:`a`.
    bound : float
        Bound :math:`b \ge 1`; at :math:`\sqrt p` and above it has no effect.
    search : {"sparcl", "exact"}, default "sparcl"
        How to find the threshold. "sparcl" bisects between 0 and :math:`\max a - 10^{-5}`, at most
        15 times and until the interval is no longer than :math:`10^{-4}`: the weights of the R
        package sparcl. "exact" solves the quadratic equation of the right number of features.

    Returns
    -------
    ndarray of shape (p,)
        Weights; with "exact" they meet the bound to rounding.

    Raises
    ------
    ValueError
        When `bound` is below 1, or no feature differs between the clusters at all.

    Notes
    -----
    The tolerances of the bisection are absolute. Where the sums :math:`a` are large it stops after
    15 halvings, at :math:`2^{-15}` of their maximum; where they are small it hardly starts. So the
    two searches usually agree to 1e-4 or better, but differ by more when several features are
    close to the threshold, and on data of small scale (sums of squares of 0.01 and less) the
    bisection can miss the bound widely. Then use "exact", or rescale the data.

    When :math:`r > b^2` features share the largest sum exactly, no threshold meets the bound, and
    any weights on them with one-norm :math:`b` are optimal; "exact" gives each :math:`b / r`.

    References
    ----------
    Witten, D. M. and Tibshirani, R. (2010). A framework for feature selection in clustering.
    *Journal of the American Statistical Association* 105, 713-726.

    Examples
    --------
    >>> between = np.array([9.0, 8.0, 2.0, 0.5])
    >>> threshold_weights(between, bound=1.4, search="exact").round(4)
    array([0.8, 0.6, 0. , 0. ])
    >>> threshold_weights(between, bound=1.4, search="sparcl").round(4)
    array([0.8, 0.6, 0. , 0. ])
    """
    if not bound >= 1.0:
        raise ValueError(f"bound={bound} is below 1, which unit-length weights cannot meet")
    if search not in ("sparcl", "exact"):
        raise ValueError(f"search={search!r} is unknown; give 'sparcl' or 'exact'")
    a = np.maximum(np.asarray(between, dtype=np.float64), 0.0)
    length = float(np.linalg.norm(a))
    if length == 0.0:
        raise ValueError("no feature differs between the clusters; their weights are undefined")
    if float(np.sum(a / length)) <= bound:
        return a / length
    if search == "sparcl":
        return _soft(a, _bisect(a, bound))
    return _solve(a, bound)


def _soft(a: Array, threshold: float) -> Array:
    # Only positive sums can gain a weight, even if the threshold is negative.
    kept = np.where(a > 0.0, np.maximum(a - threshold, 0.0), 0.0)
    return kept / np.linalg.norm(kept)


def _bisect(a: Array, bound: float) -> float:
    low, high = 0.0, float(a.max()) - 1e-5
    for _ in range(15):
        if high - low <= 1e-4:
            break
        middle = (low + high) / 2.0
        if float(_soft(a, middle).sum()) < bound:
            high = middle
        else:
            low = middle
    return (low + high) / 2.0


def _solve(a: Array, bound: float) -> Array:
    r"""Weights with one-norm `bound`, from the quadratic equation of the m largest sums.

    With distances :math:`e_i = \max a - a_i` below the maximum, m features kept, mean
    :math:`\bar e` and :math:`V = \sum (e_i - \bar e)^2`, the kept parts :math:`a_i - \Delta` have
    mean t and squared length :math:`V + m t^2`, so that

    .. math:: m t = b \sqrt{V + m t^2} \iff t = b \sqrt{V / (m (m - b^2))} .
    """
    below = np.sort(a.max() - a)
    tied = int(np.count_nonzero(below == 0.0))
    if tied >= bound**2:
        return np.where(a == a.max(), bound / tied, 0.0)
    count = np.arange(1.0, len(a) + 1.0)
    mean = np.cumsum(below) / count
    spread = np.maximum(np.cumsum(below**2) - count * mean**2, 0.0)
    # The ratio of the norms with the threshold at the next sum grows with the number kept: the
    # first number at which it reaches the bound is the right one, and there is one.
    part = np.append(below[1:], a.max()) - mean
    reached = count * part >= bound * np.sqrt(spread + count * part**2)
    reached[: tied - 1], reached[-1] = False, True
    kept = int(np.argmax(reached)) + 1
    deviation = below[:kept] - below[:kept].mean()
    t = bound * np.sqrt(deviation @ deviation / (kept * (kept - bound**2)))
    weights = np.maximum(below[:kept].mean() + t - (a.max() - a), 0.0)
    return weights / np.linalg.norm(weights)
