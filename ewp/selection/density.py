r"""Held-out density of a partition: what rows it never saw are worth, in nats per row.

A partition of training rows is a statement on the joint density of all features: that along the
directions which tell its clusters apart the rows are a mixture, and not one elliptical cloud. So
rows that were held out are projected on these directions, and their log-density under the mixture
is compared with that under a single cloud of the same kind: both have a full covariance (a common
one within the clusters) and the tails of Student's t. What the other directions hold given these is
common to both and cancels. The score needs no labels, does not change with the units of a feature,
and puts penalties, scalings, forms and numbers of clusters on one axis. Correlation alone gains
nothing, and neither do heavy tails.

What keeps it honest when features are many:

- a feature whose means do not differ significantly between the clusters (F test, Bonferroni) has no
  part in the directions;
- directions are the discriminants for a covariance of the rows that is shrunk towards its diagonal,
  little, half, or wholly, as the training rows are told apart best;
- a training row is projected on directions that were found without it, so that its projection is
  distributed as those of new rows, however many features there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist
from scipy.special import gammaln, logsumexp
from scipy.stats import f as f_distribution

from ewp.common.types import Array
from ewp.data.decorrelation import shrinkage_intensity

__all__ = ["FoldDensity", "Judgement", "Mixture", "Projection", "Scatter", "log_t", "scatter_t"]

_LEVEL = 0.05
#: Degrees of freedom of the tails.
TAILS = 5.0
#: Covariances of the rows shrunk by the analytic intensity, by half, and to the diagonal.
_SHRINKAGE = (None, 0.5, 1.0)
#: With so many rows a feature the covariance is shrunk by the analytic intensity.
_FEW_FEATURES = 10
#: Covariances of more products than this are taken as diagonal.
_MOST_PRODUCTS = 5e7
#: Steps in which the scatter of a t distribution is found; variance added, as a share.
_SCATTER_STEPS, _RIDGE = 4, 1e-4
#: Directions whose share of the between-cluster variance is smaller are rounding errors.
_ROUNDING = 1e-7
#: Share of a total sum of squares that is left within the clusters at least.
_LEAST_WITHIN = 1e-9


def log_t(squared: Array, log_det: Any, dimension: int) -> Array:
    """Log-density of Student's t at squared Mahalanobis distances from its scatter matrix."""
    half = 0.5 * (TAILS + dimension)
    constant = gammaln(half) - gammaln(0.5 * TAILS) - 0.5 * dimension * np.log(np.pi * TAILS)
    density: Array = constant - 0.5 * log_det - half * np.log1p(squared / TAILS)
    return density


class Scatter(NamedTuple):
    """Scatter matrix of a t distribution, by its Cholesky factor."""

    lower: Array

    @property
    def log_det(self) -> float:
        """Logarithm of its determinant."""
        return 2.0 * float(np.log(np.diag(self.lower)).sum())

    def squared(self, difference: Array) -> Array:
        """Squared Mahalanobis lengths of rows."""
        solved = solve_triangular(self.lower, difference.T, lower=True, check_finite=False)
        found: Array = np.einsum("ij,ij->j", solved, solved)
        return found

    def to(self, rows: Array, points: Array) -> Array:
        """Squared Mahalanobis distances of rows to some points, a (points, rows) array."""
        solved = solve_triangular(
            self.lower, np.vstack([points, rows]).T, lower=True, check_finite=False
        ).T
        found: Array = cdist(solved[: len(points)], solved[len(points) :], "sqeuclidean")
        return found


def scatter_t(difference: Array, mass: Array, floor: Array) -> tuple[Scatter, Array]:
    """Maximum-likelihood scatter of centred rows under t tails, and the rows' weights in it.

    Parameters
    ----------
    difference : ndarray of shape (n, d)
        Rows minus their means.
    mass : ndarray of shape (n,)
    floor : ndarray of shape (d,)
        Variances that are added.
    """
    total, dimension = float(mass.sum()), difference.shape[1]
    trust = np.ones(len(difference))
    for _ in range(_SCATTER_STEPS):
        scatter = (difference.T * (mass * trust)) @ difference / total + np.diag(floor)
        found = Scatter(np.linalg.cholesky(scatter))
        trust = (TAILS + dimension) / (TAILS + found.squared(difference))
    return found, trust


