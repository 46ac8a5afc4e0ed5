"""Rows to their nearest centroids in the metric of a fit: what predictions are made of."""

from __future__ import annotations

import numpy as np

from ewp.blas import one_blas_thread
from ewp.engine import ArrayEngine
from ewp.kernel import Array

__all__ = ["assign", "distances"]


def assign(
    X: Array, theta: Array, weights: Array, center: Array, scale: Array
) -> tuple[np.ndarray, Array]:
    """Nearest centroid of every row of new data.

    Parameters
    ----------
    X : ndarray of shape (n, p)
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
    with one_blas_thread():
        engine = ArrayEngine(X, center=center, scale=scale)
        return engine.assign(engine.inside(theta), weights)


def distances(X: Array, theta: Array, weights: Array, center: Array, scale: Array) -> Array:
    """Squared weighted distances of new data to all centroids, an (n, k) array.

    Parameters are those of `assign`.
    """
    with one_blas_thread():
        engine = ArrayEngine(X, center=center, scale=scale)
        return engine.distances(engine.inside(theta), weights)
