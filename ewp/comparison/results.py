"""What a comparison hands back: scores, a table with tests, weights, words, pictures, a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import entr
from sklearn.metrics import normalized_mutual_info_score

from ewp.common.types import Array
from ewp.comparison.tables import (
    ComparisonSummary,
    marks_note,
    shown_scores,
    signed_rank,
    tabulate,
)
from ewp.display.formatting import counted, fixed, scaling_name, short
from ewp.display.summary import EWPSummary, SummaryMixin
from ewp.metrics import between_share, mean_silhouette, rand_index
from ewp.report.page import ReportMixin, data_hash
from ewp.report.svg import draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "MEASURES",
    "Comparison",
    "Measure",
    "signed_rank",
]

_TOP = 15
#: What a significant difference says, by what the trials are.
_MEANING = {
    "starts": (
        "The replicates are starts, not data: the test says whether another start could turn "
        'the order on these data, nothing of other data. For those: replicates="bootstrap", or '
        "several data sets."
    ),
    "bootstrap": (
        "The replicates are resamples of the same rows: the test speaks of what resampling these "
        "data could turn, and the more resamples, the smaller the differences that it finds."
    ),
}


@dataclass(eq=False, repr=False)
class Comparison(SummaryMixin, ReportMixin):
    """Methods compared over trials; instances come from `ewp.compare`.

    Attributes
    ----------
    scores : DataFrame
        One row per trial and method: the measures and the seconds of the fit.
    weights : DataFrame
        One row per weighting method and trial (its index), one column per feature: by what squared
        differences are multiplied (in WK-means the weights to the power beta), as shares that
        sum to 1 whatever the method's own convention.
    labels : dict of DataFrame
        By method: one row per trial, one column per row of the data; -1 where a resample does not
        hold the row.
    settings : dict of dict
        By method: the tuning parameters that were chosen or given.
    measures : list of str
        "nmi" and "ari" against classes, "silhouette" and "between" (the share of the sum of
        squares that lies between the clusters) without. Both of the latter are in the metric in
        which all features count alike, which favours the methods without weights.
    reference : str or None
        The method that the others are tested against.
    k : int
    scaling : str
        What was done to the features, for all methods alike: "none", "standard" or "decorrelate",
        perhaps with the share by which correlations were shrunk.
    init : str
        How the trials started.
    starts : ndarray of shape (n_trials, k, p)
        Starting centroids in data units.
    complete : bool
        False if the comparison was interrupted.
    data : ndarray of shape (n, p)
        The features as they were compared.
    classes : ndarray of shape (n,) or None
        The known classes, counted from 0.
    replicates : {"starts", "bootstrap"}
        What the trials are: starts on the same rows, or resamples of the rows.
    seed : int or None
        The seed: the user's, or one that was drawn.
    call : str
        What gives the comparison again, the data called X and the classes y.
    """

    scores: pd.DataFrame
    weights: pd.DataFrame
    labels: dict[str, pd.DataFrame]
    settings: dict[str, dict[str, Any]]
    measures: list[str]
    reference: str | None
    k: int
    scaling: str
    init: str
    starts: Array
    complete: bool
    data: Array
    classes: np.ndarray | None
    replicates: str = "starts"
    seed: int | None = None
    call: str = ""

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the order given."""
        return list(self.labels)

    @property
    def n_trials(self) -> int:
        """Number of finished trials."""
        return len(self.starts)

    @property
    def _weighting(self) -> list[str]:
        """Names of the methods with weights, of which there must be one."""
        known = list(dict.fromkeys(self.weights.index.get_level_values("method")))
        if not known:
            raise ValueError(f"none of the methods {', '.join(self.methods)} has weights")
        return known

    def table(self) -> pd.DataFrame:
        """One row per method: means, standard deviations and tests.

        Returns
        -------
        DataFrame
            For every measure its mean over the trials (under its own name), the standard
            deviation (``_sd``), the p-value of Wilcoxon's two-sided signed-rank test against the
            reference (``_p``) and a mark (``_mark``): "+" if it is below 0.05 and the reference is
            better, "−" if the reference is worse, "≃" if it is not below, nothing for the
            reference. Then ``features``, the mean effective number of features (the exponential
            of the weights' entropy), and ``seconds``.
        """
        table = tabulate(self.scores, "trial", self.methods, self.measures, self.reference)
        effective = np.exp(entr(self.weights.to_numpy()).sum(axis=1))
        features = pd.Series(effective, index=self.weights.index).groupby(level="method").mean()
        table.insert(table.shape[1] - 1, "features", features.reindex(self.methods))
        return table

    def summary(self) -> EWPSummary:
        """Printed account of the comparison, as text, HTML or LaTeX.

        Means over the trials with standard deviations in brackets, followed by the marks.
        """
        return summarise_comparison(self)

    def plot_weights(
        self,
        methods: str | Sequence[str] | None = None,
        top: int = 20,
        names: dict[str, str] | None = None,
    ) -> list[Axes]:
        """Draw boxplots of the weights over the trials, feature by feature, a panel per method.

        Parameters
        ----------
        methods : str or sequence of str, optional
            By default all that have weights.
        top : int, default 20
            Number of features to draw if there are more: those with the largest mean weight.
        names : dict, optional
            Titles of the panels by method.

        Returns
        -------
        list of matplotlib.axes.Axes
        """
        from ewp.comparison.plots import plot_weight_boxes

        chosen = self._chosen(methods, self._weighting)
        boxes = {
            (names or {}).get(name, name): pd.DataFrame(self.weights.xs(name, level="method"))
            for name in chosen
        }
        return plot_weight_boxes(boxes, top=top)

    def plot_clusters(
        self,
        methods: str | Sequence[str] | None = None,
        trial: int = 0,
        names: dict[str, str] | None = None,
        weighted_by: str | None = None,
    ) -> list[Axes]:
        """Draw the partitions of one trial in a t-SNE embedding, a panel per method.

        The classes come first if they are known. Clusters have the colour of the class (or else
        of the first method's cluster) with which they overlap most.

        Parameters
        ----------
        methods : str or sequence of str, optional
            By default all.
        trial : int, default 0
        names : dict, optional
            Titles of the panels by method.
        weighted_by : str, optional
            A method by whose weights in this trial the features count in the embedding. By
            default all count alike, and many features without clusters hide those with.

        Returns
        -------
        list of matplotlib.axes.Axes
        """
        from ewp.comparison.plots import plot_partitions

        if not 0 <= trial < self.n_trials:
            raise ValueError(f"trial={trial} is not among the {self.n_trials} trials")
        panels: dict[str, np.ndarray] = {}
        if self.classes is not None:
            panels["classes"] = self.classes
        measure = self.measures[0]
        scores = self.scores[self.scores["trial"] == trial].set_index("method")[measure]
        for name in self._chosen(methods, self.methods):
            title = (names or {}).get(name, name)
            title = f"{title}: {MEASURES[measure].label} {fixed(scores[name])}"
            panels[title] = self.labels[name].iloc[trial].to_numpy()
        drawn = self.labels[self.methods[0]].iloc[trial].to_numpy() >= 0
        panels, data = {title: one[drawn] for title, one in panels.items()}, self.data[drawn]
        if weighted_by is None:
            return plot_partitions(data, panels)
        (chosen,) = self._chosen(weighted_by, self._weighting)
        scale = np.sqrt(self.weights.xs(chosen, level="method").to_numpy()[trial])
        note = f", weighted by {(names or {}).get(chosen, chosen)}"
        return plot_partitions(data * scale, panels, note=note)

    def _chosen(self, methods: str | Sequence[str] | None, known: list[str]) -> list[str]:
        methods = [methods] if isinstance(methods, str) else methods
        chosen = known if methods is None else list(methods)
        unknown = [name for name in chosen if name not in known]
        if unknown:
            raise ValueError(f"method {unknown[0]!r} is not among {', '.join(known)}")
        return chosen

    def _page(self) -> tuple[str, dict[str, Any]]:
        return "comparison.html", describe_comparison(self)

    def __repr__(self) -> str:
        means = self.table()[self.measures[0]]
        shown = ", ".join(f"{name} {fixed(value, 3)}" for name, value in means.items())
        trials = counted(self.n_trials, "trial")
        return f"Comparison: {trials}, k = {self.k}, {self.measures[0]}: {shown}"


