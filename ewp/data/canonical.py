"""What is known of rows by value and not by position: moments, order, repetitions, samples.

Means and sums of squares of the columns come from one block of rows after the other; `block_rows`
says how many rows make a block. Rows and clusters have a canonical order, so that shuffled rows
give the same answer. A sample of the distinct rows is drawn by hashing their values: the rows with
the smallest hashes, with all the weight that rows of these values have together. It does not depend
on the order of the rows nor on repetition, needs one pass, and samples of parts merge into the
sample of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ewp.common.types import Array

__all__ = [
    "HashSample",
    "block_rows",
    "column_means",
    "column_squares",
    "copies_factor",
    "distinct_groups",
    "filled_with_marks",
    "hash_sample_block",
    "observed_mass",
    "observed_means",
    "observed_squares",
    "order_by_value",
    "order_clusters",
    "order_rows",
    "sample_by_hash",
    "sample_size",
    "varying_columns",
]

#: A block and its buffers: not much more than a core's cache, and so many rows that the time goes
#: into arithmetic, not into calls.
_BLOCK_BYTES = 2**22
#: Products of up to so many multiplications are done without packing by OpenBLAS, which is faster
#: where few centroids meet many features.
_UNPACKED, _FEW = 1_000_000, 32
_FEWEST_ROWS, _MOST_ROWS = 32, 5000
Hashes = np.ndarray
#: Rows of a sample, as far as they fit in so many bytes, but never fewer than so many per cluster.
_SAMPLE_ROWS = 2**16
_SAMPLE_BYTES = 4 * 2**20
_ROWS_A_CLUSTER = 100


def block_rows(p: int, k: int) -> int:
    """Return the number of rows of a block with p features for k centroids."""
    rows = _BLOCK_BYTES // (8 * (2 * p + 3 * k))
    if k <= _FEW:
        rows = min(rows, _UNPACKED // (p * k))
    return min(max(rows, _FEWEST_ROWS), _MOST_ROWS)


def _first_row(sample_weight: Array | None) -> int:
    """Return the number of the first row that counts."""
    return 0 if sample_weight is None else int(np.argmax(sample_weight > 0))


def _weighted_blocks(X: Array, sample_weight: Array | None) -> Iterator[tuple[Array, Array | None]]:
    """Yield blocks of rows with their weights."""
    size = block_rows(X.shape[1], 1)
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        yield X[rows], None if sample_weight is None else sample_weight[rows]


def _differences(rows: Array, center: Array) -> Array:
    """Rows minus a point in C order: sums over rows depend on the layout in their last digits."""
    return np.subtract(rows, center, out=np.empty(rows.shape))


def varying_columns(X: Array, sample_weight: Array | None = None) -> np.ndarray:
    """Which columns are not constant on the rows of positive weight, where they are observed."""
    found = np.zeros(X.shape[1], dtype=bool)
    first = np.array(X[_first_row(sample_weight)])
    for rows, weight in _weighted_blocks(X, sample_weight):
        left = np.flatnonzero(~found)
        part = rows if len(left) == len(found) else rows[:, left]
        if weight is not None:
            part = part[weight > 0]
        unknown = np.isnan(first[left])
        if unknown.any():
            seen = ~np.isnan(part[:, unknown])
            here = seen.any(axis=0)
            which = np.flatnonzero(unknown)[here]
            first[left[which]] = part[seen.argmax(axis=0)[here], which]
        # neither is true of a missing value
        differs = (part < first[left]) | (part > first[left])
        found[left] = differs.any(axis=0)
    return found


def column_means(X: Array, sample_weight: Array | None) -> Array:
    """Weighted means, summed about a row: exact for constant columns, safe for large offsets."""
    total = float(len(X) if sample_weight is None else sample_weight.sum())
    mean = np.array(X[_first_row(sample_weight)], dtype=np.float64)
    for _ in range(2):
        correction = np.zeros(len(mean))
        for rows, weight in _weighted_blocks(X, sample_weight):
            difference = _differences(rows, mean)
            correction += difference.sum(axis=0) if weight is None else weight @ difference
        mean += correction / total
    return mean


def column_squares(X: Array, sample_weight: Array | None, center: Array) -> Array:
    """Weighted sums of squares about a point."""
    squares = np.zeros(len(center))
    for rows, weight in _weighted_blocks(X, sample_weight):
        difference = _differences(rows, center)
        difference *= difference
        squares += difference.sum(axis=0) if weight is None else weight @ difference
    return squares


def _observed_blocks(
    X: Array, sample_weight: Array | None, columns: np.ndarray
) -> Iterator[tuple[Array, Array]]:
    """Some columns of blocks of rows, and the rows' weights where they are observed."""
    for rows, weight in _weighted_blocks(X, sample_weight):
        values = np.array(rows[:, columns], dtype=np.float64)
        seen = (~np.isnan(values)).astype(np.float64)
        if weight is not None:
            seen *= weight[:, None]
        yield values, seen


