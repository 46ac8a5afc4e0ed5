"""Matching the clusters of two fits by the Hungarian method."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from ewp.kernel import Array

__all__ = ["centroid_order", "match_labels"]


def centroid_order(theta: Array, reference: Array, metric: Array) -> np.ndarray:
    """Order that brings centroids to those of a reference, by the Hungarian method.

    >>> centroid_order(np.array([[5.0], [1.0]]), np.array([[0.0], [4.0]]), np.ones(1))
    array([1, 0])
    """
    root = np.sqrt(metric)
    gaps = cdist(reference * root, theta * root, "sqeuclidean")
    order: np.ndarray = linear_sum_assignment(gaps)[1]
    return order


def match_labels(labels: np.ndarray, reference: np.ndarray, k: int) -> np.ndarray:
    """New number of every cluster, so that as many rows as possible agree with a reference.

    Parameters
    ----------
    labels, reference : ndarray of shape (n,)
        Clusters counted from 0; those of the reference are less than `k`.
    k : int

    Returns
    -------
    ndarray
        ``numbers[labels]`` are the labels to compare. Clusters without a partner are numbered
        from `k` on.

    Examples
    --------
    >>> match_labels(np.array([1, 1, 0, 2]), np.array([0, 0, 1, 1]), 2)
    array([1, 0, 2])
    """
    count = int(labels.max()) + 1
    table = np.zeros((k, count))
    np.add.at(table, (reference, labels), 1.0)
    wanted, found = linear_sum_assignment(table, maximize=True)
    numbers = np.full(count, -1)
    numbers[found] = wanted
    alone = numbers < 0
    numbers[alone] = k + np.arange(alone.sum())
    return numbers
