"""What all pictures share: colours, fresh axes, labels, and how many points are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["INK", "PALETTE", "despine", "new_axes", "one_line_label", "subsample"]

#: Seven colours that people with any colour vision tell apart (after Okabe and Ito).
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#4D4D4D")
INK = "#333333"
_MAX_POINTS = 5000
_MAX_NAME = 36


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
