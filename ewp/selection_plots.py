"""Pictures of selections: the criterion against the penalty or the number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ewp._selection_text import family_name
from ewp.drawing import INK, PALETTE, despine, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_k", "plot_lambda"]


def plot_lambda(
    table: pd.DataFrame, chosen: tuple[str, str, float], unit: str, *, ax: Axes | None = None
) -> Axes:
    """Draw the criterion against the penalty a row, one line a scaling and form.

    Parameters
    ----------
    table : DataFrame
        `LambdaSelection.table`.
    chosen : tuple
        Scaling, form and penalty of the choice, which is marked.
    unit : str
        What the criterion counts.
    ax : Axes, optional
    """
    from matplotlib.colors import to_rgb

    full = table["replicates"].max()
    if not full:
        raise ValueError("no penalty was scored, for want of rows: there is nothing to draw")
    ax = new_axes((6.4, 4.2))[0] if ax is None else ax
    kinds = list(dict.fromkeys(zip(table["scaling"], table["dispersion"], strict=True)))
    for colour, (scaling, dispersion) in zip(PALETTE, kinds, strict=False):
        rows = table[(table["scaling"] == scaling) & (table["dispersion"] == dispersion)]
        ax.plot(rows["lam_per_row"], rows["mean"], color=colour, linewidth=1, alpha=0.6)
        done = rows[rows["replicates"] == full]
        ax.errorbar(
            done["lam_per_row"],
            done["mean"],
            done["se"],
            color=colour,
            fmt="o",
            markersize=4,
            linewidth=1,
            ecolor=(*to_rgb(colour), 0.35),
            label=family_name(scaling, dispersion),
        )
        rest = rows[rows["replicates"] < full]
        ax.plot(rest["lam_per_row"], rest["mean"], "o", color=colour, mfc="white", markersize=4)
    if (table["replicates"] < full).any():
        ax.plot([], [], "o", color=INK, mfc="white", markersize=4, label="given up early")
    same = (table["scaling"] == chosen[0]) & (table["dispersion"] == chosen[1])
    row = table[same & (table["lam"] == chosen[2])].iloc[0]
    ax.plot(
        [row["lam_per_row"]],
        [row["mean"]],
        marker="o",
        markersize=13,
        mfc="none",
        mec="black",
        linestyle="none",
        label="chosen",
    )
    ax.set_xscale("log")
    ax.set_xlabel("penalty a row, $\\lambda / n$")
    ax.set_ylabel(unit)
    ax.legend(frameon=False, fontsize="small", ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
    despine(ax)
    return ax


def plot_k(table: pd.DataFrame, chosen: int, unit: str, *, ax: Axes | None = None) -> Axes:
    """Draw the criterion against the number of clusters.

    Parameters
    ----------
    table : DataFrame
        `KSelection.table`.
    chosen : int
        The number of clusters that is marked.
    unit : str
        What the criterion counts.
    ax : Axes, optional
    """
    from matplotlib.ticker import MaxNLocator

    ax = new_axes((6.4, 4.2))[0] if ax is None else ax
    ax.errorbar(
        table["k"],
        table["mean"],
        table["se"],
        fmt="o-",
        color=PALETTE[0],
        markersize=5,
        linewidth=1,
    )
    row = table[table["k"] == chosen].iloc[0]
    ax.plot(
        [chosen],
        [row["mean"]],
        marker="o",
        markersize=14,
        mfc="none",
        mec="black",
        linestyle="none",
        label="chosen",
    )
    ax.set_xlabel("number of clusters")
    ax.set_ylabel(unit)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(frameon=False, fontsize="small")
    despine(ax)
    return ax
