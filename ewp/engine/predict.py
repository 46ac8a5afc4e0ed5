"""Distances of rows to the centroids of a fit: what predictions are made of."""

from __future__ import annotations

import numpy as np

from ewp.common.types import Array
from ewp.data.sparse import SparseRows, has_sparse_rows
from ewp.engine.array import ArrayEngine
from ewp.engine.sparse import SparseEngine

__all__ = ["centroid_distances", "nearest_centroids"]


def _for_new_rows(X: Array | SparseRows, center: Array, scale: Array) -> ArrayEngine:
    """Return an engine in which no row depends on those beside it.

    Which distances are rounding errors is told by the centroids alone: a fill value among the rows
    would make errors of all the others.
    """
    if has_sparse_rows(X):
        engine: ArrayEngine = SparseEngine(X, center=center, scale=scale)
    else:
        engine = ArrayEngine(X, center=center, scale=scale)
    engine.squares = np.zeros(engine.p)
    return engine


def nearest_centroids(
    X: Array | SparseRows, theta: Array, weights: Array, center: Array, scale: Array
) -> tuple[np.ndarray, Array]:
    """Nearest centroid of every row of new data.

    Parameters
    ----------
    X : ndarray or SparseRows of shape (n, p)
    theta : ndarray of shape (k, p)
        Centroids in data units.
    weights, center, scale : ndarray of shape (p,)
        The metric is ``sum_l weights_l ((x_l - theta_l) / scale_l)**2``; `center` only keeps
        the arithmetic accurate.

    Returns
    -------
    labels : ndarray of shape (n,)
    distance : ndarray of shape (n,)
        Squared weighted distance to the nearest centroid.
    """
    engine = _for_new_rows(X, center, scale)
    return engine.assign(engine.to_engine_units(theta), weights)


def centroid_distances(
    X: Array | SparseRows, theta: Array, weights: Array, center: Array, scale: Array
) -> Array:
    """Squared weighted distances of new data to all centroids, an (n, k) array.

    Parameters are those of `nearest_centroids`.
    """
    engine = _for_new_rows(X, center, scale)
    return engine.distances(engine.to_engine_units(theta), weights)
