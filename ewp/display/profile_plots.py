"""Pictures of what clusters look like, feature by feature, as free functions on arrays.

A heatmap of the centroids, parallel coordinates, silhouettes, pairs of features with ellipses, and
a biplot. As in `ewp.display.plots`, a cluster has the same colour in all of them; a function draws
on the Axes it is given or on a new figure, and matplotlib is imported inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ewp.common.checks import check_integer
from ewp.common.types import Array
from ewp.display.axes import (
    GRID,
    INK,
    PALETTE,
    despine,
    height_of_rows,
    new_axes,
    one_line_label,
    subsample,
)
from ewp.display.formatting import fixed, signed
from ewp.display.plots import MAX_LEGEND, cluster_colours, draw_clusters, principal_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_biplot", "plot_heatmap", "plot_pairs", "plot_parallel", "plot_silhouettes"]

#: Clusters whose values are written into a heatmap.
_MOST_WRITTEN = 12
#: Share of a cluster that a band, and an ellipse, holds.
_BAND, _INSIDE = 0.8, 0.9
#: Letters on coloured cells; as they are no greys, pages leave them alone in the dark.
_ON_DARK, _ON_PALE = "#FDFDFE", "#101214"
#: Lines of clusters beyond the number of colours.
_STYLES = ("-", "--", ":")


def heaviest_features(weights: Array, top: int) -> np.ndarray:
    """Positions of the features with the largest weights, heaviest first."""
    check_integer("top", top, least=1)
    return np.argsort(-weights, kind="stable")[:top]


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
    labels = np.arange(z.shape[1]) if names is None else names
    called = np.arange(k) if clusters is None else clusters
    ax.set_yticks(np.arange(len(order)) + 0.5, [one_line_label(labels[i]) for i in order])
    ax.set_ylim(len(order), 0)
    every = max(1, -(-k // 25))
    ax.set_xticks(np.arange(k)[::every] + 0.5, [str(name) for name in called][::every])
    ax.set_xlabel("cluster" + _hidden_note(w, order))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    words = "centroids minus the mean of all rows,\nin standard deviations"
    ax.set_title(words, fontsize="small", color=INK)
    bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.05, pad=0.03)
    bar.outline.set_visible(False)
    return ax


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
        Rows, standardised, so that the features share an axis.
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
    of = (cluster == np.arange(k)[:, None]) * copies
    means = (of @ z) / np.maximum(of.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    for j in range(k):
        own = of[j] > 0
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
    """Quantiles of columns whose rows have weights, interpolated between the rows."""
    found = []
    for column in values.T:
        order = np.argsort(column, kind="stable")
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


def plot_pairs(
    X: ArrayLike,
    labels: ArrayLike,
    names: Sequence[Any],
    *,
    mass: ArrayLike | None = None,
) -> list[Axes]:
    """Draw every pair of features: rows by cluster, and an ellipse around most of each cluster.

    The ellipses hold 90 % of normal clusters with the same means and covariances. On the diagonal
    are the distributions of the single features.

    Parameters
    ----------
    X : array-like of shape (n, m)
        The features to draw, at least two.
    labels : array-like of shape (n,)
        Clusters, counted from 0.
    names : sequence of length m
        Names of the features.
    mass : array-like of shape (n,), optional
        Weights of the rows, which the ellipses and the distributions count.

    Returns
    -------
    list of matplotlib.axes.Axes
        Row by row: of a row its pairs with the features before it, then its distribution.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> axes = plot_pairs(X, np.arange(30) % 2, ["height", "width"])
    >>> len(axes), axes[1].get_xlabel(), axes[1].get_ylabel()
    (3, 'height', 'width')
    """
    from matplotlib import pyplot as plt
    from matplotlib.lines import Line2D

    x, cluster = np.asarray(X, dtype=float), np.asarray(labels)
    copies = np.ones(len(x)) if mass is None else np.asarray(mass, dtype=float)
    m, k = x.shape[1], int(cluster.max()) + 1
    if m < 2:
        raise ValueError(f"{m} feature has no pairs; name two or more")
    counted = np.bincount(cluster, copies, k)
    means = np.array([np.bincount(cluster, copies * column, k) for column in x.T]).T
    means /= np.maximum(counted, np.finfo(float).tiny)[:, None]
    colours = cluster_colours(means)
    side = float(np.clip(9.0 / m, 1.7, 2.6))
    figure = plt.figure(figsize=(side * m + 0.9, side * m + 0.3), layout="constrained")
    grid = figure.add_gridspec(m, m)
    drawn = subsample(len(x))
    of_row = [colours[j] for j in cluster[drawn]]
    size = float(np.clip(2400 / max(len(drawn), 1), 2, 10))
    axes: list[Axes] = []
    for i in range(m):
        for j in range(i + 1):
            above = None if i == j else axes[(j + 1) * (j + 2) // 2 - 1]
            ax = figure.add_subplot(grid[i, j], sharex=above)
            axes.append(ax)
            if i == j:
                _draw_distributions(ax, x[:, i], cluster, copies, colours)
            else:
                across, up = x[drawn][:, [j, i]].T
                ax.scatter(across, up, s=size, c=of_row, alpha=0.5, linewidths=0, zorder=1)
                for g in range(k):
                    own = cluster == g
                    _draw_ellipse(ax, x[own][:, [j, i]], copies[own], colours[g])
                    if k > MAX_LEGEND:
                        place = means[g, j], means[g, i]
                        ax.annotate(str(g), place, fontsize=6.5, color=INK, zorder=4)
            _label_panel(ax, i, j, m, names)
    if k <= MAX_LEGEND:
        marks = [Line2D([], [], marker="o", linestyle="", color=c) for c in colours]
        figure.legend(
            marks,
            [str(j) for j in range(k)],
            title="cluster",
            frameon=False,
            loc="upper right",
            bbox_to_anchor=(0.995, 0.98),
        )
    return axes


def _label_panel(ax: Axes, i: int, j: int, m: int, names: Sequence[Any]) -> None:
    """Name the axes at the left and below; the others go without."""
    ax.locator_params(nbins=4)
    ax.tick_params(labelsize="small")
    despine(ax)
    if i == m - 1:
        ax.set_xlabel(one_line_label(names[j]), fontsize="small")
    else:
        ax.tick_params(labelbottom=False)
    if i == j:
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        if i == 0:
            ax.set_ylabel(one_line_label(names[0]), fontsize="small")
    elif j == 0:
        ax.set_ylabel(one_line_label(names[i]), fontsize="small")
    else:
        ax.tick_params(labelleft=False)


def _draw_distributions(
    ax: Axes, values: Array, cluster: np.ndarray, copies: Array, colours: list[str]
) -> None:
    """Histograms of the clusters on common cells, as outlines."""
    low, high = float(values.min()), float(values.max())
    cells = np.linspace(low, high if high > low else low + 1.0, 21).tolist()
    for j, colour in enumerate(colours):
        own = cluster == j
        ax.hist(
            values[own], cells, weights=copies[own], histtype="stepfilled", color=colour, alpha=0.25
        )
        ax.hist(values[own], cells, weights=copies[own], histtype="step", color=colour)


def _draw_ellipse(ax: Axes, points: Array, copies: Array, colour: str) -> None:
    """Ellipse of a normal distribution with the points' mean and covariance."""
    if len(points) < 3 or not copies.sum() > 0:
        return
    center = copies @ points / copies.sum()
    centred = points - center
    covariance = (centred.T * copies) @ centred / copies.sum()
    values, axes = np.linalg.eigh(covariance)
    turn = np.linspace(0.0, 2.0 * np.pi, 121)
    # of two normal variables the squared radius is exponential
    radius = np.sqrt(-2.0 * np.log(1.0 - _INSIDE))
    half = radius * axes * np.sqrt(np.maximum(values, 0.0))
    ax.plot(
        *(center[:, None] + half @ [np.cos(turn), np.sin(turn)]), color=colour, lw=1.6, zorder=3
    )


