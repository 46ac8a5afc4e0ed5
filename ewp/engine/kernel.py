"""One block of rows to its sufficient statistics: the arithmetic of an MM step and nothing else.

Weighted divergences of a block of rows from the centroids, the power means, the memberships, and
the four sums from which the new centroids and weights follow. `Metric`, `Statistics` and
`Workspace` are what travels between the solver and the blocks of rows, to other processes and to
the workers of a cluster. Their first axis is that of the runs that are computed in one pass: runs
on the same rows share the matrix products, because their weights fold into their centroids, and
differ only in small arrays. The functions read a block and write into buffers that belong to the
caller, so the same code serves one thread, many threads, memory-mapped files or a cluster. Where
blocks come from is the engine's business. Rows are centred (and scaled) before they get here.
Blocks are contiguous, so that every operation on them is one long loop, and their squares are made
where they are used, in the cache: reading them from memory takes longer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dgemm
from scipy.sparse import csc_array

from ewp.common.types import Array
from ewp.engine.divergence import SQUARED_EUCLIDEAN, BregmanDivergence

__all__ = [
    "Metric",
    "RunStatistics",
    "Statistics",
    "StepFunction",
    "Workspace",
    "block_distances",
    "block_lengths",
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
#: Up to so many features the centroids are multiplied column by column.
_TRANSPOSED = 1024
#: Squared distances are floored at this share of the data's scale: smaller ones are rounding errors
#: of the coordinates themselves.
_FLOOR = float(np.finfo(np.float64).eps) ** 2
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Metric:
    """Centroids and the diagonals of the metrics of some runs, prepared for the matrix product.

    Attributes
    ----------
    theta : ndarray of shape (runs, k, p)
        Centroids in the coordinates of the blocks.
    weights : ndarray of shape (runs, p)
        Diagonals of the metrics, ``d_ij = sum_l weights_l (x_il - theta_jl)**2`` in every run.
    product : ndarray of shape (runs * k, p)
        What rows are multiplied by, ``-2 theta * weights``, one run after the other.
    length : ndarray of shape (runs, k)
        What is added to that, ``sum_l weights_l theta_l**2``.
    longest : ndarray of shape (runs,)
        Largest of these.
    floor : ndarray of shape (runs,)
        Least squared distance.
    runs, k : int
        Number of runs, and of centroids of every run.
    divergence : BregmanDivergence
    """

    theta: Array
    weights: Array
    product: Array
    length: Array
    longest: Array
    floor: Array
    runs: int
    k: int
    divergence: BregmanDivergence = SQUARED_EUCLIDEAN

    @classmethod
    def prepare(
        cls,
        theta: Array,
        weights: Array,
        squares: Array,
        total: float,
        divergence: BregmanDivergence = SQUARED_EUCLIDEAN,
    ) -> Metric:
        """Fold the weights into the centroids.

        Parameters
        ----------
        theta : ndarray of shape (runs, k, p)
        weights : ndarray of shape (runs, p)
        squares : ndarray of shape (p,)
            The columns' sums of squares, by which the scale of distances is known.
        total : float
            Weight of all rows.
        divergence : BregmanDivergence
        """
        runs, k, p = theta.shape
        # the layout that the matrix product reads fastest
        transposed = p <= _TRANSPOSED
        product = np.empty((p, runs * k)).T if transposed else np.empty((runs * k, p))
        length = divergence.fold(theta, weights[:, None, :], product.reshape(runs, k, p))
        longest = length.max(axis=1)
        spread = np.array([float(squares @ w) / total for w in weights])
        floor = np.maximum(_FLOOR * (spread + longest), _TINY)
        return cls(theta, weights, product, length, longest, floor, runs, k, divergence)


class RunStatistics(NamedTuple):
    """The statistics of one run, see `Statistics`."""

    sums: Array
    mass: Array
    scatter: Array
    power: float
    nearest: float
    softness: float


@dataclass
class Statistics:
    """Sufficient statistics of an MM step of some runs, additive over blocks of rows.

    Attributes
    ----------
    sums : ndarray of shape (runs, k, p)
        ``sum_i a_i phi_ij x_i``.
    mass : ndarray of shape (runs, k)
        ``sum_i a_i phi_ij``.
    scatter : ndarray of shape (runs, p)
        ``sum_ij a_i phi_ij x_il**2``.
    power : ndarray of shape (runs,)
        ``sum_i a_i M_s(d_i)``.
    nearest : ndarray of shape (runs,)
        ``sum_i a_i min_j d_ij``.
    softness : ndarray of shape (runs,)
        ``sum_i a_i (1 - 1 / sum_j (d_ij / min d_i)**(s - 1))``: the membership mass that is not
        with the nearest centroid; 0 when every membership is hard.
    """

    sums: Array
    mass: Array
    scatter: Array
    power: Array
    nearest: Array
    softness: Array

    @classmethod
    def zeros(cls, runs: int, k: int, p: int) -> Statistics:
        """Return statistics of no rows."""
        parts = (np.zeros(shape) for shape in ((runs, k, p), (runs, k), (runs, p)))
        return cls(*parts, *np.zeros((3, runs)))

    def __iadd__(self, other: Statistics) -> Statistics:
        self.sums += other.sums
        self.mass += other.mass
        self.scatter += other.scatter
        self.power += other.power
        self.nearest += other.nearest
        self.softness += other.softness
        return self

    def run(self, b: int) -> RunStatistics:
        """Return the statistics of one run."""
        return RunStatistics(
            self.sums[b],
            self.mass[b],
            self.scatter[b],
            float(self.power[b]),
            float(self.nearest[b]),
            float(self.softness[b]),
        )


#: Statistics of a step at centroids (runs, k, p), weights (runs, p) and exponents (runs,).
StepFunction = Callable[[Array, Array, Array], Statistics]


class Workspace:
    """Buffers for blocks of at most `rows` rows, allocated once for a whole fit."""

    def __init__(self, rows: int, p: int, k: int, runs: int = 1) -> None:
        self.k, self.p, self.runs = k, p, runs
        self._rows = np.empty((2, rows * p))
        self._pairs = np.empty((3, runs * k * rows))
        self._vectors = np.empty((5, runs * rows))
        self.sums = np.empty((runs * k, p))
        self.ones = np.ones(max(rows, k))

    def rows(self, i: int, count: int) -> Array:
        """Return the i-th of two buffers for `count` rows, contiguous."""
        return self._rows[i, : count * self.p].reshape(count, self.p)

    def vectors(self, i: int, count: int) -> Array:
        """Return the i-th of five buffers for a number a run and row, contiguous."""
        return self._vectors[i, : self.runs * count].reshape(self.runs, count)

    def pairs(self, i: int, count: int) -> Array:
        """Return the i-th of three buffers of shape (runs, k, `count`), contiguous."""
        return self._pairs[i, : self.runs * self.k * count].reshape(self.runs, self.k, count)


def block_lengths(block: Array, metric: Metric, work: Workspace) -> Array:
    """Weighted potentials (squared lengths) of the rows of a block, (runs, rows), in a buffer."""
    return _lengths(_potentials(block, metric, work), metric, work)


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
    length : ndarray of shape (runs, b), optional
        What `block_lengths` returns, if it is known.

    Returns
    -------
    distance : ndarray of shape (runs, k, b)
        One row a centroid: a minimum over the short axis is then a few vector operations.
    nearest : ndarray of shape (runs, b)
    """
    if length is None:
        length = block_lengths(block, metric, work)
    return _distances(block, length, metric, work)[:2]


