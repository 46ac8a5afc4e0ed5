"""The pictures of a fit, as methods of the results object.

`Pictures` is a part of :class:`ewp.EWPResults`; its methods only hand arrays to the functions of
``ewp.plots``, which import matplotlib when they are called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ewp.results import EWPResults

__all__ = ["Pictures"]


class Pictures:
    """Weights, trace and clusters of a fit, drawn."""

    def plot_weights(self, ax: Axes | None = None, top: int = 20) -> Axes:
        """Draw the heaviest features, see :func:`ewp.plots.plot_weights`.

        After :meth:`EWPResults.bootstrap` with 95 % intervals.
        """
        from ewp.plots import plot_weights

        results = cast("EWPResults", self)
        ends = None
        if results.bootstrap_ is not None:
            table = results.bootstrap_.weight_intervals(0.95, results.bootstrap_.method)
            ends = table["lower"].to_numpy(), table["upper"].to_numpy()
        w, names = results.weights.to_numpy(), list(results.feature_names)
        return plot_weights(w, names, ax=ax, top=top, intervals=ends)

    def plot_trace(self, ax: Axes | None = None) -> Axes:
        """Draw objective and exponent along the iterations, see :func:`ewp.plots.plot_trace`."""
        from ewp.plots import plot_trace

        results = cast("EWPResults", self)
        names = ("iteration", "s", "f_s", "f_inf", "phase")
        columns = [results.objective_trace[name].to_numpy() for name in names]
        return plot_trace(*columns, critical_exponent=results.critical_exponent, ax=ax)

    def plot_clusters(
        self, X: Any = None, ax: Axes | None = None, features: Sequence[Any] | None = None
    ) -> Axes:
        """Draw rows and centroids in the plane, see :func:`ewp.plots.plot_clusters`.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            Data to draw. By default the data that were fitted.
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        features : sequence of one or two feature names, optional
            The axes. By default the two heaviest features if they hold 99 % of the weight, else
            the first two principal components in the weighted metric.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from ewp.drawing import subsample
        from ewp.plots import plot_clusters

        results = cast("EWPResults", self)
        rows, fitted = results._rows(X)
        if not hasattr(rows, "shape"):
            rows = np.asarray(rows)
        # Only the rows to be drawn are read: the data may be a memory-mapped file.
        drawn = subsample(rows.shape[0])
        rows = rows.iloc[drawn] if isinstance(rows, pd.DataFrame) else rows[drawn]
        labels = results.labels.to_numpy()[drawn] if fitted else np.asarray(results.predict(rows))
        theta, weights, center, scale = results._metric()
        return plot_clusters(
            results._check(rows),
            labels,
            theta,
            weights,
            center=center,
            scale=scale,
            names=list(results.feature_names),
            features=features,
            ax=ax,
        )
