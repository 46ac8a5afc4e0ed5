"""Mixtures of rows with missing values: densities of what is observed, and the steps of EM.

Rows count with the density of their observed values (Ghahramani and Jordan 1994; for t
distributions Liu 1995). Where features are uncorrelated the M step takes sums over observed values;
matrices are estimated from the rows' expected products, given what is observed of them and the
estimates of the step before. The penalised likelihood of the observed values never falls. Values
must be missing at random: whether one is may depend on what is observed of the row, and on nothing
else.
"""

from __future__ import annotations

import numpy as np

from ewp.common.types import Array
from ewp.data.decorrelation import shrinkage_intensity
from ewp.refinement.patterns import Patterns
from ewp.refinement.scatter import (
    FLOOR,
    MOST_SHRINKAGE,
    STEPS,
    Anchor,
    MatrixScatter,
    Scatter,
    VarianceScatter,
    scatter_of_products,
    scatter_of_squares,
)

__all__ = ["estimate_anchor", "first_guess", "maximise", "observed_distances"]

_TINY = np.finfo(float).tiny
#: Steps of EM in which correlations that matrices are shrunk to are found, and the largest change
#: of a variance or covariance, as a share of the largest variance, at which they end.
_POOLING_STEPS, _SETTLED = 100, 1e-6


def observed_distances(
    patterns: Patterns, scatter: Scatter, means: Array, cell: Array
) -> tuple[Array, Array]:
    """Squared Mahalanobis distances of what is observed, and log-determinants of its scatter.

    Returns
    -------
    squared, log_det : ndarray of shape (k, n)
    """
    if isinstance(scatter, MatrixScatter):
        squared, more = patterns.distances(means, scatter.precision, cell)
        return squared, more + scatter.log_det[:, None]
    squared = np.empty((len(means), len(patterns.values)))
    for out, mean, variance in zip(squared, means, scatter.variance, strict=True):
        away = patterns.seen * ((patterns.values - mean) ** 2 + cell)
        out[:] = away @ (1.0 / variance)
    return squared, np.log(scatter.variance) @ patterns.seen.T


def _observed_means(patterns: Patterns, weight: Array, otherwise: Array) -> Array:
    """Weighted means of observed values, of shape (k, p); others where there are none."""
    mass = weight @ patterns.seen
    found: Array = np.divide(weight @ patterns.values, mass, out=otherwise.copy(), where=mass > 0)
    return found


def first_guess(
    patterns: Patterns, weight: Array, covariance: str, anchor: Anchor
) -> tuple[Array, Scatter]:
    """Means and scatter matrices by which the missing values of a partition are first expected."""
    k, p = len(weight), patterns.values.shape[1]
    means = _observed_means(patterns, weight, np.zeros((k, p)))
    if covariance in ("tied", "full"):
        return means, MatrixScatter(anchor.pooled[None])
    return means, VarianceScatter(np.tile(anchor.variance, (k, 1)))


def maximise(
    patterns: Patterns,
    share: Array,
    weight: Array,
    means: Array,
    scatter: Scatter,
    covariance: str,
    anchor: Anchor,
) -> tuple[Array, Scatter]:
    """M step: means and scatter matrices.

    Parameters
    ----------
    patterns : Patterns
    share : ndarray of shape (k, n)
        Memberships times copies.
    weight : ndarray of shape (k, n)
        The same times what tails leave of a row.
    means, scatter
        Estimates of the step before.
    covariance : {"spherical", "diagonal", "tied", "full"}
    anchor : Anchor
    """
    if not isinstance(scatter, MatrixScatter):
        new = _observed_means(patterns, weight, means)
        squares = (weight @ patterns.seen) * anchor.cell
        for out, own, mean in zip(squares, weight, new, strict=True):
            out += own @ (patterns.seen * (patterns.values - mean) ** 2)
        count = share @ patterns.seen
        return new, scatter_of_squares(covariance, squares, count, anchor)
    new = np.empty(means.shape)
    products = np.empty((*means.shape, means.shape[1]))
    for j, rows, more in patterns.expected(share, weight, means, scatter.precision, anchor.cell):
        new[j] = weight[j] @ rows / max(float(weight[j].sum()), _TINY)
        away = rows - new[j]
        products[j] = (away * weight[j][:, None]).T @ away + more
    count = np.maximum(share.sum(axis=1), _TINY)
    return new, scatter_of_products(covariance, products, count, anchor)


def estimate_anchor(
    rows: Array,
    mass: Array,
    labels: np.ndarray,
    k: int,
    cell: Array,
    tails: float,
    *,
    pool: bool,
) -> Anchor:
    """Estimate what scatter matrices are shrunk to, as `Anchor.estimate` does of complete rows.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        Standardised, with NaN.
    mass, labels, k, cell, tails, pool
        As there.
    """
    patterns = Patterns.of(rows)
    if patterns is None:
        return Anchor.estimate(rows, mass, labels, k, cell, tails, pool=pool)
    member = np.zeros((k, len(rows)))
    member[labels, np.arange(len(rows))] = mass
    seen_mass = np.maximum(mass @ patterns.seen, _TINY)
    trust = np.ones(len(rows))
    for _ in range(STEPS if np.isfinite(tails) else 1):
        means = _observed_means(patterns, member * trust, np.zeros((k, rows.shape[1])))
        residual = (patterns.values - means[labels]) * patterns.seen
        counted = mass * trust
        variance = (counted @ residual**2 + (counted @ patterns.seen) * cell) / seen_mass
        variance = np.maximum(variance, FLOOR)
        if np.isfinite(tails):
            squared = (residual**2 + patterns.seen * cell) @ (1.0 / variance)
            trust = (tails + patterns.counts) / (tails + squared)
    if not pool:
        return Anchor(cell, variance)
    trusted = residual * np.sqrt(counted / mass)[:, None]
    share = min(shrinkage_intensity(trusted / np.sqrt(variance), mass), MOST_SHRINKAGE)
    alone = Anchor(cell, variance, float(mass.sum()) * share / (1.0 - share))
    return alone._replace(pooled=_pool(patterns, residual, mass, counted, alone))


def _pool(
    patterns: Patterns, residual: Array, mass: Array, counted: Array, anchor: Anchor
) -> Array:
    """Common matrix of the residuals of a partition, by EM; its diagonal is the variances."""
    about = Patterns(residual, patterns.seen, patterns.groups)
    nowhere = np.zeros((1, len(anchor.variance)))
    root = np.sqrt(anchor.variance)
    pooled = np.diag(anchor.variance)
    for _ in range(_POOLING_STEPS):
        precision = MatrixScatter(pooled[None]).precision
        (_, rows, more), *_ = about.expected(
            mass[None], counted[None], nowhere, precision, anchor.cell
        )
        products = (rows * counted[:, None]).T @ rows + more
        products[np.diag_indices_from(products)] += anchor.rows * anchor.variance
        before, pooled = pooled, products / (float(mass.sum()) + anchor.rows)
        # the variances stay those of the observed values
        scale = root / np.sqrt(np.diag(pooled))
        pooled *= np.outer(scale, scale)
        if np.abs(pooled - before).max() < _SETTLED * anchor.variance.max():
            break
    return pooled
