"""Pictures of what clusters look like, feature by feature, as free functions on arrays.

Heatmaps of centroids and of weights of clusters, intervals of these, parallel coordinates and
silhouettes. As in
`ewp.display.plots`, a cluster has the same colour in all of them; a function draws on the Axes it
is given or on a new figure, and matplotlib is imported inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ewp.common.checks import check_integer
from ewp.common.types import Array
from ewp.display.axes import (
    GRID,
    INK,
    PALETTE,
    despine,
    height_of_rows,
    name_rows,
    new_axes,
    one_line_label,
)
from ewp.display.formatting import fixed, short, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "cluster_means",
    "heaviest_features",
    "plot_cluster_intervals",
    "plot_cluster_weights",
    "plot_heatmap",
    "plot_parallel",
    "plot_silhouettes",
]

#: Clusters whose values are written into a heatmap.
_MOST_WRITTEN = 12
#: Intervals that end below are not written: these features have next to no weight in a cluster.
_LEAST_END = 0.02
#: Panels of clusters beside each other.
_PANELS = 4
#: Share of a cluster that a band holds.
_BAND = 0.8
#: Letters on coloured cells; as they are no greys, pages leave them alone in the dark.
_ON_DARK, _ON_PALE = "#FDFDFE", "#101214"
#: Lines of clusters beyond the number of colours.
_STYLES = ("-", "--", ":")


def heaviest_features(weights: Array, top: int) -> np.ndarray:
    """Positions of the features with the largest weights, heaviest first."""
    check_integer("top", top, least=1)
    return np.argsort(-weights, kind="stable")[:top]


def cluster_means(values: Array, labels: np.ndarray, copies: Array, k: int) -> Array:
    """Means of the observed values of columns by cluster, (k, m), 0 where there are none.

    Parameters
    ----------
    values : ndarray of shape (n, m)
    labels : ndarray of shape (n,)
    copies : ndarray of shape (n,)
    k : int
    """
    seen = ~np.isnan(values)
    of = (labels == np.arange(k)[:, None]) * copies
    means: Array = (of @ np.where(seen, values, 0.0)) / np.maximum(of @ seen, np.finfo(float).tiny)
    return means


def plot_heatmap(
    deviations: ArrayLike,
    weights: ArrayLike,
    names: Sequence[Any] | None = None,
    *,
    clusters: Sequence[Any] | None = None,
    top: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw the centroids as coloured cells: how far each lies from the mean of all rows.

    Parameters
    ----------
    deviations : array-like of shape (k, p)
        Cluster means minus the mean of all rows, in standard deviations of the feature.
    weights : array-like of shape (p,)
        The heaviest features are drawn, heaviest on top.
    names : sequence of length p, optional
        Names of the features. By default their positions.
    clusters : sequence of length k, optional
        Names of the clusters. By default their positions.
    top : int, default 20
        Number of features to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = plot_heatmap([[-1.0, 0.1], [1.2, -0.1]], [0.2, 0.8], ["a", "b"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['b', 'a']
    """
    from matplotlib.colors import LinearSegmentedColormap

    w, z = np.asarray(weights, dtype=float), np.asarray(deviations, dtype=float)
    order = heaviest_features(w, top)
    cells, k = z[:, order].T, len(z)
    if ax is None:
        width = float(np.clip(3.4 + 0.55 * k, 5.0, 14.0))
        ax = new_axes((width, height_of_rows(len(order), 1.5)))[0]
    shades = LinearSegmentedColormap.from_list("deviations", [PALETTE[0], "#FFFFFF", PALETTE[3]])
    largest = float(np.nanmax(np.abs(cells), initial=0.0)) or 1.0
    # no cell has a colour of the palette, for which pages have others in the dark
    most = 1.02 * largest
    drawn = ax.pcolormesh(
        cells, cmap=shades, vmin=-most, vmax=most, edgecolors="white", linewidth=0.6
    )
    if k <= _MOST_WRITTEN:
        for (row, column), value in np.ndenumerate(cells):
            colour = _ON_DARK if abs(value) > 0.62 * most else _ON_PALE
            place = column + 0.5, row + 0.5
            zero = abs(value) < 0.05
            shown = "" if np.isnan(value) else "0.0" if zero else signed(value)
            ax.text(*place, shown, ha="center", va="center", fontsize="small", color=colour)
    words = "centroids minus the mean of all rows,\nin standard deviations"
    _name_cells(ax, w, order, names, range(k) if clusters is None else clusters)
    _title_cells(ax, drawn, words)
    return ax


