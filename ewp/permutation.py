"""The permutation gap by which the bound of sparse k-means is chosen.

A larger bound always gives a larger criterion, on data with clusters and without. What counts is
how far the criterion exceeds the one on data whose features were permuted independently. The fits
themselves are in `ewp.sparse`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from tqdm.auto import tqdm

from ewp.assignment import Ints
from ewp.kernel import Array
from ewp.soft_threshold import Search
from ewp.sparse import KMeansStep, SparseFit, partition, random_partition, sparse_path

__all__ = ["SparseGap", "sparse_gap"]


class SparseGap(NamedTuple):
    """The permutation gap of :func:`sparse_gap`, with the names sparcl uses."""

    bounds: Array
    """Bounds, in the order given."""
    tots: Array
    """Criterion on the data, for each bound."""
    permtots: Array
    """Criterion on permuted data, shape (bounds, permutations)."""
    gaps: Array
    """``log(tots)`` minus the mean of ``log(permtots)``."""
    sdgaps: Array
    """Standard deviation of ``log(permtots)``."""
    nnonzerows: Ints
    """Number of non-zero weights on the data."""
    bestw: float
    """Bound with the largest gap."""

    @property
    def bestw_1sd(self) -> float:
        """Smallest bound whose gap is within a standard deviation of the largest."""
        best = int(np.argmax(self.gaps))
        return float(self.bounds[self.gaps >= self.gaps[best] - self.sdgaps[best]].min())


def sparse_gap(
    X: Array,
    start: int | Array,
    bounds: Sequence[float] | Array,
    *,
    permutations: int | Ints = 25,
    n_starts: int = 20,
    rng: np.random.Generator | int | None = None,
    max_iter: int = 6,
    tol: float = 1e-4,
    search: Search = "sparcl",
    kmeans: KMeansStep = partition,
    n_jobs: int | None = None,
    progress: bool = False,
) -> SparseGap:
    r"""Permutation gap of sparse k-means over several bounds.

    Permuting each feature on its own destroys the clusters and keeps the margins. With
    :math:`O(b)` the criterion at bound b on the data and :math:`O_1(b) \dots O_B(b)` on permuted
    data,

    .. math:: \mathrm{Gap}(b) = \log O(b) - \frac 1 B \sum_{i=1}^B \log O_i(b) .

    Parameters
    ----------
    X : ndarray of shape (n, p)
    start : int or ndarray of shape (k, p)
        Number of clusters, for random starts, or starting centres, used on the data and on every
        permutation of it.
    bounds : sequence of float
        Bounds to compare, fitted in this order, each from the partition before.
    permutations : int or ndarray of shape (B, n, p), default 25
        How many to draw, or the row numbers: ``X_i = np.take_along_axis(X, permutations[i], 0)``.
    n_starts : int, default 20
        Random starts of each data set when `start` is a number.
    rng : Generator, int or None
        Source of permutations and starts. The result does not depend on `n_jobs`.
    max_iter, tol, search, kmeans
        As in :func:`ewp.sparse.sparse_fit`.
    n_jobs : int, optional
        Processes among which the permutations are shared.
    progress : bool, default False
        Show a progress bar.

    Returns
    -------
    SparseGap

    References
    ----------
    Witten, D. M. and Tibshirani, R. (2010). A framework for feature selection in clustering.
    *Journal of the American Statistical Association* 105, 713-726, section 3.2.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(40, 6))
    >>> X[:20, :2] += 5.0
    >>> gap = sparse_gap(X, 2, [1.2, 1.5, 2.4], permutations=5, n_starts=3, rng=1)
    >>> gap.bestw, gap.permtots.shape
    (1.5, (3, 5))
    """
    bounds = np.asarray(bounds, dtype=np.float64)
    orders: list[Ints | None] = []
    if isinstance(permutations, np.ndarray):
        orders.extend(permutations)
    else:
        orders.extend([None] * permutations)
    if len(orders) < 2:
        raise ValueError(f"{len(orders)} permutations have no standard deviation; give 2 or more")
    options = {"max_iter": max_iter, "tol": tol, "search": search, "kmeans": kmeans}
    source, *sources = np.random.default_rng(rng).spawn(len(orders) + 1)
    observed = _path(X, start, n_starts, source, bounds, options)
    runs = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_permuted_path)(X, order, start, n_starts, source, bounds, options)
        for order, source in zip(orders, sources, strict=True)
    )
    permuted = tqdm(runs, total=len(orders), desc="permutations", disable=not progress)
    tots = np.array([fit.criterion[-1] for fit in observed])
    permtots = np.array([[fit.criterion[-1] for fit in path] for path in permuted]).T
    logs = np.log(permtots)
    gaps = np.log(tots) - logs.mean(axis=1)
    return SparseGap(
        bounds=bounds,
        tots=tots,
        permtots=permtots,
        gaps=gaps,
        sdgaps=logs.std(axis=1, ddof=1),
        nnonzerows=np.array([np.count_nonzero(fit.weights) for fit in observed]),
        bestw=float(bounds[np.argmax(gaps)]),
    )


def _path(
    X: Array,
    start: int | Array,
    n_starts: int,
    rng: np.random.Generator,
    bounds: Array,
    options: dict[str, Any],
) -> list[SparseFit]:
    if isinstance(start, np.ndarray):
        return sparse_path(X, start, bounds, **options)
    first = random_partition(X, start, n_starts, rng, kmeans=options["kmeans"])
    return sparse_path(X, first, bounds, **options)


def _permuted_path(
    X: Array,
    order: Ints | None,
    start: int | Array,
    n_starts: int,
    rng: np.random.Generator,
    bounds: Array,
    options: dict[str, Any],
) -> list[SparseFit]:
    """Fits on X with each feature permuted, in a given order or at random."""
    Z = rng.permuted(X, axis=0) if order is None else np.take_along_axis(X, order, axis=0)
    return _path(Z, start, n_starts, rng, bounds, options)
