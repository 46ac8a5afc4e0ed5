"""What a comparison hands back: scores, a table with tests, weights, words, pictures, a page."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import entr
from sklearn.metrics import normalized_mutual_info_score

from ewp.common.types import Array
from ewp.display.formatting import fixed, scaling_name, short
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

#: Level of the test, as in the paper.
LEVEL = 0.05
#: With fewer trials the smallest p-value of a two-sided signed-rank test is above 0.05.
_FEWEST = 6
_TOP = 15


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
        By method: one row per trial, one column per row of the data.
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
            reference (``_p``) and the paper's mark (``_mark``): "+" if it is below 0.05, "≃" if
            not, nothing for the reference. Then ``features``, the mean effective number of
            features (the exponential of the weights' entropy), and ``seconds``.
        """
        columns: dict[str, Any] = {}
        for measure in self.measures:
            values = self.scores.pivot_table(
                index="trial", columns="method", values=measure, dropna=False
            )[self.methods]
            tests = [self._test(values, name) for name in self.methods]
            columns[measure] = values.mean()
            columns[f"{measure}_sd"] = values.std()
            columns[f"{measure}_p"] = pd.Series(tests, index=self.methods)
            columns[f"{measure}_mark"] = pd.Series([_mark(p) for p in tests], index=self.methods)
        effective = np.exp(entr(self.weights.to_numpy()).sum(axis=1))
        features = pd.Series(effective, index=self.weights.index)
        columns["features"] = features.groupby(level="method").mean()
        columns["seconds"] = self.scores.groupby("method")["seconds"].mean()
        return pd.DataFrame(columns).reindex(self.methods).rename_axis("method")

    def _test(self, values: pd.DataFrame, name: str) -> float:
        if self.reference is None or name == self.reference:
            return float("nan")
        return signed_rank(values[name].to_numpy(), values[self.reference].to_numpy())

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
        if weighted_by is None:
            return plot_partitions(self.data, panels)
        (chosen,) = self._chosen(weighted_by, self._weighting)
        scale = np.sqrt(self.weights.xs(chosen, level="method").to_numpy()[trial])
        note = f", weighted by {(names or {}).get(chosen, chosen)}"
        return plot_partitions(self.data * scale, panels, note=note)

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
        return f"Comparison: {self.n_trials} trials, k = {self.k}, {self.measures[0]}: {shown}"


def _mark(p: float) -> str:
    return "" if np.isnan(p) else "+" if p < LEVEL else "≃"


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


def signed_rank(one: Array, other: Array) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test on paired values.

    Pairs without a difference are left out; when there are no others, the p-value is 1.

    Examples
    --------
    >>> signed_rank(np.arange(1.0, 7.0), np.zeros(6))
    0.03125
    >>> signed_rank(np.ones(6), np.ones(6))
    1.0
    """
    difference = np.asarray(one) - np.asarray(other)
    # what rounding makes of equal scores is no difference
    difference = difference[np.isfinite(difference) & (np.abs(difference) > 1e-12)]
    if not len(difference):
        return 1.0
    from scipy.stats import wilcoxon

    with warnings.catch_warnings():
        # few values with ties: the normal approximation is poor, and there is no better one
        warnings.simplefilter("ignore")
        return float(wilcoxon(difference).pvalue)


class ComparisonSummary(EWPSummary):
    """A summary whose LaTeX has a command for the mark of no significant difference."""

    def as_latex(self, label: str = "") -> str:
        """Render as a LaTeX table."""
        return super().as_latex(label).replace("≃", r"$\simeq$")


def summarise_comparison(comparison: Comparison) -> ComparisonSummary:
    """Render a comparison: means (standard deviations), marks, settings."""
    table = comparison.table()
    shown = pd.DataFrame(index=table.index.rename(None))
    for measure in comparison.measures:
        cells = zip(table[measure], table[f"{measure}_sd"], table[f"{measure}_mark"], strict=True)
        shown[measure] = [_score_cell(mean, sd, mark) for mean, sd, mark in cells]
    shown["features"] = ["" if np.isnan(v) else fixed(v, 1) for v in table["features"]]
    shown["seconds"] = [short(v, 3) for v in table["seconds"]]
    features = scaling_name(comparison.scaling)
    n, p = comparison.data.shape
    summary = ComparisonSummary(
        f"Comparison of clustering methods: n = {n}, p = {p} ({features}), k = {comparison.k}"
    )
    summary.add_df(shown)
    for note in _comparison_notes(comparison):
        summary.add_text(note)
    return summary


def _score_cell(mean: float, sd: float, mark: str) -> str:
    text = fixed(mean, 3) if np.isnan(sd) else f"{fixed(mean, 3)} ({fixed(sd, 3)})"
    return f"{text} {mark or ' '}"


def _comparison_notes(comparison: Comparison) -> list[str]:
    measures = "; ".join(f"{name}: {MEASURES[name].title}" for name in comparison.measures)
    trials = f"{comparison.n_trials} trials" if comparison.n_trials > 1 else "One trial"
    starts = {"random": "k random rows", "k-means++": "k-means++ seeds", "given": "given centroids"}
    notes = [
        f"{trials}, in each the same start for all methods: {starts[comparison.init]}. Means "
        f"(standard deviations). {measures}; features: effective number.",
    ]
    if comparison.reference is not None and len(comparison.methods) > 1:
        notes.append(
            f"+ differs significantly from {comparison.reference} at the 5 % level, ≃ does not "
            "(Wilcoxon signed-rank test)."
            + (
                f" {comparison.n_trials} trials are too few for the test to reach that level."
                if comparison.n_trials < _FEWEST
                else ""
            )
        )
    settings = [
        f"{name}: {', '.join(f'{key} {_setting(value)}' for key, value in chosen.items())}"
        for name, chosen in comparison.settings.items()
        if chosen
    ]
    if settings:
        notes.append(f"Settings, chosen without classes or given: {'; '.join(settings)}.")
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
        "repeat": f"import ewp\n\nfound = {found.call}",
        "options": {
            "n_trials": found.n_trials,
            "scaling": found.scaling,
            "init": found.init,
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
    return (
        f"{len(found.methods)} methods put {n} rows with {p} {features} features into {found.k} "
        f"clusters, each from the same {trials}, and were scored {scored}."
    )


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