class Judgement(NamedTuple):
    """What held-out rows say of a partition.

    Attributes
    ----------
    gain : ndarray of shape (m,)
        Log-density of every held-out row under the mixture minus that under one cloud.
    features : ndarray
        Columns whose means differ significantly between the clusters.
    """

    gain: Array
    features: np.ndarray


class Projection(NamedTuple):
    """Rows along the directions that tell clusters apart, and the mixture the training rows imply.

    Attributes
    ----------
    train, test : ndarray of shape (n, d), (m, d)
    labels : ndarray of shape (n,)
    mass : ndarray of shape (n,)
        Numbers of copies of the training rows.
    mixture : Mixture
    features : ndarray
        Columns whose means differ significantly between the clusters.
    """

    train: Array
    test: Array
    labels: np.ndarray
    mass: Array
    mixture: Mixture
    features: np.ndarray


class _Coordinates(NamedTuple):
    """Training and test rows in coordinates where a shrunk covariance is the identity."""

    train: Array
    test: Array
    shrinkage: float


class FoldDensity:
    """Judges partitions of training rows by test rows.

    Parameters
    ----------
    train, test : ndarray
        Rows from `ewp.selection.coordinates.scoring_coordinates`.
    weight : ndarray or None
        Numbers of copies of the training rows.
    """

    def __init__(self, train: Array, test: Array, weight: Array | None) -> None:
        self.mass = np.ones(len(train)) if weight is None else weight
        self.total = float(self.mass.sum())
        center = self.mass @ train / self.total
        spread = np.sqrt(np.maximum(self.mass @ (train - center) ** 2 / self.total, 0.0))
        # by values: the mean of equal ones may differ from them in the last place
        self.columns = np.flatnonzero((np.ptp(train, axis=0) > 0) & (spread > 0))
        center, spread = center[self.columns], spread[self.columns]
        self.train = (train[:, self.columns] - center) / spread
        self.test = (test[:, self.columns] - center) / spread
        self._judged: dict[bytes, Judgement] = {}
        self._coordinates: dict[bytes, list[_Coordinates]] = {}

    def judge(self, labels: np.ndarray) -> Judgement:
        """Compare the mixture that a partition implies with one cloud, on the test rows.

        Parameters
        ----------
        labels : ndarray
            Clusters of the training rows.
        """
        # numbered as they appear: equal partitions have equal scores, to the last digit
        _, first, found = np.unique(labels, return_index=True, return_inverse=True)
        found = np.argsort(np.argsort(first))[found]
        key = found.astype(np.uint16).tobytes()
        if key not in self._judged:  # many penalties lead to one partition
            projected = self.project(found)
            if projected is None:
                self._judged[key] = Judgement(np.zeros(len(self.test)), self.columns[:0])
            else:
                gain = projected.mixture.gain(projected.test)
                self._judged[key] = Judgement(gain, projected.features)
        return self._judged[key]

    def _significant(self, mass: Array, member: Array) -> np.ndarray:
        """Which columns have means that differ significantly between clusters."""
        k = len(mass)
        degrees = max(self.total - k, 1e-9)
        means = (member @ self.train) / mass[:, None]
        between = np.minimum(mass @ means**2 / self.total, 1.0 - _LEAST_WITHIN)
        ratio = between / (1.0 - between) * degrees / (k - 1)
        p_value = f_distribution.sf(ratio, k - 1, degrees)
        return np.asarray(p_value * self.train.shape[1] < _LEVEL)

    def project(self, labels: np.ndarray) -> Projection | None:
        """Project the rows on the directions in which a partition's clusters differ, if any do.

        Parameters
        ----------
        labels : ndarray
            Clusters of the training rows, counted from 0 without gaps.
        """
        k = int(labels.max()) + 1
        if k < 2 or not len(self.columns):
            return None
        mass = np.bincount(labels, self.mass, k)
        member = np.zeros((k, len(labels)))
        member[labels, np.arange(len(labels))] = self.mass
        hit = self._significant(mass, member)
        if not hit.any():
            return None
        best, chosen = -np.inf, None
        for rows in self._in_coordinates(hit):
            train, test = self._project(rows, labels, mass, member)
            mixture = Mixture.estimate(train, labels, self.mass, mass)
            told_apart = float(self.mass @ mixture.gain(train))
            if chosen is None or told_apart > best:
                best = told_apart
                features = self.columns[hit]
                chosen = Projection(train, test, labels, self.mass, mixture, features)
        return chosen

    def _in_coordinates(self, hit: np.ndarray) -> list[_Coordinates]:
        """Rows in some columns, in coordinates where their shrunk covariances are the identity."""
        key = hit.tobytes()
        if key in self._coordinates:
            return self._coordinates[key]
        train, test = self.train[:, hit], self.test[:, hit]
        n, p = train.shape
        few, many = min(n, p), max(n, p)
        found = [_Coordinates(train, test, 1.0)]
        if p > 1 and float(few) ** 2 * many <= _MOST_PRODUCTS:
            scaled = train * np.sqrt(self.mass / self.total)[:, None]
            if p <= n:
                values, axes = np.linalg.eigh(scaled.T @ scaled)
            else:
                values, left = np.linalg.eigh(scaled @ scaled.T)
                kept = values > 1e-10 * values[-1]
                values, left = values[kept], left[:, kept]
                axes = (scaled.T @ left) / np.sqrt(values)
            values = np.maximum(values, 0.0)
            along, along_test = train @ axes, test @ axes
            analytic = shrinkage_intensity(train, self.mass)
            found = []
            for given in _SHRINKAGE if p * _FEW_FEATURES > self.total else _SHRINKAGE[:1]:
                share = analytic if given is None else given
                root = np.sqrt((1.0 - share) * values + share)
                found.append(_Coordinates(along / root, along_test / root, share))
        self._coordinates[key] = found
        return found

    def _project(
        self, rows: _Coordinates, labels: np.ndarray, mass: Array, member: Array
    ) -> tuple[Array, Array]:
        """Training rows on discriminants found without them, and test rows on those of all."""
        k, train = len(mass), rows.train
        means = (member @ train) / mass[:, None]
        root = np.sqrt(mass / self.total)
        left, length, _ = np.linalg.svd(root[:, None] * means, full_matrices=False)
        kept = length[: k - 1] > _ROUNDING * length[0]
        to_axes = (root[:, None] * left[:, : len(kept)][:, kept]) / length[: len(kept)][kept]
        product = train @ means.T
        lengths = np.einsum("ij,ij->i", train, train)
        # without one copy of the row: its cluster's mean, and the covariance
        own, count = (np.arange(len(train)), labels), mass[labels]
        without = (count * product[own] - lengths) / np.maximum(count - 1.0, 1.0)
        product[own] = np.where(count > 1.0, without, 0.0)
        leverage = np.minimum((1.0 - rows.shrinkage) * lengths / self.total, 0.99)
        product /= (1.0 - leverage)[:, None]
        return product @ to_axes, (rows.test @ means.T) @ to_axes


