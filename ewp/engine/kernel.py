"""One block of rows to its sufficient statistics: the arithmetic of an MM step and nothing else.

Weighted divergences of a block of rows from the centroids, the power means, the memberships, and
the four sums from which the new centroids and weights follow, for some runs in one pass. The
functions read a block and write into buffers that belong to the caller, so the same code serves one
thread, many threads, memory-mapped files or a cluster. Where blocks come from is the engine's
business; metrics, statistics and buffers are in `ewp.engine.statistics`. Rows are centred (and
scaled) before they get here. Blocks are contiguous, so that every operation on them is one long
loop, and their squares are made where they are used, in the cache: reading them from memory takes
longer. Where values are missing a block has 0 in their place, and behind its columns marks that
tell what is observed: one product then gives distances over observed entries, and one the sums and
the weights of these. Blocks may be of single precision; products and powers are then too, while
sums over blocks and sums of distances are of double precision.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from ewp.common.types import Array
from ewp.engine.precision import DOUBLE, PRECISION
from ewp.engine.sparse_block import SparseBlock
from ewp.engine.statistics import Metric, Statistics, Workspace

__all__ = ["block_distances", "block_lengths", "block_statistics", "hard_sums"]

#: Rows of a product with memberships: OpenBLAS takes memory for longer ones, which is dear where
#: the allocator gives it back at once, as on the workers of a cluster.
_PIECE = 2000
#: Memberships of so few pairs of a row and a centroid are made for all runs at once.
_FEW_PAIRS = 4096
#: Rows of single precision of which sparse products make sums at once.
_LONGEST_SUM = 8192
#: Entries of differences that are made at once.
_DIFFERENCES = 2**18


def block_lengths(
    block: Array | SparseBlock, metric: Metric, work: Workspace, potentials: Array | None = None
) -> Array:
    """Weighted potentials (squared lengths) of the rows of a block, (runs, rows), in a buffer.

    Potentials of the entries are those that are given, if they are known.
    """
    if potentials is None:
        return _lengths(_potentials(block, metric, work), metric, work)
    return _lengths(potentials, metric, work)


def block_distances(
    block: Array | SparseBlock, metric: Metric, work: Workspace, length: Array | None = None
) -> tuple[Array, Array]:
    """Squared weighted distances of a block to all centroids, and their minimum.

    Parameters
    ----------
    block : ndarray of shape (b, p + h) or SparseBlock of shape (b, p)
        Centred rows, and marks of the h columns with missing values: 1 for observed ones.
    metric : Metric
    work : Workspace
        Buffers; the distances lie in one of them.
    length : ndarray of shape (runs, b), optional
        What `block_lengths` returns, if it is known.

    Returns
    -------
    distance : ndarray of shape (runs, k, b)
        One row per centroid: a minimum over the short axis is then a few vector operations.
    nearest : ndarray of shape (runs, b)
    """
    if length is None:
        length = block_lengths(block, metric, work)
    return _distances(block, length, metric, work)[:2]


def _lengths(potentials: Array | SparseBlock, metric: Metric, work: Workspace) -> Array:
    length = work.vectors(0, metric.runs, len(potentials))
    if isinstance(potentials, SparseBlock):
        length[...] = potentials.times(metric.weights).T
        return length
    return np.matmul(metric.weights, potentials.T, out=length)


def _potentials(block: Array | SparseBlock, metric: Metric, work: Workspace) -> Array | SparseBlock:
    if isinstance(block, SparseBlock):
        return block.potentials(metric.divergence)
    p = metric.weights.shape[1]
    return metric.divergence.potential(block[:, :p], out=work.rows(1, len(block))[:, :p])


def _distances(
    block: Array | SparseBlock, length: Array, metric: Metric, work: Workspace
) -> tuple[Array, Array, Array]:
    """Squared distances to the centroids, their minimum, and bounds on the runs' least ratios."""
    count = len(block)
    distance = work.pairs(0, metric.runs, count)
    # the lengths are there before the product, which is added to them
    np.add(metric.length[:, :, None], length[:, None, :], out=distance)
    _add_product(block, metric.product, distance.reshape(-1, count))
    nearest = distance.min(axis=1, out=work.vectors(1, metric.runs, count))
    least, longest = nearest.min(axis=1), length.max(axis=1)
    precision = PRECISION[metric.dtype]
    if (least < np.maximum(longest * precision.small, metric.floor)).any():
        _recompute_small(block, distance, nearest, length, metric)
        nearest.min(axis=1, out=least)
    if metric.divergence.bounded:
        # no distance exceeds the largest to the centre and back, twice over for rounding
        longest = 4.0 * (longest + metric.longest)
    else:
        longest = distance.max(axis=(1, 2))
    least /= np.maximum(longest, precision.tiny)
    return distance, nearest, least


