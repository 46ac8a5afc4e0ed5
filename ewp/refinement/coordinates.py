r"""Rows, features and partitions from which mixtures are fitted.

Mixtures are compared in one system of coordinates: standardised columns. Of the features those take
part that matter: their means differ significantly between the clusters of the partition that is to
be refined, or between those that k-means finds when the features are decorrelated (F test,
Bonferroni). The second partition is there because correlation may have led the first to features
that are noise; where it is right, its features must not be missing.

Missing values stay missing in the rows, and F tests are of observed values. Only the further
partitions need whole rows: for them, missing values get their mean given the observed ones, under
one cloud (`ewp.selection.conditional_means`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import f as f_distribution

from ewp.common.types import Array
from ewp.data.canonical import (
    column_means,
    column_squares,
    copies_factor,
    observed_means,
    observed_squares,
    varying_columns,
)
from ewp.data.decorrelation import Decorrelation
from ewp.peers.kmeans import KMeans
from ewp.selection.conditional_means import fill_conditional_means
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
        Standardised columns of the features that take part, with NaN for missing values.
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
        With NaN for missing values.
    mass : ndarray of shape (n,)
        Numbers of copies.
    labels : ndarray of shape (n,)
    k : int
    """
    member = np.zeros((k, len(rows)))
    member[labels, np.arange(len(rows))] = mass
    if np.isnan(rows).any():
        return _observed_ratios(rows, member)
    total = float(mass.sum())
    sizes = member.sum(axis=1)
    means = (member @ rows) / np.maximum(sizes, np.finfo(float).tiny)[:, None]
    between = np.clip(sizes @ means**2 / total, 0.0, 1.0 - _LEAST_WITHIN)
    groups = max(int(np.count_nonzero(sizes)) - 1, 1)
    degrees = max(total - groups - 1.0, 1e-9)
    ratio = between / (1.0 - between) * degrees / groups
    return ratio, f_distribution.sf(ratio, groups, degrees)


def _observed_ratios(rows: Array, member: Array) -> tuple[Array, Array]:
    """F statistics of observed values, and their p-values."""
    seen = ~np.isnan(rows)
    values = np.where(seen, rows, 0.0)
    sizes = member @ seen
    total = sizes.sum(axis=0)
    means = (member @ values) / np.maximum(sizes, np.finfo(float).tiny)
    squares = member.sum(axis=0) @ values**2
    between = np.clip((sizes * means**2).sum(axis=0) / squares, 0.0, 1.0 - _LEAST_WITHIN)
    groups = np.maximum(np.count_nonzero(sizes, axis=0) - 1, 1)
    degrees = np.maximum(total - groups - 1.0, 1e-9)
    ratio = between / (1.0 - between) * degrees / groups
    return ratio, f_distribution.sf(ratio, groups, degrees)


def _kmeans(rows: Array, mass: Array, k: int, *, decorrelate: bool) -> np.ndarray:
    if decorrelate:
        rows = Decorrelation.estimate(rows, mass).apply(rows)
    model = KMeans(k, n_init=_STARTS, random_state=0)
    return np.asarray(model.fit(rows, sample_weight=mass).labels_)


def _means(X: Array, mass: Array, absent: np.ndarray) -> Array:
    """Means of the columns, or of what is observed of them."""
    found = column_means(X, mass)
    holey = np.flatnonzero(absent.any(axis=0))
    found[holey] = observed_means(X, mass, holey)
    return found


def _variances(rows: Array, mass: Array, absent: np.ndarray) -> Array:
    """Variances of centred columns, or of what is observed of them."""
    found = column_squares(rows, mass, np.zeros(rows.shape[1])) / float(mass.sum())
    holey = np.flatnonzero(absent.any(axis=0))
    squares = observed_squares(rows, mass, holey, np.zeros(len(holey)))
    found[holey] = squares / np.maximum(mass @ ~absent[:, holey], np.finfo(float).tiny)
    return found


def _resolution(X: Array, mass: Array) -> Array:
    """Resolution of every column, of its observed values."""
    seen = ~np.isnan(X)
    if seen.all():
        return resolution(X, mass)
    return np.concatenate(
        [resolution(column[own, None], mass[own]) for column, own in zip(X.T, seen.T, strict=True)]
    )


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
        With NaN for missing values.
    mass : ndarray of shape (n,)
        Positive numbers of copies.
    labels : ndarray of shape (n,)
        Partition that is to be refined.
    k : int
    chosen : ndarray of int or None
        Features of the user's own choice.
    """
    n = len(X)
    absent = np.isnan(X)
    varying = np.flatnonzero(varying_columns(X))
    center = _means(X, mass, absent)[varying]
    rows = np.subtract(X[:, varying], center, dtype=np.float64)
    spread = np.sqrt(_variances(rows, mass, absent[:, varying]))
    kept = spread > 0.0
    varying, center, spread, rows = varying[kept], center[kept], spread[kept], rows[:, kept]
    rows /= spread
    whole = rows
    if absent.any():
        whole = fill_conditional_means(rows, mass, np.isnan(rows))
    p = len(varying)
    starts = {EWP_START: labels}
    ratio, p_value = variance_ratios(rows, mass, labels, k)
    if 1 < p <= _MOST_DECORRELATED and p < n:
        starts["k-means, decorrelated"] = found = _kmeans(whole, mass, k, decorrelate=True)
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
    whole = np.ascontiguousarray(whole[:, used])
    if len(starts) == 1 and part.shape[1] > 1:
        starts["k-means, decorrelated"] = _kmeans(whole, mass, k, decorrelate=True)
    starts["k-means, standardised"] = _kmeans(whole, mass, k, decorrelate=False)
    everywhere = np.zeros((2, X.shape[1]))
    everywhere[1] = 1.0
    everywhere[:, varying] = ratio, p_value
    columns = varying[used]
    cells = _resolution(X[:, columns], mass) / spread[used]
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
