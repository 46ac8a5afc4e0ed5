"""Validated arrays: the only door through which data come in.

Everything a user hands over is checked here once, with errors that name the value and the cure;
past this module data are two-dimensional float arrays, finite but for NaN where missing values are
allowed, and nothing is checked again. What comes beside the data (weights of rows, prior, seeds) is
checked in `ewp.data.arguments`; what a table is, and what its rows and columns are called, is in
`ewp.data.frames`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_array

from ewp.common.checks import listing
from ewp.common.types import Array
from ewp.data.frames import TIMES, as_frame, as_table, column_names, with_numbers
from ewp.data.rows import is_row_source
from ewp.data.sparse import (
    LARGEST,
    SparseRows,
    check_sparse,
    dense_rows,
    has_sparse_rows,
    is_sparse,
)
from ewp.data.sparse_order import hash_rows

__all__ = [
    "as_floats",
    "check_data",
    "check_distinct",
    "check_new_data",
    "check_spread",
    "check_with_ends",
    "remember_features",
    "without_values",
]

#: Sums of squares below this have lost digits to the end of the range of floating point.
_SMALLEST_SQUARES = 1e-290
#: Rows that are looked at in one go, and columns that make a loop long enough.
_BLOCK_ROWS, _FOLDED = 4096, 512


def _check_no_times(X: Any) -> None:
    """Refuse dates and durations, which NumPy would take for numbers of some unit."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    found: Any = X.dtype if kind in ("m", "M") else None
    if kind == "O":
        found = next((type(v).__name__ for v in np.ravel(X) if isinstance(v, TIMES)), None)
    if found is not None:
        raise ValueError(
            f"X holds dates or durations ({found}), which are no numbers; code them as numbers in "
            "a unit of your choice, or leave them out"
        )


def without_values(kind: str, names: list[Any]) -> str:
    """Say that rows or columns have no observed value.

    >>> without_values("column", ["a", "b"])
    "2 columns of X have no observed value: 'a', 'b'; drop them"
    """
    one = len(names) == 1
    count = f"1 {kind} of X has" if one else f"{len(names)} {kind}s of X have"
    return f"{count} no observed value: {listing(names)}; drop {'it' if one else 'them'}"


def _count_missing(X: Array, columns: pd.Index, first_row: int) -> str:
    """Say how many values are missing, where, and what can be done."""
    count, rows, hit, first = 0, 0, np.zeros(X.shape[1], dtype=bool), ""
    for start in range(0, len(X), _BLOCK_ROWS):
        absent = np.isnan(X[start : start + _BLOCK_ROWS])
        if not first and absent.any():
            row, column = np.argwhere(absent)[0]
            first = f"row {first_row + start + row}, column {columns[int(column)]!r}"
        count += int(absent.sum())
        rows += int(absent.any(axis=1).sum())
        hit |= absent.any(axis=0)
    values = "1 missing value" if count == 1 else f"{count} missing values"
    part = f" from row {first_row} on" if first_row else ""  # blocks are looked at one by one
    return (
        f"Input X contains NaN: {values}, in {rows} of {len(X)} rows{part} and {int(hit.sum())} of "
        f'{len(hit)} columns, first in {first}; EWP with missing="observed" fits to the values '
        "that are observed; or drop these rows, or impute the values"
    )


def _check_rows_observed(X: Array, first_row: int) -> None:
    """Check that every row has an observed value."""
    empty: list[int] = []
    for start in range(0, len(X), _BLOCK_ROWS):
        absent = np.isnan(X[start : start + _BLOCK_ROWS]).all(axis=1)
        empty += (first_row + start + np.flatnonzero(absent)).tolist()
    if empty:
        raise ValueError(without_values("row", empty))


def _check_finite(
    X: Array,
    columns: pd.Index,
    first_row: int,
    ends: Callable[[Array], tuple[Any, Any]],
    missing: str,
) -> tuple[Array, Array]:
    """Check that all values are finite and not too large; return the ends of all blocks.

    Where missing values are allowed, ends are those of the observed values.
    """
    found = [ends(X[start : start + _BLOCK_ROWS]) for start in range(0, len(X), _BLOCK_ROWS)]
    low, high = (
        np.array(one, np.float64).reshape(len(found), -1) for one in zip(*found, strict=True)
    )
    largest = float(np.maximum(high, -low).max())
    if math.isnan(largest) and missing == "observed":
        _check_rows_observed(X, first_row)
        pieces = (X[start : start + _BLOCK_ROWS] for start in range(0, len(X), _BLOCK_ROWS))
        found = [_observed_ends(piece) for piece in pieces]
        low, high = (np.array(one, np.float64) for one in zip(*found, strict=True))
        largest = float(np.nanmax(np.maximum(high, -low)))
    if not math.isfinite(largest):
        for start in range(0, len(X), _BLOCK_ROWS):
            infinite = np.argwhere(np.isinf(X[start : start + _BLOCK_ROWS]))
            if len(infinite):
                row, column = infinite[0]
                raise ValueError(
                    f"Input X contains infinity (or NaN elsewhere): first {X[start + row][column]} "
                    f"in row {first_row + start + row}, column {columns[int(column)]!r}; drop or "
                    "impute such values before clustering"
                )
        raise ValueError(_count_missing(X, columns, first_row))
    if largest > LARGEST:
        raise ValueError(
            f"X has values up to {largest:.3g}, whose squares overflow; divide X by a constant"
        )
    return low, high


