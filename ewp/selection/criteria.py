"""Criteria by which a penalty is chosen without labels, behind one small interface.

A criterion draws replicates once (folds, pairs of subsamples, permutations) and scores the options
of a fit on each of them; larger is better. It knows nothing of grids, rules or tables. Labels of
the user's own never get here: there is no argument for them. A criterion of the user's own needs
`replicates`, `score` and `spread`; the rest has defaults in `CriterionDefaults`.
"""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from ewp.common.types import Array
from ewp.data.canonical import copies_factor
from ewp.data.splits import Fold, folds, given_folds, of_positive_weight, subsample_pairs
from ewp.engine.families import stabilised
from ewp.metrics import rand_index
from ewp.selection.cluster_density import ClusterDensity
from ewp.selection.coordinates import scoring_coordinates
from ewp.selection.density import FoldDensity, Judgement
from ewp.selection.family_density import Counted, FamilyDensity
from ewp.selection.parts import CommonRows
from ewp.selection.prediction_strength import THRESHOLD, halves, strength
from ewp.solver.fit import FitOptions

__all__ = [
    "LEAST_STABILITY",
    "CommonPasses",
    "Criterion",
    "CriterionDefaults",
    "Gap",
    "OwnCriterion",
    "PredictionStrength",
    "Predictive",
    "Score",
    "Stability",
    "copies_of",
    "mean_error",
]

#: With fewer rows than this the folds are drawn again, but not more often than this.
_ENOUGH_ROWS = 500
_MOST_REPEATS = 2
#: Adjusted Rand index of the replicates' partitions, on average, below which they disagree.
LEAST_STABILITY = 0.5
#: Share of a sum of squares below which a difference is a rounding error.
_ROUNDING = 1e-10
#: Folds with up to so many pairs of a row and a cluster, over all options, are fitted together.
_PAIRS_AT_ONCE = 2**19


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


class HeldOut(NamedTuple):
    """A fold, the rows in the coordinates that are scored, and their numbers of copies.

    Rows whose columns have families of their own are scored as these say; their coordinates are
    such that variances depend little on means.
    """

    fold: Fold
    described: Array
    copies: Array | None
    counted: Counted | None = None

    def density(self) -> FoldDensity:
        """Return what judges partitions of the training rows by the coordinates of test rows."""
        train, test = self.fold
        part = None if self.copies is None else self.copies[train]
        return FoldDensity(self.described[train], self.described[test], part)

    def own_density(self) -> ClusterDensity:
        """Return what judges partitions whose clusters have feature weights of their own."""
        train, test = self.fold
        part = None if self.copies is None else self.copies[train]
        return ClusterDensity(self.described[train], self.described[test], part)

    def judge_all(self, partitions: np.ndarray) -> list[Judgement]:
        """Judge partitions of the training rows by the test rows."""
        if self.counted is None:
            return self.density().judge_all(partitions)
        return FamilyDensity(self.counted, *self.fold, self.copies).judge_all(partitions)


