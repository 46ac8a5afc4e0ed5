"""A comparison in words and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp._summary import EWPSummary
from ewp.measures import MEASURES

if TYPE_CHECKING:
    from ewp.comparison_results import Comparison

__all__ = ["ComparisonSummary", "summarise"]

#: With fewer trials the smallest p-value of a two-sided signed-rank test is above 0.05.
_FEWEST = 6


class ComparisonSummary(EWPSummary):
    """A summary whose LaTeX has a command for the mark of no significant difference."""

    def as_latex(self, label: str = "") -> str:
        """Render as a LaTeX table."""
        return super().as_latex(label).replace("≃", r"$\simeq$")


def summarise(comparison: Comparison) -> ComparisonSummary:
    """Render a comparison: means (standard deviations), marks, settings."""
    table = comparison.table()
    shown = pd.DataFrame(index=table.index.rename(None))
    for measure in comparison.measures:
        cells = zip(table[measure], table[f"{measure}_sd"], table[f"{measure}_mark"], strict=True)
        shown[measure] = [_cell(mean, sd, mark) for mean, sd, mark in cells]
    shown["features"] = ["" if np.isnan(v) else f"{v:.1f}" for v in table["features"]]
    shown["seconds"] = [f"{v:.3g}" for v in table["seconds"]]
    summary = ComparisonSummary()
    features = "standardised" if comparison.scaling == "standard" else "raw"
    n, p = comparison.data.shape
    summary.add_title(
        f"Comparison of clustering methods: n = {n}, p = {p} ({features}), k = {comparison.k}"
    )
    summary.add_df(shown)
    for note in _notes(comparison):
        summary.add_text(note)
    return summary


def _cell(mean: float, sd: float, mark: str) -> str:
    text = f"{mean:.3f}" if np.isnan(sd) else f"{mean:.3f} ({sd:.3f})"
    return f"{text} {mark or ' '}"


def _notes(comparison: Comparison) -> list[str]:
    measures = "; ".join(f"{name}: {MEASURES[name].title}" for name in comparison.measures)
    trials = f"{comparison.n_trials} trials" if comparison.n_trials > 1 else "One trial"
    starts = {"random": "k random rows", "k-means++": "k-means++ seeds", "given": "given centroids"}
    notes = [
        f"{trials}, in each the same start for all methods: {starts[comparison.init]}. Means "
        f"(standard deviations). {measures}; features: effective number.",
    ]
    if comparison.reference is not None and len(comparison.methods) > 1:
        notes.append(
            f"+ differs significantly from {comparison.reference} at the 5 % level, ≃ does not "
            "(Wilcoxon signed-rank test)."
            + (
                f" {comparison.n_trials} trials are too few for the test to reach that level."
                if comparison.n_trials < _FEWEST
                else ""
            )
        )
    settings = [
        f"{name}: {', '.join(f'{key} {_value(value)}' for key, value in chosen.items())}"
        for name, chosen in comparison.settings.items()
        if chosen
    ]
    if settings:
        notes.append(f"Settings, chosen without classes or given: {'; '.join(settings)}.")
    if comparison.classes is None:
        notes.append("Internal measures count all features alike, which favours equal weights.")
    if not comparison.complete:
        notes.append("The comparison was interrupted: finished trials only.")
    return notes


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
