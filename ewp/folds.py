"""Splits of the rows that respect weights and repetitions.

Equal rows are one unit: they are always on the same side of a split, as a row of weight 2 is. So
the same seed makes the same folds of a table with repeated rows and of its distinct rows with
weights, in any order, and no row is scored by a fit that has seen its copy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from ewp.engine import ArrayEngine
from ewp.kernel import Array

__all__ = [
    "Fold",
    "distinct_groups",
    "folds",
    "given_folds",
    "of_positive_weight",
    "subsample_pairs",
]


class Fold(NamedTuple):
    """Row numbers of a split."""

    train: np.ndarray
    test: np.ndarray


def distinct_groups(X: Array, weight: Array | None) -> tuple[np.ndarray, int]:
    """Number every row's value in canonical order; rows of weight zero get -1.

    Returns
    -------
    group : ndarray of shape (n,)
    count : int
        Number of distinct rows of positive weight.
    """
    used = np.arange(len(X)) if weight is None else np.flatnonzero(weight > 0)
    part = None if weight is None else weight[used]
    engine = ArrayEngine(X[used], part)
    rows = used[engine.order]
    new = np.ones(len(rows), dtype=bool)
    for start in range(1, len(rows), 1024):
        here = rows[start : start + 1024]
        before = rows[start - 1 : start - 1 + len(here)]
        new[start : start + len(here)] = (X[here] != X[before]).any(axis=1)
    group = np.full(len(X), -1)
    group[rows] = np.cumsum(new) - 1
    return group, int(new.sum())


def folds(X: Array, weight: Array | None, cv: Any, rng: np.random.Generator) -> list[Fold]:
    """Split the rows for cross-validation.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    weight : ndarray of shape (n,) or None
    cv : int or object
        An integer makes that many folds of distinct rows, drawn with `rng`; anything else goes
        to `given_folds`.
    rng : Generator
    """
    if not isinstance(cv, int | np.integer):
        return given_folds(X, cv)
    group, count = distinct_groups(X, weight)
    if count < cv:
        raise ValueError(f"cv={cv} exceeds the {count} distinct rows of X; ask for fewer folds")
    side = np.empty(count + 1, dtype=int)
    side[:count] = rng.permutation(count) % cv
    side[count] = -1  # rows of weight zero belong nowhere
    of_row = side[group]
    return [
        Fold(np.flatnonzero((of_row != j) & (of_row >= 0)), np.flatnonzero(of_row == j))
        for j in range(cv)
    ]


def given_folds(X: Array, cv: Any) -> list[Fold]:
    """Folds of the user's own: of a splitter of scikit-learn, or pairs of rows.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    cv : splitter or iterable
        A splitter is asked as it is, without labels or groups; pairs are row numbers, or masks,
        for training and for testing.
    """
    try:
        if cv is None or isinstance(cv, str):
            raise TypeError(f"cv={cv!r}")
        pairs = [(train, test) for train, test in check_cv(cv).split(X)]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"cv is no number of folds and gives no splits without labels and groups: {error}; "
            "give an integer, a splitter such as KFold(5), or the splits themselves, such as "
            "list(cv.split(X, groups=groups))"
        ) from error
    if not pairs:
        raise ValueError("cv has no splits; a generator gives its own only once")
    return [
        Fold(
            *(_row_numbers(rows, len(X), i, side) for rows, side in zip(pair, _SIDES, strict=True))
        )
        for i, pair in enumerate(pairs)
    ]


_SIDES = ("training", "test")


def _row_numbers(rows: Any, n: int, fold: int, side: str) -> np.ndarray:
    """Check one side of a fold."""
    array = np.asarray(rows)
    where = f"split {fold} of cv has"
    if array.dtype == bool and array.shape == (n,):
        array = np.flatnonzero(array)
    if not array.size:
        raise ValueError(f"{where} no {side} rows; leave the split out")
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{where} {side} rows that are neither row numbers nor a mask of {n}")
    if array.min() < 0 or array.max() >= n:
        wrong = array.min() if array.min() < 0 else array.max()
        raise ValueError(f"{where} {side} row {wrong}, but the rows of X are 0 to {n - 1}")
    return array


def of_positive_weight(given: list[Fold], weight: Array | None) -> list[Fold]:
    """Leave rows of weight zero out of folds, and number the others among themselves."""
    if weight is None or weight.all():
        return given
    number = np.where(weight > 0, np.cumsum(weight > 0) - 1, -1)
    kept = []
    for i, fold in enumerate(given):
        sides = [side[side >= 0] for side in (number[fold.train], number[fold.test])]
        for rows, side in zip(sides, _SIDES, strict=True):
            if not len(rows):
                raise ValueError(f"split {i} of cv has no {side} rows of positive weight")
        kept.append(Fold(*sides))
    return kept


def subsample_pairs(
    X: Array, weight: Array | None, count: int, share: float, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Draw pairs of overlapping subsamples of distinct rows."""
    group, distinct = distinct_groups(X, weight)
    size = max(1, round(share * distinct))

    def draw() -> np.ndarray:
        chosen = np.zeros(distinct + 1, dtype=bool)
        chosen[rng.choice(distinct, size, replace=False)] = True
        return np.flatnonzero(chosen[group])

    return [(draw(), draw()) for _ in range(count)]
