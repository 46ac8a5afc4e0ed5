"""Passes over rows: which engine serves which data, and rows to compare penalties on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ewp.common.types import Array
from ewp.data.decorrelation import Decorrelation, given_shrinkage, is_decorrelated
from ewp.data.sources import ArraySource, DaskSource, decorrelated_rows
from ewp.engine.array import ArrayEngine
from ewp.engine.base import Engine
from ewp.engine.dask import DaskEngine
from ewp.engine.precision import DOUBLE, precision_for

__all__ = ["array_engine", "make_engine", "rows_for_selection"]

#: Rows on which penalties are compared, and rows per cluster; of more a sample is taken.
_SELECTION_ROWS, _ROWS_A_CLUSTER = 10_000, 100


def array_engine(
    X: Array,
    sample_weight: Array | None = None,
    scale: str | None = None,
    prior: Array | None = None,
) -> ArrayEngine:
    """Return the engine of validated rows in memory; options are as in `make_engine`."""
    if not is_decorrelated(scale):
        return ArrayEngine(X, sample_weight, scale=scale)
    assert scale is not None
    used = None if prior is None else prior > 0
    made = Decorrelation.estimate(X, sample_weight, given_shrinkage(scale), used)
    return _decorrelated_engine(made, made.apply(X), sample_weight)


def _decorrelated_engine(
    made: Decorrelation,
    rows: Any,
    weight: Array | None,
    n_jobs: int | None = None,
    dtype: np.dtype[Any] = DOUBLE,
) -> ArrayEngine:
    # centred they are, but for the last digits, and predictions centre nothing
    center = np.zeros(len(made.center))
    return ArrayEngine(rows, weight, center=center, n_jobs=n_jobs, decorrelation=made, dtype=dtype)


def make_engine(
    source: ArraySource | DaskSource,
    k: int,
    *,
    scale: str | None = None,
    prior: Array | None = None,
    n_jobs: int | None = None,
    dtype: str | None = None,
) -> Engine:
    """Return the engine of a fit of k clusters, which must be possible.

    Parameters
    ----------
    source : ArraySource or DaskSource
    k : int
    scale : str or None
        "standard" divides every column by its standard deviation, "decorrelate" makes columns
        uncorrelated, see `ewp.data.decorrelation`.
    prior : ndarray of shape (p,) or None
        Features with a prior of zero have no part in decorrelating the others.
    n_jobs : int or None
        Processes that pass over an array.
    dtype : {"float64", "float32"} or None
        Type in which rows are kept and multiplied; that of the data if None.
    """
    if isinstance(source, ArraySource):
        kind = precision_for(source.array, dtype)
        if is_decorrelated(scale):
            assert scale is not None
            used = None if prior is None else prior > 0
            made, rows = decorrelated_rows(source, given_shrinkage(scale), used, kind)
            return _decorrelated_engine(made, rows, source.weight, n_jobs, kind)
        return ArrayEngine(source.array, source.weight, scale=scale, n_jobs=n_jobs, dtype=kind)
    engine = DaskEngine(
        source.data,
        source.sample_weight,
        scale=scale,
        prior=prior,
        missing=source.missing,
        dtype=precision_for(source.data, dtype),
    )
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
    engine = make_engine(source, k)
    part = engine.sample(most)
    return part.X, part.sample_weight, engine.total / part.total
