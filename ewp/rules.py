"""Rules by which feature weights follow from within-cluster dispersions.

A rule owns its penalty: the solver hands it the dispersions ``D_l = sum_ij phi_ij (x_il -
theta_jl)**2`` of a step and gets the weights that minimise ``sum_l w_l D_l + penalty(w)``. With a
schedule (`ewp.schedules`) it names a method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import entr

from ewp.kernel import Array

__all__ = ["FixedWeights", "RelativeEntropy", "WeightRule"]


class WeightRule(Protocol):
    """What the solver asks of a rule for the weights."""

    def start(self) -> Array:
        """Return the weights before the first step."""

    def update(self, dispersion: Array) -> Array:
        """Return the weights that minimise the objective at these dispersions."""

    def penalty(self, weights: Array) -> float:
        """Return the part of the objective that does not depend on the data."""


@dataclass(frozen=True)
class FixedWeights:
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
        return self.weights

    def penalty(self, weights: Array) -> float:
        """Return 0."""
        return 0.0


@dataclass(frozen=True)
class RelativeEntropy:
    r"""Entropy penalty with a prior: :math:`\lambda \sum_l w_l \log(w_l / \pi_l)`.

    The minimiser is :math:`w_l \propto \pi_l \exp(-D_l / \lambda)`. The prior is on a scale on
    which a uniform one is all ones, so that the uniform prior gives the paper's penalty
    :math:`\lambda \sum_l w_l \log w_l`. The between form has :math:`\pi_l = \exp(T_l / \lambda)`
    with the total sums of squares :math:`T_l`.

    Parameters
    ----------
    lam : float
        Penalty in the units of a sum over rows.
    log_prior : ndarray of shape (p,)
        Logarithm of the prior; ``-inf`` excludes a feature.
    """

    lam: float
    log_prior: Array

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
        with np.errstate(divide="ignore"):
            log_prior = np.zeros(len(totals)) if prior is None else np.log(prior)
        return cls(lam, log_prior + totals / lam if between else log_prior)

    def start(self) -> Array:
        """Return equal weights on all features that are not excluded."""
        included = np.isfinite(self.log_prior)
        return included / np.count_nonzero(included)

    def update(self, dispersion: Array) -> Array:
        """Return ``prior * exp(-dispersion / lam)``, normalised."""
        exponent = self.log_prior - dispersion / self.lam
        exponent -= exponent.max()
        np.exp(exponent, out=exponent)
        exponent /= exponent.sum()
        return exponent

    def penalty(self, weights: Array) -> float:
        """Return the relative entropy of the weights times lam."""
        used = weights > 0
        return self.lam * float(-entr(weights).sum() - weights[used] @ self.log_prior[used])
