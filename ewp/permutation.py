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

from ewp._progress import tqdm
from ewp.assignment import Ints
from ewp.checks import check_choice, check_integer, check_number
from ewp.inputs import check_data, check_distinct, generator
from ewp.kernel import Array
from ewp.soft_threshold import Search
from ewp.sparse import KMeansStep, SparseFit, partition, random_partition, sparse_path

__all__ = ["SparseGap", "sparse_gap", "usual_bounds"]


class SparseGap(NamedTuple):
    """The permutation gap of :func:`sparse_gap`; the names of its figures are sparcl's."""

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


def usual_bounds(p: int, count: int = 10) -> Array:
    """Bounds worth comparing in p features, from 1.2 to where a bound has no effect.

    Examples
    --------
    >>> usual_bounds(9, 3).round(3)
    array([1.2  , 1.897, 3.   ])
    """
    return np.unique(np.geomspace(min(1.2, p**0.5), p**0.5, count))


def sparse_gap(
    X: Any,
    start: int | Array,
    bounds: Sequence[float] | Array | None = None,
    *,
    permutations: int | Ints = 25,
    n_starts: int = 20,
    random_state: Any = None,
    max_iter: int = 6,
    tol: float = 1e-4,
    threshold: Search = "sparcl",
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
    X : array-like or DataFrame of shape (n, p)
    start : int or array-like of shape (k, p)
        Number of clusters, for random starts, or starting centres, used on the data and on every
        permutation of it.
    bounds : sequence of float, optional
        Bounds to compare, fitted in this order, each from the partition before. By default ten
        from 1.2 to the square root of p, equally spaced on the log scale.
    permutations : int or array-like of shape (B, n, p), default 25
        How many to draw, or the row numbers: ``X_i = np.take_along_axis(X, permutations[i], 0)``.
    n_starts : int, default 20
        Random starts of each data set when `start` is a number.
    random_state : int, Generator, RandomState or None, default None
        Seed of permutations and starts. The result does not depend on `n_jobs`.
    max_iter, tol, kmeans
        As in :func:`ewp.sparse.sparse_fit`.
    threshold : {"sparcl", "exact"}, default "sparcl"
        How the threshold of the weights is found, see `ewp.soft_threshold.threshold_weights`.
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
    >>> gap = sparse_gap(X, 2, [1.2, 1.5, 2.4], permutations=5, n_starts=3, random_state=1)
    >>> gap.bestw, gap.permtots.shape
    (1.5, (3, 5))
    """
    X = np.asarray(check_data(X), dtype=np.float64)
    start = _check_start(start, X)
    bounds = usual_bounds(X.shape[1]) if bounds is None else _check_bounds(bounds)
    orders = _check_permutations(permutations, X.shape)
    options = {
        "max_iter": check_integer("max_iter", max_iter, least=1),
        "tol": check_number("tol", tol, above=0),
        "search": check_choice("threshold", threshold, ("sparcl", "exact")),
        "kmeans": kmeans,
    }
    n_starts = check_integer("n_starts", n_starts, least=1)
    source, *sources = generator(random_state).spawn(len(orders) + 1)
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


def _check_start(start: Any, X: Array) -> int | Array:
    """Check a number of clusters or starting centres: two or more, not more than distinct rows."""
    found: int | Array
    if np.ndim(start) == 0:
        k = found = check_integer("start", start, least=2)
    else:
        found = np.array(start, dtype=np.float64)
        k, p = len(found), X.shape[1]
        if found.shape != (k, p) or k < 2 or not np.isfinite(found).all():
            raise ValueError(
                f"start of shape {found.shape} must hold 2 or more finite centres of {p} features"
            )
    check_distinct(X, k)
    return found


def _check_bounds(bounds: Any) -> Array:
    array = np.asarray(bounds, dtype=np.float64)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"bounds={bounds!r} must be a sequence of one number or more")
    wrong = array[~(np.isfinite(array) & (array >= 1))]
    if len(wrong):
        raise ValueError(f"bounds has {wrong[0]:g}, but a bound must be finite and at least 1")
    return array


def _check_permutations(permutations: Any, shape: tuple[int, ...]) -> list[Ints | None]:
    """Return row numbers for every permutation, None for one that is to be drawn."""
    if np.ndim(permutations) == 0:
        return [None] * check_integer("permutations", permutations, least=2)
    orders = np.asarray(permutations)
    if orders.ndim != 3 or orders.shape[1:] != shape or len(orders) < 2:
        raise ValueError(
            f"permutations has shape {orders.shape}; give 2 or more, each of the shape {shape} of X"
        )
    if not (np.sort(orders, axis=1) == np.arange(shape[0])[:, None]).all():
        raise ValueError(
            f"every column of permutations must hold each row number from 0 to {shape[0] - 1} once"
        )
    return list(orders.astype(np.intp))


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
