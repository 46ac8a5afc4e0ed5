"""Rows that are not in memory.

`RowSource` is what the rest of the package asks of rows that are no array; `FileRows`, rows of a
binary file of which only what is asked for is read, is one. Another kind of rows needs these few
methods and a line in `ewp.data.sources`.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, TypeGuard

import numpy as np
import pandas as pd

from ewp.common.types import Array

__all__ = [
    "BATCH_ROWS",
    "FileRows",
    "RowSource",
    "is_row_source",
]

#: Rows that are read at once when all are wanted.
BATCH_ROWS = 2**16


def _remove_file(path: Path, owner: int) -> None:
    """Delete a file, unless this is a fork of the process that wrote it."""
    if os.getpid() == owner:
        path.unlink(missing_ok=True)


class RowSource(Protocol):
    """Rows by columns of floats that are read when they are asked for."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    columns: pd.Index | None

    def __len__(self) -> int:
        """Return the number of rows."""

    def __getitem__(self, index: Any) -> Array:
        """Return rows, as an array would."""

    def read_into(self, start: int, out: Array) -> None:
        """Read rows from number `start` on into a contiguous array of the source's type."""


def is_row_source(X: Any) -> TypeGuard[RowSource]:
    """Whether X are rows that are read when they are asked for."""
    return hasattr(X, "read_into")


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
            weakref.finalize(self, _remove_file, path, os.getpid())

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
        for start in range(0, len(self), BATCH_ROWS):
            yield self[start : start + BATCH_ROWS]
