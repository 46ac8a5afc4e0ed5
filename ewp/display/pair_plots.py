"""Pictures of rows in several planes: pairs of features with ellipses, and a biplot.

Free functions on arrays, as in `ewp.display.plots`; matplotlib is imported inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ewp.common.checks import check_integer
from ewp.common.types import Array
from ewp.display.axes import INK, despine, new_axes, one_line_label, subsample
from ewp.display.plots import MAX_LEGEND, cluster_colours, draw_clusters, principal_axes
from ewp.display.profile_plots import cluster_means

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_biplot", "plot_pairs"]

#: Share of a normal cluster that an ellipse holds.
_INSIDE = 0.9


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
        The features to draw, at least two. Rows that miss a value (NaN) are not where it is drawn.
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
    seen = ~np.isnan(x)
    means = cluster_means(x, cluster, copies, k)
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
                here = seen[:, i]
                _draw_distributions(ax, x[here, i], cluster[here], copies[here], colours)
            else:
                across, up = x[drawn][:, [j, i]].T
                ax.scatter(across, up, s=size, c=of_row, alpha=0.5, linewidths=0, zorder=1)
                for g in range(k):
                    own = (cluster == g) & seen[:, i] & seen[:, j]
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
    if not len(values):
        return
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