def observed_mass(X: Array, sample_weight: Array | None, columns: np.ndarray) -> Array:
    """Weight of the rows in which columns are observed."""
    found = np.zeros(len(columns))
    for _, seen in _observed_blocks(X, sample_weight, columns):
        found += seen.sum(axis=0)
    return found


def observed_means(X: Array, sample_weight: Array | None, columns: np.ndarray) -> Array:
    """Weighted means of the observed values of columns.

    Plain means where none of them has a weight, 0 where there are none.

    Summed about an observed value, as `column_means` are about a row.
    """
    mean = np.full(len(columns), np.nan)
    for values, seen in _observed_blocks(X, sample_weight, columns):
        new = np.isnan(mean) & seen.any(axis=0)
        first = (seen[:, new] > 0).argmax(axis=0)
        mean[new] = values[first, np.flatnonzero(new)]
        if not np.isnan(mean).any():
            break
    nowhere = np.isnan(mean)
    if nowhere.any():  # rows without weight, and their labels, need a place too
        mean[nowhere] = 0.0 if sample_weight is None else observed_means(X, None, columns[nowhere])
    for _ in range(2):
        correction, mass = np.zeros(len(mean)), np.zeros(len(mean))
        for values, seen in _observed_blocks(X, sample_weight, columns):
            difference = np.where(seen > 0, values - mean, 0.0)
            correction += np.einsum("il,il->l", seen, difference)
            mass += seen.sum(axis=0)
        mean += np.divide(correction, mass, out=correction, where=mass > 0)
    return mean


def observed_squares(
    X: Array, sample_weight: Array | None, columns: np.ndarray, center: Array
) -> Array:
    """Weighted sums of squares of the observed values of columns about a point."""
    squares = np.zeros(len(columns))
    for values, seen in _observed_blocks(X, sample_weight, columns):
        difference = np.where(seen > 0, values - center, 0.0)
        squares += np.einsum("il,il,il->l", seen, difference, difference)
    return squares


def filled_with_marks(X: Array, sample_weight: Array | None = None) -> Array:
    """Rows with observed means in the place of missing values, and a column more for each that has.

    These are 1 where a value is missing: rows are equal if and only if what is returned is. Means
    are weighted, so that a weight is worth as much as copies.

    >>> filled_with_marks(np.array([[1.0, 7.0], [np.nan, 8.0], [3.0, 7.0]])).tolist()
    [[1.0, 7.0, 0.0], [2.0, 8.0, 1.0], [3.0, 7.0, 0.0]]
    """
    absent = np.isnan(X)
    columns = np.flatnonzero(absent.any(axis=0))
    filled = np.array(X, dtype=np.float64)
    means = np.zeros(X.shape[1])
    means[columns] = observed_means(X, sample_weight, columns)
    filled[absent] = means[np.nonzero(absent)[1]]
    return np.column_stack([filled, absent[:, columns]])