def _observed_ends(block: Array) -> tuple[Array, Array]:
    """Least and largest observed value of every column of a block, NaN where there is none."""
    low: Array = np.fmin.reduce(block, axis=0)
    high: Array = np.fmax.reduce(block, axis=0)
    return low, high


def _ends(block: Array) -> tuple[Any, Any]:
    """Least and largest value of a block."""
    return block.min(), block.max()


def _ends_of_columns(block: Array) -> tuple[Array, Array]:
    """Least and largest value of every column of a block, NaN where there is one."""
    rows, p = block.shape
    fold = min(_FOLDED // p, rows // 2)
    if fold < 2 or not block.flags.c_contiguous:
        return block.min(axis=0), block.max(axis=0)
    # several rows side by side are one long loop instead of a short one per row
    whole = rows // fold * fold
    wide = block[:whole].reshape(-1, fold * p)
    low, high = wide.min(axis=0).reshape(fold, p), wide.max(axis=0).reshape(fold, p)
    rest = block[whole:]
    if len(rest):
        low, high = np.concatenate([low, rest]), np.concatenate([high, rest])
    return low.min(axis=0), high.max(axis=0)


def check_data(
    X: Any, *, first_row: int = 0, missing: str = "error", sparse: str = "refuse"
) -> Any:
    """Check training or new data and return a two-dimensional float array.

    float64 and float32 arrays of any layout are returned as they are, without a copy.

    Parameters
    ----------
    X : array-like, DataFrame or RowSource
    first_row : int, default 0
        Number of the first row, where X is a part of more rows.
    missing : {"error", "observed"}
        Whether missing values, NaN or masked, are refused; no row may have nothing else.
    sparse : {"refuse", "dense", "keep"}
        What becomes of a sparse matrix: an error; dense rows if it is small, else an error;
        `SparseRows`.

    Raises
    ------
    ValueError, TypeError
        For complex, non-numeric, empty or non-finite data, or the wrong dimension.
    """
    if is_sparse(X):
        X = _check_sparse(X, missing, sparse)
        if has_sparse_rows(X):
            return X
    array, columns = _as_array(X, missing)
    _check_finite(array, columns, first_row, _ends, missing)
    return array


def _check_sparse(X: Any, missing: str, sparse: str) -> SparseRows | Array:
    """Check a sparse matrix; dense rows where these are asked for, or values are missing."""
    if sparse == "refuse":
        raise TypeError(
            "Sparse data was passed for X, but dense data is required; give X.toarray() if it "
            "fits in memory"
        )
    rows = check_sparse(X, missing)
    if sparse == "dense" and has_sparse_rows(rows):
        return dense_rows(rows, "this", "give fewer rows or columns")
    return rows


def check_with_ends(X: Any, missing: str = "error") -> tuple[Any, tuple[Array, Array]]:
    """Check data as `check_data` does; return the least and largest values of the columns too.

    No column may have nothing but missing values.
    """
    if is_sparse(X):
        X = _check_sparse(X, missing, "keep")
        if has_sparse_rows(X):
            return X, X.ends()
    array, columns = _as_array(X, missing)
    low, high = _check_finite(array, columns, 0, _ends_of_columns, missing)
    ends = np.fmin.reduce(low, axis=0), np.fmax.reduce(high, axis=0)
    nowhere = np.flatnonzero(np.isnan(ends[0]))
    if len(nowhere):
        raise ValueError(without_values("column", [columns[int(i)] for i in nowhere]))
    return array, ends


def _as_array(X: Any, missing: str) -> tuple[Any, pd.Index]:
    """Data as a two-dimensional array or source of floats, and what its columns are called."""
    if missing == "observed" and isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    _refuse_masked("X", X)
    columns = column_names(X := as_frame(X))
    X = as_table(X)
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    if isinstance(X, pd.DataFrame):
        if not X.size:
            raise ValueError(f"X is empty: it has {X.shape[0]} rows and {X.shape[1]} columns")
    else:
        _check_no_times(X)
    try:
        if isinstance(X, pd.DataFrame):
            X = with_numbers(X)
        array: Any = (
            X
            if is_row_source(X)
            else check_array(
                X,
                dtype=_float_types(X),
                ensure_min_samples=1,
                **{_FINITE: False},
            )
        )
    except OverflowError:
        raise ValueError("X has a number too large for floating point") from None
    return array, pd.RangeIndex(array.shape[1]) if columns is None else columns


def _float_types(X: Any) -> list[Any]:
    """Types of floats that are kept, the one first to which others become.

    Halves become singles, which hold them.
    """
    kinds = list(X.dtypes) if isinstance(X, pd.DataFrame) else [getattr(X, "dtype", None)]
    short = all(kind in (np.float32, np.float16) for kind in kinds)
    return [np.float32, np.float64] if short else [np.float64, np.float32]


def as_floats(name: str, value: Any) -> Array:
    """Return numbers of an option as a new array; numbers beyond all floats are told."""
    _refuse_masked(name, value)
    try:
        if isinstance(value, pd.Series) and value.hasnans:
            value = value.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.array(value, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{name} has a number too large for floating point") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from None


def _refuse_masked(name: str, value: Any) -> None:
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(
            f"{name} has {np.ma.count_masked(value)} masked values; fill them or drop their rows "
            "first"
        )


def check_spread(squares: Array, k: int) -> None:
    """Check that the sums of squares of data with k distinct rows have not vanished."""
    if k > 1 and squares.max() < _SMALLEST_SQUARES:
        raise ValueError(
            "X varies so little that its squares vanish in floating point; multiply X by a constant"
        )


def _finite_keyword() -> str:
    """Name of check_array's switch for NaN and inf, renamed in scikit-learn 1.6."""
    import inspect

    parameters = inspect.signature(check_array).parameters
    return "ensure_all_finite" if "ensure_all_finite" in parameters else "force_all_finite"


_FINITE = _finite_keyword()


def remember_features(estimator: Any, X: Any, *, reset: bool) -> None:
    """Set (at fit) or compare scikit-learn's `n_features_in_` and `feature_names_in_`."""
    if not isinstance(X, pd.DataFrame):
        # a table of another library, a file or a collection with named columns: its names count,
        # its rows are not looked at
        names = column_names(X)
        names = getattr(X, "columns", None) if names is None else names
        if names is not None:
            X = pd.DataFrame(columns=names)
        elif is_row_source(X):
            X = np.empty((1, X.shape[1]))
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # scikit-learn 1.5
        estimator._check_feature_names(X, reset=reset)
        estimator._check_n_features(X, reset=reset)
    else:
        validate_data(estimator, X, reset=reset, skip_check_array=True)


def check_new_data(
    X: Any,
    feature_names: pd.Index,
    *,
    named: bool = True,
    missing: str = "error",
    sparse: str = "refuse",
) -> Any:
    """Check data for prediction against the features of the fit.

    Parameters
    ----------
    X : array-like or table of shape (n, p)
        Columns with names must be those of the fit; they are brought into its order. Names that
        were kept as text, such as dates or tuples in a file, are the same as text.
    feature_names : Index
        Names of the features at fit.
    named : bool
        Whether the names are the user's own; names given for want of others bind nobody.
    missing, sparse
        As in `check_data`.
    """
    columns = column_names(X := as_frame(X))
    X = as_table(X)
    if columns is not None and named and not columns.equals(feature_names):
        own = {str(name): name for name in feature_names}
        columns = pd.Index([own.get(str(name), name) for name in columns])
        absent = [name for name in feature_names if name not in columns]
        extra = [name for name in columns if name not in feature_names]
        if absent or extra:
            raise ValueError(
                "the columns of X are not those of the fit: "
                f"missing {listing(absent) or 'none'}, unknown {listing(extra) or 'none'}"
            )
        in_file = is_row_source(X) and not has_sparse_rows(X)
        if in_file and columns.is_unique and not columns.equals(feature_names):
            raise ValueError(
                "the columns of X are those of the fit in another order: write the file with the "
                f"columns {listing(list(feature_names))}"
            )
        if columns.is_unique and not in_file:
            order = columns.get_indexer(feature_names)
            if has_sparse_rows(X):
                X = X.take(slice(None), order)
            else:
                X = X.iloc[:, order] if isinstance(X, pd.DataFrame) else X[:, order]
    array = check_data(X, missing=missing, sparse=sparse)
    if array.shape[1] != len(feature_names):
        raise ValueError(f"X has {array.shape[1]} features, but the fit had {len(feature_names)}")
    return array


def check_distinct(X: Array, k: int, sample_weight: Array | None = None) -> None:
    """Check that at least k distinct rows (of positive weight) exist."""
    if has_sparse_rows(X):
        hashes = hash_rows(X)
        found = len(np.unique(hashes if sample_weight is None else hashes[sample_weight > 0]))
        if found < k:
            raise _too_few_rows(k, found, len(X))
        return
    kind = np.dtype((np.void, X.dtype.itemsize * X.shape[1]))
    seen = np.empty(0, kind)
    start, size = 0, 2 * k
    while start < len(X):
        rows = slice(start, start + size)
        part = X[rows] if sample_weight is None else X[rows][sample_weight[rows] > 0]
        # -0.0 and 0.0 are the same value, and so are all NaN
        plain = np.ascontiguousarray(part + 0.0)
        plain[np.isnan(plain)] = np.nan
        values = plain.view(kind).ravel()
        seen = np.unique(np.concatenate([seen, values]))
        if len(seen) >= k:
            return
        start, size = start + size, min(2 * size, 2**16)
    raise _too_few_rows(k, len(seen), len(X))


def _too_few_rows(k: int, distinct: int, n: int) -> ValueError:
    return ValueError(
        f"k={k} exceeds the {distinct} distinct rows of X (n_samples={n}); ask for fewer clusters"
    )
