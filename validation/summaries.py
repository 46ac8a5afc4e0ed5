"""What the sections share: names of methods, means with their spread, marks, axes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ewp.comparison.results import signed_rank
from ewp.display.axes import PALETTE, despine
from validation.cells import Cell, Store

__all__ = [
    "COLOURS",
    "TITLES",
    "axes_row",
    "counted",
    "curve",
    "frame_of",
    "legend_below",
    "letters",
    "mark_of",
    "mean_sd",
    "scores_of",
]

#: Methods by their names in `ewp.compare`, in the order of the tables.
TITLES = {
    "published, best": "EWP as published, best λ",
    "ewp-published": "EWP as published, λ selected",
    "ewp": "this package's default",
    "ewp, same rows": "this package, from the same rows",
    "kmeans": "k-means",
    "power": "power k-means",
    "wkmeans": "WK-means",
    "sparse": "sparse k-means, gap",
    "sparcl": "sparcl (R)",
}
COLOURS = {
    "EWP": PALETTE[0],
    "EWP, automatic": PALETTE[0],
    "EWP as published": PALETTE[3],
    "within form": PALETTE[1],
    "between form": PALETTE[2],
    "sparse k-means": PALETTE[5],
    "k-means": PALETTE[6],
    "power k-means": PALETTE[4],
    "true centres": "#999999",
    "authors' program": PALETTE[2],
}
#: Fewer trials than this can never differ significantly at 5 % by a signed-rank test.
_LEAST_TRIALS = 6


def scores_of(store: Store, cells: Iterable[Cell]) -> pd.DataFrame:
    """Rows of all finished cells that hold lists of rows, with the cells' inputs beside them."""
    parts = [
        pd.DataFrame(value).assign(
            **{key: given for key, given in cell.inputs.items() if key not in ("seed", "part")}
        )
        for cell, value in store.finished(cells)
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def frame_of(store: Store, cells: Iterable[Cell]) -> pd.DataFrame:
    """One row for each finished cell whose value is a dictionary: its inputs and its value."""
    return pd.DataFrame([{**cell.inputs, **value} for cell, value in store.finished(cells)])


def mean_sd(values: Any, digits: int = 3) -> str:
    """Mean, with the standard deviation in brackets if there is more than one value.

    Examples
    --------
    >>> mean_sd([0.5, 0.7])
    '0.600 (0.141)'
    """
    values = np.asarray(values, dtype=float)
    if not len(values):
        return "–"
    spread = f" ({values.std(ddof=1):.{digits}f})" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{spread}"


def mark_of(one: pd.Series, reference: pd.Series) -> str:
    """The paper's mark: + differs from the reference, ≃ does not, nothing with too few trials."""
    both = pd.concat([one, reference], axis=1, join="inner")
    if len(both) < _LEAST_TRIALS:
        return ""
    return (
        " +" if signed_rank(both.iloc[:, 0].to_numpy(), both.iloc[:, 1].to_numpy()) < 0.05 else " ≃"
    )


def letters(scaling: str, form: str) -> str:
    """Letters for a scaling and a form in tables: r raw, s standardised, m by the range, b between.

    Decorrelated features have a d.

    Examples
    --------
    >>> letters("raw", "between"), letters("standardised", "within")
    ('rb', 's')
    """
    letter = {"raw": "r", "standardised": "s", "range": "m", "decorrelated": "d"}[scaling]
    return letter + "b" * (form == "between")


def counted(table: pd.DataFrame, by: str | list[str]) -> str:
    """How many draws the points of a study rest on.

    Examples
    --------
    >>> counted(pd.DataFrame({"x": [1, 1, 2]}), "x")
    '1 to 2 draws'
    """
    sizes = table.groupby(by).size()
    if sizes.min() < sizes.max():
        return f"{sizes.min()} to {sizes.max()} draws"
    return "1 draw" if sizes.max() == 1 else f"{sizes.max()} draws"


def axes_row(count: int, size: tuple[float, float] = (4.0, 3.0)) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side."""
    figure, axes = plt.subplots(
        1, count, figsize=(size[0] * count, size[1]), layout="constrained", squeeze=False
    )
    for ax in axes[0]:
        despine(ax)
    return figure, list(axes[0])


def curve(ax: Axes, table: pd.DataFrame, x: str, names: Iterable[str]) -> None:
    """Means of columns over the draws, by x, with the range between draws shaded."""
    groups = table.groupby(x)
    for name, style in zip(names, ("-", "-", "--", "-.", (0, (1, 1.5))), strict=False):
        middle = groups[name].mean()
        colour = COLOURS.get(name)
        ax.plot(middle, ls=style, marker="o", markersize=3.5, color=colour, label=name)
        ax.fill_between(
            middle.index, groups[name].min(), groups[name].max(), color=colour, alpha=0.15, lw=0
        )
    ax.set_ylabel("NMI")
    ax.set_ylim(-0.03, 1.03)


def legend_below(figure: Figure, ax: Axes, columns: int = 5) -> None:
    """One legend for all panels, below them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
