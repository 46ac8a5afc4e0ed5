"""Metrics, sufficient statistics and buffers: what travels between the solver and blocks of rows.

They go to other processes and to the workers of a cluster too. Their first axis is that of the
runs that are computed in one pass: runs on the same rows share the matrix products, because their
weights fold into their centroids, and differ only in small arrays. What makes statistics of a block
of rows is in `ewp.engine.kernel`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from ewp.common.types import Array
from ewp.engine.divergence import SQUARED_EUCLIDEAN, BregmanDivergence
from ewp.engine.precision import DOUBLE, PRECISION

__all__ = ["Metric", "RunStatistics", "Statistics", "StepFunction", "Workspace"]

#: Up to so many features the centroids are multiplied column by column.
_TRANSPOSED = 1024


def _no_columns() -> np.ndarray:
    return np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Metric:
    """Centroids and the diagonals of the metrics of some runs, prepared for the matrix product.

    Attributes
    ----------
    theta : ndarray of shape (runs, k, p)
        Centroids in the coordinates of the blocks.
    weights : ndarray of shape (runs, p)
        Diagonals of the metrics, ``d_ij = sum_l weights_l (x_il - theta_jl)**2`` in every run; of
        the type of the blocks, as `product` and `length` are.
    product : ndarray of shape (runs * k, p + h)
        What rows are multiplied by, ``-2 theta * weights``, one run after the other, and their
        marks, ``weights * theta**2``.
    length : ndarray of shape (runs, k)
        What is added to that, ``sum_l weights_l theta_l**2`` over the columns without marks.
    longest : ndarray of shape (runs,)
        Largest of these sums over all columns.
    floor : ndarray of shape (runs,)
        Least squared distance.
    runs, k : int
        Number of runs, and of centroids of every run.
    divergence : BregmanDivergence
    columns : ndarray of int, shape (h,)
        Columns with missing values.
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
    columns: np.ndarray = field(default_factory=_no_columns)

    @classmethod
    def prepare(
        cls,
        theta: Array,
        weights: Array,
        squares: Array,
        total: float,
        divergence: BregmanDivergence = SQUARED_EUCLIDEAN,
        columns: np.ndarray | None = None,
        dtype: np.dtype[Any] = DOUBLE,
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
        columns : ndarray of int, shape (h,), optional
            Columns with missing values; their squares are over observed ones.
        dtype : numpy.dtype
            Type of the blocks.
        """
        runs, k, p = theta.shape
        columns = _no_columns() if columns is None else columns
        width = p + len(columns)
        # the layout that the matrix product reads fastest
        transposed = p <= _TRANSPOSED
        product = np.empty((width, runs * k)).T if transposed else np.empty((runs * k, width))
        whole = product.reshape(runs, k, width)
        length = divergence.fold(theta, weights[:, None, :], whole[..., :p])
        longest = np.abs(length).max(axis=1)
        if len(columns):
            added = weights[:, None, :] * divergence.conjugate(theta)
            whole[..., p:] = added[..., columns]
            added[..., columns] = 0.0
            length = added.sum(axis=-1)
        spread = np.einsum("bl,l->b", weights, squares) / total
        precision = PRECISION[dtype]
        floor = np.maximum(precision.floor * (spread + longest), precision.tiny)
        if dtype != DOUBLE:
            weights, length = _normal(weights, dtype), length.astype(dtype)
            product = _normal(product, dtype)
        return cls(theta, weights, product, length, longest, floor, runs, k, divergence, columns)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the blocks."""
        return self.product.dtype


class RunStatistics(NamedTuple):
    """The statistics of one run, see `Statistics`."""

    sums: Array
    mass: Array
    scatter: Array
    power: float
    nearest: float
    softness: float
    seen: Array
    columns: np.ndarray

    def entry_mass(self) -> Array:
        """Weight behind every entry of the sums, see `Statistics.entry_mass`."""
        return _entry_mass(self)


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
    seen : ndarray of shape (runs, k, h)
        ``sum_i a_i phi_ij`` over the rows in which a column with missing values is observed.
    columns : ndarray of int, shape (h,)
        These columns.
    """

    sums: Array
    mass: Array
    scatter: Array
    power: Array
    nearest: Array
    softness: Array
    seen: Array
    columns: np.ndarray = field(default_factory=_no_columns)

    @classmethod
    def zeros(cls, runs: int, k: int, p: int, columns: np.ndarray | None = None) -> Statistics:
        """Return statistics of no rows."""
        columns = _no_columns() if columns is None else columns
        each = np.zeros((runs, k, p)), np.zeros((runs, k)), np.zeros((runs, p))
        power, nearest, softness = np.zeros((3, runs))
        return cls(*each, power, nearest, softness, np.zeros((runs, k, len(columns))), columns)

    @classmethod
    def join(cls, parts: list[Statistics]) -> Statistics:
        """Return the statistics of the runs of all parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        names = [one.name for one in fields(cls) if one.name != "columns"]
        joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(**joined, columns=parts[0].columns)

    def __iadd__(self, other: Statistics) -> Statistics:
        self.sums += other.sums
        self.mass += other.mass
        self.scatter += other.scatter
        self.power += other.power
        self.nearest += other.nearest
        self.softness += other.softness
        self.seen += other.seen
        return self

    def entry_mass(self) -> Array:
        """Weight behind every entry of the sums, (runs, k, p), or (runs, k, 1) if all is observed.

        Of a column with missing values only the rows count in which it is observed.
        """
        return _entry_mass(self)

    def run(self, b: int) -> RunStatistics:
        """Return the statistics of one run."""
        return RunStatistics(
            self.sums[b],
            self.mass[b],
            self.scatter[b],
            float(self.power[b]),
            float(self.nearest[b]),
            float(self.softness[b]),
            self.seen[b],
            self.columns,
        )


def _normal(values: Array, dtype: np.dtype[Any]) -> Array:
    """Return values in another type and the same layout, 0 for those below its normal numbers."""
    return np.where(np.abs(values) < PRECISION[dtype].tiny, 0.0, values).astype(dtype)


def _entry_mass(stats: Statistics | RunStatistics) -> Array:
    mass = stats.mass[..., None]
    if not len(stats.columns):
        return mass
    found = np.repeat(mass, stats.sums.shape[-1], axis=-1)
    found[..., stats.columns] = stats.seen
    return found


#: Statistics of a step at centroids (runs, k, p), weights (runs, p) and exponents (runs,), perhaps
#: with weights of the rows in every run.
StepFunction = Callable[..., Statistics]


class Workspace:
    """Buffers for blocks of at most `rows` rows and `runs` runs, allocated once for a whole fit.

    The blocks have `p` columns, marks of observed values among them, and are of type `dtype`.
    """

    def __init__(
        self, rows: int, p: int, k: int, runs: int = 1, dtype: np.dtype[Any] = DOUBLE
    ) -> None:
        self.k, self.p, self.runs, self.dtype = k, p, runs, dtype
        self._rows = np.empty((2, rows * p), dtype)
        self._pairs = np.empty((3, runs * k * rows), dtype)
        self._vectors = np.empty((5, runs * rows), dtype)
        self.sums = np.empty((runs * k, p), dtype)
        self.ones = np.ones(max(rows, k), dtype)

    def rows(self, i: int, count: int) -> Array:
        """Return the i-th of two buffers for `count` rows, contiguous."""
        return self._rows[i, : count * self.p].reshape(count, self.p)

    def vectors(self, i: int, runs: int, count: int) -> Array:
        """Return the i-th of five buffers of shape (`runs`, `count`), contiguous."""
        return self._vectors[i, : runs * count].reshape(runs, count)

    def pairs(self, i: int, runs: int, count: int) -> Array:
        """Return the i-th of three buffers of shape (`runs`, k, `count`), contiguous."""
        return self._pairs[i, : runs * self.k * count].reshape(runs, self.k, count)
