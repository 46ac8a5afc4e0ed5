r"""Partitions of many small data sets at once, lowered by moving centroids and single rows.

For questions that ask what else could have been found in hundreds of data sets of the same shape.
Runs go down by Lloyd's steps with the weights that are best at every step, and then row by row: a
row whose move lowers the objective moves, the one that lowers it most in every run first. With the
weights at their best the objective is a concave function of the dispersions, whose gradient are
the weights; so a move that lowers the weighted sum of squares lowers the objective too, and what
Hartigan (1975) has for k-means holds here: of clusters of few rows in many features far fewer
partitions are left where no row moves than Lloyd's fixed points are.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from ewp.common.types import Array
from ewp.solver.weights import RelativeEntropy

__all__ = ["PartitionedRuns", "lower_partitions"]

#: Lloyd's steps, and rounds of moves, at most.
_STEPS, _ROUNDS = 60, 100
#: Moves that change the objective by less than this part of a row's share of it do not count.
_ROUNDING = 1e-9


class PartitionedRuns(NamedTuple):
    """Partitions of m data sets with n rows in p columns, r of each.

    Attributes
    ----------
    labels : ndarray of int, shape (m, r, n)
    size : ndarray of shape (m, r, k)
    sums : ndarray of shape (m, r, k, p)
    dispersion : ndarray of shape (m, r, p)
    """

    labels: np.ndarray
    size: Array
    sums: Array
    dispersion: Array


def lower_partitions(
    Y: Array, labels: np.ndarray, theta: Array, rule: RelativeEntropy
) -> PartitionedRuns:
    """Go down from partitions and from centroids until no single row can move.

    Parameters
    ----------
    Y : ndarray of shape (m, n, p)
        Data sets, their columns centred and scaled.
    labels : ndarray of int, shape (m, b, n)
        Partitions to begin from.
    theta : ndarray of shape (m, r, k, p)
        Centroids to begin from, at equal weights.
    rule : RelativeEntropy
        Of all runs, or with a reward of shape (m, 1, p).

    Returns
    -------
    PartitionedRuns
        Those that began from partitions first; clusters may have become empty.
    """
    squares = np.einsum("mnp,mnp->mp", Y, Y)[:, None]
    begun = _partition(Y, squares, labels, theta.shape[2])
    means = begun.sums / np.maximum(begun.size, 1.0)[..., None]
    weights = rule.update(begun.dispersion)
    equal = np.broadcast_to(rule.start(), (*theta.shape[:2], Y.shape[2]))
    found = _descend(
        Y,
        squares,
        np.concatenate([means, theta], axis=1),
        np.concatenate([weights, equal], axis=1),
        rule,
    )
    return _move_rows(Y, squares, found, rule)


def _products(Y: Array, theta: Array, metric: Array) -> tuple[Array, Array]:
    """Weighted products of centroids and rows, (m, r, k, n), and lengths of the centroids."""
    m, r, k, p = theta.shape
    folded = theta * metric[:, :, None, :]
    product = folded.reshape(m, r * k, p) @ Y.transpose(0, 2, 1)
    return product.reshape(m, r, k, -1), np.einsum("mrkp,mrkp->mrk", folded, theta)


def _partition(Y: Array, squares: Array, labels: np.ndarray, k: int) -> PartitionedRuns:
    """Sizes, sums and dispersions of some partitions."""
    m, r, n = labels.shape
    member = (labels[:, :, None, :] == np.arange(k)[:, None]).astype(float)
    size = member.sum(axis=-1)
    sums = (member.reshape(m, r * k, n) @ Y).reshape(m, r, k, -1)
    between = np.einsum("mrkp,mrkp->mrp", sums / np.maximum(size, 1.0)[..., None], sums)
    return PartitionedRuns(labels, size, sums, np.maximum(squares - between, 0.0))


def _descend(
    Y: Array, squares: Array, theta: Array, weights: Array, rule: RelativeEntropy
) -> PartitionedRuns:
    """Take Lloyd's steps until no label changes."""
    found: PartitionedRuns | None = None
    for _ in range(_STEPS):
        product, length = _products(Y, theta, weights)
        labels = (length[..., None] - 2.0 * product).argmin(axis=2)
        if found is not None and (labels == found.labels).all():
            break
        found = _partition(Y, squares, labels, theta.shape[2])
        theta = found.sums / np.maximum(found.size, 1.0)[..., None]
        weights = rule.update(found.dispersion)
    assert found is not None
    return found


def _move_rows(
    Y: Array, squares: Array, found: PartitionedRuns, rule: RelativeEntropy
) -> PartitionedRuns:
    """Move the row that lowers the objective most in every run, until none does."""
    labels, size, sums, dispersion = (part.copy() for part in found)
    left = np.arange(len(Y))
    for _ in range(_ROUNDS):
        now = PartitionedRuns(labels[left], size[left], sums[left], dispersion[left])
        rows, to, lowers = _best_moves(Y[left], now, _of_sets(rule, left))
        which, run = np.nonzero(lowers)
        if not len(which):
            break
        row, new, one = rows[which, run], to[which, run], left[which]
        old, moved = labels[one, run, row], Y[one, row]
        labels[one, run, row] = new
        for cluster, sign in ((new, 1.0), (old, -1.0)):
            sums[one, run, cluster] += sign * moved
            size[one, run, cluster] += sign
        means = sums[one, run] / np.maximum(size[one, run], 1.0)[..., None]
        between = np.einsum("akp,akp->ap", means, sums[one, run])
        dispersion[one, run] = np.maximum(squares[one, 0] - between, 0.0)
        left = left[lowers.any(axis=1)]
    return PartitionedRuns(labels, size, sums, dispersion)


def _of_sets(rule: RelativeEntropy, sets: np.ndarray) -> RelativeEntropy:
    """Return the rule of some of the data sets."""
    return dataclasses.replace(rule, reward=rule.reward[sets]) if rule.reward.ndim > 1 else rule


def _best_moves(
    Y: Array, now: PartitionedRuns, rule: RelativeEntropy
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row and new cluster of the best move of every run, and whether it lowers the objective."""
    m, r, k = now.size.shape
    n = Y.shape[1]
    weights = rule.update(now.dispersion)
    product, length = _products(Y, now.sums / np.maximum(now.size, 1.0)[..., None], weights)
    rows = weights @ (Y * Y).transpose(0, 2, 1)
    distance = np.maximum(rows[:, :, None, :] - 2.0 * product + length[..., None], 0.0)
    own = now.labels[:, :, None, :]
    size = now.size[..., None]
    alone = np.take_along_axis(size, own, axis=2) <= 1.0
    leaving = distance * (size / np.maximum(size - 1.0, 1.0))
    saved = np.where(alone, -np.inf, np.take_along_axis(leaving, own, axis=2))
    distance *= size / (size + 1.0)
    np.put_along_axis(distance, own, np.inf, axis=2)
    distance -= saved
    flat = distance.reshape(m, r, k * n)
    best = flat.argmin(axis=-1)
    change = np.take_along_axis(flat, best[..., None], axis=-1)[..., 0]
    return best % n, best // n, change < -_ROUNDING * rows.mean(axis=-1)
