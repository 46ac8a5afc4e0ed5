"""Pictures of the diagnostics, as free functions on tables and arrays.

As in ``ewp.plots`` each function draws one picture, on the Axes it is given or on a new figure, and
returns the Axes. Where features are many the heaviest are shown, and a note counts the others.
Pictures of consistency are in ``ewp.consistency_plots``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp.plots import _INK, PALETTE, _despine, _label, _new_axes

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
_NAMES_A_LINE = 4


def _side_by_side(size: tuple[float, float], widths: tuple[float, ...]) -> list[Axes]:
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(1, len(widths), width_ratios=widths)
    first = figure.add_subplot(grid[0])
    others = [figure.add_subplot(grid[i], sharey=first) for i in range(1, len(widths))]
    for ax in others:
        ax.tick_params(labelleft=False)
    return [first, *others]


def _name_rows(ax: Axes, names: pd.Index) -> None:
    """Name one row a feature, the first on top."""
    ax.set_yticks(np.arange(len(names)), [_label(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", **GRID)
    _despine(ax)


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
    if top < 1:
        raise ValueError(f"top={top} features cannot be drawn: give a number of at least 1")
    shown = table.iloc[np.argsort(-table["weight"].to_numpy(), kind="stable")[:top]]
    rows = np.arange(len(shown))
    height = 1.3 + 0.24 * max(len(shown), 4)
    panels = _side_by_side((7.2, height), (3, 1)) if ax is None else [ax]
    main = panels[0]
    main.hlines(rows, shown["lower"], shown["upper"], color=PALETTE[0], linewidth=2.2, zorder=2)
    main.plot(shown["weight"], rows, "o", color=_INK, markersize=4.5, zorder=3)
    main.axvline(1 / len(table), color=_INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    frame, equal = main.get_xaxis_transform(), f" uniform, 1/{len(table)}"
    main.text(1 / len(table), 1.01, equal, transform=frame, fontsize="small", color=_INK)
    _name_rows(main, shown.index)
    left = shown["lower"].min()
    if left > 0.5 * shown["upper"].max():
        main.margins(x=0.08)
    else:
        main.set_xlim(left=0)
    main.locator_params(axis="x", nbins=5)
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
        _despine(side)
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
    ax = _new_axes((float(np.clip(2.4 + 0.34 * k, 4.2, 12)), 3.8))[0] if ax is None else ax
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
        ax.axhline(value, color=_INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        frame = ax.get_yaxis_transform()
        ax.text(1.01, value, f"{words}\n{value:g}", transform=frame, va="center", fontsize="small")
    ax.set(ylim=(0, 1.03), xlabel="cluster", ylabel="Jaccard similarity")
    ax.set_xlim(-0.6, k - 0.4)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=20))
    ax.legend(frameon=False, fontsize="small", loc="lower left")
    _despine(ax)
    return ax


def plot_tests(table: pd.DataFrame, n_perm: int, *, top: int = 15, ax: Axes | None = None) -> Axes:
    """Draw p-values against weights, with the smallest ones named.

    Parameters
    ----------
    table : DataFrame
        `FeatureTests.table`.
    n_perm : int
        Number of permutations, which bounds the p-values from below.
    top : int, default 15
        Number of features to name, heaviest first.
    ax : Axes, optional
    """
    ax = _new_axes((6.4, 4.4))[0] if ax is None else ax
    tested = table[table["p_value"].notna()]
    weight = tested["weight"].to_numpy().clip(1e-12)
    p = tested["p_value"].to_numpy()
    hit = (tested["p_bh"] <= 0.05).to_numpy()
    size = float(np.clip(4000 / max(len(tested), 1), 8, 40))
    for chosen, colour, words in (
        (~hit, "#999999", "others"),
        (hit, PALETTE[3], "at most 0.05 after Benjamini and Hochberg"),
    ):
        ax.scatter(
            weight[chosen],
            p[chosen],
            s=size,
            color=colour,
            linewidths=0,
            alpha=0.7,
            label=f"{words} ({chosen.sum()})",
        )
    ax.axhline(1 / (n_perm + 1), color=_INK, linewidth=1, linestyle=":", zorder=1)
    frame = ax.get_yaxis_transform()
    least = f"smallest possible, 1/{n_perm + 1}"
    ax.text(0.01, 1 / (n_perm + 1), least, transform=frame, va="top", fontsize="small", color=_INK)
    ax.set(xscale="log", yscale="log", xlabel="weight", ylabel="p-value")
    ax.set_ylim(1.6, 0.35 / (n_perm + 1))
    ax.yaxis.set_major_formatter("{x:g}")
    named = hit if hit.any() else p == p.min()
    _name_points(ax, tested.index[named], weight[named], p[named], top)
    ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(0, 1.14), ncols=2)
    _despine(ax)
    return ax


def _name_points(ax: Axes, names: pd.Index, x: np.ndarray, y: np.ndarray, top: int) -> None:
    """Name the heaviest points; those at one height share a line of names."""
    order = np.argsort(-x, kind="stable")[:top]
    for height in np.unique(y[order]):
        level = order[y[order] == height]
        text = ", ".join(_label(names[i]) for i in level[:_NAMES_A_LINE])
        more = len(level) - _NAMES_A_LINE
        text += f", ... {more} more" if more > 0 else ""
        ax.annotate(
            text,
            (x[level[0]], height),
            xytext=(-4, 5),
            textcoords="offset points",
            ha="right",
            fontsize="small",
            color=_INK,
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
    shown = table.iloc[np.argsort(-heaviest, kind="stable")[:top]]
    ax = _new_axes((6.4, 1.5 + 0.24 * max(len(shown), 4)))[0] if ax is None else ax
    rows = np.arange(len(shown))
    ends = shown[["this", "other"]]
    ax.hlines(rows, ends.min(axis=1), ends.max(axis=1), color="#BBBBBB", linewidth=2, zorder=2)
    for side, colour, marker, name in zip(
        ("this", "other"), (PALETTE[0], PALETTE[3]), ("o", "D"), names, strict=True
    ):
        ax.plot(shown[side], rows, marker, color=colour, markersize=5.5, label=name, zorder=3)
    _name_rows(ax, shown.index)
    ax.set_xlim(left=min(0.0, -0.01 * heaviest.max()))
    rest = len(table) - len(shown)
    ax.set_xlabel("weight" + (f"\n{rest} more features" if rest else ""))
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax
