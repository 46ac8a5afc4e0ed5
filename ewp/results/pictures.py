"""Pictures of what the clusters of a fit look like, as methods of its results.

They hand arrays to `ewp.display.profile_plots` and `ewp.display.pair_plots`. Pictures of the
weights, the iterations and the rows in the plane are in `ewp.results.results`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ewp.common.checks import check_integer, listing
from ewp.common.parallel import one_blas_thread
from ewp.common.types import Array, FittedResults
from ewp.data.sources import take_rows
from ewp.data.sparse import DENSE_BYTES, is_sparse
from ewp.display.axes import subsample
from ewp.display.fit_summary import column_deviations
from ewp.display.pair_plots import plot_biplot, plot_pairs
from ewp.display.profile_plots import (
    heaviest_features,
    plot_heatmap,
    plot_parallel,
    plot_silhouettes,
)
from ewp.display.selection import plot_record
from ewp.metrics import silhouettes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PicturesMixin", "rows_to_draw"]


def rows_to_draw(results: FittedResults, X: Any) -> tuple[Array, np.ndarray]:
    """Return rows to draw, checked, and their clusters; at most 5000, chosen at random.

    Where a row has no value it is drawn at the mean.

    Parameters
    ----------
    results : EWPResults
    X : array-like of shape (n, p) or None
        None stands for the data that were fitted.
    """
    values, labels, _ = _weighted_rows(results, X)
    return np.where(np.isnan(values), results.center, values), labels


def _weighted_rows(results: FittedResults, X: Any) -> tuple[Array, np.ndarray, Array]:
    """Rows to draw, with their clusters and their weights; trimmed ones are left out.

    They are per unit of their size, where they have sizes.
    """
    rows, fitted = results.rows_of(X)
    # Only the rows to be drawn are read: the data may be a memory-mapped file.
    n = rows.shape[0] if is_sparse(rows) else len(rows)
    kept = np.arange(n)
    if fitted and results.outliers is not None:
        kept = np.flatnonzero(~results.outliers["trimmed"].to_numpy())
    drawn = kept[subsample(len(kept))]
    if is_sparse(rows) and 8 * len(drawn) * rows.shape[1] > DENSE_BYTES:
        # those that are drawn are made dense
        drawn = kept[subsample(len(kept), max(DENSE_BYTES // (8 * rows.shape[1]), 1))]
    rows = take_rows(rows, drawn)
    labels = results.labels.to_numpy()[drawn] if fitted else np.asarray(results.predict(rows))
    weight = results.sample_weight if fitted else None
    mass = np.ones(len(drawn)) if weight is None else np.asarray(weight, dtype=float)[drawn]
    values = results.checked(rows)
    if results.families is not None:
        known = results.families.sizes
        if fitted and known is not None:
            values = values / known[drawn][:, None]
        else:
            values = results.families.per_unit(values)
    return values, labels, mass


def _uncorrelated(results: FittedResults, values: Array) -> Array:
    """Rows to draw as the columns that have weights."""
    made = results.decorrelation
    return values if made is None else made.apply(values)


class PicturesMixin:
    """Pictures of the clusters' profiles."""

    def plot_heatmap(self: Any, ax: Axes | None = None, top: int = 20) -> Axes:
        """Draw the centroids as a heatmap: how far each lies from the mean of all rows.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        top : int, default 20
            Number of features to draw, heaviest on top.

        Returns
        -------
        matplotlib.axes.Axes
        """
        spread = _spread(self)
        deviations = (self.centroids.to_numpy(dtype=float) - self.center) / spread
        names, clusters = list(self.feature_names), list(self.centroids.index)
        weights = self.mean_weights.to_numpy(dtype=float)
        return plot_heatmap(deviations, weights, names, clusters=clusters, top=top, ax=ax)

    def plot_parallel(self: Any, X: Any = None, ax: Axes | None = None, top: int = 8) -> Axes:
        """Draw parallel coordinates: means of the clusters, with bands of 80 % of their rows.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            Data to draw. By default the data that were fitted.
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        top : int, default 8
            Number of features to draw, heaviest on the left.

        Returns
        -------
        matplotlib.axes.Axes
        """
        values, labels, mass = _weighted_rows(self, X)
        z = (values - self.center) / _spread(self)
        names, weights = list(self.feature_names), self.mean_weights.to_numpy(dtype=float)
        return plot_parallel(z, labels, weights, names, mass=mass, top=top, ax=ax)

    @one_blas_thread()
    def plot_silhouettes(self: Any, X: Any = None, ax: Axes | None = None) -> Axes:
        """Draw the silhouettes of the rows in the weighted metric, cluster by cluster.

        Where every cluster has weights of its own, the metric is that of their mean.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            Data to draw. By default the data that were fitted.
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        values, labels, mass = _weighted_rows(self, X)
        _, weights, _, scale = self.common_metric()
        columns = _uncorrelated(self, values)
        found = silhouettes(columns, labels, weights / scale**2, weight=mass)
        return plot_silhouettes(found, labels, ax=ax)

    def plot_pairs(
        self: Any, X: Any = None, features: Sequence[Any] | None = None, top: int = 3
    ) -> list[Axes]:
        """Draw pairs of features: rows by cluster, with ellipses around 90 % of each cluster.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            Data to draw. By default the data that were fitted.
        features : sequence of feature names, optional
            Two features or more. By default the heaviest.
        top : int, default 3
            Number of the heaviest features.

        Returns
        -------
        list of matplotlib.axes.Axes
        """
        check_integer("top", top, least=2)
        known = list(self.feature_names)
        if features is None:
            chosen = heaviest_features(self.mean_weights.to_numpy(dtype=float), top)
        else:
            unknown = [name for name in features if name not in known]
            if unknown:
                raise ValueError(
                    f"features: {listing(unknown)} given, but the fit has {listing(known)}"
                )
            chosen = np.array([known.index(name) for name in features])
        values, labels, mass = _weighted_rows(self, X)
        return plot_pairs(values[:, chosen], labels, [known[i] for i in chosen], mass=mass)

    def plot_biplot(self: Any, X: Any = None, ax: Axes | None = None, top: int = 8) -> Axes:
        """Draw rows, centroids and features by the principal components of the weighted metric.

        Where every cluster has weights of its own, the metric is that of their mean.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            Data to draw. By default the data that were fitted.
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        top : int, default 8
            Number of features with arrows.

        Returns
        -------
        matplotlib.axes.Axes
        """
        values, labels = rows_to_draw(self, X)
        theta, weights, center, scale = self.common_metric()
        plain = self.decorrelation is None
        names = [str(name) if plain else f"{name}, decorrelated" for name in self.feature_names]
        return plot_biplot(
            _uncorrelated(self, values),
            labels,
            theta,
            weights,
            center=center,
            scale=scale,
            names=names,
            top=top,
            ax=ax,
        )

    def plot_selection(self: Any, ax: Axes | None = None) -> Axes:
        """Draw the criterion by which the penalty was chosen, with its standard errors.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        if self.selection is None:
            raise ValueError("the penalty of this fit was given: there was no choice to draw")
        return plot_record(self.selection, ax=ax)


def _spread(results: FittedResults) -> Array:
    """Standard deviations of the columns, ones for those that do not vary."""
    spread = column_deviations(results)
    if spread is None:
        raise ValueError(
            "a file of an old version does not hold the standard deviations of the columns: fit "
            "again to draw them"
        )
    return np.where(spread > 0, spread, 1.0)
