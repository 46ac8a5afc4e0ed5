"""Sparse k-means (Witten and Tibshirani 2010): k-means and feature weights in turn.

The functions here take arrays and return tuples: one fit from a partition, a path over several
bounds, and random starts. With the defaults they take the steps of the R package sparcl and return
its numbers; where sparcl stops with an error (one feature left, a starting centre without rows)
they go on. The weight rule is in `ewp.soft_threshold`, the k-means in `ewp.hartigan_wong`, the
choice of the bound in `ewp.permutation`, the estimator in `ewp.peers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from ewp.assignment import Ints, group_means
from ewp.hartigan_wong import hartigan_wong
from ewp.kernel import Array
from ewp.soft_threshold import Search, threshold_weights

__all__ = [
    "SparseFit",
    "feature_sums",
    "partition",
    "random_partition",
    "sparse_fit",
    "sparse_path",
]

#: A k-means: data and starting centres to labels.
KMeansStep = Callable[[Array, Array], Ints]


class SparseFit(NamedTuple):
    """Sparse k-means at one bound."""

    bound: float
    """Bound on the one-norm of the weights."""
    weights: Array
    """Weight of each feature; two-norm 1."""
    labels: Ints
    """Cluster of each row."""
    criterion: Array
    """Weighted between-cluster sum of squares after each iteration."""
    within: Array
    """Within-cluster sum of squares of each feature."""
    between: Array
    """Between-cluster sum of squares of each feature."""
    converged: bool
    """Whether the weights had settled before `max_iter`."""


def partition(X: Array, centers: Array) -> Ints:
    """Partition by Hartigan and Wong's k-means, ten iterations at most.

    A centre to which no row is nearest takes the row that is farthest from its own centre.
    """
    return hartigan_wong(X, centers, max_iter=10, empty="relocate").labels


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


def sparse_fit(
    X: Array,
    labels: Ints,
    bound: float,
    *,
    max_iter: int = 6,
    tol: float = 1e-4,
    search: Search = "sparcl",
    kmeans: KMeansStep = partition,
) -> SparseFit:
    r"""Sparse k-means at one bound, from a partition.

    Maximises :math:`\sum_l w_l B_l` over partitions and weights with :math:`\|w\|_2 \le 1`,
    :math:`\|w\|_1 \le b`, where :math:`B_l` is the between-cluster sum of squares of feature l.
    The weights follow from the partition by soft-thresholding; the partition is improved by
    k-means on the features with a weight, each multiplied by :math:`\sqrt{w_l}`, started from
    the means of the current clusters. The given partition serves the first weights.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    labels : ndarray of shape (n,)
        Starting partition, clusters 0 .. k-1, none empty.
    bound : float
        Bound on the one-norm of the weights, 1 or more.
    max_iter : int, default 6
        Largest number of weight updates, as in sparcl.
    tol : float, default 1e-4
        Stop when :math:`\sum_l |w_l - w_l^{old}| \le tol \sum_l |w_l^{old}|`.
    search : {"sparcl", "exact"}, default "sparcl"
        See :func:`ewp.soft_threshold.threshold_weights`.
    kmeans : callable, default :func:`partition`
        ``kmeans(Z, centers) -> labels`` for the partition step.

    Returns
    -------
    SparseFit

    References
    ----------
    Witten, D. M. and Tibshirani, R. (2010). A framework for feature selection in clustering.
    *Journal of the American Statistical Association* 105, 713-726.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> X[:30, 0] += 8.0
    >>> fit = sparse_fit(X, np.arange(60) % 2, bound=1.1)
    >>> int(fit.weights.argmax()), len(set(fit.labels[:30])), bool(fit.weights.sum() < 1.2)
    (0, 1, True)
    """
    p = X.shape[1]
    k = int(labels.max()) + 1
    if max_iter < 1:
        raise ValueError(f"max_iter={max_iter} must be 1 or more")
    if np.bincount(labels).min() == 0:
        raise ValueError(f"labels go up to {k - 1}, but some cluster below that has no row")
    weights = np.full(p, p**-0.5)
    criterion: list[float] = []
    converged = False
    while len(criterion) < max_iter and not converged:
        old = weights
        if criterion:
            used = weights > 0.0
            Z = X[:, used] * np.sqrt(weights[used])
            labels = kmeans(Z, group_means(Z, labels, k)[0])
        within, between = feature_sums(X, labels, k)
        weights = threshold_weights(between, bound, search)
        criterion.append(float(weights @ between))
        converged = bool(np.abs(weights - old).sum() <= tol * np.abs(old).sum())
    return SparseFit(float(bound), weights, labels, np.array(criterion), within, between, converged)


def sparse_path(
    X: Array,
    start: Array | Ints,
    bounds: Iterable[float],
    *,
    max_iter: int = 6,
    tol: float = 1e-4,
    search: Search = "sparcl",
    kmeans: KMeansStep = partition,
) -> list[SparseFit]:
    """Sparse k-means at several bounds, each fit starting from the partition of the one before.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    start : ndarray
        Centres of shape (k, p), from which a plain k-means makes the first partition, or the
        labels of a partition, shape (n,).
    bounds : iterable of float
        Bounds in the order in which they are to be fitted.
    max_iter, tol, search, kmeans
        As in :func:`sparse_fit`.

    Returns
    -------
    list of SparseFit
        One fit per bound.
    """
    if start.ndim == 2:
        labels = kmeans(X, np.asarray(start, dtype=np.float64))
    else:
        labels = np.asarray(start, dtype=np.intp)
    fits: list[SparseFit] = []
    for bound in bounds:
        fits.append(
            sparse_fit(X, labels, bound, max_iter=max_iter, tol=tol, search=search, kmeans=kmeans)
        )
        labels = fits[-1].labels
    return fits


def random_partition(
    X: Array, k: int, n_starts: int, rng: np.random.Generator, *, kmeans: KMeansStep = partition
) -> Ints:
    """Best plain k-means of several starts, each from k distinct rows drawn at random.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    >>> labels = random_partition(X, 3, 10, np.random.default_rng(0))
    >>> len(set(labels[:2])), len(set(labels[2:4])), len(set(labels))
    (1, 1, 3)
    """
    rows = np.sort(np.unique(X, axis=0, return_index=True)[1])
    if k > len(rows):
        raise ValueError(f"k={k} exceeds the {len(rows)} distinct rows of X")
    best, lowest = np.zeros(len(X), dtype=np.intp), np.inf
    for _ in range(n_starts):
        labels = kmeans(X, X[rng.choice(rows, size=k, replace=False)])
        within = float(feature_sums(X, labels, k)[0].sum())
        if within < lowest:
            best, lowest = labels, within
    return best
