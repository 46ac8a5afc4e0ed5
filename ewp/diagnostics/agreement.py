"""How two clusterings of the same rows agree: partitions, clusters and weights side by side.

The other clustering may be a fit of this package, a fitted estimator of this or another, or just
labels with the weights that came with them. Rows and features are brought together by their names
where both sides have names, else by their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import entr
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from ewp.common.checks import check_integer
from ewp.common.types import Array, FittedResults
from ewp.display.axes import (
    INK,
    PALETTE,
    heaviest_rows,
    height_of_rows,
    legend_above,
    name_rows,
    new_axes,
    start_at_zero,
)
from ewp.display.formatting import MAX_CLUSTERS, fixed, one_line, short
from ewp.display.summary import EWPSummary, SummaryMixin, render_table, shown_cells
from ewp.metrics import centroid_order, match_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["Agreement", "compare_to"]

#: Columns up to which the shared rows are printed, cells up to which a picture shows numbers, and
#: letters of a name beyond which names stand upright.
_MOST_COLUMNS, _MOST_NUMBERS, _WIDE = 8, 400, 12
#: Opacity of a cell that has all rows of its cluster; numbers are to be read on it.
_DARKEST = 0.6


@dataclass(eq=False, repr=False)
class Agreement(SummaryMixin):
    """Two clusterings of the same rows.

    Instances come from :meth:`ewp.EWPResults.compare_to`.

    Attributes
    ----------
    ari, nmi : float
        Adjusted Rand index and normalised mutual information (arithmetic mean) on the common
        rows.
    labels : pandas.DataFrame
        Columns ``this`` and ``other``: the clusters of the common rows, those of the other
        clustering renumbered by the Hungarian method so that as many rows as possible agree.
    clusters : pandas.DataFrame
        One row for each cluster: ``size``, the name of the cluster that is matched with it
        (``other``), its size (``other_size``), ``shared`` (rows in both) and ``jaccard`` (shared
        rows among those in either). Clusters that share no row are not matched: those of this fit
        have no name beside them, and those of the other clustering have rows of their own below.
    numbers : pandas.Series
        The new number of each cluster of the other clustering, by its own name.
    weights : pandas.DataFrame or None
        One row per feature: ``this``, ``other`` (both sum to 1) and ``difference``, other minus
        this; None if the other clustering has no weights.
    centroid_distance : float
        Root mean square distance of matched centroids in this fit's metric; NaN if unknown.
    names : tuple of str
        What the two are called in tables and pictures.
    """

    ari: float
    nmi: float
    labels: pd.DataFrame
    clusters: pd.DataFrame
    numbers: pd.Series
    weights: pd.DataFrame | None
    centroid_distance: float
    names: tuple[str, str]

    def __post_init__(self) -> None:
        self.names = _pair(self.names)
        if "other" not in self.clusters:  # in files of before
            self.clusters.insert(1, "other", _names_of(self.numbers, len(self.clusters)))

    @property
    def overlap(self) -> pd.DataFrame:
        """Number of rows by cluster of this fit (rows) and of the other one (columns, by name)."""
        known = self.numbers.sort_values(kind="stable")
        mine = self.clusters.index[: self.n_clusters]
        counts = pd.crosstab(self.labels["this"], self.labels["other"])
        table = counts.reindex(index=mine, columns=known.to_numpy(), fill_value=0)
        return table.set_axis(known.index, axis=1).rename_axis(index="cluster", columns=None)

    @property
    def n_clusters(self) -> int:
        """Number of clusters of this fit."""
        alone = self.clusters["size"].loc[self.numbers] == 0
        return len(self.clusters) - int(alone.sum())

    @property
    def same(self) -> float:
        """Share of the common rows that are in matched clusters."""
        return float((self.labels["this"] == self.labels["other"]).mean())

    @property
    def weight_distance(self) -> float:
        """Total variation distance of the weights: the weight that would have to move."""
        if self.weights is None:
            return float("nan")
        return float(0.5 * self.weights["difference"].abs().sum())

    @property
    def effective_features(self) -> tuple[float, float]:
        """Exponential of the entropy of each side's weights."""
        if self.weights is None:
            return float("nan"), float("nan")
        this, other = (float(np.exp(entr(self.weights[side]).sum())) for side in ("this", "other"))
        return this, other

    def summary(self, top: int = 10) -> EWPSummary:
        """Tables of clusters and of the weights that differ most, and the figures in words."""
        return summarise_agreement(self, top)

    def plot(self, ax: Axes | None = None, top: int = 20) -> Axes:
        """Draw the weights of both side by side, heaviest features on top.

        Where the other clustering has no weights, the rows that clusters share are drawn, as by
        `plot_overlap`.

        Parameters
        ----------
        ax : Axes, optional
        top : int, default 20
            Number of features.

        Returns
        -------
        Axes
        """
        if self.weights is None:
            return self.plot_overlap(ax)
        return plot_agreement(self.weights, self.names, top=top, ax=ax)

    def plot_overlap(self, ax: Axes | None = None) -> Axes:
        """Draw how the rows of each cluster are spread over those of the other clustering.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        Axes
        """
        return plot_overlap(self.overlap, self.names, ax=ax)

    def __repr__(self) -> str:
        return (
            f"Agreement: ARI {fixed(self.ari, 3)}, NMI {fixed(self.nmi, 3)} on "
            f"{len(self.labels)} rows, {fixed(100 * self.same, 1)} % in matched clusters"
        )


