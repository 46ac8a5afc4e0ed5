r"""Held-out density of a partition: what rows it never saw are worth, in nats.

A partition of training rows becomes a Gaussian mixture over all features (the clusters'
proportions and means, one pooled variance a feature), and new rows are scored by the log-density
it gives them, minus that of a single Gaussian. The score needs no labels, does not change with the
units of a feature, and puts penalties, scalings, forms and numbers of clusters on one axis.

What keeps it honest when features are many or coarse:

- a feature whose means do not differ significantly between the clusters (F test, Bonferroni) has
  one mean, and then cancels exactly;
- the other means are shrunk towards the grand mean by the share :math:`1 - 1/F` of their variance
  that is not noise;
- variances are predictive, :math:`s^2 (1 + 1/n_j)`;
- a column that takes few values is scored by the probability of the cell around the value, which
  is at most one, instead of a density, which could be anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, ndtr
from scipy.stats import f as f_distribution

from ewp.common.types import Array

__all__ = ["PartitionDensity", "resolution"]

_LEVEL = 0.05
#: Smallest variance within clusters: as a share of the total, and in squared resolutions.
_FLOOR = 1e-4
_FLOOR_CELL = 1e-6
#: A column with fewer distinct values than this share of the rows has a resolution.
_DISCRETE = 0.5
#: Values closer than this share of the range, or than some units in the last place, are equal.
_SAME = 1e-9
_LAST_PLACES = 8 * np.finfo(float).eps
_TINY = 1e-300


def resolution(X: Array, weight: Array | None = None) -> Array:
    """Smallest gap between the values of every column that repeats them, 0 for the others.

    Gaps that are rounding errors, as between 0.3 and 0.1 + 0.2, do not count.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    weight : ndarray of shape (n,) or None
        Positive numbers of copies.

    >>> resolution(np.array([[0.0, 0.31], [2.0, 0.77], [2.0, 0.12], [0.0, 0.93]]))
    array([2., 0.])
    """
    rows = len(X) if weight is None else float(weight.sum())
    smallest = np.zeros(X.shape[1])
    for column in range(X.shape[1]):
        values = np.unique(X[:, column]).astype(np.float64)
        gaps = np.diff(values)
        rounding = max(_SAME * float(np.ptp(values)), _LAST_PLACES * float(np.abs(values).max()))
        gaps = gaps[gaps > rounding]
        if 1 < len(gaps) + 1 <= _DISCRETE * rows:
            smallest[column] = gaps.min()
    return smallest


@dataclass(frozen=True)
class PartitionDensity:
    """Gaussian mixture that a partition of training rows implies.

    Attributes
    ----------
    columns : ndarray
        Features whose means differ significantly; the others cancel.
    log_share : ndarray of shape (k,)
        Log proportions.
    means : ndarray of shape (k, q)
        Shrunk means in these features.
    variances : ndarray of shape (k, q)
        Predictive variances.
    mean, variance : ndarray of shape (q,)
        The single Gaussian.
    cell : ndarray of shape (q,)
        Widths of the values' cells, 0 for densities.
    """

    columns: np.ndarray
    log_share: Array
    means: Array
    variances: Array
    mean: Array
    variance: Array
    cell: Array

    @classmethod
    def estimate(
        cls, X: Array, labels: np.ndarray, weight: Array | None, cell: Array
    ) -> PartitionDensity:
        """Estimate from training rows.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        labels : ndarray of shape (n,)
        weight : ndarray of shape (n,) or None
        cell : ndarray of shape (p,)
            Resolution of every column, from `resolution`.
        """
        a = np.ones(len(X)) if weight is None else weight
        present, labels = np.unique(labels, return_inverse=True)
        k = len(present)
        total = float(a.sum())
        mass = np.bincount(labels, a, k)
        mean = a @ X / total
        member = np.zeros((k, len(X)))
        member[labels, np.arange(len(X))] = a
        means = (member @ (X - mean)) / mass[:, None]
        sst = a @ (X - mean) ** 2
        ssb = mass @ means**2
        ssw = np.maximum(sst - ssb, 0.0)
        degrees = max(total - k, 1e-9)
        variance = sst / max(total - 1.0, 1e-9)
        floor = np.maximum(_FLOOR * variance, _FLOOR_CELL * cell**2)
        within = np.maximum(ssw / degrees, floor)
        # by values: the mean of equal ones may differ from them in the last place
        varying = np.flatnonzero((np.ptp(X, axis=0) > 0) & (variance > 0))
        columns, shrink = varying[:0], np.empty(0)
        if k > 1:
            ratio = ssb[varying] / (k - 1) / within[varying]
            p_value = f_distribution.sf(ratio, k - 1, degrees)
            hit = p_value * len(varying) < _LEVEL
            columns, shrink = varying[hit], np.maximum(1.0 - 1.0 / ratio[hit], 0.0)
        return cls(
            columns,
            np.log(mass / total),
            mean[columns] + shrink * means[:, columns],
            within[columns] * (1.0 + 1.0 / mass[:, None]),
            mean[columns],
            variance[columns] * (1.0 + 1.0 / total),
            cell[columns],
        )

    def gain(self, X: Array) -> Array:
        """Log-density of every row under the mixture minus that under the single Gaussian.

        Parameters
        ----------
        X : ndarray of shape (n, p)
            All features.

        Returns
        -------
        ndarray of shape (n,)
            Nats gained; 0 if no feature differs between the clusters.
        """
        if not len(self.columns):
            return np.zeros(len(X))
        rows = np.asarray(X[:, self.columns], dtype=np.float64)
        score = np.stack(
            [
                share + self._log_density(rows, mean, variance)
                for share, mean, variance in zip(
                    self.log_share, self.means, self.variances, strict=True
                )
            ]
        )
        mixture: Array = logsumexp(score, axis=0)
        return mixture - self._log_density(rows, self.mean, self.variance)

    def _log_density(self, rows: Array, mean: Array, variance: Array) -> Array:
        z = rows - mean
        smooth = self.cell == 0
        out = -0.5 * (z[:, smooth] ** 2 / variance[smooth] + np.log(2 * np.pi * variance[smooth]))
        total: Array = out.sum(axis=1)
        if not smooth.all():
            deviation = np.sqrt(variance[~smooth])
            # by symmetry on the left, where probabilities keep their digits
            middle = -np.abs(z[:, ~smooth]) / deviation
            half = 0.5 * self.cell[~smooth] / deviation
            inside = ndtr(middle + half) - ndtr(middle - half)
            total = total + np.log(np.maximum(inside, _TINY)).sum(axis=1)
        return total
