r"""Coordinates in which partitions are scored, whatever features they were found on.

Rows are described column by column, so that no column can gain from how it was recorded: values of
a column that takes few of them are spread over the cell around each, and a power transformation
(Yeo and Johnson 2000) takes away the skewness of its margin. Both are monotone: groups that are
apart stay apart. Neither knows a partition, and neither changes with units or the order of rows.
Equal rows stay equal, so that a weight is worth as much as copies.
"""

from __future__ import annotations

import hashlib

import numpy as np

from ewp.common.types import Array
from ewp.selection.conditional_means import fill_conditional_means

__all__ = ["power_transform", "resolution", "scoring_coordinates"]

#: A column with fewer distinct values than this share of the rows has a resolution.
_DISCRETE = 0.5
#: Values closer than this share of the range, or than some units in the last place, are equal.
_SAME = 1e-9
_LAST_PLACES = 8 * np.finfo(float).eps
#: Powers that are tried; the likelihood is interpolated between them.
_POWERS = np.linspace(-2.0, 4.0, 13)
#: Quantiles of a column by which its power is chosen, where it has more values.
_MOST_VALUES = 400
#: Entries that are transformed at once.
_ENTRIES = 2**18
#: Exponents closer to zero than this stand for the logarithm.
_LOGARITHM = 1e-9
_TINY = 1e-300


def resolution(X: Array, weight: Array | None = None) -> Array:
    """Smallest gap between the values of every column that repeats them, 0 for the others.

    Gaps that are rounding errors, as between 0.3 and 0.1 + 0.2, do not count.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    weight : ndarray of shape (n,) or None
        Positive numbers of copies.

    >>> resolution(np.array([[0.0, 0.31], [2.0, 0.77], [2.0, 0.12], [0.0, 0.93]]))
    array([2., 0.])
    """
    rows = len(X) if weight is None else float(weight.sum())
    smallest = np.zeros(X.shape[1])
    for column in range(X.shape[1]):
        values = np.unique(X[:, column]).astype(np.float64)
        gaps = np.diff(values)
        rounding = max(_SAME * float(np.ptp(values)), _LAST_PLACES * float(np.abs(values).max()))
        gaps = gaps[gaps > rounding]
        if 1 < len(gaps) + 1 <= _DISCRETE * rows:
            smallest[column] = gaps.min()
    return smallest


