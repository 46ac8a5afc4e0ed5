"""The printer: tables with notes below them, as text, HTML or LaTeX.

`render_table` turns a table and its notes into an `EWPSummary`, `SummaryMixin` lets an object print
as its summary. This is the only module that prints through statsmodels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp.display.formatting import one_line, short

if TYPE_CHECKING:
    from statsmodels.iolib.summary2 import Summary

__all__ = [
    "CONDITIONAL",
    "INTERRUPTED",
    "EWPSummary",
    "SummaryMixin",
    "render_table",
    "shown_cells",
]

_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
#: Notes that diagnostics have in common.
CONDITIONAL = "Conditional on the number of clusters, the penalty, the scaling and the form."
INTERRUPTED = "INTERRUPTED: the figures rest on the replicates that were finished."


# Brackets and the star are here because LaTeX takes them for arguments at the start of a row.
_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    **{character: "\\" + character for character in "{}$&#%_"},
}


class EWPSummary:
    """Tables and notes as statsmodels prints them, right for names with any characters.

    statsmodels, which is loaded when a summary is made, escapes nothing in HTML and a part of the
    special characters in LaTeX. Here they are replaced by Unicode noncharacters before it renders
    and by their escapes afterwards.

    Attributes
    ----------
    title : str
    tables : list of DataFrame
    extra_txt : list of str
        Notes below the tables.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.tables: list[pd.DataFrame] = []
        self.settings: list[dict[str, Any]] = []
        self.extra_txt: list[str] = []

    def add_df(self, table: pd.DataFrame) -> None:
        """Add a table whose rows have names."""
        self._take(lambda part: part.add_df(table))

    def add_dict(self, facts: dict[str, str]) -> None:
        """Add facts with their names, in two columns."""
        self._take(lambda part: part.add_dict(facts))

    def add_text(self, note: str) -> None:
        """Add a note."""
        self.extra_txt.append(note)

    def _take(self, add: Callable[[Summary], None]) -> None:
        part = _new_summary()
        add(part)
        self.tables += part.tables
        self.settings += part.settings

    def __str__(self) -> str:
        return self.as_text()

    def __repr__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return self.as_html()

    def _repr_latex_(self) -> str:
        return self.as_latex()

    def as_text(self) -> str:
        """Render as plain text."""
        twin, _ = self._masked({})
        twin.settings = [dict(setting) for setting in self.settings]
        # statsmodels pads tables to one width, but miscounts the gaps of those with an index.
        for table, setting in zip(twin.tables, twin.settings, strict=True):
            if setting["index"]:
                setting.update(index=False, align="l" + "r" * table.shape[1])
                table.insert(0, "", table.index)
        return str(twin.as_text())

    def as_html(self) -> str:
        """Render as HTML tables, the first captioned with the title."""
        masked, unmask = self._masked(_HTML)
        first = '<table class="simpletable">'
        caption = f"{first}\n<caption>{masked.title}</caption>"
        html = masked.as_html().replace(first, caption, 1)
        return str(html).translate(unmask)

    def as_latex(self, label: str = "") -> str:
        """Render as a LaTeX table.

        Parameters
        ----------
        label : str, default ""
            Label of the table for references.
        """
        masked, unmask = self._masked(_LATEX)
        return str(masked.as_latex(label=label)).translate(unmask)

    def _masked(self, escapes: dict[str, str]) -> tuple[Summary, dict[int, str]]:
        masks = {ord(character): 0xFDD0 + i for i, character in enumerate(escapes)}
        twin = _new_summary()
        twin.settings = self.settings
        twin.title = str(self.title).translate(masks)
        twin.extra_txt = [note.translate(masks) for note in self.extra_txt]
        for table in self.tables:
            cells = [[str(x).translate(masks) for x in row] for row in table.to_numpy()]
            index = [str(x).translate(masks) for x in table.index]
            columns = [str(x).translate(masks) for x in table.columns]
            twin.tables.append(pd.DataFrame(cells, index=index, columns=columns))
        return twin, {mask: escapes[chr(character)] for character, mask in masks.items()}


def _new_summary() -> Summary:
    from statsmodels.iolib.summary2 import Summary

    return Summary()


class SummaryMixin:
    """Text and HTML of an object that has a summary.

    Attributes
    ----------
    call : str
        What to type to have the object again, empty where that is not known.
    """

    call: str = ""

    def summary(self) -> EWPSummary:
        """Printed account, defined by every subclass."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.summary().as_text())

    def _repr_html_(self) -> str:
        return str(self.summary().as_html())


def render_table(title: str, table: pd.DataFrame, notes: Iterable[str] = ()) -> EWPSummary:
    """Render a table, its names on one line each, with notes below it.

    Parameters
    ----------
    title : str
    table : DataFrame
        Numbers are shown with four significant digits.
    notes : iterable of str
    """
    summary = EWPSummary(title)
    summary.add_df(shown_cells(table))
    for note in notes:
        summary.add_text(note)
    return summary


def shown_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table as texts: names on one line, numbers with four digits, none for NaN."""
    shown = table.set_axis([one_line(name) for name in table.index], axis=0)
    for column in shown.columns:
        if pd.api.types.is_float_dtype(shown[column]):
            shown[column] = ["" if np.isnan(value) else short(value) for value in shown[column]]
        else:
            shown[column] = shown[column].astype(str)
    return shown
