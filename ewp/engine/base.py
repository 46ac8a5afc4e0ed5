"""What a pass over rows is given and gives back, and what the solver asks of data.

`Metric`, `Statistics` and `Workspace` are what travels between the solver and the blocks of rows,
to other processes and to the workers of a cluster. Their first axis is that of the runs that are
computed in one pass: runs on the same rows share the matrix products, because their weights fold
into their centroids, and differ only in small arrays. An `Engine` holds data and answers with sums
over them. What needs single rows (starts, re-seeding, the search of the polish) asks a `RowEngine`,
which `Engine.sample_for_starts` returns: the data themselves or a sample of them in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ewp.common.types import Array
from ewp.engine.divergence import SQUARED_EUCLIDEAN, BregmanDivergence

__all__ = [
    "Engine",
    "Metric",
    "Partition",
    "RowEngine",
    "RunStatistics",
    "Statistics",
    "StepFunction",
    "Workspace",
    "step_of_run",
]

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
    divergence : BregmanDivergence
    """

    theta: Array
    weights: Array
    product: Array
    length: Array
    longest: Array
    floor: Array
    divergence: BregmanDivergence = SQUARED_EUCLIDEAN

    @classmethod
    def prepare(
        cls,
        theta: Array,
        weights: Array,
        spread: Array,
        divergence: BregmanDivergence = SQUARED_EUCLIDEAN,
    ) -> Metric:
        """Fold the weights into the centroids; `spread` is the mean squared distance to 0."""
        runs, k, p = theta.shape
        # the layout that the matrix product reads fastest
        transposed = p <= _TRANSPOSED
        product = np.empty((p, runs * k)).T if transposed else np.empty((runs * k, p))
        length = divergence.fold(theta, weights[:, None, :], product.reshape(runs, k, p))
        longest = length.max(axis=1)
        floor = np.maximum(_FLOOR * (spread + longest), _TINY)
        return cls(theta, weights, product, length, longest, floor, divergence)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return self.theta.shape[0]

    @property
    def k(self) -> int:
        """Number of centroids of every run."""
        return self.theta.shape[1]


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


def step_of_run(statistics: StepFunction, theta: Array, weights: Array, s: float) -> RunStatistics:
    """Statistics of a step of one run: centroids (k, p), weights (p,) and an exponent."""
    return statistics(theta[None], weights[None], np.array([s])).run(0)


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


class Partition(NamedTuple):
    """Labels of all rows, and number of rows, weight and sum of squares of every cluster."""

    labels: Any
    size: np.ndarray
    mass: Array
    within: Array


class Engine(ABC):
    """What the solver and its surroundings ask of data, wherever they are.

    Attributes
    ----------
    n, p : int
    total : float
        Sum of the sample weights.
    center, scale : ndarray of shape (p,)
        Data are centred and divided by these before anything is computed.
    squares : ndarray of shape (p,)
        Weighted sum of squares of every (centred and scaled) column.
    varying : ndarray of bool, shape (p,)
        Columns that are not constant.
    n_jobs : int
    divergence : BregmanDivergence
    """

    n: int
    p: int
    total: float
    center: Array
    scale: Array
    squares: Array
    n_jobs: int
    divergence: BregmanDivergence = SQUARED_EUCLIDEAN

    @property
    @abstractmethod
    def varying(self) -> np.ndarray:
        """Which columns are not constant."""

    @abstractmethod
    def statistics(self, theta: Array, weights: Array, s: Array) -> Statistics:
        """Sufficient statistics of one MM step of some runs, in one pass over the data.

        Parameters
        ----------
        theta : ndarray of shape (runs, k, p)
            Centroids in the engine's coordinates (centred and scaled).
        weights : ndarray of shape (runs, p)
            Diagonals of the metrics.
        s : ndarray of shape (runs,)
            Exponents of the power means, ``-inf`` for the minimum.
        """

    def step_function(self) -> StepFunction:
        """Return `statistics` for the steps of one run, which may use what the last one found."""
        return self.statistics

    @abstractmethod
    def sample_for_starts(self, k: int) -> RowEngine:
        """Return the data, or a sample in the same coordinates, for starts of k clusters."""

    @abstractmethod
    def sample(self, size: int) -> RowEngine:
        """Return at most `size` distinct rows in the same coordinates."""

    @abstractmethod
    def label(self, theta: Array, weights: Array) -> Partition:
        """Assign every row to its nearest of k centroids."""

    def metric(self, theta: Array, weights: Array) -> Metric:
        """Prepare centroids and weights of some runs for a pass."""
        spread = np.array([float(self.squares @ w) / self.total for w in weights])
        return Metric.prepare(theta, weights, spread, self.divergence)

    def to_engine_units(self, centroids: Array) -> Array:
        """Translate centroids from data units to the engine's coordinates."""
        return (centroids - self.center) / self.scale

    def to_data_units(self, theta: Array) -> Array:
        """Translate centroids from the engine's coordinates to data units."""
        return theta * self.scale + self.center


class RowEngine(Engine):
    """An engine whose rows are at hand.

    Attributes
    ----------
    X : ndarray or RowSource of shape (n, p)
        The rows in data units.
    sample_weight : ndarray of shape (n,) or None
    prepared : ndarray of shape (n, p) or None
        The rows in the engine's coordinates, where a copy is kept.
    """

    X: Any
    sample_weight: Array | None
    prepared: Array | None

    @property
    @abstractmethod
    def canonical(self) -> tuple[np.ndarray, np.ndarray]:
        """Order of the rows by value, and which of them differ from the row before."""

    @property
    def order(self) -> np.ndarray:
        """Order of the rows by value, see `canonical`."""
        return self.canonical[0]

    @property
    @abstractmethod
    def row_lengths(self) -> Array:
        """Squared lengths of the rows in units of the columns' standard deviations."""

    @abstractmethod
    def rows(self, index: np.ndarray | slice) -> Array:
        """Rows in the engine's coordinates."""

    @abstractmethod
    def take(self, index: np.ndarray, columns: np.ndarray) -> Array:
        """Some columns of some rows in the engine's coordinates."""

    @abstractmethod
    def with_columns(self, columns: np.ndarray) -> RowEngine:
        """Return the same rows in the same coordinates with some of the columns."""

    @abstractmethod
    def lengths(self, weights: Array) -> Array:
        """Squared weighted lengths of all rows."""

    @abstractmethod
    def distances(self, theta: Array, weights: Array, lengths: Array | None = None) -> Array:
        """Squared weighted distances of all rows to all of k centroids, an (n, k) array."""

    @abstractmethod
    def assign(self, theta: Array, weights: Array) -> tuple[np.ndarray, Array]:
        """Nearest centroid of every row and the squared weighted distance to it."""

    @abstractmethod
    def two_nearest(self, theta: Array, weights: Array) -> tuple[np.ndarray, Array, Array]:
        """Nearest centroid of every row, and the squared distances to it and to the next."""
