"""Where data come from: arrays and tables, files, blocks, Dask collections, behind one interface.

`open_source` looks at what the user handed over, checks it, and returns a source that knows the
names of rows and columns and makes the engine of a fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import pandas as pd

from ewp.backend import Engine
from ewp.dask_engine import DaskEngine, is_dask
from ewp.engine import ArrayEngine
from ewp.inputs import check_data, check_distinct, check_sample_weight, default_names
from ewp.kernel import Array
from ewp.rows import FileRows, is_source, open_rows

__all__ = ["Source", "open_source"]

#: Rows on which penalties are compared when the data are not in memory.
_SELECTION_ROWS = 10_000


class Source(ABC):
    """Validated data of a fit.

    Attributes
    ----------
    data : object
        What the results keep as their data.
    n, p : int
    columns : Index or None
        The user's own names of the columns.
    weight : ndarray of shape (n,) or None
        Sample weights, where they are in memory.
    """

    data: Any
    n: int
    p: int
    columns: pd.Index | None
    weight: Array | None = None

    @property
    def names(self) -> tuple[pd.Index, pd.Index]:
        """Names of rows and columns."""
        columns = default_names(self.p) if self.columns is None else self.columns
        rows = self.data.index if isinstance(self.data, pd.DataFrame) else pd.RangeIndex(self.n)
        return rows, columns

    @abstractmethod
    def engine(self, *, standardise: bool, k: int) -> Engine:
        """Return the engine of a fit of k clusters, which must be possible."""

    def selection_rows(self, k: int) -> tuple[Array, Array | None, float]:
        """Rows to compare penalties on, their weights, and how much more all the data weigh."""
        engine = self.engine(standardise=False, k=k)
        part = engine.sample(max(_SELECTION_ROWS, 100 * k))
        return part.X, part.sample_weight, engine.total / part.total


class _Rows(Source):
    """Rows of an array, a DataFrame or a file."""

    def __init__(self, X: Any, sample_weight: Any, n_jobs: int | None) -> None:
        self.data = X
        self.array = check_data(X)
        self.n, self.p = self.array.shape
        self.columns = X.columns if isinstance(X, pd.DataFrame | FileRows) else None
        self.weight = check_sample_weight(sample_weight, self.n)
        self.n_jobs = n_jobs

    def engine(self, *, standardise: bool, k: int) -> ArrayEngine:
        check_distinct(self.array, k, self.weight)
        scale = "standard" if standardise else None
        return ArrayEngine(self.array, self.weight, scale=scale, n_jobs=self.n_jobs)

    def selection_rows(self, k: int) -> tuple[Array, Array | None, float]:
        if isinstance(self.array, FileRows):
            return super().selection_rows(k)
        check_distinct(self.array, k, self.weight)
        return self.array, self.weight, 1.0


class _Dask(Source):
    """A Dask array or DataFrame."""

    def __init__(self, X: Any, sample_weight: Any) -> None:
        self.data = X
        self.sample_weight = sample_weight
        self.n, self.p = len(X), X.shape[1]
        self.columns = pd.Index(X.columns) if hasattr(X, "columns") else None

    def engine(self, *, standardise: bool, k: int) -> DaskEngine:
        engine = DaskEngine(self.data, self.sample_weight, standardise=standardise)
        distinct = engine.small(k).n
        if distinct < k:
            raise ValueError(
                f"k={k} exceeds the {distinct} distinct rows of X (n_samples={self.n}); "
                "ask for fewer clusters"
            )
        return engine


def open_source(X: Any, sample_weight: Any = None, n_jobs: int | None = None) -> Source:
    """Check data, wherever they are.

    Parameters
    ----------
    X : array-like, DataFrame, path, function, FileRows, dask array or DataFrame
    sample_weight : array-like of shape (n,), dask array or None
    n_jobs : int or None
        Threads of the engine.
    """
    if is_dask(X):
        return _Dask(X, sample_weight)
    return _Rows(open_rows(X) if is_source(X) else X, sample_weight, n_jobs)
