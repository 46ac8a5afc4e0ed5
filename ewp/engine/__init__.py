"""Passes over rows: which engine serves which data, and rows to compare penalties on."""

from __future__ import annotations

from ewp.common.types import Array
from ewp.data.sources import ArraySource, DaskSource
from ewp.engine.array import ArrayEngine
from ewp.engine.base import Engine
from ewp.engine.dask import DaskEngine

__all__ = ["make_engine", "rows_for_selection"]

#: Rows on which penalties are compared, and rows per cluster; of more a sample is taken.
_SELECTION_ROWS, _ROWS_A_CLUSTER = 10_000, 100


def make_engine(
    source: ArraySource | DaskSource, k: int, *, standardise: bool, n_jobs: int | None = None
) -> Engine:
    """Return the engine of a fit of k clusters, which must be possible.

    Parameters
    ----------
    source : ArraySource or DaskSource
    k : int
    standardise : bool
        Divide every column by its standard deviation.
    n_jobs : int or None
        Processes that pass over an array.
    """
    if isinstance(source, ArraySource):
        scale = "standard" if standardise else None
        return ArrayEngine(source.array, source.weight, scale=scale, n_jobs=n_jobs)
    engine = DaskEngine(source.data, source.sample_weight, standardise=standardise)
    distinct = engine.sample_for_starts(k).n
    if distinct < k:
        raise ValueError(
            f"k={k} exceeds the {distinct} distinct rows of X (n_samples={source.n}); "
            "ask for fewer clusters"
        )
    return engine


def rows_for_selection(
    source: ArraySource | DaskSource, k: int, *, whole: bool = False
) -> tuple[Array, Array | None, float]:
    """Rows to compare penalties on, their weights, and how much more all the data weigh.

    Parameters
    ----------
    source : ArraySource or DaskSource
    k : int
    whole : bool
        Take all rows of data in memory, as splits of the user's own refer to them.
    """
    most = max(_SELECTION_ROWS, _ROWS_A_CLUSTER * k)
    if isinstance(source, ArraySource) and source.in_memory and (whole or source.n <= most):
        return source.array, source.weight, 1.0
    engine = make_engine(source, k, standardise=False)
    part = engine.sample(most)
    return part.X, part.sample_weight, engine.total / part.total
