"""The results object: what a fit hands back to the person who asked for it.

:class:`EWPResults` holds the estimates as pandas objects under the data's own row and column names
and answers the questions a statistician puts to them: a printed summary, predictions for new rows,
a small file. Broom's tables are methods of ``_tables``, pictures of ``_pictures``, what is asked
about uncertainty of ``diagnostics``. It estimates nothing; printing lives in ``_summary``, the file
format in ``storage``, each loaded only when it is used.
"""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp._pictures import Pictures
from ewp._printed import Printed
from ewp._reported import Reported
from ewp._tables import Tables
from ewp.diagnostics import Diagnostics

if TYPE_CHECKING:
    from statsmodels.iolib.summary2 import Summary

    from ewp.agreement import Agreement
    from ewp.bootstrap_results import BootstrapResults
    from ewp.consistency import ConsistencyResults
    from ewp.feature_tests import FeatureTests
    from ewp.stability import StabilityResults

__all__ = ["EWPResults"]


@dataclass(eq=False, repr=False)
class EWPResults(Printed, Reported, Tables, Pictures, Diagnostics):
    r"""Estimates, diagnostics and history of one fit of Entropy Weighted Power k-means.

    Instances come from :func:`ewp.fit`, from ``results_`` of :class:`ewp.EWP` and from
    :meth:`load`. The metric is :math:`d_{ij} = \sum_l w_l ((x_{il} - \theta_{jl})/scale_l)^2`.

    Attributes
    ----------
    weights : pandas.Series
        Feature weights by feature name; they sum to 1.
    centroids : pandas.DataFrame
        One row a cluster, one column a feature, in the units of the data.
    labels : pandas.Series
        Cluster of each row of the data, counted from 0; cluster 0 is the largest.
    objective : float
        The limit objective :math:`f_{-\infty}` at the estimates.
    objective_trace : pandas.DataFrame
        One row an iteration, with the values at the parameters it starts from; the last row
        belongs to the estimates.
    lam : float
        The entropy penalty, in the units of a sum over rows.
    s0, eta : float
        First exponent of the annealing and the factor by which it moves.
    converged : bool
        Whether the limit problem reached its fixed point.
    n_iter : int
        Number of MM steps.
    clusters : pandas.DataFrame
        Columns ``size`` (rows), ``mass`` (sum of sample weights) and ``withinss`` (sum of squares
        in the weighted metric).
    totss : float
        Total sum of squares about the mean in the weighted metric.
    center, scale : numpy.ndarray
        Means and divisors of the columns; the divisors are ones when the features were not scaled.
    scaling : {"none", "standard"}
    dispersion : {"within", "between"}
        The form of the weight rule.
    prior : numpy.ndarray
        Prior weights of the features; all ones is uniform, 0 excludes a feature.
    critical_exponent : float
        Where the collapsed solution loses its stability, see :func:`ewp.critical_exponent`.
    options : dict
        The other options of the fit.
    data, sample_weight : array-like or None
        What was fitted, by reference; None after :meth:`load` and after unpickling.
    spread : numpy.ndarray or None
        Standard deviations of the columns in data units; with them the summary can tell how much
        of each feature's variance the clusters explain.
    bootstrap_, consistency_, stability_, feature_tests_, agreement_ : object or None
        The last outcome of the methods :meth:`bootstrap`, :meth:`consistency`, :meth:`stability`,
        :meth:`test_features` and :meth:`compare_to`; saved with the results.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ewp
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat([0.0, 8.0], [30, 20])
    >>> X = pd.DataFrame({"signal": group + rng.normal(size=50), "noise": 5 * rng.normal(size=50)})
    >>> results = ewp.fit(X, 2, lam=200.0, scale=None, dispersion="within", random_state=0)
    >>> results.weights.idxmax()
    'signal'
    >>> results.clusters["size"].tolist()
    [30, 20]
    """

    weights: pd.Series
    centroids: pd.DataFrame
    labels: pd.Series
    objective: float
    objective_trace: pd.DataFrame
    lam: float
    s0: float
    eta: float
    converged: bool
    n_iter: int
    clusters: pd.DataFrame
    totss: float
    center: np.ndarray
    scale: np.ndarray
    scaling: str
    dispersion: str
    prior: np.ndarray
    critical_exponent: float
    options: dict[str, Any]
    data: Any = None
    sample_weight: np.ndarray | None = None
    spread: np.ndarray | None = None
    bootstrap_: BootstrapResults | None = None
    consistency_: ConsistencyResults | None = None
    stability_: StabilityResults | None = None
    feature_tests_: FeatureTests | None = None
    agreement_: Agreement | None = None

    @property
    def feature_names(self) -> pd.Index:
        """Names of the features, in the order of the data's columns."""
        return self.weights.index

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.centroids)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.weights)

    @property
    def n_obs(self) -> int:
        """Number of rows fitted."""
        return len(self.labels)

    @property
    def effective_features(self) -> float:
        """Exponential of the weights' entropy: p if they are equal, 1 if one feature has it all."""
        w = self.weights.to_numpy(dtype=float)
        w = w[w > 0]
        return float(np.exp(-(w @ np.log(w))))

    @property
    def tot_withinss(self) -> float:
        """Sum of squares within the clusters, in the weighted metric."""
        return float(self.clusters["withinss"].sum())

    @property
    def betweenss(self) -> float:
        """Sum of squares between the clusters: ``totss - tot_withinss``."""
        between = float(self.totss - self.tot_withinss)
        return between if abs(between) > 1e-12 * self.totss else 0.0  # rounding alone

    def summary(self, top: int = 10) -> Summary:
        """Describe the fit in a few tables and plain words.

        Parameters
        ----------
        top : int, default 10
            Number of features to list, heaviest first.

        Returns
        -------
        statsmodels.iolib.summary2.Summary
            With ``as_text()``, ``as_html()`` and ``as_latex()``; notebooks show it as HTML.
        """
        from ewp._summary import summarise

        return summarise(self, top=top)

    def predict(self, X: Any) -> pd.Series | np.ndarray:
        """Assign rows to the nearest centroid in the weighted metric.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        pandas.Series or numpy.ndarray
            Cluster numbers: a Series with X's row names for a DataFrame, else an array.
        """
        from ewp.assigning import assign

        nearest, _ = assign(self._check(X), *self._metric())
        if isinstance(X, pd.DataFrame):
            return pd.Series(nearest, index=X.index, name="cluster")
        return nearest

    def transform(self, X: Any) -> pd.DataFrame | np.ndarray:
        """Weighted distances (the square roots of d) of rows to every centroid.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        pandas.DataFrame or numpy.ndarray of shape (n, k)
            A DataFrame with X's row names for a DataFrame, else an array.
        """
        from ewp.assigning import distances

        d = np.sqrt(np.maximum(distances(self._check(X), *self._metric()), 0.0))
        if isinstance(X, pd.DataFrame):
            return pd.DataFrame(d, index=X.index, columns=self.centroids.index)
        return d

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the results, without the data, to one small file that :meth:`load` reads.

        Parameters
        ----------
        path : path-like
            Used exactly as given. An existing file is replaced in one step.
        """
        from ewp.storage import write

        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> EWPResults:
        """Read a file written by :meth:`save`, without running any code that may be in it.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        EWPResults
            It summarises and predicts as the original; ``data`` and ``sample_weight`` are None.

        Raises
        ------
        ValueError
            If there is no such file, it is not one of :meth:`save`'s, or it needs a newer version.
        """
        from ewp.storage import read

        return cls(**read(path))

    def __repr__(self) -> str:
        heaviest = self.weights.sort_values(ascending=False, kind="stable").head(3)
        sizes = [str(size) for size in self.clusters["size"].head(10)]
        outcome = "converged" if self.converged else "not converged"
        return (
            f"EWPResults: {self.n_obs} observations, {self.n_features} features, "
            f"{self.n_clusters} clusters ({outcome} after {self.n_iter} iterations)\n"
            f"  lambda {self.lam:.4g}, scaling {self.scaling}, dispersion {self.dispersion}, "
            f"s0 {self.s0:.4g}, objective {self.objective:.6g}\n"
            f"  cluster sizes: {', '.join(sizes)}{', ...' if self.n_clusters > 10 else ''}\n"
            f"  {self.effective_features:.4g} effective features; heaviest: "
            + ", ".join(f"{str(name)[:40]} {weight:.3g}" for name, weight in heaviest.items())
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "data": None, "sample_weight": None}

    def __copy__(self) -> EWPResults:
        return dataclasses.replace(self)

    def _rows(self, X: Any) -> tuple[Any, bool]:
        """Return the data meant and whether they are the fitted ones."""
        if X is not None:
            return X, False
        if self.data is None:
            raise ValueError("a loaded or unpickled result does not hold its data: pass them as X")
        return self.data, True

    def _check(self, X: Any) -> np.ndarray:
        from ewp.inputs import check_new_data

        # A file keeps names such as dates or tuples as text: the same text is the same feature.
        names = self.feature_names
        renamed = isinstance(X, pd.DataFrame) and not X.columns.equals(names)
        if renamed and list(map(str, X.columns)) == list(names):
            X = X.set_axis(names, axis=1)
        return check_new_data(X, names, named=bool(self.options.get("named_features", True)))

    def _metric(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        theta, weights = self.centroids.to_numpy(dtype=float), self.weights.to_numpy(dtype=float)
        return theta, weights, self.center, self.scale
