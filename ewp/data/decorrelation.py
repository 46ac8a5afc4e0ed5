r"""Features that are the parts of the data the other features do not explain.

ZCA-cor sphering (Kessy, Lewin and Strimmer 2018): standardised rows times :math:`P^{-1/2}`, with
the correlation matrix P shrunk towards the identity. Of all linear maps to uncorrelated columns it
is the one whose columns stay closest to the standardised features, so that a weight still belongs
to a feature. The matrix itself is never formed where features outnumber rows: the eigenvectors of
the rows' products do. Rows that are not in memory are described by sums over their blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ewp.common.types import Array

__all__ = [
    "CrossMoments",
    "Decorrelation",
    "check_complete",
    "given_shrinkage",
    "is_decorrelated",
    "shrinkage_intensity",
]

#: The least shrinkage: correlations are never inverted without.
_LEAST = 1e-4
#: Eigenvalues below this share of the largest are rounding errors.
_ROUNDING = 1e-10
#: Columns of rows that are read in blocks: their correlations are held whole.
_MOST_COLUMNS = 4096

_NAME = "decorrelate"


def is_decorrelated(scale: Any) -> bool:
    """Whether a scaling is "decorrelate", perhaps with a share of shrinkage.

    >>> [is_decorrelated(scale) for scale in ("decorrelate", "decorrelate:0.25", "standard", None)]
    [True, True, False, False]
    """
    return isinstance(scale, str) and (scale == _NAME or scale.startswith(f"{_NAME}:"))


def check_complete(complete: bool) -> None:
    """Check that there are no missing values: a combination of columns needs all of them."""
    if not complete:
        raise ValueError(
            'scale="decorrelate" needs all values of a row, but X has missing values: give '
            'scale="standard" or None, or impute them before'
        )


def given_shrinkage(scale: str) -> float | None:
    """Return the share in "decorrelate:share", None for "decorrelate" alone.

    >>> given_shrinkage("decorrelate:0.25")
    0.25
    """
    if scale == _NAME:
        return None
    text = scale.removeprefix(f"{_NAME}:")
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0.0 < share <= 1.0:
        raise ValueError(
            f"scale={scale!r}: {text!r} is no share by which correlations are shrunk; give a "
            'number above 0 and up to 1, such as "decorrelate:0.25", or "decorrelate" alone'
        )
    return share


def _intensity(fourth: float, squares: float, total: float) -> float:
    variance = total / (total - 1.0) ** 3 * (fourth - squares / total)
    size = squares / (total - 1.0) ** 2
    if squares <= 0.0 or size <= 0.0:
        return 1.0
    return float(np.clip(variance / size, _LEAST, 1.0))


def shrinkage_intensity(Z: Array, mass: Array) -> float:
    """Share by which correlations are best shrunk towards zero (Schaefer and Strimmer 2005).

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
    squares = float((product**2).sum()) - float(((mass @ squared) ** 2).sum())
    fourth = float(mass @ squared.sum(axis=1) ** 2) - float((mass @ squared**2).sum())
    return _intensity(fourth, squares, total)