class Mixture(NamedTuple):
    """A mixture of t distributions of one scatter, and the single t in its place."""

    log_share: Array
    size: Array
    means: Array
    within: Scatter
    center: Array
    whole: Scatter
    total: float

    @classmethod
    def estimate(cls, rows: Array, labels: np.ndarray, weight: Array, mass: Array) -> Mixture:
        """Estimate from projected training rows."""
        total = float(mass.sum())
        k, dimension = len(mass), rows.shape[1]
        means = np.zeros((k, dimension))
        np.add.at(means, labels, weight[:, None] * rows)
        means /= mass[:, None]
        center = weight @ rows / total
        variance = weight @ (rows - center) ** 2 / total
        floor = _RIDGE * np.maximum(variance, np.finfo(float).tiny)
        residual = rows - means[labels]
        # rows of a cluster of one are at its mean
        within, _ = scatter_t(residual * np.sqrt(total / max(total - k, 1.0)), weight, floor)
        whole, _ = scatter_t(rows - center, weight, floor)
        return cls(np.log(mass / total), mass, means, within, center, whole, total)

    def gain(self, rows: Array) -> Array:
        """Log-density of rows under the mixture minus that under the single t."""
        dimension = rows.shape[1]
        # predictive: the means are estimates
        inflated = (1.0 + 1.0 / self.size)[:, None]
        squared = self.within.to(rows, self.means) / inflated
        log_det = self.within.log_det + dimension * np.log(inflated)
        score = self.log_share[:, None] + log_t(squared, log_det, dimension)
        gained: Array = logsumexp(score, axis=0) - self.log_single(rows)
        return gained

    def log_single(self, rows: Array) -> Array:
        """Log-density of rows under the single t."""
        dimension = rows.shape[1]
        inflated = 1.0 + 1.0 / self.total
        squared = self.whole.to(rows, self.center[None])[0] / inflated
        return log_t(squared, self.whole.log_det + dimension * np.log(inflated), dimension)
