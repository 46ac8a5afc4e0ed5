r"""Mixtures of t distributions of one scatter, and the single t in their place, many at once.

What `ewp.selection.density` compares on rows that were held out. Partitions of the same rows with
as many clusters and directions differ in nothing but numbers, so their mixtures are estimated
together: arrays have first axes in common.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import gammaln

from ewp.common.types import Array

__all__ = ["Mixture", "TDistribution", "log_t", "squared_lengths"]

#: Degrees of freedom from which those of the tails are chosen, and those that give the shape.
_DEGREES = np.array([[3.0], [5.0], [10.0], [30.0]])
_SHAPE_DEGREES = 5.0
#: Steps in which the scatter of a t distribution is found, and its size for every tail.
_STEPS = 4
#: Dimensions up to which squared distances are summed one by one.
_FEW_DIMENSIONS = 8
#: Variance added to a scatter matrix, as a share; least size of one.
_RIDGE, _LEAST_SIZE = 1e-4, 1e-12


class TDistribution(NamedTuple):
    """Student's t about the origin in several dimensions.

    Several of them have first axes in common.

    Attributes
    ----------
    root : ndarray of shape (..., d, d)
        Inverse of the scatter matrix's Cholesky factor.
    log_det : ndarray of shape (...)
        Logarithm of the scatter matrix's determinant.
    degrees : ndarray of shape (...)
        Degrees of freedom.
    """

    root: Array
    log_det: Any
    degrees: Any

    @classmethod
    def estimate(cls, difference: Array, mass: Array, floor: Array) -> TDistribution:
        """Estimate from centred rows, with the tails under which they are likeliest.

        The shape of the scatter matrix is that of the most likely t distribution with five degrees
        of freedom; its size, and the degrees of freedom, are then the most likely ones.

        Parameters
        ----------
        difference : ndarray of shape (..., n, d)
            Rows minus their means.
        mass : ndarray of shape (n,)
        floor : ndarray of shape (..., d)
            Variances that are added.
        """
        total, dimension = float(mass.sum()), difference.shape[-1]
        added = floor[..., None] * np.eye(dimension)
        trusted = np.broadcast_to(mass, difference.shape[:-1])
        for _ in range(_STEPS):
            weighted = (difference * trusted[..., None]).swapaxes(-1, -2)
            lower = np.linalg.cholesky(weighted @ difference / total + added)
            root = np.linalg.inv(lower)
            squared = squared_lengths(difference @ root.swapaxes(-1, -2))
            trusted = squared + _SHAPE_DEGREES
            np.divide(_SHAPE_DEGREES + dimension, trusted, out=trusted)
            trusted *= mass
        squared = squared[..., None, :]
        size = np.ones((*difference.shape[:-2], len(_DEGREES), 1))
        share = np.empty((*difference.shape[:-2], len(_DEGREES), len(mass)))
        for _ in range(_STEPS):
            np.add(squared, _DEGREES * size, out=share)
            np.divide(squared, share, out=share)
            size *= (share @ mass)[..., None] / total
            size *= (_DEGREES + dimension) / dimension
            # of equal rows the size is that of what is added
            size = np.maximum(size, _LEAST_SIZE)
        diagonal = np.diagonal(lower, axis1=-2, axis2=-1)
        log_det = 2.0 * np.log(diagonal).sum(axis=-1)[..., None, None] + dimension * np.log(size)
        np.divide(squared, size, out=share)
        likelihood = log_t(share, log_det, dimension, _DEGREES) @ mass
        best = likelihood.argmax(axis=-1)[..., None, None]
        size, log_det = (np.take_along_axis(one, best, axis=-2) for one in (size, log_det))
        return cls(root / np.sqrt(size), log_det[..., 0, 0], _DEGREES[best[..., 0, 0], 0])

    def take(self, which: Any) -> TDistribution:
        """Return some of them."""
        return TDistribution(*(one[which] for one in self))

    def log_predictive(self, rows: Array, means: Array, size: Array) -> Array:
        """Log-density of rows about means that were estimated from so many rows, (..., k, n)."""
        across = self.root.swapaxes(-1, -2)
        placed, dimension = means @ across, self.root.shape[-1]
        squared = _squared_distances(placed, rows @ across)
        inflated = (1.0 + 1.0 / size)[..., None]
        log_det = np.asarray(self.log_det)[..., None, None] + dimension * np.log(inflated)
        degrees = np.asarray(self.degrees)[..., None, None]
        return log_t(squared / inflated, log_det, dimension, degrees)


def log_t(squared: Array, log_det: Any, dimension: int, degrees: Any) -> Array:
    """Log-density of Student's t at squared Mahalanobis distances from its scatter matrix."""
    half = 0.5 * (degrees + dimension)
    constant = gammaln(half) - gammaln(0.5 * degrees) - 0.5 * dimension * np.log(np.pi * degrees)
    density: Array = squared / degrees
    np.log1p(density, out=density)
    density *= half
    return np.subtract(constant - 0.5 * log_det, density, out=density)


