"""Partitions compared: agreement, matching, similarity of clusters, silhouettes, sums of squares.

Functions of labels and arrays; larger is better in all measures. `rand_index` and the sums take
weights of rows as numbers of copies where they say so.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.metrics import silhouette_samples, silhouette_score

from ewp.common.types import Array, Ints

__all__ = [
    "between_share",
    "centroid_order",
    "feature_sums",
    "group_means",
    "jaccard",
    "match_labels",
    "mean_rand_index",
    "mean_silhouette",
    "mixture_gain",
    "overlap",
    "overlap_order",
    "rand_index",
    "silhouettes",
    "similarities",
]

_MOST_SILHOUETTES = 10_000
_NEGLIGIBLE = 1e-12
#: Rows whose densities are computed in one go.
_DENSITY_ROWS = 4096
#: Silhouettes are of all pairs of rows; more rows than this are sampled.
_MOST_ROWS = 2000


def rand_index(one: np.ndarray, two: np.ndarray, copies: Array | None = None) -> float:
    """Adjusted Rand index, 1 for equal partitions and 0 on average for independent ones.

    Parameters
    ----------
    one, two : ndarray of int of shape (n,)
        Labels from 0 on.
    copies : ndarray of shape (n,) or None
        How many rows every row stands for.

    Examples
    --------
    >>> one, two = np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0])
    >>> round(rand_index(one, two, np.array([2.0, 1.0, 1.0, 1.0])), 3)
    0.231
    >>> round(rand_index(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 0])), 3)
    0.231
    """
    shape = int(one.max()) + 1, int(two.max()) + 1
    place = one.astype(np.intp) * shape[1] + two
    count = np.bincount(place, copies, shape[0] * shape[1])
    cells = np.asarray(count, dtype=np.float64).reshape(shape)
    both, first, second = _pairs(cells), _pairs(cells.sum(axis=1)), _pairs(cells.sum(axis=0))
    expected, most = first * second / max(_pairs(cells.sum()), 1.0), (first + second) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def mean_rand_index(partitions: np.ndarray, copies: Array | None = None) -> float:
    """Mean adjusted Rand index of all pairs of partitions of the same rows.

    Parameters
    ----------
    partitions : ndarray of int of shape (m, n)
        Labels from 0 on; at least two partitions.
    copies : ndarray of shape (n,) or None
        How many rows every row stands for.

    Examples
    --------
    >>> labels = np.array([[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, 0]])
    >>> pairs = [(0, 1), (0, 2), (1, 2)]
    >>> round(mean_rand_index(labels), 3)
    0.333
    >>> round(float(np.mean([rand_index(labels[i], labels[j]) for i, j in pairs])), 3)
    0.333
    """
    m, n = partitions.shape
    k = int(partitions.max()) + 1
    member = np.zeros((m, k, n))
    member[np.arange(m)[:, None], partitions, np.arange(n)] = 1.0
    flat = member.reshape(m * k, n)
    cells = (flat if copies is None else flat * copies) @ flat.T
    both = np.maximum(cells * (cells - 1.0), 0.0).reshape(m, k, m, k).sum(axis=(1, 3)) / 2
    # cells of a partition with itself are its clusters
    alone, every = np.diag(both), _pairs(np.array(n if copies is None else copies.sum()))
    one, two = np.triu_indices(m, 1)
    expected = alone[one] * alone[two] / max(every, 1.0)
    most = (alone[one] + alone[two]) / 2
    varies = most != expected
    found = np.ones(len(one))
    found[varies] = (both[one, two] - expected)[varies] / (most - expected)[varies]
    return float(found.mean())


def _pairs(count: Array) -> float:
    """Number of pairs of rows that share a cell."""
    return float(np.maximum(count * (count - 1), 0.0).sum() / 2)


def centroid_order(theta: Array, reference: Array, metric: Array) -> np.ndarray:
    """Order that brings centroids to those of a reference, by the Hungarian method.

    >>> centroid_order(np.array([[5.0], [1.0]]), np.array([[0.0], [4.0]]), np.ones(1))
    array([1, 0])
    """
    root = np.sqrt(metric)
    gaps = cdist(reference * root, theta * root, "sqeuclidean")
    order: np.ndarray = linear_sum_assignment(gaps)[1]
    return order


def match_labels(labels: np.ndarray, reference: np.ndarray, k: int) -> np.ndarray:
    """New number of every cluster, so that as many rows as possible agree with a reference.

    Parameters
    ----------
    labels, reference : ndarray of shape (n,)
        Clusters counted from 0; those of the reference are less than `k`.
    k : int

    Returns
    -------
    ndarray
        ``numbers[labels]`` are the labels to compare. Clusters without a partner are numbered
        from `k` on.

    Examples
    --------
    >>> match_labels(np.array([1, 1, 0, 2]), np.array([0, 0, 1, 1]), 2)
    array([1, 0, 2])
    """
    count = int(labels.max()) + 1
    table = overlap(reference, labels, k)[:, :count]
    wanted, found = linear_sum_assignment(table, maximize=True)
    numbers = np.full(count, -1)
    numbers[found] = wanted
    alone = numbers < 0
    numbers[alone] = k + np.arange(alone.sum())
    return numbers


def overlap(original: np.ndarray, found: np.ndarray, k: int) -> np.ndarray:
    """Numbers of rows that clusters share, a table of at least (k, k).

    Parameters
    ----------
    original, found : ndarray of int of shape (m,)
        Clusters of the same rows, counted from 0; those of the original are less than `k`.
    k : int

    Examples
    --------
    >>> overlap(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 2]), 3)
    array([[0, 2, 0],
           [1, 0, 1],
           [0, 0, 0]])
    """
    columns = max(k, int(found.max(initial=0)) + 1)
    place = original.astype(np.intp) * columns + found
    table: np.ndarray = np.bincount(place, minlength=k * columns).reshape(k, columns)
    return table


def overlap_order(shared: np.ndarray) -> np.ndarray:
    """Order that brings found clusters to the original ones, so that most rows are shared.

    By the Hungarian method. Two clusters with a Jaccard similarity above 0.5 are always partners:
    giving them to others would lose more rows than it gains.

    Parameters
    ----------
    shared : ndarray of shape (k, k)
        From `overlap`.

    Examples
    --------
    >>> overlap_order(overlap(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 2]), 3))
    array([1, 0, 2])
    """
    order: np.ndarray = linear_sum_assignment(shared, maximize=True)[1]
    return order


def jaccard(original: np.ndarray, found: np.ndarray, k: int) -> Array:
    """Jaccard similarity of each original cluster to the most similar one found.

    Parameters
    ----------
    original, found : ndarray of int of shape (m,)
        As in `overlap`.
    k : int

    Returns
    -------
    ndarray of shape (k,)
        0 for a cluster that none of the rows belongs to.

    Examples
    --------
    >>> jaccard(np.array([0, 0, 0, 1, 1]), np.array([2, 2, 0, 0, 0]), 3).round(3)
    array([0.667, 0.667, 0.   ])
    """
    return similarities(overlap(original, found, k))


def similarities(shared: np.ndarray) -> Array:
    """Jaccard similarities of a table from `overlap`, see `jaccard`."""
    union = shared.sum(axis=1, keepdims=True) + shared.sum(axis=0) - shared
    best: Array = (shared / np.maximum(union, 1)).max(axis=1)
    return best


def silhouettes(
    X: Array,
    labels: np.ndarray,
    metric: Array,
    rng: np.random.Generator | int = 0,
    weight: Array | None = None,
) -> Array:
    """Silhouette of every row in a weighted metric.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    labels : ndarray of shape (n,)
    metric : ndarray of shape (p,)
        Weights of the squared differences.
    rng : Generator or int
        More than 10,000 rows are thinned at random, the others get NaN.
    weight : ndarray of shape (n,) or None
        Weights of the rows: those of weight zero are not there, and get NaN.

    Returns
    -------
    ndarray of shape (n,)
        NaN also if there is only one cluster, or as many as rows.
    """
    values = np.full(len(X), np.nan)
    rows = np.arange(len(X)) if weight is None else np.flatnonzero(weight > 0)
    if len(rows) > _MOST_SILHOUETTES:
        rows = np.sort(np.random.default_rng(rng).choice(rows, _MOST_SILHOUETTES, replace=False))
    if 1 < len(np.unique(labels[rows])) < len(rows):
        used = np.flatnonzero(metric > _NEGLIGIBLE * metric.max())
        Z = np.asarray(X[rows][:, used], dtype=float)
        absent = np.isnan(Z)
        if absent.any():  # rows are at the mean where they have no value
            means = np.nansum(Z, axis=0) / np.maximum((~absent).sum(axis=0), 1)
            Z = np.where(absent, means, Z)
        Z = (Z - Z.mean(axis=0)) * np.sqrt(metric[used])
        values[rows] = silhouette_samples(Z, labels[rows])
    return values


def mean_silhouette(X: Array, labels: np.ndarray) -> float:
    """Mean silhouette of the rows, of a sample of them where they are many; NaN if undefined."""
    if len(X) > _MOST_ROWS:
        rows = np.random.default_rng(0).choice(len(X), _MOST_ROWS, replace=False)
        X, labels = X[rows], labels[rows]
    if not 1 < len(np.unique(labels)) < len(X):
        return float("nan")
    return float(silhouette_score(X, labels))


def between_share(X: Array, labels: np.ndarray) -> float:
    """Share of the sum of squares that lies between the clusters."""
    _, codes = np.unique(labels, return_inverse=True)
    within, between = (float(part.sum()) for part in feature_sums(X, codes, int(codes.max()) + 1))
    return between / (within + between) if within + between > 0 else float("nan")


def feature_sums(X: Array, labels: Ints, k: int) -> tuple[Array, Array]:
    """Within- and between-cluster sums of squares of each feature.

    Examples
    --------
    >>> X = np.array([[0.0, 5.0], [2.0, 5.0], [9.0, 5.0]])
    >>> within, between = feature_sums(X, np.array([0, 0, 1]), 2)
    >>> within.round(3).tolist(), between.round(3).tolist()
    ([2.0, 0.0], [42.667, 0.0])
    """
    means, sizes = group_means(X, labels, k)
    within = np.sum((X - means[labels]) ** 2, axis=0)
    between = sizes @ (means - X.mean(axis=0)) ** 2
    return within, between


def group_means(X: Array, labels: Ints, k: int) -> tuple[Array, Ints]:
    """Means and sizes of the groups of rows, added row by row as a loop would.

    Examples
    --------
    >>> means, sizes = group_means(np.array([[1.0], [2.0], [6.0]]), np.array([0, 1, 1]), 2)
    >>> means.ravel().tolist(), sizes.tolist()
    ([1.0, 4.0], [1, 2])
    """
    n = len(X)
    sizes = np.bincount(labels, minlength=k)
    member = sparse.csc_array((np.ones(n), labels, np.arange(n + 1)), shape=(k, n)).tocsr()
    return (member @ X) / sizes[:, None], sizes


def mixture_gain(
    rows: Array, means: Array, mean: Array, within: Array, variance: Array, mass: Array
) -> Array:
    """Log-density that rows gain from a partition: a Gaussian mixture against one Gaussian.

    Both have a diagonal covariance and are predictive, so that rows that were not used to
    estimate them can be scored: the variance about a mean of m rows is multiplied by 1 + 1/m.
    Whatever divides a column cancels, and so does a column that never varied. A missing value
    (NaN) has no part: a row's density is that of its observed values.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
    means : ndarray of shape (k, p)
        Of the clusters.
    mean : ndarray of shape (p,)
    within, variance : ndarray of shape (p,)
        Pooled variances within the clusters, and of all rows.
    mass : ndarray of shape (k,)
        Rows of the clusters, which are proportions too.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> one = np.array([[0.0]]), np.array([0.0]), np.ones(1), np.ones(1), np.array([9.0])
    >>> mixture_gain(np.array([[0.5], [2.0]]), *one)
    array([0., 0.])
    """
    varying = variance > 0
    if not varying.any():
        return np.zeros(len(rows))
    center, total = mean[varying], mass.sum()
    deviation = np.sqrt(variance[varying])
    theta = (means[:, varying] - center) / deviation
    share = within[varying] / variance[varying]
    gain = np.empty(len(rows))
    for start in range(0, len(rows), _DENSITY_ROWS):
        part = slice(start, start + _DENSITY_ROWS)
        z = (np.asarray(rows[part], dtype=np.float64)[:, varying] - center) / deviation
        absent = np.isnan(z)
        missing = absent if absent.any() else None
        single = _log_density(z, np.full(len(center), 1.0 + 1.0 / total), missing)
        joint = [
            np.log(m / total) + _log_density(z - mu, share * (1.0 + 1.0 / m), missing)
            for mu, m in zip(theta, mass, strict=True)
            if m > 0
        ]
        gain[part] = logsumexp(joint, axis=0) - single
    return gain


def _log_density(z: Array, variance: Array, missing: np.ndarray | None) -> Array:
    """Log-density of a Gaussian with mean 0, up to a constant, at the values that are observed."""
    if missing is not None:
        logs: Array = ~missing @ np.log(variance)
        return -0.5 * (np.where(missing, 0.0, z) ** 2 @ (1.0 / variance) + logs)
    density: Array = -0.5 * (z**2 @ (1.0 / variance) + np.log(variance).sum())
    return density
