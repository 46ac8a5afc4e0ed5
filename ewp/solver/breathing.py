"""Breathing k-means: a partition improved by adding centroids and removing others.

Plain k-means on a small array in fixed coordinates, run hundreds of times by the polish, so it does
no more than it needs. Distances are good to the last digits of the rows' own lengths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.spatial.distance import cdist

from ewp.common.types import Array
from ewp.solver.starts import draw

__all__ = ["KMeansState", "SparsePoints", "WeightedPoints", "breathing_kmeans"]

_LLOYD_ITER = 10
_LLOYD_TOL = 1e-2
#: Centroids added and removed at once.
_DEPTH = 5
#: Relative fall of the error below which breathing goes no deeper.
_WORTHWHILE = 1e-3
_SMALLEST = np.finfo(float).tiny
#: Distances of a block of rows should stay in a core's cache.
_BLOCK_BYTES = 2**20
#: Sums of so few entries are counted.
_FEW_ENTRIES = 2**15
#: Squared distances below this part of a row's squared length are rounding errors.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class KMeansState:
    """Centroids, the nearest one of every row with its squared distance, and their weighted sum."""

    theta: Array
    labels: np.ndarray
    nearest: Array
    error: float


class WeightedPoints:
    """Rows in an order that depends on their values only, with their weights.

    Parameters
    ----------
    X : ndarray of shape (m, q)
        Centred rows, already multiplied by the roots of the weights of the features.
    mass : ndarray of shape (m,) or None
        Weights of the rows, all positive.
    marks : ndarray of shape (m, q) or None
        1 for observed values, 0 for missing ones, which are 0 in `X`.
    """

    def __init__(self, X: Array, mass: Array | None, marks: Array | None = None) -> None:
        self.X = X
        self.mass = np.ones(len(X)) if mass is None else mass
        self._marked = marks is not None
        self._weighted: Array | None = None
        self._extended = np.column_stack([X, np.ones(len(X)) if marks is None else marks])
        self._length = np.einsum("il,il->i", X, X)
        squares = self.mass @ X**2
        varying = squares > 0
        total = float(self.mass.sum())
        self._precision = varying * total / np.where(varying, squares, 1.0) / X.shape[1]

    def take(self, index: np.ndarray) -> Array:
        """Return rows."""
        return self.X[index]

    def place(self, theta: Array) -> Array:
        """Return centroids in the coordinates of the points, from those of centred rows."""
        return theta

    def displace(self, theta: Array) -> Array:
        """Undo `place`."""
        return theta

    def _products(self, rows: slice, product: Array, out: Array | None = None) -> Array:
        """Products of some rows and their marks with what `_augmented` returns."""
        return np.matmul(self._extended[rows], product, out=out)

    def _sums(self, labels: np.ndarray, k: int) -> Array:
        """Sums of rows and marks, of every label."""
        m, width = self._extended.shape
        if m * width <= _FEW_ENTRIES:
            # a sparse matrix takes longer to make than to multiply
            if self._weighted is None:
                self._weighted = (self._extended * self.mass[:, None]).ravel()
            place = (labels[:, None] * width + np.arange(width)).ravel()
            counts = np.bincount(place, self._weighted, k * width)
            return np.asarray(counts, dtype=np.float64).reshape(k, width)
        sums: Array = self._member(labels, k) @ self._extended
        return sums

    def _member(self, labels: np.ndarray, k: int) -> csc_array:
        """Memberships of the rows, with their weights."""
        m = len(self.mass)
        return csc_array((self.mass, labels, np.arange(m + 1)), shape=(k, m))

    order = slice(None)

    def distances(self, theta: Array, runs: slice = slice(None)) -> Array:
        """Squared distances to a few centroids, (..., t, m)."""
        found = np.stack([self._products(slice(None), self._augmented(one)).T for one in theta])
        found += self._length
        found[found < _ROUNDING * self._length] = 0.0
        return found

    def assign(self, theta: Array) -> KMeansState:
        """Nearest centroid of every row."""
        labels, nearest, _ = self._rank(theta, second=False)
        return KMeansState(theta, labels, nearest, float(self.mass @ nearest))

    def second(self, theta: Array) -> tuple[np.ndarray, Array]:
        """Nearest centroid of every row, and how much farther away the next one is."""
        labels, nearest, farther = self._rank(theta, second=True)
        return labels, farther - nearest

    def _rank(self, theta: Array, *, second: bool) -> tuple[np.ndarray, Array, Array]:
        product = self._augmented(theta)
        m, k = len(self.mass), len(theta)
        labels = np.empty(m, dtype=np.intp)
        nearest, farther = np.empty(m), np.empty(m if second else 0)
        size = min(max(_BLOCK_BYTES // (8 * k), 64), m)
        buffer, each = np.empty((size, k)), np.arange(size)
        for start in range(0, m, size):
            rows = slice(start, min(start + size, m))
            count = rows.stop - start
            distance = self._products(rows, product, buffer[:count])
            first = distance.argmin(axis=1)
            labels[rows] = first
            nearest[rows] = distance[each[:count], first]
            if second:
                distance[each[:count], first] = np.inf
                farther[rows] = distance.min(axis=1)
        nearest += self._length
        # what is left of a row's own length is rounding error
        nearest[nearest < _ROUNDING * self._length] = 0.0
        if second:
            farther += self._length
        return labels, nearest, farther

    def lloyd(self, theta: Array) -> KMeansState:
        """Lloyd's iteration, until centroids move by less than a hundredth of the spread."""
        found = self.assign(theta)
        for _ in range(_LLOYD_ITER):
            new = self._means(found)
            moved = math.sqrt(float((((new - found.theta) ** 2) @ self._precision).sum()))
            if moved <= _LLOYD_TOL:
                break
            found = self.assign(new)
        return found

    def _means(self, found: KMeansState) -> Array:
        """Means of the clusters; an empty one moves to the row that is fitted worst."""
        k = len(found.theta)
        sums = self._sums(found.labels, k)
        q = self.X.shape[1]
        each = sums[:, q:]
        if each.all():
            return sums[:, :q] / each
        mass = np.bincount(found.labels, self.mass, k)
        # nothing observed of a column: its mean
        stay = np.where(mass[:, None] > 0, 0.0, found.theta)
        new = np.divide(sums[:, :q], each, out=stay, where=each > 0)
        nearest = found.nearest
        for j in np.flatnonzero(mass == 0):
            worst = int(np.argmax(nearest))
            new[j] = self.take(np.array([worst]))[0]
            nearest = np.minimum(nearest, self.distances(new[None, j : j + 1])[0, 0])
        return new

    def _augmented(self, theta: Array) -> Array:
        """What rows with their marks are multiplied by: distances but for the rows' own lengths.

        Where nothing is missing a last 1 is the mark of all columns.
        """
        if self._marked:
            return np.vstack([-2.0 * theta.T, theta.T**2])
        k, q = theta.shape
        found = np.empty((q + 1, k))
        np.multiply(theta.T, -2.0, out=found[:q])
        np.einsum("jl,jl->j", theta, theta, out=found[q])
        return found


