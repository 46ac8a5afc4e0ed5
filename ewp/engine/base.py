"""What the solver and its surroundings ask of data, wherever they are.

An `Engine` holds data and answers with sums over them, for one run or for several in one pass. What
needs single rows (starts, re-seeding, the search of the polish) asks a `RowEngine`, which
`Engine.sample_for_starts` returns: the data themselves or a sample of them in memory. The
arithmetic of a block of rows is the kernel's in all engines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from ewp.common.types import Array
from ewp.data.decorrelation import Decorrelation
from ewp.data.missing import Missingness
from ewp.engine.divergence import SQUARED_EUCLIDEAN, BregmanDivergence
from ewp.engine.precision import DOUBLE
from ewp.engine.statistics import Metric, Statistics, StepFunction

__all__ = ["Deviations", "Engine", "Partition", "RowEngine", "RowMass"]


class Partition(NamedTuple):
    """Labels of all rows, and number of rows, weight and sum of squares of every cluster."""

    labels: Any
    size: np.ndarray
    mass: Array
    within: Array


@dataclass(frozen=True)
class RowMass:
    """Weights of the rows that differ between runs: folds, subsamples, resamples.

    Attributes
    ----------
    table : ndarray of shape (m, n)
        Weights of all rows, m different ones.
    index : ndarray of shape (runs,)
        Which of them every run has.
    """

    table: Array
    index: np.ndarray

    @property
    def totals(self) -> Array:
        """Weight of all rows in every run."""
        sums: Array = self.table.sum(axis=1)
        return sums[self.index]

    def take(self, runs: np.ndarray | slice) -> RowMass:
        """Return the weights of some of the runs."""
        return RowMass(self.table, self.index[runs])

    def of_rows(self, rows: slice) -> Array:
        """Return the weights of some rows, an array (runs, rows)."""
        return self.table[:, rows][self.index]


class Deviations(NamedTuple):
    """Sums over the rows of every cluster, of differences to its centroid.

    Differences keep the digits that sums of squares about one common point lose where clusters lie
    far apart.

    Attributes
    ----------
    mass : ndarray of shape (k, 1) or (k, p)
        Weight of the rows, where columns have missing values that of the rows in which they are
        observed.
    sums : ndarray of shape (k, p)
        Weighted sums of the differences of observed values.
    squares : ndarray of shape (p,)
        Weighted sums of their squares, over all clusters.
    nearest : float
        Weighted sum of the squared distances to the nearest centroid.
    """

    mass: Array
    sums: Array
    squares: Array
    nearest: float

    def __add__(self, other: Any) -> Deviations:
        return Deviations(*(one + more for one, more in zip(self, other, strict=True)))


class Engine(ABC):
    """What the solver and its surroundings ask of data, wherever they are.

    Attributes
    ----------
    n, p : int
    total : float
        Sum of the sample weights.
    center, scale : ndarray of shape (p,)
        Data are centred and divided by these before anything is computed. Where values are
        missing, the root of the observed share is part of the scale: squares of what is observed
        then stand for those of all rows.
    squares : ndarray of shape (p,)
        Weighted sum of squares of every (centred and scaled) column.
    varying : ndarray of bool, shape (p,)
        Columns that are not constant.
    n_jobs : int
    divergence : BregmanDivergence
    decorrelation : Decorrelation or None
        How the rows of the engine came from the data, if they were decorrelated.
    missingness : Missingness
        Which columns have missing values.
    dtype : numpy.dtype
        Type in which blocks of rows are multiplied, see `ewp.engine.precision`.
    """

    n: int
    p: int
    total: float
    center: Array
    scale: Array
    squares: Array
    n_jobs: int
    divergence: BregmanDivergence = SQUARED_EUCLIDEAN
    decorrelation: Decorrelation | None = None
    missingness: Missingness
    dtype: np.dtype[Any] = DOUBLE

    @property
    def divisors(self) -> Array:
        """What the columns are divided by, but for the root of their observed share."""
        if not self.missingness:
            return self.scale
        divisors: Array = self.scale / np.sqrt(self.missingness.share)
        return divisors

    @property
    @abstractmethod
    def varying(self) -> np.ndarray:
        """Which columns are not constant."""

    @abstractmethod
    def statistics(
        self, theta: Array, weights: Array, s: Array, mass: RowMass | None = None
    ) -> Statistics:
        """Sufficient statistics of one MM step of some runs, in one pass over the data.

        Parameters
        ----------
        theta : ndarray of shape (runs, k, p)
            Centroids in the engine's coordinates (centred and scaled).
        weights : ndarray of shape (runs, p)
            Diagonals of the metrics.
        s : ndarray of shape (runs,)
            Exponents of the power means, ``-inf`` for the minimum.
        mass : RowMass, optional
            Weights of the rows in every run, in the place of the sample weights.
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

    @abstractmethod
    def deviations(self, theta: Array, weights: Array) -> Deviations:
        """Sums over the rows of every one of k centroids, from differences to it."""

    def metric(self, theta: Array, weights: Array) -> Metric:
        """Prepare centroids and weights of some runs for a pass."""
        return Metric.prepare(
            theta,
            weights,
            self.squares,
            self.total,
            self.divergence,
            self.missingness.columns,
            self.dtype,
        )

    def in_double(self) -> Self:
        """Return the same data in the same coordinates, multiplied in double precision."""
        if self.dtype == DOUBLE:
            return self
        # all is known already: a copy that is made by the class would compute it again
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__)
        found._forget()
        found.dtype = DOUBLE
        return found

    def _forget(self) -> None:
        """Let go of what belongs to the type of the blocks: a copy shares the data alone."""
        self._samples: dict[int, Any] = {}

    @property
    def column_deviations(self) -> Array:
        """Standard deviations of the features in data units, 0 for constant ones."""
        if self.decorrelation is None:
            found: Array = np.sqrt(self.squares / self.total) * self.divisors
            return found
        return np.where(self.varying, self.decorrelation.scale, 0.0)

    @property
    def means(self) -> Array:
        """Means of the features in data units, where they are subtracted."""
        return self.center if self.decorrelation is None else self.decorrelation.center

    @property
    def movement_units(self) -> Array:
        """What squared movements of centroids are multiplied by, to be in units of variances.

        Of other divergences these are dispersions, to second order; 0 for constant columns.
        """
        varying = self.squares > 0
        found: Array = varying * self.total / np.where(varying, self.squares, 1.0)
        return found

    @property
    def dispersion_divisors(self) -> Array:
        """What dispersions in data units are divided by in the engine's coordinates."""
        found: Array = self.scale**2
        return found

    def to_engine_units(self, centroids: Array) -> Array:
        """Translate centroids from data units to the engine's coordinates."""
        if self.decorrelation is not None:
            centroids = self.decorrelation.apply(centroids)
        return (centroids - self.center) / self.scale

    def to_data_units(self, theta: Array) -> Array:
        """Translate centroids from the engine's coordinates to data units."""
        centroids: Array = theta * self.scale + self.center
        return centroids if self.decorrelation is None else self.decorrelation.invert(centroids)


