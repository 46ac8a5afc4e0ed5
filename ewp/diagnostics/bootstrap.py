"""What resamples say of weights and centroids: intervals, frequencies, words and picture.

`ewp.diagnostics.resampling` makes the resamples, `ewp.diagnostics.intervals` knows the kinds of
intervals. How often the clusters are found again stands beside the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp.common.checks import check_choice, check_integer, check_number, listing
from ewp.common.types import Array
from ewp.diagnostics.intervals import (
    LEVEL,
    Interval,
    bca_interval,
    choose_interval,
    kinds_in_words,
    logistic,
    logit,
    percentile_interval,
    resamples_in_words,
    warn_of_few,
)
from ewp.diagnostics.stability import DISSOLVED, similarity_table
from ewp.display.axes import heaviest_rows
from ewp.display.formatting import (
    INTERVAL_METHODS,
    MAX_CLUSTERS,
    interval_table,
    one_line,
    scientific,
    short,
    whole_percent,
)
from ewp.display.plots import plot_intervals
from ewp.display.profile_plots import plot_cluster_intervals
from ewp.display.summary import (
    CONDITIONAL,
    INTERRUPTED,
    EWPSummary,
    SummaryMixin,
    render_table,
    shown_cells,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["BootstrapResults"]

_TINY = 1e-300
_LOCAL = (
    "Resamples are fitted from this fit's estimates; whether other clusters would be found from "
    "scratch is what start='scratch' and stability() ask."
)
_MAX_PAIRS = 5
#: Features in a summary; of clusters with weights of their own as many each as make so many lines
#: in all, but not fewer than the last number.
_TOP, _LINES, _FEWEST = 10, 30, 3
#: Clusters that a sentence names.
_MAX_CLUSTERS = 10


@dataclass(eq=False, repr=False)
class BootstrapResults(SummaryMixin):
    """Estimates from resamples of the rows, and what follows from them.

    Instances come from :meth:`ewp.EWPResults.bootstrap`.

    Attributes
    ----------
    weights : pandas.Series or pandas.DataFrame
        The fit's weights; one row of them per cluster, where every cluster has its own.
    centroids : pandas.DataFrame
        The fit's centroids.
    weight_draws : ndarray of shape (n_boot, p) or (n_boot, k, p)
        Weights in the resamples, of clusters in the order of the fit's.
    centroid_shifts : ndarray of shape (n_boot, k, p)
        Centroids in the resamples minus the fit's, in data units.
    weight_jackknife, centroid_jackknife : ndarray
        The same with one part of the rows after the other left out.
    threshold : float
        A feature with more weight than this counts as selected.
    converged : float
        Share of the resamples whose fit converged.
    complete : bool
        False if the resampling was interrupted.
    similarity : ndarray of shape (n_boot, k) or None
        Jaccard similarity of every cluster to the most similar one of every resample; None in
        files of before version 0.2, which do not have it.
    start : {"scratch", "estimates"}
        What resamples were fitted from.
    """

    weights: pd.Series | pd.DataFrame
    centroids: pd.DataFrame
    weight_draws: Array
    centroid_shifts: np.ndarray
    weight_jackknife: Array
    centroid_jackknife: np.ndarray
    threshold: float
    converged: float
    complete: bool
    similarity: Array | None = None
    start: str = "estimates"

    @property
    def n_boot(self) -> int:
        """Number of resamples that were finished."""
        return len(self.weight_draws)

    @property
    def by_cluster(self) -> bool:
        """Whether every cluster has feature weights of its own."""
        return isinstance(self.weights, pd.DataFrame)

    @property
    def _features(self) -> pd.Index:
        """Names of the features."""
        return (
            self.weights.columns if isinstance(self.weights, pd.DataFrame) else self.weights.index
        )

    @property
    def selection_frequency(self) -> pd.Series | pd.DataFrame:
        """Share of the resamples in which a feature has more weight than the threshold.

        Of the shape of `weights`: one row per cluster, where every cluster has weights of its own.
        """
        share = (self.weight_draws > self.threshold).mean(axis=0)
        if isinstance(self.weights, pd.DataFrame):
            return pd.DataFrame(share, index=self.weights.index, columns=self.weights.columns)
        return pd.Series(share, index=self.weights.index, name="selected")

    @property
    def clusters(self) -> pd.DataFrame:
        """One row per cluster: how it fared in the resamples, as `stability` tells it.

        Columns ``jaccard`` (mean similarity to the most similar cluster of a resample),
        ``jaccard_sd``, ``dissolved`` and ``recovered`` (numbers of resamples with a similarity of
        at most 0.5, where the cluster is another one, and above 0.75).
        """
        if self.similarity is None:
            raise ValueError(
                "these resamples come from a file of an earlier version, which did not keep how "
                "similar their clusters were; run bootstrap() again"
            )
        index = pd.Index(self.centroids.index, name="cluster")
        return pd.DataFrame(similarity_table(self.similarity), index=index)

    def _table(self, columns: dict[str, np.ndarray]) -> pd.DataFrame:
        """Figures of all weights as a table, cluster after cluster where these have their own."""
        if not isinstance(self.weights, pd.DataFrame):
            return pd.DataFrame(columns, index=self.weights.index)
        k, p = self.weights.shape
        names = [np.repeat(self.weights.index, p), np.tile(self.weights.columns, k)]
        index = pd.MultiIndex.from_arrays(names, names=["cluster", "feature"])
        return pd.DataFrame({name: np.ravel(part) for name, part in columns.items()}, index=index)

    def _jumps(self, level: float) -> np.ndarray:
        """Which clusters are other ones in more resamples than lie beyond an end of an interval."""
        if self.similarity is None:
            return np.zeros(len(self.centroids), dtype=bool)
        found: np.ndarray = (self.similarity <= DISSOLVED).mean(axis=0) > (1.0 - level) / 2
        return found

    def weight_intervals(self, level: float = LEVEL, method: str = "auto") -> pd.DataFrame:
        r"""Interval of every feature's weight.

        Computed on the scale :math:`\log(w_l / (1 - w_l))`, the log-ratio of a feature to all
        the others together, on which the simplex has no edge.

        Parameters
        ----------
        level : float, default 0.95
        method : {"auto", "bca", "percentile"}, default "auto"
            "auto" takes BCa where its assumptions hold and percentiles otherwise: without a
            jackknife, where clusters are other ones in more resamples than lie beyond an end of
            the interval (where every cluster has weights of its own: where the cluster itself
            is), where BCa's ends lie beyond the resamples, and where resamples spread otherwise
            than the jackknife. ``summary()`` says which and why.

        Returns
        -------
        pandas.DataFrame
            Columns ``weight``, ``lower``, ``upper``, ``se`` (standard deviation over the
            resamples), ``bias`` (their mean minus the weight), ``selected`` and ``method``. One row
            per feature; where every cluster has weights of its own, one per cluster and feature,
            which are the levels of its index: ``table.loc[0]`` is the table of cluster 0.
        """
        w = self.weights.to_numpy(dtype=float)
        found = self._weight_ends(level, method)
        table = {
            "weight": w,
            "lower": logistic(found.lower),
            "upper": logistic(found.upper),
            "se": self.weight_draws.std(axis=0),
            "bias": self.weight_draws.mean(axis=0) - w,
            "selected": self.selection_frequency.to_numpy(),
            "method": _methods(found),
        }
        return self._table(table)

    def _weight_ends(self, level: float, method: str = "auto") -> Interval:
        """Intervals of the weights on the logit scale."""
        return self._ends(
            logit(self.weight_draws),
            logit(self.weights.to_numpy(dtype=float)),
            logit(self.weight_jackknife),
            level,
            method,
            of_clusters=self.by_cluster,
        )

    def log_ratios(
        self, reference: Any = None, level: float = LEVEL, method: str = "auto"
    ) -> pd.DataFrame:
        """Interval of every feature's log-ratio.

        Parameters
        ----------
        reference : feature name, optional
            Additive log-ratios, to this feature. By default centred log-ratios: to the geometric
            mean of all features that have any weight, in the same cluster.
        level : float, default 0.95
        method : {"auto", "bca", "percentile"}, default "auto"
            As in `weight_intervals`.

        Returns
        -------
        pandas.DataFrame
            Columns ``log_ratio``, ``lower``, ``upper``, ``method``; rows as in
            `weight_intervals`.
        """
        w = self.weights.to_numpy(dtype=float)
        position: Any = w > 0
        if reference is not None:
            if reference not in self._features:
                raise ValueError(f"no feature is called {reference!r}")
            position = [self._features.get_loc(reference)]

        def scale(w: Array) -> Array:
            logs = np.log(np.maximum(w, _TINY))
            if self.by_cluster and reference is None:  # clusters differ in the features with weight
                return logs - logs.mean(axis=-1, keepdims=True, where=position)
            return logs - logs[..., position].mean(axis=-1, keepdims=True)

        estimate = scale(w)
        found = self._ends(
            scale(self.weight_draws),
            estimate,
            scale(self.weight_jackknife),
            level,
            method,
            of_clusters=self.by_cluster,
        )
        table = {
            "log_ratio": estimate,
            "lower": found.lower,
            "upper": found.upper,
            "method": _methods(found),
        }
        return self._table(table)

    def centroid_intervals(self, level: float = LEVEL, method: str = "auto") -> pd.DataFrame:
        """Interval of every coordinate of every centroid, in data units.

        Parameters
        ----------
        level : float, default 0.95
        method : {"auto", "bca", "percentile"}, default "auto"
            As in `weight_intervals`, but only the cluster itself needs to be found again for BCa.

        Returns
        -------
        pandas.DataFrame
            One row per cluster and feature: columns ``cluster``, ``feature``, ``centroid``,
            ``lower``, ``upper``, ``se``, ``method``.
        """
        theta = self.centroids.to_numpy(dtype=float)
        shifts = np.asarray(self.centroid_shifts, dtype=np.float64)
        found = self._ends(
            shifts,
            np.zeros_like(theta),
            np.asarray(self.centroid_jackknife, dtype=np.float64),
            level,
            method,
            of_clusters=True,
        )
        k, p = theta.shape
        return pd.DataFrame(
            {
                "cluster": np.repeat(self.centroids.index.to_numpy(), p),
                "feature": np.tile(self.centroids.columns.to_numpy(), k),
                "centroid": theta.ravel(),
                "lower": (theta + found.lower).ravel(),
                "upper": (theta + found.upper).ravel(),
                "se": shifts.std(axis=0).ravel(),
                "method": _methods(found).ravel(),
            }
        )

    def _ends(
        self,
        draws: Array,
        estimate: Array,
        jackknife: Array,
        level: float,
        method: str,
        *,
        of_clusters: bool = False,
    ) -> Interval:
        check_number("level", level, above=0, below=1)
        check_choice("method", method, ("auto", "bca", "percentile"))
        if level > LEVEL:  # with fewer than the usual level needs bootstrap() has warned
            warn_of_few(self.n_boot, level)
        if method == "auto":
            jumps = self._jumps(level)
            where = jumps[:, None] if of_clusters else jumps.any(keepdims=True)
            return choose_interval(draws, estimate, jackknife, level, where)
        if method == "percentile":
            return Interval(*percentile_interval(draws, level), np.ones(draws.shape[1:], dtype=int))
        if len(jackknife) < 2:
            raise ValueError(
                "BCa intervals need the jackknife: run bootstrap(n_jackknife=50), or ask for "
                "method='percentile'"
            )
        ends = bca_interval(draws, estimate, jackknife, level)
        return Interval(*ends, np.zeros(draws.shape[1:], dtype=int))

    def notes(self, level: float = LEVEL) -> list[str]:
        """Sentences on the intervals of weights, the number of resamples, the clusters in them."""
        return self.interval_notes(level) + self._stability_notes()

    def interval_notes(self, level: float = LEVEL) -> list[str]:
        """Sentences on the kinds of the weights' intervals, and on the number of resamples."""
        return [
            *resamples_in_words(self.n_boot, level),
            *kinds_in_words(self._weight_ends(level), "weight"),
        ]

    def _stability_notes(self) -> list[str]:
        """How often the clusters are other ones."""
        if self.similarity is None:
            return []
        dissolved = self.clusters["dissolved"]
        worst = dissolved[dissolved > 0].sort_values(ascending=False, kind="stable")
        if worst.empty:
            known = ", which were fitted from this fit" if self.start == "estimates" else ""
            return [
                f"Every cluster is found again in all resamples{known}: Jaccard similarity above "
                "0.5."
            ]
        named = [f"in {count} cluster {name}" for name, count in worst.items()]
        first, others = named[0].replace(" cluster", f" of {self.n_boot} resamples cluster"), ""
        if len(named) > 1:
            others = ", " + ", ".join(named[1:_MAX_CLUSTERS])
        more = len(worst) - _MAX_CLUSTERS
        tail = f", ... and {more} more" if more > 0 else ""
        notes = [
            f"{first[0].upper()}{first[1:]} is another one (Jaccard similarity of at most 0.5)"
            f"{others}{tail}."
        ]
        if self._jumps(LEVEL).any():
            notes.append(
                "So other rows may give other clusters: intervals are about whatever solution is "
                "found, not about these clusters."
            )
        return notes

    def rank_switches(self, top: int = 20, least: float = 0.05) -> pd.DataFrame:
        """Pairs of features whose order by weight is not the same in all resamples.

        Parameters
        ----------
        top : int, default 20
            Number of the heaviest features among which pairs are looked for.
        least : float, default 0.05
            Smallest share of the resamples in which a pair changes places.

        Returns
        -------
        pandas.DataFrame
            Columns ``heavier`` and ``lighter`` (in the fit) and ``switched``, the share of
            resamples in which the order is the other one; most frequent first. Where every cluster
            has weights of its own, pairs are those within a cluster, which is the first column.
        """
        check_integer("top", top, least=2)
        check_number("least", least, above=0, below=1)
        names, weights = self._features.to_numpy(), self.weights.to_numpy(dtype=float)
        if not self.by_cluster:
            return _switches(weights, self.weight_draws, names, top, least)
        each = [
            _switches(w, self.weight_draws[:, j], names, top, least) for j, w in enumerate(weights)
        ]
        for name, pairs in zip(self.weights.index, each, strict=True):
            pairs.insert(0, "cluster", name)
        together = pd.concat(each, ignore_index=True)
        return together.sort_values("switched", ascending=False, kind="stable", ignore_index=True)

    def summary(self, top: int | None = None, level: float = LEVEL) -> EWPSummary:
        """Table of the heaviest features with their intervals, and notes in words.

        Parameters
        ----------
        top : int, optional
            Number of features, heaviest first; those of every cluster, where these have weights of
            their own. By default 10, or as many for each of some clusters as make 30 lines, but at
            least 3.
        level : float, default 0.95
        """
        return summarise_bootstrap(self, top, level)

    def plot(
        self,
        ax: Axes | None = None,
        top: int = 20,
        level: float = LEVEL,
        cluster: Any = None,
    ) -> Axes:
        """Draw weights with intervals beside selection frequencies.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw the intervals alone. By default a new figure with the frequencies
            beside them.
        top : int, default 20
            Number of features, heaviest first.
        level : float, default 0.95
        cluster : optional
            Where every cluster has weights of its own, the cluster that is drawn. By default all
            of up to 12, one panel each, which share their features and their axis.

        Returns
        -------
        Axes
            That of the intervals, of the first cluster if there are several.
        """
        table = self.weight_intervals(level)
        if not self.by_cluster:
            if cluster is not None:
                raise ValueError(
                    f"cluster={cluster!r}: all clusters have the same weights; leave it out"
                )
            return plot_intervals(table, level, top=top, ax=ax)
        if cluster is not None:
            if cluster not in self.weights.index:
                known = listing(list(self.weights.index))
                raise ValueError(f"cluster={cluster!r} is none of the clusters {known}")
            return plot_intervals(table.loc[cluster], level, top=top, ax=ax)
        if ax is not None:
            raise ValueError(
                "ax is one panel, but every cluster has weights of its own: say which one to draw, "
                "such as cluster=0, or leave ax out"
            )
        return plot_cluster_intervals(table, level, top=top)

    def __repr__(self) -> str:
        k, p = self.centroids.shape
        state = "" if self.complete else ", interrupted"
        whose = f"{k} x {p}" if self.by_cluster else str(p)
        return (
            f"BootstrapResults: {self.n_boot} resamples{state}, {whose} weights, "
            f"{k} x {p} centroids"
        )