class SparsePoints(WeightedPoints):
    """Rows of a sparse matrix as points, which are not centred: zeros would not stay zeros.

    Parameters
    ----------
    X : csr_array of shape (m, q)
        Rows multiplied by the roots of the weights of the features.
    origin : ndarray of shape (q,)
        Where the mean of all rows lies.
    mass : ndarray of shape (m,) or None
    """

    def __init__(self, X: csr_array, origin: Array, mass: Array | None) -> None:
        self.X = X
        self.mass = np.ones(X.shape[0]) if mass is None else mass
        self._origin = origin
        self._marked = False
        square = X.multiply(X).tocsr()
        self._length = square @ np.ones(X.shape[1])
        total = float(self.mass.sum())
        squares = square.T @ self.mass - 2.0 * origin * (X.T @ self.mass) + total * origin**2
        varying = squares > _ROUNDING * total * origin**2
        self._precision = varying * total / np.where(varying, squares, 1.0) / X.shape[1]

    def take(self, index: np.ndarray) -> Array:
        """Return rows, dense."""
        rows: Array = self.X[index.ravel()].toarray()
        return rows.reshape(*index.shape, -1)

    def place(self, theta: Array) -> Array:
        """Return centroids in the coordinates of the points, from those of centred rows."""
        return theta + self._origin

    def displace(self, theta: Array) -> Array:
        """Undo `place`."""
        return theta - self._origin

    def _products(self, rows: slice, product: Array, out: Array | None = None) -> Array:
        return np.add(self.X[rows] @ product[:-1], product[-1], out=out)

    def _sums(self, labels: np.ndarray, k: int) -> Array:
        member = self._member(labels, k)
        sums = (member @ self.X).toarray()
        return np.column_stack([sums, member @ np.ones(self.X.shape[0])])


def _ascending(values: np.ndarray) -> np.ndarray:
    """Order of values; those that differ by rounding errors keep theirs.

    Two rows that are each other's nearest are missed alike: which one goes may not depend on the
    order in which sums were taken.
    """
    return np.argsort(np.round(values / max(np.abs(values).max(), _SMALLEST), 9), kind="stable")


def _add_centroids(
    points: WeightedPoints, found: KMeansState, count: int, rng: np.random.Generator
) -> Array:
    """Give the clusters with the largest errors a second centroid, at one of their worse rows."""
    error = points.mass * found.nearest
    share = np.bincount(found.labels, error, len(found.theta))
    worst = _ascending(-share)[:count]
    rows = [draw(np.where(found.labels == j, error, 0.0), rng.random(1))[0] for j in worst]
    return np.vstack([found.theta, points.take(np.array(rows))])


def _remove_centroids(points: WeightedPoints, theta: Array, count: int) -> Array:
    """Drop the centroids that are missed least, never two neighbours at once."""
    labels, missed = points.second(theta)
    utility = np.bincount(labels, points.mass * missed, len(theta))
    gaps = cdist(theta, theta, "sqeuclidean")
    np.fill_diagonal(gaps, np.inf)
    spared: set[int] = set()
    dropped: list[int] = []
    order = _ascending(utility)
    for j in order:
        if len(dropped) < count and int(j) not in spared:
            dropped.append(int(j))
            spared.add(int(gaps[j].argmin()))
    for j in order:  # with very few clusters everything is somebody's neighbour
        if len(dropped) < count and int(j) not in dropped:
            dropped.append(int(j))
    return np.delete(theta, dropped, axis=0)


def breathing_kmeans(points: WeightedPoints, theta: Array, rng: np.random.Generator) -> KMeansState:
    """Add and remove centroids as long as the error falls, fewer at once when it does not.

    Parameters
    ----------
    points : WeightedPoints
    theta : ndarray of shape (k, q)
        Centroids to start from.
    rng : Generator

    Returns
    -------
    KMeansState
        The best partition found, of the same number of clusters.

    References
    ----------
    Fritzke, B. (2020). The breathing k-means algorithm. arXiv:2006.15666.
    """
    best = points.lloyd(theta)
    depth = min(_DEPTH, 1 + len(theta) // 4)
    while depth:
        wider = points.lloyd(_add_centroids(points, best, depth, rng))
        trial = points.lloyd(_remove_centroids(points, wider.theta, depth))
        if trial.error < best.error * (1 - _WORTHWHILE):
            best = trial
        else:
            depth //= 2
    return best