def copies_factor(n: int, total: float) -> float:
    """Factor that makes weights numbers of copies: those whose mean is below one cannot be."""
    return max(1.0, n / total)


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


def order_by_value(
    blocks: Iterable[Array], squares: Array, total: float
) -> tuple[np.ndarray, np.ndarray]:
    """Order of centred rows by value in units of their columns' standard deviations.

    Parameters
    ----------
    blocks : iterable of ndarray
        The rows, which are overwritten.
    squares : ndarray of shape (p,)
        The columns' sums of squares.
    total : float
        Weight of all rows.

    Returns
    -------
    order, distinct : ndarray of shape (n,)
        See `order_rows`.
    """
    varying = squares > 0
    spread = np.sqrt(np.where(varying, squares, 1.0) / total)
    return order_rows(blocks, varying / spread)


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


def sample_size(p: int, k: int) -> int:
    """Return the number of rows that represent data of p features in starts of k clusters."""
    return max(min(_SAMPLE_ROWS, _SAMPLE_BYTES // (8 * p)), _ROWS_A_CLUSTER * k)


@dataclass(frozen=True)
class HashSample:
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

    def merge(self, other: HashSample, size: int) -> HashSample:
        """Return the sample of both parts, of at most `size` rows."""
        hashes = np.concatenate([self.hashes, other.hashes])
        kept, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        mass = np.bincount(inverse, np.concatenate([self.mass, other.mass])).astype(float)
        rows = np.concatenate([self.rows, other.rows])[first[:size]]
        return HashSample(kept[:size], rows, mass[:size])


def sample_by_hash(blocks: Iterable[tuple[Array, Array | None]], p: int, size: int) -> HashSample:
    """Sample of many blocks of rows with their weights."""
    # of the smaller type, which gives way to that of the rows
    found = HashSample(np.empty(0, np.uint64), np.empty((0, p), np.float32), np.empty(0))
    for rows, weight in blocks:
        limit = int(found.hashes[-1]) if len(found.hashes) == size else None
        found = found.merge(hash_sample_block(rows, weight, size, limit), size)
    return found


def _hash_rows(X: Array, weight: Array | None) -> tuple[np.ndarray, Hashes]:
    """Rows that count, and 64-bit hashes of their values; 0.0 and -0.0, and all NaN, are one."""
    rows = np.arange(len(X)) if weight is None else np.flatnonzero(weight > 0)
    bits = np.ascontiguousarray(X[rows], dtype=np.float64) + 0.0
    bits[np.isnan(bits)] = np.nan
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


def hash_sample_block(
    X: Array, weight: Array | None, size: int, limit: int | None = None
) -> HashSample:
    """Sample of one block of rows.

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
    return HashSample(kept[:size], np.asarray(X[chosen]), mass[:size].astype(float))


def distinct_groups(X: Array, weight: Array | None) -> tuple[np.ndarray, int]:
    """Number every row's value in canonical order; rows of weight zero get -1.

    Returns
    -------
    group : ndarray of shape (n,)
    count : int
        Number of distinct rows of positive weight.
    """
    used = np.arange(len(X)) if weight is None else np.flatnonzero(weight > 0)
    part, X_used = None if weight is None else weight[used], X[used]
    center = column_means(X_used, part)
    if np.isnan(center).any():
        X_used = filled_with_marks(X_used, part)
        center = column_means(X_used, part)
    blocks = (_differences(block, center) for block, _ in _weighted_blocks(X_used, None))
    total = float(len(used) if part is None else part.sum())
    rows = order_by_value(blocks, column_squares(X_used, part, center), total)[0]
    new = np.ones(len(rows), dtype=bool)
    for start in range(1, len(rows), 1024):
        here = rows[start : start + 1024]
        before = rows[start - 1 : start - 1 + len(here)]
        new[start : start + len(here)] = (X_used[here] != X_used[before]).any(axis=1)
    group = np.full(len(X), -1)
    group[used[rows]] = np.cumsum(new) - 1
    return group, int(new.sum())
