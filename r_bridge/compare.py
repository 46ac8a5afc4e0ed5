"""EWP, native sparse k-means and R's sparcl on the same data, from the same centroids.

`compare_with_sparcl` runs the three; below it are the measures of their agreement (partitions,
weights, selected features) and the picture: weights on the left, partitions against sparcl's on the
right. The method for `ewp.compare`, which repeats a comparison over many starts, is in
`r_bridge.method`.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import adjusted_rand_score

from ewp import EWP
from ewp.metrics import match_labels
from ewp.peers import SparseKMeans
from r_bridge import sparcl
from r_bridge.errors import RInputError, input_errors
from r_bridge.inputs import Data, check_bound, check_seed, check_start, read
from r_bridge.results import PrintedResult, selected

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "SparclComparison",
    "agreement_table",
    "compare_with_sparcl",
    "matched",
    "normalised",
    "plot_comparison",
]


@dataclass(frozen=True, repr=False)
class SparclComparison(PrintedResult):
    """Three methods on one data set; see :func:`compare_with_sparcl`.

    Attributes
    ----------
    table : DataFrame
        One row per method (``sparcl``, ``native``, ``EWP``): number of selected ``features``,
        ``ARI`` with sparcl's partition, correlation ``weight r`` with its weights, ``overlap`` of
        the selected features (shared by both among chosen by either), ``ARI truth`` if the groups
        are known.
    weights : DataFrame
        Weights, one column per method, each summing to 1.
    labels : DataFrame
        Clusters, one column per method, numbered as sparcl's as far as they match.
    centers : DataFrame
        Centroids from which all three started.
    wbound, lam : float
        Bound of the two sparse methods and penalty of EWP that were used.
    """

    table: pd.DataFrame
    weights: pd.DataFrame
    labels: pd.DataFrame
    centers: pd.DataFrame
    wbound: float
    lam: float

    def _heading(self) -> str:
        n, p = len(self.labels), len(self.weights)
        head = f"{n} rows, {p} features, {len(self.centers)} clusters; "
        return f"{head}wbound {self.wbound:.4g}, lambda {self.lam:.4g}"

    def _printed_table(self) -> pd.DataFrame:
        return self.table

    def plot(self, top: int = 15) -> Figure:
        """Draw the weights of the `top` heaviest features, and each partition against sparcl's."""
        return plot_comparison(self.weights, self.labels, top=top)


def compare_with_sparcl(
    X: ArrayLike | pd.DataFrame,
    k: int | None = None,
    *,
    y: ArrayLike | None = None,
    centers: ArrayLike | None = None,
    wbound: float | None = None,
    lam: float | str = "auto",
    tol: float = 1e-4,
    nperms: int = 25,
    seed: int | np.random.Generator | None = 0,
    **options: Any,
) -> SparclComparison:
    """Run EWP, native sparse k-means and sparcl from the same centroids.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, p)
        Data, used by all three as it is: standardise it beforehand where that is wanted.
    k : int, optional
        Number of clusters; may be left out if `centers` are given.
    y : array-like of shape (n,), optional
        Known groups, for an additional column of the table.
    centers : array-like of shape (k, p), optional
        Starting centroids. By default rows drawn by k-means++.
    wbound : float, optional
        Bound on the one-norm of the weights of sparse k-means. By default the one that sparcl's
        permutation gap prefers.
    lam : float or "auto", default "auto"
        Penalty of EWP.
    tol : float, default 1e-4
        Weights below this share of a method's largest count as zero.
    nperms : int, default 25
        Permutations for the choice of `wbound`.
    seed : int, Generator or None, default 0
        Seed of the centroids, of the permutations and of EWP.
    **options
        More options of :class:`ewp.EWP`; `scale` is None unless given.

    Returns
    -------
    SparclComparison
        Print it for the table, ``plot()`` it for the picture.

    Raises
    ------
    RBridgeError
        If R, rpy2 or sparcl is missing, the input is unfit, or sparcl stops.
    """
    data = read(X, columns=2)
    start = check_start(data.x, k, centers, least=2)
    wbound = check_bound(wbound)
    if not (isinstance(tol, numbers.Real) and 0 < tol < 1):
        raise RInputError(f"tol={tol!r} must be a number between 0 and 1")
    with input_errors():
        if y is not None and np.shape(y) != (len(data.x),):
            raise ValueError(f"y has shape {np.shape(y)}, but X has {len(data.x)} rows")
    seed = check_seed(seed)
    theta = start.centers
    if theta is None:
        theta, _ = kmeans_plusplus(data.x, start.k, random_state=seed)
    if wbound is None:
        wbound = sparcl.permute(data.x, K=start.k, nperms=nperms, seed=seed).bestw
    live = sparcl.kmeans_sparse_cluster(data.x, centers=theta, wbounds=wbound, seed=seed)[0]
    options = {"scale": None, "random_state": seed, **options}
    with input_errors():
        native = SparseKMeans(start.k, wbound=wbound, init=theta).fit(data.x)
        model = EWP(start.k, lam=lam, init=theta, **options).fit(data.x)
    found = {
        "sparcl": (live.labels.to_numpy(), live.weights.to_numpy()),
        "native": (native.labels_, native.feature_weights_),
        "EWP": (model.labels_, model.feature_weights_),
    }
    labels, weights = _side_by_side(found, data)
    truth = None if y is None else pd.Series(np.asarray(y), index=data.rows)
    return SparclComparison(
        table=agreement_table(labels, weights, "sparcl", truth, tol),
        weights=weights,
        labels=labels,
        centers=pd.DataFrame(theta, columns=data.columns),
        wbound=float(wbound),
        lam=float(model.lam_),
    )


