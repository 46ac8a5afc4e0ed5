"""The picture of a comparison: weights on the left, partitions against sparcl's on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ewp.drawing import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_comparison"]

_MARKERS = ("s", "x", "o")
_INK = "#333333"
_MOST_COUNTED = 12


def plot_comparison(weights: pd.DataFrame, labels: pd.DataFrame, *, top: int = 15) -> Figure:
    """Draw the heaviest features of several methods, and each partition against the first one.

    Parameters
    ----------
    weights : DataFrame
        One row a feature and one column a method, each summing to 1.
    labels : DataFrame
        One row an observation and one column a method; the first is the reference.
    top : int, default 15
        Number of features to draw: those with the largest weight in any method.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib import pyplot as plt

    reference, *others = labels.columns
    shown = min(top, len(weights))
    height = max(3.6, 1.6 + 0.27 * shown)
    figure = plt.figure(figsize=(6.4 + 3.1 * len(others), height), layout="constrained")
    axes = figure.subplots(1, 1 + len(others), width_ratios=[2.0] + [1.0] * len(others))
    _draw_weights(axes[0], weights, top)
    for ax, name in zip(axes[1:], others, strict=True):
        _draw_partitions(ax, labels[reference], labels[name])
    return figure


def _draw_weights(ax: Axes, weights: pd.DataFrame, top: int) -> None:
    order = weights.max(axis=1).sort_values(ascending=False, kind="stable").index[:top]
    rows = np.arange(len(order))
    for i, (name, column) in enumerate(weights.items()):
        marker = _MARKERS[i % len(_MARKERS)]
        color = PALETTE[i % len(PALETTE)]
        ax.plot(
            column[order],
            rows,
            linestyle="none",
            marker=marker,
            markersize=7 - i,
            color=color,
            markerfacecolor="none" if marker == "s" else color,
            label=str(name),
            zorder=3,
        )
    low, high = weights.loc[order].min(axis=1), weights.loc[order].max(axis=1)
    ax.hlines(rows, low, high, color="#CCCCCC", linewidth=1.2, zorder=2)
    ax.set_yticks(rows, [str(name)[:36] for name in order])
    ax.set_ylim(len(order) - 0.5, -0.5)
    ax.set_xlim(left=-0.02 * weights.to_numpy().max())
    hidden = len(weights) - len(order)
    ax.set_xlabel("weight (sums to 1)" + (f"; {hidden} lighter features hidden" if hidden else ""))
    ax.grid(axis="x", color="#DDDDDD", linewidth=0.6, zorder=0)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower right")


def _draw_partitions(ax: Axes, reference: pd.Series, labels: pd.Series) -> None:
    k = int(max(reference.max(), labels.max())) + 1
    counts = np.zeros((k, k), dtype=int)
    np.add.at(counts, (labels, reference), 1)
    ax.imshow(counts, cmap="Blues", vmin=0, vmax=1.15 * counts.max())
    if k <= _MOST_COUNTED:
        for i, j in np.argwhere(counts > 0):
            dark = counts[i, j] > 0.6 * counts.max()
            color = "white" if dark else _INK
            ax.text(j, i, counts[i, j], ha="center", va="center", color=color, fontsize="small")
        ax.set_xticks(range(k))
        ax.set_yticks(range(k))
    same = int(np.trace(counts))
    ax.set_xlabel(f"cluster of {reference.name}")
    ax.set_ylabel(f"cluster of {labels.name}")
    ax.set_title(f"{same} of {len(labels)} rows alike", fontsize="medium", color=_INK)
