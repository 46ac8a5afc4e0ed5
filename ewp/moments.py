"""Means and sums of squares of the columns, from one block of rows after the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ewp.exchange import Array, block_rows

__all__ = ["column_means", "column_squares", "varying_columns"]


def _first(sample_weight: Array | None) -> int:
    """Return the number of the first row that counts."""
    return 0 if sample_weight is None else int(np.argmax(sample_weight > 0))


def _blocks(X: Array, sample_weight: Array | None) -> Iterator[tuple[Array, Array | None]]:
    size = block_rows(X.shape[1], 1)
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        yield X[rows], None if sample_weight is None else sample_weight[rows]


def varying_columns(X: Array, sample_weight: Array | None = None) -> np.ndarray:
    """Which columns are not constant on the rows of positive weight."""
    found = np.zeros(X.shape[1], dtype=bool)
    first = X[_first(sample_weight)]
    for rows, weight in _blocks(X, sample_weight):
        differs = rows != first
        if weight is not None:
            differs &= (weight > 0)[:, None]
        found |= differs.any(axis=0)
    return found


def column_means(X: Array, sample_weight: Array | None) -> Array:
    """Weighted means, summed about a row: exact for constant columns, safe for large offsets."""
    total = float(len(X) if sample_weight is None else sample_weight.sum())
    mean = np.array(X[_first(sample_weight)], dtype=np.float64)
    for _ in range(2):
        correction = np.zeros(len(mean))
        for rows, weight in _blocks(X, sample_weight):
            difference = rows - mean
            correction += difference.sum(axis=0) if weight is None else weight @ difference
        mean += correction / total
    return mean


def column_squares(X: Array, sample_weight: Array | None, center: Array) -> Array:
    """Weighted sums of squares about a point."""
    squares = np.zeros(len(center))
    for rows, weight in _blocks(X, sample_weight):
        difference = rows - center
        difference *= difference
        squares += difference.sum(axis=0) if weight is None else weight @ difference
    return squares
