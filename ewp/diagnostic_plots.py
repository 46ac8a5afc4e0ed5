"""Pictures of the diagnostics, as free functions on tables and arrays.

As in ``ewp.plots`` each function draws one picture, on the Axes it is given or on a new figure, and
returns the Axes. Where features are many the heaviest are shown, and a note counts the others.
Pictures of consistency are in ``ewp.consistency_plots``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp.checks import check_integer
from ewp.drawing import INK, PALETTE, despine, new_axes, one_line_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "GRID",
    "plot_agreement",
    "plot_bootstrap",
    "plot_stability",
    "plot_tests",
]

#: How grid lines look.
GRID: dict[str, Any] = {"color": "#DDDDDD", "linewidth": 0.6, "zorder": 0}
#: Adjusted p-values up to here are marked.
_LEVEL = 0.05


def _side_by_side(size: tuple[float, float], widths: tuple[float, ...]) -> list[Axes]:
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(1, len(widths), width_ratios=widths)
    first = figure.add_subplot(grid[0])
    others = [figure.add_subplot(grid[i], sharey=first) for i in range(1, len(widths))]
    for ax in others:
        ax.tick_params(labelleft=False)
    return [first, *others]


def _heaviest(table: pd.DataFrame, weight: np.ndarray, top: int) -> pd.DataFrame:
    """Lines of the features with the largest weights, heaviest first."""
    check_integer("top", top, least=1)
    return table.iloc[np.argsort(-weight, kind="stable")[:top]]


def _height(rows: int, margin: float) -> float:
    """Height of a figure with one line a feature, in inches."""
    return margin + 0.24 * max(rows, 4)


def _from_zero(ax: Axes, ends: np.ndarray) -> None:
    """Begin the axis of weights at zero, unless all that is drawn is far from it."""
    if np.nanmin(ends, initial=np.inf) > 0.5 * np.nanmax(ends, initial=0.0):
        ax.margins(x=0.08)
    else:
        ax.set_xlim(left=-0.01 * np.nanmax(ends, initial=0.0))
    ax.locator_params(axis="x", nbins=5)


def _name_rows(ax: Axes, names: pd.Index) -> None:
    """Name one row a feature, the first on top."""
    ax.set_yticks(np.arange(len(names)), [one_line_label(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", **GRID)
    despine(ax)


def plot_bootstrap(
    table: pd.DataFrame, level: float, *, top: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw weights with their intervals and, beside them, selection frequencies.

    Parameters
    ----------
    table : DataFrame
        `BootstrapResults.weight_intervals`.
    level : float
        Of the intervals.
    top : int, default 20
        Number of features, heaviest first.
    ax : Axes, optional
        Where to draw the intervals alone.
    """
    shown = _heaviest(table, table["weight"].to_numpy(), top)
    rows = np.arange(len(shown))
    panels = _side_by_side((7.2, _height(len(shown), 1.3)), (3, 1)) if ax is None else [ax]
    main = panels[0]
    main.hlines(rows, shown["lower"], shown["upper"], color=PALETTE[0], linewidth=2.2, zorder=2)
    main.plot(shown["weight"], rows, "o", color=INK, markersize=4.5, zorder=3)
    main.axvline(1 / len(table), color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    frame, equal = main.get_xaxis_transform(), f" uniform, 1/{len(table)}"
    main.text(1 / len(table), 1.01, equal, transform=frame, fontsize="small", color=INK)
    _name_rows(main, shown.index)
    _from_zero(main, shown[["lower", "upper"]].to_numpy())
    rest = len(table) - len(shown)
    note = f"\n{rest} more features" if rest else ""
    main.set_xlabel(f"weight, {100 * level:g} % interval{note}")
    for side in panels[1:]:
        side.barh(rows, 100 * shown["selected"], height=0.62, color=PALETTE[4], zorder=2)
        side.set_xlim(0, 100)
        side.set_xticks([0, 50, 100])
        side.set_xlabel("selected, %")
        side.tick_params(axis="y", length=0)
        side.grid(axis="x", **GRID)
        despine(side)
    return main


def plot_stability(
    jaccard: np.ndarray, thresholds: tuple[float, float], *, ax: Axes | None = None
) -> Axes:
    """Draw the similarity of every cluster in all resamples, and its mean.

    Parameters
    ----------
    jaccard : ndarray of shape (n_boot, k)
    thresholds : pair of float
        Similarities that dissolve and that recover a cluster, marked by lines.
    ax : Axes, optional
    """
    from matplotlib.ticker import MaxNLocator

    k = jaccard.shape[1]
    ax = new_axes((float(np.clip(2.4 + 0.34 * k, 4.2, 12)), 3.8))[0] if ax is None else ax
    places = np.arange(k)
    low, high = np.quantile(jaccard, [0.1, 0.9], axis=0)
    width = max(1.2, min(7.0, 90 / k))
    ax.vlines(
        places, low, high, color=PALETTE[4], linewidth=width, alpha=0.55, label="80 % of resamples"
    )
    size = float(np.clip(260 / k, 3, 7))
    ax.plot(
        places, jaccard.mean(axis=0), "o", color=PALETTE[0], markersize=size, label="mean", zorder=3
    )
    for value, words in zip(thresholds, ("dissolved", "recovered"), strict=True):
        ax.axhline(value, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        frame = ax.get_yaxis_transform()
        ax.text(1.01, value, f"{words}\n{value:g}", transform=frame, va="center", fontsize="small")
    ax.set(ylim=(0, 1.03), xlabel="cluster", ylabel="Jaccard similarity")
    ax.set_xlim(-0.6, k - 0.4)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=20))
    ax.legend(frameon=False, fontsize="small", loc="lower left")
    despine(ax)
    return ax


