r"""Features that are parts of the data the other features do not explain.

ZCA-cor sphering (Kessy, Lewin and Strimmer 2018): standardised rows times :math:`P^{-1/2}`, with
the correlation matrix P shrunk towards the identity. Of all linear maps to uncorrelated columns it
is the one whose columns stay closest to the standardised features, so that a weight still belongs
to a feature. The matrix itself is never formed where features outnumber rows: the eigenvectors of
the rows' products do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ewp.common.types import Array

__all__ = ["Decorrelation", "shrinkage_intensity"]

#: The least shrinkage: correlations are never inverted without.
_LEAST = 1e-4
#: Eigenvalues below this share of the largest are rounding errors.
_ROUNDING = 1e-10
#: Columns of rows that are read in blocks: their correlations are held whole.
_MOST_COLUMNS = 4096


def _intensity(fourth: float, squares: float, own: float, total: float) -> float:
    variance = total / (total - 1.0) ** 3 * (fourth - squares / total)
    size = squares / (total - 1.0) ** 2
    if own <= 0.0 or size <= 0.0:
        return 1.0
    return float(np.clip(variance / size, _LEAST, 1.0))


def shrinkage_intensity(Z: Array, mass: Array) -> float:
    """Share by which correlations are best shrunk towards zero, from Schaefer and Strimmer (2005).

    The sum of the estimated variances of the correlations over the sum of their squares, at least
    0.0001 and at most 1.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Standardised columns.
    mass : ndarray of shape (n,)
        Numbers of copies of the rows.
    """
    n, p = Z.shape
    total = float(mass.sum())
    if p < 2 or total <= 2.0:
        return 1.0
    scaled = Z * np.sqrt(mass)[:, None]
    product = scaled @ scaled.T if n <= p else scaled.T @ scaled
    squared = Z**2
    # products of a column with itself are no correlations
    of_squares = float((product**2).sum()) - float(((mass @ squared) ** 2).sum())
    fourth = float(mass @ squared.sum(axis=1) ** 2) - float((mass @ squared**2).sum())
    return _intensity(fourth, of_squares, of_squares, total)


@dataclass(frozen=True)
class Decorrelation:
    """The map from data to uncorrelated columns, one a feature, and back.

    Attributes
    ----------
    center, scale : ndarray of shape (p,)
        Means and standard deviations of the features.
    axes : ndarray of shape (p, r)
        Eigenvectors of the correlations.
    roots : ndarray of shape (r,)
        Square roots of their shrunk eigenvalues.
    rest : float
        The same for all other directions.
    shrinkage : float
        Share by which correlations were shrunk towards zero.
    """

    center: Array
    scale: Array
    axes: Array
    roots: Array
    rest: float
    shrinkage: float

    @classmethod
    def estimate(cls, X: Array, weight: Array | None = None) -> Decorrelation:
        """Estimate from rows in memory.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        weight : ndarray of shape (n,) or None
        """
        mass = np.ones(len(X)) if weight is None else weight
        total = float(mass.sum())
        center = mass @ X / total
        Z = np.subtract(X, center, dtype=np.float64)
        scale = _deviations(mass @ Z**2 / total)
        Z /= scale
        # weights whose mean is below one are proportions
        copies = mass * max(1.0, float((mass > 0).sum()) / total)
        share = shrinkage_intensity(Z, copies)
        Z *= np.sqrt(mass / total)[:, None]
        n, p = Z.shape
        if p <= n:
            return cls._of_correlation(center, scale, Z.T @ Z, share)
        values, left = np.linalg.eigh(Z @ Z.T)
        kept = values > _ROUNDING * max(float(values[-1]), np.finfo(float).tiny)
        values = values[kept]
        axes = (Z.T @ left[:, kept]) / np.sqrt(values)
        return cls(
            center,
            scale,
            axes,
            np.sqrt((1.0 - share) * values + share),
            float(np.sqrt(share)),
            share,
        )

    @classmethod
    def _of_correlation(
        cls, center: Array, scale: Array, correlation: Array, share: float
    ) -> Decorrelation:
        values, axes = np.linalg.eigh(correlation)
        roots = np.sqrt((1.0 - share) * np.maximum(values, 0.0) + share)
        return cls(center, scale, axes, roots, float(np.sqrt(share)), share)

    @classmethod
    def of_moments(cls, moments: CrossMoments) -> Decorrelation:
        """Estimate from sums over rows that are not at hand."""
        total = moments.total
        center = moments.first / total
        product = moments.second / total - np.outer(center, center)
        scale = _deviations(np.diag(product).copy())
        product /= np.outer(scale, scale)
        of_squares = total**2 * float((product**2).sum() - (np.diag(product) ** 2).sum())
        # many rows: correlations are known well, and hardly shrunk
        fourth = of_squares / total + 2.0 * _pairs(len(center)) * total
        share = _intensity(fourth, of_squares, of_squares, total)
        return cls._of_correlation(center + moments.shift, scale, product, share)

    def apply(self, X: Array) -> Array:
        """Return rows, or centroids, as uncorrelated columns."""
        Z = np.subtract(X, self.center, dtype=np.float64)
        Z /= self.scale
        return self._times(Z, 1.0 / self.roots, 1.0 / self.rest)

    def invert(self, Z: Array) -> Array:
        """Return rows, or centroids, in the units of the data."""
        X = self._times(Z, self.roots, self.rest)
        X *= self.scale
        X += self.center
        return X

    def _times(self, Z: Array, along: Array, rest: float) -> Array:
        p, r = self.axes.shape
        if r == p:
            found: Array = ((Z @ self.axes) * along) @ self.axes.T
            return found
        found = ((Z @ self.axes) * (along - rest)) @ self.axes.T
        found += rest * Z
        return found


def _deviations(variance: Array) -> Array:
    deviation = np.sqrt(np.maximum(variance, 0.0))
    return np.where(deviation > 0.0, deviation, 1.0)


def _pairs(p: int) -> float:
    return 0.5 * p * (p - 1.0)


@dataclass
class CrossMoments:
    """Sums of rows and of their products, about a shift, of which parts add up.

    Attributes
    ----------
    shift : ndarray of shape (p,)
    total : float
    first : ndarray of shape (p,)
    second : ndarray of shape (p, p)
    """

    shift: Array
    total: float
    first: Array
    second: Array

    @classmethod
    def of_blocks(cls, shift: Array, blocks: Iterable[tuple[Any, Array | None]]) -> CrossMoments:
        """Sum blocks of rows with their weights."""
        p = len(shift)
        if p > _MOST_COLUMNS:
            raise ValueError(
                f'scale="decorrelate": {p} columns of rows that are not in memory are too many for '
                f"their correlations ({_MOST_COLUMNS} at most); read the data into an array"
            )
        found = cls(shift, 0.0, np.zeros(p), np.zeros((p, p)))
        for rows, weight in blocks:
            Z = np.subtract(rows, shift, dtype=np.float64)
            weighted = Z if weight is None else Z * weight[:, None]
            found.total += float(len(Z) if weight is None else weight.sum())
            found.first += weighted.sum(axis=0)
            found.second += weighted.T @ Z
        return found

    def __add__(self, other: Any) -> CrossMoments:
        return CrossMoments(
            self.shift,
            self.total + other.total,
            self.first + other.first,
            self.second + other.second,
        )