def _name_cells(
    ax: Axes,
    weights: Array,
    order: np.ndarray,
    names: Sequence[Any] | None,
    clusters: Sequence[Any],
) -> None:
    """Name the rows of coloured cells, which are features, and their columns, the clusters."""
    labels = np.arange(len(weights)) if names is None else names
    ax.set_yticks(np.arange(len(order)) + 0.5, [one_line_label(labels[i]) for i in order])
    ax.set_ylim(len(order), 0)
    every = max(1, -(-len(clusters) // 25))
    places = np.arange(len(clusters)) + 0.5
    ax.set_xticks(places[::every], [str(name) for name in clusters][::every])
    ax.set_xlabel("cluster" + _hidden_note(weights, order))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _title_cells(ax: Axes, drawn: Any, words: str) -> None:
    """Say above coloured cells what they are, and beside them what the colours mean."""
    ax.set_title(words, fontsize="small", color=INK)
    bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.05, pad=0.03)
    bar.outline.set_visible(False)


def _heaviest_anywhere(weights: Array, top: int) -> np.ndarray:
    """Positions of the features that are heaviest in any cluster, cluster by cluster."""
    order = heaviest_features(weights.max(axis=0), top)
    return order[np.argsort(weights[:, order].argmax(axis=0), kind="stable")]


def plot_cluster_weights(
    weights: ArrayLike,
    names: Sequence[Any] | None = None,
    *,
    clusters: Sequence[Any] | None = None,
    top: int = 20,
    intervals: tuple[ArrayLike, ArrayLike] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the feature weights of every cluster as coloured cells.

    Parameters
    ----------
    weights : array-like of shape (k, p)
        Those features are drawn that are heaviest in any cluster, cluster by cluster.
    names : sequence of length p, optional
        Names of the features. By default their positions.
    clusters : sequence of length k, optional
        Names of the clusters. By default their positions.
    top : int, default 20
        Number of features to draw.
    intervals : pair of array-like of shape (k, p), optional
        Lower and upper ends of an interval for every weight, written below it where there is room.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = plot_cluster_weights([[0.1, 0.9], [0.8, 0.2]], ["a", "b"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['b', 'a']
    """
    from matplotlib.colors import LinearSegmentedColormap

    w = np.asarray(weights, dtype=float)
    order = _heaviest_anywhere(w, top)
    cells, k = w[:, order].T, len(w)
    written = intervals is not None and k <= _MOST_WRITTEN
    if ax is None:
        width = float(np.clip(3.4 + (0.95 if written else 0.55) * k, 5.0, 14.0))
        ax = new_axes((width, (1.5 if written else 1.0) * height_of_rows(len(order), 1.5)))[0]
    shades = LinearSegmentedColormap.from_list("weights", ["#FFFFFF", PALETTE[0]])
    # no cell has a colour of the palette, for which pages have others in the dark
    most = 1.02 * float(w.max())
    drawn = ax.pcolormesh(
        cells, cmap=shades, vmin=-0.02 * most, vmax=most, edgecolors="white", linewidth=0.6
    )
    if k <= _MOST_WRITTEN:
        for (row, column), value in np.ndenumerate(cells):
            colour = _ON_DARK if value > 0.62 * most else _ON_PALE
            shown = fixed(value) if value >= 0.005 else ""
            if intervals is not None:
                low, high = (np.asarray(end, dtype=float)[column, order[row]] for end in intervals)
                shown = f"{fixed(value)}\n{fixed(low)}–{fixed(high)}" if high >= _LEAST_END else ""
            place = column + 0.5, row + 0.5
            size = "small" if intervals is None else "x-small"
            ax.text(*place, shown, ha="center", va="center", fontsize=size, color=colour)
    words = "weights of the features in every cluster" + (",\nwith intervals" if written else "")
    _name_cells(ax, w.mean(axis=0), order, names, range(k) if clusters is None else clusters)
    _title_cells(ax, drawn, words)
    return ax


def plot_cluster_intervals(table: pd.DataFrame, level: float, *, top: int = 20) -> Axes:
    """Draw the weights of every cluster with their intervals, a panel for each cluster.

    Panels share features and axis, so that clusters can be compared; beside an interval stands the
    share of the resamples in which the feature is selected, in per cent.

    Parameters
    ----------
    table : DataFrame
        Columns ``weight``, ``lower``, ``upper`` and ``selected``, a row per cluster and feature,
        the levels of its index; the first twelve clusters are drawn.
    level : float
        Of the intervals.
    top : int, default 20
        Number of features: those that are heaviest in any of these clusters.

    Returns
    -------
    matplotlib.axes.Axes
        That of the first cluster; the figure has them all.
    """
    from matplotlib import pyplot as plt

    clusters = table.index.unique(level=0)
    shown = clusters[:_MOST_WRITTEN]
    names = table.loc[clusters[0]].index
    p, k = len(names), len(shown)
    cells = table[["weight", "lower", "upper", "selected"]].to_numpy(dtype=float)
    cells = cells.reshape(len(clusters), p, -1)[:k]
    order = _heaviest_anywhere(cells[..., 0], top)
    across = min(k, _PANELS)
    down = -(-k // across)
    size = 1.9 + 1.75 * across, down * height_of_rows(len(order), 1.4)
    figure, grid = plt.subplots(
        down, across, sharex=True, sharey=True, squeeze=False, figsize=size, layout="constrained"
    )
    rows, largest = np.arange(len(order)), float(cells[:, order, 2].max())
    for j, ax in enumerate(grid.ravel()):
        if j >= k:
            ax.set_axis_off()
            continue
        weight, lower, upper, selected = cells[j, order].T
        ax.hlines(rows, lower, upper, color=PALETTE[j % len(PALETTE)], linewidth=2.2, zorder=2)
        ax.plot(weight, rows, "o", color=INK, markersize=3.6, zorder=3)
        ax.axvline(1 / p, color=INK, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        look: dict[str, Any] = {"fontsize": "x-small", "color": INK, "ha": "right"}
        for row, share in enumerate(selected):
            place = ax.get_yaxis_transform()
            ax.text(1.0, row, f"{100 * share:.0f}", transform=place, va="center", **look)
        ax.text(1.0, 1.01, "selected, %", transform=ax.transAxes, va="bottom", **look)
        ax.set_title(f"cluster {shown[j]}", fontsize="small", color=INK, loc="left")
        name_rows(ax, names[order])
        ax.set_xlim(-0.02 * largest, 1.3 * largest)
        ax.locator_params(axis="x", nbins=3)
    notes = [f"weight, {short(100 * level)} % interval; dashed: uniform, 1/{p}"]
    if p > len(order):
        notes.append(f"{p - len(order)} more features")
    if len(clusters) > k:
        notes.append(f"{len(clusters) - k} more clusters")
    figure.supxlabel("; ".join(notes), fontsize="small", color=INK)
    first: Axes = grid[0, 0]
    return first


def _hidden_note(w: Array, order: np.ndarray) -> str:
    """What the features that are not drawn weigh."""
    hidden = len(w) - len(order)
    rest = max(1.0 - float(w[order].sum() / w.sum()), 0.0)
    return f"\n{hidden} lighter features hold {100 * rest:.3g} % of the weight" if hidden else ""


def plot_parallel(
    values: ArrayLike,
    labels: ArrayLike,
    weights: ArrayLike,
    names: Sequence[Any] | None = None,
    *,
    mass: ArrayLike | None = None,
    top: int = 8,
    ax: Axes | None = None,
) -> Axes:
    """Draw parallel coordinates: a line of means per cluster, with a band of most of its rows.

    Parameters
    ----------
    values : array-like of shape (n, p)
        Rows, standardised, so that the features share an axis; a missing value (NaN) has no part.
    labels : array-like of shape (n,)
        Clusters, counted from 0.
    weights : array-like of shape (p,)
        The heaviest features are drawn, heaviest on the left.
    names : sequence of length p, optional
        Names of the features. By default their positions.
    mass : array-like of shape (n,), optional
        Weights of the rows.
    top : int, default 8
        Number of features to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = plot_parallel([[0, 1], [0, 3], [2, 2]], [0, 0, 1], [0.3, 0.7], ["a", "b"])
    >>> [line.get_ydata().tolist() for line in ax.lines if line.get_label() in "01"]
    [[2.0, 0.0], [2.0, 2.0]]
    """
    w, cluster = np.asarray(weights, dtype=float), np.asarray(labels)
    order = heaviest_features(w, top)
    z = np.asarray(values, dtype=float)[:, order]
    copies = np.ones(len(z)) if mass is None else np.asarray(mass, dtype=float)
    k, places = int(cluster.max()) + 1, np.arange(len(order))
    if ax is None:
        ax = new_axes((float(np.clip(2.6 + 0.8 * len(order), 5.4, 12.0)), 5.0))[0]
    means = cluster_means(z, cluster, copies, k)
    for j in range(k):
        own = (cluster == j) & (copies > 0)
        if not own.any():
            continue
        turn, place = divmod(j, len(PALETTE))
        look: dict[str, Any] = {"color": PALETTE[place], "linestyle": _STYLES[turn % len(_STYLES)]}
        low, high = _quantiles(z[own], copies[own], (0.5 - _BAND / 2, 0.5 + _BAND / 2))
        if k <= len(PALETTE):
            ax.fill_between(
                places, low, high, color=PALETTE[place], alpha=0.16, linewidth=0, zorder=1
            )
        ax.plot(places, means[j], marker="o", ms=4, lw=1.8, label=str(j), zorder=3, **look)
    ax.axhline(0.0, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=2, label="_mean")
    shown = np.arange(len(w)) if names is None else names
    texts = [one_line_label(shown[i]) for i in order]
    long = max(len(text) for text in texts) > 9
    ax.set_xticks(places, texts, rotation=30 if long else 0, ha="right" if long else "center")
    ax.set_ylabel("standard deviations from the mean")
    ax.set_xlabel("features, the heaviest on the left" + _hidden_note(w, order))
    ax.grid(axis="x", **GRID)
    if k <= len(PALETTE) * len(_STYLES):
        ax.legend(title="cluster", frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    bands = f"; bands: {_BAND:.0%} of the rows" if k <= len(PALETTE) else ""
    ax.set_title(f"lines: means of the clusters{bands}", fontsize="small", color=INK)
    despine(ax)
    return ax


def _quantiles(values: Array, copies: Array, shares: tuple[float, ...]) -> Array:
    """Quantiles of columns whose rows have weights, interpolated between the rows.

    Those of the observed values, NaN where there are none.
    """
    found = []
    for column in values.T:
        order = np.argsort(column, kind="stable")[: np.count_nonzero(~np.isnan(column))]
        if not len(order):
            found.append(np.full(len(shares), np.nan))
            continue
        mass = copies[order]
        middle = np.cumsum(mass) - 0.5 * mass
        found.append(np.interp(shares, middle / mass.sum(), column[order]))
    return np.array(found).T


def plot_silhouettes(silhouettes: ArrayLike, labels: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the silhouette of every row, sorted within the clusters, with the clusters' means.

    Parameters
    ----------
    silhouettes : array-like of shape (n,)
        NaN is left out.
    labels : array-like of shape (n,)
        Clusters, counted from 0.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = plot_silhouettes([0.5, 0.7, -0.1], [0, 0, 1])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['0: mean 0.60', '1: mean -0.10']
    """
    s, cluster = np.asarray(silhouettes, dtype=float), np.asarray(labels)
    known = np.isfinite(s)
    if not known.any():
        raise ValueError("there are no silhouettes to draw: they need two clusters or more")
    s, cluster = s[known], cluster[known]
    k = int(cluster.max()) + 1
    if ax is None:
        ax = new_axes((6.4, float(np.clip(1.6 + 0.75 * k, 3.4, 11.0))))[0]
    gap, start = 0.02 * len(s), 0.0
    ticks, texts = [], []
    for j in range(k):
        own = np.sort(s[cluster == j])[::-1]
        if not len(own):
            continue
        colour = PALETTE[j % len(PALETTE)]
        edges = np.repeat(start + np.arange(len(own) + 1), 2)[1:-1]
        ax.fill_betweenx(edges, 0.0, np.repeat(own, 2), color=colour, linewidth=0, zorder=2)
        ticks.append(start + len(own) / 2)
        texts.append(f"{j}: mean {fixed(own.mean())}")
        start += len(own) + gap
    ax.axvline(s.mean(), color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=3)
    ax.text(
        s.mean(),
        1.01,
        f"mean {fixed(s.mean())}",
        transform=ax.get_xaxis_transform(),
        ha="center",
        fontsize="small",
        color=INK,
    )
    ax.axvline(0.0, color=INK, linewidth=0.8, zorder=3)
    ax.set_yticks(ticks, texts, fontsize="small" if k > 12 else None)
    ax.set_ylim(start - gap / 2, -gap / 2)
    ax.set(xlabel="silhouette in the weighted metric", ylabel="cluster")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", **GRID)
    despine(ax)
    return ax
