r"""Paths through the space of data sets along which one difference between two clusters changes.

A `Path` holds data sets :math:`x(\tau)` that differ in one statistic alone, the observed data among
them, such that all that stays fixed is independent of the statistic if the null hypothesis holds.

For a feature g, with v the unit contrast of the two clusters' rows, the statistic is Student's
:math:`t` of the column. Its law does not depend on the unknown mean and variance: where the rows of
both clusters have one mean, the centred column is uniform on a sphere, and the path runs along it,
towards v and away from it, at the length observed (Yun and Barber 2023). The rest of the data
follows as the regression on feature g has it: with
:math:`b_l = \Sigma_{lg} / \Sigma_{gg}`, :math:`x_l - b_l x_g` is independent of :math:`x_g` and
stays, so the rows move in the direction b. Covariances are those of the rows of both clusters about
their common mean. They are right under the null hypothesis and too large otherwise: those within
clusters that were found in the data are too small.

For the vector of means the score is the one that separates the two clusters best, and all columns
are rotated in the plane of v and the rest of that score. So the scatter matrix of these rows stays,
the law holds whatever the covariances are, and the statistic is Hotelling's. Where there are many
features it is that of the leading principal components of these rows, which depend on the data
through their scatter matrix alone.

With a known covariance matrix the laws are those of Gao, Bien and Witten (2024).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaln, chdtrc, gammaln, hyp2f1

from ewp.common.types import Array

__all__ = ["Law", "Pair", "Path"]

#: Tail probabilities below this are computed by their logarithms.
_UNDERFLOW = 1e-290
#: Singular values below this share of the largest are rounding errors.
_ROUNDING = 1e-8
#: Rows of two clusters per dimension in which their means are compared.
_ROWS_A_DIMENSION = 3
#: Correlations below so many standard errors count as zero.
_SIGNIFICANT = 2.0


class Law(NamedTuple):
    """Law of a statistic under the null hypothesis if the clusters were given beforehand.

    Attributes
    ----------
    q : int
        Dimensions of the difference.
    residual : int or None
        Degrees of freedom of the variance, None if it is known. The statistic is the length of q
        standard normal variables, over the root of an independent chi square over its degrees of
        freedom where the variance is not known.
    signed : bool
        Whether it has a sign.
    """

    q: int
    residual: int | None
    signed: bool

    def log_tail(self, tau: Array) -> Array:
        """Logarithm of the probability of a larger absolute value."""
        square = np.square(np.atleast_1d(np.asarray(tau, dtype=float)))
        half, residual = self.q / 2, self.residual
        if residual is None:
            plain = chdtrc(self.q, square)
        else:
            plain = betainc(residual / 2, half, residual / (residual + square))
        far = (plain <= _UNDERFLOW) & np.isfinite(square)
        with np.errstate(divide="ignore"):
            found = np.log(plain)
        found[far] = self._log_of_far_tail(square[far])
        return found.reshape(np.shape(tau))

    def _log_of_far_tail(self, square: Array) -> Array:
        """Logarithm of a tail that is too small for a float, from the first terms of its series."""
        half = self.q / 2
        if self.residual is None:
            y = square / 2
            series = 1.0 + (half - 1.0) / y * (1.0 + (half - 2.0) / y)
            return np.asarray((half - 1.0) * np.log(y) - y + np.log(series) - gammaln(half))
        a = self.residual / 2
        share = self.residual / (self.residual + square)
        ends = a * np.log(share) + half * np.log1p(-share) - math.log(a) - betaln(a, half)
        return np.asarray(ends + np.log(hyp2f1(a + half, 1.0, a + 1.0, share)))

    def log_mass(self, start: Array, stop: Array) -> Array:
        """Logarithms of the probabilities of intervals, none with zero inside, up to a constant."""
        least = self.log_tail(np.minimum(np.abs(start), np.abs(stop)))
        most = self.log_tail(np.maximum(np.abs(start), np.abs(stop)))
        with np.errstate(divide="ignore"):
            return np.asarray(least + np.log(-np.expm1(np.minimum(most - least, 0.0))))


@dataclass(frozen=True, eq=False)
class Path:
    """Data sets that differ in one statistic.

    At the value tau row r is :math:`x_r + v_r (a f + c g) + u_r (a f' + c g')`, with steps a and c
    that are zero at the observed value.

    Attributes
    ----------
    contrast, residual : ndarray of shape (n,)
        Orthogonal unit vectors v and u: the difference of the two clusters' means, and the rest
        of what varies in the score of the statistic.
    directions : ndarray of shape (2, 2, p)
        In which direction rows move along v and along u, for each of the two steps.
    length : float
        Length of the score about its mean; its standard deviation where that is known.
    observed : float
        The statistic.
    law : Law
    rotates : bool
        Whether all columns are rotated in the plane of v and u, or the score changes alone.
    """

    contrast: Array
    residual: Array
    directions: Array
    length: float
    observed: float
    law: Law
    rotates: bool = False

    @property
    def naive(self) -> float:
        """The p-value if the clusters were given beforehand."""
        return float(np.exp(self.law.log_tail(np.array(self.observed))))

    def steps(self, tau: Array) -> tuple[Array, Array]:
        """Steps a and c that lead to these values of the statistic."""
        if self.law.residual is None:
            return self.length * (tau - self.observed), np.zeros_like(tau)
        root = math.sqrt(self.law.residual)
        scale, begin = (np.sqrt(self.law.residual + x**2) for x in (tau, self.observed))
        if self.rotates:
            cosine = (tau * self.observed + self.law.residual) / (scale * begin)
            return cosine - 1.0, root * (tau - self.observed) / (scale * begin)
        along = self.length * (tau / scale - self.observed / begin)
        return along, self.length * root * (1.0 / scale - 1.0 / begin)

    def data(self, X: Array, tau: float) -> Array:
        """Rows at a value of the statistic."""
        a, c = self.steps(np.array([tau]))
        along, across = a[0] * self.directions[:, 0] + c[0] * self.directions[:, 1]
        moved: Array = X + np.outer(self.contrast, along) + np.outer(self.residual, across)
        return moved


@dataclass(frozen=True, eq=False)
class Pair:
    """Two clusters whose means are compared.

    Attributes
    ----------
    X : ndarray of shape (n, p)
    contrast : ndarray of shape (n,)
        Unit vector, positive on the first cluster and negative on the second.
    rows : ndarray
        Numbers of the rows of both.
    unit : float
        Length of the contrast of the means, which is not a unit vector.
    """

    X: Array
    contrast: Array
    rows: np.ndarray
    unit: float

    @classmethod
    def of(cls, X: Array, labels: np.ndarray, i: int, j: int) -> Pair:
        """Return the pair of clusters i and j, neither of which may be empty."""
        first, second = labels == i, labels == j
        contrast = first / first.sum() - second / second.sum()
        unit = float(np.linalg.norm(contrast))
        return cls(X, contrast / unit, np.flatnonzero(first | second), unit)

    @property
    def dimensions(self) -> int:
        """Dimensions in which the rows of both clusters vary about their mean, at most."""
        return len(self.rows) - 1

    def deviations(self) -> Array:
        """Rows of both clusters about their common mean; constant columns are exactly zero."""
        part = self.X[self.rows]
        deviations: Array = part - part.mean(axis=0)
        deviations[:, part.max(axis=0) == part.min(axis=0)] = 0.0
        return deviations

    def feature_path(self, g: int, covariance: Array | None = None) -> Path | None:
        """Path of the difference in one feature, None if it cannot be tested.

        Parameters
        ----------
        g : int
        covariance : ndarray of shape (p, p), optional
            Where it is known.
        """
        Z = self.deviations()
        if covariance is not None:
            sd = math.sqrt(covariance[g, g])
            tau = float(self.contrast[self.rows] @ Z[:, g]) / sd
            nothing = np.zeros(len(self.X))
            direction = covariance[g] / covariance[g, g]
            return Path(self.contrast, nothing, _alone(direction), sd, tau, Law(1, None, True))
        squares = (Z**2).sum(axis=0)
        if not squares[g] > 0.0 or self.dimensions < 2:
            return None
        products = Z.T @ Z[:, g]
        # correlations that may be chance: following them would tie the feature to what it is not
        chance = products**2 < _SIGNIFICANT**2 / len(Z) * squares * squares[g]
        direction = np.where(chance, 0.0, products / squares[g])
        return self._path(Z[:, g], 1, _alone(direction))

    def mean_path(self, used: np.ndarray, covariance: Array | None = None) -> Path | None:
        """Path of the difference in the vector of means, None if it cannot be tested.

        Parameters
        ----------
        used : ndarray
            Numbers of the features that are compared.
        covariance : ndarray of shape (p, p), optional
            Where it is known.
        """
        Z = self.deviations()[:, used]
        if covariance is not None:
            root = np.linalg.cholesky(covariance[np.ix_(used, used)])
            whitened = np.linalg.solve(root, Z.T @ self.contrast[self.rows])
            tau = float(np.linalg.norm(whitened))
            # what the features left out have in common with these goes along
            direction = covariance[:, used] @ np.linalg.solve(root.T, whitened / tau)
            nothing, law = np.zeros(len(self.X)), Law(len(used), None, False)
            return Path(self.contrast, nothing, _alone(direction), 1.0, tau, law)
        lengths = np.sqrt((Z**2).sum(axis=0))
        varying = lengths > 0.0
        most = max(self.dimensions // _ROWS_A_DIMENSION, 1)
        if not varying.any() or self.dimensions < 2:
            return None
        scores, roots, _ = np.linalg.svd(Z[:, varying] / lengths[varying], full_matrices=False)
        scores = scores[:, np.flatnonzero(roots > _ROUNDING * roots[0])[:most]]
        along = self.contrast[self.rows] @ scores
        if not along.any():
            return None
        return self._path(scores @ (along / np.linalg.norm(along)), len(along), None)

    def _path(self, score: Array, q: int, directions: Array | None) -> Path | None:
        """Path of a centred score of the rows of both clusters; without directions a rotation."""
        full = np.zeros(len(self.X))
        full[self.rows] = score
        length = float(np.linalg.norm(full))
        along = float(self.contrast @ full)
        rest = full - along * self.contrast
        across = float(np.linalg.norm(rest))
        residual = self.dimensions - q
        if across <= _ROUNDING * length or residual < 1:
            return None
        rest /= across
        rotates = directions is None
        if directions is None:
            here, there = self.contrast @ self.X, rest @ self.X
            directions = np.array([[here, there], [there, -here]])
        tau = math.sqrt(residual) * along / across
        law = Law(q, residual, not rotates)
        return Path(self.contrast, rest, directions, length, tau, law, rotates)

    def distance(self, path: Path) -> float:
        """Difference of the two means of the score, in its standard deviations."""
        if path.law.residual is None:
            return abs(path.observed) * self.unit
        share = abs(path.observed) / math.hypot(math.sqrt(path.law.residual), path.observed)
        return share * math.sqrt(self.dimensions) * self.unit


def _alone(direction: Array) -> Array:
    """Directions of a path on which all rows move in the same one."""
    nowhere = np.zeros_like(direction)
    return np.array([[direction, nowhere], [nowhere, direction]])
