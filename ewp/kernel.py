"""One block of rows to its sufficient statistics.

This module holds the arithmetic of an MM step and nothing else: weighted squared distances of a
block of rows to the centroids, the power means, the memberships, and the four sums from which the
new centroids and weights follow. The functions are pure in the sense that matters: they read a
block and write into buffers that belong to the caller, so the same code serves one thread, many
threads, memory-mapped files or a cluster. Where blocks come from is the engine's business.

Rows are centred (and scaled) before they get here. Blocks are contiguous, so that every operation
on them is one long loop, and their squares are made where they are used, in the cache: reading them
from memory takes longer. What comes in and goes out is in `ewp.exchange`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.blas import dgemm
from scipy.sparse import csc_array

from ewp.exchange import Array, Metric, Statistics, Workspace, block_rows

__all__ = [
    "Array",
    "Metric",
    "Statistics",
    "Workspace",
    "block_distances",
    "block_lengths",
    "block_rows",
    "block_statistics",
    "hard_sums",
]

#: Rows of a product with memberships: OpenBLAS takes memory for longer ones, which is dear where
#: the allocator gives it back at once, as on the workers of a cluster.
_PIECE = 2000
#: Powers of 2 below this are not worth their time: subnormal numbers slow exp and GEMM by factors.
_LOWEST_EXPONENT = -900.0
#: From this many clusters on hard memberships are a sparse matrix: a dense one has too many zeros.
_MANY = 32
#: Beyond this many quarters a power takes longer by products than by log and exp.
_MOST_QUARTERS = 2**12
#: Squared distances below this share of the row's squared length have lost digits to cancellation
#: (the centroid is then about as long as the row) and are recomputed from differences.
_SMALL = 4e-6
_TINY = float(np.finfo(np.float64).tiny)


def block_lengths(block: Array, metric: Metric, work: Workspace) -> Array:
    """Squared weighted lengths of the rows of a block, in a buffer."""
    return _lengths(_squares(block, work), metric, work)


def block_distances(
    block: Array, metric: Metric, work: Workspace, length: Array | None = None
) -> tuple[Array, Array]:
    """Squared weighted distances of a block to all centroids, and their minimum.

    Parameters
    ----------
    block : ndarray of shape (b, p)
        Centred rows.
    metric : Metric
    work : Workspace
        Buffers; the distances lie in one of them.
    length : ndarray of shape (b,), optional
        What `block_lengths` returns, if it is known.

    Returns
    -------
    distance : ndarray of shape (k, b)
        One row a centroid: a minimum over the short axis is then a few vector operations.
    nearest : ndarray of shape (b,)
    """
    if length is None:
        length = block_lengths(block, metric, work)
    return _distances(block, length, metric, work)[:2]


def _lengths(squares: Array, metric: Metric, work: Workspace) -> Array:
    return np.matmul(squares, metric.weights, out=work.vector(0, len(squares)))


def _squares(block: Array, work: Workspace) -> Array:
    return np.multiply(block, block, out=work.rows(1, len(block)))


def _distances(
    block: Array, length: Array, metric: Metric, work: Workspace
) -> tuple[Array, Array, float]:
    """Squared distances to the centroids, their minimum, and a bound on their least ratio."""
    distance = work.pairs(0, len(block))
    # the lengths are there before the product, which is added to them
    np.add.outer(metric.length, length, out=distance)
    _add_product(block, metric.product, distance)
    nearest = distance.min(axis=0, out=work.vector(1, len(block)))
    least, longest = float(nearest.min()), float(length.max())
    if least < max(longest * _SMALL, metric.floor):
        _recompute_small(block, distance, nearest, length, metric)
        least = float(nearest.min())
    # no distance exceeds the largest to the centre and back, twice over for rounding
    return distance, nearest, least / max(4.0 * (longest + metric.longest), _TINY)


def _add_product(block: Array, product: Array, distance: Array) -> None:
    """Add the product of centroids and rows to distances, in place; all arrays are contiguous."""
    if product.flags.f_contiguous:
        dgemm(1.0, block.T, product, 1.0, distance.T, 1, 1, 1)
    else:
        dgemm(1.0, block.T, product.T, 1.0, distance.T, 1, 0, 1)


def _recompute_small(
    block: Array, distance: Array, nearest: Array, length: Array, metric: Metric
) -> None:
    """Replace cancelled distances by sums of squared differences, in place."""
    small = np.maximum(length * _SMALL, metric.floor)
    rows = np.flatnonzero(nearest < small)
    cancelled = distance[:, rows] < small[rows]
    for j in np.flatnonzero(cancelled.any(axis=1)):
        hit = rows[cancelled[j]]
        difference = block[hit] - metric.theta[j]
        difference *= difference
        distance[j, hit] = np.maximum(difference @ metric.weights, metric.floor)
    nearest[rows] = distance[:, rows].min(axis=0)


def hard_sums(labels: np.ndarray, k: int, row_mass: Array, block: Array) -> Array:
    """Sums of the rows of every label, by one sparse product."""
    ends = np.arange(len(block) + 1)
    member = csc_array((row_mass, labels, ends), shape=(k, len(block)))
    sums: Array = member @ block
    return sums


def _raise(ratio: Array, exponent: float, least: float, out: Array) -> None:
    """Raise ratios in [least, 1] to a power above 1.

    Multiples of a quarter are made of square roots and products, which are vectorised on every
    processor; NumPy's log and exp of float64 are only where there is AVX-512.
    """
    lowest = 2.0 ** (_LOWEST_EXPONENT / exponent)
    if least < lowest:
        np.maximum(ratio, lowest, out=ratio)
    quarters = 4.0 * exponent
    if quarters > _MOST_QUARTERS or not quarters.is_integer():
        np.log(ratio, out=out)
        out *= exponent
        np.exp(out, out=out)
        return
    times, roots = int(quarters), 2
    while roots and times % 2 == 0:
        times, roots = times // 2, roots - 1
    for _ in range(roots):
        np.sqrt(ratio, out=ratio)
    power = ratio
    if times == 1:
        np.copyto(out, ratio)
    for bit in bin(times)[3:]:
        power = np.multiply(power, power, out=out)
        if bit == "1":
            power *= ratio


def block_statistics(
    block: Array,
    sample_weight: Array | None,
    metric: Metric,
    s: float,
    work: Workspace,
    into: Statistics,
) -> None:
    r"""Add the sufficient statistics of one block of rows to `into`.

    With :math:`m_i = \min_j d_{ij}` and :math:`P_{ij} = (d_{ij} / m_i)^{s-1}`,

    .. math::
        q_i = \sum_j P_{ij} d_{ij}, \quad M_i = m_i (q_i / (k m_i))^{1/s}, \quad
        \phi_{ij} = P_{ij} M_i / q_i,

    which never forms :math:`d^s`. For ``s = -inf`` the memberships are those of k-means, ties
    going to the first of the nearest centroids.

    Parameters
    ----------
    block, metric, work
        As in `block_distances`.
    sample_weight : ndarray of shape (b,) or None
    s : float
        Negative exponent of the power mean, or ``-inf``.
    into : Statistics
        Accumulator.
    """
    count, k = len(block), len(metric.theta)
    squares = _squares(block, work)
    distance, nearest, least = _distances(block, _lengths(squares, metric, work), metric, work)
    each, ones = work.ones[:k], work.ones[:count]
    mass = ones if sample_weight is None else sample_weight
    into.nearest += float(mass @ nearest)
    phi = work.pairs(1, count)
    row_mass = work.vector(2, count)
    if math.isinf(s):
        into.power += float(mass @ nearest)
        into.scatter += mass @ squares
        if k >= _MANY:
            labels = distance.argmin(axis=0)
            into.mass += np.bincount(labels, mass, k)
            into.sums += hard_sums(labels, k, mass, block)
            return
        np.equal(distance, nearest, out=phi)
        ties = np.flatnonzero(np.matmul(each, phi, out=row_mass) > 1.0)
        if len(ties):
            first = phi[:, ties].argmax(axis=0)
            phi[:, ties] = 0.0
            phi[first, ties] = 1.0
        if sample_weight is not None:
            phi *= sample_weight
    else:
        ratio = np.divide(nearest, distance, out=work.pairs(2, count))
        _raise(ratio, 1.0 - s, least, phi)
        np.matmul(each, phi, out=row_mass)
        inverse = np.divide(1.0, row_mass, out=work.vector(3, count))
        into.softness += float(mass @ np.subtract(1.0, inverse, out=inverse))
        q = np.einsum("ji,ji->i", distance, phi, out=work.vector(3, count))
        mean = np.multiply(nearest, k, out=work.vector(4, count))
        np.divide(q, mean, out=mean)
        np.log(mean, out=mean)
        mean /= s
        np.exp(mean, out=mean)
        mean *= nearest
        into.power += float(mass @ mean)
        factor = np.divide(mean, q, out=q)
        if sample_weight is not None:
            factor *= sample_weight
        row_mass *= factor
        into.scatter += row_mass @ squares
        phi *= factor
    into.mass += phi @ ones
    for start in range(0, count, _PIECE):
        rows = slice(start, start + _PIECE)
        into.sums += np.matmul(phi[:, rows], block[rows], out=work.sums)
