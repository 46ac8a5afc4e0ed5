"""Tables of comparisons: means over replicates, tests against the reference, marks and their words.

A replicate is what the test counts: a start, a resample or a data set.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from ewp.common.types import Array
from ewp.display.formatting import fixed, short
from ewp.display.summary import EWPSummary

__all__ = ["ComparisonSummary", "marks_note", "shown_scores", "signed_rank", "tabulate"]

#: Level of the test, as in the paper.
LEVEL = 0.05
#: With fewer replicates the smallest p-value of a two-sided signed-rank test is above 0.05.
_FEWEST = 6
#: The reference is better, is worse, does not differ significantly.
BETTER, WORSE, EQUAL = "+", "−", "≃"


def signed_rank(one: Array, other: Array) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test on paired values.

    Pairs without a difference are left out; when there are no others, the p-value is 1.

    Examples
    --------
    >>> signed_rank(np.arange(1.0, 7.0), np.zeros(6))
    0.03125
    >>> signed_rank(np.ones(6), np.ones(6))
    1.0
    """
    difference = _differences(one, other)
    if not len(difference):
        return 1.0
    from scipy.stats import wilcoxon

    with warnings.catch_warnings():
        # few values with ties: the normal approximation is poor, and there is no better one
        warnings.simplefilter("ignore")
        return float(wilcoxon(difference).pvalue)


def _differences(one: Array, other: Array) -> Array:
    """Differences of pairs that differ by more than what rounding makes of equal scores."""
    difference = np.asarray(one, dtype=float) - np.asarray(other, dtype=float)
    found: Array = difference[np.isfinite(difference) & (np.abs(difference) > 1e-12)]
    return found


def mark(reference: Array, other: Array, p: float) -> str:
    """Mark of a method: whether the reference is significantly better than it, or worse.

    The direction is that of the test, the sign of the sum of signed ranks.

    >>> mark(np.arange(1.0, 7.0), np.zeros(6), 0.03), mark(np.zeros(6), np.arange(1.0, 7.0), 0.03)
    ('+', '−')
    """
    if not p < LEVEL:
        return EQUAL
    from scipy.stats import rankdata

    difference = _differences(reference, other)
    return BETTER if np.sign(difference) @ rankdata(np.abs(difference)) > 0 else WORSE


def tabulate(
    scores: pd.DataFrame,
    unit: str,
    methods: list[str],
    measures: list[str],
    reference: str | None,
) -> pd.DataFrame:
    """One row per method: of every measure mean, deviation, p-value and mark; mean seconds.

    Parameters
    ----------
    scores : DataFrame
        One row per replicate and method.
    unit : str
        The column that numbers or names the replicates.
    methods, measures : list of str
    reference : str or None
    """
    columns: dict[str, Any] = {}
    for measure in measures:
        values = scores.pivot_table(index=unit, columns="method", values=measure, dropna=False)
        values = values[methods]
        p_values, marks = [], []
        for name in methods:
            tested = reference is not None and name != reference
            pair = (values[reference].to_numpy(), values[name].to_numpy()) if tested else None
            p_values.append(float("nan") if pair is None else signed_rank(*pair))
            marks.append("" if pair is None else mark(*pair, p_values[-1]))
        columns[measure] = values.mean()
        columns[f"{measure}_sd"] = values.std()
        columns[f"{measure}_p"] = pd.Series(p_values, index=methods)
        columns[f"{measure}_mark"] = pd.Series(marks, index=methods)
    columns["seconds"] = scores.groupby("method")["seconds"].mean()
    return pd.DataFrame(columns).reindex(methods).rename_axis("method")


def shown_scores(table: pd.DataFrame, measures: list[str]) -> pd.DataFrame:
    """Cells of a table as texts: means (standard deviations) and marks."""
    shown = pd.DataFrame(index=table.index.rename(None))
    for measure in measures:
        cells = zip(table[measure], table[f"{measure}_sd"], table[f"{measure}_mark"], strict=True)
        shown[measure] = [_score_cell(mean, sd, mark) for mean, sd, mark in cells]
    if "features" in table:
        shown["features"] = ["" if np.isnan(v) else fixed(v, 1) for v in table["features"]]
    shown["seconds"] = [short(v, 3) for v in table["seconds"]]
    return shown


def _score_cell(mean: float, sd: float, mark: str) -> str:
    text = fixed(mean, 3) if np.isnan(sd) else f"{fixed(mean, 3)} ({fixed(sd, 3)})"
    return f"{text} {mark or ' '}"


def marks_note(reference: str, count: int, units: str) -> str:
    """Say what the marks mean, and whether there are enough replicates to reach them."""
    note = (
        f"{BETTER} {reference} is better, {WORSE} it is worse, at the 5 % level; {EQUAL} no "
        "significant difference (Wilcoxon signed-rank test)."
    )
    if count < _FEWEST:
        verb = "is" if count == 1 else "are"
        what = units.removesuffix("s") if count == 1 else units
        note += f" {count} {what} {verb} too few for the test to reach that level."
    return note


class ComparisonSummary(EWPSummary):
    """A summary whose LaTeX has commands for the marks."""

    def as_latex(self, label: str = "") -> str:
        """Render as a LaTeX table."""
        latex = super().as_latex(label)
        return latex.replace(EQUAL, r"$\simeq$").replace(WORSE, "$-$")
