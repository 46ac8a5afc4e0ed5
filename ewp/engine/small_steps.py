"""Steps of many runs on few rows, in as few operations as they take.

On some hundred rows a step costs the calls it consists of, and the times that arrays of runs times
centroids times rows are walked through. Where rows are kept in memory, centred and without missing
values, much of this is done once for all steps: their squares, a column of ones that makes one
product of two, and the sums of squares that at the limit depend on the weights of the rows alone.
The statistics are those of `ewp.engine.kernel`, but for the last digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from ewp.common.types import Array
from ewp.engine.base import RowEngine, RowMass
from ewp.engine.divergence import SQUARED_EUCLIDEAN
from ewp.engine.precision import DOUBLE, PRECISION
from ewp.engine.statistics import Statistics

__all__ = ["SmallSteps"]

#: Memberships of the runs of one pass.
_RUN_BYTES = 2**22
_PRECISION = PRECISION[DOUBLE]
#: Logarithm of the least power that is worth its time.
_LOWEST = _PRECISION.lowest_exponent * math.log(2.0)


class _Products(NamedTuple):
    """What centroids and rows give.

    Attributes
    ----------
    product : ndarray of shape (runs, k, n)
        Squared distances less the lengths of the rows.
    length, nearest : ndarray of shape (runs, n)
        Squared lengths of the rows, and the least of their entries.
    phi : ndarray of shape (runs, k, n)
        Room for memberships.
    centroids : ndarray of shape (runs, k)
        Squared lengths of the centroids.
    """

    product: Array
    length: Array
    nearest: Array
    phi: Array
    centroids: Array


class SmallSteps:
    """Statistics of the steps of runs on rows in memory.

    Parameters
    ----------
    engine : RowEngine
        One that `serves` says yes to.
    """

    def __init__(self, engine: RowEngine) -> None:
        # not the engine, which keeps these steps: it shall end when nobody else needs it
        assert engine.prepared is not None
        self._n = engine.n
        self._rows = engine.prepared
        self._variances = engine.squares / engine.total
        self._with_ones = np.column_stack([self._rows, np.ones(engine.n)])
        self._squares = self._rows * self._rows
        own = engine.sample_weight
        self._own = np.ones((1, engine.n)) if own is None else own[None]
        self._scatter: tuple[Array, Array] | None = None
        self._free: SimpleQueue[Array] = SimpleQueue()

    @staticmethod
    def serves(engine: RowEngine) -> bool:
        """Whether the rows of an engine are kept, in double precision, none of them missing."""
        kept = engine.prepared is not None and engine.dtype == DOUBLE
        return kept and not engine.missingness and engine.divergence is SQUARED_EUCLIDEAN

    def statistics(
        self, theta: Array, weights: Array, s: Array, mass: RowMass | None = None
    ) -> Statistics:
        """Sufficient statistics of one MM step, see `ewp.engine.base.Engine.statistics`."""
        runs, k, p = theta.shape
        if mass is None:
            mass = RowMass(self._own, np.zeros(runs, dtype=np.intp))
        sums = np.empty((runs, k, p + 1))
        scatter, (power, nearest, softness) = np.empty((runs, p)), np.zeros((3, runs))
        seen = np.empty((runs, k, 0))
        found = Statistics(sums[..., :p], sums[..., p], scatter, power, nearest, softness, seen)
        size = min(max(_RUN_BYTES // (24 * k * self._n), 1), runs)
        buffer = self._buffer((2 * k + 2) * size * self._n)
        for step, which in self._parts(s, size):
            step(theta[which], weights[which], s[which], mass.take(which), buffer, found, which)
        self._free.put(buffer)
        return found

    def _parts(self, s: Array, size: int) -> list[tuple[Callable[..., None], Any]]:
        """Which runs take a step at the limit, and which at a finite exponent; some at a time."""
        runs, hard = len(s), np.isinf(s)
        count = int(np.count_nonzero(hard))
        soft = runs - count
        if count and soft and hard[:soft].any():
            which: list[tuple[Callable[..., None], np.ndarray]] = [
                (self._soft_step, np.flatnonzero(~hard)),
                (self._hard_step, np.flatnonzero(hard)),
            ]
            return [
                (step, some[start : start + size])
                for step, some in which
                for start in range(0, len(some), size)
            ]
        ends = ((self._soft_step, 0, soft), (self._hard_step, soft, runs))
        return [
            (step, slice(start, min(start + size, stop)))
            for step, first, stop in ends
            for start in range(first, stop, size)
        ]

    def _buffer(self, size: int) -> Array:
        """Return a buffer of so many numbers that nothing else uses."""
        try:
            found = self._free.get_nowait()
        except Empty:
            return np.empty(size)
        return found if len(found) >= size else np.empty(size)

    def _products(self, theta: Array, weights: Array, buffer: Array) -> _Products:
        """Multiply centroids and rows, in buffers."""
        (runs, k, p), n = theta.shape, self._n
        pairs, rows = runs * k * n, runs * n
        product = np.empty((runs, k, p + 1))
        folded = theta * weights[:, None, :]
        np.multiply(folded, -2.0, out=product[..., :p])
        np.einsum("bjl,bjl->bj", theta, folded, out=product[..., p])
        distance = buffer[:pairs].reshape(runs, k, n)
        np.matmul(product.reshape(-1, p + 1), self._with_ones.T, out=distance.reshape(-1, n))
        length = buffer[2 * pairs : 2 * pairs + rows].reshape(runs, n)
        np.matmul(weights, self._squares.T, out=length)
        nearest = buffer[2 * pairs + rows : 2 * pairs + 2 * rows].reshape(runs, n)
        np.minimum.reduce(distance, axis=1, out=nearest)
        phi = buffer[pairs : 2 * pairs].reshape(runs, k, n)
        return _Products(distance, length, nearest, phi, product[..., p])

    def _small(
        self, theta: Array, weights: Array, made: _Products
    ) -> tuple[np.ndarray, np.ndarray, Array] | None:
        """Distances of rows that lie next to a centroid, from differences: digits have cancelled.

        Returns
        -------
        (runs, rows, distances (m, k)) or None
            None if there are no such rows.
        """
        distance, length, nearest = made.product, made.length, made.nearest
        floor = weights @ self._variances
        floor += np.maximum.reduce(made.centroids, axis=1)
        floor *= _PRECISION.floor
        np.maximum(floor, _PRECISION.tiny, out=floor)
        most = np.maximum.reduce(length, axis=1)
        most *= _PRECISION.small
        if not (np.minimum.reduce(nearest, axis=1) < np.maximum(most, floor)).any():
            return None
        small = np.maximum(length * _PRECISION.small, floor[:, None])
        run, row = np.nonzero(nearest < small)
        found = distance[run, :, row] + length[run, row, None]
        at, j = np.nonzero(found < small[run, row, None])
        gaps = self._rows[row[at]] - theta[run[at], j]
        gaps *= gaps
        exact = np.einsum("ml,ml->m", gaps, weights[run[at]])
        found[at, j] = np.maximum(exact, floor[run[at]])
        nearest[run, row] = found.min(axis=1)
        return run, row, found

    def _sums(self, phi: Array, found: Statistics, part: slice | np.ndarray) -> None:
        """Put in the sums of the rows and of their memberships."""
        runs, k, n = phi.shape
        sums = np.matmul(phi.reshape(-1, n), self._with_ones).reshape(runs, k, -1)
        found.sums[part], found.mass[part] = sums[..., :-1], sums[..., -1]

    def _hard_step(
        self,
        theta: Array,
        weights: Array,
        s: Array,
        mass: RowMass,
        buffer: Array,
        found: Statistics,
        part: slice | np.ndarray,
    ) -> None:
        """Statistics of some runs at the limit: every row is with its nearest centroid."""
        made = self._products(theta, weights, buffer)
        distance, length, nearest, phi, _ = made
        np.equal(distance, nearest[:, None, :], out=phi)
        if np.add.reduce(phi, axis=None) > nearest.size:
            run, row = np.nonzero(np.add.reduce(phi, axis=1) > 1.0)
            phi[run, :, row] = _first(phi[run, :, row] > 0.0)
        nearest += length
        small = self._small(theta, weights, made)
        if small is not None:
            run, row, exact = small
            phi[run, :, row] = _first(exact == exact.min(axis=1, keepdims=True))
        of_rows = mass.table[mass.index]
        phi *= of_rows[:, None, :]
        self._sums(phi, found, part)
        if self._scatter is None or self._scatter[0] is not mass.table:
            self._scatter = mass.table, mass.table @ self._squares
        found.scatter[part] = self._scatter[1][mass.index]
        found.nearest[part] = found.power[part] = np.einsum("bi,bi->b", nearest, of_rows)

    def _soft_step(
        self,
        theta: Array,
        weights: Array,
        s: Array,
        mass: RowMass,
        buffer: Array,
        found: Statistics,
        part: slice | np.ndarray,
    ) -> None:
        """Statistics of some runs at finite exponents, see `kernel.block_statistics`."""
        made = self._products(theta, weights, buffer)
        distance, length, nearest, phi, _ = made
        nearest += length
        small = self._small(theta, weights, made)
        distance += length[:, None, :]
        if small is not None:
            run, row, exact = small
            distance[run, :, row] = exact
        of_rows, exponent = mass.table[mass.index], s[:, None]
        np.divide(nearest[:, None, :], distance, out=phi)
        np.log(phi, out=phi)
        phi *= (1.0 - exponent)[:, None, :]
        np.maximum(phi, _LOWEST, out=phi)
        np.exp(phi, out=phi)
        row_mass = np.add.reduce(phi, axis=1, out=length)
        softness = np.divide(1.0, row_mass)
        np.subtract(1.0, softness, out=softness)
        found.softness[part] = np.einsum("bi,bi->b", softness, of_rows)
        found.nearest[part] = np.einsum("bi,bi->b", nearest, of_rows)
        q = np.einsum("bji,bji->bi", distance, phi)
        mean = np.divide(q, nearest)
        mean /= phi.shape[1]
        np.log(mean, out=mean)
        mean /= exponent
        np.exp(mean, out=mean)
        mean *= nearest
        mean *= of_rows
        found.power[part] = mean.sum(axis=1)
        mean /= q
        row_mass *= mean
        phi *= mean[:, None, :]
        found.scatter[part] = row_mass @ self._squares
        self._sums(phi, found, part)


def _first(which: np.ndarray) -> np.ndarray:
    """Mark the first of what is marked in every row.

    >>> _first(np.array([[False, True, True], [True, False, True]])).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0]]
    """
    found: np.ndarray = np.arange(which.shape[1]) == which.argmax(axis=1)[:, None]
    return found
