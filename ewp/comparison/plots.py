"""Pictures of a comparison: boxplots of weights, partitions in an embedding.

Free functions on tables and arrays, as in `ewp.display.plots`; matplotlib and t-SNE are imported
when a picture is drawn.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ewp.common.types import Array
from ewp.display.axes import PALETTE, despine, one_line_label, subsample

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_partitions", "plot_weight_boxes"]

_MOST_POINTS = 2000
INK = "#333333"
_DASHED: dict[str, Any] = {"color": INK, "linewidth": 0.9, "linestyle": (0, (4, 3))}


def plot_weight_boxes(boxes: dict[str, pd.DataFrame], *, top: int = 20) -> list[Axes]:
    """Draw boxplots of weights by feature, one panel per method.

    Parameters
    ----------
    boxes : dict of DataFrame
        By title of the panel: one row per trial, one column per feature.
    top : int, default 20
        Number of features to draw if there are more: those with the largest mean weight.

    Returns
    -------
    list of matplotlib.axes.Axes

    Examples
    --------
    >>> trials = pd.DataFrame({"a": [0.7, 0.8, 0.9], "b": [0.3, 0.2, 0.1]})
    >>> axes = plot_weight_boxes({"EWP": trials})
    >>> axes[0].get_title(), [tick.get_text() for tick in axes[0].get_xticklabels()]
    ('EWP', ['a', 'b'])
    """
    if top < 1:
        raise ValueError(f"top={top} features cannot be drawn: give a number of at least 1")
    columns = next(iter(boxes.values())).columns
    mean = np.mean([frame.to_numpy().mean(axis=0) for frame in boxes.values()], axis=0)
    drawn = np.sort(np.argsort(-mean, kind="stable")[:top])
    texts = [one_line_label(columns[i]) for i in drawn]
    # long names are read from top to bottom, beside boxes that lie
    lying = sum(len(text) for text in texts) > 60
    if lying:
        axes = _panels(len(boxes), (2.6, 0.9 + 0.22 * len(drawn)), 4)
    else:
        axes = _panels(len(boxes), (max(0.36 * len(drawn), 3.0), 2.5), 2)
    for ax, (title, frame) in zip(axes, boxes.items(), strict=True):
        _draw_boxes(ax, frame.to_numpy()[:, drawn], lying)
        (ax.axvline if lying else ax.axhline)(1 / len(columns), **_DASHED)
        across, along = (ax.yaxis, ax.xaxis) if lying else (ax.xaxis, ax.yaxis)
        across.set_ticks(np.arange(1, len(drawn) + 1), texts)
        across.set_tick_params(length=0)
        along.set_label_text("weight")
        ax.locator_params(axis="x" if lying else "y", nbins=5)
        ax.set_title(one_line_label(title))
        despine(ax)
        ax.tick_params(labelbottom=True)
        if not lying and ax not in axes[::2]:
            ax.set_ylabel("")
    most = 1.05 * max(float(frame.to_numpy()[:, drawn].max()) for frame in boxes.values())
    if lying:
        axes[0].set(xlim=(0, most), ylim=(len(drawn) + 0.5, 0.5))
    else:
        axes[0].set(ylim=(0, most))
    some = (
        f"{len(drawn)} of {len(columns)} features, the heaviest; " if len(drawn) < len(mean) else ""
    )
    note = f"{some}dashed: equal weights, 1/{len(columns)}"
    axes[0].figure.supxlabel(note, fontsize="small", color=INK)
    return axes


def _draw_boxes(ax: Axes, values: Array, lying: bool) -> None:
    """Boxplots of the columns, upright or lying."""
    lines = {"color": INK, "linewidth": 0.9}
    # the option's name changed with matplotlib 3.10
    modern = "orientation" in inspect.signature(ax.boxplot).parameters
    turned: Any = {"orientation": "horizontal"} if modern else {"vert": False}
    ax.boxplot(
        values,
        widths=0.6,
        patch_artist=True,
        boxprops={"facecolor": "#BFD9EA", "edgecolor": PALETTE[0], "linewidth": 0.9},
        medianprops={"color": PALETTE[3], "linewidth": 1.6},
        whiskerprops=lines,
        capprops=lines,
        flierprops={"marker": "o", "markersize": 2.5, "markeredgecolor": "#777777"},
        **(turned if lying else {}),
    )


def plot_partitions(X: Array, panels: dict[str, np.ndarray], *, note: str = "") -> list[Axes]:
    """Draw partitions of the same rows in one t-SNE embedding, one panel per partition.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        More than 2000 rows are thinned at random.
    panels : dict of ndarray
        Labels by title of the panel. Clusters take the colours of those of the first panel with
        which they overlap most.
    note : str
        Added to the line below the panels.

    Returns
    -------
    list of matplotlib.axes.Axes
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    rows = subsample(len(X), _MOST_POINTS)
    points = X[rows]
    if points.shape[1] > 50:  # as usual for t-SNE; more components are mostly noise
        points = PCA(min(50, len(points)), random_state=0).fit_transform(points)
    if len(points) > 3:
        perplexity = min(30.0, (len(points) - 1) / 3)
        init = "pca" if min(points.shape) > 1 else "random"
        embedding = TSNE(perplexity=perplexity, init=init, random_state=0)
        # its threads wait for each other at every step, for very long on a busy machine
        with threadpool_limits(1):
            points = embedding.fit_transform(points)
    else:
        points = np.pad(points, ((0, 0), (0, 2)))[:, :2]
    axes = _panels(len(panels), (3.2, 3.0), 3)
    first = next(iter(panels.values()))[rows]
    size = float(np.clip(3000 / len(points), 4, 18))
    for ax, (title, labels) in zip(axes, panels.items(), strict=True):
        colours = _matched(labels[rows], first)
        ax.scatter(points[:, 0], points[:, 1], s=size, c=colours, alpha=0.75, linewidths=0)
        ax.set_title(one_line_label(title), fontsize="medium")
        ax.set_xticks([])
        ax.set_yticks([])
        for spine in ax.spines.values():
            spine.set_color("#BBBBBB")
    axes[0].figure.supxlabel(f"t-SNE embedding of the features{note}", fontsize="medium")
    return axes


def _panels(count: int, size: tuple[float, float], most: int) -> list[Axes]:
    """Axes of a new figure with common scales, each of a size, at most so many in a row."""
    from matplotlib import pyplot as plt

    columns = min(count, most)
    lines = -(-count // columns)
    figure = plt.figure(figsize=(columns * size[0], lines * size[1] + 0.4), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for ax in grid[count:]:
        ax.remove()
    return list(grid[:count])


def _matched(labels: np.ndarray, reference: np.ndarray) -> list[Any]:
    """Colour of every row: clusters are matched with the reference's by their overlap."""
    from matplotlib import colormaps
    from scipy.optimize import linear_sum_assignment

    _, ours = np.unique(labels, return_inverse=True)
    _, theirs = np.unique(reference, return_inverse=True)
    count = max(int(ours.max()), int(theirs.max())) + 1
    overlap = np.zeros((count, count))
    np.add.at(overlap, (ours, theirs), 1.0)
    _, match = linear_sum_assignment(-overlap)
    many = colormaps["tab20"]
    shades: list[Any] = list(PALETTE) if count <= len(PALETTE) else [many(i) for i in range(20)]
    return [shades[match[label] % len(shades)] for label in ours]
