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
  part in the directions, unless rows are three times as many as coefficients (features times
  clusters less one): then directions in all features, which may cancel noise that features share,
  are taken if they tell the training rows apart better;
- directions are the discriminants for a covariance of the rows that is shrunk towards its diagonal,
  little, half, or wholly, as the training rows are told apart best;
- a training row is projected on directions that were found without it, so that its projection is
  distributed as those of new rows, however many features there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import gammaln
from scipy.stats import f as f_distribution

from ewp.common.types import Array
from ewp.data.decorrelation import shrinkage_intensity

__all__ = ["FoldDensity", "Judgement", "Mixture", "Projection", "TDistribution", "log_t"]

_LEVEL = 0.05
#: Degrees of freedom from which those of the tails are chosen, and those that give the shape.
_DEGREES = np.array([[3.0], [5.0], [10.0], [30.0]])
_SHAPE_DEGREES = 5.0
#: Covariances of the rows shrunk by the analytic intensity, by half, and to the diagonal.
_SHRINKAGE = (None, 0.5, 1.0)
#: With so many rows a coefficient the directions may use all features.
_ROWS_A_COEFFICIENT = 3
#: With so many rows a feature the covariance is shrunk by the analytic intensity.
_FEW_FEATURES = 10
#: Covariances of more products than this are taken as diagonal.
_MOST_PRODUCTS = 5e7
#: Steps in which the scatter of a t distribution is found, and its size for every tail.
_STEPS = 4
#: Variance added to a scatter matrix, as a share; least size of one.
_RIDGE, _LEAST_SIZE = 1e-4, 1e-12
#: Directions whose share of the between-cluster variance is smaller are rounding errors.
_ROUNDING = 1e-7
#: Share of a total sum of squares that is left within the clusters at least.
_LEAST_WITHIN = 1e-9


class TDistribution(NamedTuple):
    """Student's t about the origin in several dimensions.

    Attributes
    ----------
    root : ndarray of shape (d, d)
        Inverse of the scatter matrix's Cholesky factor.
    log_det : float
        Logarithm of the scatter matrix's determinant.
    degrees : float
        Degrees of freedom.
    """

    root: Array
    log_det: float
    degrees: float

    @classmethod
    def estimate(cls, difference: Array, mass: Array, floor: Array) -> TDistribution:
        """Estimate from centred rows, with the tails under which they are likeliest.

        The shape of the scatter matrix is that of the most likely t distribution with five degrees
        of freedom; its size, and the degrees of freedom, are then the most likely ones.

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
        for _ in range(_STEPS):
            scatter = (difference.T * (mass * trust)) @ difference / total + np.diag(floor)
            lower = np.linalg.cholesky(scatter)
            root = np.linalg.inv(lower)
            squared = _lengths(difference @ root.T)
            trust = (_SHAPE_DEGREES + dimension) / (_SHAPE_DEGREES + squared)
        size = np.ones((len(_DEGREES), 1))
        for _ in range(_STEPS):
            scaled = squared / size
            size *= ((scaled / (_DEGREES + scaled)) @ mass)[:, None] / total
            size *= (_DEGREES + dimension) / dimension
            # of equal rows the size is that of what is added
            size = np.maximum(size, _LEAST_SIZE)
        log_det = 2.0 * float(np.log(np.diag(lower)).sum()) + dimension * np.log(size)
        likelihood = log_t(squared / size, log_det, dimension, _DEGREES) @ mass
        best = int(likelihood.argmax())
        return cls(root / np.sqrt(size[best]), float(log_det[best, 0]), float(_DEGREES[best, 0]))

    def log_predictive(self, rows: Array, means: Array, size: Array) -> Array:
        """Log-density of rows about means that were estimated from so many rows, (k, n)."""
        placed, dimension = means @ self.root.T, len(self.root)
        squared = cdist(placed, rows @ self.root.T, "sqeuclidean")
        inflated = (1.0 + 1.0 / size)[:, None]
        log_det = self.log_det + dimension * np.log(inflated)
        return log_t(squared / inflated, log_det, dimension, self.degrees)


def log_t(squared: Array, log_det: Any, dimension: int, degrees: Any) -> Array:
    """Log-density of Student's t at squared Mahalanobis distances from its scatter matrix."""
    half = 0.5 * (degrees + dimension)
    constant = gammaln(half) - gammaln(0.5 * degrees) - 0.5 * dimension * np.log(np.pi * degrees)
    density: Array = constant - 0.5 * log_det - half * np.log1p(squared / degrees)
    return density


def _lengths(rows: Array) -> Array:
    """Squared lengths of rows."""
    found: Array = np.einsum("ij,ij->i", rows, rows)
    return found


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
        mass = np.bincount(labels, self.mass, k).astype(np.float64)
        member = np.zeros((k, len(labels)))
        member[labels, np.arange(len(labels))] = self.mass
        hit = self._significant(mass, member)
        if not hit.any():
            return None
        best, chosen = -np.inf, None
        features = self.columns[hit]
        tried = self._in_coordinates(hit)
        if not hit.all() and (k - 1) * len(hit) * _ROWS_A_COEFFICIENT <= self.total:
            # others may tell what is noise in those that differ
            tried = tried + self._in_coordinates(np.ones_like(hit))
        for rows in tried:
            train, test = self._project(rows, labels, mass, member)
            mixture = Mixture.estimate(train, labels, self.mass, mass)
            told_apart = float(self.mass @ mixture.gain(train))
            if chosen is None or told_apart > best:
                best = told_apart
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
    within: TDistribution
    center: Array
    whole: TDistribution
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
        residual *= np.sqrt(total / max(total - k, 1.0))
        within = TDistribution.estimate(residual, weight, floor)
        whole = TDistribution.estimate(rows - center, weight, floor)
        return cls(np.log(mass / total), mass, means, within, center, whole, total)

    def log_mixture(self, rows: Array) -> Array:
        """Log-density of rows under the mixture; the means are estimates."""
        score = self.within.log_predictive(rows, self.means, self.size)
        score += self.log_share[:, None]
        top = score.max(axis=0)
        density: Array = top + np.log(np.exp(score - top).sum(axis=0))
        return density

    def log_single(self, rows: Array) -> Array:
        """Log-density of rows under the single t."""
        return self.whole.log_predictive(rows, self.center[None], np.array([self.total]))[0]

    def gain(self, rows: Array) -> Array:
        """Log-density of rows under the mixture minus that under the single t."""
        return self.log_mixture(rows) - self.log_single(rows)
