r"""Held-out density of a partition whose clusters have variances of their own.

`ewp.selection.density` judges partitions by clusters of one scatter: it sees how far their means
lie apart. Clusters that live in features of their own differ in variances too, and of two
partitions that place the means alike the better one has the tighter clusters. So where every
cluster has feature weights of its own, penalties are compared by another model, and so are common
weights with weights of every cluster. Cluster j has its mean and variance in those features in
which its rows differ from all rows (likelihood ratio test, Bonferroni over features and clusters),
and those of all rows in the others. Standardised by these, the rows of all clusters have one
correlation matrix, shrunk by the analytic intensity, and the tails of Student's t that are
likeliest. What a row gains over a single cloud of the same kind does not change with the units of a
feature. `excess` tells what a row gains from variances that differ between the clusters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, logsumexp

from ewp.common.types import Array
from ewp.data.decorrelation import shrinkage_intensity
from ewp.selection.density import Judgement
from ewp.selection.t_mixture import log_t, squared_lengths

__all__ = ["ClusterDensity"]

_LEVEL = 0.05
#: Weight of the variance of all rows in that of a cluster, in rows.
_ROWS_OF_ALL = 5.0
#: Least variance of a cluster, as a share of that of all rows.
_FLOOR = 1e-3
#: Least share by which correlations are shrunk.
_LEAST_SHRINKAGE = 1e-3
#: Correlations of more features are not estimated.
_MOST_FEATURES = 500
#: Degrees of freedom from which those of the tails are chosen.
_DEGREES = np.array([3.0, 5.0, 10.0, 30.0, 100.0])


class _Cloud(NamedTuple):
    """One correlation matrix and one tail, of standardised rows."""

    root: Array | None
    log_det: float
    degrees: float
    dimension: int

    @classmethod
    def estimate(cls, rows: Array, mass: Array) -> _Cloud:
        """Estimate from rows whose features have variances of one."""
        total, p = float(mass.sum()), rows.shape[1]
        root, log_det, squared = None, 0.0, squared_lengths(rows)
        if 1 < p <= _MOST_FEATURES:
            share = max(shrinkage_intensity(rows, mass), _LEAST_SHRINKAGE)
            matrix = rows.T @ (rows * mass[:, None]) / total
            diagonal = np.maximum(np.diagonal(matrix), _FLOOR)
            matrix *= 1.0 - share
            np.fill_diagonal(matrix, diagonal)
            lower = np.linalg.cholesky(matrix)
            root = np.linalg.inv(lower)
            log_det = 2.0 * float(np.log(np.diagonal(lower)).sum())
            squared = squared_lengths(rows @ root.T)
        likelihood = [
            mass @ log_t(squared * nu / (nu - 2.0), _of_scatter(log_det, p, nu), p, nu)
            for nu in _DEGREES
        ]
        return cls(root, log_det, float(_DEGREES[int(np.argmax(likelihood))]), p)

    def log_density(self, rows: Array) -> Array:
        """Log-density of standardised rows."""
        squared = squared_lengths(rows if self.root is None else rows @ self.root.T)
        nu = self.degrees
        log_det = _of_scatter(self.log_det, self.dimension, nu)
        return log_t(squared * nu / (nu - 2.0), log_det, self.dimension, nu)


def _of_scatter(log_det: float, dimension: int, degrees: float) -> float:
    """Logarithm of the determinant of the scatter matrix of a t with such a covariance."""
    return log_det + dimension * float(np.log((degrees - 2.0) / degrees))


class ClusterDensity:
    """Judges partitions of training rows by test rows, as `ewp.selection.density.FoldDensity`.

    Parameters
    ----------
    train, test : ndarray of shape (n, p), (m, p)
        Rows from `ewp.selection.coordinates.scoring_coordinates`.
    weight : ndarray of shape (n,) or None
        Numbers of copies of the training rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((400, 3))
    >>> labels = np.arange(400) % 2
    >>> rows[labels == 1, 0] *= 0.1  # one cluster is tight in a feature
    >>> density = ClusterDensity(rows[:300], rows[300:], None)
    >>> bool(density.judge(labels[:300]).gain.mean() > 0.2)
    True
    >>> bool(abs(density.judge(rng.permutation(labels)[:300]).gain.mean()) < 0.01)
    True
    """

    def __init__(self, train: Array, test: Array, weight: Array | None) -> None:
        self.mass = np.ones(len(train)) if weight is None else weight
        self.total = float(self.mass.sum())
        center = self.mass @ train / self.total
        spread = np.sqrt(np.maximum(self.mass @ (train - center) ** 2 / self.total, 0.0))
        self.columns = np.flatnonzero((np.ptp(train, axis=0) > 0) & (spread > 0))
        center, spread = center[self.columns], spread[self.columns]
        self.train = (train[:, self.columns] - center) / spread
        self.test = (test[:, self.columns] - center) / spread
        self._single: Array | None = None
        self._judged: dict[bytes, Judgement] = {}

    def judge_all(self, partitions: np.ndarray) -> list[Judgement]:
        """Judge several partitions; many penalties lead to one partition.

        Parameters
        ----------
        partitions : ndarray of shape (m, n)
            Clusters of the training rows.
        """
        return [self.judge(labels) for labels in partitions]

    def judge(self, labels: np.ndarray) -> Judgement:
        """Compare the mixture that a partition implies with one cloud, on the test rows."""
        _, first, inner = np.unique(labels, return_index=True, return_inverse=True)
        # equal partitions have equal scores, to the last digit
        inner = first.argsort(kind="stable").argsort(kind="stable")[inner]
        key = inner.astype(np.uint16).tobytes()
        if key not in self._judged:
            self._judged[key] = self._judge(inner)
        return self._judged[key]

    def excess(self, labels: np.ndarray) -> Array:
        """Log-density that test rows gain from variances of every cluster over common ones."""
        _, inner = np.unique(labels, return_inverse=True)
        return self._judge(inner).gain - self._judge(inner, common=True).gain

    def _judge(self, labels: np.ndarray, *, common: bool = False) -> Judgement:
        if not len(self.columns):
            return Judgement(np.zeros(len(self.test)), self.columns)
        if self._single is None:
            self._single = _Cloud.estimate(self.train, self.mass).log_density(self.test)
        member = (labels == np.arange(labels.max() + 1)[:, None]) * self.mass
        size = member.sum(axis=1, keepdims=True)
        means = (member @ self.train) / size
        variances = np.maximum((member @ self.train**2) / size - means**2, _FLOOR)
        ratio = size * (means**2 + variances - 1.0 - np.log(variances))
        own = chdtrc(2, np.maximum(ratio, 0.0)) * variances.size < _LEVEL
        if common:
            own = np.broadcast_to(own.any(axis=0), own.shape)
            variances = np.repeat((size * variances).sum(axis=0)[None] / self.total, len(size), 0)
        means = np.where(own, means, 0.0)
        shrunk = (size * variances + _ROWS_OF_ALL) / (np.maximum(size - 1.0, 0.0) + _ROWS_OF_ALL)
        deviations = np.sqrt(np.where(own, shrunk, 1.0))
        residuals = (self.train - means[labels]) / deviations[labels]
        within = _Cloud.estimate(residuals, self.mass)
        inflated = np.where(own, np.sqrt(1.0 + 1.0 / size), 1.0) * deviations
        each = [
            within.log_density((self.test - mean) / deviation) - np.log(deviation).sum()
            for mean, deviation in zip(means, inflated, strict=True)
        ]
        mixture = logsumexp(np.array(each) + np.log(size / self.total), axis=0)
        return Judgement(mixture - self._single, self.columns[own.any(axis=0)])
