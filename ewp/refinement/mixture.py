r"""Mixtures of multivariate normal or t distributions, fitted by EM from a partition.

A component is :math:`\pi_j f(x; \mu_j, \Sigma_j)` with the density of a normal distribution, or of
Student's t with given degrees of freedom; `ewp.refinement.scatter` says what :math:`\Sigma_j` may
be. The E step computes the probabilities that a row belongs to the components and, under t
tails, how much it is trusted; the M step maximises the likelihood, penalised by the rows that the
scatter matrices count besides those seen. No step lowers it (Dempster, Laird and Rubin 1977; for t
distributions Peel and McLachlan 2000).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, logsumexp

from ewp.common.types import Array
from ewp.refinement.observed import Patterns, first_guess, maximise, observed_distances
from ewp.refinement.scatter import (
    Anchor,
    Scatter,
    count_parameters,
    estimate_scatter,
    scatter_penalty,
)

__all__ = ["Mixture", "MixtureModel", "fit_mixture", "one_hot"]

_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class MixtureModel:
    """Kind of a mixture.

    Attributes
    ----------
    covariance : {"spherical", "diagonal", "tied", "full"}
    tails : float
        Degrees of freedom; infinite for normal components.
    equal : bool
        Whether all proportions are the same.
    """

    covariance: str
    tails: float = np.inf
    equal: bool = False

    def count_parameters(self, k: int, p: int) -> int:
        """Number of free parameters of k components of p features."""
        return (0 if self.equal else k - 1) + k * p + count_parameters(self.covariance, k, p)


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture, in the coordinates of the rows it was fitted to.

    Attributes
    ----------
    model : MixtureModel
    log_share : ndarray of shape (k,)
        Log proportions.
    means : ndarray of shape (k, p)
    scatter : Scatter
    cell : ndarray of shape (p,)
        Variances of uniform distributions in the cells of the columns.
    trace : tuple of float
        Penalised log-likelihood, one value an E step.
    converged : bool
    """

    model: MixtureModel
    log_share: Array
    means: Array
    scatter: Scatter
    cell: Array
    trace: tuple[float, ...] = ()
    converged: bool = False

    def joint(self, rows: Array) -> Array:
        """Log of proportion times density of every component at rows, of shape (k, n).

        Missing values, NaN, have no part in the density of their row.
        """
        return self._joint(*self._distances(rows, Patterns.of(rows)))

    def _distances(
        self, rows: Array, patterns: Patterns | None
    ) -> tuple[Array, Array, int | Array]:
        """Squared distances, log-determinants, and numbers of values of the rows."""
        if patterns is None:
            squared = self.scatter.squared(rows, self.means, self.cell)
            log_det = np.broadcast_to(self.scatter.log_det, len(self.means))[:, None]
            return squared, log_det, rows.shape[1]
        found = observed_distances(patterns, self.scatter, self.means, self.cell)
        return *found, patterns.counts

    def _joint(self, squared: Array, log_det: Array, p: int | Array) -> Array:
        tails = self.model.tails
        if np.isfinite(tails):
            half = 0.5 * (tails + p)
            constant = gammaln(half) - gammaln(0.5 * tails) - 0.5 * p * np.log(np.pi * tails)
            density = constant - half * np.log1p(squared / tails)
        else:
            density = -0.5 * (p * np.log(2.0 * np.pi) + squared)
        density -= 0.5 * log_det
        density += self.log_share[:, None]
        found: Array = density
        return found

    def log_density(self, rows: Array) -> Array:
        """Log-density of rows."""
        found: Array = logsumexp(self.joint(rows), axis=0)
        return found

    def probabilities(self, rows: Array) -> Array:
        """Probabilities that rows belong to the components, of shape (n, k)."""
        joint = self.joint(rows)
        found: Array = np.exp(joint - logsumexp(joint, axis=0)).T
        return found

    def expectation(
        self, rows: Array, patterns: Patterns | None = None
    ) -> tuple[Array, Array, Array]:
        """Log-densities, memberships of shape (k, n), and what tails leave of the rows.

        Parameters
        ----------
        rows : ndarray of shape (n, p)
        patterns : Patterns or None
            Those of the rows where they are known already.
        """
        squared, log_det, p = self._distances(rows, patterns or Patterns.of(rows))
        joint = self._joint(squared, log_det, p)
        density = logsumexp(joint, axis=0)
        tails = self.model.tails
        trust = (tails + p) / (tails + squared) if np.isfinite(tails) else np.ones(squared.shape)
        return density, np.exp(joint - density), trust