class RowEngine(Engine):
    """An engine whose rows are at hand.

    Attributes
    ----------
    X : ndarray or RowSource of shape (n, p)
        The rows in data units.
    sample_weight : ndarray of shape (n,) or None
    prepared : ndarray of shape (n, p + h) or None
        The rows in the engine's coordinates, with marks of the h columns with missing values,
        where a copy is kept.
    """

    X: Any
    sample_weight: Array | None
    prepared: Array | None

    @property
    @abstractmethod
    def canonical(self) -> tuple[np.ndarray, np.ndarray]:
        """Order of the rows by value, and which of them differ from the row before."""

    @property
    @abstractmethod
    def order(self) -> np.ndarray:
        """Order of the rows by value, see `canonical`."""

    @property
    @abstractmethod
    def row_lengths(self) -> Array:
        """Squared lengths of the rows in units of the columns' standard deviations."""

    @abstractmethod
    def rows(self, index: np.ndarray | slice) -> Array:
        """Rows in the engine's coordinates, with the mean (0) where values are missing."""

    def seeds(self, index: np.ndarray) -> Array:
        """Centroids to start from at some rows: the rows, where centroids may lie there."""
        return self.rows(index)

    def tangents(self, rows: slice) -> Array:
        """Differences from the mean whose squares are divergences from it, to second order."""
        return self.rows(rows)

    @abstractmethod
    def marked_rows(self, index: np.ndarray | slice) -> Array:
        """Rows and their marks, as blocks of the kernel are."""

    @abstractmethod
    def part(self, index: np.ndarray, sample_weight: Array) -> RowEngine:
        """Return some of the rows, with weights of their own, in the same coordinates."""

    @abstractmethod
    def with_weights(self, sample_weight: Array) -> RowEngine:
        """Return the same rows with other weights, in the same coordinates, without a copy."""

    @abstractmethod
    def equal_rows(self, row: int) -> np.ndarray:
        """Which rows have the values of one of them."""

    @abstractmethod
    def take(self, index: np.ndarray, columns: np.ndarray) -> Array:
        """Some columns of some rows in the engine's coordinates."""

    @abstractmethod
    def take_marks(self, index: np.ndarray, columns: np.ndarray) -> Array | None:
        """Where some columns of some rows are observed, 1 or 0; None where none can be missing."""

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
    def lengths_of_runs(self, weights: Array) -> Array:
        """Squared lengths of all rows in the metrics of some runs, a (runs, n) array."""

    @abstractmethod
    def distances_of_runs(self, theta: Array, weights: Array, lengths: Array) -> Array:
        """Squared distances of all rows to a few centroids of each of some runs.

        Good to the last digits of the rows' own lengths, and held at once: for searches.

        Parameters
        ----------
        theta : ndarray of shape (runs, t, p)
        weights : ndarray of shape (runs, p)
        lengths : ndarray of shape (runs, n)
            From `lengths_of_runs`.

        Returns
        -------
        ndarray of shape (runs, t, n)
        """

    @abstractmethod
    def assign(self, theta: Array, weights: Array) -> tuple[np.ndarray, Array]:
        """Nearest centroid of every row and the squared weighted distance to it."""

    @abstractmethod
    def two_nearest(self, theta: Array, weights: Array) -> tuple[np.ndarray, Array, Array]:
        """Nearest centroid of every row, and the squared distances to it and to the next."""