@dataclass(frozen=True)
class Measure:
    """A measure of a partition.

    Attributes
    ----------
    name, label, title : str
        In tables, in pictures, in full.
    value : callable
        ``value(X, labels, y) -> float``.
    labelled : bool
        Whether it needs the classes.
    """

    name: str
    label: str
    title: str
    value: Callable[[Array, np.ndarray, Any], float]
    labelled: bool


MEASURES = {
    measure.name: measure
    for measure in (
        Measure(
            "nmi",
            "NMI",
            "normalised mutual information",
            lambda X, labels, y: float(normalized_mutual_info_score(y, labels)),
            True,
        ),
        Measure(
            "ari", "ARI", "adjusted Rand index", lambda X, labels, y: rand_index(y, labels), True
        ),
        Measure(
            "silhouette",
            "silhouette",
            "mean silhouette",
            lambda X, labels, y: mean_silhouette(X, labels),
            False,
        ),
        Measure(
            "between",
            "share between",
            "share of the sum of squares between clusters",
            lambda X, labels, y: between_share(X, labels),
            False,
        ),
    )
}


def summarise_comparison(comparison: Comparison) -> ComparisonSummary:
    """Render a comparison: means (standard deviations), marks, settings."""
    features = scaling_name(comparison.scaling)
    n, p = comparison.data.shape
    summary = ComparisonSummary(
        f"Comparison of clustering methods: n = {n}, p = {p} ({features}), k = {comparison.k}"
    )
    summary.add_df(shown_scores(comparison.table(), comparison.measures))
    for note in _comparison_notes(comparison):
        summary.add_text(note)
    return summary


