"""What divergences ask of the data: a family for every column, values in its domain, size factors.

The option `divergence` names one family for all columns or one for each; `offset` gives rows a
size. Counts of a row of size s are compared with s times the centroids, and since the divergence of
counts is then s times that of counts per unit of size, rows of counts with sizes are fitted as rows
per unit of size that weigh as much as they are large.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ewp.common.checks import check_choice, shown
from ewp.common.types import Array
from ewp.data.frames import align_to_columns, align_to_rows, default_names, row_names
from ewp.data.validation import as_floats
from ewp.engine.divergence import ColumnDivergence
from ewp.engine.families import FAMILIES

__all__ = [
    "PLAIN",
    "FittedFamilies",
    "aligned_offset",
    "check_domains",
    "check_offset",
    "checked_families",
    "column_families",
    "reference_total",
    "rows_per_unit",
    "size_factors",
]

#: The divergence of k-means, and the option's default.
PLAIN = "euclidean"
#: Share of the largest value by which those of a column differ that is in proportion to the sizes.
_ROUNDING = 1e-12
#: Sizes of rows lie within, and the largest is not so many times the smallest.
_SMALLEST_SIZE, _LARGEST_SIZE, _WIDEST = 1e-100, 1e100, 1e12


def column_families(divergence: Any, columns: pd.Index) -> tuple[str, ...] | None:
    """Name the family of every column; None if all have squared differences.

    Parameters
    ----------
    divergence : str, sequence of str or mapping of column names to str
        Columns that a mapping does not name have squared differences.
    columns : pandas.Index
        Names of the columns.

    Examples
    --------
    >>> column_families({"visits": "poisson"}, pd.Index(["age", "visits"]))
    ('euclidean', 'poisson')
    """
    if isinstance(divergence, str):
        _check_family(divergence)
        return None if divergence == PLAIN else (divergence,) * len(columns)
    if isinstance(divergence, Mapping):
        unknown = [name for name in divergence if name not in columns]
        if unknown:
            raise ValueError(
                f"divergence names {unknown[0]!r}, which is no column; the columns are "
                f"{', '.join(map(repr, columns[:10]))}{', ...' if len(columns) > 10 else ''}"
            )
        named = [divergence.get(name, PLAIN) for name in columns]
    elif _is_list(divergence):
        named = list(divergence)
        if len(named) != len(columns):
            raise ValueError(
                f"divergence names {len(named)} families for {len(columns)} columns; give one for "
                "all, one for each, or a mapping of column names"
            )
    else:
        raise ValueError(
            f"divergence={shown(divergence)} is no divergence; give one of "
            f"{', '.join(map(repr, FAMILIES))}, one for each column, or a mapping of column names"
        )
    for one in named:
        _check_family(one)
    return None if set(named) <= {PLAIN} else tuple(str(one) for one in named)


def checked_families(divergence: Any, X: Array, columns: pd.Index | None) -> tuple[str, ...] | None:
    """Name the families of the columns of checked rows, and check that these are in their domains.

    Parameters
    ----------
    divergence : str, sequence of str or mapping
    X : ndarray of shape (n, p)
    columns : pandas.Index or None
        Names of the columns, if they have some.
    """
    index = default_names(X.shape[1]) if columns is None else columns
    names = column_families(align_to_columns("divergence", divergence, columns), index)
    if names is not None:
        if np.isnan(X).any():
            raise ValueError(
                f"divergence={divergence!r} needs complete rows; drop or fill missing values"
            )
        check_domains(X, names, index)
    return names


def _is_list(value: Any) -> bool:
    """Whether something has entries one after the other, and is no text."""
    if isinstance(value, Sequence):
        return not isinstance(value, str | bytes)
    return len(getattr(value, "shape", ())) == 1


def _check_family(name: Any) -> None:
    check_choice("divergence", name, tuple(FAMILIES))


def check_domains(
    X: Array, names: tuple[str, ...], columns: pd.Index, cure: str | None = None
) -> None:
    """Check that the values of all columns are in the domains of their families.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    names : tuple of str
        Names of the columns' families.
    columns : pandas.Index
        Names of the columns.
    cure : str, optional
        What to do about a value that is not, where the divergence cannot be another one.
    """
    if cure is None:
        cure = (
            'give that column another divergence, such as "euclidean", by a mapping of column '
            "names, or mend it"
        )
    for name in dict.fromkeys(names):
        family = FAMILIES[name]
        if not family.has_ends:
            continue
        which = np.flatnonzero(np.array(names) == name)
        wrong = family.outside(X[:, which])
        if wrong.any():
            row, place = (int(one) for one in np.argwhere(wrong)[0])
            value = float(X[row, which[place]])
            raise ValueError(
                f"divergence={name!r} is for values {family.domain}: column "
                f"{columns[which[place]]!r} has {value:g} (row {row}); {cure}"
            )


def check_offset(offset: Any, names: tuple[str, ...] | None, n: int) -> Any:
    """Check the option `offset`: None, "size", or a positive size for each of n rows."""
    if offset is None:
        return None
    if names is None or not all(FAMILIES[name].has_sizes for name in names):
        given = PLAIN if names is None else next(n for n in names if not FAMILIES[n].has_sizes)
        able = ", ".join(repr(name) for name, family in FAMILIES.items() if family.has_sizes)
        raise ValueError(
            f"offset is for counts, but there is a column with divergence={given!r}; give all "
            f"columns divergence={able}, or leave offset=None"
        )
    if isinstance(offset, str) and offset == "size":
        return offset
    if isinstance(offset, str | numbers.Number | Mapping):
        raise ValueError(f'offset={shown(offset)} must be None, "size", or one size for every row')
    sizes = as_floats("offset", offset)
    if sizes.shape != (n,):
        raise ValueError(f"offset has shape {sizes.shape}, but X has {n} rows: give one size a row")
    wrong = np.flatnonzero(~(np.isfinite(sizes) & (sizes > 0)))
    if len(wrong):
        raise ValueError(
            f"offset: row {wrong[0]} has size {sizes[wrong[0]]:g}, but sizes are positive factors "
            "(exp of the offset of a log-linear model); give positive numbers, or drop the row"
        )
    least, most = float(sizes.min()), float(sizes.max())
    if least < _SMALLEST_SIZE or most > min(_LARGEST_SIZE, _WIDEST * least):
        raise ValueError(
            f"offset has sizes from {least:.3g} to {most:.3g}, beside which some rows would not "
            "count; check them, or drop these rows"
        )
    return sizes


def aligned_offset(offset: Any, X: Any) -> Any:
    """Bring sizes that are a Series into the order of the rows, if both have names."""
    return align_to_rows("offset", offset, row_names(X)) if offset is not None else None


def reference_total(X: Array, sample_weight: Array | None) -> float:
    """Mean total of the rows: the total of a row of size one."""
    return float(np.average(X.sum(axis=1), weights=sample_weight))


def size_factors(X: Array, reference: float, cure: str) -> Array:
    """Sizes of rows by their totals.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Counts.
    reference : float
        Total of a row of size one.
    cure : str
        What to do about rows without counts.
    """
    totals = X.sum(axis=1)
    empty = np.flatnonzero(totals <= 0)
    if len(empty):
        raise ValueError(
            f'offset="size": row {empty[0]} has no counts at all, and so no size '
            f"({len(empty)} such {'row' if len(empty) == 1 else 'rows'}); {cure}"
        )
    found: Array = totals / reference
    return found


def rows_per_unit(
    X: Array, sample_weight: Array | None, offset: Any
) -> tuple[Array, Array | None, float | None, Array | None]:
    """Return rows per unit of their size, and their weights, of which the sizes are factors.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    sample_weight : ndarray of shape (n,) or None
    offset : None, "size" or ndarray of shape (n,)
        Checked.

    Returns
    -------
    rows, weight : ndarray
    reference : float or None
        Total of a row of size one, if sizes are totals.
    sizes : ndarray of shape (n,) or None
    """
    if offset is None:
        return X, sample_weight, None, None
    reference = None
    if isinstance(offset, str):
        reference = reference_total(X, sample_weight)
        offset = size_factors(X, reference, "drop such rows, or give sizes of your own")
    weight = offset * (1.0 if sample_weight is None else sample_weight)
    rows = X / offset[:, None]
    low, high = rows.min(axis=0), rows.max(axis=0)
    same = high - low <= _ROUNDING * high
    rows[:, same] = low[same]  # columns in proportion to the sizes differ by rounding errors alone
    return rows, weight, reference, offset


@dataclass(frozen=True, eq=False)
class FittedFamilies:
    """How the columns and rows of a fit were compared: what predictions need beside the centroids.

    Attributes
    ----------
    divergence : ColumnDivergence
    total : ndarray of shape (p,)
        Dispersions of the columns about their means, not divided by anything.
    reference : float or None
        Total of a row of size one, where sizes are totals.
    sizes : ndarray of shape (n,) or None
        Sizes of the rows of the fit, where they have some.
    """

    divergence: ColumnDivergence
    total: Array
    reference: float | None = None
    sizes: Array | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns' families."""
        return self.divergence.names

    def sizes_of(self, X: Array, offset: Any = None, *, own: bool = False) -> Array | None:
        """Sizes of rows, None where rows have none.

        Parameters
        ----------
        X : ndarray of shape (n, p)
            Checked rows in data units.
        offset : array-like of shape (n,), optional
            Their sizes, where these are not totals.
        own : bool
            Whether they are the rows of the fit.
        """
        if self.sizes is None:
            if offset is not None:
                raise ValueError("offset: the rows of the fit had no sizes; leave it out")
            return None
        if own:
            return self.sizes
        if self.reference is not None:
            if offset is not None:
                raise ValueError('offset: sizes are row totals here (offset="size"); leave it out')
            return size_factors(X, self.reference, "drop such rows")
        if offset is None:
            raise ValueError(
                "the rows of the fit had sizes of their own (offset): give those of these rows, "
                "as in predict(X, offset=...)"
            )
        found: Array = check_offset(offset, self.names, len(X))
        return found

    def per_unit(self, X: Array, offset: Any = None, *, own: bool = False) -> Array:
        """Return rows per unit of their size, the columns that centroids belong to."""
        sizes = self.sizes_of(X, offset, own=own)
        return X if sizes is None else X / sizes[:, None]
