r"""Passes over rows with one metric for every cluster.

A row of squares beside a row of values makes distances in the metrics of all clusters one matrix
product: :math:`d_{ij} = \sum_l w_{jl} (x_{il} - \theta_{jl})^2` is the product of :math:`[x_i,
x_i^2]` with :math:`[-2 w_j \theta_j, w_j]`, plus a number for the cluster. The same wide rows give
the sums of a step, values and squares of every cluster, by one product with the memberships. A
cluster's metric has a price :math:`c_j`, which every distance to it includes, so that metrics of
different concentration can be compared (`ewp.solver.cluster_weights` says which). As in
`ewp.engine.statistics`, the first axis is that of runs on the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ewp.common.types import Array
from ewp.engine.base import RowEngine, RowMass
from ewp.engine.kernel import hard_sums
from ewp.engine.precision import DOUBLE, PRECISION

__all__ = ["ClusterMetric", "ClusterStatistics", "cluster_distances", "cluster_statistics"]

#: Distances of so many pairs of a row and a centroid are held at once.
_PAIRS_AT_ONCE = 2**18
#: Distances below this share of the centroid's squared length are made of differences.
_CANCELLED = 1e-6
#: Powers of ratios are not below the exponential of this.
_LOWEST = -690.0


@dataclass(frozen=True)
class ClusterMetric:
    """Centroids of some runs, the diagonals of their metrics, and the prices of these.

    Attributes
    ----------
    theta, weights : ndarray of shape (runs, k, p)
        In the coordinates of the engine.
    price : ndarray of shape (runs, k)
        What is added to the squared distances to every centroid, not negative.
    """

    theta: Array
    weights: Array
    price: Array

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of runs, centroids and columns."""
        runs, k, p = self.theta.shape
        return runs, k, p

    def take(self, runs: np.ndarray | slice) -> ClusterMetric:
        """Return some of the runs."""
        return ClusterMetric(self.theta[runs], self.weights[runs], self.price[runs])

    def floor(self, squares: Array, total: float) -> Array:
        """Least squared distances, (runs, k): smaller ones are rounding errors."""
        spread = (self.weights @ squares) / total
        length = (self.weights * self.theta**2).sum(axis=-1)
        kind = PRECISION[DOUBLE]
        found: Array = np.maximum(kind.floor * (spread + length), kind.tiny)
        return found


@dataclass
class ClusterStatistics:
    """Sufficient statistics of an MM step of some runs, cluster by cluster.

    Attributes
    ----------
    sums, squares : ndarray of shape (runs, k, p)
        ``sum_i a_i phi_ij x_i`` and the same of squares.
    mass : ndarray of shape (runs, k)
        ``sum_i a_i phi_ij``.
    power, nearest, softness : ndarray of shape (runs,)
        As in `ewp.engine.statistics.Statistics`, of distances with their prices.
    """

    sums: Array
    squares: Array
    mass: Array
    power: Array
    nearest: Array
    softness: Array

    @classmethod
    def zeros(cls, runs: int, k: int, p: int) -> ClusterStatistics:
        """Return statistics of no rows."""
        sums, squares = np.zeros((2, runs, k, p))
        power, nearest, softness = np.zeros((3, runs))
        return cls(sums, squares, np.zeros((runs, k)), power, nearest, softness)


