"""A comparison over several data sets, which are its replicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from ewp.comparison.results import MEASURES, Comparison
from ewp.comparison.tables import ComparisonSummary, marks_note, shown_scores, tabulate
from ewp.display.formatting import counted, fixed
from ewp.display.summary import EWPSummary, SummaryMixin
from ewp.report.page import ReportMixin, data_hash

__all__ = ["SeveralComparisons"]


@dataclass(eq=False, repr=False)
class SeveralComparisons(SummaryMixin, ReportMixin):
    """Methods compared over data sets; instances come from `ewp.compare`.

    Attributes
    ----------
    comparisons : dict of Comparison
        By the name of the data set.
    seed : int
        The seed: the user's, or one that was drawn.
    complete : bool
        False if the comparison was interrupted: the data sets that were finished are here.
    call : str
        What gives the comparison again, the data sets called X.
    """

    comparisons: dict[str, Comparison]
    seed: int
    complete: bool = True
    call: str = ""

    @property
    def _first(self) -> Comparison:
        return next(iter(self.comparisons.values()))

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the order given."""
        return self._first.methods

    @property
    def measures(self) -> list[str]:
        """Names of the measures, as in `Comparison`."""
        return self._first.measures

    @property
    def reference(self) -> str | None:
        """The method that the others are tested against."""
        return self._first.reference

    @property
    def scores(self) -> pd.DataFrame:
        """One row per data set and method: means over the trials of measures and seconds."""
        columns = [*self.measures, "features", "seconds"]
        parts = [
            found.table()[columns].reset_index().assign(dataset=name)
            for name, found in self.comparisons.items()
        ]
        return pd.concat(parts, ignore_index=True)[["dataset", "method", *columns]]

    def table(self) -> pd.DataFrame:
        """One row per method: means over the data sets, standard deviations and tests.

        Returns
        -------
        DataFrame
            As of `Comparison.table`, with data sets in the place of trials.
        """
        return tabulate(self.scores, "dataset", self.methods, self.measures, self.reference)

    def summary(self) -> EWPSummary:
        """Printed account, as text, HTML or LaTeX: all data sets, then each of them."""
        count = len(self.comparisons)
        summary = ComparisonSummary(f"Comparison of clustering methods over {_sets(count)}")
        summary.add_df(shown_scores(self.table(), self.measures))
        summary.add_df(self._by_dataset())
        for note in self._notes():
            summary.add_text(note)
        return summary

    def _by_dataset(self) -> pd.DataFrame:
        """Means of the first measure, a row per data set."""
        scores = self.scores.pivot_table(
            index="dataset", columns="method", values=self.measures[0], dropna=False, sort=False
        )
        shown = pd.DataFrame({name: [fixed(v, 3) for v in scores[name]] for name in self.methods})
        sizes = [found.data.shape for found in self.comparisons.values()]
        shown.insert(0, "n", [str(n) for n, _ in sizes])
        shown.insert(1, "p", [str(p) for _, p in sizes])
        shown.insert(2, "k", [str(found.k) for found in self.comparisons.values()])
        return shown.set_axis([str(name) for name in self.comparisons], axis=0)

    def _notes(self) -> list[str]:
        count, trials = len(self.comparisons), self._first.n_trials
        unit = "resample" if self._first.replicates == "bootstrap" else "start"
        measures = "; ".join(f"{name}: {MEASURES[name].title}" for name in self.measures)
        notes = [
            f"{_sets(count).capitalize()}, of each the mean over {counted(trials, unit)}. Above: "
            f"means (standard deviations) over the data sets. Below: {self.measures[0]} of each. "
            f"{measures}."
        ]
        if self.reference is not None and len(self.methods) > 1:
            notes.append(marks_note(self.reference, count, "data sets"))
            notes.append(
                "The replicates are data sets: the test speaks of data sets of which these are a "
                "sample."
            )
        if not self.complete:
            notes.append("The comparison was interrupted: finished data sets only.")
        return notes

    def _page(self) -> tuple[str, dict[str, Any]]:
        summary = self.summary()
        tables = [
            {
                "columns": list(table.columns),
                "rows": [
                    {"name": str(name), "cells": list(row), "reference": name == self.reference}
                    for name, row in zip(table.index, table.to_numpy(), strict=True)
                ],
            }
            for table in summary.tables
        ]
        methods, sets = counted(len(self.methods), "method"), _sets(len(self.comparisons))
        hashes = {name: data_hash(found.data) for name, found in self.comparisons.items()}
        return "comparisons.html", {
            "kind": "comparison",
            "title": "Comparison of clustering methods",
            "sentence": f"{methods} on {sets}, each from the same starts.",
            "overall": tables[0],
            "datasets": tables[1],
            "notes": list(summary.extra_txt),
            "repeat": f"import ewp\n\nfound = {self.call}",
            "options": {"n_trials": self._first.n_trials, "random_state": self.seed},
            "hash": "; ".join(f"{name}: {value}" for name, value in hashes.items()),
            "hash_of": "the features as they were compared, as 64-bit floats row by row",
        }

    def __repr__(self) -> str:
        means = self.table()[self.measures[0]]
        shown = ", ".join(f"{name} {fixed(value, 3)}" for name, value in means.items())
        return f"SeveralComparisons: {_sets(len(self.comparisons))}, {self.measures[0]}: {shown}"


def _sets(count: int) -> str:
    return counted(count, "data set")
