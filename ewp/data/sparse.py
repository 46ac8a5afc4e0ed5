"""Rows of a sparse matrix: stored entries by rows, which are never made dense whole.

`SparseRows` holds compressed sparse rows (CSR) in one form: float64, columns in order within a row,
no entry twice, no zeros among the entries. A matrix that is so already is held by reference and
never changed; others (CSC, COO, integers, repeated entries) are converted once. Moments and
extremes of the columns come from the stored entries and from how many are not stored. What needs
dense rows asks `dense_rows`, which makes small ones dense and refuses larger ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeGuard

import numpy as np
import pandas as pd
from scipy import sparse

from ewp.common.types import Array

__all__ = [
    "DENSE_BYTES",
    "LARGEST",
    "SparseRows",
    "check_sparse",
    "dense_rows",
    "has_sparse_rows",
    "is_sparse",
    "without_copy",
]

#: Values and weights up to here have sums of squares that do not overflow.
LARGEST = 1e100

#: Dense rows up to this size are made where a step needs them whole.
DENSE_BYTES = 2**26
#: Stored entries that are looked at in one go.
_ENTRIES = 2**18


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array of SciPy, or rows of one.

    >>> is_sparse(sparse.csc_array(np.eye(2))), is_sparse(np.eye(2))
    (True, False)
    """
    return sparse.issparse(X) or isinstance(X, SparseRows)


def _as_csr(X: Any) -> sparse.csr_array:
    """Rows in the one form, sharing the arrays of X where it has that form."""
    if X.ndim != 2:
        raise ValueError(
            f"X is a sparse array of {X.ndim} dimension(s); give rows by columns, such as "
            "X.reshape(1, -1)"
        )
    kind = X.dtype.kind
    if kind == "c":
        raise ValueError("Complex data not supported: X is a sparse matrix of complex numbers")
    if kind not in "buif":
        raise ValueError(f"X is a sparse matrix of {X.dtype}, which are no numbers; convert it")
    rows = X.tocsr()
    # an object of its own: what is found out about its arrays is not noted in the user's
    made = sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=rows.shape)
    if kind != "f" or made.dtype.itemsize != 8:
        made = made.astype(np.float64)
    if not made.has_canonical_format:
        made = made.copy()
        made.sum_duplicates()
    if np.count_nonzero(made.data) < made.nnz:
        made = made.copy()
        made.eliminate_zeros()
    return made


def without_copy(
    kind: Any, data: Array, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]
) -> Any:
    """Return a compressed array that holds the arrays themselves.

    SciPy's constructor copies what is a small part of a larger array.
    """
    made = kind(shape, dtype=np.float64)
    made.data, made.indices, made.indptr = data, indices, indptr
    return made


