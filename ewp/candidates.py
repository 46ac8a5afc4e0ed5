"""Candidates for a penalty, and their scores by a criterion.

A candidate is a family (a scaling with a form of the weights) and a penalty. Candidates that the
first replicates show to be hopeless are not scored on the others. Which one is taken is decided
in `ewp.deciding`.
"""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import adjusted_rand_score

from ewp._progress import tqdm
from ewp.blas import one_blas_thread
from ewp.criteria import Criterion, Score
from ewp.engine import ArrayEngine
from ewp.fitting import Recipe
from ewp.kernel import Array
from ewp.path import penalty_grid
from ewp.polish import LIGHT

__all__ = ["NOTHING", "Candidate", "Family", "candidates", "compare", "evaluate"]

#: A candidate is hopeless if it is so many standard errors below the best, after one replicate
#: (which may be a bad fit) and after more, judged by at least so many rows.
_HOPELESS = (10.0, 4.0)
_FEWEST_ROWS = 50
#: Differences of the criterion that are rounding errors.
NOTHING = 1e-9


@dataclass(frozen=True)
class Family:
    """A scaling with a form of the weights; both forms agree on standardised features."""

    standardise: bool
    between: bool

    @property
    def scaling(self) -> str:
        """Name of the scaling in results."""
        return "standard" if self.standardise else "none"

    @property
    def dispersion(self) -> str:
        """Name of the form in results."""
        return "between" if self.between else "within"

    @property
    def rank(self) -> int:
        """Preference among families that score alike: a fit that units cannot change first."""
        return 0 if self.standardise else 1 + self.between


@dataclass
class Candidate:
    """A family and a penalty, with what the replicates said of it."""

    family: Family
    lam: float
    scores: list[Score] = field(default_factory=list)

    @property
    def values(self) -> Array:
        """The criterion on every replicate that was run."""
        return np.array([score.value for score in self.scores])

    @property
    def mean(self) -> float:
        """Mean of the criterion."""
        return float(self.values.mean()) if self.scores else float("nan")

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

    @property
    def stability(self) -> float:
        """Mean adjusted Rand index between the replicates' partitions of all rows."""
        labels = [score.labels for score in self.scores if score.labels is not None]
        if len(labels) < 2:
            return float("nan")
        pairs = combinations(labels, 2)
        return float(np.mean([adjusted_rand_score(one, two) for one, two in pairs]))


def candidates(
    X: Array,
    weight: Array | None,
    families: list[Family],
    lams: Array | None,
    n_lams: int,
) -> list[Candidate]:
    """Every family with its own grid of penalties, or with the given ones."""
    found = []
    for family in families:
        grid = lams
        if grid is None:
            with one_blas_thread():
                engine = ArrayEngine(X, weight, scale="standard" if family.standardise else None)
            used = engine.varying & (engine.squares > 0)
            totals = engine.squares[used] if used.any() else np.ones(1)
            grid = penalty_grid(totals, n_lams, between=family.between)
        found += [Candidate(family, float(lam)) for lam in grid]
    return found


def evaluate(
    X: Array,
    weight: Array | None,
    entries: list[Candidate],
    criterion: Criterion,
    recipe: Recipe,
    rng: np.random.Generator,
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> bool:
    """Score candidates in place, replicate by replicate.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    weight : ndarray of shape (n,) or None
    entries : list of Candidate
    criterion : Criterion
    recipe : Recipe
        Options of the fits; family and penalty come from the candidates.
    rng : Generator
    n_jobs : int or None
        Number of processes, as in joblib. The scores do not depend on it.
    progress : bool

    Returns
    -------
    bool
        False if the user interrupted it: what was scored until then is kept.
    """
    replicates = criterion.replicates(X, weight, rng)
    seeds = rng.integers(2**31, size=len(replicates))
    alive = list(entries)
    with (
        tqdm(
            total=len(entries) * len(replicates),
            desc=criterion.name,
            unit=" fits",
            disable=not progress,
        ) as bar,
        Parallel(n_jobs=n_jobs, return_as="generator") as pool,
    ):
        for replicate, seed in zip(replicates, seeds, strict=True):
            recipes = [_settled(recipe, entry) for entry in alive]
            jobs = (
                delayed(criterion.score)(X, weight, settled, replicate, int(seed))
                for settled in recipes
            )
            try:
                for entry, score in zip(alive, pool(jobs), strict=True):
                    entry.scores.append(score)
                    bar.update()
            except KeyboardInterrupt:
                _keep_complete(alive)
                if not any(entry.scores for entry in entries):
                    raise
                warnings.warn(
                    "selection interrupted; deciding by the replicates that were finished",
                    UserWarning,
                    stacklevel=2,
                )
                return False
            before = len(alive)
            alive = _hopeful(alive)
            bar.total -= (before - len(alive)) * (len(replicates) - len(entries[0].scores))
    return True


def _settled(recipe: Recipe, entry: Candidate) -> Recipe:
    """Return the recipe of a candidate; two steps of the exponent at once are good enough here."""
    effort = LIGHT if recipe.polish.rounds else recipe.polish
    return dataclasses.replace(
        recipe,
        eta=recipe.eta**2,
        lam=entry.lam,
        standardise=entry.family.standardise,
        between=entry.family.between,
        polish=effort,
    )


def _keep_complete(alive: list[Candidate]) -> None:
    """Drop the scores of a replicate that not all candidates have seen."""
    least = min(len(entry.scores) for entry in alive)
    for entry in alive:
        del entry.scores[least:]


def compare(one: Candidate, other: Candidate) -> tuple[float, float]:
    """Mean of ``one - other`` and its standard error.

    Both are over rows where rows have values (averaged over the replicates that held them out),
    over replicates otherwise.
    """
    pairs = list(zip(one.scores, other.scores, strict=True))
    rows = [a.rows - b.rows for a, b in pairs if a.rows is not None and b.rows is not None]
    if rows:
        held_out = np.isfinite(rows)
        counted = held_out.any(axis=0)
        difference = np.where(held_out, rows, 0.0).sum(axis=0)[counted]
        difference /= held_out.sum(axis=0)[counted]
    else:
        difference = np.array([a.value - b.value for a, b in pairs])
    count = len(difference)
    error = difference.std(ddof=1) / np.sqrt(count) if count > 1 else 0.0
    return float(difference.mean()), float(error)


def _hopeful(alive: list[Candidate]) -> list[Candidate]:
    """Leave out what is far below the best, as far as rows can tell."""
    best = max(alive, key=lambda entry: entry.mean)
    rows = [score.rows for score in best.scores if score.rows is not None]
    if np.isfinite(rows).sum() < _FEWEST_ROWS:
        return alive
    margin = _HOPELESS[min(len(rows), len(_HOPELESS)) - 1]
    kept = []
    for entry in alive:
        lead, error = compare(best, entry)
        if lead <= margin * error + NOTHING:
            kept.append(entry)
    return kept
