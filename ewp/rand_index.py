"""The adjusted Rand index of two partitions of rows that stand for several copies each."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from ewp.kernel import Array

__all__ = ["rand_index"]


def rand_index(one: np.ndarray, two: np.ndarray, copies: Array | None = None) -> float:
    """Adjusted Rand index, 1 for equal partitions and 0 on average for independent ones.

    Parameters
    ----------
    one, two : ndarray of int of shape (n,)
        Labels from 0 on.
    copies : ndarray of shape (n,) or None
        How many rows every row stands for.

    Examples
    --------
    >>> one, two = np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0])
    >>> round(rand_index(one, two, np.array([2.0, 1.0, 1.0, 1.0])), 3)
    0.231
    >>> round(rand_index(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 0])), 3)
    0.231
    """
    if copies is None:
        return float(adjusted_rand_score(one, two))
    shape = int(one.max()) + 1, int(two.max()) + 1
    count = np.bincount(one * shape[1] + two, copies, shape[0] * shape[1])
    cells = np.asarray(count, dtype=np.float64).reshape(shape)
    both, first, second = _pairs(cells), _pairs(cells.sum(axis=1)), _pairs(cells.sum(axis=0))
    expected, most = first * second / _pairs(cells.sum()), (first + second) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def _pairs(count: Array) -> float:
    """Number of pairs of rows that share a cell."""
    return float(np.maximum(count * (count - 1), 0.0).sum() / 2)
