"""How well clusters hold: similarity to those of another partition, silhouettes in a metric."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import silhouette_samples

from ewp.kernel import Array

__all__ = ["jaccard", "silhouettes"]

_MOST_SILHOUETTES = 10_000
_NEGLIGIBLE = 1e-12


def jaccard(original: np.ndarray, found: np.ndarray, k: int) -> Array:
    """Jaccard similarity of each original cluster to the most similar one found.

    Parameters
    ----------
    original, found : ndarray of shape (m,)
        Clusters of the same rows, counted from 0; those of the original are less than `k`.
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
    shared = np.zeros((k, int(found.max()) + 1))
    np.add.at(shared, (original, found), 1.0)
    union = shared.sum(axis=1, keepdims=True) + shared.sum(axis=0) - shared
    similarity = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    best: Array = similarity.max(axis=1)
    return best


def silhouettes(
    X: Array, labels: np.ndarray, metric: Array, rng: np.random.Generator | int = 0
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

    Returns
    -------
    ndarray of shape (n,)
        NaN also if there is only one cluster, or as many as rows.
    """
    values = np.full(len(X), np.nan)
    rows = np.arange(len(X))
    if len(rows) > _MOST_SILHOUETTES:
        chosen = np.random.default_rng(rng).choice(len(rows), _MOST_SILHOUETTES, replace=False)
        rows = np.sort(chosen)
    if 1 < len(np.unique(labels[rows])) < len(rows):
        used = np.flatnonzero(metric > _NEGLIGIBLE * metric.max())
        Z = np.asarray(X[rows][:, used], dtype=float)
        Z = (Z - Z.mean(axis=0)) * np.sqrt(metric[used])
        values[rows] = silhouette_samples(Z, labels[rows])
    return values
