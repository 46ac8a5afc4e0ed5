"""Passes over rows: which engine serves which data, and rows to compare penalties on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ewp.common.types import Array
from ewp.data.canonical import sample_by_hash
from ewp.data.decorrelation import Decorrelation, given_shrinkage, is_decorrelated
from ewp.data.sources import ArraySource, DaskSource, decorrelated_rows
from ewp.data.sparse import DENSE_BYTES, SparseRows, dense_rows, has_sparse_rows
from ewp.engine.array import ArrayEngine
from ewp.engine.base import Engine
from ewp.engine.bregman import BregmanEngine
from ewp.engine.dask import DaskEngine
from ewp.engine.precision import DOUBLE, precision_for
from ewp.engine.sparse import SparseEngine

__all__ = ["array_engine", "make_engine", "rows_engine", "rows_for_selection"]

#: Rows on which penalties are compared, and rows per cluster; of more a sample is taken.
_SELECTION_ROWS, _ROWS_A_CLUSTER = 10_000, 100
#: The fewest of them, where rows of a sparse matrix have so many features that few are made dense.
_FEWEST_ROWS = 1000


def rows_engine(
    X: Array | SparseRows,
    sample_weight: Array | None = None,
    *,
    center: Array | None = None,
    scale: str | None = None,
    n_jobs: int | None = None,
) -> ArrayEngine:
    """Return the engine of validated rows, dense or sparse."""
    if has_sparse_rows(X):
        return SparseEngine(X, sample_weight, center=center, scale=scale, n_jobs=n_jobs)
    return ArrayEngine(X, sample_weight, center=center, scale=scale, n_jobs=n_jobs)


def array_engine(
    X: Array,
    sample_weight: Array | None = None,
    scale: str | None = None,
    prior: Array | None = None,
    names: tuple[str, ...] | None = None,
) -> ArrayEngine:
    """Return the engine of validated rows in memory; options are as in `make_engine`."""
    if names is not None:
        return BregmanEngine(X, sample_weight, names=names, scale=scale)
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
    names: tuple[str, ...] | None = None,
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
    names : tuple of str or None
        Names of the columns' divergences, see `ewp.engine.families`; None if all are squared
        differences.
    """
    if names is not None:
        assert isinstance(source, ArraySource)
        return BregmanEngine(source.array, source.weight, names=names, scale=scale, n_jobs=n_jobs)
    if isinstance(source, ArraySource):
        kind = precision_for(source.array, dtype)
        if is_decorrelated(scale):
            assert scale is not None
            used = None if prior is None else prior > 0
            if has_sparse_rows(source.array):
                cure = 'give another scale, such as "standard", or fewer rows or columns'
                dense = dense_rows(source.array, f"scale={scale!r}", cure)
                made = Decorrelation.estimate(dense, source.weight, given_shrinkage(scale), used)
                return _decorrelated_engine(made, made.apply(dense), source.weight, n_jobs)
            made, rows = decorrelated_rows(source, given_shrinkage(scale), used, kind)
            return _decorrelated_engine(made, rows, source.weight, n_jobs, kind)
        if has_sparse_rows(source.array):
            return SparseEngine(source.array, source.weight, scale=scale, n_jobs=n_jobs)
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
    source: ArraySource | DaskSource, k: int, *, whole: bool = False, sizes: Array | None = None
) -> tuple[Array, Array | None, float, Array | None]:
    """Rows to compare penalties on, their weights, how much more all the data weigh, and sizes.

    Parameters
    ----------
    source : ArraySource or DaskSource
    k : int
    whole : bool
        Take all rows of data in memory, as splits of the user's own refer to them.
    sizes : ndarray of shape (n,) or None
        Sizes of the rows, where they have some.
    """
    most = max(_SELECTION_ROWS, _ROWS_A_CLUSTER * k)
    if isinstance(source, ArraySource) and source.in_memory and (whole or source.n <= most):
        return source.array, source.weight, 1.0, sizes
    if sizes is not None:
        assert isinstance(source, ArraySource)
        assert source.weight is not None
        sized = np.column_stack([source.array, sizes])
        found = sample_by_hash([(sized, source.weight)], sized.shape[1], most)
        factor = float(source.weight.sum() / found.mass.sum())
        return found.rows[:, :-1], found.mass, factor, found.rows[:, -1]
    if isinstance(source, ArraySource) and has_sparse_rows(source.array):
        return *_sparse_rows_for_selection(source, source.array, k, most, whole=whole), None
    engine = make_engine(source, k)
    part = engine.sample(most)
    return part.X, part.sample_weight, engine.total / part.total, None


def _sparse_rows_for_selection(
    source: ArraySource, rows: SparseRows, k: int, most: int, *, whole: bool
) -> tuple[Array, Array | None, float]:
    """Rows of a sparse matrix to compare penalties on, dense: as many as may be."""
    cure = "give a number for lam, or fewer columns"
    if whole or (rows.dense_bytes <= DENSE_BYTES and source.n <= most):
        return dense_rows(rows, 'lam="auto" with folds of your own', cure), source.weight, 1.0
    fewest = min(max(_FEWEST_ROWS, _ROWS_A_CLUSTER * k), source.n)
    most = min(most, max(DENSE_BYTES // (8 * source.p), fewest))
    engine = SparseEngine(rows, source.weight)
    part = engine.sample(most)
    assert has_sparse_rows(part.X)
    dense = dense_rows(part.X, f'lam="auto" compares penalties on {part.n} rows and', cure)
    return dense, part.sample_weight, engine.total / part.total
