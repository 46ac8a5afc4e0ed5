"""Splits and resamples of the rows that respect weights and repetitions.

Equal rows are one unit: they are always on the same side of a split, as a row of weight 2 is. So
the same seed makes the same folds of a table with repeated rows and of its distinct rows with
weights, in any order, and no row is scored by a fit that has seen its copy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from ewp.common.types import Array
from ewp.data.canonical import distinct_groups

__all__ = [
    "Fold",
    "Resampler",
    "draw_with_k_distinct",
    "folds",
    "given_folds",
    "of_positive_weight",
    "subsample_pairs",
]

_SIDES = ("training", "test")
_TRIES = 1000


class Fold(NamedTuple):
    """Row numbers of a split."""

    train: np.ndarray
    test: np.ndarray


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


@dataclass(frozen=True)
class Resampler:
    """Draws resamples with replacement that respect weights and repetitions.

    Without weights, or with whole numbers for weights, which are repetitions, every repetition
    is drawn by itself; other weights stay with their rows, which are then what is drawn. Rows
    are counted by their values, so that equal data in another order give equal resamples.

    Attributes
    ----------
    rows : ndarray
        A row number for every unit.
    chance : ndarray
        Probabilities of the units.
    size : int
        Units in a resample.
    weight : ndarray
        Weight of one occurrence of a unit.
    k : int
        Fewest different units in a resample.
    """

    rows: np.ndarray
    chance: Array
    size: int
    weight: Array
    k: int

    @classmethod
    def of(cls, X: Array, weight: Array | None, k: int) -> Resampler:
        """Prepare for rows of which k different ones are needed."""
        group, count = distinct_groups(X, weight)
        if weight is None or not (weight % 1).any():
            used = np.flatnonzero(group >= 0)
            mass = np.bincount(group[used], None if weight is None else weight[used], count)
            rows = np.empty(count, dtype=np.intp)
            rows[group[used[::-1]]] = used[::-1]
            total = float(mass.sum())
            return cls(rows, mass / total, round(total), np.ones(count), k)
        rows = np.argsort(group, kind="stable")[np.count_nonzero(group < 0) :]
        return cls(rows, np.full(len(rows), 1 / len(rows)), len(rows), weight[rows], k)

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, Array]:
        """Return the numbers of the rows drawn and their weights."""
        for _ in range(_TRIES):
            counts = rng.multinomial(self.size, self.chance)
            hit = np.flatnonzero(counts)
            if len(hit) >= self.k:
                return self.rows[hit], counts[hit] * self.weight[hit]
        raise _too_few(self.size, self.k)

    def leave_out(self, groups: int, rng: np.random.Generator) -> list[tuple[np.ndarray, Array]]:
        """Return all rows but a part, for each of `groups` random parts."""
        count = len(self.rows)
        part = rng.permutation(count) % groups
        mass = self.chance * self.size * self.weight
        kept = [np.flatnonzero(part != i) for i in range(groups)]
        return [(self.rows[keep], mass[keep]) for keep in kept if len(keep) >= self.k]


def draw_with_k_distinct(
    draw: Callable[[np.random.Generator], np.ndarray],
    group: np.ndarray,
    k: int,
    rng: np.random.Generator,
    first: int | None = None,
) -> np.ndarray:
    """Draw rows until k of them, or of the first ones, are different.

    Parameters
    ----------
    draw : callable
        ``draw(rng)`` returns row numbers.
    group : ndarray of shape (n,)
        A number for every row, the same for equal rows.
    k : int
    rng : Generator
    first : int, optional
        Number of rows, from the first drawn, that are counted. By default all.
    """
    for _ in range(_TRIES):
        rows = draw(rng)
        if len(np.unique(group[rows[:first]])) >= k:
            return rows
    raise _too_few(len(rows[:first]), k)


def _too_few(size: int, k: int) -> ValueError:
    return ValueError(
        f"samples of {size} rows hardly ever have {k} different ones; there are too few rows "
        "for so many clusters"
    )