def _add_product(block: Array | SparseBlock, product: Array, distance: Array) -> None:
    """Add the product of centroids and rows to distances, in place; all arrays are contiguous."""
    if isinstance(block, SparseBlock):
        distance += block.times(product).T
        return
    gemm = PRECISION[block.dtype].gemm
    if product.flags.f_contiguous:
        gemm(1.0, block.T, product, 1.0, distance.T, 1, 1, 1)
    else:
        gemm(1.0, block.T, product.T, 1.0, distance.T, 1, 0, 1)


def _recompute_small(
    block: Array | SparseBlock, distance: Array, nearest: Array, length: Array, metric: Metric
) -> None:
    """Replace cancelled distances by what differences give, in place."""
    small = np.maximum(length * PRECISION[metric.dtype].small, metric.floor[:, None])
    runs, rows = np.nonzero(nearest < small)
    pair, centroid = np.nonzero(distance[runs, :, rows] < small[runs, rows, None])
    b, i = runs[pair], rows[pair]
    if isinstance(block, SparseBlock):
        _recompute_sparse(block, distance, (b, i, centroid), length, metric)
        nearest[runs, rows] = distance[runs, :, rows].min(axis=1)
        return
    size, p = max(_DIFFERENCES // block.shape[1], 1), metric.weights.shape[1]
    for start in range(0, len(b), size):
        part = slice(start, start + size)
        run, row, j = b[part], i[part], centroid[part]
        exact = distance[run, j, row]
        if metric.divergence.of_differences:
            gaps = metric.divergence.exact(block[row, :p], metric.theta[run, j])
            if len(metric.columns):
                gaps[:, metric.columns] *= block[row, p:]
            exact = np.einsum("ml,ml->m", gaps, metric.weights[run])
        distance[run, j, row] = np.maximum(exact, metric.floor[run])
    nearest[runs, rows] = distance[runs, :, rows].min(axis=1)


def _recompute_sparse(
    block: SparseBlock,
    distance: Array,
    pairs: tuple[np.ndarray, np.ndarray, np.ndarray],
    length: Array,
    metric: Metric,
) -> None:
    """Replace cancelled distances of some runs, rows and centroids, in place."""
    b, i, j = pairs
    found, floor = distance[b, j, i], metric.floor[b]
    if metric.divergence.of_differences:
        # where both lengths are next to nothing the rounding errors are below the floor
        doubtful = length[b, i] + metric.length[b, j] > floor / (16.0 * np.finfo(float).eps)
        which = np.flatnonzero(doubtful)
        size = max(_DIFFERENCES // block.longest, 1)
        for start in range(0, len(which), size):
            part = which[start : start + size]
            where = b[part], j[part]
            found[part] = block.squared_distances(
                i[part], metric.theta, metric.weights, metric.length, where
            )
    distance[b, j, i] = np.maximum(found, floor)


def hard_sums(labels: np.ndarray, k: int, row_mass: Array, block: Array | SparseBlock) -> Array:
    """Sums of the rows of every label, by one sparse product.

    Parameters
    ----------
    labels : ndarray of shape (..., b)
        Of one run, or of several.
    k : int
    row_mass : ndarray of shape (b,) or (..., b)
    block : ndarray of shape (b, p) or SparseBlock

    Returns
    -------
    ndarray of shape (..., k, p)
    """
    if isinstance(block, SparseBlock):
        return block.hard_sums(labels, k, row_mass)
    runs = int(np.prod(labels.shape[:-1]))
    count = len(block)
    if count > _LONGEST_SUM and block.dtype != DOUBLE:
        pieces = (slice(i, i + _LONGEST_SUM) for i in range(0, count, _LONGEST_SUM))
        parts = (hard_sums(labels[..., i], k, row_mass[..., i], block[i]) for i in pieces)
        return sum(parts, start=np.zeros((*labels.shape[:-1], k, block.shape[1])))
    place = labels.reshape(runs, count) + k * np.arange(runs)[:, None]
    mass = np.broadcast_to(row_mass, labels.shape).reshape(runs, count)
    ends = np.arange(0, runs * count + 1, runs)
    member = csc_array((mass.T.ravel(), place.T.ravel(), ends), shape=(runs * k, count))
    sums: Array = member @ block
    return sums.reshape(*labels.shape[:-1], k, block.shape[1])


def _raise(ratio: Array, exponent: float, least: float, out: Array) -> None:
    """Raise ratios in [least, 1] to a power above 1.

    Multiples of a quarter are made of square roots and products, which are vectorised on every
    processor; NumPy's log and exp of float64 are only where there is AVX-512, those of float32
    everywhere.
    """
    lowest = 2.0 ** (PRECISION[ratio.dtype].lowest_exponent / exponent)
    if least < lowest:
        np.maximum(ratio, lowest, out=ratio)
    quarters = 4.0 * exponent
    most = PRECISION[ratio.dtype].most_quarters
    if quarters > most or not quarters.is_integer():
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
    block: Array | SparseBlock,
    sample_weight: Array | None,
    metric: Metric,
    s: Array,
    work: Workspace,
    into: Statistics,
    potentials: Array | None = None,
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
    sample_weight : ndarray of shape (b,) or (runs, b), or None
        Weights of the rows, the same for all runs or not.
    s : ndarray of shape (runs,)
        Negative exponents of the power means, or ``-inf``.
    into : Statistics
        Accumulator.
    potentials : ndarray of shape (b, p), optional
        Those of the rows' entries, if they are known.
    """
    count, k, runs = len(block), metric.k, metric.runs
    known = _potentials(block, metric, work) if potentials is None else potentials
    length = _lengths(known, metric, work)
    distance, nearest, bounds = _distances(block, length, metric, work)
    ones = work.ones[:count]
    mass = ones if sample_weight is None else sample_weight
    phi, row_mass = work.pairs(1, runs, count), work.vectors(2, runs, count)
    from_nearest = _weighted_sums(nearest, mass)
    into.nearest += from_nearest
    hard = np.isinf(s)
    soft = np.flatnonzero(~hard)
    together = count * k <= _FEW_PAIRS
    dense: np.ndarray = np.arange(runs)
    if len(soft) < runs:
        # soft runs usually come first
        first = len(soft) if hard[len(soft) :].all() else 0
        of_hard: Any = slice(first, None) if first == len(soft) else np.flatnonzero(hard)
        into.power[of_hard] += from_nearest[of_hard]
        if k < PRECISION[metric.dtype].many:
            # all at once: those of soft runs among them are written over
            one_by_one = not together and len(soft) > 0
            every: list[Any] = np.flatnonzero(hard).tolist() if one_by_one else [slice(first, None)]
            for b in every:
                _hard_memberships(phi[b], distance[b], nearest[b], row_mass[b])
                if sample_weight is not None:
                    phi[b] *= mass[..., None, :] if mass.ndim == 1 else mass[b][..., None, :]
                row_mass[b] = mass if mass.ndim == 1 else mass[b]
        else:
            labels = distance.argmin(axis=1)[of_hard]
            weight = mass if mass.ndim == 1 else mass[of_hard]
            _add_sums(into, of_hard, hard_sums(labels, k, weight, block))
            place = labels + k * np.arange(len(labels))[:, None]
            spread = np.broadcast_to(weight, labels.shape).ravel()
            total = np.bincount(place.ravel(), spread, len(labels) * k)
            into.mass[of_hard] += total.reshape(-1, k)
            row_mass[of_hard] = weight
            dense = soft
    if len(soft) and together:
        whole: Any = slice(0, len(soft)) if soft[-1] < len(soft) else soft
        of_runs = mass if mass.ndim == 1 else mass[whole]
        _soft_memberships_of_runs(whole, s, of_runs, runs, work, into, count)
    else:
        for b in soft.tolist():
            own = sample_weight if mass.ndim == 1 else mass[b]
            _soft_memberships(b, float(s[b]), float(bounds[b]), own, runs, work, into, count)
    if isinstance(known, SparseBlock):
        into.scatter += known.weighted_sums(row_mass)
    else:
        into.scatter += np.matmul(row_mass, known)
    if not len(dense):
        return
    whole_batch = len(dense) == runs
    chosen = phi if whole_batch else phi[dense]
    member = chosen.reshape(-1, count)
    where: slice | np.ndarray = slice(None) if whole_batch else dense
    into.mass[where] += (member @ ones).reshape(len(dense), k)
    if isinstance(block, SparseBlock):
        _add_sums(into, where, block.weighted_sums(member).reshape(len(dense), k, -1))
        return
    sums = work.sums[: len(member)]
    for start in range(0, count, _PIECE):
        rows = slice(start, start + _PIECE)
        np.matmul(member[:, rows], block[rows], out=sums)
        _add_sums(into, where, sums.reshape(len(dense), k, -1))


def _add_sums(into: Statistics, runs: slice | np.ndarray, sums: Array) -> None:
    """Add sums of values, and of marks, of some runs."""
    p = into.sums.shape[-1]
    into.sums[runs] += sums[..., :p]
    if len(into.columns):
        into.seen[runs] += sums[..., p:]


def _soft_memberships(
    b: int,
    s: float,
    least: float,
    sample_weight: Array | None,
    runs: int,
    work: Workspace,
    into: Statistics,
    count: int,
) -> None:
    """Memberships, masses of the rows and power means of one run at a finite exponent."""
    distance, phi, ratio = (work.pairs(i, runs, count)[b] for i in range(3))
    nearest, row_mass, q, mean = (work.vectors(i, runs, count)[b] for i in range(1, 5))
    k, mass = len(phi), work.ones[:count] if sample_weight is None else sample_weight
    np.divide(nearest, distance, out=ratio)
    _raise(ratio, 1.0 - s, least, phi)
    np.matmul(work.ones[:k], phi, out=row_mass)
    inverse = np.divide(1.0, row_mass, out=q)
    into.softness[b] += _weighted_sum(np.subtract(1.0, inverse, out=inverse), mass)
    np.einsum("ji,ji->i", distance, phi, out=q)
    np.multiply(nearest, k, out=mean)
    np.divide(q, mean, out=mean)
    np.log(mean, out=mean)
    mean /= s
    np.exp(mean, out=mean)
    mean *= nearest
    into.power[b] += _weighted_sum(mean, mass)
    factor = np.divide(mean, q, out=q)
    if sample_weight is not None:
        factor *= sample_weight
    row_mass *= factor
    phi *= factor


def _soft_memberships_of_runs(
    which: slice | np.ndarray,
    s: Array,
    mass: Array,
    runs: int,
    work: Workspace,
    into: Statistics,
    count: int,
) -> None:
    """Memberships of several runs at finite exponents, all at once.

    The same as `_soft_memberships` where rows are few: then calls take longer than arithmetic.
    """
    distance, phi, nearest, row_mass = (
        work.pairs(0, runs, count)[which],
        work.pairs(1, runs, count)[which],
        work.vectors(1, runs, count)[which],
        work.vectors(2, runs, count)[which],
    )
    k, exponent = distance.shape[1], s[which, None].astype(phi.dtype)
    np.divide(nearest[:, None, :], distance, out=phi)
    np.log(phi, out=phi)
    phi *= (1.0 - exponent)[:, None, :]
    np.maximum(phi, PRECISION[phi.dtype].lowest_exponent * math.log(2.0), out=phi)
    np.exp(phi, out=phi)
    np.add.reduce(phi, axis=1, out=row_mass)
    into.softness[which] += _weighted_sums(1.0 - 1.0 / row_mass, mass)
    q = np.einsum("bji,bji->bi", distance, phi)
    mean = np.log(q / (k * nearest))
    mean /= exponent
    np.exp(mean, out=mean)
    mean *= nearest
    into.power[which] += _weighted_sums(mean, mass)
    mean *= mass
    mean /= q
    row_mass *= mean
    phi *= mean[:, None, :]
    if not isinstance(which, slice):
        work.pairs(1, runs, count)[which] = phi
        work.vectors(2, runs, count)[which] = row_mass


def _weighted_sum(values: Array, mass: Array) -> float:
    """Sum over the rows of one run."""
    if values.dtype != DOUBLE:
        return float(np.multiply(values, mass, dtype=np.float64).sum())
    return float(mass @ values)


def _weighted_sums(values: Array, mass: Array) -> Array:
    """Sums over the rows, (runs,), with weights that are the same for all runs or not."""
    if values.dtype != DOUBLE:
        values, mass = values.astype(np.float64), mass.astype(np.float64)
    sums: Array = values @ mass if mass.ndim == 1 else np.einsum("bi,bi->b", values, mass)
    return sums


def _hard_memberships(phi: Array, distance: Array, nearest: Array, buffer: Array) -> None:
    """Memberships in the limit: 1 for the nearest centroid, the first of equals.

    Of one run, arrays (k, b) and (b,), or of several.
    """
    np.equal(distance, nearest[..., None, :], out=phi)
    if np.add.reduce(phi, axis=None) > nearest.size:
        np.add.reduce(phi, axis=-2, out=buffer)
        ties = np.nonzero(buffer > 1.0)
        each = np.moveaxis(phi, -2, -1)
        first = each[ties].argmax(axis=-1)
        each[ties] = 0.0
        each[(*ties, first)] = 1.0
