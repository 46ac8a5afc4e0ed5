"""A canonical order of rows and of clusters, by value and not by position."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ewp.kernel import Array

__all__ = ["order_clusters", "order_rows"]


def order_rows(blocks: Iterable[Array], inverse: Array) -> tuple[np.ndarray, np.ndarray]:
    """Order of the rows by value, and which of them differ from the row before.

    Rows are sorted by their length, by the sum of their cubes and along a fixed direction, in
    units of the columns' standard deviations. The first two do not change when rows or columns
    are permuted. Keys are rounded relative to the row's own length, so that their last digits,
    which depend on the order of summation, do not matter.

    Parameters
    ----------
    blocks : iterable of ndarray of shape (b, p)
        Centred rows, overwritten.
    inverse : ndarray of shape (p,)
        What the columns are multiplied by; 0 for constant ones.
    """
    p = len(inverse)
    direction = np.cos(np.arange(1, p + 1)) / np.sqrt(p)
    parts = []
    for block in blocks:
        block *= inverse
        length = np.sqrt(np.einsum("il,il->i", block, block))
        block /= np.where(length > 0, length, 1.0)[:, None]
        cubes = np.einsum("il,il,il->i", block, block, block)
        parts.append(np.stack([block @ direction, cubes, length]))
    keys = np.concatenate(parts, axis=1)
    np.round(keys[:2], 10, out=keys[:2])
    mantissa, exponent = np.frexp(keys[2])
    keys[2] = np.ldexp(np.round(mantissa, 10), exponent)
    order = np.lexsort(keys)
    distinct = np.ones(len(order), dtype=bool)
    np.any(keys[:, order[1:]] != keys[:, order[:-1]], axis=0, out=distinct[1:])
    return order, distinct


def order_clusters(theta: Array, metric: Array, mass: Array) -> np.ndarray:
    """Order of clusters by mass, distance from the mean, third moment, coordinates.

    Parameters
    ----------
    theta : ndarray of shape (k, p)
        Centroids of centred data.
    metric : ndarray of shape (p,)
    mass : ndarray of shape (k,)
        Share of the total weight.
    """
    radius = (theta**2) @ metric
    radius /= max(float(radius.max()), np.finfo(float).tiny)
    # two equal clusters lie opposite each other: their third moments tell them apart
    moment = (theta**3) @ metric
    moment /= max(float((np.abs(theta) ** 3 @ metric).max()), np.finfo(float).tiny)
    return np.lexsort([*theta.T[::-1], moment.round(10), radius.round(10), -mass.round(12)])
