"""Rows, centres and their distances for Hartigan and Wong's k-means, and the transfer of one row.

Distances come in two kinds. A matrix product gives those of many rows at once, with a bound on its
rounding error: enough to know which rows certainly stay. Where that cannot tell, sums are formed
feature by feature and compared as published, so that every decision is the one the sequential
algorithm takes, down to ties. `ewp.transfers` walks over the rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ewp.kernel import Array

__all__ = ["Assignment", "Ints", "group_means"]

Ints = NDArray[np.intp]

#: OpenBLAS wakes its threads for larger products. For thousands of small ones that costs more
#: than it gains, above all when other processes use the cores.
SERIAL_GEMM, SERIAL_GEMV = 2**18, 9000
#: Rows that are worth a matrix product of their own, and rows whose distances may be held at once.
FEW_ROWS, MANY_ROWS = 32, 4096


class Assignment:
    """Which cluster each row belongs to, which is its second choice, and the clusters' state.

    In the names of the paper, ``first`` and ``second`` are IC1 and IC2, ``loss`` and ``gain`` AN1
    and AN2, ``changed`` NCP, ``live`` LIVE and ``quick`` ITRAN; rows and steps count from 0. Its
    array D is not kept: it always holds what the current centres give. ``loss`` is 0 for a cluster
    of one row, which never leaves.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    centers : ndarray of shape (k, p)
        Starting centres, two or more. Rows join the nearest.
    """

    def __init__(self, X: Array, centers: Array) -> None:
        (n, p), k = X.shape, len(centers)
        self.X, self.n, self.p, self.k = X, n, p, k
        # Rows (-2x, |x|^2, 1) and (c, 1, |c|^2): one product of the two gives squared distances.
        self.origin = X.mean(axis=0)
        self.rows = np.ones((n, p + 2))
        points = self.rows[:, :p]
        np.subtract(X, self.origin, out=points)
        self.rows[:, p] = np.einsum("ij,ij->i", points, points)
        points *= -2.0
        self.columns = np.ones((k, p + 2))
        self.centers = centers
        self._renew(range(k))
        self._bound_errors()
        self.first, self.second = self._two_nearest()

    def fill_empty(self) -> None:
        """Give each empty cluster the worst-fitted row of a cluster of two rows or more."""
        sizes = np.bincount(self.first, minlength=self.k)
        vacant = np.flatnonzero(sizes == 0).tolist()
        misfit = np.sum((self.X - self.centers[self.first]) ** 2, axis=1)
        for i in np.argsort(-misfit, kind="stable"):
            if not vacant:
                break
            own = self.first[i]
            if sizes[own] > 1:
                sizes[own] -= 1
                self.first[i], self.second[i] = vacant.pop(0), own

    def take_means(self) -> None:
        """Replace the starting centres by the means of the clusters."""
        self.centers, self.sizes = group_means(self.X, self.first, self.k)
        self._renew(range(self.k))
        self._bound_errors()
        self.gain = self.sizes / (self.sizes + 1.0)
        self.loss = np.where(self.sizes > 1, self.sizes / np.maximum(self.sizes - 1.0, 1.0), 0.0)
        self.live = np.full(self.k, self.n)
        self.quick = np.ones(self.k, dtype=bool)
        self.changed = np.full(self.k, -1)

    def move(self, i: int, a: int, b: int) -> None:
        """Move row i from cluster a to cluster b."""
        m, r = float(self.sizes[a]), float(self.sizes[b])
        x, ca, cb = self.X[i], self.centers[a], self.centers[b]
        ca *= m
        ca -= x
        ca /= m - 1.0
        cb *= r
        cb += x
        cb /= r + 1.0
        self.sizes[a] -= 1
        self.sizes[b] += 1
        self.gain[a], self.gain[b] = (m - 1.0) / m, (r + 1.0) / (r + 2.0)
        self.loss[a], self.loss[b] = (m - 1.0) / (m - 2.0) if m > 2.0 else 0.0, (r + 1.0) / r
        self.first[i], self.second[i] = b, a
        self._renew((a, b))

    def exact_optimal(self, i: int) -> tuple[int, bool]:
        """The published rule for one row: its best other cluster, and whether to go there."""
        d = squared_distances(self.X[i], self.centers).tolist()
        own, start = int(self.first[i]), int(self.second[i])
        best, cost = start, d[start] * self.gain[start]
        for j in range(self.k):
            dead = i >= self.live[own] and i >= self.live[j]
            if not (dead or j in (own, start)) and d[j] < cost / self.gain[j]:
                best, cost = j, d[j] * self.gain[j]
        return best, bool(cost < d[own] * self.loss[own])

    def exact_quick(self, i: int) -> bool:
        """The published rule for one row: whether it goes to its second choice."""
        own, other = self.first[i], self.second[i]
        d = squared_distances(self.X[i], self.centers[[own, other]])
        return bool(d[1] < d[0] * self.loss[own] / self.gain[other])

    def distances(self, lo: int, hi: int) -> Array:
        """Squared distances of all centres to rows lo..hi, shape (k, hi - lo)."""
        D = np.empty((self.k, hi - lo))
        piece = max(SERIAL_GEMM // (self.k * (self.p + 2)), FEW_ROWS)
        for start in range(lo, hi, piece):
            stop = min(start + piece, hi)
            np.matmul(self.columns, self.rows[start:stop].T, out=D[:, start - lo : stop - lo])
        return D

    def update(self, D: Array, lo: int, row: int, hi: int, pair: tuple[int, int]) -> None:
        """Renew two centres' distances to rows row..hi in D, which begins with row `lo`."""
        piece = SERIAL_GEMV // (self.p + 2) + 1
        for start in range(row, hi, piece):
            stop = min(start + piece, hi)
            for j in pair:
                D[j, start - lo : stop - lo] = self.rows[start:stop] @ self.columns[j]

    def _renew(self, clusters: range | tuple[int, int]) -> None:
        """Follow a change of these centres in the matrix that gives the distances."""
        for j in clusters:
            column = self.columns[j]
            point = column[: self.p]
            np.subtract(self.centers[j], self.origin, out=point)
            column[self.p + 1] = point @ point

    def _bound_errors(self) -> None:
        """Set the difference beyond which a comparison of distances is certain.

        It covers the rounding errors of the matrix product and of sequential sums. Means of rows
        are no longer than the longest row, so it still holds when the centres move.
        """
        norms, p = self.rows[:, self.p], self.p
        longest = max(norms.max(), self.columns[:, p + 1].max())
        self.slack = 8.0 * (p + 8) * np.finfo(np.float64).eps * (norms + longest)

    def _two_nearest(self) -> tuple[Ints, Ints]:
        """Nearest and second nearest centre of each row; the first of equals wins."""
        two = np.empty((2, self.n), dtype=np.intp)
        for lo in range(0, self.n, MANY_ROWS):
            hi = min(lo + MANY_ROWS, self.n)
            D, slack = self.distances(lo, hi), self.slack[lo:hi]
            two[0, lo:hi], d0 = take_smallest(D)
            two[1, lo:hi], d1 = take_smallest(D)
            unclear = (d1 <= d0 + slack) | (D.min(axis=0) <= d1 + slack)
            for i in lo + unclear.nonzero()[0]:
                d = squared_distances(self.X[i], self.centers)
                two[:, i] = np.argsort(d, kind="stable")[:2]
        return two[0], two[1]


def squared_distances(x: Array, centers: Array) -> Array:
    """Squared distances of one row to centres, added feature by feature as a loop would.

    NumPy's own sums add in another order; where two clusters are equally good, the last digit
    decides which one a row joins.
    """
    return np.add.accumulate((x - centers) ** 2, axis=1)[:, -1]


def group_means(X: Array, labels: Ints, k: int) -> tuple[Array, Ints]:
    """Means and sizes of the groups of rows, added row by row as a loop would.

    Examples
    --------
    >>> means, sizes = group_means(np.array([[1.0], [2.0], [6.0]]), np.array([0, 1, 1]), 2)
    >>> means.ravel().tolist(), sizes.tolist()
    ([1.0, 4.0], [1, 2])
    """
    n = len(X)
    sizes = np.bincount(labels, minlength=k)
    member = sparse.csc_array((np.ones(n), labels, np.arange(n + 1)), shape=(k, n)).tocsr()
    return (member @ X) / sizes[:, None], sizes


def take_smallest(D: Array) -> tuple[Ints, Array]:
    """Position and value of each column's smallest entry, which is replaced by infinity."""
    each = np.arange(D.shape[1])
    at = D.argmin(axis=0)
    value = D[at, each]
    D[at, each] = np.inf
    return at, value
