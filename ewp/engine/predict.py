"""Distances of rows to the centroids of a fit: what predictions are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ewp.common.types import Array
from ewp.data.sparse import SparseRows, has_sparse_rows
from ewp.engine.array import ArrayEngine
from ewp.engine.bregman import BregmanEngine
from ewp.engine.cluster_metric import ClusterMetric, cluster_distances
from ewp.engine.divergence import ColumnDivergence
from ewp.engine.sparse import SparseEngine

__all__ = ["FittedMetric", "centroid_distances", "nearest_centroids"]


class FittedMetric(NamedTuple):
    """Centroids, weights, means and divisors of a fit, and what stands for squared differences.

    Where every cluster has weights of its own, `price` is what these add to squared distances.
    """

    theta: Array
    weights: Array
    center: Array
    scale: Array
    divergence: ColumnDivergence | None = None
    price: Array | None = None

    def tangent(self) -> tuple[Array, Array, Array, Array]:
        """Centroids, weights, means and divisors of squared differences that are close to it.

        Near the means, divergences are squared differences times half the curvature.
        """
        if self.divergence is None:
            return self[:4]
        curved = np.where(self.weights > 0, self.divergence.curvature, 0.0)
        return self.theta, 0.5 * self.weights * curved, self.center, self.scale


def _for_new_rows(
    X: Array | SparseRows, center: Array, scale: Array, divergence: ColumnDivergence | None
) -> ArrayEngine:
    """Return an engine in which no row depends on those beside it.

    Which distances are rounding errors is told by the centroids alone: a fill value among the rows
    would make errors of all the others.
    """
    if divergence is not None:
        assert isinstance(X, np.ndarray)
        centred = np.where(divergence.squared, center, 0.0)
        engine: ArrayEngine = BregmanEngine(
            X, names=divergence.names, divergence=divergence, center=centred
        )
    elif has_sparse_rows(X):
        engine = SparseEngine(X, center=center, scale=scale)
    else:
        engine = ArrayEngine(X, center=center, scale=scale)
    engine.squares = np.zeros(engine.p)
    return engine


def _own_distances(
    engine: ArrayEngine, theta: Array, weights: Array, price: Array
) -> Iterator[Array]:
    """Distances with a metric for every centroid, block by block, arrays (k, rows)."""
    if engine.missingness:
        raise ValueError(
            'X has missing values, but distances with weights="cluster" need all values of a row; '
            "fill or drop them"
        )
    metric = ClusterMetric(engine.to_engine_units(theta)[None], weights[None], price[None])
    for _, distance in cluster_distances(engine, metric):
        yield distance[0]


def nearest_centroids(
    X: Array | SparseRows,
    theta: Array,
    weights: Array,
    center: Array,
    scale: Array,
    divergence: ColumnDivergence | None = None,
    price: Array | None = None,
) -> tuple[np.ndarray, Array]:
    """Nearest centroid of every row of new data.

    Parameters
    ----------
    X : ndarray or SparseRows of shape (n, p)
    theta : ndarray of shape (k, p)
        Centroids in data units.
    weights, center, scale : ndarray of shape (p,)
        The metric is ``sum_l weights_l ((x_l - theta_l) / scale_l)**2``; `center` only keeps
        the arithmetic accurate. Weights may be of shape (k, p), one metric for every centroid.
    divergence : ColumnDivergence or None
        What stands in the place of squared differences; `scale` has no part in it.
    price : ndarray of shape (k,), optional
        What is added to the squared distances to every centroid, with metrics of their own.

    Returns
    -------
    labels : ndarray of shape (n,)
    distance : ndarray of shape (n,)
        Squared weighted distance to the nearest centroid.
    """
    engine = _for_new_rows(X, center, scale, divergence)
    if price is not None:
        found = [
            (distance.argmin(axis=0), distance.min(axis=0))
            for distance in _own_distances(engine, theta, weights, price)
        ]
        labels, distance = (np.concatenate(part) for part in zip(*found, strict=True))
        return labels, distance
    return engine.assign(engine.to_engine_units(theta), weights)


def centroid_distances(
    X: Array | SparseRows,
    theta: Array,
    weights: Array,
    center: Array,
    scale: Array,
    divergence: ColumnDivergence | None = None,
    price: Array | None = None,
) -> Array:
    """Squared weighted distances of new data to all centroids, an (n, k) array.

    Parameters are those of `nearest_centroids`.
    """
    engine = _for_new_rows(X, center, scale, divergence)
    if price is not None:
        return np.concatenate([d.T for d in _own_distances(engine, theta, weights, price)])
    return engine.distances(engine.to_engine_units(theta), weights)