def one_hot(labels: np.ndarray, k: int) -> Array:
    """Memberships of a partition, of shape (k, n)."""
    member = np.zeros((k, len(labels)))
    member[labels, np.arange(len(labels))] = 1.0
    return member


def _maximise(
    rows: Array,
    mass: Array,
    membership: Array,
    trust: Array,
    model: MixtureModel,
    anchor: Anchor,
    patterns: Patterns | None,
    before: Mixture | None,
) -> Mixture:
    """M step; where values are missing, they are expected under the estimates of the step before.

    Before the first step there are none, and a guess takes their place.
    """
    k = len(membership)
    share = membership * mass
    count = np.maximum(share.sum(axis=1), _TINY)
    weight = share * trust
    if patterns is None:
        means = (weight @ rows) / np.maximum(weight.sum(axis=1), _TINY)[:, None]
        scatter = estimate_scatter(model.covariance, rows, weight, count, means, anchor)
    else:
        known = (
            first_guess(patterns, weight, model.covariance, anchor)
            if before is None
            else (before.means, before.scatter)
        )
        means, scatter = maximise(patterns, share, weight, *known, model.covariance, anchor)
    log_share = np.full(k, -np.log(k)) if model.equal else np.log(count / count.sum())
    return Mixture(model, log_share, means, scatter, anchor.cell)


def fit_mixture(
    rows: Array,
    mass: Array,
    start: Mixture | Array,
    model: MixtureModel,
    anchor: Anchor,
    *,
    max_iter: int = 200,
    tol: float = 1e-6,
    hold: bool = False,
) -> Mixture:
    """Fit a mixture by EM.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        Standardised columns, with NaN for missing values.
    mass : ndarray of shape (n,)
        Numbers of copies of the rows.
    start : Mixture or ndarray of shape (k, n)
        Where to begin: parameters, or memberships.
    model : MixtureModel
    anchor : Anchor
    max_iter : int, default 200
        Largest number of E steps.
    tol : float, default 1e-6
        Gain of the penalised log-likelihood per row at which the steps end.
    hold : bool, default False
        Keep the memberships of the start: the mixture that a partition implies.
    """
    total = float(mass.sum())
    patterns = Patterns.of(rows)
    held: Array | None = None
    if isinstance(start, Mixture):
        k = len(start.means)
        share = np.full(k, -np.log(k)) if model.equal else start.log_share
        current = replace(start, model=model, log_share=share)
    else:
        held = start if hold else None
        trust = np.ones(start.shape)
        current = _maximise(rows, mass, start, trust, model, anchor, patterns, None)
    trace: list[float] = []
    converged = False
    while True:
        density, membership, trust = current.expectation(rows, patterns)
        if held is not None:
            joint = current.joint(rows)
            density = np.where(held > 0, joint, 0.0).sum(axis=0)
            membership = held
        value = float(mass @ density) + scatter_penalty(model.covariance, current.scatter, anchor)
        trace.append(value)
        converged = len(trace) > 1 and value - trace[-2] < tol * total
        if converged or len(trace) >= max_iter:
            break
        current = _maximise(rows, mass, membership, trust, model, anchor, patterns, current)
    return replace(current, trace=tuple(trace), converged=converged)
