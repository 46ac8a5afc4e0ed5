"""Hartigan and Wong's k-means (Algorithm AS 136), with the decisions of the sequential original.

Lloyd's algorithm moves a point to the nearest centroid. Hartigan and Wong's moves it when that
lowers the within-cluster sum of squares, counting what the move does to both centroids, so its
local optima are a subset of Lloyd's. It treats one point after the other, and the answer depends
on their order. Order and arithmetic are kept, so R's ``kmeans`` and this function return the same
partition. How it is done with arrays is in `ewp.peers.as136`; weighted rows, random starts and
feature weights are not treated here.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from ewp.common.types import Array, Ints
from ewp.metrics import group_means
from ewp.peers.as136 import TransferSearch

__all__ = [
    "EmptyClusterError",
    "HartiganWong",
    "hartigan_wong",
]


class EmptyClusterError(ValueError):
    """A starting centre is the nearest one to no row, so its cluster would be empty."""


class HartiganWong(NamedTuple):
    """What :func:`hartigan_wong` returns."""

    labels: Ints
    """Cluster of each row, numbered as the starting centres."""
    centers: Array
    """Means of the clusters, shape (k, p)."""
    withinss: Array
    """Within-cluster sum of squares of each cluster."""
    sizes: Ints
    """Number of rows in each cluster."""
    n_iter: int
    """Optimal-transfer stages entered."""
    converged: bool
    """False when ``max_iter`` (or the limit on quick transfers) ended the search."""


def hartigan_wong(
    X: Array,
    centers: Array,
    max_iter: int = 10,
    *,
    empty: Literal["error", "relocate"] = "error",
) -> HartiganWong:
    r"""K-means by Hartigan and Wong's Algorithm AS 136, from given centres.

    A point of cluster :math:`a` with :math:`n_a` points goes to cluster :math:`b` when

    .. math:: \frac{n_b}{n_b + 1} \|x - c_b\|^2 < \frac{n_a}{n_a - 1} \|x - c_a\|^2 ,

    that is, when the within-cluster sum of squares falls by the move; both centroids follow at
    once. The *optimal-transfer* stage compares each point with every cluster (or, where nothing
    has changed since, with those of the live set), the *quick-transfer* stage only with the second
    choice found there. They alternate until a whole optimal-transfer pass moves nothing.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Data, finite.
    centers : ndarray of shape (k, p)
        Starting centres. Each row of `X` first joins the nearest, then the means are taken.
    max_iter : int, default 10
        Largest number of optimal-transfer stages; 10 is the default of R's ``kmeans``.
    empty : {"error", "relocate"}, default "error"
        What to do when a starting centre is nearest to no row: raise, as R does, or give its
        cluster the row farthest from its own centre (among clusters of two rows or more).

    Returns
    -------
    HartiganWong
        Labels, means, within-cluster sums of squares, sizes, iterations, convergence.

    Raises
    ------
    EmptyClusterError
        With ``empty="error"``, when two starting centres are identical or one attracts no row.
    ValueError
        When there are more centres than rows or the shapes do not fit.

    References
    ----------
    Hartigan, J. A. and Wong, M. A. (1979). Algorithm AS 136: A k-means clustering algorithm.
    *Applied Statistics* 28, 100-108.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0], [5.4]])
    >>> fit = hartigan_wong(X, np.array([[0.0], [11.0]]))
    >>> fit.labels.tolist(), fit.withinss.round(3).tolist(), fit.converged
    ([0, 0, 1, 1, 0], [16.507, 0.5], True)
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    centers = np.array(centers, dtype=np.float64, order="C", ndmin=2)
    _check(X, centers, max_iter, empty)
    n, k = len(X), len(centers)
    if k == 1:
        return _finish(X, np.zeros(n, dtype=np.intp), 1, n_iter=1, converged=True)

    search = TransferSearch(X, centers)
    vacant = np.flatnonzero(np.bincount(search.first, minlength=k) == 0)
    if vacant.size and empty == "error":
        raise EmptyClusterError(
            f"no row of X is nearest to starting centre {vacant[0]}, so its cluster would be "
            "empty; start from other centres or give empty='relocate'"
        )
    if vacant.size:
        search.fill_empty()
    search.take_means()
    converged = False
    quiet = n_iter = 0
    while n_iter < max_iter and not converged:
        n_iter += 1
        quiet = search.optimal_transfer(quiet)
        if quiet == n:
            converged = True
            break
        moved, at_rest = search.quick_transfer()
        if not at_rest:
            break
        if moved:
            quiet = 0
        # With two clusters the second choice is the only choice: nothing is left to find.
        converged = k == 2
    return _finish(X, search.first, k, n_iter=n_iter, converged=converged)


def _check(X: Array, centers: Array, max_iter: int, empty: str) -> None:
    if X.ndim != 2 or not X.size or centers.ndim != 2 or centers.shape[1] != X.shape[1]:
        raise ValueError(f"X of shape {X.shape} and centers of shape {centers.shape} do not fit")
    if not (np.isfinite(X).all() and np.isfinite(centers).all()):
        raise ValueError("X and centers must not contain NaN or infinity")
    if not 1 <= len(centers) <= len(X):
        raise ValueError(f"k={len(centers)} centers need at least as many rows, X has {len(X)}")
    if max_iter < 1:
        raise ValueError(f"max_iter={max_iter} must be 1 or more")
    if empty not in ("error", "relocate"):
        raise ValueError(f"empty={empty!r} is unknown; give 'error' or 'relocate'")
    if empty == "error" and len(np.unique(centers, axis=0)) < len(centers):
        raise EmptyClusterError(
            "starting centres are not distinct; of two equal ones, the second attracts no row"
        )


def _finish(X: Array, labels: Ints, k: int, n_iter: int, converged: bool) -> HartiganWong:
    means, sizes = group_means(X, labels, k)
    squares = np.sum((X - means[labels]) ** 2, axis=1)
    withinss: Array = np.bincount(labels, weights=squares, minlength=k).astype(np.float64)
    return HartiganWong(labels, means, withinss, sizes, n_iter, converged)
