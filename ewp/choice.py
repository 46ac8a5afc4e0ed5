"""Settling what is automatic in a fit: the penalty, the scaling, the form of the weights.

`choose` works on a validated array and is what ``lam="auto"`` calls; what a user sees of it is in
`ewp.selection`. It has no argument for labels.
"""

from __future__ import annotations

import dataclasses
import numbers
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ewp._selection_text import counted
from ewp.candidates import Candidate, Family, candidates, evaluate
from ewp.checks import check_choice, check_integer, check_number
from ewp.criteria import CRITERIA, Criterion, Predictive, Stability
from ewp.deciding import RULES, Decision, Rule, decide
from ewp.fitting import Known, Recipe
from ewp.folds import distinct_groups
from ewp.kernel import Array, hard_sums

__all__ = ["Choice", "SelectionOptions", "choose", "families"]

#: Partitions of the replicates that the fit to all rows tries, and rows looked at together.
_MOST_KNOWN, _ROWS = 5, 4096


@dataclass(frozen=True)
class SelectionOptions:
    """How to select; see `ewp.select_lambda` for the meaning."""

    lams: Any = None
    criterion: Any = "predictive"
    cv: Any = 5
    rule: str = "stable"
    n_lams: int = 10
    #: Whether an interrupted selection is decided by the replicates that are finished.
    partial: bool = True

    def with_folds(self, X: Array) -> SelectionOptions:
        """Return the options with the criterion made and a splitter asked, once and for all."""
        criterion = self.make_criterion()
        if isinstance(criterion, Predictive):
            criterion = criterion.for_rows(X, None)
        return dataclasses.replace(self, criterion=criterion)

    def make_criterion(self) -> Criterion:
        """Return the criterion that was named, or the user's own."""
        if isinstance(self.criterion, str):
            check_choice("criterion", self.criterion, tuple(CRITERIA))
            number = isinstance(self.cv, numbers.Number) or self.criterion != "predictive"
            replicates = check_integer("cv", self.cv, least=2) if number else self.cv
            named: Criterion = CRITERIA[self.criterion](replicates)
            return named
        own: Criterion = self.criterion
        methods = ("replicates", "score", "spread")
        if isinstance(own, type) or not all(callable(getattr(own, m, None)) for m in methods):
            raise ValueError(
                f"criterion={own!r} is no criterion; give one of "
                f"{', '.join(map(repr, CRITERIA))}, or an object with the methods "
                f"{', '.join(methods)}"
            )
        return own

    def make_rule(self) -> Rule:
        """Return the rule that was named."""
        check_choice("rule", self.rule, tuple(RULES))
        return RULES[self.rule]

    def penalties(self) -> Array | None:
        """Return the user's penalties, increasing and checked."""
        if self.lams is None:
            return None
        single = isinstance(self.lams, numbers.Number | str) or not isinstance(self.lams, Iterable)
        given = [self.lams] if single else list(self.lams)
        if not given:
            raise ValueError("lams is empty; give positive penalties or None for a grid")
        return np.unique([check_number("lams", lam, above=0) for lam in given])


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
    decision : Decision
    criterion : Criterion
    rule : Rule
    total : float
        Sum of the sample weights.
    complete : bool
        False if the user interrupted the scoring.
    found : list of Known
        Partitions of all rows that the replicates of the chosen candidate found.
    """

    entries: list[Candidate]
    decision: Decision
    criterion: Criterion
    rule: Rule
    total: float
    complete: bool = True
    found: list[Known] = dataclasses.field(default_factory=list)

    @property
    def chosen(self) -> Candidate:
        """The candidate that was taken."""
        return self.decision.chosen

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

    def known(self, factor: float = 1.0) -> list[Known]:
        """Return the partitions found on the way, for data that weigh `factor` times as much."""
        return [one._replace(dispersion=factor * one.dispersion) for one in self.found]

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

        chosen, runner_up, best, top = self.decision
        return {
            "criterion": self.criterion.name,
            "unit": self.criterion.unit,
            "rule": self.rule.words(self.decision),
            "candidates": len(self.entries),
            "replicates": max(len(entry.scores) for entry in self.entries),
            "complete": self.complete,
            "chosen": describe(chosen),
            "best_score": best.mean,
            "family_best_score": top.mean,
            "runner_up": None if runner_up is None else describe(runner_up),
            "total": self.total,
            "curve": [
                describe(entry) | {"replicates": len(entry.scores)} for entry in self.entries
            ],
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
    criterion, rule = options.make_criterion(), options.make_rule()
    if isinstance(criterion, Predictive):
        criterion = criterion.for_rows(X, weight)
    if weight is not None and not weight.all():
        X, weight = X[weight > 0], weight[weight > 0]
    total = float(len(X) if weight is None else weight.sum())
    entries = candidates(
        X,
        weight,
        open_families,
        options.penalties(),
        check_integer("n_lams", options.n_lams, least=1),
        recipe.prior,
    )
    group, distinct = distinct_groups(X, weight)
    if not _enough_rows(criterion, group, distinct, recipe.n_clusters):
        middle = entries[(len(entries) // len(open_families)) // 2]
        warnings.warn(
            f"{counted(distinct, 'distinct row')}: too few to choose a penalty for "
            f"k={recipe.n_clusters}; lam={middle.lam:.4g} is the middle of the grid, not a choice; "
            "give lam, or ask for fewer clusters or folds",
            UserWarning,
            stacklevel=4,
        )
        return Choice(entries, Decision(middle, None, middle, middle), criterion, rule, total)
    complete = evaluate(
        X, weight, entries, criterion, recipe, rng, n_jobs=n_jobs, progress=progress
    )
    if not complete:
        if not options.partial:
            raise KeyboardInterrupt
        finished = max(len(entry.scores) for entry in entries)
        warnings.warn(
            f"selection interrupted: {counted(finished, 'replicate')} finished, which decide; the "
            "fit to all rows follows",
            UserWarning,
            stacklevel=4,
        )
    decision = decide(entries, rule)
    found = _partitions(X, weight, decision.chosen, recipe.n_clusters)
    return Choice(entries, decision, criterion, rule, total, complete, found)


def _partitions(X: Array, weight: Array | None, chosen: Candidate, k: int) -> list[Known]:
    """Describe the partitions that the replicates of a candidate gave to all rows."""
    mass = np.ones(len(X)) if weight is None else weight
    found = []
    for labels in chosen.partitions[:_MOST_KNOWN]:
        size = np.bincount(labels, mass, k)
        if len(size) > k or not size.all():
            continue
        centroids = hard_sums(labels, k, mass, X) / size[:, None]
        dispersion = np.zeros(X.shape[1])
        for start in range(0, len(X), _ROWS):
            rows = slice(start, start + _ROWS)
            difference = X[rows] - centroids[labels[rows]]
            difference *= difference
            dispersion += mass[rows] @ difference
        found.append(Known(centroids, dispersion))
    return found


def _enough_rows(criterion: Criterion, group: np.ndarray, distinct: int, k: int) -> bool:
    """Whether every part of the rows that is fitted has k distinct rows, with one to spare.

    Splits of the user's own that have not are an error.
    """
    if isinstance(criterion, Stability):
        return round(criterion.share * distinct) > k
    if not isinstance(criterion, Predictive):
        return True
    if isinstance(criterion.cv, int | np.integer):
        folds = int(criterion.cv)
        return distinct >= folds and distinct - -(-distinct // folds) > k
    for i, fold in enumerate(criterion.cv):
        seen = len(np.unique(group[fold.train]))
        if seen <= k:
            raise ValueError(
                f"split {i} of cv trains on {seen} distinct rows, too few to score k={k}; train "
                "on more rows, or ask for fewer clusters"
            )
    return True
