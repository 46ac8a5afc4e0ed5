"""A block of rows of a sparse matrix, with the products that the kernel takes of it.

The entries are in the units of the data: a sparse block is neither centred nor scaled, since zeros
would not stay zeros. The engine puts the centre and the scale into the centroids and weights that
blocks meet, and into the sums that come of it.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ewp.common.types import Array
from ewp.data.sparse import without_copy
from ewp.engine.divergence import BregmanDivergence

__all__ = ["SparseBlock"]

#: Rounding errors of a centroid's squared length, as a share of it.
_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)
Pairs = tuple[np.ndarray, np.ndarray]


class SparseBlock:
    """Some rows of a sparse matrix.

    Parameters
    ----------
    rows : csr_array of shape (b, p)
    """

    def __init__(self, rows: sparse.csr_array) -> None:
        self.rows = rows
        self.shape: tuple[int, int] = rows.shape
        self._transposed = without_copy(
            sparse.csc_array, rows.data, rows.indices, rows.indptr, rows.shape[::-1]
        )

    def __len__(self) -> int:
        return self.shape[0]

    def potentials(self, divergence: BregmanDivergence) -> SparseBlock:
        """Potentials of the entries; that of zero is zero."""
        rows = self.rows
        data = divergence.potential(rows.data)
        return SparseBlock(
            without_copy(sparse.csr_array, data, rows.indices, rows.indptr, self.shape)
        )

    def times(self, matrix: Array) -> Array:
        """Products of all rows with those of a matrix (m, p), a (b, m) array."""
        found: Array = self.rows @ np.ascontiguousarray(matrix.T)
        return found

    def weighted_sums(self, weights: Array) -> Array:
        """Sums of the rows by weights (m, b), an (m, p) array."""
        sums: Array = (self._transposed @ np.ascontiguousarray(weights.T)).T
        return sums

    def hard_sums(self, labels: np.ndarray, k: int, mass: Array) -> Array:
        """Sums of the rows of every label, weighted: labels (runs, b), sums (runs, k, p)."""
        p = self.shape[1]
        each = np.diff(self.rows.indptr)
        found = np.empty((len(labels), k, p))
        weights = np.broadcast_to(mass, labels.shape)
        for own, weight, sums in zip(labels, weights, found, strict=True):
            place = np.repeat(own.astype(np.intp) * p, each)
            place += self.rows.indices
            values = self.rows.data * np.repeat(weight, each)
            sums[...] = np.bincount(place, values, k * p).reshape(k, p)
        return found

    @property
    def longest(self) -> int:
        """Largest number of entries of a row, at least 1."""
        return max(int(np.diff(self.rows.indptr).max(initial=1)), 1)

    def squared_distances(
        self, rows: np.ndarray, theta: Array, weights: Array, length: Array, which: Pairs
    ) -> Array:
        """Squared distances of some rows to a centroid each, from differences of the entries.

        Parameters
        ----------
        rows : ndarray of shape (m,)
        theta : ndarray of shape (runs, k, p)
        weights : ndarray of shape (runs, p)
        length : ndarray of shape (runs, k)
            Squared weighted lengths of the centroids.
        which : tuple of ndarray of shape (m,)
            Run and centroid of every row.
        """
        run, centroid = which
        first = self.rows.indptr[rows].astype(np.intp)
        each = self.rows.indptr[rows + 1] - first
        pair = np.repeat(np.arange(len(rows)), each)
        entry = np.arange(len(pair)) + np.repeat(first - (np.cumsum(each) - each), each)
        column, value = self.rows.indices[entry], self.rows.data[entry]
        point, weight = theta[run[pair], centroid[pair], column], weights[run[pair], column]
        near = np.bincount(pair, weight * (value - point) ** 2, len(rows))
        whole = length[run, centroid]
        # where a row has no entry it is at zero
        rest = whole - np.bincount(pair, weight * point**2, len(rows))
        rest[rest < _ROUNDING * whole] = 0.0
        found: Array = near + rest
        return found