def _comparison_notes(comparison: Comparison) -> list[str]:
    measures = "; ".join(f"{name}: {MEASURES[name].title}" for name in comparison.measures)
    count, bootstrap = comparison.n_trials, comparison.replicates == "bootstrap"
    starts = {"random": "k random rows", "k-means++": "k-means++ seeds", "given": "given centroids"}
    what = counted(count, "start") + " on one data set"
    if bootstrap:
        what = counted(count, "bootstrap resample") + " of the rows"
    notes = [
        f"{what}, in each the same start for all methods: {starts[comparison.init]}. Means "
        f"(standard deviations). {measures}; features: effective number.",
    ]
    if comparison.reference is not None and len(comparison.methods) > 1:
        units = "resamples" if bootstrap else "starts"
        notes += [marks_note(comparison.reference, count, units), _MEANING[comparison.replicates]]
    settings = [
        f"{name}: {', '.join(f'{key} {_setting(value)}' for key, value in chosen.items())}"
        for name, chosen in comparison.settings.items()
        if chosen
    ]
    if settings:
        once = ", once, on all rows" if bootstrap else ""
        notes.append(f"Settings, chosen without classes{once}, or given: {'; '.join(settings)}.")
    if comparison.classes is None:
        notes.append("Internal measures count all features alike, which favours equal weights.")
    if not comparison.complete:
        notes.append("The comparison was interrupted: finished trials only.")
    return notes


def _setting(value: Any) -> str:
    return short(value) if isinstance(value, float) else str(value)


def describe_comparison(found: Comparison) -> dict[str, Any]:
    """Collect what the page of a comparison shows.

    Parameters
    ----------
    found : Comparison

    Returns
    -------
    dict
        Variables of the template ``comparison.html``.
    """
    summary = summarise_comparison(found)
    table = summary.tables[0]
    return {
        "kind": "comparison",
        "title": "Comparison of clustering methods",
        "sentence": _sentence(found),
        "measures": list(table.columns),
        "methods": [
            {"name": str(name), "cells": list(row), "reference": name == found.reference}
            for name, row in zip(table.index, table.to_numpy(), strict=True)
        ],
        "notes": list(summary.extra_txt),
        "weights": _weight_figures(found),
        "partitions": draw(
            found.plot_clusters,
            "partitions",
            "The partitions of the first trial in a t-SNE embedding, one panel per method.",
            size=None,
        ),
        "classes": found.classes is not None,
        "trials": "resample" if found.replicates == "bootstrap" else "start",
        "repeat": f"import ewp\n\nfound = {found.call}",
        "options": {
            "n_trials": found.n_trials,
            "scaling": found.scaling,
            "init": found.init,
            "replicates": found.replicates,
            "random_state": found.seed,
        },
        "hash": data_hash(found.data),
        "hash_of": "the features as they were compared"
        + ("" if found.scaling == "none" else f", {scaling_name(found.scaling)}")
        + ", as 64-bit floats row by row",
    }


def _sentence(found: Comparison) -> str:
    n, p = found.data.shape
    features = scaling_name(found.scaling)
    scored = "against known classes" if found.classes is not None else "by internal measures"
    trials = f"{found.n_trials} starts" if found.n_trials > 1 else "one start"
    if found.replicates == "bootstrap":
        trials += ", on bootstrap resamples of the rows,"
    return (
        f"{len(found.methods)} methods put {n} rows with {p} {features} features into {found.k} "
        f"clusters, each from the same {trials}, and were scored {scored}."
    ).replace(",, and", ", and")


def _weight_figures(found: Comparison) -> list[str]:
    names = dict.fromkeys(found.weights.index.get_level_values("method"))
    rows = min(_TOP, found.weights.shape[1])
    return [
        draw(
            partial(found.plot_weights, [name], top=_TOP),
            f"weights-{i}",
            f"Boxplots of the weights of {name} over the trials.",
            (4.2, 1.3 + 0.2 * rows),
        )
        for i, name in enumerate(names)
    ]