def scoring_coordinates(
    X: Array, weight: Array | None, canonical: tuple[np.ndarray, np.ndarray]
) -> Array:
    """Rows in the coordinates in which their density is scored.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    weight : ndarray of shape (n,) or None
        Positive numbers of copies.
    canonical : tuple of ndarray of shape (n,)
        Order of the rows by value, and which of them differ from the row before.

    Returns
    -------
    ndarray of shape (n, p)
        Constant columns are zero. In the place of missing values are their conditional means,
        see `ewp.selection.conditional_means`.
    """
    absent = np.isnan(X)
    if absent.any():
        return _of_observed(X, weight, canonical, absent)
    cell = resolution(X, weight)
    mass = np.ones(len(X)) if weight is None else weight
    found = np.array(X, dtype=np.float64)
    for column in np.flatnonzero(cell):
        found[:, column] = _spread(found[:, column], cell[column], *canonical)
    width = max(_ENTRIES // len(X), 1)
    for start in range(0, X.shape[1], width):
        columns = slice(start, start + width)
        standard = _standardise(found[:, columns], mass)
        found[:, columns] = power_transform(standard, _best_powers(standard, mass))
    return found


def _of_observed(
    X: Array,
    weight: Array | None,
    canonical: tuple[np.ndarray, np.ndarray],
    absent: np.ndarray,
) -> Array:
    """Describe every column by its observed values, and put conditional means between them."""
    order, group = canonical[0], np.cumsum(canonical[1])
    found = np.zeros(X.shape)
    for column in range(X.shape[1]):
        seen = ~absent[:, column]
        if not seen.any():
            continue
        place, here = np.cumsum(seen) - 1, seen[order]
        own = place[order[here]], np.diff(group[here], prepend=0) > 0
        mass = None if weight is None else weight[seen]
        values = scoring_coordinates(X[seen, column : column + 1], mass, own)
        found[seen, column] = values[:, 0]
    return fill_conditional_means(found, np.ones(len(X)) if weight is None else weight, absent)


def _spread(values: Array, cell: float, order: np.ndarray, distinct: np.ndarray) -> Array:
    """Spread the values of a coarse column evenly over their cells, the same way every time."""
    # a column has its own numbers, wherever it stands and in whatever units it is
    _, rank = np.unique(values[order[distinct]], return_inverse=True)
    digest = hashlib.sha256(rank.astype("<i4").tobytes()).digest()
    uniform = np.random.default_rng(np.frombuffer(digest, np.uint32)).random(len(rank))
    found = values.copy()
    found[order] += cell * (uniform[np.cumsum(distinct) - 1] - 0.5)
    return found


def _standardise(X: Array, mass: Array) -> Array:
    """Subtract the median of every column and divide by its deviation; constant ones are zero."""
    ranks = np.argsort(X, axis=0)  # which of equal values comes first does not matter
    below = np.cumsum(mass[ranks], axis=0)
    middle = np.take_along_axis(ranks, (below < 0.5 * below[-1]).sum(axis=0)[None], axis=0)
    centred: Array = X - np.take_along_axis(X, middle, axis=0)
    deviation = np.sqrt(mass @ centred**2 / mass.sum())
    varying = (np.ptp(X, axis=0) > 0) & (deviation > 0)
    return np.divide(centred, deviation, out=np.zeros_like(centred), where=varying)


def power_transform(X: Array, power: Array) -> Array:
    """Yeo and Johnson's power transformation, a power for every column; one changes nothing.

    >>> power_transform(np.array([[-1.0, 0.0, 3.0]]).T, np.array([0.5])).round(3).ravel().tolist()
    [-1.219, 0.0, 2.0]
    """
    exponent = np.where(X >= 0, power, 2.0 - power)
    exponent[np.abs(exponent) < _LOGARITHM] = _LOGARITHM
    changed: Array = np.expm1(exponent * np.log1p(np.abs(X))) / exponent
    return np.copysign(changed, X)


def _best_powers(X: Array, mass: Array) -> Array:
    """Return the power of every column with the largest normal likelihood."""
    if mass.sum() > _MOST_VALUES:
        X, mass = _quantiles(X, mass), np.ones(_MOST_VALUES)
    share = mass[:, None] / mass.sum()
    jacobian = (share * np.copysign(np.log1p(np.abs(X)), X)).sum(axis=0)
    likelihood = np.empty((len(_POWERS), X.shape[1]))
    for i, power in enumerate(_POWERS):
        changed = power_transform(X, np.full(X.shape[1], power))
        variance = (share * (changed - (share * changed).sum(axis=0)) ** 2).sum(axis=0)
        likelihood[i] = (power - 1.0) * jacobian - 0.5 * np.log(np.maximum(variance, _TINY))
    best = likelihood.argmax(axis=0)
    inner = np.clip(best, 1, len(_POWERS) - 2)
    low, middle, high = (
        np.take_along_axis(likelihood, (inner + i)[None], axis=0)[0] for i in (-1, 0, 1)
    )
    curve = low - 2.0 * middle + high
    shift = np.divide(0.5 * (low - high), curve, out=np.zeros_like(curve), where=curve < 0)
    found: Array = _POWERS[best] + np.where(best == inner, shift, 0.0) * (_POWERS[1] - _POWERS[0])
    return found


def _quantiles(X: Array, mass: Array) -> Array:
    """Evenly spaced quantiles of every column."""
    ranks = np.argsort(X, axis=0)  # which of equal values comes first does not matter
    below = np.cumsum(mass[ranks], axis=0)
    asked = (np.arange(_MOST_VALUES) + 0.5) / _MOST_VALUES * mass.sum()
    place = np.column_stack([np.searchsorted(column, asked) for column in below.T])
    place = np.take_along_axis(ranks, np.minimum(place, len(X) - 1), axis=0)
    return np.take_along_axis(X, place, axis=0)
