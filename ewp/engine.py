"""Where blocks of rows live: centred data in memory, read block by block.

The engine owns the data and hides how they are stored; the solver only asks it for the sufficient
statistics of an MM step, for assignments, and for a few rows. Centring and scaling happen in the
block buffers, so that a large array is never copied; small arrays are prepared once. Blocks are
grouped into a number of chunks that does not depend on the number of threads, and the chunks'
sums are added in order: the result is the same to the last bit for any `n_jobs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import effective_n_jobs

from ewp.backend import Engine, Partition
from ewp.kernel import Array, Metric, Statistics, Workspace, block_distances, block_statistics
from ewp.ordering import order_rows
from ewp.sketch import sample_size, sketch_blocks

__all__ = ["ArrayEngine", "varying_columns"]

#: A block and its buffers should stay in a core's cache.
_BLOCK_BYTES = 2**20
#: Data whose prepared copy (rows and their squares) is at most this large are prepared once.
_PREPARED_BYTES = 24 * 2**20
#: More rows than this are represented by a sample in starts and searches.
_WHOLE = 2**17
#: Blocks are summed within chunks, chunks in order; more chunks than any sensible thread count.
_CHUNKS = 16


T = TypeVar("T")


class Block(NamedTuple):
    """Some rows: where they are, centred with a column of ones, squared, their weights."""

    rows: slice
    values: Array
    squares: Array
    weight: Array | None


def _first(sample_weight: Array | None) -> int:
    """Return the number of the first row that counts."""
    return 0 if sample_weight is None else int(np.argmax(sample_weight > 0))


def varying_columns(X: Array, sample_weight: Array | None = None) -> np.ndarray:
    """Which columns are not constant on the rows of positive weight."""
    found = np.zeros(X.shape[1], dtype=bool)
    first = X[_first(sample_weight)]
    for start in range(0, len(X), 1024):
        rows = slice(start, start + 1024)
        differs = X[rows] != first
        if sample_weight is not None:
            differs &= (sample_weight[rows] > 0)[:, None]
        found |= differs.any(axis=0)
    return found


def _block_rows(p: int, k: int) -> int:
    return min(max(_BLOCK_BYTES // (16 * (p + k + 1)), 64), 4096)


class ArrayEngine(Engine):
    """Rows of an array, in memory or in a file, centred and scaled block by block.

    Parameters
    ----------
    X : ndarray or FileRows of shape (n, p)
        Validated data of any float type and memory layout; never modified or copied whole unless
        small.
    sample_weight : ndarray of shape (n,) or None
        Weights of the rows, not negative; rows of weight zero get labels but no say.
    center : ndarray of shape (p,) or None
        What is subtracted from the rows; the weighted mean if None.
    scale : ndarray of shape (p,), "standard" or None
        What the centred rows are divided by; the weighted standard deviation (1 for constant
        columns) if "standard", nothing if None.
    n_jobs : int or None
        Number of threads, as in joblib.
    """

    def __init__(
        self,
        X: Array,
        sample_weight: Array | None = None,
        *,
        center: Array | None = None,
        scale: Array | str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.X = X
        self.n, self.p = X.shape
        self.sample_weight = sample_weight
        self.total = float(self.n if sample_weight is None else sample_weight.sum())
        self.n_jobs = effective_n_jobs(n_jobs)
        self._prepared: tuple[Array, Array] | None = None
        self._spaces: dict[int, SimpleQueue[Workspace]] = {}
        self._samples: dict[int, ArrayEngine] = {}
        self.center = self._mean() if center is None else center
        self.squares = self._sum_of_squares()
        if isinstance(scale, str):
            deviation = np.sqrt(self.squares / self.total)
            scale = np.where(deviation > 0, deviation, 1.0)
        self._scaled = scale is not None
        self.scale = np.ones(self.p) if scale is None else scale
        self.squares /= self.scale**2
        if self.n * (2 * self.p + 1) * 8 <= _PREPARED_BYTES:
            block = np.empty((self.n, self.p + 1))
            self._fill(slice(0, self.n), block)
            block[:, self.p] = 1.0
            self._prepared = block, block[:, : self.p] ** 2

    def __reduce__(self) -> tuple[Any, ...]:
        # buffers and the prepared copy are made again where the engine goes
        arguments = (self.X, self.sample_weight, self.center, self.scale, self.n_jobs)
        return _rebuild, arguments

    # -- preparation ---------------------------------------------------------------------------

    def _slices(self, rows: int) -> Iterator[slice]:
        for start in range(0, self.n, rows):
            yield slice(start, min(start + rows, self.n))

    def _weight(self, rows: slice) -> Array | None:
        return None if self.sample_weight is None else self.sample_weight[rows]

    def _mean(self) -> Array:
        """Weighted mean, summed about a row: exact for constant columns, safe for large offsets."""
        mean = np.array(self.X[_first(self.sample_weight)], dtype=np.float64)
        for _ in range(2):
            correction = np.zeros(self.p)
            for rows in self._slices(_block_rows(self.p, 1)):
                difference = self.X[rows] - mean
                weight = self._weight(rows)
                correction += difference.sum(axis=0) if weight is None else weight @ difference
            mean += correction / self.total
        return mean

    def _sum_of_squares(self) -> Array:
        squares = np.zeros(self.p)
        for rows in self._slices(_block_rows(self.p, 1)):
            difference = self.X[rows] - self.center
            difference *= difference
            weight = self._weight(rows)
            squares += difference.sum(axis=0) if weight is None else weight @ difference
        return squares

    def _fill(self, rows: slice, block: Array) -> None:
        target = block[:, : self.p]
        np.subtract(self.X[rows], self.center, out=target)
        if self._scaled:
            target /= self.scale

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
        varying = self.squares > 0
        spread = np.sqrt(np.where(varying, self.squares, 1.0) / self.total)
        blocks = (self.rows(rows) for rows in self._slices(_block_rows(self.p, 1)))
        return order_rows(blocks, varying / spread)

    def small(self, k: int) -> ArrayEngine:
        """Return itself, or for many rows a sample of them in the same coordinates."""
        return self if self.n <= _WHOLE else self.sample(sample_size(self.p, k))

    def sample(self, size: int) -> ArrayEngine:
        """Return at most `size` distinct rows in the same coordinates."""
        if size not in self._samples:
            slices = self._slices(_block_rows(self.p, 1))
            blocks = ((self.X[rows], self._weight(rows)) for rows in slices)
            found = sketch_blocks(blocks, self.p, size)
            self._samples[size] = ArrayEngine(
                found.rows, found.mass, center=self.center, scale=self.scale, n_jobs=self.n_jobs
            )
        return self._samples[size]

    # -- passes over the data ------------------------------------------------------------------

    def _blocks(self, chunk: list[slice], work: Workspace) -> Iterator[Block]:
        for rows in chunk:
            if self._prepared is not None:
                block, squares = self._prepared[0][rows], self._prepared[1][rows]
            else:
                count = rows.stop - rows.start
                block, squares = work.block[:count], work.squares[:count]
                self._fill(rows, block)
                np.multiply(block[:, : self.p], block[:, : self.p], out=squares)
            yield Block(rows, block, squares, self._weight(rows))

    def _map(self, function: Callable[[Iterator[Block], Workspace], T], k: int) -> list[T]:
        """Apply ``function(blocks, work)`` to every chunk of blocks, in threads if asked."""
        rows = _block_rows(self.p, k)
        slices = list(self._slices(rows))
        size = -(-len(slices) // _CHUNKS)
        chunks = [slices[i : i + size] for i in range(0, len(slices), size)]
        spaces = self._spaces.setdefault(k, SimpleQueue())

        def run(chunk: list[slice]) -> T:
            try:
                work = spaces.get_nowait()
            except Empty:
                work = Workspace(min(rows, self.n), self.p, k)
            try:
                return function(self._blocks(chunk, work), work)
            finally:
                spaces.put(work)

        if self.n_jobs == 1 or len(chunks) == 1:
            return [run(chunk) for chunk in chunks]
        with ThreadPoolExecutor(self.n_jobs) as pool:
            return list(pool.map(run, chunks))

    def statistics(self, theta: Array, weights: Array, s: float) -> Statistics:
        """Sufficient statistics of one MM step, see `Engine.statistics`."""
        return self.accumulate(self.metric(theta, weights), s)

    def accumulate(self, metric: Metric, s: float) -> Statistics:
        """Sufficient statistics of one MM step in a prepared metric."""
        k = len(metric.theta)

        def accumulate(blocks: Iterator[Block], work: Workspace) -> Statistics:
            sums = Statistics.zeros(k, self.p)
            for block in blocks:
                block_statistics(block.values, block.squares, block.weight, metric, s, work, sums)
            return sums

        total = Statistics.zeros(k, self.p)
        for part in self._map(accumulate, k):
            total += part
        return total

    def assign(self, theta: Array, weights: Array) -> tuple[np.ndarray, Array]:
        """Nearest centroid of every row and the squared weighted distance to it."""
        labels = np.empty(self.n, dtype=np.intp)
        nearest = np.empty(self.n)
        metric = self.metric(theta, weights)

        def label(blocks: Iterator[Block], work: Workspace) -> None:
            for block in blocks:
                distance, least = block_distances(block.values, block.squares, metric, work)
                labels[block.rows] = distance.argmin(axis=0)
                nearest[block.rows] = least

        self._map(label, len(theta))
        return labels, nearest

    def label(self, theta: Array, weights: Array) -> Partition:
        """Assign every row to its nearest centroid."""
        k = len(theta)
        labels = np.empty(self.n, dtype=np.intp)
        metric = self.metric(theta, weights)

        def sums(blocks: Iterator[Block], work: Workspace) -> Array:
            found = np.zeros((3, k))
            for block in blocks:
                distance, least = block_distances(block.values, block.squares, metric, work)
                nearest = labels[block.rows] = distance.argmin(axis=0)
                mass = np.ones(len(least)) if block.weight is None else block.weight
                found += [np.bincount(nearest, w, k) for w in (None, mass, mass * least)]
            return found

        size, mass, within = sum(self._map(sums, k), start=np.zeros((3, k)))
        return Partition(labels, size.astype(np.intp), mass, within)

    def two_nearest(self, theta: Array, weights: Array) -> tuple[np.ndarray, Array, Array]:
        """Nearest centroid of every row, and the squared distances to it and to the next."""
        labels = np.empty(self.n, dtype=np.intp)
        nearest = np.empty((2, self.n))
        metric = self.metric(theta, weights)

        def label(blocks: Iterator[Block], work: Workspace) -> None:
            for block in blocks:
                distance, least = block_distances(block.values, block.squares, metric, work)
                first = distance.argmin(axis=0)
                distance[first, np.arange(len(first))] = np.inf
                labels[block.rows] = first
                nearest[0, block.rows] = least
                nearest[1, block.rows] = distance.min(axis=0)

        self._map(label, len(theta))
        return labels, nearest[0], nearest[1]

    def distances(self, theta: Array, weights: Array) -> Array:
        """Squared weighted distances of all rows to all centroids, an (n, k) array."""
        result = np.empty((self.n, len(theta)))
        metric = self.metric(theta, weights)

        def fill(blocks: Iterator[Block], work: Workspace) -> None:
            for block in blocks:
                distance, _ = block_distances(block.values, block.squares, metric, work)
                result[block.rows] = distance.T

        self._map(fill, len(theta))
        return np.maximum(result, 0.0, out=result)

    def rows(self, index: np.ndarray | slice) -> Array:
        """Rows in the engine's coordinates."""
        result = np.asarray(self.X[index], dtype=np.float64) - self.center
        result /= self.scale
        return result


def _rebuild(
    X: Array, sample_weight: Array | None, center: Array, scale: Array, n_jobs: int
) -> ArrayEngine:
    return ArrayEngine(X, sample_weight, center=center, scale=scale, n_jobs=n_jobs)