def plot_biplot(
    X: ArrayLike,
    labels: ArrayLike,
    centroids: ArrayLike,
    weights: ArrayLike,
    *,
    center: ArrayLike | None = None,
    scale: ArrayLike | None = None,
    names: Sequence[Any] | None = None,
    top: int = 8,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows and centroids by the principal components of the weighted metric, and features.

    An arrow points to where its feature grows; its length is the feature's part in the two
    components, which its weight increases. All arrows are stretched by one factor to fit.

    Parameters
    ----------
    X : array-like of shape (n, p)
    labels : array-like of shape (n,)
        Clusters, counted from 0.
    centroids : array-like of shape (k, p)
    weights : array-like of shape (p,)
    center, scale : array-like of shape (p,), optional
        Origin and units of the weighted metric; by default 0 and 1.
    names : sequence of length p, optional
        Names of the features. By default their positions.
    top : int, default 8
        Number of arrows, the longest.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.2, 1.1], [5.0, 3.0]])
    >>> ax = plot_biplot(X, [0, 0, 1], X[1:], [0.5, 0.5], names=["height", "width"])
    >>> sorted(text.get_text() for text in ax.texts if text.get_text())
    ['height', 'width']
    """
    from matplotlib import patheffects

    check_integer("top", top, least=1)
    x, theta, w = (np.asarray(a, dtype=float) for a in (X, centroids, weights))
    if len(w) < 2:
        raise ValueError("one feature has no biplot; see plot_clusters")
    drawn = subsample(len(x))
    x, cluster = x[drawn], np.asarray(labels)[drawn]
    origin = np.zeros(len(w)) if center is None else np.asarray(center, dtype=float)
    metric = np.sqrt(w) / (1.0 if scale is None else np.asarray(scale, dtype=float))
    made = principal_axes((x - origin) * metric, (theta - origin) * metric)
    ax = new_axes((6.8, 5.4))[0] if ax is None else ax
    draw_clusters(ax, made.points, made.centres, cluster)
    part = np.hypot(*made.axes)
    longest = np.argsort(-part, kind="stable")[:top]
    # arrows too short to be seen have no place for their names
    longest = longest[part[longest] > 0.04 * part.max()]
    stretch = 0.85 * float(np.abs(made.points).max()) / float(part.max() or 1.0)
    halo = [patheffects.withStroke(linewidth=2.5, foreground="white")]
    for i in longest:
        tip = stretch * made.axes[:, i]
        arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", xy=(tip[0], tip[1]), xytext=(0, 0), arrowprops=arrow, zorder=4)
        ax.annotate(
            one_line_label(i if names is None else names[i]),
            xy=(tip[0], tip[1]),
            xytext=(4 * np.sign(tip[0]), 4 * np.sign(tip[1])),
            textcoords="offset points",
            ha="left" if tip[0] >= 0 else "right",
            va="bottom" if tip[1] >= 0 else "top",
            fontsize="small",
            color=INK,
            path_effects=halo,
            zorder=5,
        )
    ax.set(xlabel=made.names[0], ylabel=made.names[1])
    ax.set_aspect("equal", adjustable="datalim")
    despine(ax)
    return ax
