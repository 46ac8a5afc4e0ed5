"""Contestants compared over many data sets: ranks, Friedman's test, Nemenyi's critical difference.

The procedure is Demšar's (2006, Statistical comparisons of classifiers over multiple data sets,
Journal of Machine Learning Research 7, 1-30): on every set the best contestant has rank 1, equal
ones share the mean of their ranks; Friedman's test asks whether mean ranks differ at all, in Iman
and Davenport's form; two contestants differ if their mean ranks are more than Nemenyi's critical
difference apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from scipy.stats import f as f_distribution
from scipy.stats import studentized_range

from ewp.display.axes import PALETTE, despine

__all__ = [
    "TIE",
    "Friedman",
    "cliques",
    "critical_difference",
    "draw_ranks",
    "friedman",
    "mean_ranks",
    "tally",
]

#: Differences of NMI up to this are ties.
TIE = 0.01


class Friedman(NamedTuple):
    """Friedman's test in Iman and Davenport's form.

    Attributes
    ----------
    chi_square, f, p_value : float
    """

    chi_square: float
    f: float
    p_value: float


def mean_ranks(scores: pd.DataFrame) -> pd.Series:
    """Mean rank of every contestant, 1 for the best; no answer shares the last places.

    Parameters
    ----------
    scores : DataFrame
        A row a data set, a column a contestant; higher is better.

    Examples
    --------
    >>> mean_ranks(pd.DataFrame({"a": [0.9, 0.5], "b": [0.8, 0.5], "c": [0.7, np.nan]})).tolist()
    [1.25, 1.75, 3.0]
    """
    filled = scores.fillna(-np.inf)
    found: pd.Series = filled.rank(axis=1, ascending=False, method="average").mean()
    return found


def friedman(ranks: pd.Series, sets: int) -> Friedman:
    """Test whether mean ranks differ by more than chance.

    Parameters
    ----------
    ranks : Series
        Mean ranks of the contestants.
    sets : int
        Number of data sets.
    """
    k = len(ranks)
    spread = float((ranks**2).sum()) - k * (k + 1) ** 2 / 4
    chi_square = 12 * sets / (k * (k + 1)) * spread
    rest = sets * (k - 1) - chi_square
    f = (sets - 1) * chi_square / rest if rest > 0 else np.inf
    p_value = float(f_distribution.sf(f, k - 1, (k - 1) * (sets - 1)))
    return Friedman(chi_square, float(f), p_value)


def critical_difference(contestants: int, sets: int, level: float = 0.05) -> float:
    """Nemenyi's difference of mean ranks that is significant.

    Parameters
    ----------
    contestants, sets : int
    level : float

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)  # as in Demšar's example
    1.25
    """
    q = studentized_range.ppf(1 - level, contestants, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(contestants * (contestants + 1) / (6 * sets)))


def cliques(ranks: pd.Series, difference: float) -> list[tuple[str, str]]:
    """First and last contestant of every largest group whose ranks do not differ.

    Examples
    --------
    >>> cliques(pd.Series({"a": 1.0, "b": 1.8, "c": 2.4, "d": 4.0}), 1.0)
    [('a', 'b'), ('b', 'c')]
    """
    ordered = ranks.sort_values()
    values = ordered.to_numpy()
    groups, reached = [], -1
    for i, value in enumerate(values):
        last = int(np.searchsorted(values, value + difference, side="right")) - 1
        if last > max(i, reached):
            groups.append((str(ordered.index[i]), str(ordered.index[last])))
        reached = max(reached, last)
    return groups


def tally(scores: pd.DataFrame, reference: str, far: float) -> pd.DataFrame:
    """On how many sets a reference is better, as good and worse than each other contestant.

    Parameters
    ----------
    scores : DataFrame
        As in `mean_ranks`.
    reference : str
        Column that is compared with the others.
    far : float
        Differences larger than this are counted once more.

    Returns
    -------
    DataFrame
        Columns ``wins``, ``ties`` (differences up to `TIE`), ``losses``, and ``far``: losses by
        more than that. No answer loses.
    """
    others = scores.drop(columns=reference)
    ahead = -others.fillna(-1.0).sub(scores[reference], axis=0)
    return pd.DataFrame(
        {
            "wins": (ahead > TIE).sum(),
            "ties": (ahead.abs() <= TIE).sum(),
            "losses": (ahead < -TIE).sum(),
            "far": (ahead < -far).sum(),
        }
    )


def draw_ranks(ranks: pd.Series, difference: float, own: str) -> Figure:
    """Critical-difference diagram, a line a contestant; bars join those that do not differ.

    Parameters
    ----------
    ranks : Series
    difference : float
        Nemenyi's.
    own : str
        Contestant whose dot is coloured.
    """
    ordered = ranks.sort_values()
    groups = cliques(ranks, difference)
    places = {name: i for i, name in enumerate(ordered.index)}
    figure, ax = plt.subplots(figsize=(5.2, 0.3 * len(ordered) + 1.0), layout="constrained")
    colours = [PALETTE[0] if name == own else "#555555" for name in ordered.index]
    ax.hlines(range(len(ordered)), 1, ordered, color="#dddddd", lw=0.8)
    ax.scatter(ordered, range(len(ordered)), c=colours, s=34, zorder=3)
    for name, i in places.items():
        ax.annotate(
            f"{ordered[name]:.2f}", (ordered[name], i), (7, -3.5), textcoords="offset points"
        )
    right = ordered.max() + 0.6
    for j, (first, last) in enumerate(groups):
        at = right + 0.25 * j
        ax.plot([at, at], [places[first] - 0.2, places[last] + 0.2], color="#222222", lw=3)
    ax.plot([1, 1 + difference], [-1, -1], color="#222222", lw=2)
    ax.annotate(
        f"critical difference {difference:.2f}",
        (1 + difference, -1),
        (6, -3.5),
        textcoords="offset points",
    )
    ax.set_yticks(range(len(ordered)), [str(name) for name in ordered.index])
    ax.set_ylim(len(ordered) - 0.4, -1.6)
    ax.set_xlim(0.9, right + 0.25 * max(len(groups), 1))
    ax.set_xlabel("mean rank over the sets, 1 is best")
    despine(ax)
    return figure
