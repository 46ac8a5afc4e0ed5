"""What all pictures share: colours, fresh axes, labels, and how many points are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp.common.checks import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "GRID",
    "INK",
    "PALETTE",
    "despine",
    "heaviest_rows",
    "height_of_rows",
    "legend_above",
    "name_rows",
    "new_axes",
    "one_line_label",
    "side_by_side",
    "start_at_zero",
    "subsample",
]

#: Seven colours that people with any colour vision tell apart (after Okabe and Ito).
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#4D4D4D")
INK = "#333333"
_MAX_POINTS = 5000
_MAX_NAME = 36
#: How grid lines look.
GRID: dict[str, Any] = {"color": "#DDDDDD", "linewidth": 0.6, "zorder": 0}


def subsample(n: int, most: int = _MAX_POINTS) -> np.ndarray:
    """Positions of the rows to draw: all, or ``most`` of them at random (always the same).

    Parameters
    ----------
    n : int
        Number of rows.
    most : int, default 5000

    Returns
    -------
    numpy.ndarray
        Sorted positions.

    Examples
    --------
    >>> subsample(4)
    array([0, 1, 2, 3])
    """
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def new_axes(size: tuple[float, float], heights: tuple[float, ...] = (1,)) -> list[Axes]:
    """Axes of a new figure, one above the other with a common abscissa."""
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    first = figure.add_subplot(grid[0])
    others = [figure.add_subplot(grid[i], sharex=first) for i in range(1, len(heights))]
    if others:
        first.tick_params(labelbottom=False)
    return [first, *others]


def despine(ax: Axes) -> None:
    """Remove the frame above and on the right."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def one_line_label(name: Any) -> str:
    """Show a name on one line, without letting matplotlib read it as mathematics."""
    text = " ".join(str(name).split())
    if len(text) > _MAX_NAME:
        half = (_MAX_NAME - 3) // 2
        text = f"{text[:half]}...{text[-half:]}"
    return text.replace("$", r"\$")


def side_by_side(size: tuple[float, float], widths: tuple[float, ...]) -> list[Axes]:
    """Axes of a new figure, one beside the other with a common ordinate."""
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(1, len(widths), width_ratios=widths)
    first = figure.add_subplot(grid[0])
    others = [figure.add_subplot(grid[i], sharey=first) for i in range(1, len(widths))]
    for ax in others:
        ax.tick_params(labelleft=False)
    return [first, *others]


def heaviest_rows(table: pd.DataFrame, weight: np.ndarray, top: int) -> pd.DataFrame:
    """Lines of the features with the largest weights, heaviest first.

    Of a table whose lines belong to clusters, the first level of its index, those of every cluster.

    >>> index = pd.MultiIndex.from_product([[0, 1], ["a", "b"]])
    >>> table = pd.DataFrame({"weight": [0.2, 0.8, 0.7, 0.3]}, index=index)
    >>> heaviest_rows(table, table["weight"].to_numpy(), 1).index.tolist()
    [(0, 'b'), (1, 'a')]
    """
    check_integer("top", top, least=1)
    order = np.argsort(-weight, kind="stable")
    if table.index.nlevels == 1:
        return table.iloc[order[:top]]
    cluster = pd.factorize(table.index.get_level_values(0))[0]
    order = order[np.argsort(cluster[order], kind="stable")]
    place = np.arange(len(order)) - np.searchsorted(cluster[order], cluster[order])
    return table.iloc[order[place < top]]


def height_of_rows(rows: int, margin: float) -> float:
    """Height of a figure with one line per feature, in inches."""
    return margin + 0.24 * max(rows, 4)


def start_at_zero(ax: Axes, ends: np.ndarray) -> None:
    """Begin the axis of weights at zero, unless all that is drawn is far from it."""
    if np.nanmin(ends, initial=np.inf) > 0.5 * np.nanmax(ends, initial=0.0):
        ax.margins(x=0.08)
    else:
        ax.set_xlim(left=-0.01 * np.nanmax(ends, initial=0.0))
    ax.locator_params(axis="x", nbins=5)


def name_rows(ax: Axes, names: pd.Index) -> None:
    """Name one row per feature, the first on top."""
    ax.set_yticks(np.arange(len(names)), [one_line_label(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", **GRID)
    despine(ax)


def legend_above(ax: Axes) -> None:
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
