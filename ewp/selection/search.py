"""Candidates for a penalty: their families and their scores by a criterion.

A candidate is a family (a scaling with a form of the weights) and a penalty. Candidates that the
first replicates show to be hopeless are not scored on the others. Which one is taken is said by
`ewp.selection.rules`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from ewp.common.parallel import in_one_blas_thread, tqdm, worker_options
from ewp.common.types import Array
from ewp.data.decorrelation import is_decorrelated
from ewp.engine import array_engine
from ewp.engine.array import ArrayEngine
from ewp.metrics import mean_rand_index
from ewp.selection.base import Criterion, Score
from ewp.selection.grid import penalty_grid
from ewp.solver.fit import FitOptions
from ewp.solver.sparse_starts import is_wide

__all__ = [
    "MIN_LEAD",
    "ROUNDING",
    "Candidate",
    "Family",
    "eliminate_hopeless",
    "families",
    "make_candidates",
    "mean_and_error",
    "paired_difference",
    "rows_of_replicates",
    "score_candidates",
    "within_tolerance",
]

#: Sums of squares below this lose digits when they are divided.
_TINIEST = 1e-290
#: A lead of less than this part of the best score is none, however small its standard error:
#: with many rows the error of a difference vanishes, and what is best by a hair may lie next to
#: where the solution collapses.
MIN_LEAD = 1e-4
#: Differences of the criterion that are rounding errors.
ROUNDING = 1e-9
#: A candidate is hopeless if it is so many standard errors below the best, after one replicate
#: (which may be a bad fit) and after more, judged by at least so many rows.
_HOPELESS = (10.0, 4.0)
_FEWEST_ROWS = 50
#: Decorrelated features that are tried, shrunk as estimated and by more, and the smallest
#: penalty, in units of the largest sum of squares.
_DECORRELATED = ("decorrelate", "decorrelate:0.25")
_LEAST_DECORRELATED = 0.25
#: More features than this are not decorrelated unasked: it would take longer than the fits.
_MOST_CORRELATED = 300
#: Replicates that are scored before hopeless candidates are left out again.
_WAVE = 4


@dataclass(frozen=True)
class Family:
    """A scaling with a form of the weights; both forms agree on standardised features.

    Attributes
    ----------
    scale : str or None
        As in `ewp.EWP`.
    dispersion : {"within", "between"}
    weights : {"common", "cluster"}
    """

    scale: str | None
    dispersion: str = "within"
    weights: str = "common"

    @property
    def scaling(self) -> str:
        """Name of the scaling in results."""
        return self.scale or "none"

    @property
    def decorrelates(self) -> bool:
        """Whether features are decorrelated."""
        return is_decorrelated(self.scale)

    def settle(self, options: FitOptions, lam: float) -> FitOptions:
        """Return options with a penalty and what the family says."""
        return options.settle(
            lam, scale=self.scale, dispersion=self.dispersion, weights=self.weights
        )

    @property
    def rank(self) -> int:
        """Preference among families that score alike: what is simple, and free of units, first."""
        order, own = ("standard", None), self.weights == "cluster"
        more = (len(order) + 2) * own
        if self.scale in order:
            return more + order.index(self.scale) + (self.dispersion == "between")
        return more + len(order) + 1


def families(
    scale: str | None,
    dispersion: str,
    n: float,
    p: int,
    *,
    complete: bool = True,
    weights: str = "common",
) -> list[Family]:
    """Return the families that "auto" leaves open for n rows of p features, preferred ones first.

    Correlations are worth undoing where there are some, rows enough to know them, and no missing
    values.
    """
    if weights != "common":
        common = families(scale, dispersion, n, p, complete=complete)
        # what mixes the features of all clusters is not tried unasked
        own = [
            dataclasses.replace(one, weights="cluster")
            for one in common
            if one.scale == scale or not one.decorrelates
        ]
        return own if weights == "cluster" else [*common, *own]
    forms = ("within", "between") if dispersion == "auto" else (dispersion,)
    found = []
    if scale in ("auto", "standard"):
        found.append(Family("standard", forms[0]))
    if scale in ("auto", None):
        found += [Family(None, form) for form in forms]
    if is_decorrelated(scale):
        found.append(Family(scale, forms[0]))
    elif scale == "auto" and complete and 1 < p < n and p <= _MOST_CORRELATED:
        found += [Family(one, forms[0]) for one in _DECORRELATED]
    return found


@dataclass
class Candidate:
    """A family and a penalty, with what the replicates said of it."""

    family: Family
    lam: float
    scores: list[Score] = field(default_factory=list)
    #: What was computed from how many scores.
    _known: dict[str, tuple[int, Any]] = field(default_factory=dict, repr=False, compare=False)

    def _once(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return what is computed from the scores, and keep it until there are others."""
        known = self._known.get(name)
        if known is None or known[0] != len(self.scores):
            known = self._known[name] = len(self.scores), compute()
        return known[1]

    @property
    def values(self) -> Array:
        """The criterion on every replicate that was run."""
        return np.array([score.value for score in self.scores])

    @property
    def mean(self) -> float:
        """Mean of the criterion."""
        if not self.scores:
            return float("nan")
        found: float = self._once("mean", lambda: float(self.values.mean()))
        return found

    @property
    def rows(self) -> tuple[Array, np.ndarray]:
        """Values of rows over the replicates, see `rows_of_replicates`."""
        found: tuple[Array, np.ndarray] = self._once(
            "rows", lambda: rows_of_replicates(self.scores)
        )
        return found

    @property
    def effective_features(self) -> float:
        """Mean effective number of features."""
        if not self.scores:
            return float("nan")
        return float(np.mean([score.effective_features for score in self.scores]))

    @property
    def mismatch(self) -> float:
        """How far the weights are from the features in which the clusters differ.

        Distance of the logarithms of their numbers, effective and significant.
        """
        counts = [max(score.significant_features, 1.0) for score in self.scores]
        return float(abs(np.log(self.effective_features) - np.log(np.mean(counts))))

    def record(self, criterion: Criterion) -> dict[str, Any]:
        """Return the candidate as plain data."""
        return {
            "lam": self.lam,
            "scaling": self.family.scaling,
            "dispersion": self.family.dispersion,
            "weights": self.family.weights,
            "score": self.mean,
            "se": criterion.spread(self.scores) if self.scores else float("nan"),
        }

    @property
    def partitions(self) -> list[np.ndarray]:
        """The replicates' partitions of all rows, where the criterion has them."""
        return [score.labels for score in self.scores if score.labels is not None]

    @property
    def stability(self) -> float:
        """Mean adjusted Rand index between partitions of all rows, NaN where there are none.

        Those of the replicates, or of the two fits of each of them.
        """
        found: float = self._once("stability", self._find_stability)
        return found

    def _find_stability(self) -> float:
        if len(self.partitions) > 1:
            return mean_rand_index(np.array(self.partitions), self.scores[0].copies)
        found = [score.agreement for score in self.scores if np.isfinite(score.agreement)]
        return float(np.mean(found)) if found else float("nan")