def _lengths(potentials: Array, metric: Metric, work: Workspace) -> Array:
    return np.matmul(metric.weights, potentials.T, out=work.vectors(0, len(potentials)))


def _potentials(block: Array, metric: Metric, work: Workspace) -> Array:
    return metric.divergence.potential(block, out=work.rows(1, len(block)))


def _distances(
    block: Array, length: Array, metric: Metric, work: Workspace
) -> tuple[Array, Array, list[float]]:
    """Squared distances to the centroids, their minimum, and bounds on the runs' least ratios."""
    count = len(block)
    distance = work.pairs(0, count)
    # the lengths are there before the product, which is added to them
    np.add(metric.length[:, :, None], length[:, None, :], out=distance)
    _add_product(block, metric.product, distance.reshape(-1, count))
    nearest = distance.min(axis=1, out=work.vectors(1, count))
    bounds = []
    for b in range(metric.runs):
        least, longest = float(nearest[b].min()), float(length[b].max())
        if least < max(longest * _SMALL, float(metric.floor[b])):
            _recompute_small(block, distance[b], nearest[b], length[b], metric, b)
            least = float(nearest[b].min())
        # no distance exceeds the largest to the centre and back, twice over for rounding
        bounds.append(least / max(4.0 * (longest + float(metric.longest[b])), _TINY))
    return distance, nearest, bounds


def _add_product(block: Array, product: Array, distance: Array) -> None:
    """Add the product of centroids and rows to distances, in place; all arrays are contiguous."""
    if product.flags.f_contiguous:
        dgemm(1.0, block.T, product, 1.0, distance.T, 1, 1, 1)
    else:
        dgemm(1.0, block.T, product.T, 1.0, distance.T, 1, 0, 1)


