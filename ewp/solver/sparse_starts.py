r"""Starts where features outnumber rows: partitions of sparse k-means.

Where a few of thousands of features tell the clusters apart, distances in all of them are noise,
and an annealing begins in it. Sparse k-means (Witten and Tibshirani 2010) finds such features by
itself: it alternates between k-means in the metric of the weights and weights that are
soft-thresholded sums of squares between the clusters. Its partitions, for bounds that leave some
hundreds, some tens and a few features, are starts for EWP; which of them is good the objective
says. It begins in the metric of all features, in that of those that covary with many others, as
features do in which the same clusters differ, and on whitened leading principal components, in
which no direction is louder than another.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeGuard

import numpy as np
from scipy.linalg import eigh

from ewp.common.types import Array
from ewp.engine.base import Engine, RowEngine
from ewp.engine.divergence import SQUARED_EUCLIDEAN
from ewp.solver.gram_kmeans import memberships, move_rows, seeded
from ewp.solver.starts import seed_numbers
from ewp.solver.weights import RelativeEntropy, threshold_weights

__all__ = ["SparseStarts", "has_wide_shape", "is_wide", "sparse_partitions"]

#: Fewest features of data that have such starts, and their most entries, which are copied.
_FEWEST_FEATURES, _MOST_ENTRIES = 500, 2**23
#: Bounds on the one-norm of the weights: the number of features that matter is about their square.
_BOUNDS = (16.0, 8.0, 4.0)
#: Partitions that are tried in either metric, and those of all that are followed.
_SEEDS, _FOLLOWED = 10, 4
#: Updates of the weights at a bound.
_UPDATES = 3
#: Updates by which the features that covary with others are found, and the bound on their weights.
_COVARYING_UPDATES, _COVARYING_BOUND = 3, 16.0
#: Part of the largest variance that is none.
_NO_VARIANCE = 1e-10
#: Entries of inner products that are held at once.
_ENTRIES = 2**22
#: Seed of the partitions: they belong to the rows, and another seed of a fit does not change them.
_SEED = 0
_TINY = np.finfo(float).tiny


def has_wide_shape(n: int, p: int) -> bool:
    """Whether features outnumber rows, and there are at least 500 of them.

    >>> has_wide_shape(100, 5000), has_wide_shape(100, 200), has_wide_shape(1000, 800)
    (True, False, False)
    """
    return p >= _FEWEST_FEATURES and n < p and n * p <= _MOST_ENTRIES


def is_wide(engine: Engine) -> TypeGuard[RowEngine]:
    """Whether features are so many that some starts are partitions of sparse k-means."""
    known = isinstance(engine, RowEngine) and engine.divergence is SQUARED_EUCLIDEAN
    return known and has_wide_shape(engine.n, engine.p)


class Begun(NamedTuple):
    """Partitions by the means of their clusters, and what is left within these.

    Attributes
    ----------
    means : ndarray of shape (m, k, p)
        In the engine's coordinates.
    within : ndarray of shape (m, p)
        Sums of squares within the clusters.
    """

    means: Array
    within: Array


class SparseStarts:
    """Partitions of some rows from which EWP may begin.

    Standardised features begin at partitions of standardised ones alone, so that units have no say;
    others also at partitions of the features as they are.

    Parameters
    ----------
    engine : RowEngine
    k : int
    mass : ndarray of shape (n,) or None
        Weights of the rows; those of weight zero have no part.
    included : ndarray of bool, shape (p,)
        Features that a prior does not exclude.
    """

    def __init__(self, engine: RowEngine, k: int, mass: Array | None, included: np.ndarray) -> None:
        order = engine.order
        own = np.ones(engine.n) if mass is None else mass
        order = order[own[order] > 0]
        self.k, self.mass, self.included = k, own[order], included
        rows = engine.rows(order)
        self.center = self.mass @ rows / self.mass.sum()
        self.X = rows - self.center
        self.squares = self.mass @ self.X**2
        self._begun: dict[bool, Begun] = {}

    def begun(self, *, standardise: bool) -> Begun:
        """Return the partitions of the features as they are, or standardised."""
        if standardise not in self._begun:
            X, squares = self.X, self.squares
            used = self.included & (squares > 0)
            if standardise:
                X = X * np.sqrt(self.mass.sum() / np.where(used, squares, 1.0))
            X = X if used.all() else X[:, used]
            labels = sparse_partitions(X, self.mass, self.k, np.random.default_rng(_SEED))
            means, size = _means(self.X, self.mass, labels, self.k)
            within = squares - np.einsum("mj,mjl->ml", size, means**2)
            means += self.center
            self._begun[standardise] = Begun(means, np.maximum(within, 0.0))
        return self._begun[standardise]

    def lowest(self, rule: RelativeEntropy, most: int, *, standardise: bool) -> tuple[Array, Array]:
        """Return centroids and weights of the partitions with the lowest objectives.

        Parameters
        ----------
        rule : RelativeEntropy
            Of one run.
        most : int
        standardise : bool
            Whether the run's features are standardised.
        """
        kinds = (True,) if standardise else (False, True)
        means, within = (
            np.concatenate(parts)
            for parts in zip(*(self.begun(standardise=kind) for kind in kinds), strict=True)
        )
        best = np.argsort(rule.least(within), kind="stable")[:most]
        return means[best], rule.update(within[best])


def sparse_partitions(X: Array, mass: Array, k: int, rng: np.random.Generator) -> np.ndarray:
    """Partitions of sparse k-means at several bounds, (m, n), without repetitions.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Rows about their mean, in an order that depends on their values only.
    mass : ndarray of shape (n,)
        Weights of the rows, all positive.
    k : int
    rng : Generator
    """
    largest = float(np.abs(X).max(initial=0.0))
    if largest == 0.0:
        return np.zeros((0, len(X)), dtype=np.intp)
    X = np.ldexp(X, -math.frexp(largest)[1])  # squares of squares stay within range
    found = []
    for inner in (X @ X.T, *_covarying(X, mass), _whitened(X, mass, k)):
        begun = seeded(inner, mass, k, seed_numbers(rng, _SEEDS, k))
        found.append(move_rows(inner[None], mass, begun, k))
    labels = _distinct(np.concatenate(found))
    found = [labels]
    for bound in _BOUNDS:
        for _ in range(_UPDATES):
            before = labels
            weights, worth = _weigh(X, mass, labels, k, bound)
            best = np.sort(np.argsort(-worth, kind="stable")[:_FOLLOWED])
            labels = _regroup(X, mass, labels[best], k, weights[best])
            if np.array_equal(labels, before):
                break
        labels = _distinct(labels)
        found.append(labels)
    return _distinct(np.concatenate(found))


def _covarying(X: Array, mass: Array) -> list[Array]:
    """Inner products of the rows in the features that covary with many others, if there are such.

    A feature's weight is its mean squared covariance with the others in the metric of the weights,
    per unit of its own variance, soft-thresholded.
    """
    Y = X * np.sqrt(mass)[:, None]
    squares = np.einsum("il,il->l", Y, Y)
    inner, weights = Y @ Y.T, np.ones(X.shape[1])
    for _ in range(_COVARYING_UPDATES):
        shared = np.einsum("il,il->l", Y, inner @ Y) - weights * squares**2
        shared /= np.maximum(squares, _TINY)
        shared -= np.median(shared)
        if not (shared > 0).any():
            return []
        weights = threshold_weights(shared, _COVARYING_BOUND, "exact")
        inner = _inner(Y, weights)
    return [_inner(X, weights)]


def _whitened(X: Array, mass: Array, k: int) -> Array:
    """Inner products of the rows on the first k - 1 principal components, all of equal variance.

    The centroids of k clusters lie in k - 1 dimensions. What differs within all clusters alike, the
    light on faces or the batch of a chip, may have more variance than they, and hides them.
    """
    root = np.sqrt(mass)[:, None]
    Y = X * root
    n = len(X)
    values, vectors = eigh(Y @ Y.T, subset_by_index=(max(n - k + 1, 0), n - 1))
    coordinates = vectors[:, values > _NO_VARIANCE * values[-1]] / root
    return coordinates @ coordinates.T


def _distinct(labels: np.ndarray) -> np.ndarray:
    """Return partitions that differ, with clusters numbered as they come up."""
    named = np.array([_as_they_come(one) for one in labels])
    _, first = np.unique(named, axis=0, return_index=True)
    return named[np.sort(first)]


def _as_they_come(labels: np.ndarray) -> np.ndarray:
    """Number clusters by their first rows.

    >>> _as_they_come(np.array([2, 2, 0, 1, 0])).tolist()
    [0, 0, 1, 2, 1]
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _means(X: Array, mass: Array, labels: np.ndarray, k: int) -> tuple[Array, Array]:
    """Means of the clusters of some partitions, (m, k, p), and their weights, (m, k)."""
    member = memberships(labels, mass, k)
    size = member.sum(axis=1)
    sums = member.transpose(0, 2, 1).reshape(-1, len(X)) @ X
    sums = sums.reshape(len(labels), k, -1)
    sums /= np.maximum(size, _TINY)[..., None]
    return sums, size


def _weigh(X: Array, mass: Array, labels: np.ndarray, k: int, bound: float) -> tuple[Array, Array]:
    """Weights of sparse k-means given partitions, and the criterion that they reach."""
    means, size = _means(X, mass, labels, k)
    means *= means
    between = np.einsum("mj,mjl->ml", size, means)
    weights = np.array([threshold_weights(one, bound, "exact") for one in between])
    return weights, np.einsum("ml,ml->m", weights, between)


def _regroup(X: Array, mass: Array, labels: np.ndarray, k: int, weights: Array) -> np.ndarray:
    """Improve every partition in the metric of its own weights."""
    found = labels.copy()
    size = max(_ENTRIES // len(X) ** 2, 1)
    for start in range(0, len(labels), size):
        part = slice(start, start + size)
        inner = np.array([_inner(X, one) for one in weights[part]])
        found[part] = move_rows(inner, mass, labels[part], k)
    return found


def _inner(X: Array, weights: Array) -> Array:
    """Inner products of the rows in the metric of weights most of which are zero."""
    used = np.flatnonzero(weights)
    scaled = X[:, used] * np.sqrt(weights[used])
    return scaled @ scaled.T
