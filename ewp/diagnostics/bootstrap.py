"""What resamples say of weights and centroids: intervals, frequencies, words and picture.

`ewp.diagnostics.resampling` makes the resamples, `ewp.diagnostics.intervals` knows the kinds of
intervals. How often the clusters are found again stands beside the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp.common.checks import check_choice, check_integer, check_number
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
from ewp.display.axes import (
    GRID,
    INK,
    PALETTE,
    despine,
    heaviest_rows,
    height_of_rows,
    name_rows,
    side_by_side,
    start_at_zero,
)
from ewp.display.formatting import (
    INTERVAL_METHODS,
    MAX_CLUSTERS,
    interval_cells,
    one_line,
    scientific,
    short,
    whole_percent,
)
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
#: Clusters that a sentence names.
_MAX_CLUSTERS = 10


@dataclass(eq=False, repr=False)
class BootstrapResults(SummaryMixin):
    """Estimates from resamples of the rows, and what follows from them.

    Instances come from :meth:`ewp.EWPResults.bootstrap`.

    Attributes
    ----------
    weights : pandas.Series
        The fit's weights.
    centroids : pandas.DataFrame
        The fit's centroids.
    weight_draws : ndarray of shape (n_boot, p)
        Weights in the resamples.
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

    weights: pd.Series
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
    def selection_frequency(self) -> pd.Series:
        """Share of the resamples in which a feature has more weight than the threshold."""
        share = (self.weight_draws > self.threshold).mean(axis=0)
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
            the interval, where BCa's ends lie beyond the resamples, and where resamples spread
            otherwise than the jackknife. ``summary()`` says which and why.

        Returns
        -------
        pandas.DataFrame
            Columns ``weight``, ``lower``, ``upper``, ``se`` (standard deviation over the
            resamples), ``bias`` (their mean minus the weight), ``selected`` and ``method``.
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
        return pd.DataFrame(table, index=self.weights.index)

    def _weight_ends(self, level: float, method: str = "auto") -> Interval:
        """Intervals of the weights on the logit scale."""
        return self._ends(
            logit(self.weight_draws),
            logit(self.weights.to_numpy(dtype=float)),
            logit(self.weight_jackknife),
            level,
            method,
        )

    def log_ratios(
        self, reference: Any = None, level: float = LEVEL, method: str = "auto"
    ) -> pd.DataFrame:
        """Interval of every feature's log-ratio.

        Parameters
        ----------
        reference : feature name, optional
            Additive log-ratios, to this feature. By default centred log-ratios: to the geometric
            mean of all features that have any weight.
        level : float, default 0.95
        method : {"auto", "bca", "percentile"}, default "auto"
            As in `weight_intervals`.

        Returns
        -------
        pandas.DataFrame
            Columns ``log_ratio``, ``lower``, ``upper``, ``method``.
        """
        position: Any = self.weights.to_numpy(dtype=float) > 0
        if reference is not None:
            if reference not in self.weights.index:
                raise ValueError(f"no feature is called {reference!r}")
            position = [self.weights.index.get_loc(reference)]

        def scale(w: Array) -> Array:
            logs = np.log(np.maximum(w, _TINY))
            return logs - logs[..., position].mean(axis=-1, keepdims=True)

        estimate = scale(self.weights.to_numpy(dtype=float))
        found = self._ends(
            scale(self.weight_draws), estimate, scale(self.weight_jackknife), level, method
        )
        table = {
            "log_ratio": estimate,
            "lower": found.lower,
            "upper": found.upper,
            "method": _methods(found),
        }
        return pd.DataFrame(table, index=self.weights.index)

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
            resamples in which the order is the other one; most frequent first.
        """
        check_integer("top", top, least=2)
        check_number("least", least, above=0, below=1)
        w = self.weights.to_numpy(dtype=float)
        order = np.argsort(-w, kind="stable")[:top]
        drawn = self.weight_draws[:, order]
        first, second = np.triu_indices(len(order), 1)
        share = (drawn[:, second] > drawn[:, first]).mean(axis=0)
        hit = np.flatnonzero(share >= least)
        hit = hit[np.argsort(-share[hit], kind="stable")]
        names = self.weights.index.to_numpy()[order]
        return pd.DataFrame(
            {"heavier": names[first[hit]], "lighter": names[second[hit]], "switched": share[hit]}
        )

    def summary(self, top: int = 10, level: float = LEVEL) -> EWPSummary:
        """Table of the heaviest features with their intervals, and notes in words."""
        return summarise_bootstrap(self, top, level)

    def plot(self, ax: Axes | None = None, top: int = 20, level: float = LEVEL) -> Axes:
        """Draw weights with intervals beside selection frequencies.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw the intervals alone. By default a new figure with the frequencies
            beside them.
        top : int, default 20
            Number of features, heaviest first.
        level : float, default 0.95

        Returns
        -------
        Axes
        """
        return plot_bootstrap(self.weight_intervals(level), level, top=top, ax=ax)

    def __repr__(self) -> str:
        k, p = self.centroids.shape
        state = "" if self.complete else ", interrupted"
        return f"BootstrapResults: {self.n_boot} resamples{state}, {p} weights, {k} x {p} centroids"


def _methods(found: Interval) -> np.ndarray:
    """What intervals are called."""
    return np.where(found.reason == 0, INTERVAL_METHODS["bca"], INTERVAL_METHODS["percentile"])


def summarise_bootstrap(found: BootstrapResults, top: int, level: float) -> EWPSummary:
    """Heaviest features with intervals, and the pairs that change places."""
    check_integer("top", top, least=1)
    table = found.weight_intervals(level)
    heaviest = table.iloc[np.argsort(-table["weight"].to_numpy(), kind="stable")[:top]]
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
    if len(table) > 1:
        pairs = found.rank_switches(max(top, 2))
        listed = "; ".join(
            f"{one_line(heavier)} and {one_line(lighter)} in {whole_percent(share)}"
            for heavier, lighter, share in pairs.head(_MAX_PAIRS).to_numpy().tolist()
        )
        more = len(pairs) - _MAX_PAIRS
        if listed:
            tail = f"; ... and {more} more pairs" if more > 0 else ""
            notes.append(f"Order reversed in resamples: {listed}{tail}.")
        else:
            notes.append(
                f"The order of the {min(max(top, 2), len(table))} heaviest features is the same "
                "in at least 95 % of the resamples."
            )
    if len(table) > top:
        notes.append(f"... and {len(table) - top} more features.")
    biased = int((heaviest["bias"].abs() > heaviest["se"]).sum())
    if biased:
        notes.append(
            f"The bias exceeds the standard error in {biased} of these features: there are few "
            "rows per cluster for so many features, and intervals are rough."
        )
    if found.converged < 1:
        notes.append(f"{whole_percent(found.converged)} of the fits converged.")
    notes.append(CONDITIONAL)
    if found.start == "estimates":
        notes.append(_LOCAL)
    if not found.complete:
        notes.append(INTERRUPTED)
    title = f"Bootstrap of the weights, {found.n_boot} resamples"
    shown = pd.DataFrame(interval_cells(heaviest), index=heaviest.index)
    for name in ("se", "bias"):
        shown[name] = [scientific(value) for value in heaviest[name]]
    shown["selected"] = [whole_percent(share) for share in heaviest["selected"]]
    summary = render_table(title, shown, notes)
    if found.similarity is not None:
        clusters = found.clusters.head(MAX_CLUSTERS).drop(columns="jaccard_sd")
        clusters.index = pd.Index([f"cluster {name}" for name in clusters.index])
        summary.add_df(shown_cells(clusters))
    return summary


def plot_bootstrap(
    table: pd.DataFrame, level: float, *, top: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw weights with their intervals and, beside them, selection frequencies.

    Parameters
    ----------
    table : DataFrame
        `BootstrapResults.weight_intervals`.
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
