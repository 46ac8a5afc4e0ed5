"""Criteria by which a penalty is chosen without labels: held-out density, stability, strength, gap.

Each draws replicates once and scores the options of a fit on each of them; larger is better. Labels
of the user's own never get here: there is no argument for them. A criterion of the user's own needs
`replicates`, `score`, which returns a `Score`, and `spread`; the rest has defaults in
`CriterionDefaults`, see `ewp.selection.base`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ewp.common.types import Array
from ewp.data.splits import Fold, folds, given_folds, of_positive_weight, subsample_pairs
from ewp.engine.families import stabilised
from ewp.metrics import rand_index
from ewp.selection.base import CommonPasses, CriterionDefaults, Score, copies_of, mean_error
from ewp.selection.cluster_density import ClusterDensity
from ewp.selection.coordinates import scoring_coordinates
from ewp.selection.density import FoldDensity, Judgement
from ewp.selection.family_density import Counted, FamilyDensity
from ewp.selection.parts import CommonRows
from ewp.selection.prediction_strength import THRESHOLD, halves, strength
from ewp.solver.fit import FitOptions

__all__ = [
    "CriterionDefaults",
    "Gap",
    "HeldOut",
    "PredictionStrength",
    "Predictive",
    "Score",
    "Stability",
]

#: With fewer rows than this the folds are drawn again, but not more often than this.
_ENOUGH_ROWS = 500
_MOST_REPEATS = 2
#: Share of a sum of squares below which a difference is a rounding error.
_ROUNDING = 1e-10
#: Folds with up to so many pairs of a row and a cluster, over all options, are fitted together.
_PAIRS_AT_ONCE = 2**19


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
