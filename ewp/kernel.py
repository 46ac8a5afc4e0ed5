"""One block of rows to its sufficient statistics.

This module holds the arithmetic of an MM step and nothing else: weighted squared distances of a
block of rows to the centroids, the power means, the memberships, and the four sums from which the
new centroids and weights follow. The functions are pure in the sense that matters: they read a
block and write into buffers that belong to the caller, so the same code serves one thread, many
threads, memory-mapped files or a cluster. Where blocks come from is the engine's business.

Rows are centred (and scaled) before they get here; a column of ones is appended, which folds
``sum_l w_l theta_jl**2`` and the cluster masses into the two matrix products.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

__all__ = ["Metric", "Statistics", "Workspace", "block_distances", "block_statistics"]

Array = NDArray[np.float64]

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
    product : ndarray of shape (k, p + 1)
        ``[-2 theta * weights | sum_l weights_l theta_l**2]``.
    floor : float
        Least squared distance.
    """

    theta: Array
    weights: Array
    product: Array
    floor: float

    @classmethod
    def prepare(cls, theta: Array, weights: Array, spread: float) -> Metric:
        """Fold the weights into the centroids; `spread` is the mean squared distance to 0."""
        k, p = theta.shape
        product = np.empty((k, p + 1))
        np.multiply(theta, weights, out=product[:, :p])
        product[:, p] = np.einsum("jl,jl->j", theta, product[:, :p])
        product[:, :p] *= -2.0
        scale = spread + float(product[:, p].max())
        return cls(theta, weights, product, max(_FLOOR * scale, _TINY))


