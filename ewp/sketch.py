"""A sample of the distinct rows of data that may be anywhere: in memory, in a file, on a cluster.

Every row gets a hash of its values; the rows with the smallest hashes are the sample, with all the
weight that rows of these values have together. It does not depend on the order of the rows nor on
repetition, needs one pass, and sketches of parts merge into the sketch of the whole. Starts and
re-seeding of large data work on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ewp.kernel import Array

__all__ = ["Sketch", "sample_size", "sketch_block", "sketch_blocks"]

Hashes = np.ndarray

#: Rows of a sample, as far as they fit in so many bytes, but never fewer than so many a cluster.
_ROWS = 2**16
_BYTES = 4 * 2**20
_ROWS_A_CLUSTER = 100


def sample_size(p: int, k: int) -> int:
    """Return the number of rows that represent data of p features in starts of k clusters."""
    return max(min(_ROWS, _BYTES // (8 * p)), _ROWS_A_CLUSTER * k)


@dataclass(frozen=True)
class Sketch:
    """Distinct rows with the smallest hashes.

    Attributes
    ----------
    hashes : ndarray of uint64, increasing
    rows : ndarray of shape (m, p)
        In data units.
    mass : ndarray of shape (m,)
        Sum of the weights of all rows of the same values.
    """

    hashes: Hashes
    rows: Array
    mass: Array

    def merge(self, other: Sketch, size: int) -> Sketch:
        """Return the sketch of both parts, of at most `size` rows."""
        hashes = np.concatenate([self.hashes, other.hashes])
        kept, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        mass = np.bincount(inverse, np.concatenate([self.mass, other.mass])).astype(float)
        rows = np.concatenate([self.rows, other.rows])[first[:size]]
        return Sketch(kept[:size], rows, mass[:size])


def sketch_blocks(blocks: Iterable[tuple[Array, Array | None]], p: int, size: int) -> Sketch:
    """Sketch of many blocks of rows with their weights."""
    found = Sketch(np.empty(0, np.uint64), np.empty((0, p)), np.empty(0))
    for rows, weight in blocks:
        limit = int(found.hashes[-1]) if len(found.hashes) == size else None
        found = found.merge(sketch_block(rows, weight, size, limit), size)
    return found


def _hash_rows(X: Array, weight: Array | None) -> tuple[np.ndarray, Hashes]:
    """Rows that count, and 64-bit hashes of their values; -0.0 and 0.0 are the same value."""
    rows = np.arange(len(X)) if weight is None else np.flatnonzero(weight > 0)
    bits = np.ascontiguousarray(X[rows], dtype=np.float64) + 0.0
    words = bits.view(np.uint64)
    words ^= words >> np.uint64(32)
    factors = np.random.default_rng(0).integers(0, 2**63, X.shape[1], dtype=np.uint64)
    words *= factors * np.uint64(2) + np.uint64(1)
    words ^= words >> np.uint64(29)
    mixed = words.sum(axis=1, dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    return rows, mixed ^ (mixed >> np.uint64(31))


def sketch_block(X: Array, weight: Array | None, size: int, limit: int | None = None) -> Sketch:
    """Sketch of one block of rows.

    Parameters
    ----------
    X : ndarray of shape (b, p)
    weight : ndarray of shape (b,) or None
    size : int
        Largest number of rows.
    limit : int, optional
        Hashes above this are of no interest.
    """
    rows, hashes = _hash_rows(X, weight)
    if limit is not None:
        near = hashes <= np.uint64(limit)
        rows, hashes = rows[near], hashes[near]
    kept, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    mass = np.bincount(inverse, None if weight is None else weight[rows], len(kept))
    chosen = rows[first[:size]]
    return Sketch(kept[:size], np.asarray(X[chosen], dtype=np.float64), mass[:size].astype(float))
