"""Where data come from: arrays and tables, files, blocks, Dask collections, behind one interface.

`open_source` looks at what the user handed over, checks it, and returns a source that knows the
names of rows and columns. Data that are not in memory are named by the path of a ``.npy`` or
Parquet file, or by a function that returns an iterator of blocks; the first is read where it is,
the others are written to a temporary file first, block by block, because fits pass over the data
many times. Which engine passes over a source is decided in `ewp.engine`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ewp.common.types import Array
from ewp.data.arguments import check_sample_weight
from ewp.data.canonical import column_means
from ewp.data.decorrelation import Decorrelation
from ewp.data.frames import as_frame, as_table, column_names, row_and_column_names, row_names
from ewp.data.rows import BATCH_ROWS, FileRows, is_row_source
from ewp.data.sparse import SparseRows, has_sparse_rows, is_sparse
from ewp.data.validation import check_data, check_distinct, check_with_ends

__all__ = [
    "ArraySource",
    "DaskSource",
    "DataSource",
    "decorrelated_rows",
    "in_memory",
    "is_dask",
    "is_file_or_blocks",
    "open_rows",
    "open_source",
    "take_rows",
]

_DOUBLE: np.dtype[Any] = np.dtype(np.float64)


class DataSource:
    """Validated data of a fit.

    Attributes
    ----------
    data : object
        What the results keep as their data.
    n, p : int
    columns : Index or None
        The user's own names of the columns.
    names : tuple of Index
        Names of rows and columns.
    weight : ndarray of shape (n,) or None
        Sample weights, where they are in memory.
    """

    data: Any
    n: int
    p: int
    columns: pd.Index | None
    names: tuple[pd.Index, pd.Index]
    weight: Array | None = None

    def check_clusters(self, k: int) -> None:
        """Check that there are k distinct rows, as far as that is known before the first pass."""


class ArraySource(DataSource):
    """Rows of an array, a table, a sparse matrix or a file.

    Attributes
    ----------
    array : ndarray, SparseRows or RowSource
        The checked rows.
    ends : tuple of ndarray of shape (p,)
        Least and largest value of every column.
    in_memory : bool
        Whether all of them are an array, and not sparse.
    """

    def __init__(self, X: Any, sample_weight: Any, missing: str = "error") -> None:
        X = as_frame(X)
        if is_sparse(X) and not has_sparse_rows(X):
            X = SparseRows(X)
        self.data = X
        self.array, self.ends = check_with_ends(X, missing)
        self.n, self.p = self.array.shape
        self.columns = column_names(X)
        self.names = row_and_column_names(X, self.n, self.columns, self.p)
        self.in_memory = not is_row_source(self.array)
        self.weight = check_sample_weight(sample_weight, self.n, row_names(X))

    def check_clusters(self, k: int) -> None:
        """Check that there are k distinct rows of positive weight."""
        check_distinct(self.array, k, self.weight)


class DaskSource(DataSource):
    """A Dask array or DataFrame, with sample weights of any kind.

    Attributes
    ----------
    missing : {"error", "observed"}
        Whether missing values are refused when the blocks are made.
    """

    def __init__(self, X: Any, sample_weight: Any, missing: str = "error") -> None:
        self.missing = missing
        if X.ndim != 2:
            raise ValueError(
                f"X has {X.ndim} dimension(s); give rows by columns, such as X.reshape(-1, 1)"
            )
        rows: pd.Index | None = None
        if hasattr(X, "columns"):
            self.columns = pd.Index(X.columns)
            rows = X.index.compute()
            self.n = len(rows)
        else:
            self.columns = None
            if np.isnan(X.shape[0]):  # known only when all blocks have been made
                X = X.copy().compute_chunk_sizes()
            self.n = len(X)
        self.data = X
        self.p = X.shape[1]
        names = row_and_column_names(X, self.n, self.columns, self.p)
        self.names = (names[0] if rows is None else rows, names[1])
        if hasattr(sample_weight, "to_dask_array"):
            sample_weight = sample_weight.to_dask_array(lengths=True)
        if not is_dask(sample_weight):
            sample_weight = check_sample_weight(sample_weight, self.n, rows)
        elif sample_weight.shape != (self.n,):
            raise ValueError(
                f"sample_weight has shape {sample_weight.shape}, but X has {self.n} rows: "
                f"sample_weight.shape must be ({self.n},)"
            )
        self.sample_weight = sample_weight


def open_source(
    X: Any, sample_weight: Any = None, missing: str = "error"
) -> ArraySource | DaskSource:
    """Check data, wherever they are.

    Parameters
    ----------
    X : array-like, table, path, function, RowSource, dask array or DataFrame
    sample_weight : array-like of shape (n,), dask array or None
    missing : {"error", "observed"}
        Whether missing values are refused. Blocks on a cluster are checked where they are.
    """
    if is_dask(X):
        return DaskSource(X, sample_weight, missing)
    rows = open_rows(X, missing) if is_file_or_blocks(X) else X
    return ArraySource(rows, sample_weight, missing)


def is_file_or_blocks(X: Any) -> bool:
    """Whether X names a file or makes blocks, instead of being data."""
    return isinstance(X, str | os.PathLike) or callable(X)


def open_rows(
    source: str | os.PathLike[str] | Callable[[], Iterable[Any]], missing: str = "error"
) -> Any:
    """Open data that are not in memory.

    Parameters
    ----------
    source : path-like or callable
        A ``.npy`` file, a Parquet file (``.parquet``, ``.pq``; needs pyarrow), or a function
        without arguments that returns an iterator of arrays or DataFrames with the same columns.
    missing : {"error", "observed"}
        Whether missing values are refused.

    Returns
    -------
    FileRows
    """
    if callable(source):
        return _spool(iter(source()), "the blocks", missing)
    path = Path(source)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    if path.suffix == ".npy":
        return _open_npy(path)
    if path.suffix in (".parquet", ".pq"):
        return _spool(_parquet(path), str(path), missing)
    raise ValueError(
        f"{str(path)!r} is neither a .npy nor a .parquet file; read other files with pandas "
        "and pass the table"
    )


def _open_npy(path: Path) -> Any:
    with path.open("rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, fortran, dtype = read(file)
        except ValueError as error:
            raise ValueError(f"{str(path)!r} is not a .npy file: {error}") from error
        offset = file.tell()
    if len(shape) != 2:
        raise ValueError(f"{str(path)!r} holds an array of shape {shape}; rows by columns needed")
    if dtype not in (np.float64, np.float32):
        raise ValueError(f"{str(path)!r} holds {dtype}; save float64 or float32")
    if fortran:  # columns lie together: rows are gathered through a memory map
        return np.load(path, mmap_mode="r")
    return FileRows(path, offset, (shape[0], shape[1]), dtype)


def _parquet(path: Path) -> Iterator[pd.DataFrame]:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError("reading Parquet files needs pyarrow: pip install pyarrow") from error
    with ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH_ROWS):
            yield batch.to_pandas()


@contextmanager
def _explain_full_disk(path: Path) -> Iterator[None]:
    """Say which file could not be written, and how to write it elsewhere."""
    try:
        yield
    except OSError as error:
        raise OSError(
            f"the rows could not be written to a temporary file in {str(path.parent)!r}: "
            f"{error.strerror or error}; name a folder with more room by TMPDIR"
        ) from error


def _write_all(file: Any, values: Array) -> None:
    left = values.data.cast("B")
    while len(left):
        left = left[file.write(left) :]


def _widen(file: Any, rows: FileRows) -> None:
    """Write float32 rows of a file as float64 in their own place, the last ones first."""
    n, p = rows.shape
    for start in range((n - 1) // BATCH_ROWS * BATCH_ROWS, -1, -BATCH_ROWS):
        block = rows[start : start + BATCH_ROWS].astype(np.float64)
        file.seek(start * p * block.itemsize)
        _write_all(file, block)
    file.seek(0, os.SEEK_END)


def _spool(blocks: Iterator[Any], name: str, missing: str = "error") -> FileRows:
    """Write blocks to a temporary file of rows, checking that they fit together."""
    descriptor, text = tempfile.mkstemp(prefix="ewp-", suffix=".rows")
    path = Path(text)
    columns: pd.Index | None = None
    n, p, dtype = 0, 0, _DOUBLE
    try:
        with os.fdopen(descriptor, "w+b", buffering=0) as file:
            for block in blocks:
                if np.ndim(block) == 2 and not len(block):
                    continue
                block = as_table(block)
                values = check_data(block, first_row=n, missing=missing)
                names = block.columns if isinstance(block, pd.DataFrame) else None
                if n == 0:
                    columns, p, dtype = names, values.shape[1], values.dtype
                elif values.shape[1] != p or (names is not None and not names.equals(columns)):
                    raise ValueError(
                        f"the block after {n} rows of {name} has other columns than the first"
                    )
                with _explain_full_disk(path):
                    if values.dtype == _DOUBLE != dtype:
                        dtype = _DOUBLE
                        _widen(file, FileRows(path, 0, (n, p), np.dtype(np.float32)))
                    _write_all(file, np.ascontiguousarray(values, dtype))
                n += len(values)
        if n == 0:
            raise ValueError(f"{name} hold no rows")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return FileRows(path, 0, (n, p), dtype, columns, temporary=True)


def decorrelated_rows(
    source: ArraySource,
    shrinkage: float | None,
    used: np.ndarray | None = None,
    dtype: np.dtype[Any] = _DOUBLE,
) -> tuple[Decorrelation, Array | FileRows]:
    """Estimate the map to uncorrelated columns, and apply it to all rows.

    Rows of a file go, block by block, to a temporary file.

    Parameters
    ----------
    source : ArraySource
    shrinkage : float or None
        Share by which correlations are shrunk; estimated if None.
    used : ndarray of bool, shape (p,), or None
        Features that are decorrelated; all that vary if None.
    dtype : numpy.dtype
        Type of the uncorrelated columns.
    """
    array, weight = source.array, source.weight
    if source.in_memory:
        made = Decorrelation.estimate(array, weight, shrinkage, used)
        return made, made.apply(array, dtype)
    slices = [slice(i, i + BATCH_ROWS) for i in range(0, source.n, BATCH_ROWS)]

    def added(function: Callable[..., Any], *arguments: Any) -> Any:
        parts = (
            function(array[rows], None if weight is None else weight[rows], *arguments)
            for rows in slices
        )
        return sum(parts, start=next(parts))

    made = Decorrelation.of_blocks(column_means(array, weight), added, shrinkage, used)
    return made, _spool((made.apply(array[rows], dtype) for rows in slices), "the blocks")


def in_memory(X: Any) -> Any:
    """Return the rows of a Dask collection or a lazy table in memory, all else as it is."""
    return as_frame(X.compute() if is_dask(X) else X)


def take_rows(X: Any, index: np.ndarray) -> Any:
    """Return some rows of data of any kind, with the names of their columns."""
    if is_dask(X):
        columns = getattr(X, "columns", None)
        rows = (X if columns is None else X.to_dask_array(lengths=True))[index].compute()
        return rows if columns is None else pd.DataFrame(rows, columns=columns)
    X = as_table(X)
    if isinstance(X, pd.DataFrame):
        return X.iloc[index]
    if is_sparse(X):
        return (X if has_sparse_rows(X) else SparseRows(X)).take(index)
    return (X if hasattr(X, "shape") else np.asarray(X))[index]


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection; Dask is not imported to find out."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")
