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
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ewp.common.types import Array
from ewp.data.rows import BATCH_ROWS, FileRows, is_row_source
from ewp.data.validation import (
    check_data,
    check_distinct,
    check_sample_weight,
    column_names,
    row_and_column_names,
)

__all__ = [
    "ArraySource",
    "DaskSource",
    "DataSource",
    "is_dask",
    "is_file_or_blocks",
    "open_rows",
    "open_source",
]


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
    """Rows of an array, a DataFrame or a file.

    Attributes
    ----------
    array : ndarray or RowSource
        The checked rows.
    in_memory : bool
        Whether all of them are an array.
    """

    def __init__(self, X: Any, sample_weight: Any) -> None:
        self.data = X
        self.array = check_data(X)
        self.n, self.p = self.array.shape
        self.columns = column_names(X)
        self.names = row_and_column_names(X, self.n, self.columns, self.p)
        self.in_memory = not is_row_source(self.array)
        self.weight = check_sample_weight(sample_weight, self.n)

    def check_clusters(self, k: int) -> None:
        """Check that there are k distinct rows of positive weight."""
        check_distinct(self.array, k, self.weight)


class DaskSource(DataSource):
    """A Dask array or DataFrame, with sample weights of any kind."""

    def __init__(self, X: Any, sample_weight: Any) -> None:
        self.data = X
        self.sample_weight = sample_weight
        self.n, self.p = len(X), X.shape[1]
        self.columns = pd.Index(X.columns) if hasattr(X, "columns") else None
        self.names = row_and_column_names(X, self.n, self.columns, self.p)


def open_source(X: Any, sample_weight: Any = None) -> ArraySource | DaskSource:
    """Check data, wherever they are.

    Parameters
    ----------
    X : array-like, DataFrame, path, function, RowSource, dask array or DataFrame
    sample_weight : array-like of shape (n,), dask array or None
    """
    if is_dask(X):
        return DaskSource(X, sample_weight)
    return ArraySource(open_rows(X) if is_file_or_blocks(X) else X, sample_weight)


def is_file_or_blocks(X: Any) -> bool:
    """Whether X names a file or makes blocks, instead of being data."""
    return isinstance(X, str | os.PathLike) or callable(X)


def open_rows(source: str | os.PathLike[str] | Callable[[], Iterable[Any]]) -> Any:
    """Open data that are not in memory.

    Parameters
    ----------
    source : path-like or callable
        A ``.npy`` file, a Parquet file (``.parquet``, ``.pq``; needs pyarrow), or a function
        without arguments that returns an iterator of arrays or DataFrames with the same columns.

    Returns
    -------
    FileRows
    """
    if callable(source):
        return _spool(iter(source()), "the blocks")
    path = Path(source)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    if path.suffix == ".npy":
        return _open_npy(path)
    if path.suffix in (".parquet", ".pq"):
        return _spool(_parquet(path), str(path))
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


def _spool(blocks: Iterator[Any], name: str) -> FileRows:
    """Write blocks to a temporary file of rows, checking that they fit together."""
    descriptor, text = tempfile.mkstemp(prefix="ewp-", suffix=".rows")
    path = Path(text)
    columns: pd.Index | None = None
    n, p = 0, 0
    try:
        with os.fdopen(descriptor, "wb") as file:
            for block in blocks:
                if np.ndim(block) == 2 and not len(block):
                    continue
                values = check_data(block)
                names = block.columns if isinstance(block, pd.DataFrame) else None
                if n == 0:
                    columns, p = names, values.shape[1]
                elif values.shape[1] != p or (names is not None and not names.equals(columns)):
                    raise ValueError(
                        f"the block after {n} rows of {name} has other columns than the first"
                    )
                np.ascontiguousarray(values, dtype=np.float64).tofile(file)
                n += len(values)
        if n == 0:
            raise ValueError(f"{name} hold no rows")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return FileRows(path, 0, (n, p), np.dtype(np.float64), columns, temporary=True)


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection; Dask is not imported to find out."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")
