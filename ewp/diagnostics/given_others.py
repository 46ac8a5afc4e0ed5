r"""What clusters of some features say of another one, beyond its linear relation to the others.

A feature x is regressed on other features. Under the null hypothesis its errors are independent of
these, and so of the clusters, which were found without x and are a function of them; and the
density of the errors has one mode. Three tests look for what contradicts it:

- means: an F test of memberships by linear discriminant analysis beside the other features, for
  what features that are correlated within clusters say of a mean is linear in these probabilities,
- spreads: an F test of flattened memberships for the normal scores of the residuals' sizes,
- modes: the dip of the residuals.

In one elliptical cloud, such as a multivariate t distribution, the errors are larger where the
other features lie far out. So sizes are compared given the rows' leverages, and the variance in the
first test may grow with these. Without heavy tails that is no restriction: with normal errors whose
variance is the same everywhere the first test is the classical F test.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.special import fdtrc, ndtri, softmax
from scipy.stats import rankdata

from ewp.common.types import Array
from ewp.diagnostics.dip import dip_test
from ewp.refinement.mixture import one_hot

__all__ = ["Memberships", "PartTests", "conditional_tests", "memberships"]

#: Columns are dependent on others where less than this share of their length is left.
_DEPENDENT = 1e-7
#: Directions of memberships that are shorter than this, as a share of the longest, are left out.
_VANISHING = 1e-4
#: What logarithms of probabilities are divided by.
_FLATTENED = 4.0
#: Linear discriminant analysis: rows a feature and the most features, rows at the common mean that
#: are added to every cluster, and the least variance within clusters, as a share.
_ROWS_A_FEATURE, _MOST_CORRELATED = 3, 100
#: Clusters overlap where rows belong to others than their likeliest by this share.
_OVERLAP = 5e-3
_ROWS_AT_MEAN, _LEAST_WITHIN = 10.0, 1e-3
#: Errors do not count as smaller than this share of the mean.
_LEAST_SPREAD = 0.2
#: Residual degrees of freedom below which nothing is tested.
_FEWEST_LEFT = 3


class Memberships(NamedTuple):
    """Probabilities of the clusters, and the linear functions of the features that they rest on.

    Attributes
    ----------
    probability : ndarray of shape (n, k)
        Flattened, see `memberships`.
    discriminant : ndarray of shape (n, k)
        By linear discriminant analysis; the flattened ones where features are many, or clusters
        do not overlap.
    scores : ndarray of shape (n, k - 1)
        Log-ratios of the probabilities, before, to that of the first cluster.
    """

    probability: Array
    discriminant: Array
    scores: Array


class PartTests(NamedTuple):
    """P-values of a feature, and the share of its residual variance that the clusters explain."""

    partial_r2: float
    means: float
    spreads: float
    modes: float


_NOTHING = PartTests(0.0, 1.0, 1.0, 1.0)
_UNKNOWN = PartTests(np.nan, np.nan, np.nan, np.nan)


def memberships(X: Array, labels: np.ndarray, mass: Array | None) -> Memberships:
    """Probabilities of clusters whose features are independent and normal, with equal variances.

    If a further feature is independent of these within clusters, its mean given them is linear in
    the probabilities. Features that are correlated within clusters count several times in their
    logarithms, and clusters found by distances look farther apart than they are; so the logarithms
    are divided by 4. Tests have more power for it, and their level does not depend on it.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    labels : ndarray of shape (n,)
    mass : ndarray of shape (n,) or None
        Weights of the rows.
    """
    present, labels = np.unique(labels, return_inverse=True)
    member = one_hot(labels, len(present))
    if mass is not None:
        member = member * mass
    size = member.sum(axis=1)
    Z = X - X.mean(axis=0)
    means = (member @ Z) / size[:, None]
    within = member.sum(axis=0) @ (Z - means[labels]) ** 2 / size.sum()
    varies = within > _DEPENDENT**2 * (Z**2).mean(axis=0)
    Z, means, within = Z[:, varies], means[:, varies], within[varies]
    log = np.log(size) - 0.5 * (means**2 / within).sum(axis=1) + Z @ (means / within).T
    flattened = softmax(log / _FLATTENED, axis=1)
    weight = np.ones(len(X)) if mass is None else mass
    few = Z.shape[1] * _ROWS_A_FEATURE <= len(Z) and Z.shape[1] <= _MOST_CORRELATED
    overlaps = 1.0 - float(softmax(log, axis=1).max(axis=1).mean()) > _OVERLAP
    sharp = _discriminant(Z, member, weight) if few and overlaps else flattened
    return Memberships(flattened, sharp, log[:, 1:] - log[:, :1])


def _discriminant(Z: Array, member: Array, weight: Array) -> Array:
    """Probabilities by linear discriminant analysis, after one step of EM from a partition.

    Half of the covariances within clusters counts, and some rows at the common mean are added to
    every cluster: the clusters were found in these features, and look farther apart than they are.
    """
    Z = Z - np.average(Z, axis=0, weights=weight)
    Z = Z / np.sqrt(np.average(Z**2, axis=0, weights=weight))
    total = (Z.T * weight) @ Z / weight.sum()
    for _ in range(2):
        size = np.maximum(member.sum(axis=1), np.finfo(float).tiny)
        means = (member @ Z) / (size + _ROWS_AT_MEAN)[:, None]
        within = total - (means.T * size) @ means / size.sum()
        least = np.maximum(np.diag(within), _LEAST_WITHIN)
        within = 0.5 * (within + np.diag(least))
        root, axes = np.linalg.eigh(within)
        solved = (axes / np.maximum(root, _LEAST_WITHIN)) @ (axes.T @ means.T)
        log = np.log(size) - 0.5 * np.einsum("kp,pk->k", means, solved) + Z @ solved
        probability: Array = softmax(log, axis=1)
        member = probability.T * weight
    return probability


def _orthogonal(columns: Array, longest: float) -> Array:
    """Orthonormal basis of columns, without directions that are next to nothing."""
    basis, length, _ = np.linalg.svd(columns, full_matrices=False)
    kept: Array = basis[:, length > _VANISHING * longest]
    return kept


def _f_test(residual: Array, basis: Array, variance: Array, left: int) -> float:
    """P-value that directions, orthogonal to what was regressed on, explain nothing.

    Parameters
    ----------
    residual : ndarray of shape (n,)
    basis : ndarray of shape (n, q)
    variance : ndarray of shape (n,)
        Of the errors, up to a factor.
    left : int
        Degrees of freedom of the residual.
    """
    q = basis.shape[1]
    if q == 0:
        return 1.0
    along = basis.T @ residual
    explained = float(along @ np.linalg.solve((basis.T * variance) @ basis, along))
    rest = max(float(residual**2 @ (1.0 / variance)) - explained, 0.0)
    if rest == 0.0:
        return 0.0
    return float(fdtrc(q, left - q, (explained / q) / (rest / (left - q))))


def _normal_scores(x: Array) -> Array:
    scores: Array = ndtri((rankdata(x) - 0.5) / len(x))
    return scores


def _spread(size: Array, leverage: Array) -> Array:
    """Sizes of residuals that grow linearly with the leverage, or are equal."""
    away = leverage - leverage.mean()
    slope = max(float(away @ size) / max(float(away @ away), np.finfo(float).tiny), 0.0)
    fitted: Array = 1.0 + slope / float(size.mean()) * away
    return np.maximum(fitted, _LEAST_SPREAD)


def conditional_tests(
    x: Array, others: Array, clusters: Array, spread_out: Array, sharp: Array | None = None
) -> PartTests:
    """Test a feature against clusters that were found without it.

    Parameters
    ----------
    x : ndarray of shape (n,)
    others : ndarray of shape (n, m)
        What it is regressed on.
    clusters : ndarray of shape (n, k)
        Probabilities of the clusters.
    spread_out : ndarray of shape (n,)
        The feature with its ties broken, for the modes.
    sharp : ndarray of shape (n, k), optional
        Other probabilities of the clusters, for the means.

    Returns
    -------
    PartTests
        Ones for a feature that the others determine; NaN where rows are too few.
    """
    n = len(x)
    design = np.column_stack([np.ones(n), others - others.mean(axis=0)])
    design /= np.maximum(np.linalg.norm(design, axis=0), np.finfo(float).tiny)
    Q, R, _ = qr(design, mode="economic", pivoting=True)
    Q = Q[:, np.abs(np.diag(R)) > _DEPENDENT]
    left = n - Q.shape[1]
    x = x - x.mean()
    residual = x - Q @ (Q.T @ x)
    total = float(residual @ residual)
    if total <= _DEPENDENT**2 * float(x @ x):
        return _NOTHING
    sharp = clusters if sharp is None else sharp
    if left - sharp.shape[1] < _FEWEST_LEFT:
        return _UNKNOWN
    leverage = (Q**2).sum(axis=1)
    shrunk = np.sqrt(np.maximum(1.0 - leverage, _DEPENDENT))
    size = np.abs(residual) / shrunk
    longest = float(np.linalg.norm(sharp, axis=0).max())
    basis = _orthogonal(sharp - Q @ (Q.T @ sharp), longest)
    means = _f_test(residual, basis, _spread(size, leverage) ** 2, left)

    far = np.column_stack([np.ones(n), _normal_scores(leverage)])
    P = np.linalg.qr(far)[0]
    scores = _normal_scores(size)
    scores = scores - P @ (P.T @ scores)
    longest = float(np.linalg.norm(clusters, axis=0).max())
    basis_of_spreads = _orthogonal(clusters - P @ (P.T @ clusters), longest)
    spreads = _f_test(scores, basis_of_spreads, np.ones(n), n - 2)
    around = spread_out - spread_out.mean()
    modes = dip_test((around - Q @ (Q.T @ around)) / shrunk)
    explained = float(((basis.T @ residual) ** 2).sum()) / total
    return PartTests(explained, means, spreads, modes)
