"""K-means of few rows on their inner products, for several partitions at once.

Where features are many, rows are few: their inner products in some metric hold all that k-means
asks, and cost as much as a single step on the rows themselves. After some steps of Lloyd's single
rows move, as in Hartigan and Wong's algorithm: among many features every row pulls the mean of its
own cluster so close that no step of Lloyd's would move it.
"""

from __future__ import annotations

import numpy as np

from ewp.common.types import Array
from ewp.solver.starts import kmeans_plus_plus

__all__ = ["memberships", "move_rows", "seeded"]

#: Steps of Lloyd's before single rows move, and how often rows do, per row.
_STEPS, _MOVES = 5, 2
#: Part of the sum of squares by which a move must help.
_HELPS = 1e-10
_TINY = np.finfo(float).tiny


class _NumberedRows:
    """Rows known by their numbers and inner products, among which k-means++ chooses."""

    order = slice(None)

    def __init__(self, inner: Array, mass: Array) -> None:
        length = np.diag(inner)
        self._squared = np.maximum(length[:, None] + length - 2.0 * inner, 0.0)
        self.mass = mass

    def take(self, index: np.ndarray) -> Array:
        """Return numbers of rows as points with one coordinate."""
        return index[..., None].astype(float)

    def distances(self, theta: Array, runs: slice) -> Array:
        """Squared distances of all rows to some of them, (runs, t, n)."""
        return self._squared[theta[..., 0].astype(np.intp)]


def seeded(inner: Array, mass: Array, k: int, uniform: Array) -> np.ndarray:
    """Partitions by the nearest of k rows, which k-means++ chooses, (m, n).

    Parameters
    ----------
    inner : ndarray of shape (n, n)
        Inner products of the rows, which are in an order that depends on their values only.
    mass : ndarray of shape (n,)
        Weights of the rows.
    k : int
    uniform : ndarray of shape (m, k, trials)
        From `ewp.solver.starts.seed_numbers`.
    """
    rows = _NumberedRows(inner, mass)
    chosen = kmeans_plus_plus(rows, k, uniform)
    return rows.distances(chosen, slice(None)).argmin(axis=1)


def memberships(labels: np.ndarray, mass: Array, k: int) -> Array:
    """Weights of the rows in their clusters, (m, n, k)."""
    found: Array = (labels[..., None] == np.arange(k)) * mass[:, None]
    return found


def move_rows(inner: Array, mass: Array, labels: np.ndarray, k: int) -> np.ndarray:
    """Move rows between clusters as long as the sums of squares within them fall.

    First all rows to their nearest means, then, one at a time, the row that gains most when its own
    part in the means is counted.

    Parameters
    ----------
    inner : ndarray of shape (m, n, n) or (1, n, n)
        Inner products of the rows.
    mass : ndarray of shape (n,)
    labels : ndarray of shape (m, n)
    k : int
    """
    inner = np.broadcast_to(inner, (len(labels), *inner.shape[1:]))
    length = np.diagonal(inner, axis1=1, axis2=2)
    least = _HELPS * (length @ mass)
    labels = _lloyd(inner, length, least / mass.sum(), mass, labels, k)
    state = _sums(inner, mass, labels, k)
    active = np.arange(len(labels))
    for _ in range(_MOVES * len(mass)):
        gain, to = _gains(length[active], mass, labels[active], *state)
        row = gain.argmax(axis=1)
        going = gain[np.arange(len(active)), row] > least[active]
        active, row = active[going], row[going]
        if not len(active):
            break
        here = np.arange(len(active))
        sums, size, squared = state = tuple(one[going] for one in state)
        begin, to, weight = labels[active, row], to[going][here, row], mass[row]
        column = inner[active, :, row] * weight[:, None]
        own = column[here, row] * weight
        for cluster, sign in ((begin, -1.0), (to, 1.0)):
            squared[here, cluster] += 2.0 * sign * weight * sums[here, row, cluster] + own
            sums[here, :, cluster] += sign * column
            size[here, cluster] += sign * weight
        labels[active, row] = to
    return labels


def _lloyd(
    inner: Array, length: Array, least: Array, mass: Array, labels: np.ndarray, k: int
) -> np.ndarray:
    """Move all rows to their nearest means some times, unless a cluster would lose all its rows."""
    labels = labels.copy()
    for _ in range(_STEPS):
        distance = _distances(length, *_sums(inner, mass, labels, k))
        own = np.take_along_axis(distance, labels[..., None], 2)[..., 0]
        nearer = distance.min(axis=2) < own - least[:, None]
        if not nearer.any():
            break
        moved = np.where(nearer, distance.argmin(axis=2), labels)
        full = (moved[..., None] == np.arange(k)).any(axis=1).all(axis=1)
        labels[full] = moved[full]
    return labels


def _gains(
    length: Array, mass: Array, labels: np.ndarray, sums: Array, size: Array, squared: Array
) -> tuple[Array, np.ndarray]:
    """How much the sum of squares falls if a row moves to the best other cluster, and that one."""
    distance = _distances(length, sums, size, squared)
    joined = distance * (size[:, None] / (size[:, None] + mass[:, None]))
    own = np.take_along_axis(size, labels, 1)
    # a row that is alone in its cluster stays
    rest = own - mass
    alone = rest <= _HELPS * own
    factor = np.where(alone, 0.0, own / np.where(alone, 1.0, rest))
    gain = factor * np.take_along_axis(distance, labels[..., None], 2)[..., 0]
    np.put_along_axis(joined, labels[..., None], np.inf, 2)
    gain -= joined.min(axis=2)
    gain *= mass
    return gain, joined.argmin(axis=2)


def _sums(inner: Array, mass: Array, labels: np.ndarray, k: int) -> tuple[Array, Array, Array]:
    """Inner products with the sums of the clusters, and weights and squares of these."""
    member = memberships(labels, mass, k)
    sums = inner @ member
    return sums, member.sum(axis=1), np.einsum("mij,mij->mj", member, sums)


def _distances(length: Array, sums: Array, size: Array, squared: Array) -> Array:
    """Squared distances of all rows to the means of the clusters, (m, n, k)."""
    size = np.maximum(size, _TINY)
    distance = sums * (-2.0 / size)[:, None]
    distance += (squared / size**2)[:, None]
    distance += length[..., None]
    return distance