@dataclass
class Predictive(CommonPasses):
    """Nats a held-out row gains from the partition in all features, see `ewp.selection.density`.

    Parameters
    ----------
    cv : int, splitter or list of Fold
        Number of folds, or what `ewp.data.splits.folds` takes. The default folds keep equal rows
        together, and are drawn more than once when rows are few.
    """

    cv: Any = 5
    name: str = "predictive"
    unit: str = "nats of held-out log-density gained per row"
    takes_splits: ClassVar[bool] = True
    over_one_cluster: ClassVar[bool] = True

    def for_rows(self, X: Array, weight: Array | None) -> Predictive:
        """Return the criterion for the rows of positive weight alone, numbered anew.

        A splitter is asked here, once, for all rows, which is what row numbers and groups of the
        user's own refer to.
        """
        if isinstance(self.cv, int | np.integer):
            return self
        return dataclasses.replace(self, cv=of_positive_weight(given_folds(X, self.cv), weight))

    def has_enough_rows(self, group: np.ndarray, distinct: int, k: int) -> bool:
        """Whether every fold trains on enough rows; splits of the user's own must."""
        if isinstance(self.cv, int | np.integer):
            folds = int(self.cv)
            return distinct >= folds and distinct - -(-distinct // folds) > k
        for i, fold in enumerate(self.cv):
            seen = len(np.unique(group[fold.train]))
            if seen <= k:
                raise ValueError(
                    f"split {i} of cv trains on {seen} distinct rows, too few to score k={k}; "
                    "train on more rows, or ask for fewer clusters"
                )
        return True

    def replicates(self, X: Array, weight: Array | None, rng: np.random.Generator) -> list[Any]:
        """Draw the folds; each comes with the resolution of the columns."""
        mass = self.without_sizes(weight)
        copies = copies_of(mass)
        rows = len(X) if copies is None else int(copies.sum())
        repeats = 1
        if isinstance(self.cv, int | np.integer):
            repeats = min(max(_ENOUGH_ROWS // rows, 1), _MOST_REPEATS)
        drawn = [fold for _ in range(repeats) for fold in folds(X, mass, self.cv, rng)]
        if self.names is None:
            described = scoring_coordinates(X, copies, self.rows(X, weight).engine.canonical)
            return [HeldOut(fold, described, copies) for fold in drawn]
        sizes = np.ones(len(X)) if self.sizes is None else self.sizes
        counted = Counted(self.names, X * sizes[:, None], sizes)
        described = stabilised(X, self.names)
        return [HeldOut(fold, described, copies, counted) for fold in drawn]

    def score_all(
        self,
        X: Array,
        weight: Array | None,
        options: list[FitOptions],
        replicate: HeldOut,
        seed: int,
    ) -> list[Score]:
        """Fit on a fold's training rows and score the partitions on its test rows."""
        return self.score_replicates(X, weight, options, [replicate], [seed])[0]

    def at_once(self, pairs: float) -> int:
        """Return how many make passes that are long beside the calls they consist of."""
        return max(int(_PAIRS_AT_ONCE // pairs), 1)

    def first_tells(self, replicates: list[HeldOut], rows: float) -> bool:
        """Whether it holds out so many rows."""
        test, copies = replicates[0].fold.test, replicates[0].copies
        return bool((len(test) if copies is None else copies[test].sum()) >= rows)

    def score_replicates(
        self,
        X: Array,
        weight: Array | None,
        options: list[FitOptions],
        replicates: list[HeldOut],
        seeds: list[int],
    ) -> list[list[Score]]:
        """Fit on the training rows of all folds in common passes, and score on the test rows."""
        fitted = self.rows(X, weight).fit([one.fold.train for one in replicates], options, seeds)
        return [
            self._judge(X, weight, options, *found)
            for found in zip(replicates, fitted.labels(), fitted.features, strict=True)
        ]

    def _judge(
        self,
        X: Array,
        weight: Array | None,
        options: list[FitOptions],
        replicate: HeldOut,
        partitions: np.ndarray,
        effective: Array,
    ) -> list[Score]:
        """Score the partitions that a fold's training rows gave to all rows."""
        train, test = replicate.fold
        own = np.array([one.by_cluster for one in options])
        judgements = replicate.judge_all(partitions[:, train])
        gains = [judged.gain for judged in judgements]
        if own.any():
            density = replicate.own_density()
            for i in np.flatnonzero(own).tolist():
                judgements[i] = density.judge(partitions[i, train])
        scores = []
        for i, judged in enumerate(judgements):
            labels, features = partitions[i], effective[i]
            rows, shared = np.full(len(X), np.nan), None
            rows[test] = judged.gain
            if own[i]:
                shared = np.full(len(X), np.nan)
                shared[test] = gains[i]
            mass = self.without_sizes(weight)
            value = np.average(judged.gain, weights=None if mass is None else mass[test])
            count = len(judged.features)
            scores.append(
                Score(
                    float(value),
                    float(features),
                    rows,
                    replicate.copies,
                    labels,
                    count,
                    shared=shared,
                )
            )
        return scores

    def spread(self, scores: list[Score]) -> float:
        """Standard error of the mean over folds."""
        return mean_error(scores)


@dataclass
class Stability(CommonPasses):
    """Agreement of fits to overlapping subsamples, corrected for what permuted columns give.

    Two fits to subsamples label all rows; their adjusted Rand index S is already corrected for
    chance. A solution that uses one feature, or rounds along one axis, is stable without any
    clusters: as stable as on data whose columns were permuted independently, S0. The value is
    ``(S - S0) / (1 - S0)``, -1 at least; S0 counts as 0.99 at most, so that perfect agreement is
    1 even where single columns have clusters of their own. One cluster agrees with nothing.

    Parameters
    ----------
    n_pairs : int
    share : float
        Share of the rows in a subsample.
    """

    n_pairs: int = 5
    share: float = 0.8
    name: str = "stability"
    unit: str = "corrected adjusted Rand index"

    def has_enough_rows(self, group: np.ndarray, distinct: int, k: int) -> bool:
        """Whether a subsample has enough rows."""
        return round(self.share * distinct) > k

    def replicates(self, X: Array, weight: Array | None, rng: np.random.Generator) -> list[Any]:
        """Draw pairs of subsamples and permutations of the columns."""
        pairs = subsample_pairs(X, weight, self.n_pairs, self.share, rng)
        return [(first, second, int(rng.integers(2**31))) for first, second in pairs]

    def score_all(
        self, X: Array, weight: Array | None, options: list[FitOptions], replicate: Any, seed: int
    ) -> list[Score]:
        """Compare two fits, on the data and on permuted columns."""
        first, second, permutation = replicate
        agreement, features = _agreement(self.rows(X, weight), [first, second], options, seed)
        permuted = CommonRows(_permute(X, permutation), weight, self.names)
        chance, _ = _agreement(permuted, [first, second], options, seed)
        return [
            Score(_corrected(a, c), float(f), agreement=a)
            for a, c, f in zip(agreement, chance, features, strict=True)
        ]

    def spread(self, scores: list[Score]) -> float:
        """Standard error of the mean over pairs."""
        return mean_error(scores)


def _agreement(
    rows: CommonRows, parts: list[np.ndarray], options: list[FitOptions], seed: int
) -> tuple[list[float], Array]:
    """Adjusted Rand indices between fits to two parts, and effective features of the first."""
    fitted = rows.fit(parts, options, seed)
    copies = copies_of(rows.engine.sample_weight)
    agreement = [
        0.0 if np.ptp(one) == 0 or np.ptp(two) == 0 else rand_index(one, two, copies)
        for one, two in zip(*fitted.labels().astype(np.intp), strict=True)
    ]
    return agreement, fitted.features[0]


@dataclass
class PredictionStrength(CommonPasses):
    """How well halves of the rows agree on which rows belong together, in the worst cluster.

    The prediction strength of Tibshirani and Walther (2005), see
    `ewp.selection.prediction_strength`. Each half is predicted by the other, and the mean of both
    is taken. A number of clusters is supported from 0.8 on.

    Parameters
    ----------
    n_splits : int
    """

    n_splits: int = 5
    name: str = "strength"
    unit: str = "prediction strength, from 0 to 1"
    threshold: ClassVar[float | None] = THRESHOLD

    def has_enough_rows(self, group: np.ndarray, distinct: int, k: int) -> bool:
        """Whether a half has enough rows."""
        return distinct // 2 > k

    def replicates(self, X: Array, weight: Array | None, rng: np.random.Generator) -> list[Any]:
        """Draw the halves."""
        return halves(X, weight, self.n_splits, rng)

    def score_all(
        self, X: Array, weight: Array | None, options: list[FitOptions], replicate: Any, seed: int
    ) -> list[Score]:
        """Fit both halves, and count the pairs of each that the other one parts."""
        rows, copies = self.rows(X, weight), copies_of(weight)
        fitted = rows.fit(list(replicate), options, seed)
        scores = []
        for pair, features in zip(
            fitted.labels().astype(np.intp).swapaxes(0, 1), fitted.features[0], strict=True
        ):
            told = [
                strength(own[half], other[half], None if copies is None else copies[half])
                for half, own, other in zip(replicate, pair, pair[::-1], strict=True)
            ]
            agreement = rand_index(pair[0], pair[1], copies)
            scores.append(Score(float(np.mean(told)), float(features), agreement=agreement))
        return scores

    def spread(self, scores: list[Score]) -> float:
        """Standard error of the mean over splits."""
        return mean_error(scores)


@dataclass
class Gap(CommonPasses):
    r"""Permutation gap of the weighted between-cluster dispersion.

    With :math:`B_\lambda = \sum_l w_l (T_l - D_l)` at the fit, the gap is :math:`\log B_\lambda`
    minus its mean over data whose columns were permuted independently, as Witten and Tibshirani
    (2010) choose the bound of sparse k-means. The standard error is the standard deviation over
    permutations times :math:`\sqrt{1 + 1/n}`, as in Tibshirani, Walther and Hastie (2001).

    Parameters
    ----------
    n_perms : int
    """

    n_perms: int = 5
    name: str = "gap"
    unit: str = "gap of log between-cluster dispersion"

    def replicates(self, X: Array, weight: Array | None, rng: np.random.Generator) -> list[Any]:
        """Draw the permutations: one replicate, so that the data are fitted once."""
        return [[int(seed) for seed in rng.integers(2**31, size=self.n_perms)]]

    def score_all(
        self,
        X: Array,
        weight: Array | None,
        options: list[FitOptions],
        replicate: list[int],
        seed: int,
    ) -> list[Score]:
        """Log dispersion of the data minus that of every permutation."""
        found, features = _log_between(self.rows(X, weight), options, seed)
        permuted = (CommonRows(_permute(X, one), weight, self.names) for one in replicate)
        null = np.array([_log_between(rows, options, seed)[0] for rows in permuted])
        gaps = (found - null).T
        return [
            Score(float(own.mean()), float(f), own) for own, f in zip(gaps, features, strict=True)
        ]

    def spread(self, scores: list[Score]) -> float:
        """Standard deviation over permutations, inflated for their number."""
        gaps = np.concatenate([score.rows for score in scores if score.rows is not None])
        return float(np.std(gaps) * np.sqrt(1.0 + 1.0 / len(gaps)))

    def values(self, scores: list[Score]) -> Array:
        """Return the gaps of all permutations, which one replicate has."""
        return np.array([gap for score in scores if score.rows is not None for gap in score.rows])


def _corrected(agreement: float, chance: float) -> float:
    """Agreement beyond what permuted columns reach, as a share of what there is to reach.

    >>> _corrected(0.9, 0.5), _corrected(1.0, 1.0), _corrected(0.3, 1.0)
    (0.8, 1.0, -1.0)
    """
    chance = min(max(chance, 0.0), 0.99)
    return max((agreement - chance) / (1.0 - chance), -1.0)


def _permute(X: Array, seed: int) -> Array:
    """Permute the columns independently; weights stay with the places of the rows."""
    return np.random.default_rng(seed).permuted(X, axis=0)


def _log_between(rows: CommonRows, options: list[FitOptions], seed: int) -> tuple[Array, Array]:
    """Logarithms of the weighted dispersion between the clusters, and effective features.

    Of a single cluster the dispersion is the rounding error of the total, so that its gap is that
    of the totals, which is next to nothing.
    """
    fitted = rows.fit([np.arange(rows.engine.n)], options, seed)
    between = np.empty(len(options))
    for engine, found, which in fitted.spaces:
        total = found.metric @ engine.squares
        hard = np.full(len(total), -np.inf)
        within = engine.statistics(found.theta, found.metric, hard).nearest
        least = np.maximum(_ROUNDING * total, np.finfo(float).tiny)
        between[which] = np.maximum(total - within, least)
    return np.log(between), fitted.features[0]
