"""Resamples of rows, and running many replicates.

`Resampler` draws rows with replacement; `run` does the work of replicates in parallel, shows how
far it is, and keeps what is finished when the user interrupts it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed

from ewp._progress import tqdm
from ewp.checks import check_flag, check_jobs
from ewp.folds import distinct_groups
from ewp.kernel import Array
from ewp.refitting import Source

__all__ = ["Resampler", "enough", "run"]

T = TypeVar("T")

#: Arrays larger than this are shared with the processes instead of being sent with every task.
_SHARED = "100K"
_TRIES = 1000


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
    def of(cls, source: Source) -> Resampler:
        """Prepare for the rows of a fit."""
        weight = source.weight
        group, count = distinct_groups(source.X, weight)
        k = source.recipe.n_clusters
        if weight is None or not (weight % 1).any():
            used = source.used
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


def enough(
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


def run(
    function: Callable[..., T],
    tasks: Iterable[tuple[Any, ...]],
    *,
    total: int,
    what: str,
    n_jobs: int | None = None,
    progress: bool = False,
) -> tuple[list[T], bool]:
    """Call a function for every task; an interruption keeps what is finished.

    Parameters
    ----------
    function : callable
    tasks : iterable of tuple
        Its arguments.
    total : int
        Number of tasks.
    what : str
        What the tasks are, for the progress bar and the warning.
    n_jobs : int or None
        Number of processes, as in joblib.
    progress : bool

    Returns
    -------
    results : list
        In the order of the tasks.
    complete : bool
        False if the user interrupted it.
    """
    check_jobs(n_jobs)
    check_flag("progress", progress)
    done: list[T] = []
    with (
        tqdm(total=total, desc=what, disable=not progress) as bar,
        Parallel(n_jobs=n_jobs, return_as="generator", max_nbytes=_SHARED) as pool,
    ):
        try:
            for result in pool(delayed(function)(*task) for task in tasks):
                done.append(result)
                bar.update()
        except KeyboardInterrupt:
            if not done:
                raise
            warnings.warn(
                f"interrupted: {len(done)} of {total} {what} are finished and kept",
                UserWarning,
                stacklevel=4,
            )
            return done, False
    return done, True
