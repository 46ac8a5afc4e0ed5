"""How to select: the options of ``lam="auto"``, checked and made into a criterion and a rule.

`CRITERIA` has the criteria that go by a name; an object of the user's own can take their place.
"""

from __future__ import annotations

import copy
import dataclasses
import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ewp.common.checks import check_choice, check_integer, check_number
from ewp.common.types import Array
from ewp.selection.base import CommonPasses, Criterion, OwnCriterion
from ewp.selection.count_splitting import CountSplitting
from ewp.selection.criteria import Gap, PredictionStrength, Predictive, Stability
from ewp.selection.rules import SELECTION_RULES, SelectionRule

__all__ = ["CRITERIA", "SelectionOptions"]

#: The criteria by name; each takes a number of replicates first.
CRITERIA: dict[str, type[Any]] = {
    "predictive": Predictive,
    "stability": Stability,
    "gap": Gap,
    "strength": PredictionStrength,
    "splitting": CountSplitting,
}


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
    #: Whether to ask how well the clusters are separated, two by two.
    separation: bool = False

    @property
    def needs_all_rows(self) -> bool:
        """Whether splits or a criterion of the user's own may refer to rows by number."""
        made = self.make_criterion()
        named = type(made) in CRITERIA.values()
        return not (named and isinstance(getattr(made, "cv", 0), numbers.Number))

    def with_folds(self, X: Array) -> SelectionOptions:
        """Return the options with the criterion made and a splitter asked, once and for all."""
        return dataclasses.replace(self, criterion=self.make_criterion().for_rows(X, None))

    def make_criterion(self) -> Criterion:
        """Return the criterion that was named, or the user's own."""
        if isinstance(self.criterion, str):
            check_choice("criterion", self.criterion, tuple(CRITERIA))
            kind = CRITERIA[self.criterion]
            number = isinstance(self.cv, numbers.Number) or not kind.takes_splits
            named: Criterion = kind(check_integer("cv", self.cv, least=2) if number else self.cv)
            return named
        # a copy of its own for every selection: a criterion keeps what it has prepared
        own: Any = (
            copy.copy(self.criterion)
            if isinstance(self.criterion, CommonPasses)
            else self.criterion
        )
        methods = ("replicates", "score", "spread")
        if isinstance(own, type) or not all(callable(getattr(own, m, None)) for m in methods):
            raise ValueError(
                f"criterion={own!r} is no criterion; give one of "
                f"{', '.join(map(repr, CRITERIA))}, or an object with the methods "
                f"{', '.join(methods)}"
            )
        more = (
            "for_rows",
            "has_enough_rows",
            "values",
            "over_one_cluster",
            "least_stability",
            "score_replicates",
        )
        complete = all(hasattr(own, m) for m in more)
        criterion: Criterion = own if complete else OwnCriterion(own)
        return criterion

    def make_rule(self) -> SelectionRule:
        """Return the rule that was named."""
        check_choice("rule", self.rule, tuple(SELECTION_RULES))
        return SELECTION_RULES[self.rule]

    def penalties(self) -> Array | None:
        """Return the user's penalties, increasing and checked."""
        if self.lams is None:
            return None
        single = isinstance(self.lams, numbers.Number | str) or not isinstance(self.lams, Iterable)
        given = [self.lams] if single else list(self.lams)
        if not given:
            raise ValueError("lams is empty; give positive penalties or None for a grid")
        return np.unique([check_number("lams", lam, above=0) for lam in given])