def plot_tests(table: pd.DataFrame, n_perm: int, *, top: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the weights that features earn, as they are and permuted, and the p-values beside them.

    Parameters
    ----------
    table : DataFrame
        `FeatureTests.table`.
    n_perm : int
        Number of permutations, which bounds the p-values from below.
    top : int, default 20
        Number of features, heaviest first.
    ax : Axes, optional
        Where to draw the p-values alone.

    Returns
    -------
    Axes
        That of the p-values.
    """
    shown = _heaviest(table, table["weight"].to_numpy(), top)
    rows = np.arange(len(shown))
    panels = [ax] if ax is not None else _side_by_side((7.2, _height(len(shown), 1.6)), (3, 2))
    for left in panels[:-1]:
        ends = shown[["earned", "permuted"]]
        left.hlines(rows, ends.min(axis=1), ends.max(axis=1), color="#BBBBBB", lw=2, zorder=2)
        left.plot(shown["permuted"], rows, "|", color=INK, ms=9, mew=1.8, label="permuted")
        left.plot(shown["earned"], rows, "o", color=PALETTE[0], ms=5.5, label="earned", zorder=3)
        _from_zero(left, ends.to_numpy())
        left.set_xlabel("weight given by the clusters\nof the other features")
        _name_above(left)
    last = panels[-1]
    hit = (shown["p_bh"] <= _LEVEL).to_numpy()
    counts = [int((table["p_bh"] <= _LEVEL).sum()), int(table["p_value"].notna().sum())]
    for chosen, colour, words in (
        (hit, PALETTE[3], f"BH ≤ {_LEVEL}"),
        (~hit, "#999999", "above"),
    ):
        drawn = shown["p_value"].to_numpy()[chosen]
        last.plot(drawn, rows[chosen], "o", color=colour, ms=5.5, label=words, zorder=3)
    last.axvline(1 / (n_perm + 1), color=INK, linewidth=1, linestyle=":", zorder=1)
    last.set_xscale("log")
    last.set_xlim(2.0, 0.5 / (n_perm + 1))
    last.xaxis.set_major_formatter("{x:g}")
    rest = len(table) - len(shown)
    note = f"\n{rest} more features" if rest else ""
    last.set_xlabel(f"p-value\n{counts[0]} of {counts[1]} significant{note}")
    _name_rows(panels[0], shown.index)
    for panel in panels[1:]:
        panel.tick_params(axis="y", length=0)
        panel.grid(axis="x", **GRID)
        despine(panel)
    _name_above(last)
    return last


def _name_above(ax: Axes) -> None:
    """Put the legend on one line above the picture."""
    ax.legend(
        frameon=False,
        fontsize="small",
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=2,
        columnspacing=1.0,
        handletextpad=0.2,
    )


def plot_agreement(
    table: pd.DataFrame, names: tuple[str, str], *, top: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw two sets of weights side by side, heaviest features on top.

    Parameters
    ----------
    table : DataFrame
        `Agreement.weights`.
    names : pair of str
        What the two are called.
    top : int, default 20
        Number of features.
    ax : Axes, optional
    """
    heaviest = table[["this", "other"]].to_numpy(dtype=float).max(axis=1)
    shown = _heaviest(table, heaviest, top)
    ax = new_axes((6.4, _height(len(shown), 1.5)))[0] if ax is None else ax
    rows = np.arange(len(shown))
    ends = shown[["this", "other"]]
    ax.hlines(rows, ends.min(axis=1), ends.max(axis=1), color="#BBBBBB", linewidth=2, zorder=2)
    for side, colour, marker, name in zip(
        ("this", "other"), (PALETTE[0], PALETTE[3]), ("o", "D"), names, strict=True
    ):
        ax.plot(shown[side], rows, marker, color=colour, markersize=5.5, label=name, zorder=3)
    _name_rows(ax, shown.index)
    _from_zero(ax, ends.to_numpy())
    rest = len(table) - len(shown)
    ax.set_xlabel("weight" + (f"\n{rest} more features" if rest else ""))
    _name_above(ax)
    return ax
