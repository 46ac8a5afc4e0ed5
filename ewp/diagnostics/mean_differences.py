"""Which clusters differ, and in which features: tests that allow for the clusters' being found.

A t test between two clusters of the same data rejects nearly always, for clusters are made to
differ. The p-value is taken given that the partition of the fit is the best one, learned
weights included (`ewp.diagnostics.selective`), along paths on which one difference alone changes
(`ewp.diagnostics.paths`). The null hypothesis is that the rows of the two clusters have one mean,
in a feature or in all of them; the rows are taken for independent and normal, with one covariance
matrix, about which nothing is assumed. The tests are conditional on the number of clusters, the
penalty, the scaling and the form of the weights, also where these were chosen from the same data.
Here are the table of the tests, its words and its picture; `ewp.diagnostics.difference_tests` does
the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ewp.common.checks import check_choice, check_integer, check_number
from ewp.display.axes import (
    INK,
    PALETTE,
    heaviest_rows,
    height_of_rows,
    legend_above,
    name_rows,
    new_axes,
)
from ewp.display.formatting import counted, one_line, short
from ewp.display.summary import CONDITIONAL, EWPSummary, SummaryMixin, shown_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ALL_FEATURES", "MeanDifferences"]

#: What stands for a feature where the vectors of means are compared.
ALL_FEATURES = "(all features)"
#: Pairs that have a colour each, and the smallest p-value that is drawn.
_COLOURS, _SMALLEST = len(PALETTE), 1e-16
_ADJUSTED = {"bh": "p_bh", "holm": "p_holm", "none": "p_value"}


@dataclass(eq=False, repr=False)
class MeanDifferences(SummaryMixin):
    """Tests of the differences between clusters that were found in the same data.

    Instances come from :meth:`ewp.EWPResults.test_differences`.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per pair of clusters ``i``, ``j`` and ``feature``, the vectors of means first, as
        ``"(all features)"``. ``weight`` is the feature's in the fit; ``difference`` that of the
        means, in data units, for the vectors their Mahalanobis distance about the common mean;
        ``statistic`` Student's t, for the vectors the root of q times Hotelling's F in q
        dimensions (with a known covariance matrix, lengths in standard deviations); ``p_value``
        allows for the clusters' being found; ``p_holm`` and ``p_bh`` are adjusted, for the
        vectors among the pairs, for the features among all pairs and features; ``p_naive`` would
        be the p-value if the clusters had been known beforehand, which they were not. ``refits``
        counts searches along the path, ``settled`` says whether the last of them found nothing
        lower.
        NaN where nothing can be tested.
    n_refits : int
        Searches in a row that had to find nothing lower.
    dimensions : int
        Dimensions in which the vectors of means were compared, at most.
    lower : int
        Partitions with a lower objective than the fit's that were found on its own data, at least.
    complete : bool
        False if the tests were interrupted: some have NaN.
    """

    table: pd.DataFrame
    n_refits: int
    dimensions: int
    lower: int
    complete: bool

    def significant(self, level: float = 0.05, adjust: str = "holm") -> pd.DataFrame:
        """Rows of the table whose adjusted p-value is at most `level`.

        Parameters
        ----------
        level : float, default 0.05
        adjust : {"holm", "bh", "none"}, default "holm"
        """
        check_number("level", level, above=0, below=1)
        check_choice("adjust", adjust, tuple(_ADJUSTED))
        return self.table[(self.table[_ADJUSTED[adjust]] <= level).to_numpy()]

    def summary(self, top: int = 10) -> EWPSummary:
        """Tables of the pairs and of the features with the smallest p-values, and notes."""
        return summarise_differences(self, top)

    def plot(self, ax: Axes | None = None, top: int = 20) -> Axes:
        """Draw the p-values of the features, heaviest first, one colour per pair of clusters.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw. By default a new figure.
        top : int, default 20
            Number of features.

        Returns
        -------
        Axes
        """
        return plot_differences(self.table, top=top, ax=ax)

    def __repr__(self) -> str:
        means = self.table["feature"] == ALL_FEATURES
        found = self.significant()["feature"] == ALL_FEATURES
        state = "" if self.complete else ", interrupted"
        return (
            f"MeanDifferences: {found.sum()} of {means.sum()} pairs of clusters and "
            f"{(~found).sum()} of {(~means).sum()} differences in features have an adjusted "
            f"p-value (Holm) of at most 0.05{state}"
        )


def summarise_differences(found: MeanDifferences, top: int) -> EWPSummary:
    """Pairs of clusters, then the differences in features with the smallest p-values."""
    check_integer("top", top, least=1)
    table = found.table
    whole = (table["feature"] == ALL_FEATURES).to_numpy()
    order = np.lexsort((-table["weight"].to_numpy(), table["p_value"].fillna(2.0).to_numpy()))
    parts = [order[whole[order]][:top], order[~whole[order]][:top]]
    summary = EWPSummary("Differences between clusters that were found in the same data")
    for part in parts:
        if len(part):
            summary.add_df(_cells(table.iloc[part]))
    for name, family, shown in (("pairs", whole, parts[0]), ("differences", ~whole, parts[1])):
        if family.sum() > len(shown):
            summary.add_text(f"... and {family.sum() - len(shown)} more {name}.")
    hits = found.significant()["feature"] == ALL_FEATURES
    notes = [
        f"{hits.sum()} of {whole.sum()} pairs of clusters and {(~hits).sum()} of {(~whole).sum()} "
        "differences in features have a p-value of at most 0.05 after Holm.",
        "Null hypothesis: the rows of both clusters have one mean, in the feature or in all.",
        "p-value: the probability of a difference as large if there were none, among data on "
        "which no other partition has a lower objective; naive: if the clusters had been known "
        "beforehand, which they were not.",
        f"(all features): difference in standard deviations, in {found.dimensions} dimensions.",
        f"Along every path, {found.n_refits} searches in a row had to find no lower partition.",
        CONDITIONAL,
    ]
    unsettled = int((~table["settled"].astype(bool)).sum())
    if unsettled:
        notes.append(
            f"NOT SETTLED: in {counted(unsettled, 'test')} searches still found lower partitions; "
            "the p-values are rough. n_refits asks for more."
        )
    if found.lower:
        notes.append(
            f"MISSED: {counted(found.lower, 'partition')} with a lower objective than this fit's "
            "on the same data: fit again with a larger n_init; the p-values are rough, and mostly "
            "too large."
        )
    if not found.complete:
        notes.append("INTERRUPTED: differences without a p-value were not tested.")
    for note in notes:
        summary.add_text(note)
    return summary


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return lines of the table as they are printed."""
    names = [
        f"{i} - {j} {one_line(g)}"
        for i, j, g in zip(*(table[c] for c in ("i", "j", "feature")), strict=True)
    ]
    columns = {"difference": table["difference"].to_numpy()}
    for heading, name in (
        ("p-value", "p_value"),
        ("p (Holm)", "p_holm"),
        ("p (BH)", "p_bh"),
        ("naive", "p_naive"),
    ):
        columns[heading] = np.array(["--" if np.isnan(p) else short(p, 2) for p in table[name]])
    return shown_cells(pd.DataFrame(columns, index=names))


