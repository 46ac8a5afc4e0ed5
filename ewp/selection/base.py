"""What the selection asks of a criterion, and what it answers: the interface and its defaults.

A criterion draws replicates once (folds, pairs of subsamples, permutations) and scores the options
of a fit on each of them; larger is better. It knows nothing of grids, rules or tables. A criterion
of the user's own needs `replicates`, `score` and `spread`; the rest has defaults in
`CriterionDefaults`. The package's own criteria are in `ewp.selection.criteria`.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from ewp.common.types import Array
from ewp.data.canonical import copies_factor
from ewp.selection.parts import CommonRows
from ewp.solver.fit import FitOptions

__all__ = [
    "LEAST_STABILITY",
    "CommonPasses",
    "Criterion",
    "CriterionDefaults",
    "OwnCriterion",
    "Score",
    "copies_of",
    "mean_error",
]

#: Adjusted Rand index of the replicates' partitions, on average, below which they disagree.
LEAST_STABILITY = 0.5


@dataclass(frozen=True)
class Score:
    """What one replicate says of the options of a fit.

    Attributes
    ----------
    value : float
        The criterion; larger is better.
    effective_features : float
        Exponential of the entropy of the replicate's weights.
    rows : ndarray or None
        Values of single rows (NaN for those that were not held out) or permutations, where the
        value is their mean: they tell how exactly two of them can be told apart.
    copies : ndarray or None
        How many rows every one of `rows` stands for, one if not given.
    labels : ndarray or None
        The replicate's partition of all rows, where that costs nothing.
    significant_features : float
        Number of features whose means differ significantly between the clusters, where known.
    agreement : float
        Adjusted Rand index of two partitions, where the replicate makes two.
    shared : ndarray or None
        Values of single rows if all clusters have one scatter, where `rows` are those of clusters
        with scatters of their own.
    """

    value: float
    effective_features: float
    rows: Array | None = None
    copies: Array | None = None
    labels: np.ndarray | None = None
    significant_features: float = float("nan")
    agreement: float = float("nan")
    shared: Array | None = None


class Criterion(Protocol):
    """What the selection asks of a criterion."""

    name: str
    unit: str
    over_one_cluster: ClassVar[bool]
    least_stability: float

    def replicates(self, X: Array, weight: Array | None, rng: np.random.Generator) -> list[Any]:
        """Draw what all options are scored on."""

    def score(
        self, X: Array, weight: Array | None, options: FitOptions, replicate: Any, seed: int
    ) -> Score:
        """Score options, whose penalty is meant for all rows, on one replicate."""

    def score_all(
        self, X: Array, weight: Array | None, options: list[FitOptions], replicate: Any, seed: int
    ) -> list[Score]:
        """Score several options, which differ in penalty, scaling and form, on one replicate."""

    def score_replicates(
        self,
        X: Array,
        weight: Array | None,
        options: list[FitOptions],
        replicates: list[Any],
        seeds: list[int],
    ) -> list[list[Score]]:
        """Score several options on several replicates, a list of scores a replicate."""

    def at_once(self, pairs: float) -> int:
        """Return how many replicates may be scored in one call.

        Parameters
        ----------
        pairs : float
            Number of rows, times clusters, times options.
        """

    def first_tells(self, replicates: list[Any], rows: float) -> bool:
        """Whether the first replicate alone can tell which options are hopeless.

        Parameters
        ----------
        replicates : list
        rows : float
            How many rows with values that takes.
        """

    def spread(self, scores: list[Score]) -> float:
        """Return the standard error of the mean of the replicates' values."""

    def for_rows(self, X: Array, weight: Array | None) -> Criterion:
        """Return the criterion for the rows of positive weight alone, numbered anew."""

    def for_families(self, names: tuple[str, ...], sizes: Array | None) -> Criterion:
        """Return the criterion for rows whose columns have divergences of their own.

        Parameters
        ----------
        names : tuple of str
        sizes : ndarray of shape (n,) or None
            The rows are per unit of these, and they are factors of the weights.
        """

    def has_enough_rows(self, group: np.ndarray, distinct: int, k: int) -> bool:
        """Whether every part of the rows that is fitted has k distinct rows, with one to spare.

        Parameters
        ----------
        group : ndarray of shape (n,)
            A number for every row, the same for equal rows.
        distinct : int
            Number of distinct rows.
        k : int
        """

    def values(self, scores: list[Score]) -> Array:
        """Return the single values that a table of the candidate shows."""