def _side_by_side(
    found: dict[str, tuple[np.ndarray, NDArray[np.float64]]], data: Data
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Matched labels and normalised weights, one column per method."""
    reference = pd.Series(found["sparcl"][0], index=data.rows)
    labels = pd.DataFrame(
        {name: matched(pd.Series(x, index=data.rows), reference) for name, (x, _) in found.items()}
    )
    weights = pd.DataFrame(
        {name: normalised(pd.Series(w, index=data.columns)) for name, (_, w) in found.items()}
    )
    return labels, weights


# -- agreement ---------------------------------------------------------------------------------


def normalised(weights: pd.Series) -> pd.Series:
    """Weights on the scale common to all methods: they sum to 1."""
    return weights / weights.sum()


def matched(labels: pd.Series, reference: pd.Series) -> pd.Series:
    """The same partition, numbered so that it shares as many labels as possible with another.

    >>> reference = pd.Series([0, 0, 1, 1, 2])
    >>> matched(pd.Series([2, 2, 0, 0, 1]), reference).tolist()
    [0, 0, 1, 1, 2]
    """
    k = int(reference.max()) + 1
    numbers = match_labels(labels.to_numpy(), reference.to_numpy(), k)
    return pd.Series(numbers[labels], index=labels.index, name=labels.name)


def agreement_table(
    labels: pd.DataFrame,
    weights: pd.DataFrame,
    reference: str,
    y: pd.Series | None = None,
    tol: float = 1e-4,
) -> pd.DataFrame:
    """One row per method: what it selected, and how far it agrees with the reference.

    Parameters
    ----------
    labels, weights : DataFrame
        One column per method.
    reference : str
        Method the others are compared with.
    y : Series, optional
        Known groups; adds the column ``ARI truth``.
    tol : float, default 1e-4
        Weights below this share of a method's largest count as zero.

    Returns
    -------
    DataFrame
        ``features``, number selected; ``ARI``, adjusted Rand index of the partitions;
        ``weight r``, correlation of the weights (missing where one of them is constant);
        ``overlap``, features selected by both among those selected by either.
    """
    chosen = {name: set(selected(weights[name], tol)) for name in weights}
    rows = {}
    for name in labels:
        both = chosen[name] & chosen[reference]
        either = chosen[name] | chosen[reference]
        rows[name] = {
            "features": len(chosen[name]),
            "ARI": adjusted_rand_score(labels[reference], labels[name]),
            "weight r": _correlation(weights[name], weights[reference]),
            "overlap": len(both) / len(either),
        }
        if y is not None:
            rows[name]["ARI truth"] = adjusted_rand_score(y, labels[name])
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")
    return table.astype({"features": int})


def _correlation(a: pd.Series, b: pd.Series) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


# -- the picture -------------------------------------------------------------------------------

#: Marker and colour of each method; people with any colour vision tell the colours apart.
_STYLES = (("s", "#0072B2"), ("x", "#E69F00"), ("o", "#009E73"))
_INK = "#333333"
_MOST_COUNTED = 12


def plot_comparison(weights: pd.DataFrame, labels: pd.DataFrame, *, top: int = 15) -> Figure:
    """Draw the heaviest features of several methods, and each partition against the first one.

    Parameters
    ----------
    weights : DataFrame
        One row per feature and one column per method, each summing to 1.
    labels : DataFrame
        One row per observation and one column per method; the first is the reference.
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
        marker, color = _STYLES[i % len(_STYLES)]
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