def _recompute_small(
    block: Array, distance: Array, nearest: Array, length: Array, metric: Metric, b: int
) -> None:
    """Replace cancelled distances of one run by what differences give, in place."""
    floor = metric.floor[b]
    small = np.maximum(length * _SMALL, floor)
    rows = np.flatnonzero(nearest < small)
    cancelled = distance[:, rows] < small[rows]
    for j in np.flatnonzero(cancelled.any(axis=1)):
        hit = rows[cancelled[j]]
        if metric.divergence.of_differences:
            exact = metric.divergence.exact(block[hit], metric.theta[b, j])
            distance[j, hit] = exact @ metric.weights[b]
        distance[j, hit] = np.maximum(distance[j, hit], floor)
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
    s: Array,
    work: Workspace,
    into: Statistics,
) -> None:
    r"""Add the sufficient statistics of one block of rows to `into`.

    With :math:`m_i = \min_j d_{ij}` and :math:`P_{ij} = (d_{ij} / m_i)^{s-1}`, in every run

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
    s : ndarray of shape (runs,)
        Negative exponents of the power means, or ``-inf``.
    into : Statistics
        Accumulator.
    """
    count, k = len(block), metric.k
    potentials = _potentials(block, metric, work)
    length = _lengths(potentials, metric, work)
    distance, nearest, bounds = _distances(block, length, metric, work)
    ones = work.ones[:count]
    mass = ones if sample_weight is None else sample_weight
    phi, row_mass = work.pairs(1, count), work.vectors(2, count)
    dense = []  # runs whose memberships are a full matrix
    for b, exponent in enumerate(s.tolist()):
        into.nearest[b] += float(mass @ nearest[b])
        if not math.isinf(exponent):
            _soft_memberships(b, exponent, bounds[b], sample_weight, work, into, count)
            dense.append(b)
            continue
        into.power[b] += float(mass @ nearest[b])
        if k < _MANY:
            _hard_memberships(phi[b], distance[b], nearest[b], work.ones[:k], row_mass[b])
            if sample_weight is not None:
                phi[b] *= sample_weight
            dense.append(b)
        else:
            labels = distance[b].argmin(axis=0)
            into.mass[b] += np.bincount(labels, mass, k)
            into.sums[b] += hard_sums(labels, k, mass, block)
        row_mass[b] = mass
    into.scatter += np.matmul(row_mass, potentials)
    if not dense:
        return
    whole = len(dense) == metric.runs
    chosen = phi if whole else phi[dense]
    member = chosen.reshape(-1, count)
    where = slice(None) if whole else dense
    into.mass[where] += (member @ ones).reshape(len(dense), k)
    sums = work.sums[: len(member)]
    for start in range(0, count, _PIECE):
        rows = slice(start, start + _PIECE)
        np.matmul(member[:, rows], block[rows], out=sums)
        into.sums[where] += sums.reshape(len(dense), k, -1)


def _soft_memberships(
    b: int,
    s: float,
    least: float,
    sample_weight: Array | None,
    work: Workspace,
    into: Statistics,
    count: int,
) -> None:
    """Memberships, masses of the rows and power means of one run at a finite exponent."""
    distance, phi, ratio = (work.pairs(i, count)[b] for i in range(3))
    nearest, row_mass, q, mean = (work.vectors(i, count)[b] for i in range(1, 5))
    k, mass = len(phi), work.ones[:count] if sample_weight is None else sample_weight
    np.divide(nearest, distance, out=ratio)
    _raise(ratio, 1.0 - s, least, phi)
    np.matmul(work.ones[:k], phi, out=row_mass)
    inverse = np.divide(1.0, row_mass, out=q)
    into.softness[b] += float(mass @ np.subtract(1.0, inverse, out=inverse))
    np.einsum("ji,ji->i", distance, phi, out=q)
    np.multiply(nearest, k, out=mean)
    np.divide(q, mean, out=mean)
    np.log(mean, out=mean)
    mean /= s
    np.exp(mean, out=mean)
    mean *= nearest
    into.power[b] += float(mass @ mean)
    factor = np.divide(mean, q, out=q)
    if sample_weight is not None:
        factor *= sample_weight
    row_mass *= factor
    phi *= factor


def _hard_memberships(
    phi: Array, distance: Array, nearest: Array, each: Array, buffer: Array
) -> None:
    """Memberships of one run in the limit: 1 for the nearest centroid, the first of equals."""
    np.equal(distance, nearest, out=phi)
    ties = np.flatnonzero(np.matmul(each, phi, out=buffer) > 1.0)
    if len(ties):
        first = phi[:, ties].argmax(axis=0)
        phi[:, ties] = 0.0
        phi[first, ties] = 1.0