@dataclass
class Statistics:
    """Sufficient statistics of an MM step, additive over blocks of rows.

    Attributes
    ----------
    sums : ndarray of shape (k, p + 1)
        ``sum_i a_i phi_ij x_i``; the last column holds the masses ``sum_i a_i phi_ij``.
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
    scatter: Array
    power: float = 0.0
    nearest: float = 0.0
    softness: float = 0.0

    @classmethod
    def zeros(cls, k: int, p: int) -> Statistics:
        """Return statistics of no rows."""
        return cls(np.zeros((k, p + 1)), np.zeros(p))

    def __iadd__(self, other: Statistics) -> Statistics:
        self.sums += other.sums
        self.scatter += other.scatter
        self.power += other.power
        self.nearest += other.nearest
        self.softness += other.softness
        return self


class Workspace:
    """Buffers for blocks of at most `rows` rows, allocated once for a whole fit."""

    def __init__(self, rows: int, p: int, k: int) -> None:
        self.rows = rows
        self.block = np.empty((rows, p + 1))
        self.block[:, p] = 1.0
        self.squares = np.empty((rows, p))
        self.distance = np.empty((k, rows))
        self.phi = np.empty((k, rows))
        self.base = np.empty((k, rows))
        self.sums = np.empty((k, p + 1))


def block_distances(
    block: Array, squares: Array, metric: Metric, work: Workspace
) -> tuple[Array, Array]:
    """Squared weighted distances of a block to all centroids, and their minimum.

    Parameters
    ----------
    block : ndarray of shape (b, p + 1)
        Centred rows with a last column of ones.
    squares : ndarray of shape (b, p)
        Squares of the rows.
    metric : Metric
    work : Workspace
        Buffers; the distances are a view of ``work.distance``.

    Returns
    -------
    distance : ndarray of shape (k, b)
        One row a centroid: a minimum over the short axis is then a few vector operations.
    nearest : ndarray of shape (b,)
    """
    return _distances(block, squares, metric, work)[:2]


def _distances(
    block: Array, squares: Array, metric: Metric, work: Workspace
) -> tuple[Array, Array, Array]:
    """Squared distances to the centroids, their minimum, and squared lengths of the rows."""
    distance = work.distance[:, : len(block)]
    np.matmul(metric.product, block.T, out=distance)
    length = squares @ metric.weights
    distance += length
    nearest = distance.min(axis=0)
    small = np.maximum(length * _SMALL, metric.floor)
    rows = np.flatnonzero(nearest < small)
    if len(rows):
        _recompute_small(block, distance, nearest, metric, rows, small)
    return distance, nearest, length


def _recompute_small(
    block: Array, distance: Array, nearest: Array, metric: Metric, rows: np.ndarray, small: Array
) -> None:
    """Replace cancelled distances by sums of squared differences, in place."""
    p = len(metric.weights)
    cancelled = distance[:, rows] < small[rows]
    for j in np.flatnonzero(cancelled.any(axis=1)):
        hit = rows[cancelled[j]]
        difference = block[hit, :p] - metric.theta[j]
        difference *= difference
        distance[j, hit] = np.maximum(difference @ metric.weights, metric.floor)
    nearest[rows] = distance[:, rows].min(axis=0)


def _hard_sums(distance: Array, row_mass: Array, block: Array) -> Array:
    """Sums of the rows of every nearest centroid, by one sparse product."""
    labels = distance.argmin(axis=0)
    ends = np.arange(len(block) + 1)
    member = csc_array((row_mass, labels, ends), shape=(len(distance), len(block)))
    sums: Array = member @ block
    return sums


def _raise(ratio: Array, exponent: float, least: float, base: Array) -> None:
    """Raise ratios in [least, 1] to a power above 1, in place; `base` is overwritten.

    Multiples of a quarter are made of square roots and products, which are vectorised on every
    processor; NumPy's log and exp of float64 are only where there is AVX-512.
    """
    lowest = 2.0 ** (_LOWEST_EXPONENT / exponent)
    if least < lowest:
        np.maximum(ratio, lowest, out=ratio)
    quarters = 4.0 * exponent
    if quarters > _MOST_QUARTERS or not quarters.is_integer():
        np.log(ratio, out=ratio)
        ratio *= exponent
        np.exp(ratio, out=ratio)
        return
    times, roots = int(quarters), 2
    while roots and times % 2 == 0:
        times, roots = times // 2, roots - 1
    for _ in range(roots):
        np.sqrt(ratio, out=ratio)
    if times & (times - 1):
        np.copyto(base, ratio)
    for bit in bin(times)[3:]:
        ratio *= ratio
        if bit == "1":
            ratio *= base


def block_statistics(
    block: Array,
    squares: Array,
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
    block, squares, metric, work
        As in `block_distances`.
    sample_weight : ndarray of shape (b,) or None
    s : float
        Negative exponent of the power mean, or ``-inf``.
    into : Statistics
        Accumulator.
    """
    distance, nearest, length = _distances(block, squares, metric, work)
    phi = work.phi[:, : len(block)]
    if math.isinf(s):
        row_mass = np.ones(len(block)) if sample_weight is None else sample_weight
        power = float(row_mass @ nearest)
        into.nearest += power
        if len(phi) >= _MANY:
            sums = _hard_sums(distance, row_mass, block)
        else:
            np.equal(distance, nearest, out=phi)
            ties = np.flatnonzero(phi.sum(axis=0) > 1.0)
            if len(ties):
                first = phi[:, ties].argmax(axis=0)
                phi[:, ties] = 0.0
                phi[first, ties] = 1.0
            if sample_weight is not None:
                phi *= sample_weight
            sums = np.matmul(phi, block, out=work.sums)
    else:
        np.divide(nearest, distance, out=phi)
        # no distance exceeds the largest to the centre and back, twice over for rounding
        farthest = 4.0 * (float(length.max()) + float(metric.product[:, -1].max()))
        least = float(nearest.min()) / max(farthest, _TINY)
        _raise(phi, 1.0 - s, least, work.base[:, : len(block)])
        row_mass = phi.sum(axis=0)
        softness = 1.0 - 1.0 / row_mass
        q = np.einsum("ji,ji->i", distance, phi)
        mean = nearest * np.exp(np.log(q / (nearest * len(phi))) / s)
        factor = mean / q
        if sample_weight is None:
            power = float(mean.sum())
            into.nearest += float(nearest.sum())
            into.softness += float(softness.sum())
        else:
            power = float(sample_weight @ mean)
            into.nearest += float(sample_weight @ nearest)
            into.softness += float(sample_weight @ softness)
            factor *= sample_weight
        row_mass *= factor
        phi *= factor
        sums = np.matmul(phi, block, out=work.sums)
    into.power += power
    into.sums += sums
    into.scatter += row_mass @ squares
