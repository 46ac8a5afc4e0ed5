"""Values many orders beyond the rest of their column, such as codes for missing values.

A fill value of 9.97e36 or a -999999999 among ordinary numbers makes a cluster of its own, takes the
digits of all others, and is nearly always a mistake. `describe_outliers` names it when a fit
begins. What is merely heavy-tailed is left alone: seen from the median, the gap between these
values and the rest must be a factor of 1,000,000, and more than the square of what the larger half
of the rest spans itself; and no share or probability counts. A usual code (999, -9999, ...) needs a
gap of 10 alone. Most columns are cleared by their extremes and a sample of the rows; only the
others are looked at whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ewp.common.checks import listing
from ewp.common.types import Array
from ewp.data.frames import with_numbers
from ewp.data.sources import ArraySource, DaskSource

__all__ = ["OutlierWarning", "describe_outliers", "far_values"]

#: How much farther from the median such values lie than all others.
_GAP = 1e6
_GAP_OF_CODES = 10.0
#: Rows that tell what is usual, rows that are looked at in one go, the fewest that tell anything.
_SAMPLE, _BLOCK, _FEWEST = 256, 4096, 5
#: Columns and rows that a message lists.
_MOST_COLUMNS, _MOST_ROWS = 5, 5
#: Shares and probabilities span any number of orders, and no code is one.
_LARGEST_SHARE = 1.0
_LEAST_CODE = 1000.0
_GOLDEN = (5.0**0.5 - 1.0) / 2.0
_INTEGER_ENDS = (-32768.0, 32767.0, -2147483648.0, 2147483647.0)


class OutlierWarning(UserWarning):
    """Some values of a column lie many orders beyond all others."""


def _are_codes(values: Array) -> np.ndarray:
    """Which values are usual codes for missing values: three nines or more, ends of integers."""
    nines = np.abs(values) + 1.0
    if nines.max() < _LEAST_CODE:
        return np.zeros(len(values), dtype=bool)
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = np.round(np.log10(nines))
        found = (digits >= 3) & (digits <= 15) & (nines == 10.0**digits)
    return found | np.isin(values, _INTEGER_ENDS)


def far_values(values: Array) -> np.ndarray:
    """Which values of a column lie many orders beyond all others: fewer than half of them.

    Parameters
    ----------
    values : ndarray of shape (n,)

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> far_values(np.array([0.3, 1.2, 9.97e36, 0.7, 2.0, -0.1])).tolist()
    [False, False, True, False, False, False]
    """
    n = len(values)
    nothing = np.zeros(n, dtype=bool)
    if n < _FEWEST:
        return nothing
    away = np.abs(values - np.median(values))
    ranked = np.sort(away)
    first = (n + 1) // 2  # the least number of values that are not far
    lower, upper = ranked[first - 1 : -1], ranked[first:]
    ratio = np.divide(upper, lower, out=np.zeros(len(upper)), where=lower > 0)
    at = int(np.argmax(ratio))
    usual = ranked[: first + at]
    usual = usual[usual > 0]
    if len(usual) and ratio[at] >= max(_GAP, float(usual[-1] / np.median(usual)) ** 2):
        far = away >= upper[at]
        return far if np.abs(values[far]).min() > _LARGEST_SHARE else nothing
    ends = np.array([values.min(), values.max()])
    found = np.isin(values, ends[_are_codes(ends)])
    rest = float(away[~found].max(initial=0.0))
    far = found & (away >= _GAP_OF_CODES * rest)
    return far if rest > 0 and 2 * int(far.sum()) < n else nothing


def _suspects(sample: Array, low: Array, high: Array) -> np.ndarray:
    """Numbers of the columns that may have far values, from a sample of rows and the extremes."""
    ranked = np.array(sample, dtype=np.float64)
    ranked.sort(axis=0)
    half = len(ranked) // 2
    middle = ranked[half]
    # the shortest half holds no far values, however many there are
    usual = (ranked[half:] - ranked[: len(ranked) - half]).min(axis=0)
    if not usual.all():
        same = np.flatnonzero(usual == 0)
        away = np.abs(ranked[:, same] - middle[same])
        usual[same] = np.where(away > 0, away, np.inf).min(axis=0)
        usual[np.isinf(usual)] = 0.0
    reach = np.maximum(high - middle, middle - low)
    # half the gap: the median of the sample is not quite that of all rows
    found = reach >= 0.5 * _GAP * usual
    if max(float(high.max()), -float(low.min())) + 1.0 >= _LEAST_CODE:
        found |= (_are_codes(low) | _are_codes(high)) & (reach >= 0.5 * _GAP_OF_CODES * usual)
    return np.flatnonzero(found & (reach > 0))


def describe_outliers(
    source: ArraySource | DaskSource,
    sample: Array | None = None,
    reach: tuple[Array, Array] | None = None,
) -> str | None:
    """Describe the values that lie many orders beyond the rest of their column; None without any.

    Parameters
    ----------
    source : ArraySource or DaskSource
    sample : ndarray of shape (m, p), optional
        Some of the rows, where they are not at hand.
    reach : tuple of ndarray, optional
        Bounds on the values of every column, where the rows are not at hand.
    """
    if source.n < _FEWEST:
        return None
    if isinstance(source, ArraySource):
        chosen: Any = slice(None)
        if source.n > _SAMPLE:  # spread evenly, but in step with no period of the rows
            chosen = (np.arange(_SAMPLE) * _GOLDEN % 1.0 * source.n).astype(np.intp)
        sample, reach = source.array[chosen], source.ends
    assert sample is not None
    assert reach is not None
    absent = np.isnan(sample)
    if absent.any():
        some = ~absent.all(axis=0)
        middle = np.array(reach[0], dtype=np.float64)
        middle[some] = np.nanmedian(sample[:, some], axis=0)
        sample = np.where(absent, middle, sample)
    suspects = _suspects(sample, *reach)
    if not len(suspects):
        return None
    values = _columns(source, suspects)
    used = np.ones(source.n, bool) if source.weight is None else source.weight > 0
    rows, names = source.names
    told = []
    for i, column in enumerate(suspects):
        far = np.zeros(source.n, dtype=bool)
        seen = used & ~np.isnan(values[:, i])
        far[seen] = far_values(values[seen, i])
        if far.any():
            told.append(_tell(names[column], values[:, i], far, seen & ~far, rows))
    if not told:
        return None
    more = len(told) - _MOST_COLUMNS
    if more > 0:
        told[_MOST_COLUMNS:] = [f"{more} more column{'s' if more > 1 else ''}"]
    return (
        f"{'; '.join(told)}. Are these codes for missing values? Drop these rows, or put other "
        "values in their place"
    )


def _columns(source: ArraySource | DaskSource, columns: np.ndarray) -> Array:
    """Some columns of all rows."""
    if isinstance(source, DaskSource):
        X = source.data
        if hasattr(X, "columns"):
            return with_numbers(X.iloc[:, list(columns)].compute()).to_numpy(np.float64)
        return np.asarray(X[:, columns].compute(), dtype=np.float64)
    starts = range(0, source.n, _BLOCK)
    parts = [source.array[start : start + _BLOCK][:, columns] for start in starts]
    return np.concatenate(parts).astype(np.float64)


def _tell(name: object, values: Array, far: np.ndarray, rest: np.ndarray, rows: pd.Index) -> str:
    """Words on the far values of one column."""
    beyond, others = values[far], values[rest]
    least = float(beyond[np.argmin(np.abs(beyond))])
    count = f"{len(beyond)} values" if len(beyond) > 1 else "1 value"
    if (beyond == least).all():
        what = f"of {least:.6g}"
    elif (beyond > 0).all():
        what = f"of {least:.3g} and more"
    elif (beyond < 0).all():
        what = f"of {least:.3g} and less"
    else:
        what = f"as far from 0 as {abs(least):.3g}"
    where = listing(list(rows[far]), _MOST_ROWS)
    return (
        f"column {name!r}: {count} {what}, far beyond all others ({others.min():.3g} to "
        f"{others.max():.3g}), in row{'s' if len(beyond) > 1 else ''} {where}"
    )
