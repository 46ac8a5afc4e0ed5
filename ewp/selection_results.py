"""What selections return: a table, words and a picture, with the chosen model fitted to all rows.

The functions that make them are in `ewp.selection`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp._printed import Printed
from ewp._selection_text import reason, summarise_selection
from ewp.choice import Choice
from ewp.criteria import Gap
from ewp.results import EWPResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ewp._summary import EWPSummary

__all__ = ["KSelection", "LambdaSelection"]


@dataclass(eq=False, repr=False)
class LambdaSelection(Printed):
    """How a penalty was chosen.

    Attributes
    ----------
    table : DataFrame
        One row a candidate: scaling, form, penalty (in all and a row), mean and standard error
        of the criterion, effective number of features, stability (mean adjusted Rand index
        between the replicates' partitions or, with the stability criterion, between the two of
        every pair; none with the gap), number of replicates (folds, pairs, permutations), and
        the criterion on each of them.
        Candidates that the first replicates showed to be hopeless have fewer.
    lam : float
        The chosen penalty, in the units of a sum over all rows.
    scaling, dispersion : str
        The chosen scaling and form.
    criterion, unit : str
        Name of the criterion and what it counts.
    reason : str
        The decision in words, with the runner-up.
    complete : bool
        False if the selection was interrupted.
    results : EWPResults
        The fit to all rows with the chosen options.
    """

    table: pd.DataFrame
    lam: float
    scaling: str
    dispersion: str
    criterion: str
    unit: str
    reason: str
    complete: bool
    results: EWPResults

    @classmethod
    def of(cls, choice: Choice, results: EWPResults) -> LambdaSelection:
        """Dress a choice and the fit it led to."""
        return cls(
            table=_tabulate(choice),
            lam=choice.chosen.lam,
            scaling=choice.chosen.family.scaling,
            dispersion=choice.chosen.family.dispersion,
            criterion=choice.criterion.name,
            unit=choice.criterion.unit,
            reason=reason(choice.record()),
            complete=choice.complete,
            results=results,
        )

    def summary(self) -> EWPSummary:
        """Printed account of the selection, as text, HTML or LaTeX."""
        columns = [
            "scaling",
            "dispersion",
            "lam",
            "mean",
            "se",
            "effective_features",
            "stability",
            "replicates",
        ]
        names = {"effective_features": "features", "dispersion": "form"}
        table = self.table[columns].rename(columns=names)
        title = f"Selection of lambda, {self.criterion} criterion"
        notes = [self.reason, f"mean: {self.unit}."]
        if (table["replicates"] < table["replicates"].max()).any():
            notes.append("Candidates with fewer replicates were given up: far below the best.")
        return summarise_selection(title, table, notes)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the criterion against the penalty, with the choice marked.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        Axes
            Hollow points were given up after their first replicates.

        Raises
        ------
        ValueError
            If there were too few rows to score anything.
        """
        from ewp.selection_plots import plot_lambda

        chosen = self.scaling, self.dispersion, self.lam
        return plot_lambda(self.table, chosen, self.unit, ax=ax)

    def __repr__(self) -> str:
        return f"LambdaSelection: {self.reason}"


def _tabulate(choice: Choice) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for entry in choice.entries:
        values = entry.values
        if isinstance(choice.criterion, Gap):  # one replicate has all permutations
            values = np.array([gap for s in entry.scores if s.rows is not None for gap in s.rows])
        row = {
            "scaling": entry.family.scaling,
            "dispersion": entry.family.dispersion,
            "lam": entry.lam,
            "lam_per_row": entry.lam / choice.total,
            "mean": entry.mean,
            "se": choice.criterion.spread(entry.scores) if entry.scores else np.nan,
            "effective_features": entry.effective_features,
            "stability": entry.stability,
            "replicates": len(values),
        }
        rows.append(row | {f"score_{i + 1}": value for i, value in enumerate(values)})
    return pd.DataFrame(rows)


@dataclass(eq=False, repr=False)
class KSelection(Printed):
    """How a number of clusters was chosen.

    Attributes
    ----------
    table : DataFrame
        One row a number of clusters: the chosen penalty, scaling and form at it, mean and
        standard error of the criterion there, and the lead of the best number over it with the
        standard error of that difference, over held-out rows. Numbers for which the rows are too
        few have no scores.
    k : int
        The chosen number.
    criterion, unit : str
    rule : str
    results : EWPResults
        The fit at the chosen number.
    fits : dict
        The fits at all numbers.
    complete : bool
        False if the selection was interrupted: the table has the numbers that were finished.
    """

    table: pd.DataFrame
    k: int
    criterion: str
    unit: str
    rule: str
    results: EWPResults
    fits: dict[int, EWPResults]
    complete: bool = True

    def summary(self) -> EWPSummary:
        """Printed account of the selection, as text, HTML or LaTeX."""
        title = f"Selection of the number of clusters, {self.criterion} criterion"
        notes = [
            f"k = {self.k}: {self.rule}.",
            f"mean: {self.unit}.",
            "lead: of the best number over this one, compared row by row where rows are scored.",
        ]
        if not self.complete:
            notes.append("The selection was interrupted: finished numbers only.")
        return summarise_selection(title, self.table.rename(columns={"dispersion": "form"}), notes)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the criterion against the number of clusters, with the choice marked.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        Axes
        """
        from ewp.selection_plots import plot_k

        return plot_k(self.table, self.k, self.unit, ax=ax)

    def __repr__(self) -> str:
        tried = ", ".join(str(k) for k in self.table["k"])
        return f"KSelection: k = {self.k} of {tried}, {self.rule}"
