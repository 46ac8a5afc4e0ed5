"""Candidates for a penalty, and their scores by a criterion.

A candidate is a family (a scaling with a form of the weights) and a penalty. Candidates that the
first replicates show to be hopeless (`ewp.racing`) are not scored on the others. Which one is
taken is decided in `ewp.deciding`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from joblib import Parallel, delayed

from ewp._progress import tqdm
from ewp.blas import one_blas_thread
from ewp.criteria import Criterion, Score
from ewp.engine import ArrayEngine
from ewp.fitting import Recipe
from ewp.kernel import Array
from ewp.path import penalty_grid
from ewp.polish import LIGHT
from ewp.racing import hopeful
from ewp.rand_index import rand_index

__all__ = ["Candidate", "Family", "candidates", "evaluate"]

#: Sums of squares below this lose digits when they are divided.
_TINIEST = 1e-290


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
    def partitions(self) -> list[np.ndarray]:
        """The replicates' partitions of all rows, where the criterion has them."""
        return [score.labels for score in self.scores if score.labels is not None]

    @property
    def stability(self) -> float:
        """Mean adjusted Rand index between partitions of all rows, NaN where there are none.

        Those of the replicates, or of the two fits of each of them.
        """
        copies = self.scores[0].copies if self.scores else None
        found = [rand_index(one, two, copies) for one, two in combinations(self.partitions, 2)]
        found += [score.agreement for score in self.scores if np.isfinite(score.agreement)]
        return float(np.mean(found)) if found else float("nan")


def candidates(
    X: Array,
    weight: Array | None,
    families: list[Family],
    lams: Array | None,
    n_lams: int,
    prior: Array | None = None,
) -> list[Candidate]:
    """Every family with its own grid of penalties, or with the given ones.

    Features that a prior excludes have no part in the grid.
    """
    found = []
    for family in families:
        with one_blas_thread():
            engine = ArrayEngine(X, weight, scale="standard" if family.standardise else None)
        used = (engine.varying if prior is None else prior > 0) & (engine.squares > 0)
        _check_tiny(engine, used)
        grid = lams
        if grid is None:
            totals = engine.squares[used] if used.any() else np.ones(1)
            grid = penalty_grid(totals, n_lams, between=family.between)
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
            unit=" scores",
            disable=not progress,
        ) as bar,
        Parallel(n_jobs=n_jobs, return_as="generator") as pool,
    ):
        for finished, (replicate, seed) in enumerate(zip(replicates, seeds, strict=True), 1):
            recipes = [_settled(recipe, entry) for entry in alive]
            jobs = (
                delayed(criterion.score)(X, weight, settled, replicate, int(seed))
                for settled in recipes
            )
            try:
                for entry, score in zip(alive, pool(jobs), strict=True):
                    entry.scores.append(score)
                    bar.update()
                kept = hopeful(alive)
            except KeyboardInterrupt:
                _keep_complete(alive)
                if not any(entry.scores for entry in entries):
                    raise
                return False
            bar.total -= (len(alive) - len(kept)) * (len(replicates) - finished)
            alive = kept
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