def make_candidates(
    X: Array,
    weight: Array | None,
    families: list[Family],
    lams: Array | None,
    n_lams: int,
    prior: Array | None = None,
    names: tuple[str, ...] | None = None,
) -> list[Candidate]:
    """Every family with its own grid of penalties, or with the given ones.

    Features that a prior excludes have no part in the grid. Of decorrelated features the grid has
    its upper part alone: there single features mean little.
    """
    found = []
    for family in families:
        engine = array_engine(X, weight, family.scale, prior, names)
        used = (engine.varying if prior is None else prior > 0) & (engine.squares > 0)
        _check_tiny(engine, used)
        grid = lams
        if grid is None:
            totals = engine.squares[used] if used.any() else np.ones(1)
            between = family.dispersion == "between"
            grid = penalty_grid(totals, n_lams, between=between, wide=is_wide(engine))
            if family.decorrelates:
                grid = np.geomspace(_LEAST_DECORRELATED, 4.0, -(-n_lams // 2)) * totals.max()
        found += [Candidate(family, float(lam)) for lam in grid]
    return found


def _check_tiny(engine: ArrayEngine, used: np.ndarray) -> None:
    """Check that no column varies so little that ratios of its squares lose their digits."""
    squares = engine.squares * engine.scale**2
    tiny = np.flatnonzero(used & (squares < _TINIEST))
    if len(tiny):
        raise ValueError(
            f"column {tiny[0]} of X varies so little (sum of squares {squares[tiny[0]]:.2g}) that "
            "its squares vanish in floating point; multiply it by a constant"
        )


def score_candidates(
    X: Array,
    weight: Array | None,
    entries: list[Candidate],
    criterion: Criterion,
    options: FitOptions,
    rng: np.random.Generator,
    *,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> bool:
    """Score candidates in place, replicate by replicate.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    weight : ndarray of shape (n,) or None
    entries : list of Candidate
    criterion : Criterion
    options : FitOptions
        Options of the fits; family and penalty come from the candidates.
    rng : Generator
    n_jobs : int or None
        Number of processes, as in joblib. The scores do not depend on it.
    progress : bool or None

    Returns
    -------
    bool
        False if the user interrupted it: what was scored until then is kept.
    """
    replicates = criterion.replicates(X, weight, rng)
    seeds = [int(seed) for seed in rng.integers(2**31, size=len(replicates))]
    alive = list(entries)
    many, pairs = options.lighter(), float(len(X)) * options.n_clusters
    with (
        tqdm(
            total=len(entries) * len(replicates),
            desc=criterion.name,
            unit=" scores",
            progress=progress,
        ) as bar,
        Parallel(n_jobs=n_jobs, return_as="generator", **worker_options()) as pool,
    ):
        tasks = list(zip(replicates, seeds, strict=True))
        # first one, which may be a bad one, or what it takes to tell candidates apart
        count = 1 if criterion.first_tells(replicates, _FEWEST_ROWS) else 1 + _WAVE
        if len(tasks) <= min(1 + _WAVE, criterion.at_once(pairs * len(alive))):
            # passes for one would take nearly as long as those for all
            count = len(tasks)
        while tasks:
            wave, tasks = tasks[:count], tasks[count:]
            settled = [entry.family.settle(many, entry.lam) for entry in alive]
            size = criterion.at_once(pairs * len(alive))
            jobs = (
                delayed(in_one_blas_thread)(
                    criterion.score_replicates,
                    X,
                    weight,
                    settled,
                    [replicate for replicate, _ in part],
                    [seed for _, seed in part],
                )
                for part in (wave[i : i + size] for i in range(0, len(wave), size))
            )
            try:
                for found in pool(jobs):
                    for scores in found:
                        for entry, score in zip(alive, scores, strict=True):
                            entry.scores.append(score)
                        bar.update(len(alive))
                kept = eliminate_hopeless(alive)
            except KeyboardInterrupt:
                _keep_complete(alive)
                if not any(entry.scores for entry in entries):
                    raise
                return False
            bar.total -= (len(alive) - len(kept)) * len(tasks)
            alive = kept
            # what is scored in one call is one wave
            count = max(_WAVE, criterion.at_once(pairs * len(alive)))
            count = count if len(tasks) > count + 1 else len(tasks)
    return True


def _keep_complete(alive: list[Candidate]) -> None:
    """Drop the scores of a replicate that not all candidates have seen."""
    least = min(len(entry.scores) for entry in alive)
    for entry in alive:
        del entry.scores[least:]


def rows_of_replicates(scores: list[Score]) -> tuple[Array, np.ndarray]:
    """Values of rows, averaged over the replicates that held them out, and which rows those are.

    Rows that nothing held out have the value 0.
    """
    rows = np.array([score.rows for score in scores])
    held_out = np.isfinite(rows)
    times = held_out.sum(axis=0)
    total = np.where(held_out, rows, 0.0).sum(axis=0)
    return total / np.maximum(times, 1), times > 0


def mean_and_error(values: Array, copies: Array | None) -> tuple[float, float]:
    """Mean of values and its standard error, where a value may stand for several copies."""
    count = len(values) if copies is None else float(copies.sum())
    mean = np.average(values, weights=copies)
    square = np.average((values - mean) ** 2, weights=copies)
    error = np.sqrt(square / (count - 1)) if count > 1 else 0.0
    return float(mean), float(error)


def paired_difference(one: Candidate, other: Candidate) -> tuple[float, float]:
    """Mean of ``one - other`` and its standard error.

    Both are over rows where rows have values (averaged over the replicates that held them out, a
    row of weight 2 twice), over replicates otherwise.
    """
    pairs = list(zip(one.scores, other.scores, strict=True))
    if any(a.rows is None or b.rows is None for a, b in pairs):
        return mean_and_error(np.array([a.value - b.value for a, b in pairs]), None)
    (first, held_out), (second, _) = one.rows, other.rows
    copies = one.scores[0].copies
    copies = None if copies is None else copies[held_out]
    return mean_and_error((first - second)[held_out], copies)


def within_tolerance(
    one: Candidate, best: Candidate, slack: float, equal: float = MIN_LEAD
) -> bool:
    """Whether a candidate is as good as the best.

    Parameters
    ----------
    one, best : Candidate
    slack : float
        Standard errors of the difference by which it may fall short.
    equal : float
        Part of the best score by which it may fall short in any case.
    """
    lead, error = paired_difference(best, one)
    return lead <= max(slack * error, equal * abs(best.mean)) + ROUNDING


def eliminate_hopeless(alive: list[Candidate]) -> list[Candidate]:
    """Leave out what is far below the best, as far as rows can tell.

    Common weights and weights of every cluster are judged by models of their own, and compete among
    themselves.
    """
    kinds = dict.fromkeys(entry.family.weights for entry in alive)
    if len(kinds) > 1:
        parts = [[entry for entry in alive if entry.family.weights == kind] for kind in kinds]
        return [entry for part in parts for entry in eliminate_hopeless(part)]
    best = max(alive, key=lambda entry: entry.mean)
    rows = [score.rows for score in best.scores if score.rows is not None]
    copies = best.scores[0].copies
    seen = np.isfinite(rows) * (1.0 if copies is None else copies)
    if seen.sum() < _FEWEST_ROWS:
        return alive
    margin = _HOPELESS[min(len(rows), len(_HOPELESS)) - 1]
    return [entry for entry in alive if within_tolerance(entry, best, margin)]