class SparseRows:
    """Rows of a sparse matrix, indexed like a dense array; what is asked for is made dense.

    Parameters
    ----------
    X : sparse matrix or array of shape (n, p)
        Of any format and type of number.
    columns, index : Index, optional
        Names of the columns and of the rows.

    Attributes
    ----------
    csr : csr_array of shape (n, p)
        float64, sorted, without repetitions and stored zeros.
    """

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(
        self, X: Any, columns: pd.Index | None = None, index: pd.Index | None = None
    ) -> None:
        self.csr = _as_csr(X)
        self.shape: tuple[int, int] = self.csr.shape
        self.columns = columns
        self.index = index

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError("rows of a sparse matrix are not made dense unasked; X[:] makes them dense")

    def __getitem__(self, index: Any) -> Array:
        if np.ndim(index) == 0 and not isinstance(index, slice):
            row: Array = self.csr[[int(index)]].toarray()[0]
            return row
        found: Array = self.csr[index].toarray()
        return found

    def read_into(self, start: int, out: Array) -> None:
        """Make rows from number `start` on dense, in a contiguous array."""
        out[...] = self[start : start + len(out)]

    def take(self, index: np.ndarray | slice, columns: np.ndarray | None = None) -> SparseRows:
        """Return some rows, or some columns of them, as rows of a sparse matrix."""
        part = self.csr[index]
        names = self.columns
        if columns is not None:
            part, names = part[:, columns], None if names is None else names[columns]
        return SparseRows(part, names, None if self.index is None else self.index[index])

    def shifted(self, shift: Array) -> SparseRows:
        """Return the rows with a point subtracted from the entries, zeros staying what they are."""
        moved = object.__new__(SparseRows)
        moved.csr = _differences(self.csr, shift)
        moved.shape, moved.columns, moved.index = self.shape, self.columns, self.index
        return moved

    @property
    def dense_bytes(self) -> int:
        """What all rows would take if they were dense."""
        return 8 * self.shape[0] * self.shape[1]

    def blocks(self, entries: int = _ENTRIES) -> Iterator[tuple[slice, sparse.csr_array]]:
        """Yield rows by the number of their entries, as views of the arrays."""
        ends = self.csr.indptr
        start, n = 0, len(self)
        while start < n:
            stop = int(np.searchsorted(ends, ends[start] + entries, side="right")) - 1
            stop = min(max(stop, start + 1), n)
            yield slice(start, stop), self.view(start, stop)
            start = stop

    def view(self, start: int, stop: int) -> sparse.csr_array:
        """Return some rows, without a copy of their entries."""
        ends = self.csr.indptr
        first, last = ends[start], ends[stop]
        return without_copy(
            sparse.csr_array,
            self.csr.data[first:last],
            self.csr.indices[first:last],
            ends[start : stop + 1] - first,
            (stop - start, self.shape[1]),
        )

    # -- columns -------------------------------------------------------------------------------

    def ends(self, sample_weight: Array | None = None) -> tuple[Array, Array]:
        """Least and largest value of every column, NaN where there is one.

        Parameters
        ----------
        sample_weight : ndarray of shape (n,), optional
            Only rows of positive weight are looked at.
        """
        p = self.shape[1]
        low, high = np.full(p, np.inf), np.full(p, -np.inf)
        with np.errstate(invalid="ignore"):
            for block in self._counting(sample_weight):
                np.minimum.at(low, block.indices, block.data)
                np.maximum.at(high, block.indices, block.data)
        absent = ~self.full(sample_weight)
        # a value that is not stored is zero; NaN stays
        np.minimum(low, 0.0, out=low, where=absent)
        np.maximum(high, 0.0, out=high, where=absent)
        return low, high

    def entries(self) -> tuple[np.ndarray, Array]:
        """Number of entries of every column, and the least of their absolute values."""
        count = np.zeros(self.shape[1], dtype=np.intp)
        least = np.full(self.shape[1], np.inf)
        for _, block in self.blocks():
            count += np.bincount(block.indices, minlength=len(count))
            np.minimum.at(least, block.indices, np.abs(block.data))
        return count, least

    def full(self, sample_weight: Array | None = None) -> np.ndarray:
        """Which columns have an entry in every row (of positive weight)."""
        count = np.zeros(self.shape[1], dtype=np.intp)
        for block in self._counting(sample_weight):
            count += np.bincount(block.indices, minlength=len(count))
        rows = len(self) if sample_weight is None else np.count_nonzero(sample_weight > 0)
        return count == rows

    def _counting(self, sample_weight: Array | None) -> Iterator[sparse.csr_array]:
        """Yield blocks of the rows of positive weight."""
        for rows, block in self.blocks():
            if sample_weight is not None and not (sample_weight[rows] > 0).all():
                block = block[sample_weight[rows] > 0]
            yield block

    def _mass(self, sample_weight: Array | None, rows: slice) -> Array:
        return np.ones(rows.stop - rows.start) if sample_weight is None else sample_weight[rows]

    def absent(self, sample_weight: Array | None) -> Array:
        """Weight of the rows in which every column has no entry."""
        stored = np.zeros(self.shape[1])
        for rows, block in self.blocks():
            marks = sparse.csr_array(
                (np.ones(block.nnz), block.indices, block.indptr), shape=block.shape
            )
            stored += marks.T @ self._mass(sample_weight, rows)
        total = float(len(self) if sample_weight is None else sample_weight.sum())
        left: Array = np.where(self.full(sample_weight), 0.0, np.maximum(total - stored, 0.0))
        return left

    def means(self, sample_weight: Array | None) -> Array:
        """Weighted means: exact for constant columns, corrected once for large offsets."""
        total = float(len(self) if sample_weight is None else sample_weight.sum())
        low, high = self.ends(sample_weight)
        absent = self.absent(sample_weight)
        mean = np.zeros(self.shape[1])
        for _ in range(2):
            correction = -absent * mean
            for rows, block in self.blocks():
                part = _differences(block, mean)
                correction += part.T @ self._mass(sample_weight, rows)
            mean += correction / total
        return np.where(low == high, low, mean)

    def squares(self, sample_weight: Array | None, center: Array) -> Array:
        """Weighted sums of squares about a point."""
        found: Array = self.absent(sample_weight) * center**2
        for rows, block in self.blocks():
            part = _differences(block, center)
            part.data *= part.data
            found += part.T @ self._mass(sample_weight, rows)
        return found

    def varying(self, sample_weight: Array | None) -> np.ndarray:
        """Which columns are not constant on the rows of positive weight."""
        low, high = self.ends(sample_weight)
        differs: np.ndarray = low != high
        return differs