def _pair(names: Any) -> tuple[str, str]:
    """Check what the two clusterings are to be called."""
    pair = tuple(names) if isinstance(names, tuple | list) else ()
    if len(pair) != 2 or not all(isinstance(name, str) for name in pair) or pair[0] == pair[1]:
        raise ValueError(f"names={names!r} must be two different texts, such as ('EWP', 'sparcl')")
    return pair[0], pair[1]


class _Other(NamedTuple):
    labels: pd.Series
    weights: pd.Series | None
    centroids: Array | None
    named_rows: bool


def compare_to(
    results: FittedResults,
    /,
    other: Any,
    weights: Any = None,
    *,
    names: tuple[str, str] = ("this", "other"),
) -> Agreement:
    """Compare with another clustering of the same rows.

    Parameters
    ----------
    results : EWPResults
        The fit, where this is not called as a method of it.
    other : EWPResults, fitted estimator or array-like of labels
        Another fit, one of sparcl's included; an estimator with ``labels_`` (and perhaps
        ``feature_weights_`` and ``cluster_centers_``); or labels of any type. A Series is
        matched by the names of its rows.
    weights : array-like, pandas.Series or dict of p weights, optional
        Weights of the features in the other clustering, if `other` does not hold them; on any
        scale, they are divided by their sum.
    names : pair of str, default ("this", "other")
        What to call the two.

    Returns
    -------
    Agreement
        With ``ari``, ``nmi``, matched ``labels``, ``clusters``, ``weights``, ``summary()`` and
        ``plot()``; kept as ``agreement_``.

    Examples
    --------
    >>> import ewp
    >>> from ewp.datasets import make_simulation2
    >>> X, y, _ = make_simulation2(3, n=150, p=5, random_state=0)
    >>> results = ewp.fit(X, 3, lam=0.05 * len(X), random_state=0)
    >>> found = results.compare_to([f"class {c}" for c in y])
    >>> found
    Agreement: ARI 1.000, NMI 1.000 on 150 rows, 100.0 % in matched clusters
    >>> sorted(found.clusters["other"])
    ['class 0', 'class 1', 'class 2']
    """
    names = _pair(names)
    known = _understand(other, weights, results)
    this, that = _common_rows(results.labels, known)
    coded, originals = pd.factorize(that, sort=True)
    k = results.n_clusters
    positions = results.centroids.index.get_indexer(pd.Index(this))
    numbers = _matched_numbers(coded, positions, k)
    matched = numbers[coded]
    called = pd.Series(numbers, index=pd.Index(originals, name="cluster"), name="number")
    clusters = _clusters(positions, matched, max(k, int(numbers.max()) + 1), called)
    table, distance = None, float("nan")
    if known.weights is not None:
        table = _weights(results.mean_weights, known.weights)
    theta, w, _, scale = results.common_metric()
    if known.centroids is not None and known.centroids.shape == theta.shape:
        metric = w / scale**2
        made = results.decorrelation
        others = known.centroids if made is None else made.apply(known.centroids)
        gap = others[centroid_order(others, theta, metric)] - theta
        distance = float(np.sqrt((gap**2 @ metric).mean()))
    return Agreement(
        ari=float(adjusted_rand_score(positions, coded)),
        nmi=float(normalized_mutual_info_score(positions, coded)),
        labels=pd.DataFrame({"this": positions, "other": matched}, index=this.index),
        clusters=clusters,
        numbers=called,
        weights=table,
        centroid_distance=distance,
        names=names,
    )


