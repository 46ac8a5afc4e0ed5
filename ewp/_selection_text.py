"""Selections in words and tables: the sentence a summary shows, and the summaries of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from ewp._summary import EWPSummary

__all__ = ["counted", "family_name", "reason", "summarise_selection"]


def family_name(scaling: str, dispersion: str) -> str:
    """Name of a scaling with a form of the weights.

    >>> family_name("none", "between")
    'raw features, between form'
    """
    if scaling == "standard":
        return "standardised features"
    return f"raw features, {dispersion} form"


def counted(number: int, noun: str) -> str:
    """Number with its noun.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")


def reason(record: dict[str, Any]) -> str:
    """Put a decision (`ewp.choice.Choice.record`) into two sentences."""
    chosen, other = record["chosen"], record["runner_up"]
    name = family_name(chosen["scaling"], chosen["dispersion"])
    if not np.isfinite(chosen["score"]):
        return (
            f"lambda = {chosen['lam']:.4g} on {name} is the middle of the grid: there are too few "
            "rows to choose."
        )
    best, of_family = record["best_score"], record["family_best_score"]
    standard = f"({best:.4g})"
    if f"{of_family:.4g}" != f"{best:.4g}":
        standard = f"on these features ({of_family:.4g}), which is as good as the best ({best:.4g})"
    error = f" (se {chosen['se']:.2g})" if np.isfinite(chosen["se"]) else ""
    text = (
        f"lambda = {chosen['lam']:.4g} on {name} chosen by the {record['criterion']} criterion: "
        f"{chosen['score']:.4g} {record['unit']}{error}, {record['rule']} "
        f"{standard} of {counted(record['candidates'], 'candidate')}."
    )
    if other is not None:
        second = family_name(other["scaling"], other["dispersion"])
        text += f" Runner-up: lambda = {other['lam']:.4g} on {second}, {other['score']:.4g}."
    if not record["complete"]:
        text += " The selection was interrupted: finished replicates only."
    return text


def summarise_selection(title: str, table: pd.DataFrame, notes: list[str]) -> EWPSummary:
    """Render a selection's table with notes below it.

    Parameters
    ----------
    title : str
    table : DataFrame
        Numbers are shown with four significant digits.
    notes : list of str
    """
    from ewp._summary import EWPSummary

    shown = table.copy()
    for column in shown.columns:
        if pd.api.types.is_float_dtype(shown[column]):
            shown[column] = ["" if np.isnan(value) else f"{value:.4g}" for value in shown[column]]
        else:
            shown[column] = shown[column].astype(str)
    summary = EWPSummary()
    summary.add_title(title)
    summary.add_df(shown)
    for note in notes:
        summary.add_text(note)
    return summary
