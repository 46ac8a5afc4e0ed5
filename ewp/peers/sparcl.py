"""Sparse k-means (Witten and Tibshirani 2010) as the R package sparcl computes it.

The functions here take arrays and return tuples: one fit from a partition, a path over several
bounds, random starts, and the permutation gap by which the bound is chosen. With the defaults they
take the steps of sparcl and return its numbers; where sparcl stops with an error (one feature left,
a starting centre without rows) they go on. The weight rule is in `ewp.solver.weights`, the k-means
in `ewp.peers.hartigan_wong`, the estimator in `ewp.peers.sparse_kmeans`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from ewp.common.checks import check_choice, check_integer, check_number
from ewp.common.parallel import tqdm
from ewp.common.types import Array, Ints
from ewp.data.arguments import generator
from ewp.data.validation import check_data, check_distinct
from ewp.metrics import feature_sums, group_means
from ewp.peers.hartigan_wong import hartigan_wong
from ewp.solver.weights import Search, threshold_weights

__all__ = [
    "SparseFit",
    "SparseGap",
    "random_partition",
    "sparse_fit",
    "sparse_gap",
    "sparse_path",
    "usual_bounds",
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
        See :func:`ewp.solver.weights.threshold_weights`.
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
    progress: bool | None = None,
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
        As in :func:`ewp.peers.sparcl.sparse_fit`.
    threshold : {"sparcl", "exact"}, default "sparcl"
        How the threshold of the weights is found, see `ewp.solver.weights.threshold_weights`.
    n_jobs : int, optional
        Processes among which the permutations are shared.
    progress : bool or None, default None
        Show a progress bar; None shows it in a terminal or a notebook, after some seconds.

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
    permuted = tqdm(runs, total=len(orders), desc="permutations", progress=progress)
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