def _attribute(other: Any, *names: str) -> Any:
    """First of these attributes that the object has, else None."""
    return next((getattr(other, name) for name in names if hasattr(other, name)), None)


def _understand(other: Any, weights: Any, results: FittedResults) -> _Other:
    """Labels, weights and centroids of whatever the other clustering is."""
    theta = None
    labels = _attribute(other, "labels", "labels_")
    if labels is None:
        if hasattr(other, "fit"):
            raise ValueError(f"{other!r} has no labels_: fit it first, or pass its labels")
        labels = other
    else:
        theta = _attribute(other, "centroids", "cluster_centers_")
        if weights is None:
            weights = _attribute(other, "mean_weights", "feature_weights_", "weights")
            if np.ndim(weights) == 2 and np.shape(weights) == np.shape(theta):
                weights = None  # every cluster has its own
    labels = _single(labels)
    named = isinstance(labels, pd.Series)
    series = labels if named else pd.Series(labels)
    known = None
    if weights is not None:
        weights = pd.Series(weights) if isinstance(weights, Mapping) else weights
        known = weights = _single(weights) if isinstance(weights, pd.DataFrame) else weights
        if not isinstance(weights, pd.Series):
            if np.shape(weights) != (results.n_features,):
                raise ValueError(
                    f"weights of shape {np.shape(weights)} were given, but the fit has "
                    f"{results.n_features} features; pass a Series with the features' names"
                )
            known = pd.Series(np.asarray(weights), index=results.feature_names)
        values = known.to_numpy(dtype=float)
        if not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
            raise ValueError("weights must be finite and not negative, and not all zero")
    if isinstance(theta, pd.DataFrame):
        same = list(map(str, theta.columns)) == list(map(str, results.feature_names))
        theta = theta if same else None
    centroids = None if theta is None else np.asarray(theta, dtype=float)
    return _Other(series, known, centroids, named)


def _single(labels: Any) -> Any:
    """A Series or a vector; a table of several clusterings is refused."""
    values = labels if isinstance(labels, pd.Series | pd.DataFrame) else np.asarray(labels)
    if values.ndim == 2 and values.shape[1] == 1:
        return values.iloc[:, 0] if isinstance(values, pd.DataFrame) else values[:, 0]
    if values.ndim == 0:
        raise ValueError(
            f"{labels!r} is no clustering: give results, a fitted estimator or labels of the rows"
        )
    if values.ndim != 1:
        raise ValueError(
            f"one clustering is needed, but the other has labels of shape {values.shape}; choose "
            "one, such as other[0] of several bounds of sparcl"
        )
    return values


