"""What the solver and its surroundings ask of data, wherever they are.

An engine holds data and answers with sums over them: `ewp.engine.ArrayEngine` for arrays in memory
and in files, `ewp.dask_engine.DaskEngine` for data on a cluster. The arithmetic of a block of rows
is `ewp.kernel`'s in all of them; what needs single rows (starts, re-seeding, the search of the
polish) works on `Engine.small`, which is the data themselves or a sample of them in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ewp.kernel import Array, Metric, Statistics

if TYPE_CHECKING:
    from ewp.engine import ArrayEngine

__all__ = ["Engine", "Partition"]


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
    """

    n: int
    p: int
    total: float
    center: Array
    scale: Array
    squares: Array
    n_jobs: int

    @property
    @abstractmethod
    def varying(self) -> np.ndarray:
        """Which columns are not constant."""

    @abstractmethod
    def statistics(self, theta: Array, weights: Array, s: float) -> Statistics:
        """Sufficient statistics of one MM step at centroids, weights and exponent.

        Parameters
        ----------
        theta : ndarray of shape (k, p)
            Centroids in the engine's coordinates (centred and scaled).
        weights : ndarray of shape (p,)
            Diagonal of the metric.
        s : float
            Exponent of the power mean, ``-inf`` for the minimum.
        """

    def follow(self) -> Callable[[Array, Array, float], Statistics]:
        """Return `statistics` for the steps of one run, which may use what the last one found."""
        return self.statistics

    @abstractmethod
    def small(self, k: int) -> ArrayEngine:
        """Return the data, or a sample in the same coordinates, for starts of k clusters."""

    @abstractmethod
    def sample(self, size: int) -> ArrayEngine:
        """Return at most `size` distinct rows in the same coordinates."""

    @abstractmethod
    def label(self, theta: Array, weights: Array) -> Partition:
        """Assign every row to its nearest centroid."""

    def metric(self, theta: Array, weights: Array) -> Metric:
        """Prepare centroids (in the engine's coordinates) and weights for a pass."""
        return Metric.prepare(theta, weights, float(self.squares @ weights) / self.total)

    def inside(self, centroids: Array) -> Array:
        """Translate centroids from data units to the engine's coordinates."""
        return (centroids - self.center) / self.scale

    def outside(self, theta: Array) -> Array:
        """Translate centroids from the engine's coordinates to data units."""
        return theta * self.scale + self.center