def _switches(
    weights: Array, draws: Array, names: np.ndarray, top: int, least: float
) -> pd.DataFrame:
    """Pairs of one set of weights whose order is not the same in all resamples."""
    order = np.argsort(-weights, kind="stable")[:top]
    drawn = draws[:, order]
    first, second = np.triu_indices(len(order), 1)
    share = (drawn[:, second] > drawn[:, first]).mean(axis=0)
    hit = np.flatnonzero(share >= least)
    hit = hit[np.argsort(-share[hit], kind="stable")]
    one, two = order[first[hit]], order[second[hit]]
    return pd.DataFrame({"heavier": names[one], "lighter": names[two], "switched": share[hit]})


def _methods(found: Interval) -> np.ndarray:
    """What intervals are called."""
    return np.where(found.reason == 0, INTERVAL_METHODS["bca"], INTERVAL_METHODS["percentile"])


def summarise_bootstrap(found: BootstrapResults, top: int | None, level: float) -> EWPSummary:
    """Heaviest features with intervals, and the pairs that change places."""
    k, p = found.centroids.shape
    count = min(k, MAX_CLUSTERS) if found.by_cluster else 1
    if top is None:
        top = min(_TOP, max(_LINES // count, _FEWEST))
    check_integer("top", top, least=1)
    table = found.weight_intervals(level)
    heaviest = heaviest_rows(table, table["weight"].to_numpy(), top).iloc[: count * top]
    notes = [
        f"lower, upper: {short(100 * level)} % interval on the log-ratio scale; se and bias over "
        "the resamples.",
        f"selected: share of resamples with a weight above {short(found.threshold, 3)}.",
        *found.notes(level),
    ]
    if found.similarity is not None:
        notes.append(
            "jaccard: mean similarity to the most similar cluster of a resample; dissolved and "
            "recovered: resamples in which it is at most 0.5, and above 0.75."
        )
    if p > 1:
        notes.append(_order_in_words(found, max(top, 2)))
    if p > top:
        notes.append(
            f"... and {p - top} more features{' in every cluster' if found.by_cluster else ''}."
        )
    if found.by_cluster and k > count:
        notes.append(f"... and {k - count} more clusters.")
    biased = int((heaviest["bias"].abs() > heaviest["se"]).sum())
    if biased:
        notes.append(
            f"The bias exceeds the standard error in {biased} of these "
            f"{'weights' if found.by_cluster else 'features'}: there are few rows per cluster for "
            "so many features, and intervals are rough."
        )
    if found.converged < 1:
        notes.append(f"{whole_percent(found.converged)} of the fits converged.")
    notes.append(CONDITIONAL)
    if found.start == "estimates":
        notes.append(_LOCAL)
    if not found.complete:
        notes.append(INTERRUPTED)
    whose = " of every cluster" if found.by_cluster else ""
    title = f"Bootstrap of the weights{whose}, {found.n_boot} resamples"
    shown = interval_table(heaviest)
    for name in ("se", "bias"):
        shown[name] = [scientific(value) for value in heaviest[name]]
    shown["selected"] = [whole_percent(share) for share in heaviest["selected"]]
    summary = render_table(title, shown, notes)
    if found.similarity is not None:
        clusters = found.clusters.head(MAX_CLUSTERS).drop(columns="jaccard_sd")
        clusters.index = pd.Index([f"cluster {name}" for name in clusters.index])
        summary.add_df(shown_cells(clusters))
    return summary


def _order_in_words(found: BootstrapResults, top: int) -> str:
    """Which of the heaviest features change places in the resamples."""
    pairs = found.rank_switches(top)
    of = [f" of cluster {name}" for name in pairs["cluster"]] if found.by_cluster else [""] * top
    listed = "; ".join(
        f"{one_line(heavier)} and {one_line(lighter)}{whose} in {whole_percent(share)}"
        for (heavier, lighter, share), whose in zip(
            pairs[["heavier", "lighter", "switched"]].head(_MAX_PAIRS).to_numpy().tolist(),
            of,
            strict=False,
        )
    )
    more = len(pairs) - _MAX_PAIRS
    if listed:
        tail = f"; ... and {more} more pairs" if more > 0 else ""
        return f"Order reversed in resamples: {listed}{tail}."
    whose = " of every cluster" if found.by_cluster else ""
    return (
        f"The order of the {min(top, found.centroids.shape[1])} heaviest features{whose} is the "
        "same in at least 95 % of the resamples."
    )