def _common_rows(labels: pd.Series, other: _Other) -> tuple[pd.Series, pd.Series]:
    """Rows that both have: by name, or by position where there are no names."""
    that = other.labels
    if that.isna().any():
        raise ValueError("the other labels contain missing values; drop those rows")
    nameless = [index.equals(pd.RangeIndex(len(index))) for index in (labels.index, that.index)]
    if len(that) == len(labels) and (any(nameless) or that.index.equals(labels.index)):
        return labels, that.set_axis(labels.index)
    if not other.named_rows or all(nameless):
        raise ValueError(
            f"{len(that)} labels cannot be matched with the {len(labels)} rows of the fit; "
            "pass a Series with the names of the rows"
        )
    if not (that.index.is_unique and labels.index.is_unique):
        raise ValueError("rows cannot be matched by names that occur more than once")
    common = labels.index.intersection(that.index)
    if not len(common):
        raise ValueError("the two clusterings have no rows in common")
    return labels.loc[common], that.loc[common]


def _matched_numbers(coded: np.ndarray, positions: np.ndarray, k: int) -> np.ndarray:
    """New numbers of the other clusters; those that share no row with theirs get none below k."""
    numbers = match_labels(coded, positions, k)
    shared = np.bincount(coded[numbers[coded] == positions], minlength=len(numbers))
    numbers[shared == 0] = k + np.arange(np.count_nonzero(shared == 0))
    return numbers


def _names_of(numbers: pd.Series, count: int) -> list[str]:
    """Names of the other clusters by their new numbers, empty where there is none."""
    names = {int(number): str(name) for name, number in numbers.items()}
    return [names.get(number, "") for number in range(count)]


def _clusters(this: np.ndarray, other: np.ndarray, count: int, numbers: pd.Series) -> pd.DataFrame:
    size, other_size = (np.bincount(labels, minlength=count) for labels in (this, other))
    shared = np.bincount(this[this == other], minlength=count)
    union = size + other_size - shared
    table = {
        "size": size,
        "other": _names_of(numbers, count),
        "other_size": other_size,
        "shared": shared,
        "jaccard": np.divide(shared, union, out=np.zeros(count), where=union > 0),
    }
    return pd.DataFrame(table, index=pd.RangeIndex(count, name="cluster"))


def _weights(this: pd.Series, other: pd.Series) -> pd.DataFrame:
    """Both sides' weights on all features of either; a feature that one lacks has none there."""
    if len(this) == len(other) and list(map(str, this.index)) == list(map(str, other.index)):
        index, columns = this.index, [this, other]
    else:
        if not (this.index.is_unique and other.index.is_unique):
            raise ValueError("features cannot be matched by names that occur more than once")
        index = this.index.append(other.index.difference(this.index, sort=False))
        columns = [w.reindex(index, fill_value=0.0) for w in (this, other)]
    first, second = (w.to_numpy(dtype=float) / float(w.sum()) for w in columns)
    return pd.DataFrame({"this": first, "other": second, "difference": second - first}, index=index)


def summarise_agreement(found: Agreement, top: int) -> EWPSummary:
    """Clusters side by side, then the weights that differ most."""
    check_integer("top", top, least=1)
    this, other = found.names
    clusters = shown_cells(found.clusters.head(MAX_CLUSTERS))
    clusters.index = pd.Index(
        [
            f"cluster {name}" if number < found.n_clusters else "no cluster"
            for number, name in enumerate(clusters.index)
        ]
    )
    clusters["other"] = [one_line(name) or "none" for name in clusters["other"]]
    clusters = clusters.rename(columns={"size": this, "other": "matched with", "other_size": other})
    notes = [
        f"ARI {fixed(found.ari, 4)}, NMI {fixed(found.nmi, 4)}; "
        f"{fixed(100 * found.same, 1)} % of the {len(found.labels)} common rows are in matched "
        "clusters."
    ]
    if len(found.clusters) > MAX_CLUSTERS:
        notes.append(f"... and {len(found.clusters) - MAX_CLUSTERS} more clusters.")
    if np.isfinite(found.centroid_distance):
        notes.append(
            f"Matched centroids are {short(found.centroid_distance, 3)} apart (root mean square, "
            f"in the metric of {this})."
        )
    summary = render_table(f"Two clusterings: {this} and {other}", clusters, [])
    overlap = found.overlap
    if len(overlap) <= MAX_CLUSTERS and overlap.shape[1] <= _MOST_COLUMNS:
        overlap.columns = pd.Index([one_line(name) for name in overlap.columns])
        summary.add_df(overlap.set_axis([f"cluster {name}" for name in overlap.index]).astype(str))
        notes.append(
            f"{this}, {other}: numbers of rows; shared: rows in both; jaccard: shared rows among "
            f"those in either. The second table counts the rows of each cluster by {other}."
        )
    if found.weights is not None:
        order = np.argsort(-found.weights["difference"].abs().to_numpy(), kind="stable")[:top]
        table = found.weights.iloc[order].rename(columns={"this": this, "other": other})
        summary.add_df(shown_cells(table))
        first, second = found.effective_features
        notes.append(
            f"{fixed(100 * found.weight_distance, 1)} % of the weight is on other features; "
            f"effective features {short(first, 3)} and {short(second, 3)}. Features by the size of "
            "the difference."
        )
    for note in notes:
        summary.add_text(note)
    return summary