@dataclass(frozen=True, eq=False)
class Decorrelation:
    """The map from data to uncorrelated columns, one a feature, and back.

    Attributes
    ----------
    center, scale : ndarray of shape (p,)
        Means and standard deviations of the features, 1 for constant ones.
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
    def estimate(
        cls, X: Array, weight: Array | None = None, shrinkage: float | None = None
    ) -> Decorrelation:
        """Estimate from rows in memory.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        weight : ndarray of shape (n,) or None
        shrinkage : float or None
            Share by which correlations are shrunk; estimated if None.
        """
        if weight is not None and not weight.all():
            X, weight = X[weight > 0], weight[weight > 0]
        check_complete(not np.isnan(X).any())
        mass = np.ones(len(X)) if weight is None else weight
        total = float(mass.sum())
        varying = X.max(axis=0) > X.min(axis=0)
        center = mass @ X / total
        Z = np.subtract(X, center, dtype=np.float64)
        Z[:, ~varying] = 0.0
        scale = _deviations(mass @ Z**2 / total)
        Z /= scale
        if shrinkage is None:
            # weights whose mean is below one are proportions
            shrinkage = shrinkage_intensity(Z, mass * max(1.0, len(mass) / total))
        Z *= np.sqrt(mass / total)[:, None]
        n, p = Z.shape
        if p <= n:
            return cls._of_correlation(center, scale, Z.T @ Z, varying, shrinkage)
        values, left = np.linalg.eigh(Z @ Z.T)
        kept = values > _ROUNDING * max(float(values[-1]), np.finfo(float).tiny)
        values = values[kept]
        axes = (Z.T @ left[:, kept]) / np.sqrt(values)
        roots = np.sqrt((1.0 - shrinkage) * values + shrinkage)
        return cls(center, scale, axes, roots, math.sqrt(shrinkage), shrinkage)

    @classmethod
    def _of_correlation(
        cls, center: Array, scale: Array, correlation: Array, varying: np.ndarray, share: float
    ) -> Decorrelation:
        # constant columns stay by themselves, and constant
        values, own = np.linalg.eigh(correlation[np.ix_(varying, varying)])
        axes = np.zeros((len(varying), len(values)))
        axes[varying] = own
        roots = np.sqrt((1.0 - share) * np.maximum(values, 0.0) + share)
        return cls(center, scale, axes, roots, math.sqrt(share), share)

    @classmethod
    def of_moments(cls, moments: CrossMoments, shrinkage: float | None = None) -> Decorrelation:
        """Estimate from sums over rows that are not at hand."""
        check_complete(not np.isnan(moments.first).any())
        total = moments.total
        mean = moments.first / total
        product = moments.second / total - np.outer(mean, mean)
        varying = moments.most > moments.least
        product[~varying], product[:, ~varying] = 0.0, 0.0
        scale = _deviations(np.diag(product).copy())
        product /= np.outer(scale, scale)
        if shrinkage is None:
            p = len(mean)
            squares = total**2 * float((product**2).sum() - (np.diag(product) ** 2).sum())
            # of many rows: as of a normal distribution without correlations
            shrinkage = _intensity(squares / total + p * (p - 1.0) * total, squares, total)
        center = mean + moments.shift
        return cls._of_correlation(center, scale, product, varying, shrinkage)

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


@dataclass
class CrossMoments:
    """Sums of rows and of their products about a shift, of which parts add up.

    Attributes
    ----------
    shift : ndarray of shape (p,)
    total : float
    first : ndarray of shape (p,)
    second : ndarray of shape (p, p)
    least, most : ndarray of shape (p,)
        Smallest and largest values.
    """

    shift: Array
    total: float
    first: Array
    second: Array
    least: Array
    most: Array

    @classmethod
    def of_blocks(cls, shift: Array, blocks: Iterable[tuple[Any, Array | None]]) -> CrossMoments:
        """Sum blocks of rows with their weights."""
        p = len(shift)
        if p > _MOST_COLUMNS:
            raise ValueError(
                f'scale="decorrelate": {p} columns of rows that are not in memory are too many for '
                f"their correlations ({_MOST_COLUMNS} at most); read the data into an array"
            )
        nowhere = np.full(p, np.inf)
        found = cls(shift, 0.0, np.zeros(p), np.zeros((p, p)), nowhere, -nowhere)
        for rows, weight in blocks:
            block = np.asarray(rows, dtype=np.float64)
            if weight is not None:
                block, weight = block[weight > 0], weight[weight > 0]
            if len(block):
                Z = block - shift
                weighted = Z if weight is None else Z * weight[:, None]
                total = float(len(Z) if weight is None else weight.sum())
                ends = block.min(axis=0), block.max(axis=0)
                found += cls(shift, total, weighted.sum(axis=0), weighted.T @ Z, *ends)
        return found

    def __add__(self, other: Any) -> CrossMoments:
        return CrossMoments(
            self.shift,
            self.total + other.total,
            self.first + other.first,
            self.second + other.second,
            np.minimum(self.least, other.least),
            np.maximum(self.most, other.most),
        )
