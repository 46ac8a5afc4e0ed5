"""What a comparison hands back: scores, a table with tests, weights, pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import entr

from ewp._printed import Printed
from ewp._reported import Reported
from ewp.kernel import Array
from ewp.measures import MEASURES, signed_rank

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary2 import Summary

__all__ = ["Comparison"]

#: Level of the test, as in the paper.
LEVEL = 0.05


@dataclass(eq=False, repr=False)
class Comparison(Printed, Reported):
    """Methods compared over trials; instances come from `ewp.compare`.

    Attributes
    ----------
    scores : DataFrame
        One row a trial and method: the measures and the seconds of the fit.
    weights : DataFrame
        One row a weighting method and trial (its index), one column a feature: by what squared
        differences are multiplied (in WK-means the weights to the power beta), as shares that
        sum to 1 whatever the method's own convention.
    labels : dict of DataFrame
        By method: one row a trial, one column a row of the data.
    settings : dict of dict
        By method: the tuning parameters that were chosen or given.
    measures : list of str
        "nmi" and "ari" against classes, "silhouette" and "between" (the share of the sum of
        squares that lies between the clusters) without. Both of the latter are in the metric in
        which all features count alike, which favours the methods without weights.
    reference : str or None
        The method that the others are tested against.
    k : int
    scaling : {"none", "standard"}
        What was done to the features, for all methods alike.
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
        The user's `random_state`, if it was an integer.
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
        """One row a method: means, standard deviations and tests.

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

    def summary(self) -> Summary:
        """Printed account of the comparison, as text, HTML or LaTeX.

        Means over the trials with standard deviations in brackets, followed by the marks.
        """
        from ewp._comparison_text import summarise

        return summarise(self)

    def plot_weights(
        self,
        methods: str | Sequence[str] | None = None,
        top: int = 20,
        names: dict[str, str] | None = None,
    ) -> list[Axes]:
        """Draw boxplots of the weights over the trials, feature by feature, a panel a method.

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
        from ewp.comparison_plots import plot_weight_boxes

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
        """Draw the partitions of one trial in a t-SNE embedding, a panel a method.

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
        from ewp.comparison_plots import plot_partitions

        if not 0 <= trial < self.n_trials:
            raise ValueError(f"trial={trial} is not among the {self.n_trials} trials")
        panels: dict[str, np.ndarray] = {}
        if self.classes is not None:
            panels["classes"] = self.classes
        measure = self.measures[0]
        scores = self.scores[self.scores["trial"] == trial].set_index("method")[measure]
        for name in self._chosen(methods, self.methods):
            title = (names or {}).get(name, name)
            title = f"{title}: {MEASURES[measure].label} {scores[name]:.2f}"
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

    def __repr__(self) -> str:
        means = self.table()[self.measures[0]]
        shown = ", ".join(f"{name} {value:.3f}" for name, value in means.items())
        return f"Comparison: {self.n_trials} trials, k = {self.k}, {self.measures[0]}: {shown}"


def _mark(p: float) -> str:
    return "" if np.isnan(p) else "+" if p < LEVEL else "≃"
