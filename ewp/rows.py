"""Rows that live in a file: read in blocks, never all at once.

`open_rows` takes what a user may hand over instead of an array: the path of a ``.npy`` or Parquet
file, or a function that returns an iterator of blocks. The first is read where it is; the others
are first written to a temporary file, block by block, because fits pass over the data many times.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ewp.kernel import Array

__all__ = ["FileRows", "is_source", "open_rows"]

_BATCH = 2**16


def _remove(path: Path, owner: int) -> None:
    """Delete a file, unless this is a fork of the process that wrote it."""
    if os.getpid() == owner:
        path.unlink(missing_ok=True)


class FileRows:
    """Rows of a binary file, indexed like a two-dimensional array; only what is asked for is read.

    Parameters
    ----------
    path : Path
    offset : int
        Bytes before the first row.
    shape : tuple of int
    dtype : numpy.dtype
    columns : Index or None
        Names of the columns, if the source had them.
    temporary : bool
        Delete the file when this object goes.
    """

    ndim = 2

    def __init__(
        self,
        path: Path,
        offset: int,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        columns: pd.Index | None = None,
        *,
        temporary: bool = False,
    ) -> None:
        self.path = path
        self.offset = offset
        self.shape = shape
        self.dtype = dtype
        self.columns = columns
        if temporary:
            weakref.finalize(self, _remove, path, os.getpid())

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Array:
        n, p = self.shape
        if isinstance(index, slice):
            start, stop, step = index.indices(n)
            return self._read(start, max(stop - start, 0))[::step]
        if np.ndim(index) == 0:
            return self._read(int(index) % n, 1)[0]
        wanted = np.arange(n)[index] if np.asarray(index).dtype == bool else np.asarray(index)
        found = np.empty((len(wanted), p), self.dtype)
        for i, row in enumerate(wanted):
            found[i] = self._read(int(row) % n, 1)[0]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self[:], dtype)

    def _read(self, start: int, count: int) -> Array:
        values: Array = np.empty((count, self.shape[1]), self.dtype)
        self.read_into(start, values)
        return values

    def read_into(self, start: int, out: Array) -> None:
        """Read rows from number `start` on into a contiguous array of the file's type.

        Buffers that are used again are in memory already; fresh ones cost as much as the reading.
        """
        position = self.offset + start * out.itemsize * self.shape[1]
        view = out.data.cast("B") if out.size else memoryview(b"")
        with self.path.open("rb", buffering=0) as file:
            file.seek(position)
            while len(view):
                count = file.readinto(view)
                if not count:
                    raise OSError(f"{str(self.path)!r} ends before row {start + len(out)}")
                view = view[count:]

    def blocks(self) -> Iterator[Array]:
        """Yield all rows, some tens of thousands at a time."""
        for start in range(0, len(self), _BATCH):
            yield self[start : start + _BATCH]


def is_source(X: Any) -> bool:
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
        for batch in file.iter_batches(_BATCH):
            yield batch.to_pandas()


def _spool(blocks: Iterator[Any], name: str) -> FileRows:
    """Write blocks to a temporary file of rows, checking that they fit together."""
    from ewp.inputs import check_data

    descriptor, text = tempfile.mkstemp(prefix="ewp-", suffix=".rows")
    path = Path(text)
    columns: pd.Index | None = None
    n, p = 0, 0
    try:
        with os.fdopen(descriptor, "wb") as file:
            for block in blocks:
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