def plot_differences(table: pd.DataFrame, *, top: int = 20, ax: Axes | None = None) -> Axes:
    """Draw p-values by feature, the vectors of means on top, and where Holm's reach 0.05.

    Parameters
    ----------
    table : DataFrame
        `MeanDifferences.table`.
    top : int, default 20
        Number of features, heaviest first.
    ax : Axes, optional
    """
    each = table.drop_duplicates("feature")
    shown = heaviest_rows(each, each["weight"].fillna(np.inf).to_numpy(), top + 1)["feature"]
    if ax is None:
        ax = new_axes((5.6, height_of_rows(len(shown), 1.3)))[0]
    pairs = list(dict.fromkeys(zip(table["i"], table["j"], strict=True)))
    row = pd.Series(np.arange(len(shown)), index=shown)
    least = 1.0
    for place, (i, j) in enumerate(pairs):
        part = table[(table["i"] == i) & (table["j"] == j) & table["feature"].isin(shown)]
        offset = 0.5 * ((place + 0.5) / len(pairs) - 0.5)
        y = row[part["feature"]].to_numpy() + offset
        p = np.maximum(part["p_value"].to_numpy(), _SMALLEST)
        hit = (part["p_holm"] <= 0.05).to_numpy()
        least = min(least, float(np.nanmin(p, initial=1.0)))
        colour = PALETTE[place] if len(pairs) <= _COLOURS else "#777777"
        label = f"{i} - {j}" if len(pairs) <= _COLOURS else None
        ax.plot(p[hit], y[hit], "o", color=colour, ms=5.5, zorder=3, label=label)
        ax.plot(p[~hit], y[~hit], "o", color=colour, ms=5.5, mfc="white", zorder=3)
    ax.axvline(0.05, color=INK, linewidth=1, linestyle=":", zorder=1)
    ax.set_xscale("log")
    ax.set_xlim(2.0, min(0.5 * least, 0.005))
    name_rows(ax, pd.Index(shown))
    rest = len(each) - len(shown)
    note = f"\n{rest} more features" if rest else ""
    ax.set_xlabel(f"p-value; filled: at most 0.05 after Holm{note}")
    if len(pairs) <= _COLOURS:
        legend_above(ax)
    return ax
