"""One block of rows to its sufficient statistics.

This module holds the arithmetic of an MM step and nothing else: weighted squared distances of a
block of rows to the centroids, the power means, the memberships, and the four sums from which the
new centroids and weights follow. The functions are pure in the sense that matters: they read a
block and write into buffers that belong to the caller, so the same code serves one thread, many
threads, memory-mapped files or a cluster. Where blocks come from is the engine's business.

Rows are centred (and scaled) before they get here. Blocks are contiguous, so that every operation
on them is one long loop, and their squares are made where they are used, in the cache: reading them
from memory takes longer. `block_rows` says how many rows a block should have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm
from scipy.sparse import csc_array

__all__ = [
    "Metric",
    "Statistics",
    "Workspace",
    "block_distances",
    "block_rows",
    "block_statistics",
]

Array = NDArray[np.float64]

#: A block and its buffers: not much more than a core's cache, and enough rows that the time goes into
#: arithmetic, not into calls.
_BLOCK_BYTES = 2**22
#: Products of up to so many multiplications are done without packing by OpenBLAS, which is faster
#: where few centroids meet many features.
_UNPACKED, _FEW = 1_000_000, 32
_FEWEST_ROWS, _MOST_ROWS = 32, 8192
#: Up to so many features the centroids are multiplied column by column.
_TRANSPOSED = 1024
#: Powers of 2 below this are not worth their time: subnormal numbers slow exp and GEMM by factors.
_LOWEST_EXPONENT = -900.0
#: From this many clusters on hard memberships are a sparse matrix: a dense one has too many zeros.
_MANY = 32
#: Beyond this many quarters a power takes longer by products than by log and exp.
_MOST_QUARTERS = 2**12
#: Squared distances below this share of the row's squared length have lost digits to cancellation
#: (the centroid is then about as long as the row) and are recomputed from differences.
_SMALL = 4e-6
#: ... and floored at this share of the data's scale: smaller ones are rounding errors of the
#: coordinates themselves.
_FLOOR = float(np.finfo(np.float64).eps) ** 2
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Metric:
    """Centroids and the diagonal of the metric, prepared for the matrix product.

    Attributes
    ----------
    theta : ndarray of shape (k, p)
        Centroids in the coordinates of the blocks.
    weights : ndarray of shape (p,)
        Diagonal of the metric, ``d_ij = sum_l weights_l (x_il - theta_jl)**2``.
    product : ndarray of shape (k, p)
        ``-2 theta * weights``.
    length : ndarray of shape (k,)
        ``sum_l weights_l theta_l**2``.
    longest : float
        Largest of these.
    floor : float
        Least squared distance.
    """

    theta: Array
    weights: Array
    product: Array
    length: Array
    longest: float
    floor: float

    @classmethod
    def prepare(cls, theta: Array, weights: Array, spread: float) -> Metric:
        """Fold the weights into the centroids; `spread` is the mean squared distance to 0."""
        k, p = theta.shape
        # the layout that the matrix product reads fastest
        product = np.empty((p, k)).T if p <= _TRANSPOSED else np.empty((k, p))
        np.multiply(theta, weights, out=product)
        length = np.einsum("jl,jl->j", theta, product)
        product *= -2.0
        longest = float(length.max())
        floor = max(_FLOOR * (spread + longest), _TINY)
        return cls(theta, weights, product, length, longest, floor)


@dataclass
class Statistics:
    """Sufficient statistics of an MM step, additive over blocks of rows.

    Attributes
    ----------
    sums : ndarray of shape (k, p)
        ``sum_i a_i phi_ij x_i``.
    mass : ndarray of shape (k,)
        ``sum_i a_i phi_ij``.
    scatter : ndarray of shape (p,)
        ``sum_ij a_i phi_ij x_il**2``.
    power : float
        ``sum_i a_i M_s(d_i)``.
    nearest : float
        ``sum_i a_i min_j d_ij``.
    softness : float
        ``sum_i a_i (1 - 1 / sum_j (d_ij / min d_i)**(s - 1))``: the membership mass that is not
        with the nearest centroid; 0 when every membership is hard.
    """

    sums: Array
    mass: Array
    scatter: Array
    power: float = 0.0
    nearest: float = 0.0
    softness: float = 0.0

    @classmethod
    def zeros(cls, k: int, p: int) -> Statistics:
        """Return statistics of no rows."""
        return cls(np.zeros((k, p)), np.zeros(k), np.zeros(p))

    def __iadd__(self, other: Statistics) -> Statistics:
        self.sums += other.sums
        self.mass += other.mass
        self.scatter += other.scatter
        self.power += other.power
        self.nearest += other.nearest
        self.softness += other.softness
        return self


def block_rows(p: int, k: int) -> int:
    """Return the number of rows of a block with p features for k centroids."""
    rows = _BLOCK_BYTES // (8 * (2 * p + 3 * k))
    if k <= _FEW:
        rows = min(rows, _UNPACKED // (p * k))
    return min(max(rows, _FEWEST_ROWS), _MOST_ROWS)


class Workspace:
    """Buffers for blocks of at most `rows` rows, allocated once for a whole fit."""

    def __init__(self, rows: int, p: int, k: int) -> None:
        self.k, self.p = k, p
        self._rows = np.empty((2, rows * p))
        self._pairs = np.empty((3, k * rows))
        self.sums = np.empty((k, p))
        self.ones = np.ones(max(rows, k))

    def rows(self, i: int, count: int) -> Array:
        """Return the i-th of two buffers for `count` rows, contiguous."""
        return self._rows[i, : count * self.p].reshape(count, self.p)

    def pairs(self, i: int, count: int) -> Array:
        """Return the i-th of three buffers of shape (k, `count`), contiguous."""
        return self._pairs[i, : self.k * count].reshape(self.k, count)


def block_distances(block: Array, metric: Metric, work: Workspace) -> tuple[Array, Array]:
    """Squared weighted distances of a block to all centroids, and their minimum.

    Parameters
    ----------
    block : ndarray of shape (b, p)
        Centred rows.
    metric : Metric
    work : Workspace
        Buffers; the distances lie in one of them.

    Returns
    -------
    distance : ndarray of shape (k, b)
        One row a centroid: a minimum over the short axis is then a few vector operations.
    nearest : ndarray of shape (b,)
    """
    return _distances(block, _squares(block, work), metric, work)[:2]


def _squares(block: Array, work: Workspace) -> Array:
    return np.multiply(block, block, out=work.rows(1, len(block)))


def _distances(
    block: Array, squares: Array, metric: Metric, work: Workspace
) -> tuple[Array, Array, float]:
    """Squared distances to the centroids, their minimum, and a bound on their least ratio."""
    distance = work.pairs(0, len(block))
    length = squares @ metric.weights
    # the lengths are there before the product, which is added to them
    np.add.outer(metric.length, length, out=distance)
    _add_product(block, metric.product, distance)
    nearest = distance.min(axis=0)
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


def _hard_sums(labels: np.ndarray, k: int, row_mass: Array, block: Array) -> Array:
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
    squares = _squares(block, work)
    distance, nearest, least = _distances(block, squares, metric, work)
    ones = work.ones[: len(block)]
    mass = ones if sample_weight is None else sample_weight
    into.nearest += float(mass @ nearest)
    phi = work.pairs(1, len(block))
    if math.isinf(s):
        into.power += float(mass @ nearest)
        into.scatter += mass @ squares
        if len(phi) >= _MANY:
            labels = distance.argmin(axis=0)
            into.mass += np.bincount(labels, mass, len(phi))
            into.sums += _hard_sums(labels, len(phi), mass, block)
            return
        np.equal(distance, nearest, out=phi)
        ties = np.flatnonzero(phi.sum(axis=0) > 1.0)
        if len(ties):
            first = phi[:, ties].argmax(axis=0)
            phi[:, ties] = 0.0
            phi[first, ties] = 1.0
        if sample_weight is not None:
            phi *= sample_weight
    else:
        ratio = np.divide(nearest, distance, out=work.pairs(2, len(block)))
        _raise(ratio, 1.0 - s, least, phi)
        row_mass = work.ones[: len(phi)] @ phi
        q = np.einsum("ji,ji->i", distance, phi)
        mean = nearest * np.exp(np.log(q / (nearest * len(phi))) / s)
        into.power += float(mass @ mean)
        into.softness += float(mass @ (1.0 - 1.0 / row_mass))
        factor = mean / q
        if sample_weight is not None:
            factor *= sample_weight
        row_mass *= factor
        into.scatter += row_mass @ squares
        phi *= factor
    into.mass += phi @ ones
    into.sums += np.matmul(phi, block, out=work.sums)
