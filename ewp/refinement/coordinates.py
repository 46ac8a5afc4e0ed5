r"""Rows, features and partitions from which mixtures are fitted.

Mixtures are compared in one system of coordinates: standardised columns. Of the features those take
part that matter: their means differ significantly between the clusters of the partition that is to
be refined, or between those that k-means finds when the features are decorrelated (F test,
Bonferroni). The second partition is there because correlation may have led the first to features
that are noise; where it is right, its features must not be missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import f as f_distribution

from ewp.common.types import Array
from ewp.data.canonical import column_means, column_squares, copies_factor, varying_columns
from ewp.data.decorrelation import Decorrelation
from ewp.peers.kmeans import KMeans
from ewp.selection.coordinates import resolution

__all__ = ["EWP_START", "Coordinates", "as_copies", "prepare", "variance_ratios"]

#: Name of the partition that is to be refined.
EWP_START = "EWP"
_LEVEL = 0.05
#: Features up to which they are decorrelated all together.
_MOST_DECORRELATED = 100
#: With more significant features than rows those whose means differ most take part, but so many.
_LEAST_FEATURES = 50
#: Share of the variance that is left within the clusters at least.
_LEAST_WITHIN = 1e-12
_STARTS = 10


class Coordinates(NamedTuple):
    """Rows in the coordinates of the mixtures.

    Attributes
    ----------
    rows : ndarray of shape (n, q)
        Standardised columns of the features that take part.
    cell : ndarray of shape (q,)
        Variances of uniform distributions in the cells of coarse columns, 0 for continuous ones.
    columns : ndarray of shape (q,)
        Positions of the features.
    center, scale : ndarray of shape (q,)
        Their means and standard deviations.
    ratio, p_value : ndarray of shape (p,)
        F statistics of all features, the largest over the partitions, and their p-values.
    starts : dict of ndarray
        Partitions of the rows by name.
    """

    rows: Array
    cell: Array
    columns: np.ndarray
    center: Array
    scale: Array
    ratio: Array
    p_value: Array
    starts: dict[str, np.ndarray]


def as_copies(weight: Array) -> Array:
    """Weights as numbers of copies; weights whose mean is below one are proportions.

    >>> as_copies(np.array([0.2, 0.8])).tolist(), as_copies(np.array([1.0, 3.0])).tolist()
    ([0.4, 1.6], [1.0, 3.0])
    """
    return weight * copies_factor(int(np.count_nonzero(weight)), float(weight.sum()))


def variance_ratios(rows: Array, mass: Array, labels: np.ndarray, k: int) -> tuple[Array, Array]:
    """F statistic and p-value that each standardised feature has one mean in all clusters.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
    mass : ndarray of shape (n,)
        Numbers of copies.
    labels : ndarray of shape (n,)
    k : int
    """
    total = float(mass.sum())
    member = np.zeros((k, len(rows)))
    member[labels, np.arange(len(rows))] = mass
    sizes = member.sum(axis=1)
    means = (member @ rows) / np.maximum(sizes, np.finfo(float).tiny)[:, None]
    between = np.clip(sizes @ means**2 / total, 0.0, 1.0 - _LEAST_WITHIN)
    groups = max(int(np.count_nonzero(sizes)) - 1, 1)
    degrees = max(total - groups - 1.0, 1e-9)
    ratio = between / (1.0 - between) * degrees / groups
    return ratio, f_distribution.sf(ratio, groups, degrees)


def _kmeans(rows: Array, mass: Array, k: int, *, decorrelate: bool) -> np.ndarray:
    if decorrelate:
        rows = Decorrelation.estimate(rows, mass).apply(rows)
    model = KMeans(k, n_init=_STARTS, random_state=0)
    return np.asarray(model.fit(rows, sample_weight=mass).labels_)


def prepare(
    X: Array,
    mass: Array,
    labels: np.ndarray,
    k: int,
    chosen: np.ndarray | None = None,
) -> Coordinates:
    """Standardise rows, see which features matter, and make other partitions.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    mass : ndarray of shape (n,)
        Positive numbers of copies.
    labels : ndarray of shape (n,)
        Partition that is to be refined.
    k : int
    chosen : ndarray of int or None
        Features of the user's own choice.
    """
    total, n = float(mass.sum()), len(X)
    varying = np.flatnonzero(varying_columns(X))
    center = column_means(X, mass)[varying]
    rows = np.subtract(X[:, varying], center, dtype=np.float64)
    spread = np.sqrt(column_squares(rows, mass, np.zeros(len(varying))) / total)
    kept = spread > 0.0
    varying, center, spread, rows = varying[kept], center[kept], spread[kept], rows[:, kept]
    rows /= spread
    p = len(varying)
    starts = {EWP_START: labels}
    ratio, p_value = variance_ratios(rows, mass, labels, k)
    if 1 < p <= _MOST_DECORRELATED and p < n:
        starts["k-means, decorrelated"] = found = _kmeans(rows, mass, k, decorrelate=True)
        other, its_p = variance_ratios(rows, mass, found, k)
        ratio, p_value = np.maximum(ratio, other), np.minimum(p_value, its_p)
    if chosen is None:
        used = p_value * p < _LEVEL
        if not used.any():
            used[np.argmax(ratio)] = True
        most = max(n, _LEAST_FEATURES)
        if np.count_nonzero(used) > most:
            used = np.isin(np.arange(p), np.argsort(-ratio, kind="stable")[:most])
    else:
        used = np.isin(varying, chosen)
    part = np.ascontiguousarray(rows[:, used])
    if len(starts) == 1 and part.shape[1] > 1:
        starts["k-means, decorrelated"] = _kmeans(part, mass, k, decorrelate=True)
    starts["k-means, standardised"] = _kmeans(part, mass, k, decorrelate=False)
    everywhere = np.zeros((2, X.shape[1]))
    everywhere[1] = 1.0
    everywhere[:, varying] = ratio, p_value
    columns = varying[used]
    cells = resolution(X[:, columns], mass) / spread[used]
    return Coordinates(
        part,
        cells**2 / 12.0,
        columns,
        center[used],
        spread[used],
        everywhere[0],
        everywhere[1],
        starts,
    )