def _blocks(engine: RowEngine, pairs: int) -> Iterator[tuple[slice, Array]]:
    """Rows with their squares beside them, as many as make so many pairs with a row each."""
    size = max(_PAIRS_AT_ONCE // pairs, 32)
    for start in range(0, engine.n, size):
        rows = slice(start, min(start + size, engine.n))
        values = engine.rows(rows)
        wide = np.empty((len(values), 2 * engine.p))
        wide[:, : engine.p] = values
        np.multiply(values, values, out=wide[:, engine.p :])
        yield rows, wide


def _block_distances(wide: Array, metric: ClusterMetric, floor: Array) -> Array:
    """Squared distances of a block with their prices, an array (runs, k, rows)."""
    runs, k, p = metric.shape
    product = np.empty((runs * k, 2 * p))
    product[:, p:] = metric.weights.reshape(-1, p)
    folded = metric.weights * metric.theta
    product[:, :p] = folded.reshape(-1, p)
    product[:, :p] *= -2.0
    length = np.einsum("bjl,bjl->bj", folded, metric.theta)
    distance: Array = (product @ wide.T).reshape(runs, k, -1)
    distance += length[..., None]
    small = np.nonzero(distance < _CANCELLED * length[..., None])
    if len(small[0]):
        b, j, i = small
        gaps = wide[i, :p] - metric.theta[b, j]
        distance[small] = np.einsum("ml,ml,ml->m", metric.weights[b, j], gaps, gaps)
    np.maximum(distance, floor[..., None], out=distance)
    distance += metric.price[..., None]
    return distance


def cluster_distances(engine: RowEngine, metric: ClusterMetric) -> Iterator[tuple[slice, Array]]:
    """Squared distances of all rows with their prices, block by block.

    Parameters
    ----------
    engine : RowEngine
    metric : ClusterMetric

    Yields
    ------
    rows : slice
    distance : ndarray of shape (runs, k, rows)
    """
    runs, k, _ = metric.shape
    floor = metric.floor(engine.squares, engine.total)
    for rows, wide in _blocks(engine, runs * k):
        yield rows, _block_distances(wide, metric, floor)


def cluster_statistics(
    engine: RowEngine, metric: ClusterMetric, s: Array, mass: RowMass | None = None
) -> ClusterStatistics:
    """Sufficient statistics of one MM step of some runs, in one pass over the rows.

    Parameters
    ----------
    engine : RowEngine
    metric : ClusterMetric
    s : ndarray of shape (runs,)
        Exponents of the power means, ``-inf`` for the minimum.
    mass : RowMass, optional
        Weights of the rows in every run, in the place of the sample weights.
    """
    runs, k, p = metric.shape
    floor = metric.floor(engine.squares, engine.total)
    found = ClusterStatistics.zeros(runs, k, p)
    hard, soft = np.flatnonzero(np.isinf(s)), np.flatnonzero(np.isfinite(s))
    for rows, wide in _blocks(engine, runs * k):
        distance = _block_distances(wide, metric, floor)
        if mass is not None:
            weight = mass.of_rows(rows)
        elif engine.sample_weight is not None:
            weight = np.broadcast_to(engine.sample_weight[rows], (runs, len(wide)))
        else:
            weight = np.ones((runs, len(wide)))
        nearest = distance.min(axis=1)
        found.nearest += np.einsum("bi,bi->b", nearest, weight)
        if len(hard):
            _add_hard(wide, distance, weight, hard, found)
        if len(soft):
            _add_soft(wide, distance, nearest, weight, s, soft, found)
    found.power[hard] = found.nearest[hard]
    return found


def _add_hard(
    wide: Array, distance: Array, weight: Array, runs: np.ndarray, into: ClusterStatistics
) -> None:
    """Add the sums of a block in the limit: every row counts for its nearest centroid."""
    k = distance.shape[1]
    labels = distance[runs].argmin(axis=1)
    sums = hard_sums(labels, k, weight[runs], wide)
    p = wide.shape[1] // 2
    into.sums[runs] += sums[..., :p]
    into.squares[runs] += sums[..., p:]
    place = labels + k * np.arange(len(runs))[:, None]
    counted = np.bincount(place.ravel(), weight[runs].ravel(), len(runs) * k)
    into.mass[runs] += counted.reshape(-1, k)


def _add_soft(
    wide: Array,
    distance: Array,
    nearest: Array,
    weight: Array,
    s: Array,
    runs: np.ndarray,
    into: ClusterStatistics,
) -> None:
    """Add the sums of a block at finite exponents, with the memberships of the power means."""
    d, m, a = distance[runs], nearest[runs], weight[runs]
    exponent, k = s[runs, None], distance.shape[1]
    phi = np.divide(m[:, None, :], d)
    np.log(phi, out=phi)
    phi *= (1.0 - exponent)[..., None]
    np.maximum(phi, _LOWEST, out=phi)
    np.exp(phi, out=phi)
    into.softness[runs] += ((1.0 - 1.0 / phi.sum(axis=1)) * a).sum(axis=1)
    q = np.einsum("bji,bji->bi", d, phi)
    mean = np.exp(np.log(q / (k * m)) / exponent) * m
    into.power[runs] += (mean * a).sum(axis=1)
    phi *= (mean * a / q)[:, None, :]
    into.mass[runs] += phi.sum(axis=-1)
    sums = (phi.reshape(-1, len(wide)) @ wide).reshape(len(runs), k, -1)
    p = wide.shape[1] // 2
    into.sums[runs] += sums[..., :p]
    into.squares[runs] += sums[..., p:]
