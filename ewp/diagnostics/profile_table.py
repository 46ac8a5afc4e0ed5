"""A profile of the clusters as the user sees it: the table, its words, its dresses.

What is in it is computed in `ewp.diagnostics.profile`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ewp.common.checks import check_integer
from ewp.display.formatting import (
    MAX_CLUSTERS,
    counted,
    fixed,
    mean_cells,
    number,
    one_line,
    p_text,
    percent,
    weight_cells,
)
from ewp.display.profile_plots import plot_heatmap
from ewp.display.summary import EWPSummary, SummaryMixin

if TYPE_CHECKING:
    from great_tables import GT
    from matplotlib.axes import Axes

__all__ = ["Profile"]

#: Clusters beside each other in one table of text.
_BESIDE = 6
_TITLE = "Profile of the clusters"


@dataclass(eq=False, repr=False)
class Profile(SummaryMixin):
    """Sizes, means and counts by cluster; instances come from :meth:`ewp.EWPResults.profile`.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per feature, the heaviest first, or per value of a feature whose values are
        counted. Columns: ``statistic`` ("mean" or "count"); ``value``, the one that is counted;
        ``mean`` and ``sd`` over all rows; ``mean_0``, ``sd_0`` and so on in the clusters;
        ``difference``, the largest standardised difference between two clusters, and ``between``,
        which two; ``weight``; and ``p_value`` where there are selective p-values. Of a counted
        value the mean is its share of the rows, and the number of rows is ``count``, ``count_0``
        and so on. Where values are missing, ``observed``, ``observed_0`` and so on are the
        numbers of those that are there, of which all other figures are.
    clusters : pandas.DataFrame
        Columns ``size`` (rows), ``mass`` (sum of sample weights) and ``share`` (of the mass).
    scaling : str
        What was done to the features in the fit; the figures here are in the units of the data.
    weighted : bool
        Whether rows have weights other than one, which means and counts then count.
    sized : bool
        Whether rows have sizes, and the figures are those of values per unit of size.
    """

    table: pd.DataFrame
    clusters: pd.DataFrame
    scaling: str
    weighted: bool
    sized: bool = False

    def summary(self, top: int = 20) -> EWPSummary:
        """Printed table, as text, HTML or LaTeX.

        Parameters
        ----------
        top : int, default 20
            Number of features to print, heaviest first.
        """
        return summarise_profile(self, top)

    def plot(self, ax: Axes | None = None, top: int = 20) -> Axes:
        """Draw the cluster means as a heatmap, see `ewp.display.profile_plots.plot_heatmap`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
        top : int, default 20
            Number of features to draw, heaviest first.

        Returns
        -------
        matplotlib.axes.Axes
        """
        names = list(self.clusters.index)
        spread = self.table["sd"].where(self.table["sd"] > 0, 1.0)
        means = self.table[[f"mean_{name}" for name in names]]
        deviation = means.sub(self.table["mean"], axis=0).div(spread, axis=0)
        return plot_heatmap(
            deviation.to_numpy().T,
            self.table["weight"].to_numpy(),
            _row_names(self.table),
            clusters=names,
            top=top,
            ax=ax,
        )

    def great_table(self, top: int = 20) -> GT:
        """Return the table as an object of the package great_tables, to be styled and exported.

        Parameters
        ----------
        top : int, default 20
            Number of features to show, heaviest first.

        Returns
        -------
        great_tables.GT

        Raises
        ------
        ImportError
            If great_tables is not installed.
        """
        try:
            from great_tables import GT
        except ImportError as error:
            raise ImportError(
                'great_table() needs great_tables: pip install "ewp-kmeans[tables]"'
            ) from error
        return _great_table(GT, self, top)

    def __repr__(self) -> str:
        k, p = len(self.clusters), self.table.index.nunique()
        largest = self.table["difference"].max()
        told = "" if np.isnan(largest) else f", standardised differences up to {fixed(largest)}"
        return f"Profile: {counted(k, 'cluster')}, {counted(p, 'feature')}{told}"


def _row_names(table: pd.DataFrame) -> list[str]:
    """Names of the lines, with the value that is counted."""
    return [
        one_line(name) if np.isnan(value) else f"{one_line(name)} = {number(value)}"
        for name, value in zip(table.index, table["value"], strict=True)
    ]


class _Cells(NamedTuple):
    """The table as texts: a column of all rows, one a cluster, and what stands beside them."""

    rows: list[str]
    everyone: list[str]
    clusters: dict[str, list[str]]
    beside: dict[str, list[str]]


def _cells(found: Profile, top: int) -> _Cells:
    check_integer("top", top, least=1)
    heaviest = found.table.index.drop_duplicates()[:top]
    table = found.table[found.table.index.isin(heaviest)]
    names = list(found.clusters.index[:MAX_CLUSTERS])
    places = ["", *(f"_{name}" for name in names)]
    lines = [_line(row, places) for _, row in table.iterrows()]
    mass = found.clusters["mass"]
    sizes = [number(mass.sum(), 6)] + [
        f"{number(own, 6)} ({percent(share)})"
        for own, share in zip(mass, found.clusters["share"], strict=True)
    ]
    columns = [[size, *(line[i] for line in lines)] for i, size in enumerate(sizes[: len(places)])]
    beside: dict[str, list[str]] = {}
    if len(found.clusters) > 1:
        beside["difference"] = ["", *map(_difference_cell, table["difference"], table["between"])]
    beside["weight"] = ["", *weight_cells(table["weight"].to_numpy(dtype=float))]
    if "observed" in table:
        absent = 1.0 - table["observed"] / mass.sum()
        beside["missing"] = ["", *map(percent, absent)]
    if "p_value" in table:
        beside["p"] = ["", *map(p_text, table["p_value"])]
    clusters = dict(zip([str(name) for name in names], columns[1:], strict=True))
    return _Cells(["rows", *_row_names(table)], columns[0], clusters, beside)


def _line(row: pd.Series, places: list[str]) -> list[str]:
    """Cells of a feature: all rows, then the clusters."""
    means = [row[f"mean{place}"] for place in places]
    if row["statistic"] == "count":
        counts = [row[f"count{place}"] for place in places]
        shown = zip(counts, means, strict=True)
        return [f"{number(count, 6)} ({percent(share)})" for count, share in shown]
    return mean_cells(means, [row[f"sd{place}"] for place in places])


def _difference_cell(value: float, pair: str) -> str:
    return "" if np.isnan(value) else f"{fixed(value)} ({pair.replace(', ', ' vs ')})"


def summarise_profile(found: Profile, top: int = 20) -> EWPSummary:
    """Render a profile; many clusters take several tables, one below the other.

    Parameters
    ----------
    found : Profile
    top : int, default 20
        Number of features to print.
    """
    cells = _cells(found, top)
    summary = EWPSummary(_TITLE)
    names = list(cells.clusters)
    beside = -(-len(names) // -(-len(names) // _BESIDE))
    for first in range(0, len(names), beside):
        table = {"all rows": cells.everyone} if first == 0 else {}
        for name in names[first : first + beside]:
            table[f"cluster {name}"] = cells.clusters[name]
        if first == 0:
            table |= cells.beside
        summary.add_df(pd.DataFrame(table, index=cells.rows))
    for note in _notes(found, top):
        summary.add_text(note)
    return summary


def _notes(found: Profile, top: int) -> list[str]:
    table = found.table
    kinds = set(table["statistic"])
    notes = []
    if "mean" in kinds:
        if found.sized:
            notes.append(
                "Means (standard deviations) of the counts divided by the sizes of their rows. "
                "Rows count alike here, in the centroids of the fit as much as they are large."
            )
        else:
            notes.append("Means (standard deviations), in the units of the data.")
    if "count" in kinds:
        notes.append("Of features that are counted: rows with the value (share of the cluster).")
    if "observed" in table:
        notes.append("missing: rows without a value; means, counts and shares are of the others.")
    if "difference" in table and len(found.clusters) > 1:
        notes.append(
            "difference: of the means of the two clusters that differ most (which two), divided by "
            "the root of the mean of their variances. The clusters were made to differ: these "
            "differences describe, they test nothing."
        )
        if np.isinf(table["difference"]).any():
            notes.append("inf: the two clusters differ, and neither has any variance.")
    if found.scaling == "standard":
        notes.append("Weights relate to standardised features.")
    elif found.scaling.startswith("decorrelate"):
        notes.append("Weights relate to the part of a feature that the others do not explain.")
    if "p_value" in table:
        notes.append(
            "p: smallest selective p-value of the pairs of clusters, times the number of pairs; it "
            "allows for clusters that were found in the same data."
        )
    if found.weighted:
        notes.append("Rows are weighted: means, counts and shares count the weights.")
    hidden = table.index.nunique() - top
    if hidden > 0:
        rest = table["weight"].groupby(level=0, sort=False).first().iloc[top:].sum()
        notes.append(
            f"... and {hidden} more features, together with {percent(rest)} of the weight."
        )
    if (more := len(found.clusters) - MAX_CLUSTERS) > 0:
        notes.append(f"... and {more} more clusters.")
    return notes


def _great_table(kind: Any, found: Profile, top: int) -> GT:
    """Dress the cells for great_tables, which escapes what is not HTML itself."""
    cells = _cells(found, top)
    clusters = {f"cluster {name}": column for name, column in cells.clusters.items()}
    columns = {"feature": cells.rows, "all rows": cells.everyone, **clusters, **cells.beside}
    made = (
        kind(pd.DataFrame(columns), rowname_col="feature")
        .tab_header(title=_TITLE)
        .tab_spanner(label="cluster", columns=list(clusters))
        .cols_label(**{f"cluster {name}": name for name in cells.clusters})
        .cols_align(align="right", columns=list(columns)[1:])
    )
    for note in _notes(found, top):
        made = made.tab_source_note(note)
    table: GT = made
    return table
