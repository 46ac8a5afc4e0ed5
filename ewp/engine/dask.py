"""Data on a Dask cluster: blocks stay on the workers, only centroids and weights travel.

Every block of rows becomes an `ewp.engine.array.ArrayEngine` that is kept on the worker that made
it; a pass sends the prepared metric out and brings the blocks' sums back, which are added in the
order of the blocks, so the result does not depend on the number of workers. Blocks of a worker that
is lost are made again by Dask from the graph of the user's collection.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd

from ewp.common.parallel import one_blas_thread
from ewp.common.types import Array
from ewp.data.arguments import check_sample_weight, check_weight_values
from ewp.data.canonical import HashSample, sample_by_hash, sample_size
from ewp.data.decorrelation import (
    Decorrelation,
    check_complete,
    given_shrinkage,
    is_decorrelated,
)
from ewp.data.frames import is_number_type, refuse_columns, with_numbers
from ewp.data.missing import Missingness
from ewp.data.sources import is_dask
from ewp.data.validation import check_data, without_values
from ewp.engine.array import ArrayEngine
from ewp.engine.base import Deviations, Engine, Partition, RowMass
from ewp.engine.precision import DOUBLE
from ewp.engine.predict import centroid_distances, nearest_centroids
from ewp.engine.statistics import Metric, Statistics
from ewp.metrics import mixture_gain

__all__ = [
    "DaskEngine",
    "lazy_distances",
    "lazy_gain",
    "lazy_labels",
    "new_distances",
    "new_labels",
]


def _as_array(X: Any) -> Any:
    """Dask array of the rows, a block holding all columns of its rows."""
    if hasattr(X, "columns"):
        wrong = {name: str(kind) for name, kind in X.dtypes.items() if not is_number_type(kind)}
        if wrong:
            refuse_columns(wrong, "dask")
        if any(map(pd.api.types.is_extension_array_dtype, X.dtypes)):
            X = X.map_partitions(with_numbers)
        X = X.to_dask_array(lengths=True)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimension(s); rows by columns are needed")
    if np.isnan(X.shape[0]):
        X = X.copy().compute_chunk_sizes()
    return X.rechunk({1: -1})


def _checked(block: Any, weight: Any, first_row: int, missing: str) -> tuple[Array, Array | None]:
    """One block of validated rows and their weights."""
    if not len(block):
        return np.empty(block.shape), None
    # what has travelled between processes may lie across the bounds of words, which is slow
    checked = check_data(block, first_row=first_row, missing=missing)
    array = np.require(checked, requirements="A")
    return array, None if weight is None else check_weight_values(weight, first_row=first_row)


def _moments(part: tuple[Array, Array | None], shift: Array) -> tuple[float, Array, Array, Array]:
    """Weight of a block, where it has missing values, and moments of the observed ones.

    These are weighted sums of differences from `shift` and of their squares; the second array is
    the weight of the rows in which a column is missing.
    """
    X, weight = part
    total, absent, first, second = 0.0, *np.zeros((3, len(shift)))
    for start in range(0, len(X), 4096):
        rows = slice(start, start + 4096)
        difference = X[rows] - shift
        mass = np.ones(len(difference)) if weight is None else weight[rows]
        total += float(mass.sum())
        missing = np.isnan(difference)
        if missing.any():
            absent += mass @ missing
            difference[missing] = 0.0
        first += mass @ difference
        difference *= difference
        second += mass @ difference
    return total, absent, first, second


def _first_observed(part: tuple[Array, Array | None]) -> Array:
    """First observed value of every column of a block, NaN where there is none."""
    X = part[0]
    if not len(X):
        return np.full(X.shape[1], np.nan)
    first: Array = X[(~np.isnan(X)).argmax(axis=0), np.arange(X.shape[1])]
    return first


def _has_missing(part: tuple[Array, Array | None]) -> np.ndarray:
    """Which columns of a block have missing values."""
    return np.asarray(np.isnan(part[0]).any(axis=0))


def _of_part(part: tuple[Array, Array | None], function: Callable[..., Any], *more: Any) -> Any:
    return function(*part, *more)


def _decorrelated(
    part: tuple[Array, Array | None], made: Decorrelation
) -> tuple[Array, Array | None]:
    X, weight = part
    return made.apply(X), weight


def _engine(
    part: tuple[Array, Array | None],
    center: Array,
    scale: Array,
    missingness: Missingness,
    dtype: np.dtype[Any],
) -> ArrayEngine:
    X, weight = part
    # a prepared copy would take more of the workers' memory than the data
    return ArrayEngine(
        X, weight, center=center, scale=scale, keep=False, missingness=missingness, dtype=dtype
    )


def _together(engines: list[Any]) -> list[list[int]]:
    """Numbers of the engines that one thread of a worker passes over, one task for each list.

    A task costs some milliseconds, however little it does. Should an engine move, when a worker is
    lost, its task finds it where it is.
    """
    alone = [[i] for i in range(len(engines))]
    try:
        from distributed import futures_of, get_client, get_worker, wait
    except ImportError:  # Dask's own threads
        return alone
    try:
        get_worker()
    except ValueError:
        pass
    else:  # within a task, which would wait for a thread that it holds itself
        return alone
    try:
        client = get_client()
    except ValueError:  # no cluster
        return alone
    futures = futures_of(engines)
    if len(futures) < len(engines):  # a cluster, but not for these
        return alone
    wait(futures)
    where, threads = client.who_has(futures), client.nthreads()
    groups: dict[tuple[str, int], list[int]] = {}
    seen: dict[str, int] = {}
    for i, engine in enumerate(engines):
        worker = next(iter(where.get(engine.key) or ("",)))
        turn = seen[worker] = seen.get(worker, -1) + 1
        groups.setdefault((worker, turn % threads.get(worker, 1)), []).append(i)
    return list(groups.values())


def _apply(
    engines: list[ArrayEngine], function: Any, dtype: np.dtype[Any], *arguments: Any
) -> list[Any]:
    with one_blas_thread():
        return [
            function(engine.in_double() if dtype == DOUBLE else engine, *arguments)
            for engine in engines
        ]


def _dtype(engine: ArrayEngine) -> np.dtype[Any]:
    return engine.dtype


def _statistics(engine: ArrayEngine, metric: Metric, s: Array) -> Statistics:
    return engine.accumulate(metric, s)


def _hash_sample(engine: ArrayEngine, size: int) -> HashSample:
    rows = (slice(i, i + 4096) for i in range(0, engine.n, 4096))
    weight = engine.sample_weight
    blocks = ((engine.X[part], None if weight is None else weight[part]) for part in rows)
    return sample_by_hash(blocks, engine.p, size)


def _label(engine: ArrayEngine, theta: Array, weights: Array) -> Partition:
    return engine.label(theta, weights)


def _deviations(engine: ArrayEngine, theta: Array, weights: Array) -> Deviations:
    return engine.deviations(theta, weights)


def _of_block(
    block: Any,
    function: Callable[..., Any],
    metric: tuple[Array, ...],
    made: Decorrelation | None,
    missing: str,
    columns: int,
    block_info: Any = None,
) -> Any:
    """Apply a function of new rows and some arguments to a block."""
    if not len(block):  # a partition that a filter has emptied
        return function(np.zeros((1, columns)), *metric)[:0]
    first_row = block_info[0]["array-location"][0][0] if block_info else 0
    with one_blas_thread():
        rows = check_data(block, first_row=first_row, missing=missing)
        return function(rows if made is None else made.apply(rows), *metric)


def new_labels(*rows_and_metric: Any) -> np.ndarray:
    """Labels of new rows, see `ewp.engine.predict.nearest_centroids`."""
    return nearest_centroids(*rows_and_metric)[0]


def new_distances(*rows_and_metric: Any) -> Array:
    """Distances (not squared) of new rows, see `ewp.engine.predict.centroid_distances`."""
    found: Array = np.sqrt(centroid_distances(*rows_and_metric))
    return found


def _lazily(
    X: Any,
    function: Callable[..., Any],
    metric: tuple[Array, ...],
    made: Decorrelation | None,
    missing: str,
    **shape: Any,
) -> Any:
    """Apply a function to new rows, block by block, when the result is asked for."""
    return X.map_blocks(
        _of_block,
        function=function,
        metric=metric,
        made=made,
        missing=missing,
        columns=X.shape[1],
        **shape,
    )


def lazy_labels(
    X: Any, *metric: Array, made: Decorrelation | None = None, missing: str = "error"
) -> Any:
    """Labels of Dask rows as a Dask array that is computed when asked for.

    Parameters
    ----------
    X : dask array or DataFrame
    *metric : ndarray
        Centroids, weights, center, scale, and what else `ewp.engine.predict.FittedMetric` has.
    made : Decorrelation or None
        How the rows become the columns to which the metric belongs.
    missing : {"error", "observed"}
        As in `ewp.EWP`.
    """
    return _lazily(_as_array(X), new_labels, metric, made, missing, drop_axis=1, dtype=np.intp)


def lazy_gain(
    X: Any, *mixture: Array, made: Decorrelation | None = None, missing: str = "error"
) -> Any:
    """Log-densities that Dask rows gain from a partition, see `ewp.metrics.mixture_gain`."""
    return _lazily(
        _as_array(X), mixture_gain, mixture, made, missing, drop_axis=1, dtype=np.float64
    )


def lazy_distances(
    X: Any, *metric: Array, made: Decorrelation | None = None, missing: str = "error"
) -> Any:
    """Distances (not squared) of Dask rows to all centroids, see `lazy_labels`."""
    array = _as_array(X)
    chunks = array.chunks[0], (len(metric[0]),)
    return _lazily(array, new_distances, metric, made, missing, chunks=chunks, dtype=np.float64)


class DaskEngine(Engine):
    """Rows of a Dask array or DataFrame.

    Parameters
    ----------
    X : dask array or DataFrame
    sample_weight : array-like or dask array of shape (n,) or None
    scale, prior
        As in `ewp.engine.make_engine`.
    missing : {"error", "observed"}
        As in `ewp.EWP`.
    dtype : numpy.dtype
        As in `ewp.engine.array.ArrayEngine`.
    """

    def __init__(
        self,
        X: Any,
        sample_weight: Any = None,
        *,
        scale: str | None = None,
        prior: Array | None = None,
        missing: str = "error",
        dtype: np.dtype[Any] = DOUBLE,
    ) -> None:
        import dask.array as da
        from dask.base import compute, persist
        from dask.delayed import delayed

        self._compute, self._delayed = compute, delayed
        array = _as_array(X)
        self.n, self.p = array.shape
        self._names = list(X.columns) if hasattr(X, "columns") else list(range(self.p))
        if not self.n or not self.p:
            raise ValueError(f"X is empty: it has {self.n} rows and {self.p} columns")
        self.n_jobs = 1
        weights: list[Any] = [None] * array.numblocks[0]
        if sample_weight is not None:
            if not is_dask(sample_weight):
                checked = check_sample_weight(sample_weight, self.n)
                assert checked is not None
                sample_weight = da.from_array(checked, chunks=self.n)
            sample_weight = sample_weight.rechunk((array.chunks[0],))
            weights = list(sample_weight.to_delayed().ravel())
        check = delayed(_checked, pure=True)
        lengths = array.chunks[0]
        parts = [
            check(block, weight, end - length, missing)
            for block, weight, end, length in zip(
                array.to_delayed().ravel(), weights, accumulate(lengths), lengths, strict=True
            )
        ]
        parts = list(persist(*parts))
        shift = np.asarray(array[0].compute(), dtype=np.float64)
        columns = np.empty(0, dtype=np.intp)
        if missing == "observed":
            columns = np.flatnonzero(np.any(self._each(_has_missing, parts), axis=0))
            shift = self._observed_values(parts, shift)
        self.total, self.center = self._mean(parts, shift)
        if is_decorrelated(scale):
            assert scale is not None
            check_complete(len(columns) == 0)

            def added(function: Callable[..., Any], *arguments: Any) -> Any:
                first, *others = self._each(_of_part, parts, function, *arguments)
                return sum(others, start=first)

            used = None if prior is None else prior > 0
            made = Decorrelation.of_blocks(self.center, added, given_shrinkage(scale), used)
            apply = delayed(_decorrelated, pure=True)
            parts = list(persist(*(apply(part, made) for part in parts)))
            self.decorrelation, self.center = made, np.zeros(self.p)
        _, absent, _, squares = self._sums(parts, self.center)
        self.missingness = Missingness.of_mass(columns, self.total - absent, self.total)
        self.scale = np.sqrt(self.missingness.share)
        if scale == "standard":
            deviation = np.sqrt(squares / self.total)
            self.scale = np.where(deviation > 0, deviation, 1.0)
        self.squares = squares / self.scale**2
        make = delayed(_engine, pure=True)
        engines = [
            make(part, self.center, self.scale, self.missingness, dtype)
            for part, length in zip(parts, lengths, strict=True)
            if length
        ]
        self._engines = list(persist(*engines))
        self._groups = _together(self._engines)
        self._forget()
        if dtype != DOUBLE:
            self.dtype = dtype
            if any(one != dtype for one in self._pass(_dtype)):
                self.dtype = DOUBLE

    def _each(self, function: Any, parts: list[Any], *arguments: Any) -> list[Any]:
        """Apply a function to every block and bring the results back, in order."""
        call = self._delayed(function, pure=False)
        found: tuple[Any, ...] = self._compute(*[call(part, *arguments) for part in parts])
        return list(found)

    def _pass(self, function: Any, *arguments: Any) -> list[Any]:
        """Apply a function to every engine, those that lie together in one task, and return all."""
        tasks = [[self._engines[i] for i in group] for group in self._groups]
        found: list[Any] = [None] * len(self._engines)
        for group, results in zip(
            self._groups, self._each(_apply, tasks, function, self.dtype, *arguments), strict=True
        ):
            for i, result in zip(group, results, strict=True):
                found[i] = result
        return found

    def _observed_values(self, parts: list[Any], shift: Array) -> Array:
        """An observed value of every column: sums about it are exact for constant ones."""
        for found in self._each(_first_observed, parts):
            shift = np.where(np.isnan(shift), found, shift)
        nowhere = np.flatnonzero(np.isnan(shift))
        if len(nowhere):
            raise ValueError(without_values("column", [self._names[i] for i in nowhere.tolist()]))
        return shift

    def _sums(self, parts: list[Any], shift: Array) -> tuple[float, Array, Array, Array]:
        total, (absent, first, second) = 0.0, np.zeros((3, self.p))
        for mass, missing, sums, squares in self._each(_moments, parts, shift):
            total, absent = total + mass, absent + missing
            first, second = first + sums, second + squares
        return total, absent, first, second

    def _mean(self, parts: list[Any], shift: Array) -> tuple[float, Array]:
        for _ in range(2):
            total, absent, first, _ = self._sums(parts, shift)
            if not total:
                raise ValueError(
                    "all of sample_weight is zero; at least one row needs a positive weight"
                )
            seen = total - absent
            shift = shift + np.divide(first, seen, out=np.zeros(self.p), where=seen > 0)
        return total, shift

    @property
    def varying(self) -> np.ndarray:
        """Which columns are not constant."""
        return self.squares > 0

    def statistics(
        self, theta: Array, weights: Array, s: Array, mass: RowMass | None = None
    ) -> Statistics:
        """Sufficient statistics of one MM step, see `Engine.statistics`."""
        if mass is not None:
            raise ValueError("rows on a cluster have the same weights in all runs")
        runs, k, p = theta.shape
        total = Statistics.zeros(runs, k, p, self.missingness.columns)
        for part in self._pass(_statistics, self.metric(theta, weights), s):
            total += part
        return total

    def deviations(self, theta: Array, weights: Array) -> Deviations:
        """Sums of differences to the nearest centroids, see `Engine.deviations`."""
        first, *others = self._pass(_deviations, theta, weights)
        return sum(others, start=first)

    def sample(self, size: int) -> ArrayEngine:
        """Return at most `size` distinct rows in the same coordinates."""
        if size not in self._samples:
            first, *others = self._pass(_hash_sample, size)
            for other in others:
                first = first.merge(other, size)
            self._samples[size] = ArrayEngine(
                first.rows,
                first.mass,
                center=self.center,
                scale=self.scale,
                missingness=self.missingness,
                dtype=self.dtype,
            )
        sampled: ArrayEngine = self._samples[size]
        return sampled

    def sample_for_starts(self, k: int) -> ArrayEngine:
        """Return a sample of the rows."""
        return self.sample(sample_size(self.p, k))

    def label(self, theta: Array, weights: Array) -> Partition:
        """Assign every row to its nearest centroid and bring the labels back."""
        parts = self._pass(_label, theta, weights)
        labels = np.concatenate([part.labels for part in parts])
        size, mass, within = (
            np.sum([part[i] for part in parts], axis=0) for i in range(1, len(parts[0]))
        )
        return Partition(labels, size, mass, within)
