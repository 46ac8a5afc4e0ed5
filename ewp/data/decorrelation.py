r"""Features that are the parts of the data the other features do not explain.

ZCA-cor sphering (Kessy, Lewin and Strimmer 2018): standardised rows times :math:`P^{-1/2}`, with
the correlation matrix P shrunk towards the identity. Of all linear maps to uncorrelated columns it
is the one whose columns stay closest to the standardised features, so that a weight still belongs
to a feature. The matrix itself is never formed where features outnumber rows: the eigenvectors of
the rows' products do. Rows that are not in memory are described by sums over their blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ewp.common.types import Array
from ewp.data.canonical import column_means, column_squares, copies_factor, varying_columns

__all__ = [
    "Decorrelation",
    "check_complete",
    "cross_moments",
    "fourth_moments",
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
#: Rows that are mapped or summed together.
_ROWS = 4096

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
            'scale="decorrelate" needs all values of a row, but X has missing values: every '
            'decorrelated feature is a combination of all. Give scale="standard" or None, and '
            "refine() uses correlations where values are missing; or impute them before"
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
    if squares <= 0.0 or total <= 2.0:
        return 1.0
    variance = total / (total - 1.0) ** 3 * (fourth - squares / total)
    size = squares / (total - 1.0) ** 2
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
    if p < 2:
        return 1.0
    scaled = Z * np.sqrt(mass)[:, None]
    product = scaled @ scaled.T if n <= p else scaled.T @ scaled
    squared = Z**2
    # products of a column with itself are no correlations
    squares = float((product**2).sum()) - float(((mass @ squared) ** 2).sum())
    return _intensity(_products(squared, mass), squares, total)


def _products(squared: Array, mass: Array) -> float:
    """Sum over rows of the products of two different squares."""
    own = np.einsum("ij,ij->i", squared, squared)
    return float(mass @ (squared.sum(axis=1) ** 2 - own))


@dataclass(frozen=True, eq=False)
class Decorrelation:
    """The map from data to uncorrelated columns, one a feature, and back.

    Attributes
    ----------
    center, scale : ndarray of shape (p,)
        Means and standard deviations of the features, 1 for constant ones.
    axes : ndarray of shape (p, r)
        Eigenvectors of the correlations; rows of zeros for features that stay by themselves.
    roots : ndarray of shape (r,)
        Square roots of their shrunk eigenvalues. That of all other directions is the root of the
        shrinkage.
    shrinkage : float
        Share by which correlations were shrunk towards zero.
    """

    center: Array
    scale: Array
    axes: Array
    roots: Array
    shrinkage: float

    @classmethod
    def estimate(
        cls,
        X: Array,
        weight: Array | None = None,
        shrinkage: float | None = None,
        used: np.ndarray | None = None,
    ) -> Decorrelation:
        """Estimate from rows in memory, without a matrix of all pairs of many features.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        weight : ndarray of shape (n,) or None
        shrinkage : float or None
            Share by which correlations are shrunk; estimated if None.
        used : ndarray of bool, shape (p,), or None
            Features that are decorrelated; the others, and constant ones, are standardised and
            have no part in it.
        """
        if X.shape[1] <= min(len(X), _MOST_COLUMNS):
            means = column_means(X, weight)
            return cls.of_blocks(means, lambda add, *more: add(X, weight, *more), shrinkage, used)
        if weight is not None and not weight.all():
            X, weight = X[weight > 0], weight[weight > 0]
        mass = np.ones(len(X)) if weight is None else weight
        total = float(mass.sum())
        center = column_means(X, weight)
        check_complete(not np.isnan(center).any())
        scale = _deviations(column_squares(X, weight, center) / total)
        correlated = varying_columns(X, weight)
        if used is not None:
            correlated &= used
        Z = np.subtract(X[:, correlated], center[correlated], dtype=np.float64, order="C")
        Z /= scale[correlated]
        if shrinkage is None:
            shrinkage = shrinkage_intensity(Z, mass * copies_factor(len(mass), total))
        Z *= np.sqrt(mass / total)[:, None]
        n, m = Z.shape
        if m <= n:
            values, own = np.linalg.eigh(Z.T @ Z)
        else:
            values, left = np.linalg.eigh(Z @ Z.T)
            kept = values > _ROUNDING * max(float(values[-1]), np.finfo(float).tiny)
            values = values[kept]
            own = (Z.T @ left[:, kept]) / np.sqrt(values)
        return cls._of_axes(center, scale, correlated, own, values, shrinkage)

    @classmethod
    def _of_axes(
        cls,
        center: Array,
        scale: Array,
        correlated: np.ndarray,
        own: Array,
        values: Array,
        share: float,
    ) -> Decorrelation:
        axes = np.zeros((len(correlated), len(values)))
        axes[correlated] = own
        roots = np.sqrt((1.0 - share) * np.maximum(values, 0.0) + share)
        return cls(center, scale, axes, roots, share)

    @classmethod
    def of_blocks(
        cls,
        center: Array,
        blocks: Callable[..., Any],
        shrinkage: float | None = None,
        used: np.ndarray | None = None,
    ) -> Decorrelation:
        """Estimate from sums over rows, which need not be at hand.

        Parameters
        ----------
        center : ndarray of shape (p,)
            The means.
        blocks : callable
            ``blocks(function, *arguments)`` adds up what a function of rows, their weights and
            some arguments returns for all blocks of rows: `cross_moments`, `fourth_moments`.
        shrinkage, used
            As in `estimate`.
        """
        p = len(center)
        if p > _MOST_COLUMNS:
            raise ValueError(
                f'scale="decorrelate": {p} columns of rows that are not in memory are too many for '
                f"their correlations ({_MOST_COLUMNS} at most); read the data into an array"
            )
        check_complete(not np.isnan(center).any())
        found: CrossMoments = blocks(cross_moments, center)
        total, correlated = found.total, found.most > found.least
        scale = _deviations(np.diag(found.products) / total)
        if used is not None:
            correlated &= used
        own = scale[correlated]
        correlation = found.products[np.ix_(correlated, correlated)] / (total * np.outer(own, own))
        if shrinkage is None:
            fourth: float = blocks(fourth_moments, center[correlated], own, correlated)
            copies = copies_factor(found.rows, total)
            squares = float((correlation**2).sum() - (np.diag(correlation) ** 2).sum())
            total *= copies
            shrinkage = _intensity(copies * fourth, total**2 * squares, total)
        values, axes = np.linalg.eigh(correlation)
        return cls._of_axes(center, scale, correlated, axes, values, shrinkage)

    @cached_property
    def alone(self) -> np.ndarray:
        """Which features stay by themselves: constant ones, and those that are not used."""
        found: np.ndarray = (self.axes == 0.0).all(axis=1)
        return found

    @property
    def variances(self) -> Array:
        """Variances of the uncorrelated columns on the rows of the estimate.

        They are 1 for features that stay by themselves.
        """
        if self.shrinkage == 1.0:
            return np.ones(len(self.scale))
        values = (self.roots**2 - self.shrinkage) / (1.0 - self.shrinkage)
        return np.where(self.alone, 1.0, self.axes**2 @ (values / self.roots**2))

    def apply(self, X: Array, dtype: Any = np.float64) -> Array:
        """Return rows, or centroids, as uncorrelated columns."""
        found = np.empty(X.shape, dtype)
        # blocks keep what is between small, and one layout keeps the last digits
        for start in range(0, len(X), _ROWS):
            Z = np.subtract(X[start : start + _ROWS], self.center, order="C", dtype=np.float64)
            Z /= self.scale
            self._times(Z, 1.0 / self.roots, inverse=True, out=found[start : start + _ROWS])
        return found

    def invert(self, Z: Array) -> Array:
        """Return rows, or centroids, in the units of the data."""
        X = np.empty(Z.shape)
        self._times(Z, self.roots, inverse=False, out=X)
        X *= self.scale
        X += self.center
        return X

    def _times(self, Z: Array, along: Array, *, inverse: bool, out: Array) -> None:
        p, r = self.axes.shape
        if r == p - np.count_nonzero(self.alone):
            np.matmul((Z @ self.axes) * along, self.axes.T, out=out)
        else:
            rest = math.sqrt(self.shrinkage)
            rest = 1.0 / rest if inverse else rest
            np.matmul((Z @ self.axes) * (along - rest), self.axes.T, out=out)
            out += rest * Z
        out[:, self.alone] = Z[:, self.alone]


def _deviations(variance: Array) -> Array:
    deviation = np.sqrt(np.maximum(variance, 0.0))
    return np.where(deviation > 0.0, deviation, 1.0)


class CrossMoments(NamedTuple):
    """Number and weight of rows, products of their differences from the mean, and their ends."""

    rows: int
    total: float
    products: Array
    least: Array
    most: Array

    def __add__(self, other: Any) -> CrossMoments:
        return CrossMoments(
            self.rows + other.rows,
            self.total + other.total,
            self.products + other.products,
            np.minimum(self.least, other.least),
            np.maximum(self.most, other.most),
        )


def _counted(X: Array, weight: Array | None) -> Iterator[tuple[Array, Array]]:
    """Blocks of rows of positive weight, and their weights."""
    for start in range(0, len(X), _ROWS):
        rows = X[start : start + _ROWS]
        mass = np.ones(len(rows)) if weight is None else weight[start : start + _ROWS]
        if mass.any():
            yield (rows, mass) if mass.all() else (rows[mass > 0], mass[mass > 0])


def cross_moments(X: Array, weight: Array | None, center: Array) -> CrossMoments:
    """Sum products of the differences of rows from the means."""
    nowhere = np.full(len(center), np.inf)
    found = CrossMoments(0, 0.0, np.zeros((len(center), len(center))), nowhere, -nowhere)
    for rows, mass in _counted(X, weight):
        Z = np.subtract(rows, center, order="C", dtype=np.float64)
        ends = rows.min(axis=0), rows.max(axis=0)
        found += CrossMoments(len(rows), float(mass.sum()), (Z.T * mass) @ Z, *ends)
    return found


def fourth_moments(
    X: Array, weight: Array | None, center: Array, scale: Array, columns: np.ndarray
) -> float:
    """Sum squared products of two of the standardised columns over rows and pairs."""
    found = 0.0
    for rows, mass in _counted(X, weight):
        Z = np.subtract(rows[:, columns], center, order="C", dtype=np.float64)
        Z /= scale
        found += _products(Z**2, mass)
    return found
