"""The tables of a fit under the names of R's broom, as methods of the results object.

`Tables` is a part of :class:`ewp.EWPResults`: ``tidy`` has a row a cluster, ``glance`` a row a fit,
``augment`` a row a row of the data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from ewp.results import EWPResults

__all__ = ["Tables"]


class Tables:
    """What broom's verbs say of a fit."""

    def tidy(self) -> pd.DataFrame:
        """One row a cluster: centroid, ``size``, ``withinss``, ``cluster``, as broom's ``tidy``.

        A statistic that shares its name with a feature is preceded by a dot (``.size``).
        """
        results = cast("EWPResults", self)
        statistics = results.clusters[["size", "withinss"]].reset_index(drop=True)
        statistics["cluster"] = results.centroids.index.to_numpy()
        taken = set(results.feature_names)
        names = [f".{name}" if name in taken else name for name in statistics.columns]
        statistics.columns = pd.Index(names)
        return pd.concat([results.centroids.reset_index(drop=True), statistics], axis=1)

    def glance(self) -> pd.DataFrame:
        """One row a fit: the columns of broom's ``glance`` for k-means, then those of EWP."""
        results = cast("EWPResults", self)
        row = {
            "totss": results.totss,
            "tot.withinss": results.tot_withinss,
            "betweenss": results.betweenss,
            "iter": results.n_iter,
            "lam": results.lam,
            "s0": results.s0,
            "objective": results.objective,
            "effective_features": results.effective_features,
            "n_obs": results.n_obs,
            "n_clusters": results.n_clusters,
            "converged": results.converged,
        }
        return pd.DataFrame([row])

    def augment(self, X: Any = None) -> pd.DataFrame:
        """Append each row's cluster and its weighted distance to that cluster's centroid.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            New data to assign. By default the data that were fitted.

        Returns
        -------
        pandas.DataFrame
            A copy of the data, row names kept, with the columns ``.cluster`` and ``.distance``.
        """
        from ewp.assigning import assign

        results = cast("EWPResults", self)
        rows, fitted = results._rows(X)
        for name in (".cluster", ".distance"):
            if isinstance(rows, pd.DataFrame) and name in rows.columns:
                raise ValueError(f"the data already have a column {name!r}: rename or drop it")
        values = results._check(rows)
        nearest, squared = assign(values, *results._metric())
        if isinstance(rows, pd.DataFrame):
            out = rows.copy()
        else:
            index = results.labels.index if fitted else None
            out = pd.DataFrame(values.copy(), columns=results.feature_names, index=index)
        cluster = results.labels.to_numpy() if fitted else nearest
        added = {".cluster": cluster, ".distance": np.sqrt(np.maximum(squared, 0.0))}
        for name, column in added.items():
            # of several levels of column names the last says what it is
            depth = out.columns.nlevels
            out[name if depth == 1 else (*[""] * (depth - 1), name)] = column
        return out
