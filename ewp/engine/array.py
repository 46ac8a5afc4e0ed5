"""Rows of an array, in memory or in a file, centred and scaled block by block.

The engine owns the data and hides how they are stored. Centring and scaling happen in the block
buffers, so that a large array is never copied; small arrays are prepared once. Blocks are grouped
into a number of chunks that does not depend on the number of threads, and the chunks' sums are
added in order: the result is the same to the last bit for any `n_jobs`. Several processors work as
forked processes where that is possible and worth it, else as threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from ewp.common.parallel import ForkPool, can_fork
from ewp.common.types import Array
from ewp.data.canonical import (
    block_rows,
    column_means,
    column_squares,
    observed_means,
    observed_squares,
    order_by_value,
    sample_by_hash,
    sample_size,
    varying_columns,
)
from ewp.data.decorrelation import Decorrelation
from ewp.data.missing import Missingness
from ewp.data.rows import is_row_source
from ewp.engine.base import Deviations, Partition, RowEngine, RowMass
from ewp.engine.divergence import SQUARED_EUCLIDEAN
from ewp.engine.incremental import IncrementalHardStep
from ewp.engine.kernel import block_distances, block_lengths, block_statistics, hard_sums
from ewp.engine.precision import DOUBLE, PRECISION, SINGLE, fits_single
from ewp.engine.small_steps import SmallSteps
from ewp.engine.sparse_block import SparseBlock
from ewp.engine.statistics import Metric, Statistics, StepFunction, Workspace

__all__ = ["ArrayEngine", "Block", "accumulate"]

#: Data whose centred copy is at most this large are centred once.
_PREPARED_BYTES = 48 * 2**20
#: More rows than this are represented by a sample in starts and searches.
_WHOLE = 2**17
#: Blocks are summed within chunks, chunks in order; more chunks than any sensible thread count.
_CHUNKS = 16
#: Sums of squares below this cannot be divided by; such columns count as constant there.
_SUBNORMAL = 1e-290
#: Passes over fewer entries are as fast as what would be saved of them.
_INCREMENTAL = 2**16
#: Passes over fewer entries take calls rather than arithmetic.
_SMALL = 2**17
#: Memberships of the runs of one pass, of rows in memory and in a file.
_RUN_BYTES, _FILE_RUN_BYTES = 2**22, 2**26
#: Passes of fewer products n * p * k than this are over before another process has begun.
_WORTHWHILE = 2e7
#: Means that float32 misses by more than this part of a standard deviation are corrected for.
_NOTICED = 1e-6


class ArrayEngine(RowEngine):
    """Rows of an array, in memory or in a file, centred and scaled block by block.

    Parameters
    ----------
    X : ndarray or RowSource of shape (n, p)
        Validated data of any float type and memory layout, NaN for missing values; never modified
        or copied whole unless small.
    sample_weight : ndarray of shape (n,) or None
        Weights of the rows, not negative; rows of weight zero get labels but no say.
    center : ndarray of shape (p,) or None
        What is subtracted from the rows; the weighted mean if None.
    scale : ndarray of shape (p,), "standard" or None
        What the centred rows are divided by; the weighted standard deviation (1 for constant
        columns) if "standard", nothing if None.
    n_jobs : int or None
        Number of processes or threads, as in joblib.
    keep : bool
        Whether a prepared copy of small data may be kept.
    decorrelation : Decorrelation or None
        How the rows came from the data, if they were decorrelated.
    missingness : Missingness or None
        Which columns have missing values, where these rows are a part or a sample of the data;
        found in the rows if None. A `scale` that is an array has the root of the observed shares
        in it.
    dtype : numpy.dtype
        Type in which rows are kept and multiplied; of rows whose squares float32 cannot hold it
        becomes float64.

    Attributes
    ----------
    prepared : ndarray of shape (n, p + h) or None
        All rows in the engine's coordinates, with their marks, if they are kept.
    width : int
        Columns and marks.
    """

    def __init__(
        self,
        X: Any,
        sample_weight: Array | None = None,
        *,
        center: Array | None = None,
        scale: Array | str | None = None,
        n_jobs: int | None = None,
        keep: bool = True,
        decorrelation: Decorrelation | None = None,
        missingness: Missingness | None = None,
        dtype: np.dtype[Any] = DOUBLE,
    ) -> None:
        self.X = X
        self.decorrelation = decorrelation
        self.n, self.p = X.shape
        self.sample_weight = sample_weight
        self.total = float(self.n if sample_weight is None else sample_weight.sum())
        self.n_jobs = effective_n_jobs(n_jobs)
        self._cut: dict[int, list[list[slice]]] = {}
        self._forget()
        if center is None:
            center = (
                column_means(X, sample_weight)
                if self.divergence.shift_invariant
                else np.zeros(self.p)
            )
        self.center = center
        self.squares = column_squares(X, sample_weight, self.center)
        # sums over missing values are missing
        holes = np.flatnonzero(np.isnan(self.squares))
        if len(holes):
            self._sum_observed(holes)
        if missingness is None:
            missingness = Missingness.none(self.p)
            if len(holes):
                missingness = Missingness.of_rows(X, sample_weight, holes)
        self.missingness = missingness
        self.width = self.p + len(missingness.columns)
        share = missingness.share
        if isinstance(scale, str):
            if not self.divergence.scale_equivariant:
                raise ValueError("columns cannot be standardised for this divergence: scale=None")
            deviation = np.sqrt(self.squares / self.total)
            scale = np.where(deviation > 0, deviation, 1.0)
        elif scale is None:
            # sums over the observed rows stand for all
            scale = np.sqrt(share) if missingness else np.ones(self.p)
        self.scale = scale
        self._scaled = bool((self.scale != 1.0).any())
        self.squares /= self.scale**2
        if dtype != DOUBLE and self._fits_single():
            self.dtype = dtype
        self._keep = keep
        if keep and self.n * self.p * 8 <= _PREPARED_BYTES:
            self.prepared = self._prepare()

    def __reduce__(self) -> tuple[Any, ...]:
        # buffers and the prepared copy are made again where the engine goes
        arguments = (self.X, self.sample_weight, self.center, self.scale, self.n_jobs, self._keep)
        return _rebuild, (*arguments, self.decorrelation, self.missingness, self.dtype)

    # -- preparation ---------------------------------------------------------------------------

    def _forget(self) -> None:
        super()._forget()
        self.prepared: Array | None = None
        self._spaces: dict[tuple[int, np.dtype[Any]], SimpleQueue[Workspace]] = {}
        self._tiles: dict[tuple[str, np.dtype[Any]], Array] = {}
        self._pool: ForkPool | None = None
        self._small: SmallSteps | None = None

    def _fits_single(self) -> bool:
        """Whether float32 holds the squares of the rows, those without weight among them."""
        if self.sample_weight is None:
            largest, heaviest = float(np.sqrt(self.squares.max())), 1.0
        else:
            heaviest = float(self.sample_weight.max())
            largest = max(
                float(np.nanmax(np.abs(self.X[rows] - self.center) / self.scale, initial=0.0))
                for rows in self._slices(block_rows(self.p, 1))
            )
        return fits_single(self.squares, self.total, largest, heaviest)

    @cached_property
    def _is_offset(self) -> bool:
        """Whether the means, rounded to float32, would not be those of the data."""
        spread = np.sqrt(self.squares / self.total) * self.scale
        return bool((np.abs(self._rounded_off) > _NOTICED * spread).any())

    def _sum_observed(self, columns: np.ndarray) -> None:
        """Put in the moments of the observed values of some columns."""
        self.center = self.center.copy()
        own = np.isnan(self.center[columns])
        if own.any():
            self.center[columns[own]] = observed_means(self.X, self.sample_weight, columns[own])
        center = self.center[columns]
        self.squares[columns] = observed_squares(self.X, self.sample_weight, columns, center)

    def _slices(self, rows: int) -> Iterator[slice]:
        for start in range(0, self.n, rows):
            yield slice(start, min(start + rows, self.n))

    def _weight(self, rows: slice) -> Array | None:
        return None if self.sample_weight is None else self.sample_weight[rows]

    def _fill(self, rows: slice, block: Array) -> None:
        """Write rows in the engine's coordinates, and their marks."""
        if self.missingness:
            values = block[:, : self.p]
            np.subtract(self.X[rows], self.center, out=values)
            values /= self.scale
            self.missingness.mark(block)
            return
        if is_row_source(self.X) and self.X.dtype == block.dtype:
            self.X.read_into(rows.start, block)
            values = block
        else:
            values = self.X[rows]
        # operands of one shape, layout and type are one long loop instead of a short one per row
        kind = block.dtype if values.dtype == block.dtype else DOUBLE
        np.subtract(values, self._tiled("center", len(block), kind), out=block)
        if kind != DOUBLE and self._is_offset:
            # what rounding the center has left: the first difference lost no digit
            block -= self._tiled("_rounded_off", len(block), kind)
        if self._scaled:
            block /= self._tiled("scale", len(block), block.dtype)

    def _prepare(self) -> Array:
        """All rows in the engine's coordinates; the data themselves if that is what they are."""
        plain = isinstance(self.X, np.ndarray) and self.X.dtype == self.dtype
        plain = plain and not self.missingness
        if plain and self.X.flags.c_contiguous and not self._scaled and not self.center.any():
            return self.X
        prepared = np.empty((self.n, self.width), self.dtype)
        for rows in self._slices(block_rows(self.width, 1)):
            self._fill(rows, prepared[rows])
        return prepared

    @property
    def _rounded_off(self) -> Array:
        """What rounding the center to float32 takes away."""
        return self.center - self.center.astype(np.float32)

    def _tiled(self, name: str, count: int, dtype: np.dtype[Any]) -> Array:
        """Return the center or the scale, repeated for some rows."""
        tile = self._tiles.get((name, dtype))
        if tile is None or len(tile) < count:
            # another thread may keep one of another length at the same time
            tile = np.tile(getattr(self, name).astype(dtype), (count, 1))
            self._tiles[name, dtype] = tile
        return tile[:count]

    @cached_property
    def varying(self) -> np.ndarray:
        """Which columns are not constant on the rows that count."""
        return varying_columns(self.X, self.sample_weight)

    @property
    def order(self) -> np.ndarray:
        """Order of the rows by value, see `canonical`."""
        return self.canonical[0]

    @cached_property
    def canonical(self) -> tuple[np.ndarray, np.ndarray]:
        """Order of the rows by value, and which of them differ from the row before."""
        blocks = (self.marked_rows(rows) for rows in self._slices(block_rows(self.width, 1)))
        marks = np.full(len(self.missingness.columns), self.total)
        return order_by_value(blocks, np.concatenate([self.squares, marks]), self.total)

    def sample_for_starts(self, k: int) -> ArrayEngine:
        """Return itself, or for many rows a sample of them in the same coordinates."""
        return self if self.n <= _WHOLE else self.sample(sample_size(self.p, k))

    def sample(self, size: int) -> ArrayEngine:
        """Return at most `size` distinct rows in the same coordinates."""
        if size not in self._samples:
            slices = self._slices(block_rows(self.p, 1))
            blocks = ((self.X[rows], self._weight(rows)) for rows in slices)
            found = sample_by_hash(blocks, self.p, size)
            self._samples[size] = ArrayEngine(
                found.rows,
                found.mass,
                center=self.center,
                scale=self.scale,
                n_jobs=self.n_jobs,
                missingness=self.missingness,
                dtype=self.dtype,
            )
        sampled: ArrayEngine = self._samples[size]
        return sampled

    def part(self, index: np.ndarray, sample_weight: Array) -> ArrayEngine:
        """Return some of the rows, with weights of their own, in the same coordinates."""
        return ArrayEngine(
            self.X[index],
            sample_weight,
            center=self.center,
            scale=self.scale,
            missingness=self.missingness,
            dtype=self.dtype,
        )

    def reweighted(self, sample_weight: Array) -> ArrayEngine:
        """Return the same rows on the same scale with other weights, about their new mean."""
        return ArrayEngine(
            self.X,
            sample_weight,
            # decorrelated rows stay where predictions see them
            center=None if self.decorrelation is None else self.center,
            scale=self.scale,
            n_jobs=self.n_jobs,
            decorrelation=self.decorrelation,
            missingness=self.missingness if self.missingness else None,
            dtype=self.dtype,
        )

    # -- passes over the data ------------------------------------------------------------------

    def _blocks(self, chunk: list[slice], work: Workspace, mass: RowMass | None) -> Iterator[Block]:
        for rows in chunk:
            if self.prepared is not None and self.dtype == work.dtype:
                block = self.prepared[rows]
            else:
                block = work.rows(0, rows.stop - rows.start)
                self._fill(rows, block)
            weight = self._weight(rows) if mass is None else mass.of_rows(rows)
            if weight is not None and weight.dtype != work.dtype:
                weight = weight.astype(work.dtype)
            yield Block(rows, block, weight)

    def _block_rows(self, k: int) -> int:
        """Return the largest number of rows of a block for k centroids."""
        return block_rows(self.width, k)

    def _workspace(self, k: int, runs: int, dtype: Any) -> Workspace:
        return Workspace(min(self._block_rows(k), self.n), self.width, k, runs, dtype)

    def _chunks(self, k: int) -> list[list[slice]]:
        if k not in self._cut:
            count = -(-self.n // self._block_rows(k))
            slices = list(self._slices(-(-self.n // count)))
            size = -(-len(slices) // _CHUNKS)
            self._cut[k] = [slices[i : i + size] for i in range(0, len(slices), size)]
        return self._cut[k]

    def _part(
        self,
        task: Callable[..., Any],
        part: range,
        metric: Metric,
        mass: RowMass | None,
        *more: Any,
    ) -> list[Any]:
        """Pass over some of the chunks, here."""
        runs, k = metric.runs, metric.k
        spaces = self._spaces.setdefault((k, metric.dtype), SimpleQueue())
        try:
            work = spaces.get_nowait()
        except Empty:
            work = None
        if work is None or work.runs < runs:
            work = self._workspace(k, runs, metric.dtype)
        try:
            chunks = self._chunks(k)
            return [task(self._blocks(chunks[i], work, mass), work, metric, *more) for i in part]
        finally:
            spaces.put(work)

    def _pass(
        self, task: Callable[..., Any], metric: Metric, *more: Any, mass: RowMass | None = None
    ) -> list[Any]:
        """Apply ``task(blocks, work, metric, *more)`` to every chunk of blocks."""
        count = len(self._chunks(metric.k))
        jobs = min(self.n_jobs, count)
        if jobs == 1 or float(self.n) * self.p * metric.runs * metric.k < _WORTHWHILE:
            return self._part(task, range(count), metric, mass, *more)
        ends = [count * i // jobs for i in range(jobs + 1)]
        parts = [range(*pair) for pair in itertools.pairwise(ends)]
        if can_fork():
            if self._pool is None:
                self._pool = ForkPool(self._part, min(self.n_jobs, _CHUNKS))
            tasks = [(task, part, metric, mass, *more) for part in parts]
            found = self._pool.run(self._part, tasks)
        else:
            with ThreadPoolExecutor(jobs) as pool:
                found = list(
                    pool.map(lambda part: self._part(task, part, metric, mass, *more), parts)
                )
        return [result for results in found for result in results]

    def statistics(
        self, theta: Array, weights: Array, s: Array, mass: RowMass | None = None
    ) -> Statistics:
        """Sufficient statistics of one MM step, see `Engine.statistics`."""
        runs, k = theta.shape[:2]
        found = []
        size = self._runs_at_once(k)
        for start in range(0, runs, size):
            part = slice(start, min(start + size, runs))
            metric = self.metric(theta[part], weights[part])
            found.append(
                self.accumulate(metric, s[part], None if mass is None else mass.take(part))
            )
        return Statistics.join(found)

    def _runs_at_once(self, k: int) -> int:
        """Return the number of runs whose buffers stay in a core's cache.

        Blocks of rows are the same for any number of runs, and so are the sums. A file is read
        once for all runs.
        """
        rows = min(self._block_rows(k), self.n)
        limit = _FILE_RUN_BYTES if is_row_source(self.X) else _RUN_BYTES
        return max(limit // (24 * k * rows), 1)

    def accumulate(self, metric: Metric, s: Array, mass: RowMass | None = None) -> Statistics:
        """Sufficient statistics of one MM step in a prepared metric."""
        total, *others = self._pass(accumulate, metric, s, mass=mass)
        for part in others:
            total += part
        return total

    def _metric(self, theta: Array, weights: Array) -> Metric:
        """Prepare the centroids and weights of one run."""
        return self.metric(theta[None], weights[None])

    def label(self, theta: Array, weights: Array) -> Partition:
        """Assign every row to its nearest centroid."""
        labels, sums = zip(*self._pass(_partition, self._metric(theta, weights)), strict=True)
        size, mass, within = np.sum(sums, axis=0)
        return Partition(np.concatenate(labels, dtype=np.intp), size.astype(np.intp), mass, within)

    def assign(self, theta: Array, weights: Array) -> tuple[np.ndarray, Array]:
        """Nearest centroid of every row and the squared weighted distance to it."""
        labels, nearest = self._rank(theta, weights, 1)
        return labels, nearest[0]

    def two_nearest(self, theta: Array, weights: Array) -> tuple[np.ndarray, Array, Array]:
        """Nearest centroid of every row, and the squared distances to it and to the next."""
        labels, nearest = self._rank(theta, weights, 2)
        return labels, nearest[0], nearest[1]

    def _rank(self, theta: Array, weights: Array, count: int) -> tuple[np.ndarray, Array]:
        found = self._pass(_rank_rows, self._metric(theta, weights), count)
        labels, nearest = zip(*found, strict=True)
        return np.concatenate(labels), np.concatenate(nearest, axis=1)

    def deviations(self, theta: Array, weights: Array) -> Deviations:
        """Sums of differences to the nearest centroids, see `Engine.deviations`."""
        labels, nearest = self.assign(theta, weights)
        mass = np.ones(self.n) if self.sample_weight is None else self.sample_weight
        k = len(theta)
        sums, squares = np.zeros((k, self.p)), np.zeros(self.p)
        columns = self.missingness.columns
        seen = np.zeros((k, len(columns)))
        for rows in self._slices(block_rows(self.p, k)):
            marked = self.marked_rows(rows)
            difference, marks = marked[:, : self.p], marked[:, self.p :]
            difference -= theta[labels[rows]]
            if len(columns):
                difference[:, columns] *= marks
                seen += hard_sums(labels[rows], k, mass[rows], marks)
            sums += hard_sums(labels[rows], k, mass[rows], difference)
            difference *= difference
            squares += mass[rows] @ difference
        weight = np.bincount(labels, mass, k).astype(np.float64)[:, None]
        if len(columns):
            weight = np.repeat(weight, self.p, axis=1)
            weight[:, columns] = seen
        return Deviations(weight, sums, squares, float(mass @ nearest))

    def lengths(self, weights: Array) -> Array:
        """Squared weighted lengths of all rows."""
        metric = self._metric(np.zeros((1, self.p)), weights)
        return np.concatenate(self._pass(_row_lengths, metric))

    def distances(self, theta: Array, weights: Array, lengths: Array | None = None) -> Array:
        """Squared weighted distances of all rows to all centroids, an (n, k) array.

        Parameters
        ----------
        theta : ndarray of shape (k, p)
        weights : ndarray of shape (p,)
        lengths : ndarray of shape (n,), optional
            What `lengths` returned for these weights; it saves that work.
        """
        found = self._pass(_measure, self._metric(theta, weights), lengths)
        result = np.concatenate(found)
        return np.maximum(result, 0.0, out=result)

    def _prepared_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Rows and their marks in the engine's coordinates, all at once if they are kept."""
        if self.prepared is not None:
            yield slice(0, self.n), self.prepared
            return
        for rows in self._slices(block_rows(self.width, 1)):
            yield rows, self.marked_rows(rows).astype(self.dtype, copy=False)

    def lengths_of_runs(self, weights: Array) -> Array:
        """Squared lengths of all rows in the metrics of some runs, a (runs, n) array."""
        found = np.empty((len(weights), self.n), self.dtype)
        weights = weights.astype(self.dtype, copy=False)
        for rows, block in self._prepared_blocks():
            found[:, rows] = weights @ np.square(block[:, : self.p]).T
        return found

    def distances_of_runs(self, theta: Array, weights: Array, lengths: Array) -> Array:
        """Squared distances to a few centroids of some runs, see `RowEngine`."""
        runs, t, _ = theta.shape
        product = theta * weights[:, None, :]
        length = np.einsum("bjl,bjl->bj", theta, product)
        if self.missingness:
            added = product * theta
            marks = added[..., self.missingness.columns]
            length = np.delete(added, self.missingness.columns, axis=-1).sum(axis=-1)
            product = np.concatenate([product, -0.5 * marks], axis=-1)
        product *= -2.0
        product = product.astype(self.dtype, copy=False)
        flat = product.reshape(-1, self.width)
        if self.prepared is None:
            found = np.empty((runs, t, self.n), self.dtype)
            for rows, block in self._prepared_blocks():
                found[:, :, rows] = (flat @ block.T).reshape(runs, t, -1)
        else:
            found = (flat @ self.prepared.T).reshape(runs, t, -1)
        found += lengths[:, None, :]
        found += length.astype(self.dtype, copy=False)[:, :, None]
        # what is left of a row's own length is rounding error
        rounding = found < (PRECISION[self.dtype].cancelled * lengths)[:, None, :]
        if rounding.any():
            found[rounding] = 0.0
        return found

    def equal_rows(self, row: int) -> np.ndarray:
        """Which rows have the values of one of them."""
        same = self.X[row] == self.X
        if self.missingness:
            same |= np.isnan(self.X[row]) & np.isnan(self.X)
        found: np.ndarray = same.all(axis=1)
        return found

    def with_weights(self, sample_weight: Array) -> ArrayEngine:
        """Return the same rows with other weights, in the same coordinates, without a copy."""
        return ArrayEngine(
            self.X,
            sample_weight,
            center=self.center,
            scale=self.scale,
            n_jobs=self.n_jobs,
            keep=False,
            missingness=self.missingness,
            dtype=self.dtype,
        )

    def in_single(self) -> ArrayEngine:
        """Return the same data in the same coordinates, multiplied in single precision.

        Itself if that cannot hold them, or is what they have, or for another divergence.
        """
        if self.dtype != DOUBLE or self.divergence is not SQUARED_EUCLIDEAN:
            return self
        order = self.canonical
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__)
        found._forget()
        if not found._fits_single():
            return self
        found.dtype, found.canonical = SINGLE, order
        if self.prepared is not None:
            found.prepared = found._prepare()
        return found

    def step_function(self) -> StepFunction:
        """Return `statistics` for the steps of one run, see `Engine.step_function`."""
        if self.prepared is None or self.missingness:
            return self.statistics
        size = self.n * self.p
        small = size < _SMALL and SmallSteps.serves(self)
        every = self._small_steps if small else self.statistics
        return every if size < _INCREMENTAL else IncrementalHardStep(self, every).statistics

    def _small_steps(
        self, theta: Array, weights: Array, s: Array, mass: RowMass | None = None
    ) -> Statistics:
        """Sufficient statistics of one MM step on few rows."""
        if theta.shape[1] >= PRECISION[self.dtype].many:
            return self.statistics(theta, weights, s, mass)
        if self._small is None:
            self._small = SmallSteps(self)
        return self._small.statistics(theta, weights, s, mass)

    @cached_property
    def row_lengths(self) -> Array:
        """Squared lengths of the rows in units of the columns' standard deviations."""
        varying = self.squares > _SUBNORMAL
        return self.lengths(varying * self.total / np.where(varying, self.squares, 1.0))

    def with_columns(self, columns: np.ndarray) -> ArrayEngine:
        """Return the same rows in the same coordinates with some of the columns."""
        X = self.take(np.arange(self.n), columns)
        center = np.zeros(len(columns))
        return ArrayEngine(X, self.sample_weight, center=center, dtype=self.dtype)

    def take(self, index: np.ndarray, columns: np.ndarray) -> Array:
        """Some columns of some rows in the engine's coordinates."""
        if self.prepared is not None:
            return self.prepared[np.ix_(index, columns)]
        pieces = (index[i : i + 256] for i in range(0, len(index), 256))
        return np.concatenate([self.rows(piece)[:, columns] for piece in pieces])

    def take_marks(self, index: np.ndarray, columns: np.ndarray) -> Array | None:
        """Where some columns of some rows are observed, 1 or 0; None where none can be missing."""
        holes = self.missingness.columns
        at = np.flatnonzero(np.isin(columns, holes))
        if not len(at):
            return None
        marks = np.ones((len(index), len(columns)))
        places = self.p + np.searchsorted(holes, columns[at])
        for start in range(0, len(index), 256):
            piece = slice(start, start + 256)
            marks[piece, at] = self.marked_rows(index[piece])[:, places]
        return marks

    def rows(self, index: np.ndarray | slice) -> Array:
        """Rows in the engine's coordinates, with the mean (0) where values are missing."""
        if self.missingness:
            return np.ascontiguousarray(self.marked_rows(index)[:, : self.p])
        return self.marked_rows(index)

    def marked_rows(self, index: np.ndarray | slice) -> Array:
        """Rows and their marks, as blocks of the kernel are."""
        if self.prepared is not None and self.dtype == DOUBLE:
            found = self.prepared[index]
            return found.copy() if isinstance(index, slice) else found
        values = self.X[index]
        if self.missingness:
            block = np.empty((len(values), self.width))
            np.subtract(values, self.center, out=block[:, : self.p])
            block[:, : self.p] /= self.scale
            self.missingness.mark(block)
            return block
        # in C order whatever the data's: sums depend on it in their last digits
        result = np.subtract(values, self.center, out=np.empty(values.shape))
        result /= self.scale
        return result


class Block(NamedTuple):
    """Which rows, their centred values, their weights, and potentials that are known already."""

    rows: slice
    values: Array | SparseBlock
    weight: Array | None
    potentials: Array | None = None


def accumulate(blocks: Iterator[Block], work: Workspace, metric: Metric, s: Array) -> Statistics:
    """Sufficient statistics of one MM step of some runs."""
    runs, k, p = metric.theta.shape
    sums = Statistics.zeros(runs, k, p, metric.columns)
    for block in blocks:
        block_statistics(block.values, block.weight, metric, s, work, sums, block.potentials)
    return sums


def _partition(
    blocks: Iterator[Block], work: Workspace, metric: Metric
) -> tuple[np.ndarray, tuple[Array, Array, Array]]:
    """Nearest centroid of every row in one run; number, weight, sum of squares of the clusters."""
    k = metric.k
    small = np.min_scalar_type(k - 1)  # labels of all rows are held twice for a moment
    labels = []
    sums = np.zeros((3, k))
    for block in blocks:
        known = _lengths_of(block, metric, work)
        (distance,), (least,) = block_distances(block.values, metric, work, known)
        labels.append(distance.argmin(axis=0).astype(small))
        mass = np.ones(len(least)) if block.weight is None else block.weight
        sums += [np.bincount(labels[-1], w, k) for w in (None, mass, mass * least)]
    return np.concatenate(labels), (sums[0], sums[1], sums[2])


def _rank_rows(
    blocks: Iterator[Block], work: Workspace, metric: Metric, count: int
) -> tuple[np.ndarray, Array]:
    """Nearest centroid of every row in one run, and distances to the `count` (1 or 2) nearest."""
    labels, nearest = [], []
    for block in blocks:
        known = _lengths_of(block, metric, work)
        (distance,), (least,) = block_distances(block.values, metric, work, known)
        first = distance.argmin(axis=0)
        found = [least]
        if count == 2:
            distance[first, np.arange(len(first))] = np.inf
            found.append(distance.min(axis=0))
        labels.append(first)
        nearest.append(np.stack(found))
    return np.concatenate(labels), np.concatenate(nearest, axis=1)


def _measure(
    blocks: Iterator[Block], work: Workspace, metric: Metric, lengths: Array | None
) -> Array:
    """Squared distances of every row to every centroid of one run; `lengths` if they are known."""
    found = []
    for block in blocks:
        known = _lengths_of(block, metric, work) if lengths is None else lengths[None, block.rows]
        (distance,), _ = block_distances(block.values, metric, work, known)
        found.append(distance.T.copy())  # the buffer is used again for the next block
    return np.concatenate(found)


def _row_lengths(blocks: Iterator[Block], work: Workspace, metric: Metric) -> Array:
    """Squared length of every row."""
    return np.concatenate([_lengths_of(block, metric, work)[0].copy() for block in blocks])


def _lengths_of(block: Block, metric: Metric, work: Workspace) -> Array:
    return block_lengths(block.values, metric, work, block.potentials)


def _rebuild(
    X: Array,
    sample_weight: Array | None,
    center: Array,
    scale: Array,
    n_jobs: int,
    keep: bool,
    decorrelation: Decorrelation | None,
    missingness: Missingness,
    dtype: np.dtype[Any],
) -> ArrayEngine:
    return ArrayEngine(
        X,
        sample_weight,
        center=center,
        scale=scale,
        n_jobs=n_jobs,
        keep=keep,
        decorrelation=decorrelation,
        missingness=missingness,
        dtype=dtype,
    )
