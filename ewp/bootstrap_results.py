"""What a bootstrap found: intervals, selection frequencies, pairs of features that change places.

:class:`BootstrapResults` keeps the estimates of all resamples and turns them into answers; drawing
and fitting the resamples is the business of ``ewp.bootstrap``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp._printed import Printed
from ewp.checks import check_choice, check_integer, check_number
from ewp.intervals import bca_interval, logistic, logit, percentile_interval
from ewp.kernel import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ewp._summary import EWPSummary

__all__ = ["BootstrapResults"]

_TINY = 1e-300


@dataclass(eq=False, repr=False)
class BootstrapResults(Printed):
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
        Centroids in the resamples minus the fit's, in data units and single precision.
    weight_jackknife, centroid_jackknife : ndarray
        The same with one part of the rows after the other left out.
    threshold : float
        A feature with more weight than this counts as selected.
    converged : float
        Share of the resamples whose fit converged.
    complete : bool
        False if the resampling was interrupted.
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

    @property
    def n_boot(self) -> int:
        """Number of resamples that were finished."""
        return len(self.weight_draws)

    @property
    def selection_frequency(self) -> pd.Series:
        """Share of the resamples in which a feature has more weight than the threshold."""
        share = (self.weight_draws > self.threshold).mean(axis=0)
        return pd.Series(share, index=self.weights.index, name="selected")

    def weight_intervals(self, level: float = 0.95, method: str = "bca") -> pd.DataFrame:
        r"""Interval of every feature's weight.

        Computed on the scale :math:`\log(w_l / (1 - w_l))`, the log-ratio of a feature to all
        the others together, on which the simplex has no edge.

        Parameters
        ----------
        level : float, default 0.95
        method : {"bca", "percentile"}, default "bca"

        Returns
        -------
        pandas.DataFrame
            Columns ``weight``, ``lower``, ``upper``, ``se`` (standard deviation over the
            resamples), ``bias`` (their mean minus the weight) and ``selected``.
        """
        w = self.weights.to_numpy(dtype=float)
        ends = self._ends(
            logit(self.weight_draws), logit(w), logit(self.weight_jackknife), level, method
        )
        lower, upper = (logistic(end) for end in ends)
        table = {
            "weight": w,
            "lower": lower,
            "upper": upper,
            "se": self.weight_draws.std(axis=0),
            "bias": self.weight_draws.mean(axis=0) - w,
            "selected": self.selection_frequency.to_numpy(),
        }
        return pd.DataFrame(table, index=self.weights.index)

    def log_ratios(
        self, reference: Any = None, level: float = 0.95, method: str = "bca"
    ) -> pd.DataFrame:
        """Interval of every feature's log-ratio.

        Parameters
        ----------
        reference : feature name, optional
            Additive log-ratios, to this feature. By default centred log-ratios: to the geometric
            mean of all features that have any weight.
        level : float, default 0.95
        method : {"bca", "percentile"}, default "bca"

        Returns
        -------
        pandas.DataFrame
            Columns ``log_ratio``, ``lower``, ``upper``.
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
        lower, upper = self._ends(
            scale(self.weight_draws), estimate, scale(self.weight_jackknife), level, method
        )
        table = {"log_ratio": estimate, "lower": lower, "upper": upper}
        return pd.DataFrame(table, index=self.weights.index)

    def centroid_intervals(self, level: float = 0.95, method: str = "bca") -> pd.DataFrame:
        """Interval of every coordinate of every centroid, in data units.

        Parameters
        ----------
        level : float, default 0.95
        method : {"bca", "percentile"}, default "bca"

        Returns
        -------
        pandas.DataFrame
            One row a cluster and feature: columns ``cluster``, ``feature``, ``centroid``,
            ``lower``, ``upper``, ``se``.
        """
        theta = self.centroids.to_numpy(dtype=float)
        shifts = self.centroid_shifts.astype(float)
        lower, upper = self._ends(
            shifts, np.zeros_like(theta), self.centroid_jackknife.astype(float), level, method
        )
        k, p = theta.shape
        return pd.DataFrame(
            {
                "cluster": np.repeat(self.centroids.index.to_numpy(), p),
                "feature": np.tile(self.centroids.columns.to_numpy(), k),
                "centroid": theta.ravel(),
                "lower": (theta + lower).ravel(),
                "upper": (theta + upper).ravel(),
                "se": shifts.std(axis=0).ravel(),
            }
        )

    def _ends(
        self, draws: Array, estimate: Array, jackknife: Array, level: float, method: str
    ) -> tuple[Array, Array]:
        check_number("level", level, above=0, below=1)
        check_choice("method", method, ("bca", "percentile"))
        if method == "percentile":
            return percentile_interval(draws, level)
        if len(jackknife) < 2:
            raise ValueError(
                "BCa intervals need the jackknife: run bootstrap(n_jackknife=50), or ask for "
                "method='percentile'"
            )
        return bca_interval(draws, estimate, jackknife, level)

    @property
    def method(self) -> str:
        """The method of intervals that summaries and pictures show."""
        return "bca" if len(self.weight_jackknife) > 1 else "percentile"

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

    def summary(self, top: int = 10, level: float = 0.95) -> EWPSummary:
        """Table of the heaviest features with their intervals, and notes in words."""
        from ewp._diagnostic_text import summarise_bootstrap

        return summarise_bootstrap(self, top, level)

    def plot(self, ax: Axes | None = None, top: int = 20, level: float = 0.95) -> Axes:
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
        from ewp.diagnostic_plots import plot_bootstrap

        return plot_bootstrap(self.weight_intervals(level, self.method), level, top=top, ax=ax)

    def __repr__(self) -> str:
        k, p = self.centroids.shape
        state = "" if self.complete else ", interrupted"
        return f"BootstrapResults: {self.n_boot} resamples{state}, {p} weights, {k} x {p} centroids"
