"""Rows of a sparse matrix: passes that cost what is stored, with centre and scale in the algebra.

Centred rows have no zeros, so the rows stay as they are, and what they meet is moved instead:
centroids and weights go into the units of the data before a pass, and what a pass has summed goes
into the engine's coordinates after it. Above the engine nothing tells sparse rows from dense ones.
Sums of squares about the origin lose digits where a column lies far from it. A column that has a
zero in some row cannot lie so far, measured in its own deviations; columns without zeros can, and
their entries are centred in a copy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ewp.common.types import Array
from ewp.data.canonical import Hashes
from ewp.data.sparse import SparseRows
from ewp.data.sparse_order import hash_rows, hash_sample, order_sparse
from ewp.engine.array import ArrayEngine, Block, accumulate
from ewp.engine.base import Deviations, RowMass
from ewp.engine.sparse_block import SparseBlock
from ewp.engine.statistics import Metric, Statistics, StepFunction, Workspace

__all__ = ["SparseEngine"]

#: Columns without zeros whose squared mean is so many times their variance are centred in a copy.
_FAR = 100.0
#: Memberships of a block, and of one whose entries would be few beside the sums they go into.
_PAIR_BYTES, _MOST_PAIR_BYTES = 2**22, 2**24
_FEWEST_ROWS, _MOST_ROWS = 256, 2**16
#: Memberships of the runs of one pass.
_RUN_BYTES = 2**22
#: Squared distances below this part of the squared lengths they come from are rounding errors.
_CANCELLED = 1e-14


class SparseEngine(ArrayEngine):
    """Rows of a sparse matrix.

    Parameters
    ----------
    X : SparseRows
    sample_weight : ndarray of shape (n,) or None
    center, scale, n_jobs
        As in `ArrayEngine`.
    """

    X: SparseRows

    def __init__(
        self,
        X: SparseRows,
        sample_weight: Array | None = None,
        *,
        center: Array | None = None,
        scale: Array | str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(X, sample_weight, center=center, scale=scale, n_jobs=n_jobs, keep=False)
        self._views: dict[tuple[int, int], SparseBlock] = {}
        self._rows, self._origin = X, self.center
        spread = self.squares * self.scale**2 / self.total
        far = X.full() & (self.center**2 > _FAR * spread)
        if far.any():
            shift = np.where(far, self.center, 0.0)
            self._rows, self._origin = X.shifted(shift), self.center - shift

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (self.X, self.sample_weight, self.center, self.scale, self.n_jobs)
        return _rebuild, arguments

    # -- blocks --------------------------------------------------------------------------------

    def _block_rows(self, k: int) -> int:
        few = _PAIR_BYTES // (24 * k)
        # a block's sums have k * p entries
        even = self.p * self.n // max(self._rows.csr.nnz, 1)
        rows = max(few, min(even, _MOST_PAIR_BYTES // (24 * k)))
        return min(max(rows, _FEWEST_ROWS), _MOST_ROWS)

    def _workspace(self, k: int, runs: int, dtype: Any) -> Workspace:
        return Workspace(min(self._block_rows(k), self.n), 0, k, runs, dtype)

    def _runs_at_once(self, k: int) -> int:
        rows = min(self._block_rows(k), self.n)
        return max(_RUN_BYTES // (24 * k * rows), 1)

    def _blocks(self, chunk: list[slice], work: Workspace, mass: RowMass | None) -> Iterator[Block]:
        for rows in chunk:
            values = self._views.get((rows.start, rows.stop))
            if values is None:
                values = SparseBlock(self._rows.view(rows.start, rows.stop))
                self._views[rows.start, rows.stop] = values
            yield Block(rows, values, self._weight(rows) if mass is None else mass.of_rows(rows))

    # -- passes --------------------------------------------------------------------------------

    def metric(self, theta: Array, weights: Array) -> Metric:
        """Prepare centroids and weights of some runs for a pass: in the units of the entries."""
        metric = Metric.prepare(
            theta * self.scale + self._origin,
            weights / self.scale**2,
            self.squares * self.scale**2,
            self.total,
            self.divergence,
        )
        # the layout that a sparse product reads
        return dataclasses.replace(metric, product=np.asfortranarray(metric.product))

    def accumulate(self, metric: Metric, s: Array, mass: RowMass | None = None) -> Statistics:
        """Sufficient statistics of one MM step in a prepared metric: of centred, scaled rows."""
        if self.n_jobs == 1:
            # a part's sums are as large as the centroids: no more than two are held
            (found,) = self._part(accumulate, range(1), metric, mass, s)
            for i in range(1, len(self._chunks(metric.k))):
                found += self._part(accumulate, range(i, i + 1), metric, mass, s)[0]
        else:
            found = super().accumulate(metric, s, mass)
        origin, scale = self._origin, self.scale
        first = found.sums.sum(axis=1)
        found.scatter -= 2.0 * origin * first
        found.scatter += origin**2 * found.mass.sum(axis=1)[:, None]
        np.maximum(found.scatter, 0.0, out=found.scatter)
        found.scatter /= scale**2
        found.sums -= found.mass[..., None] * origin
        found.sums /= scale
        return found

    def deviations(self, theta: Array, weights: Array) -> Deviations:
        """Sums of differences to the nearest centroids, see `Engine.deviations`."""
        labels, nearest = self.assign(theta, weights)
        mass = np.ones(self.n) if self.sample_weight is None else self.sample_weight
        (k, p), points = theta.shape, theta * self.scale + self.center
        sums, stored, count = np.zeros((3, k * p))
        squares = np.zeros(p)
        for rows, block in self.X.blocks():
            each = np.diff(block.indptr)
            cluster, weight = np.repeat(labels[rows], each), np.repeat(mass[rows], each)
            gap = block.data - points[cluster, block.indices]
            place = cluster * p + block.indices
            sums += np.bincount(place, weight * gap, k * p)
            stored += np.bincount(place, weight, k * p)
            count += np.bincount(place, None, k * p)
            squares += np.bincount(block.indices, weight * gap**2, p)
        total = np.bincount(labels, mass, k).astype(np.float64)[:, None]
        size = np.bincount(labels, None, k)[:, None]
        # rows without an entry are at zero
        absent = np.maximum(total - stored.reshape(k, p), 0.0)
        absent[count.reshape(k, p) == size] = 0.0
        squares += np.einsum("jl,jl,jl->l", absent, points, points)
        differences = (sums.reshape(k, p) - absent * points) / self.scale
        return Deviations(total, differences, squares / self.scale**2, float(mass @ nearest))

    def step_function(self) -> StepFunction:
        """Return `statistics`: a pass over what is stored has little to save."""
        return self.statistics

    # -- rows by value -------------------------------------------------------------------------

    @cached_property
    def canonical(self) -> tuple[np.ndarray, np.ndarray]:
        """Order of the rows by value, and which of them differ from the row before."""
        return order_sparse(self.X, self.center, self.squares * self.scale**2, self.total)

    @cached_property
    def _hashes(self) -> Hashes:
        return hash_rows(self.X)

    def equal_rows(self, row: int) -> np.ndarray:
        """Which rows have the values of one of them, by their hashes."""
        same: np.ndarray = self._hashes == self._hashes[row]
        return same

    def _like(self, X: SparseRows, sample_weight: Array | None) -> SparseEngine:
        return SparseEngine(
            X, sample_weight, center=self.center, scale=self.scale, n_jobs=self.n_jobs
        )

    def sample(self, size: int) -> ArrayEngine:
        """Return at most `size` distinct rows in the same coordinates."""
        if size not in self._samples:
            self._samples[size] = self._like(
                *hash_sample(self.X, self._hashes, self.sample_weight, size)
            )
        return self._samples[size]

    def part(self, index: np.ndarray, sample_weight: Array) -> ArrayEngine:
        """Return some of the rows, with weights of their own, in the same coordinates."""
        return self._like(self.X.take(index), sample_weight)

    def with_weights(self, sample_weight: Array) -> ArrayEngine:
        """Return the same rows with other weights, in the same coordinates."""
        return self._like(self.X, sample_weight)

    def with_columns(self, columns: np.ndarray) -> ArrayEngine:
        """Return the same rows in the same coordinates with some of the columns."""
        return SparseEngine(
            self.X.take(slice(None), columns),
            self.sample_weight,
            center=self.center[columns],
            scale=self.scale[columns],
        )

    def take(self, index: np.ndarray, columns: np.ndarray) -> Array:
        """Some columns of some rows in the engine's coordinates, dense."""
        found = self.X.take(index, columns)[:]
        found -= self.center[columns]
        found /= self.scale[columns]
        return found

    def weighted_entries(
        self, index: np.ndarray, columns: np.ndarray, weights: Array
    ) -> tuple[csr_array, Array]:
        """Some columns of some rows, scaled by a metric and not centred, and where the mean is."""
        factor = np.sqrt(weights) / self.scale[columns]
        part = self._rows.take(index, columns).csr
        data = part.data * factor[part.indices]
        made = csr_array((data, part.indices, part.indptr), shape=part.shape)
        return made, self._origin[columns] * factor

    # -- products with all rows ----------------------------------------------------------------

    def dot(self, vectors: Array) -> Array:
        """Products of all rows, centred and scaled, with the columns of an array (p, m)."""
        moved = vectors / self.scale[:, None]
        found: Array = self._rows.csr @ moved
        found -= self._origin @ moved
        return found

    def transposed_dot(self, vectors: Array) -> Array:
        """Sums of all rows, centred and scaled, by the columns of an array (n, m)."""
        found: Array = self._rows.csr.T @ vectors
        found -= np.outer(self._origin, vectors.sum(axis=0))
        found /= self.scale[:, None]
        return found

    def lengths(self, weights: Array) -> Array:
        """Squared weighted lengths of all rows."""
        found: Array = self.lengths_of_runs(weights[None])[0]
        return found

    def distances(self, theta: Array, weights: Array, lengths: Array | None = None) -> Array:
        """Squared weighted distances of all rows to all centroids, see `ArrayEngine.distances`."""
        return super().distances(theta, weights)

    def lengths_of_runs(self, weights: Array) -> Array:
        """Squared lengths of all rows in the metrics of some runs, a (runs, n) array."""
        metric, origin = weights / self.scale**2, self._origin
        zero = metric @ origin**2
        found = np.empty((len(weights), self.n))
        for rows, csr in self._rows.blocks():
            block = SparseBlock(csr)
            square = block.potentials(self.divergence).times(metric).T
            part = square - 2.0 * block.times(metric * origin).T + zero[:, None]
            part[part < _CANCELLED * (square + zero[:, None])] = 0.0
            found[:, rows] = part
        return found

    def distances_of_runs(self, theta: Array, weights: Array, lengths: Array) -> Array:
        """Squared distances to a few centroids of some runs, see `RowEngine`."""
        runs, t, p = theta.shape
        product = theta * weights[:, None, :]
        added = np.einsum("bjl,bjl->bj", theta, product)
        product *= -2.0 / self.scale
        added -= product @ self._origin
        found = np.empty((runs, t, self.n))
        for rows, csr in self._rows.blocks():
            part = SparseBlock(csr).times(product.reshape(-1, p))
            found[:, :, rows] = part.T.reshape(runs, t, -1)
        found += lengths[:, None, :]
        found += added[:, :, None]
        # what is left of a row's own length is rounding error
        zero = (weights / self.scale**2) @ self._origin**2
        found[found < _CANCELLED * (lengths + zero[:, None])[:, None, :]] = 0.0
        return found


def _rebuild(
    X: SparseRows, sample_weight: Array | None, center: Array, scale: Array, n_jobs: int
) -> SparseEngine:
    return SparseEngine(X, sample_weight, center=center, scale=scale, n_jobs=n_jobs)
