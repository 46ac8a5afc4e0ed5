"""Pictures of a fit, as free functions on arrays.

Each function draws one picture, on the Axes it is given or on a new figure, and returns the Axes.
matplotlib is imported inside the functions, so that importing this module costs nothing, and no
function calls ``show``. The methods of :class:`ewp.EWPResults` only hand their arrays to these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ewp.display.axes import (
    GRID,
    INK,
    PALETTE,
    despine,
    heaviest_rows,
    height_of_rows,
    name_rows,
    new_axes,
    one_line_label,
    side_by_side,
    start_at_zero,
    subsample,
)
from ewp.display.formatting import fixed, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "MAX_LEGEND",
    "PrincipalAxes",
    "cluster_colours",
    "draw_clusters",
    "plot_clusters",
    "plot_intervals",
    "plot_trace",
    "plot_weights",
    "principal_axes",
]

_PHASES = {"anneal": "#FFFFFF", "finish": "#E8EEF4", "polish": "#F6EBDD"}
#: Clusters up to which a legend names them.
MAX_LEGEND = 10


def plot_weights(
    weights: ArrayLike,
    names: Sequence[Any] | None = None,
    *,
    ax: Axes | None = None,
    top: int = 20,
    intervals: tuple[ArrayLike, ArrayLike] | None = None,
) -> Axes:
    """Draw the heaviest features as horizontal bars, heaviest on top.

    Parameters
    ----------
    weights : array-like of shape (p,)
        Feature weights.
    names : sequence of length p, optional
        Names of the features. By default their positions.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default a new figure, as tall as the bars need.
    top : int, default 20
        Number of features to draw; a note says how much weight the others have.
    intervals : pair of array-like of shape (p,), optional
        Lower and upper ends of an interval for every weight.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = plot_weights([0.1, 0.7, 0.2], ["a", "b", "c"], top=2)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['b', 'c']
    """
    w = np.asarray(weights, dtype=float)
    if top < 1:
        raise ValueError(f"top={top} features cannot be drawn: give a number of at least 1")
    order = np.argsort(-w, kind="stable")[:top]
    shown = len(order)
    ax = new_axes((6.4, 1.3 + 0.24 * max(shown, 4)))[0] if ax is None else ax
    rows = np.arange(shown)
    ax.barh(rows, w[order], height=0.62, color=PALETTE[0], zorder=2)
    if intervals is not None:
        lower, upper = (np.asarray(end, dtype=float)[order] for end in intervals)
        ends = np.stack([lower, upper], axis=1)
        ax.hlines(rows, *ends.T, color=INK, linewidth=1.4, zorder=3, label="interval")
        ends_at = np.repeat(rows[:, None], 2, axis=1)
        ax.scatter(ends, ends_at, s=24, c=INK, marker="|", zorder=3)
    ax.axvline(1 / len(w), color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=4)
    side = "left" if 1 / len(w) < 0.6 * w[order[0]] else "right"
    frame = ax.get_xaxis_transform()
    uniform = f" uniform, 1/{len(w)} "
    ax.text(1 / len(w), 1.01, uniform, transform=frame, ha=side, fontsize="small", color=INK)
    labels = np.arange(len(w)) if names is None else names
    ax.set_yticks(rows, [one_line_label(labels[i]) for i in order])
    ax.set_ylim(shown - 0.4, -0.6)
    ax.set_xlim(left=0)
    ax.locator_params(axis="x", nbins=6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="#DDDDDD", linewidth=0.6, zorder=0)
    rest = max(1 - w[order].sum() / w.sum(), 0.0)
    note = f"\nthe other {len(w) - shown} features hold {short(100 * rest, 3)} % of the weight"
    ax.set_xlabel("weight" + (note if len(w) > shown else ""))
    despine(ax)
    return ax


def plot_intervals(
    table: pd.DataFrame, level: float, *, top: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw weights with their intervals and, beside them, selection frequencies.

    Parameters
    ----------
    table : DataFrame
        Columns ``weight``, ``lower``, ``upper`` and ``selected``, a row per feature.
    level : float
        Of the intervals.
    top : int, default 20
        Number of features, heaviest first.
    ax : Axes, optional
        Where to draw the intervals alone.
    """
    shown = heaviest_rows(table, table["weight"].to_numpy(), top)
    rows = np.arange(len(shown))
    panels = side_by_side((7.2, height_of_rows(len(shown), 1.3)), (3, 1)) if ax is None else [ax]
    main = panels[0]
    main.hlines(rows, shown["lower"], shown["upper"], color=PALETTE[0], linewidth=2.2, zorder=2)
    main.plot(shown["weight"], rows, "o", color=INK, markersize=4.5, zorder=3)
    main.axvline(1 / len(table), color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    frame, equal = main.get_xaxis_transform(), f" uniform, 1/{len(table)}"
    main.text(1 / len(table), 1.01, equal, transform=frame, fontsize="small", color=INK)
    name_rows(main, shown.index)
    start_at_zero(main, shown[["lower", "upper"]].to_numpy())
    rest = len(table) - len(shown)
    note = f"\n{rest} more features" if rest else ""
    main.set_xlabel(f"weight, {short(100 * level)} % interval{note}")
    for side in panels[1:]:
        side.barh(rows, 100 * shown["selected"], height=0.62, color=PALETTE[4], zorder=2)
        side.set_xlim(0, 100)
        side.set_xticks([0, 50, 100])
        side.set_xlabel("selected, %")
        side.tick_params(axis="y", length=0)
        side.grid(axis="x", **GRID)
        despine(side)
    return main


def plot_trace(
    iteration: ArrayLike,
    s: ArrayLike,
    f_s: ArrayLike,
    f_inf: ArrayLike,
    phase: Sequence[str] | np.ndarray,
    *,
    critical_exponent: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the objective along the iterations and, below it, the exponent.

    Parameters
    ----------
    iteration, s, f_s, f_inf : array-like of shape (m,)
        Number, exponent, annealed and limit objective of every iteration.
    phase : sequence of str of length m
        ``"anneal"``, ``"finish"`` or ``"polish"``; phases are shaded and named.
    critical_exponent : float, optional
        Marked where the exponent first reaches it.
    ax : matplotlib.axes.Axes, optional
        Where to draw the objective alone. By default a new figure with the exponent below, whose
        Axes is ``ax.figure.axes[1]``.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes of the objective.

    Examples
    --------
    >>> ax = plot_trace([0, 1, 2], [-1, -2, -np.inf], [9, 7, 6], [7, 6.5, 6], ["anneal"] * 3)
    >>> len(ax.figure.axes)
    2
    """
    from matplotlib.ticker import LogLocator

    m, s, f_s, f_inf = (np.asarray(x, dtype=float) for x in (iteration, s, f_s, f_inf))
    annealed = np.isfinite(s)
    panels = [ax] if ax is not None else new_axes((6.4, 4.6), (3, 1.1) if annealed.any() else (1,))
    top = panels[0]
    for panel in panels:
        _shade_phases(panel, m, np.asarray(phase), named=panel is top)
        despine(panel)
    top.plot(m, f_s, color=PALETTE[0], lw=1.8, label="$f_s$, annealed")
    top.plot(m, f_inf, color=PALETTE[3], lw=1.5, ls="--", label=r"$f_{-\infty}$, limit")
    top.set_ylabel("objective")
    panels[-1].set_xlabel("iteration")
    panels[-1].locator_params(axis="x", integer=True)
    critical = -np.inf if critical_exponent is None else critical_exponent
    reached = np.flatnonzero(annealed & (s <= critical))
    if reached.size:
        name = f"$s_c = {short(critical, 3)}$ reached"
        for panel in panels:
            panel.axvline(m[reached[0]], color=INK, lw=1, ls=":", label=name)
    top.legend(fontsize="small", edgecolor="none", framealpha=0.9)
    for panel in panels[1:]:
        alone = "o" if annealed.sum() == 1 else None  # one point makes no line
        panel.plot(m[annealed], -s[annealed], color=PALETTE[2], lw=1.8, marker=alone)
        if np.isfinite(critical) and critical < 0:
            panel.hlines(-critical, m[0], m[annealed].max(), INK, ":", lw=1)
        panel.set_yscale("log")
        few = s[annealed].min() > 50 * s[annealed].max()  # less than two decades
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter("")
        panel.set_ylabel("$-s$")
    return top


def plot_clusters(
    X: ArrayLike,
    labels: ArrayLike,
    centroids: ArrayLike,
    weights: ArrayLike,
    *,
    center: ArrayLike | None = None,
    scale: ArrayLike | None = None,
    names: Sequence[Any] | None = None,
    features: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows coloured by cluster, and centroids as diamonds, in two dimensions.

    Up to ten clusters are named in a legend; more are numbered at their centroids, and colours are
    shared by clusters that lie far apart. More than 5000 rows are thinned at random.

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
    features : sequence of one or two of the names, optional
        The axes; with one, rows are spread out vertically at random. By default the two heaviest
        features if they hold 99 % of the weight, else the first two principal components in the
        weighted metric.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.2, 1.1], [5.0, 3.0]])
    >>> ax = plot_clusters(X, [0, 0, 1], X[1:], [0.5, 0.5], names=["height", "width"])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('height', 'width')
    """
    x, theta, w = (np.asarray(a, dtype=float) for a in (X, centroids, weights))
    drawn = subsample(len(x))
    x, cluster = x[drawn], np.asarray(labels)[drawn]
    chosen = _choose_features(w, names, features)
    if chosen is None:
        origin = np.zeros(len(w)) if center is None else np.asarray(center, dtype=float)
        metric = np.sqrt(w) / (1.0 if scale is None else np.asarray(scale, dtype=float))
        made = principal_axes((x - origin) * metric, (theta - origin) * metric)
        points, centres, axis_names = made.points, made.centres, made.names
    else:
        points, centres = x[:, chosen], theta[:, chosen]
        axis_names = [one_line_label(i if names is None else names[i]) for i in chosen]
    if points.shape[1] == 1:
        jitter = np.random.default_rng(0).uniform(-1, 1, len(points))
        points = np.column_stack([points, jitter])
        centres = np.column_stack([centres, np.zeros(len(centres))])
        axis_names = [*axis_names, ""]
    ax = new_axes((6.4, 5.2))[0] if ax is None else ax
    draw_clusters(ax, points, centres, cluster)
    ax.set_xlabel(axis_names[0])
    ax.set_ylabel(axis_names[1])
    despine(ax)
    if chosen is None:
        # Distances in the picture are then projections of the weighted distances.
        ax.set_aspect("equal", adjustable="datalim")
    elif not axis_names[1]:
        ax.set_yticks([])
        ax.set_ylim(-1.6, 1.6)
        ax.spines["left"].set_visible(False)
    return ax


def _shade_phases(ax: Axes, m: np.ndarray, phase: np.ndarray, *, named: bool) -> None:
    starts = np.flatnonzero(np.r_[True, phase[1:] != phase[:-1]])
    for start, end in zip(starts, np.r_[starts[1:], len(m) - 1], strict=True):
        name, first, last = str(phase[start]), m[start], m[end]
        # A band too narrow for its name is named in the legend, one without width nowhere.
        narrow = last - first < 0.1 * (m[-1] - m[0])
        label = name if named and narrow and last > first else None
        ax.axvspan(first, last, color=_PHASES.get(name, "#EEEEEE"), zorder=0, lw=0, label=label)
        if named and not narrow:
            middle, frame = (first + last) / 2, ax.get_xaxis_transform()
            ax.text(middle, 1.01, name, transform=frame, ha="center", fontsize="small", color=INK)


def _choose_features(
    w: np.ndarray, names: Sequence[Any] | None, features: Sequence[Any] | None
) -> list[int] | None:
    """Positions of the features that make the axes; None calls for principal components."""
    if features is None:
        heaviest = np.argsort(-w, kind="stable")[:2]
        return [int(i) for i in heaviest] if w[heaviest].sum() >= 0.99 * w.sum() else None
    known = list(range(len(w))) if names is None else list(names)
    wanted = list(features) if isinstance(features, Sequence) else [features]
    wanted = [features] if isinstance(features, str) else wanted
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"no feature is called {unknown[0]!r}; the first ones are {known[:5]}")
    if len(wanted) not in (1, 2):
        raise ValueError(f"features={wanted} has {len(wanted)} entries: name one or two features")
    return [known.index(name) for name in wanted]


class PrincipalAxes(NamedTuple):
    """Rows and centroids by the first two principal components.

    Attributes
    ----------
    points, centres : ndarray with two columns
    axes : ndarray of shape (2, p)
        Unit vectors.
    names : list of str
        With the share of the variance.
    """

    points: np.ndarray
    centres: np.ndarray
    axes: np.ndarray
    names: list[str]


def principal_axes(z: np.ndarray, centres: np.ndarray) -> PrincipalAxes:
    """Project rows and centroids, in coordinates of the weighted metric, on two components."""
    from scipy.sparse.linalg import svds

    mean = z.mean(0)
    z = z - mean
    if min(z.shape) > 50:
        _, values, axes = svds(z, k=2, v0=np.ones(min(z.shape)), solver="arpack")
        values, axes = values[::-1], axes[::-1]
    else:
        _, values, axes = np.linalg.svd(z, full_matrices=False)
        values, axes = values[:2], axes[:2]
    leading = np.abs(axes).argmax(1)
    axes = axes * np.sign(axes[np.arange(len(axes)), leading])[:, None]
    total = max(float((z**2).sum()), np.finfo(float).tiny)
    shares = 100 * values**2 / total
    names = [
        f"component {i + 1} ({fixed(v, 0)} % of weighted variance)" for i, v in enumerate(shares)
    ]
    return PrincipalAxes(z @ axes.T, (centres - mean) @ axes.T, axes, names)


def cluster_colours(centres: np.ndarray) -> list[str]:
    """One colour a cluster; when they run out, the one whose other bearers are farthest away."""
    chosen: list[int] = []
    extent = np.ptp(centres, axis=0)
    places = centres / np.where(extent > 0, extent, 1.0)
    for j, place in enumerate(places):
        distance = np.linalg.norm(places[:j] - place, axis=1)
        bearers = [distance[np.equal(chosen, c)] for c in range(len(PALETTE))]
        chosen.append(int(np.argmax([d.min(initial=np.inf) for d in bearers])))
    return [PALETTE[c] for c in chosen]


def draw_clusters(ax: Axes, points: np.ndarray, centres: np.ndarray, cluster: np.ndarray) -> None:
    """Draw rows by cluster, and their centroids as diamonds that a legend names, or numbers."""
    from matplotlib import patheffects

    k, colours = len(centres), cluster_colours(centres)
    size = float(np.clip(6000 / max(len(points), 1), 5, 22))
    # One collection in the order of the rows, so that no cluster lies on top of the others.
    ax.scatter(
        points[:, 0], points[:, 1], s=size, c=[colours[j] for j in cluster], alpha=0.6, linewidths=0
    )
    diamond: dict[str, Any] = {"marker": "D", "edgecolors": "black", "linewidths": 0.9, "zorder": 3}
    if k <= MAX_LEGEND:
        for j, (place, colour) in enumerate(zip(centres, colours, strict=True)):
            ax.scatter(place[0], place[1], s=52, color=colour, label=str(j), **diamond)
        ax.legend(title="cluster", frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
        return
    ax.scatter(centres[:, 0], centres[:, 1], s=max(50 - k / 3, 16), c=colours, **diamond)
    halo = [patheffects.withStroke(linewidth=2, foreground="white")]
    for j, place in enumerate(centres):
        ax.annotate(
            str(j),
            place,
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=8 if k <= 40 else 6.5,
            path_effects=halo,
            zorder=4,
        )