def plot_overlap(table: pd.DataFrame, names: tuple[str, str], *, ax: Axes | None = None) -> Axes:
    """Draw a table of shared rows: numbers, shaded by their share of the cluster.

    Parameters
    ----------
    table : DataFrame
        `Agreement.overlap`.
    names : pair of str
        What the two clusterings are called.
    ax : Axes, optional
    """
    counts = table.to_numpy(dtype=float)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    height, width = counts.shape
    if ax is None:
        ax = new_axes((max(2.0 + 0.8 * width, 4.8), height_of_rows(height, 1.8)))[0]
    for (i, j), part in np.ndenumerate(share):
        ax.axvspan(
            j - 0.5,
            j + 0.5,
            ymin=1 - (i + 1) / height,
            ymax=1 - i / height,
            color=PALETTE[0],
            alpha=_DARKEST * part,
            linewidth=0,
        )
        if counts.size <= _MOST_NUMBERS:
            ax.text(j, i, f"{counts[i, j]:.0f}", ha="center", va="center", color=INK)
    ax.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), ylabel=names[0])
    ax.set_yticks(range(height), [f"cluster {name}" for name in table.index])
    called = [one_line(name) for name in table.columns]
    upright = max(map(len, called)) > _WIDE
    ax.set_xticks(range(width), called, rotation=90 if upright else 0)
    ax.set_xlabel(f"{names[1]}\nnumbers of rows; shade: share of the cluster")
    ax.tick_params(length=0)
    return ax


def plot_agreement(
    table: pd.DataFrame, names: tuple[str, str], *, top: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw two sets of weights side by side, heaviest features on top.

    Parameters
    ----------
    table : DataFrame
        `Agreement.weights`.
    names : pair of str
        What the two are called.
    top : int, default 20
        Number of features.
    ax : Axes, optional
    """
    heaviest = table[["this", "other"]].to_numpy(dtype=float).max(axis=1)
    shown = heaviest_rows(table, heaviest, top)
    ax = new_axes((6.4, height_of_rows(len(shown), 1.5)))[0] if ax is None else ax
    rows = np.arange(len(shown))
    ends = shown[["this", "other"]]
    ax.hlines(rows, ends.min(axis=1), ends.max(axis=1), color="#BBBBBB", linewidth=2, zorder=2)
    for side, colour, marker, name in zip(
        ("this", "other"), (PALETTE[0], PALETTE[3]), ("o", "D"), names, strict=True
    ):
        ax.plot(shown[side], rows, marker, color=colour, markersize=5.5, label=name, zorder=3)
    name_rows(ax, shown.index)
    start_at_zero(ax, ends.to_numpy())
    rest = len(table) - len(shown)
    ax.set_xlabel("weight" + (f"\n{rest} more features" if rest else ""))
    legend_above(ax)
    return ax