def _differences(block: sparse.csr_array, center: Array) -> sparse.csr_array:
    """Stored entries minus a point."""
    data = block.data - center[block.indices]
    return sparse.csr_array((data, block.indices, block.indptr), shape=block.shape)


def check_sparse(X: Any, missing: str = "error") -> SparseRows | Array:
    """Check a sparse matrix: finite values that are not too large.

    Parameters
    ----------
    X : sparse matrix or array, or SparseRows
    missing : {"error", "observed"}
        Whether missing values (NaN among the entries) are refused. Where they are not, a matrix
        that has some is made dense if it is small.
    """
    rows = X if isinstance(X, SparseRows) else SparseRows(X)
    n, p = rows.shape
    for count, kind in ((n, "sample"), (p, "feature")):
        if not count:
            raise ValueError(f"Found array with 0 {kind}(s) (shape={rows.shape}): X is empty")
    data = rows.csr.data
    largest = max(float(data.max(initial=0.0)), -float(data.min(initial=0.0)))
    if math.isfinite(largest):
        if largest > LARGEST:
            raise ValueError(
                f"X has values up to {largest:.3g}, whose squares overflow; divide X by a constant"
            )
        return rows
    infinite = np.flatnonzero(np.isinf(data))
    if len(infinite):
        row, column = _place(rows, int(infinite[0]))
        raise ValueError(
            f"Input X contains infinity (or NaN elsewhere): first {data[infinite[0]]} in row "
            f"{row}, column {column!r}; drop or impute such values before clustering"
        )
    if missing == "observed":
        return dense_rows(
            rows,
            'missing="observed" with missing values',
            "drop the rows or columns that have some, or impute the values",
        )
    absent = np.flatnonzero(np.isnan(data))
    row, column = _place(rows, int(absent[0]))
    hit = len(np.unique(np.searchsorted(rows.csr.indptr, absent, side="right")))
    columns = len(np.unique(rows.csr.indices[absent]))
    values = "1 missing value" if len(absent) == 1 else f"{len(absent)} missing values"
    raise ValueError(
        f"Input X contains NaN: {values}, in {hit} of {n} rows and {columns} of {p} columns, first "
        f'in row {row}, column {column!r}; EWP with missing="observed" fits to the values that are '
        "observed; or drop these rows, or impute the values"
    )


def _place(rows: SparseRows, entry: int) -> tuple[int, Any]:
    """Row and column of an entry."""
    row = int(np.searchsorted(rows.csr.indptr, entry, side="right")) - 1
    column = int(rows.csr.indices[entry])
    return row, column if rows.columns is None else rows.columns[column]


def has_sparse_rows(X: Any) -> TypeGuard[SparseRows]:
    """Whether X are checked rows of a sparse matrix."""
    return isinstance(X, SparseRows)


def dense_rows(X: SparseRows, need: str, cure: str) -> Array:
    """Make small sparse rows dense, for what needs them whole.

    Parameters
    ----------
    X : SparseRows
    need : str
        What needs dense rows, the beginning of the message for larger ones.
    cure : str
        What to do instead.

    Examples
    --------
    >>> rows = SparseRows(sparse.csr_array((20_000, 1_000)))
    >>> dense_rows(rows, "this diagnostic", "give some of the rows or columns")
    Traceback (most recent call last):
        ...
    ValueError: this diagnostic needs dense rows, and 20000 x 1000 sparse ones would take 160 MB, \
more than 67 MB; give some of the rows or columns
    """
    if X.dense_bytes > DENSE_BYTES:
        raise ValueError(
            f"{need} needs dense rows, and {len(X)} x {X.shape[1]} sparse ones would take "
            f"{X.dense_bytes / 1e6:.0f} MB, more than {DENSE_BYTES / 1e6:.0f} MB; {cure}"
        )
    return X[:]
