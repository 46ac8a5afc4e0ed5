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
        """Log of proportion times density of every component at rows, of shape (k, n)."""
        squared = self.scatter.squared(rows, self.means, self.cell)
        return self._joint(squared, rows.shape[1])

    def _joint(self, squared: Array, p: int) -> Array:
        tails = self.model.tails
        if np.isfinite(tails):
            half = 0.5 * (tails + p)
            constant = gammaln(half) - gammaln(0.5 * tails) - 0.5 * p * np.log(np.pi * tails)
            density = constant - half * np.log1p(squared / tails)
        else:
            density = -0.5 * (p * np.log(2.0 * np.pi) + squared)
        density -= 0.5 * np.broadcast_to(self.scatter.log_det, len(self.means))[:, None]
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

    def expectation(self, rows: Array) -> tuple[Array, Array, Array]:
        """Log-densities, memberships of shape (k, n), and what tails leave of the rows."""
        p = rows.shape[1]
        squared = self.scatter.squared(rows, self.means, self.cell)
        joint = self._joint(squared, p)
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
) -> Mixture:
    """M step."""
    k = len(membership)
    share = membership * mass
    count = np.maximum(share.sum(axis=1), _TINY)
    weight = share * trust
    means = (weight @ rows) / np.maximum(weight.sum(axis=1), _TINY)[:, None]
    scatter = estimate_scatter(model.covariance, rows, weight, count, means, anchor)
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
        Standardised columns.
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
    held: Array | None = None
    if isinstance(start, Mixture):
        k = len(start.means)
        share = np.full(k, -np.log(k)) if model.equal else start.log_share
        current = replace(start, model=model, log_share=share)
    else:
        held = start if hold else None
        current = _maximise(rows, mass, start, np.ones(start.shape), model, anchor)
    trace: list[float] = []
    converged = False
    while True:
        density, membership, trust = current.expectation(rows)
        if held is not None:
            joint = current.joint(rows)
            density = np.where(held > 0, joint, 0.0).sum(axis=0)
            membership = held
        value = float(mass @ density) + scatter_penalty(model.covariance, current.scatter, anchor)
        trace.append(value)
        converged = len(trace) > 1 and value - trace[-2] < tol * total
        if converged or len(trace) >= max_iter:
            break
        current = _maximise(rows, mass, membership, trust, model, anchor)
    return replace(current, trace=tuple(trace), converged=converged)
