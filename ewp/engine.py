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
from typing import NamedTuple, TypeVar

import numpy as np
from joblib import effective_n_jobs

from ewp.blas import one_blas_thread
from ewp.kernel import Array, Metric, Statistics, Workspace, block_distances, block_statistics

__all__ = ["ArrayEngine", "assign", "distances"]

#: A block and its buffers should stay in a core's cache.
_BLOCK_BYTES = 2**20
#: Data whose prepared copy (rows and their squares) is at most this large are prepared once.
_PREPARED_BYTES = 24 * 2**20
#: Blocks are summed within chunks, chunks in order; more chunks than any sensible thread count.
_CHUNKS = 16


T = TypeVar("T")


class Block(NamedTuple):
    """Some rows: where they are, centred with a column of ones, squared, their weights."""

    rows: slice
    values: Array
    squares: Array
    weight: Array | None


def _block_rows(p: int, k: int) -> int:
    return min(max(_BLOCK_BYTES // (16 * (p + k + 1)), 64), 4096)


class ArrayEngine:
    """Rows of an in-memory array, centred and scaled block by block.

    Parameters
    ----------
    X : ndarray of shape (n, p)
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

    Attributes
    ----------
    n, p : int
    total : float
        Sum of the sample weights.
    center, scale : ndarray of shape (p,)
    squares : ndarray of shape (p,)
        Weighted sum of squares of every (centred and scaled) column.
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

    # -- preparation ---------------------------------------------------------------------------

    @property
    def _first(self) -> int:
        """The first row that counts."""
        return 0 if self.sample_weight is None else int(np.argmax(self.sample_weight > 0))

    def _slices(self, rows: int) -> Iterator[slice]:
        for start in range(0, self.n, rows):
            yield slice(start, min(start + rows, self.n))

    def _weight(self, rows: slice) -> Array | None:
        return None if self.sample_weight is None else self.sample_weight[rows]

    def _mean(self) -> Array:
        """Weighted mean, summed about a row: exact for constant columns, safe for large offsets."""
        mean = np.array(self.X[self._first], dtype=np.float64)
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

    @property
    def order(self) -> np.ndarray:
        """Order of the rows by value, see `canonical`."""
        return self.canonical[0]

    @cached_property
    def canonical(self) -> tuple[np.ndarray, np.ndarray]:
        """Order of the rows by value, and which of them differ from the row before.

        Rows are sorted by their length, by the sum of their cubes and along a fixed direction, in
        units of the columns' standard deviations. The first two do not change when rows or
        columns are permuted. Keys are rounded relative to the row's own length, so that their
        last digits, which depend on the order of summation, do not matter.
        """
        varying = self.squares > 0
        inverse = varying / np.sqrt(np.where(varying, self.squares, 1.0) / self.total)
        direction = np.cos(np.arange(1, self.p + 1)) / np.sqrt(self.p)
        keys = np.empty((3, self.n))
        for rows in self._slices(_block_rows(self.p, 1)):
            block = self.rows(rows)
            block *= inverse
            length = np.sqrt(np.einsum("il,il->i", block, block))
            block /= np.where(length > 0, length, 1.0)[:, None]
            keys[0, rows] = block @ direction
            keys[1, rows] = np.einsum("il,il,il->i", block, block, block)
            keys[2, rows] = length
        np.round(keys[:2], 10, out=keys[:2])
        mantissa, exponent = np.frexp(keys[2])
        keys[2] = np.ldexp(np.round(mantissa, 10), exponent)
        order = np.lexsort(keys)
        distinct = np.ones(self.n, dtype=bool)
        np.any(keys[:, order[1:]] != keys[:, order[:-1]], axis=0, out=distinct[1:])
        return order, distinct

    # -- passes over the data ------------------------------------------------------------------

    def metric(self, theta: Array, weights: Array) -> Metric:
        """Prepare centroids (in the engine's coordinates) and weights for a pass."""
        return Metric.prepare(theta, weights, float(self.squares @ weights) / self.total)

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
        """Sufficient statistics of one MM step at centroids, weights and exponent.

        Parameters
        ----------
        theta : ndarray of shape (k, p)
            Centroids in the engine's coordinates (centred and scaled).
        weights : ndarray of shape (p,)
            Diagonal of the metric.
        s : float
            Exponent of the power mean, ``-inf`` for the minimum.
        """
        k = len(theta)
        metric = self.metric(theta, weights)

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

    def inside(self, centroids: Array) -> Array:
        """Translate centroids from data units to the engine's coordinates."""
        return (centroids - self.center) / self.scale

    def outside(self, theta: Array) -> Array:
        """Translate centroids from the engine's coordinates to data units."""
        return theta * self.scale + self.center


def assign(
    X: Array, theta: Array, weights: Array, center: Array, scale: Array
) -> tuple[np.ndarray, Array]:
    """Nearest centroid of every row of new data.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    theta : ndarray of shape (k, p)
        Centroids in data units.
    weights, center, scale : ndarray of shape (p,)
        The metric is ``sum_l weights_l ((x_l - theta_l) / scale_l)**2``; `center` only keeps
        the arithmetic accurate.

    Returns
    -------
    labels : ndarray of shape (n,)
    distance : ndarray of shape (n,)
        Squared weighted distance to the nearest centroid.
    """
    with one_blas_thread():
        engine = ArrayEngine(X, center=center, scale=scale)
        return engine.assign(engine.inside(theta), weights)


def distances(X: Array, theta: Array, weights: Array, center: Array, scale: Array) -> Array:
    """Squared weighted distances of new data to all centroids, an (n, k) array.

    Parameters are those of `assign`.
    """
    with one_blas_thread():
        engine = ArrayEngine(X, center=center, scale=scale)
        return engine.distances(engine.inside(theta), weights)
