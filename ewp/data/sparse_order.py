"""Rows of a sparse matrix by value: hashes, order, repetitions, samples.

The same numbers as `ewp.data.canonical` has for dense rows, from the stored entries: a zero adds
nothing to a hash, and what zeros add to the keys of the order is the same for all rows but for
their entries. So sparse and dense rows of the same values have the same order and samples.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ewp.common.types import Array
from ewp.data.canonical import Hashes, finish_hashes, hash_words, order_direction, sort_by_keys
from ewp.data.sparse import SparseRows

__all__ = ["hash_rows", "hash_sample", "order_sparse"]


def hash_rows(X: SparseRows) -> Hashes:
    """64-bit hashes of all rows, those that dense rows of these values have."""
    found = np.empty(len(X), dtype=np.uint64)
    factors = hash_words(X.shape[1])
    for rows, block in X.blocks():
        words = (block.data + 0.0).view(np.uint64)
        words ^= words >> np.uint64(32)
        words *= factors[block.indices]
        words ^= words >> np.uint64(29)
        # sums and their differences are both taken modulo 2**64
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)])
        found[rows] = sums[block.indptr[1:]] - sums[block.indptr[:-1]]
    return finish_hashes(found)


def hash_sample(
    X: SparseRows, hashes: Hashes, sample_weight: Array | None, size: int
) -> tuple[SparseRows, Array]:
    """Return the distinct rows with the smallest hashes, and the weight that all their equals have.

    Parameters
    ----------
    X : SparseRows
    hashes : ndarray of shape (n,)
        From `hash_rows`.
    sample_weight : ndarray of shape (n,) or None
    size : int
        Largest number of rows.
    """
    rows = np.arange(len(X)) if sample_weight is None else np.flatnonzero(sample_weight > 0)
    _, first, inverse = np.unique(hashes[rows], return_index=True, return_inverse=True)
    own = None if sample_weight is None else sample_weight[rows]
    mass = np.bincount(inverse, own, len(first)).astype(np.float64)
    return X.take(rows[first[:size]]), mass[:size]


def order_sparse(
    X: SparseRows, center: Array, squares: Array, total: float
) -> tuple[np.ndarray, np.ndarray]:
    """Order of the rows by value, and which of them differ from the row before.

    Parameters
    ----------
    X : SparseRows
    center, squares : ndarray of shape (p,)
        Means of the columns, and sums of squares about them, in data units.
    total : float
        Weight of all rows.

    Returns
    -------
    order, distinct : ndarray of shape (n,)
        As `ewp.data.canonical.order_by_value` returns them for dense rows.
    """
    varying = squares > 0
    inverse = varying / np.sqrt(np.where(varying, squares, 1.0) / total)
    origin = center * inverse
    direction = order_direction(X.shape[1])
    keys = np.empty((3, len(X)))
    # of a row without entries
    square, cube, along = origin @ origin, -(origin**3).sum(), -(direction @ origin)
    for rows, block in X.blocks():
        place, zero = block.indices, origin[block.indices]
        value = block.data * inverse[place] - zero
        ones = np.ones(X.shape[1])

        def by_row(data: Array, block: sparse.csr_array = block, ones: Array = ones) -> Array:
            part = sparse.csr_array((data, block.indices, block.indptr), shape=block.shape)
            sums: Array = part @ ones
            return sums

        length = np.sqrt(np.maximum(square + by_row(value**2 - zero**2), 0.0))
        whole = np.where(length > 0, length, 1.0)
        keys[0, rows] = (along + by_row(direction[place] * (value + zero))) / whole
        keys[1, rows] = (cube + by_row(value**3 + zero**3)) / whole**3
        keys[2, rows] = length
    return sort_by_keys(keys)