def squared_lengths(rows: Array) -> Array:
    """Squared lengths of rows."""
    found: Array = np.einsum("...ij,...ij->...i", rows, rows)
    return found


def _squared_distances(means: Array, rows: Array) -> Array:
    """Squared distances of means (..., k, d) and rows (..., n, d), from their differences."""
    if means.ndim == 2:
        return cdist(means, rows, "sqeuclidean")
    if means.shape[-1] <= _FEW_DIMENSIONS:
        # one operation a dimension is less than one call a pair
        found = np.zeros((*means.shape[:-1], rows.shape[-2]))
        for along_means, along_rows in zip(
            np.moveaxis(means, -1, 0), np.moveaxis(rows, -1, 0), strict=True
        ):
            gap = along_means[..., :, None] - along_rows[..., None, :]
            gap *= gap
            found += gap
        return found
    return np.array([_squared_distances(*pair) for pair in zip(means, rows, strict=True)])


class Mixture(NamedTuple):
    """A mixture of t distributions of one scatter, and the single t in its place.

    Several of them have a first axis in common.
    """

    log_share: Array
    size: Array
    means: Array
    within: TDistribution
    center: Array
    whole: TDistribution
    total: float

    @classmethod
    def estimate(cls, rows: Array, labels: np.ndarray, weight: Array, mass: Array) -> Mixture:
        """Estimate from projected training rows.

        Parameters
        ----------
        rows : ndarray of shape (..., n, d)
        labels : ndarray of shape (..., n)
        weight : ndarray of shape (n,)
            Numbers of copies of the rows.
        mass : ndarray of shape (..., k)
            Those of all rows of the clusters.
        """
        total, k = float(weight.sum()), mass.shape[-1]
        member = (labels[..., None, :] == np.arange(k)[:, None]) * weight
        means = (member @ rows) / mass[..., None]
        center = weight @ rows / total
        centred = rows - center[..., None, :]
        floor = _RIDGE * np.maximum(weight @ centred**2 / total, np.finfo(float).tiny)
        residual = rows - np.take_along_axis(means, labels[..., None], axis=-2)
        # rows of a cluster of one are at its mean
        residual *= np.sqrt(total / max(total - k, 1.0))
        both = TDistribution.estimate(np.array([residual, centred]), weight, floor)
        within, whole = both.take(0), both.take(1)
        return cls(np.log(mass / total), mass, means, within, center, whole, total)

    def take(self, which: int) -> Mixture:
        """Return one of several."""
        share, size, means, within, center, whole, total = self
        return Mixture(
            share[which],
            size[which],
            means[which],
            within.take(which),
            center[which],
            whole.take(which),
            total,
        )

    def log_mixture(self, rows: Array) -> Array:
        """Log-density of rows (..., n, d) under the mixture; the means are estimates."""
        score = self.within.log_predictive(rows, self.means, self.size)
        score += self.log_share[..., None]
        top = score.max(axis=-2, keepdims=True)
        density: Array = top[..., 0, :] + np.log(np.exp(score - top).sum(axis=-2))
        return density

    def log_single(self, rows: Array) -> Array:
        """Log-density of rows under the single t."""
        center = self.center[..., None, :]
        return self.whole.log_predictive(rows, center, np.array([self.total]))[..., 0, :]

    def gain(self, rows: Array) -> Array:
        """Log-density of rows under the mixture minus that under the single t."""
        return self.log_mixture(rows) - self.log_single(rows)