class CriterionDefaults:
    """What a criterion need not say: it takes all rows as they are, and a value a replicate."""

    #: Whether splits of the user's own can take the place of a number of replicates.
    takes_splits: ClassVar[bool] = False
    #: Whether values of rows are gains over a single cluster.
    over_one_cluster: ClassVar[bool] = False
    #: Agreement of the replicates' partitions below which a candidate does not compete.
    least_stability: float = LEAST_STABILITY
    #: Value from which a number of clusters is supported, where there is one.
    threshold: ClassVar[float | None] = None

    def score_all(
        self, X: Array, weight: Array | None, options: list[FitOptions], replicate: Any, seed: int
    ) -> list[Score]:
        """Score the options one by one."""
        score: Any = self.score  # type: ignore[attr-defined]
        return [score(X, weight, one, replicate, seed) for one in options]

    def score_replicates(
        self,
        X: Array,
        weight: Array | None,
        options: list[FitOptions],
        replicates: list[Any],
        seeds: list[int],
    ) -> list[list[Score]]:
        """Score the options on one replicate after the other."""
        return [
            self.score_all(X, weight, options, replicate, seed)
            for replicate, seed in zip(replicates, seeds, strict=True)
        ]

    def at_once(self, pairs: float) -> int:
        """Return 1: a replicate is a task of its own."""
        return 1

    def first_tells(self, replicates: list[Any], rows: float) -> bool:
        """Return True: it may."""
        return True

    def for_rows(self, X: Array, weight: Array | None) -> Self:
        """Return the criterion itself."""
        return self

    def for_families(self, names: tuple[str, ...], sizes: Array | None) -> Self:
        """Return the criterion itself, whose fits know the divergences of the columns."""
        return self

    def has_enough_rows(self, group: np.ndarray, distinct: int, k: int) -> bool:
        """Return True."""
        return True

    def values(self, scores: list[Score]) -> Array:
        """Return the value of every replicate."""
        return np.array([score.value for score in scores])


class CommonPasses(CriterionDefaults):
    """A criterion that fits all options in common passes."""

    _kept: CommonRows | None = None
    #: Names of the columns' divergences, and sizes of the rows, where there are some.
    names: tuple[str, ...] | None = None
    sizes: Array | None = None

    def for_families(self, names: tuple[str, ...], sizes: Array | None) -> Self:
        """Return the criterion for rows whose columns have divergences of their own."""
        made = copy.copy(self)
        made._kept, made.names, made.sizes = None, names, sizes
        # faint classes of yes and no are found a little otherwise in every replicate
        made.least_stability = -1.0
        return made

    def rows(self, X: Array, weight: Array | None) -> CommonRows:
        """Return the rows prepared for fits; they are kept for the replicates of a selection."""
        kept = self._kept
        if kept is None or kept.engine.X is not X or kept.engine.sample_weight is not weight:
            kept = self._kept = CommonRows(X, weight, self.names)
        return kept

    def without_sizes(self, weight: Array | None) -> Array | None:
        """Weights of the rows as they are given: sizes are factors of those of the fit."""
        if self.sizes is None or weight is None:
            return weight
        found = weight / self.sizes
        # as they are where all are one
        return None if np.allclose(found, 1.0, rtol=1e-12, atol=0.0) else found

    def __getstate__(self) -> dict[str, Any]:
        # copies and other processes prepare the rows themselves
        return {name: value for name, value in self.__dict__.items() if name != "_kept"}

    def score(
        self, X: Array, weight: Array | None, options: FitOptions, replicate: Any, seed: int
    ) -> Score:
        """Score options, whose penalty is meant for all rows, on one replicate."""
        self._kept = None  # the rows may have changed since the last call
        return self.score_all(X, weight, [options], replicate, seed)[0]


class OwnCriterion(CriterionDefaults):
    """A criterion of the user's own that has nothing but `replicates`, `score` and `spread`."""

    def __init__(self, own: Any) -> None:
        self.name = str(getattr(own, "name", type(own).__name__))
        self.unit = str(getattr(own, "unit", self.name))
        self.replicates, self.score, self.spread = own.replicates, own.score, own.spread


def mean_error(scores: list[Score]) -> float:
    """Standard error of the mean over replicates."""
    if len(scores) < 2:
        return float("nan")
    return float(np.std([score.value for score in scores], ddof=1) / np.sqrt(len(scores)))


def copies_of(weight: Array | None) -> Array | None:
    """Weights as numbers of copies: weights whose mean is below one cannot be, and are raised."""
    return None if weight is None else weight * copies_factor(len(weight), float(weight.sum()))
