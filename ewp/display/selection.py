"""Selections in words and pictures: the sentence a summary shows, the criterion's curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp.display.axes import INK, PALETTE, despine, new_axes
from ewp.display.evidence import SEPARATED
from ewp.display.formatting import counted, family_name, short, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_k", "plot_lambda", "plot_record", "selection_reason"]

#: Adjusted Rand index from which two partitions are told to agree.
_SAME_PARTITION = 0.9


def selection_reason(record: dict[str, Any]) -> str:
    """Put a decision (`ewp.selection.decision.SelectionOutcome.record`) into two sentences."""
    chosen, other = record["chosen"], record["runner_up"]
    # files of before know of common weights alone
    name = family_name(chosen["scaling"], chosen["dispersion"], chosen.get("weights", "common"))
    if not np.isfinite(chosen["score"]):
        return (
            f"lambda = {short(chosen['lam'])} on {name} is the middle of the grid: there are too "
            "few rows to choose."
        )
    best, of_family = record["best_score"], record["family_best_score"]
    standard = f"({short(best)})"
    if short(of_family) != short(best):
        standard = (
            f"on these features ({short(of_family)}), which is as good as the best ({short(best)})"
        )
    error = f" (standard error {short(chosen['se'], 2)})" if np.isfinite(chosen["se"]) else ""
    text = (
        f"lambda = {short(chosen['lam'])} on {name} chosen by the {record['criterion']} criterion: "
        f"{short(chosen['score'])} {record['unit']}{error}, {record['rule']} "
        f"{standard} of {counted(record['candidates'], 'candidate')}."
    )
    if other is not None:
        second = family_name(other["scaling"], other["dispersion"])
        text += f" Next best: lambda = {short(other['lam'])} on {second}, {short(other['score'])}."
    if (found := record.get("advantage")) is not None:
        text += (
            f" Weights of every cluster {'were' if found['clear'] else 'were not'} taken: their "
            f"partition gains {signed(found['gain'], 2)} (standard error "
            f"{short(found['error'], 2)}) nats per row over that of common weights, "
            f"{short(found['excess'], 2)} of its {short(found['whole'], 2)} by variances that "
            "differ between the clusters."
        )
    alike = record.get("alike")
    if alike is not None and alike["count"] > 1:
        text += (
            f" Penalties from {short(alike['smallest'])} to {short(alike['largest'])} score as "
            "well (within one standard error of the difference)"
        )
        if alike["agreement"] is not None:
            index = short(alike["agreement"], 2)
            if index == "1":
                text += " and lead to the same partition"
            elif alike["agreement"] >= _SAME_PARTITION:
                text += (
                    ", and their partitions agree with this one: adjusted Rand index "
                    f"{index} or more"
                )
            else:
                text += f", but some of them lead to other partitions: adjusted Rand index {index}"
        text += "."
    if (end := record.get("end_of_grid")) is not None:
        meaning = {
            "smallest": "one feature, or few, have nearly all of the weight there",
            "largest": "all weights are nearly equal there",
        }[end]
        text += f" It is the {end} penalty that was tried ({meaning})."
    if not record["complete"]:
        text += " The selection was interrupted: finished replicates only."
    return text


def plot_lambda(
    table: pd.DataFrame, chosen: tuple[str, str, float], unit: str, *, ax: Axes | None = None
) -> Axes:
    """Draw the criterion against the penalty per row, one line per scaling and form.

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
        raise ValueError("no penalty was scored, for there are too few rows: nothing to draw")
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
        ax.plot([], [], "o", color=INK, mfc="white", markersize=4, label="not scored further")
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
    ax.set_xlabel("penalty per row, $\\lambda / n$")
    ax.set_ylabel(unit)
    ax.legend(frameon=False, fontsize="small", ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
    despine(ax)
    return ax


def plot_record(record: dict[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw the criterion against the penalty, from the record of a decision.

    Parameters
    ----------
    record : dict
        As `selection_reason` takes it.
    ax : Axes, optional

    Raises
    ------
    ValueError
        If no penalty was scored, or the record is of a file of before and has no scores.
    """
    curve = pd.DataFrame(record.get("curve", []))
    if not len(curve):
        raise ValueError("this choice of the penalty was kept without its scores: nothing to draw")
    table = curve.rename(columns={"score": "mean"})
    table["lam_per_row"] = table["lam"] / record["total"]
    chosen = record["chosen"]
    place = chosen["scaling"], chosen["dispersion"], chosen["lam"]
    return plot_lambda(table, place, record["unit"], ax=ax)


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
        Hollow points are numbers that do not compete, as their clusters are not separated.
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
    if "separation" in table and (table["separation"] <= SEPARATED).any():
        rest = table[table["separation"] <= SEPARATED]
        ax.plot(
            rest["k"],
            rest["mean"],
            "o",
            color=PALETTE[0],
            markerfacecolor="white",
            markersize=5,
            label="clusters not separated",
            zorder=3,  # above the points of the curve
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
    ax.legend(frameon=False, fontsize="small", ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
    despine(ax)
    return ax
