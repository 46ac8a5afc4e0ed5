"""Settling what is automatic in a fit: the penalty, the scaling, the form of the weights.

`choose` works on a validated array and is what ``lam="auto"`` calls; what a user sees of it is in
`ewp.selection`. It has no argument for labels.
"""

from __future__ import annotations

import dataclasses
import numbers
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ewp.candidates import Candidate, Family, candidates, evaluate
from ewp.criteria import CRITERIA, Criterion
from ewp.deciding import RULES, Rule, decide
from ewp.fitting import Recipe
from ewp.folds import distinct_groups
from ewp.inputs import check_choice, check_integer, check_number
from ewp.kernel import Array

__all__ = ["Choice", "SelectionOptions", "choose", "families"]


@dataclass(frozen=True)
class SelectionOptions:
    """How to select; see `ewp.select_lambda` for the meaning."""

    lams: Any = None
    criterion: Any = "predictive"
    cv: Any = 5
    rule: str = "stable"
    n_lams: int = 10

    def make_criterion(self) -> Criterion:
        """Return the criterion that was named, or the user's own."""
        made: Criterion = self.criterion
        if isinstance(self.criterion, str):
            check_choice("criterion", self.criterion, tuple(CRITERIA))
            counted = isinstance(self.cv, numbers.Number) or self.criterion != "predictive"
            replicates = check_integer("cv", self.cv, least=2) if counted else self.cv
            made = CRITERIA[self.criterion](replicates)
        return made

    def make_rule(self) -> Rule:
        """Return the rule that was named."""
        check_choice("rule", self.rule, tuple(RULES))
        return RULES[self.rule]

    def penalties(self) -> Array | None:
        """Return the user's penalties, increasing and checked."""
        if self.lams is None:
            return None
        grid = np.unique(np.asarray(self.lams, dtype=np.float64))
        if grid.ndim != 1 or not len(grid):
            raise ValueError("lams is empty; give positive penalties or None for a grid")
        for lam in grid:
            check_number("lams", float(lam), above=0)
        return grid


def families(scale: str | None, dispersion: str) -> list[Family]:
    """Return the families that "auto" leaves open, preferred ones first."""
    forms = {"auto": (False, True), "within": (False,), "between": (True,)}[dispersion]
    found = []
    if scale in ("auto", "standard"):
        found.append(Family(standardise=True, between=dispersion == "between"))
    if scale in ("auto", None):
        found += [Family(standardise=False, between=form) for form in forms]
    return found


@dataclass(frozen=True)
class Choice:
    """A decision and what it rests on.

    Attributes
    ----------
    entries : list of Candidate
    chosen : Candidate
    runner_up : Candidate or None
    criterion : Criterion
    rule : Rule
    total : float
        Sum of the sample weights.
    complete : bool
        False if the user interrupted the scoring.
    """

    entries: list[Candidate]
    chosen: Candidate
    runner_up: Candidate | None
    criterion: Criterion
    rule: Rule
    total: float
    complete: bool = True

    def settle(self, recipe: Recipe, factor: float = 1.0) -> Recipe:
        """Return the recipe with the chosen penalty, scaling and form.

        Parameters
        ----------
        recipe : Recipe
        factor : float
            How much more the data of the fit weigh than those of the choice.
        """
        return dataclasses.replace(
            recipe,
            lam=factor * self.chosen.lam,
            standardise=self.chosen.family.standardise,
            between=self.chosen.family.between,
        )

    def record(self) -> dict[str, Any]:
        """Return the decision as plain data, for the results and their file."""

        def describe(entry: Candidate) -> dict[str, Any]:
            return {
                "lam": entry.lam,
                "scaling": entry.family.scaling,
                "dispersion": entry.family.dispersion,
                "score": entry.mean,
                "se": self.criterion.spread(entry.scores) if entry.scores else float("nan"),
            }

        return {
            "criterion": self.criterion.name,
            "unit": self.criterion.unit,
            "rule": self.rule.words,
            "candidates": len(self.entries),
            "replicates": max(len(entry.scores) for entry in self.entries),
            "complete": self.complete,
            "chosen": describe(self.chosen),
            "best_score": max(
                (entry.mean for entry in self.entries if entry.scores), default=float("nan")
            ),
            "runner_up": None if self.runner_up is None else describe(self.runner_up),
        }


def choose(
    X: Array,
    weight: Array | None,
    recipe: Recipe,
    open_families: list[Family],
    options: SelectionOptions,
    rng: np.random.Generator,
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Choice:
    """Choose among penalties and families.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    weight : ndarray of shape (n,) or None
    recipe : Recipe
        Options of the fits; its penalty, scaling and form are ignored.
    open_families : list of Family
    options : SelectionOptions
    rng : Generator
    n_jobs : int or None
        Number of processes.
    progress : bool
    """
    if weight is not None and not weight.all():
        X, weight = X[weight > 0], weight[weight > 0]
    criterion, rule = options.make_criterion(), options.make_rule()
    total = float(len(X) if weight is None else weight.sum())
    entries = candidates(
        X,
        weight,
        open_families,
        options.penalties(),
        check_integer("n_lams", options.n_lams, least=1),
    )
    if not _enough_rows(X, weight, recipe.n_clusters, options.cv):
        middle = entries[(len(entries) // len(open_families)) // 2]
        warnings.warn(
            f"{len(X)} rows are too few to choose a penalty for {recipe.n_clusters} clusters by "
            f"cross-validation; lam={middle.lam:.4g} is the middle of the grid, not a choice",
            UserWarning,
            stacklevel=4,
        )
        return Choice(entries, middle, None, criterion, rule, total)
    complete = evaluate(
        X, weight, entries, criterion, recipe, rng, n_jobs=n_jobs, progress=progress
    )
    chosen, runner_up = decide(entries, rule)
    return Choice(entries, chosen, runner_up, criterion, rule, total, complete)


def _enough_rows(X: Array, weight: Array | None, k: int, cv: Any) -> bool:
    """Whether every part of the rows that is fitted has k distinct rows, with one to spare."""
    _, distinct = distinct_groups(X, weight)
    parts = int(cv) if isinstance(cv, int | np.integer) else 2
    return distinct >= parts and distinct - -(-distinct // parts) > k
