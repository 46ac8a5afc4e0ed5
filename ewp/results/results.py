"""The results object: what a fit hands back to the person who asked for it.

:class:`EWPResults` holds the estimates as pandas objects under the data's own row and column names
and answers the questions a statistician puts to them: a printed summary, broom's tables,
predictions for new rows, pictures, a page, a small file. It estimates nothing. What can be asked
after a fit are methods whose signatures stand with the functions that answer, in `ewp.diagnostics`;
what was found is kept on the object (``bootstrap_`` and so on), is used by its summary and
pictures, and is saved with it.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import entr

from ewp.common.parallel import one_blas_thread
from ewp.data.decorrelation import Decorrelation
from ewp.data.frames import as_frame, column_names, is_frame, row_names, with_columns
from ewp.data.sources import in_memory
from ewp.data.validation import check_new_data
from ewp.diagnostics.agreement import Agreement, compare_to
from ewp.diagnostics.bootstrap import BootstrapResults
from ewp.diagnostics.consistency import ConsistencyResults, consistency
from ewp.diagnostics.difference_tests import selective_tests
from ewp.diagnostics.feature_tests import FeatureTests, feature_tests_given_others
from ewp.diagnostics.mean_differences import MeanDifferences
from ewp.diagnostics.profile import profile
from ewp.diagnostics.profile_table import Profile
from ewp.diagnostics.refine import refine
from ewp.diagnostics.refinement import Refinement
from ewp.diagnostics.resampling import bootstrap
from ewp.diagnostics.stability import StabilityResults, stability
from ewp.display.fit_summary import summarise_fit
from ewp.display.formatting import short
from ewp.display.plots import plot_clusters, plot_trace, plot_weights
from ewp.display.profile_plots import plot_cluster_weights
from ewp.display.summary import EWPSummary, SummaryMixin
from ewp.engine.columns import FittedFamilies, aligned_offset, check_domains
from ewp.engine.precision import precision_for
from ewp.engine.predict import FittedMetric, centroid_distances, nearest_centroids
from ewp.report.fit import describe_fit
from ewp.report.page import ReportMixin
from ewp.results.annotation import AnnotateMixin
from ewp.results.pictures import PicturesMixin, rows_to_draw
from ewp.results.recipe import RepeatMixin
from ewp.results.recipe import question as _question
from ewp.results.storage import read, write
from ewp.solver.fit import FitOptions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EWPResults"]


@dataclass(eq=False, repr=False)
class EWPResults(SummaryMixin, ReportMixin, RepeatMixin, PicturesMixin, AnnotateMixin):
    r"""Estimates, diagnostics and history of one fit of Entropy Weighted Power k-means.

    Instances come from :func:`ewp.fit`, from ``results_`` of :class:`ewp.EWP` and from
    :meth:`load`. The metric is :math:`d_{ij} = \sum_l w_l ((x_{il} - \theta_{jl})/scale_l)^2`.

    Attributes
    ----------
    weights : pandas.Series or pandas.DataFrame
        Feature weights by feature name; they sum to 1. With ``weights="cluster"`` one row of them
        per cluster.
    centroids : pandas.DataFrame
        One row per cluster, one column per feature, in the units of the data.
    labels : pandas.Series
        Cluster of each row of the data, counted from 0; cluster 0 is the largest.
    objective : float
        The limit objective :math:`f_{-\infty}` at the estimates.
    objective_trace : pandas.DataFrame
        One row per iteration, with the values at the parameters it starts from; the last row
        belongs to the estimates.
    s0 : float
        First exponent of the annealing.
    converged : bool
        Whether the limit problem reached its fixed point.
    n_iter : int
        Number of MM steps.
    clusters : pandas.DataFrame
        Columns ``size`` (rows), ``mass`` (sum of sample weights) and ``withinss`` (sum of squares
        in the weighted metric). Where every cluster has weights of its own also ``price``: what
        these add to the squared distance of a row to the cluster, see `ewp.EWP`.
    totss : float
        Total sum of squares about the mean in the weighted metric, that of its cluster for every
        row where clusters have weights of their own.
    center, scale : numpy.ndarray
        Means and divisors of the columns; the divisors are ones when the features were not scaled.
    prior : numpy.ndarray
        Prior weights of the features; all ones is uniform, 0 excludes a feature.
    critical_exponent : float
        Where the collapsed solution loses its stability, see :func:`ewp.critical_exponent`.
    fit_options : FitOptions
        All options of the fit, with what was chosen in the place of "auto".
    named_features : bool
        Whether the names of the features are the data's own.
    selection : dict or None
        How the penalty was chosen, if it was.
    starts : pandas.DataFrame or None
        Where the starts ended, one row per distinct optimum, the lowest first: ``objective``,
        ``gap_per_row`` to the lowest, ``starts`` (how many ended there) and ``ari``, the adjusted
        Rand index of the partition with the lowest one's. Where partitions of sparse k-means are
        among the starts, ``sparse`` is how many of these ended there. At most five; None in files
        of before.
        A lowest optimum that no start reached was found by a fold of the choice of the penalty, or,
        where ``recombined`` is true, by recombining the partitions of the starts.
    n_starts : int
        Number of starts, those from partitions of sparse k-means included.
    data, sample_weight : array-like or None
        What was fitted, by reference; None after :meth:`load` and after unpickling.
    spread : numpy.ndarray or None
        Standard deviations of the columns in data units; with them the summary can tell how much
        of each feature's variance the clusters explain.
    decorrelation : Decorrelation or None
        The map to uncorrelated columns, if features were decorrelated; weights are theirs.
    observed : numpy.ndarray or None
        Share of the rows in which every feature is observed, by weight; None if nothing is
        missing. Terms of a feature are divided by it in all distances, sums of squares too.
    within : numpy.ndarray or None
        Sums of squares of the observed values of every feature about their centroids, in data
        units, where values are missing.
    outliers : pandas.DataFrame or None
        Of a trimmed fit (``robust="trim"``), one row per row of the data: ``mass`` (its sample
        weight), ``distance`` to its nearest centroid, ``outlyingness`` (this distance by the
        largest of the rows that were kept) and ``trimmed``. Rows that were trimmed have weight
        zero in `sample_weight`: what is asked after the fit goes without them too.
    families : FittedFamilies or None
        Divergences of the columns and sizes of the rows, where not all columns have squared
        differences or rows have sizes (options `divergence` and `offset`). Sums of squares are sums
        of divergences then, `center` holds means per unit of size.
    call : str
        The call that gives these results again from the same data, which it calls X: equal to the
        last bit with the same versions. Options are as they were stated, and there is always a
        seed; an array that is long goes by the name of its option, with its hash beside it.
        Empty where it is not known, as in files of before.
    calls : dict of str to str
        The calls of what was asked after the fit, by the attribute that holds the answer, in the
        order in which it was asked; the answers have them too, as ``call``. See :attr:`recipe`.
    versions : dict of str to str
        Versions of the package, of Python and of what the numbers rest on, at the fit.
    data_sha256 : str or None
        SHA-256 of the values as 64-bit floats, row by row; None where computing it would have
        cost much: files, Dask collections, more than 256 MB.
    bootstrap_, consistency_, stability_, feature_tests_, agreement_, refinement_, profile_ : object
        The last outcome of the methods :meth:`bootstrap`, :meth:`consistency`, :meth:`stability`,
        :meth:`test_features`, :meth:`compare_to`, :meth:`refine` and :meth:`profile`, or None;
        saved with the results.
    differences_ : object or None
        The same of :meth:`test_differences`.

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

    weights: pd.Series | pd.DataFrame
    centroids: pd.DataFrame
    labels: pd.Series
    objective: float
    objective_trace: pd.DataFrame
    s0: float
    converged: bool
    n_iter: int
    clusters: pd.DataFrame
    totss: float
    center: np.ndarray
    scale: np.ndarray
    prior: np.ndarray
    critical_exponent: float
    fit_options: FitOptions
    named_features: bool = True
    selection: dict[str, Any] | None = None
    starts: pd.DataFrame | None = None
    n_starts: int = 1
    data: Any = None
    sample_weight: np.ndarray | None = None
    spread: np.ndarray | None = None
    decorrelation: Decorrelation | None = None
    bootstrap_: BootstrapResults | None = None
    consistency_: ConsistencyResults | None = None
    stability_: StabilityResults | None = None
    feature_tests_: FeatureTests | None = None
    agreement_: Agreement | None = None
    call: str = ""
    calls: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    data_sha256: str | None = None
    refinement_: Refinement | None = None
    profile_: Profile | None = None
    differences_: MeanDifferences | None = None
    observed: np.ndarray | None = None
    within: np.ndarray | None = None
    outliers: pd.DataFrame | None = None
    families: FittedFamilies | None = None

    bootstrap = _question(bootstrap, "bootstrap")
    test_features = _question(feature_tests_given_others, "test_features", kept_as="feature_tests_")
    stability = _question(stability, "stability")
    consistency = _question(consistency, "consistency")
    compare_to = _question(compare_to, "compare_to", kept_as="agreement_")
    refine = _question(refine, "refine", kept_as="refinement_")
    profile = _question(profile, "profile")
    test_differences = _question(selective_tests, "test_differences", kept_as="differences_")

    @property
    def lam(self) -> float:
        """The entropy penalty, in the units of a sum over rows."""
        return self.fit_options.penalty

    @property
    def eta(self) -> float:
        """The factor by which the exponent moves in every step of the annealing."""
        return self.fit_options.eta

    @property
    def scaling(self) -> str:
        """What was done to the features.

        "none", "standard" (division by their deviations), or "decorrelate", perhaps with the share
        by which correlations were shrunk.
        """
        return self.fit_options.scale or "none"

    @property
    def dispersion(self) -> str:
        """The form of the weight rule: "within" or "between"."""
        return "between" if self.fit_options.between else "within"

    @property
    def options(self) -> dict[str, Any]:
        """The other options of the fit as plain data, a copy; "array" stands for a given `init`."""
        given = self.fit_options
        plain: dict[str, Any] = {
            "init": given.init if isinstance(given.init, str) else "array",
            "n_init": given.n_init,
            "s0": given.s0,
            "named_features": self.named_features,
            "polish": given.effort.rounds > 0,
            "max_iter": given.max_iter,
            "tol": given.tol,
            "random_state": given.random_state,
            "missing": given.missing,
            "robust": given.robust,
            "dtype": given.dtype,
            "divergence": self.divergence,
            "offset": given.offset if isinstance(given.offset, str | None) else "array",
            "weights": given.weights,
        }
        if self.selection is not None:
            plain["selection"] = copy.deepcopy(self.selection)
        return plain

    @property
    def missing(self) -> str:
        """What the fit did with missing values: "error" refused them, "observed" did without."""
        return self.fit_options.missing

    @property
    def divergence(self) -> str | tuple[str, ...]:
        """Divergence of all columns, or that of each."""
        given: str | tuple[str, ...] = self.fit_options.divergence
        return given[0] if len(set(given)) == 1 else given

    @property
    def missing_share(self) -> pd.Series:
        """Share of the rows in which a feature is missing, by feature name."""
        observed = np.ones(self.n_features) if self.observed is None else self.observed
        return pd.Series(1.0 - observed, index=self.feature_names, name="missing")

    @property
    def divisors(self) -> np.ndarray:
        """What differences are divided by in distances: `scale`, and roots of observed shares."""
        return self.scale if self.observed is None else self.scale * np.sqrt(self.observed)

    @property
    def feature_names(self) -> pd.Index:
        """Names of the features, in the order of the data's columns."""
        return self.centroids.columns

    @property
    def by_cluster(self) -> bool:
        """Whether every cluster has feature weights of its own."""
        return self.fit_options.by_cluster

    @property
    def mean_weights(self) -> pd.Series:
        """Feature weights; where every cluster has its own, their means, by mass."""
        if isinstance(self.weights, pd.Series):
            return self.weights
        mass = self.clusters["mass"].to_numpy(dtype=float)
        mean = mass @ self.weights.to_numpy(dtype=float) / mass.sum()
        return pd.Series(mean, index=self.feature_names, name="weight")

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.centroids)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.feature_names)

    @property
    def n_obs(self) -> int:
        """Number of rows fitted."""
        return len(self.labels)

    @property
    def effective_features(self) -> float:
        """Exponential of the weights' entropy: p if they are equal, 1 if one feature has it all.

        Of the mean of the clusters' entropies, by mass, where they have weights of their own.
        """
        if self.by_cluster:
            mass = self.clusters["mass"].to_numpy(dtype=float)
            each = entr(self.weights.to_numpy(dtype=float)).sum(axis=1)
            return float(np.exp(mass @ each / mass.sum()))
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

    def summary(self, top: int = 10) -> EWPSummary:
        """Describe the fit in a few tables and plain words.

        Parameters
        ----------
        top : int, default 10
            Number of features to list, heaviest first.

        Returns
        -------
        EWPSummary
            With ``as_text()``, ``as_html()`` and ``as_latex()``; notebooks show it as HTML.
        """
        return summarise_fit(self, top=top)

    def tidy(self) -> pd.DataFrame:
        """One row per cluster: centroid, ``size``, ``withinss``, ``cluster``, as broom's ``tidy``.

        A statistic that shares its name with a feature is preceded by a dot (``.size``).
        """
        statistics = self.clusters[["size", "withinss"]].reset_index(drop=True)
        statistics["cluster"] = self.centroids.index.to_numpy()
        taken = set(self.feature_names)
        names = [f".{name}" if name in taken else name for name in statistics.columns]
        statistics.columns = pd.Index(names)
        return pd.concat([self.centroids.reset_index(drop=True), statistics], axis=1)

    def glance(self) -> pd.DataFrame:
        """One row per fit: the columns of broom's ``glance`` for k-means, then those of EWP."""
        row = {
            "totss": self.totss,
            "tot.withinss": self.tot_withinss,
            "betweenss": self.betweenss,
            "iter": self.n_iter,
            "lam": self.lam,
            "s0": self.s0,
            "objective": self.objective,
            "effective_features": self.effective_features,
            "n_obs": self.n_obs,
            "n_clusters": self.n_clusters,
            "converged": self.converged,
        }
        return pd.DataFrame([row])

    @one_blas_thread()
    def augment(self, X: Any = None, offset: Any = None) -> Any:
        """Append each row's cluster and its weighted distance to that cluster's centroid.

        Where every cluster has weights of its own, the squared distance includes their price.

        Parameters
        ----------
        X : array-like or table of shape (n, p), optional
            New data to assign. By default the data that were fitted.
        offset : array-like of shape (n,), optional
            Sizes of new rows, where those of the fit had sizes of their own.

        Returns
        -------
        table
            A copy of the data with the columns ``.cluster`` and ``.distance``: of the kind that
            was given (polars, Arrow, ...), a lazy one collected; else a DataFrame of pandas, row
            names kept.
        """
        rows, fitted = self.rows_of(X)
        rows = in_memory(rows)
        taken = column_names(rows)
        for name in (".cluster", ".distance"):
            if taken is not None and name in taken:
                raise ValueError(f"the data already have a column {name!r}: rename or drop it")
        values = self.checked(rows)
        if fitted and offset is not None:
            raise ValueError("offset belongs to X: the sizes of the rows of the fit are known")
        nearest, squared = self.nearest(values, aligned_offset(offset, rows), own=fitted)
        cluster = self.labels.to_numpy() if fitted else nearest
        if not is_frame(rows):
            index = self.labels.index if fitted else None
            rows = pd.DataFrame(np.asarray(values), columns=self.feature_names, index=index)
        distance = np.sqrt(np.maximum(squared, 0.0))
        return with_columns(rows, {".cluster": cluster, ".distance": distance})

    @one_blas_thread()
    def predict(self, X: Any, offset: Any = None) -> pd.Series | np.ndarray:
        """Assign rows to the nearest centroid in the weighted metric.

        Parameters
        ----------
        X : array-like or table of shape (n, p)
            The columns of a table are found by their names, in any order.
        offset : array-like of shape (n,), optional
            Sizes of the rows, where those of the fit had sizes of their own.

        Returns
        -------
        pandas.Series or numpy.ndarray
            Cluster numbers: a Series where X has row names (pandas, AnnData), else an array.
        """
        X = in_memory(X)
        nearest, _ = nearest_centroids(
            self.columns_of(X, aligned_offset(offset, X)), *self.metric()
        )
        rows = row_names(X)
        return nearest if rows is None else pd.Series(nearest, index=rows, name="cluster")

    @one_blas_thread()
    def transform(self, X: Any, offset: Any = None) -> pd.DataFrame | np.ndarray:
        """Weighted distances (the square roots of d) of rows to every centroid.

        Where every cluster has weights of its own, d includes their price, so that the nearest
        centroid is the one that `predict` chooses.

        Parameters
        ----------
        X : array-like or table of shape (n, p)
            The columns of a table are found by their names, in any order.
        offset : array-like of shape (n,), optional
            Sizes of the rows, where those of the fit had sizes of their own.

        Returns
        -------
        pandas.DataFrame or numpy.ndarray of shape (n, k)
            A DataFrame where X has row names (pandas, AnnData), else an array; float32 if X is.
        """
        X = in_memory(X)
        offset = aligned_offset(offset, X)
        values = self.columns_of(X, offset)
        squared = centroid_distances(values, *self.metric())
        if self.families is not None and self.families.sizes is not None:
            sizes = self.families.sizes_of(self.checked(X), offset)
            assert sizes is not None
            squared *= sizes[:, None]
        d = np.sqrt(np.maximum(squared, 0.0)).astype(precision_for(values, None), copy=False)
        rows = row_names(X)
        return d if rows is None else pd.DataFrame(d, index=rows, columns=self.centroids.index)

    def plot_weights(self, ax: Axes | None = None, top: int = 20) -> Axes:
        """Draw the heaviest features, see :func:`ewp.display.plots.plot_weights`.

        After :meth:`EWPResults.bootstrap` with 95 % intervals. Where every cluster has weights of
        its own, they are the cells of a heatmap, one column a cluster.
        """
        ends = None
        if self.bootstrap_ is not None:
            table = self.bootstrap_.weight_intervals()
            ends = table["lower"].to_numpy(), table["upper"].to_numpy()
        w, names = self.weights.to_numpy(dtype=float), list(self.feature_names)
        if isinstance(self.weights, pd.DataFrame):
            if ends is not None:
                ends = ends[0].reshape(w.shape), ends[1].reshape(w.shape)
            clusters = list(self.weights.index)
            return plot_cluster_weights(w, names, clusters=clusters, top=top, intervals=ends, ax=ax)
        return plot_weights(w, names, ax=ax, top=top, intervals=ends)

    def plot_trace(self, ax: Axes | None = None) -> Axes:
        """Draw objective and exponent by iteration, see :func:`ewp.display.plots.plot_trace`."""
        names = ("iteration", "s", "f_s", "f_inf", "phase")
        columns = [self.objective_trace[name].to_numpy() for name in names]
        return plot_trace(*columns, critical_exponent=self.critical_exponent, ax=ax)

    def plot_clusters(
        self, X: Any = None, ax: Axes | None = None, features: Sequence[Any] | None = None
    ) -> Axes:
        """Draw rows and centroids in the plane, see :func:`ewp.display.plots.plot_clusters`.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            Data to draw. By default the data that were fitted.
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        features : sequence of one or two feature names, optional
            The axes. By default the two heaviest features if they hold 99 % of the weight, else
            the first two principal components in the weighted metric (of mean weights, where
            every cluster has its own).

        Returns
        -------
        matplotlib.axes.Axes
        """
        values, labels = rows_to_draw(self, X)
        names = list(self.feature_names)
        theta, weights, center, scale = self.common_metric()
        if self.decorrelation is not None and features is None:
            values = self.decorrelation.apply(values)
            names = [f"{name}, decorrelated" for name in names]
        elif self.decorrelation is not None:
            theta, center, scale = self.centroids.to_numpy(dtype=float), self.center, self.scale
        return plot_clusters(
            values,
            labels,
            theta,
            weights,
            center=center,
            scale=scale,
            names=names,
            features=features,
            ax=ax,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the results, without the data, to one small file that :meth:`load` reads.

        Parameters
        ----------
        path : path-like
            Used exactly as given. An existing file is replaced in one step.
        """
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
        fields = read(path)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = cls(**fields)
                # parts that do not fit together show when the whole is described
                metric = results.metric()
                nearest_centroids(metric.theta, *metric)
                str(results.summary())
        except Exception as error:
            raise ValueError(
                f"{os.fspath(path)!r} does not hold EWP results, or is damaged: its parts do not "
                f"fit together ({error})"
            ) from error
        return results

    def _page(self) -> tuple[str, dict[str, Any]]:
        return "fit.html", describe_fit(self)

    def __repr__(self) -> str:
        heaviest = self.mean_weights.sort_values(ascending=False, kind="stable").head(3)
        sizes = [str(size) for size in self.clusters["size"].head(10)]
        outcome = "converged" if self.converged else "not converged"
        whose = "weights of every cluster, " if self.by_cluster else ""
        return (
            f"EWPResults: {self.n_obs} observations, {self.n_features} features, "
            f"{self.n_clusters} clusters ({outcome} after {self.n_iter} iterations)\n"
            f"  lambda {short(self.lam)}, scaling {self.scaling}, dispersion {self.dispersion}, "
            f"{whose}s0 {short(self.s0)}, objective {short(self.objective, 6)}\n"
            f"  cluster sizes: {', '.join(sizes)}{', ...' if self.n_clusters > 10 else ''}\n"
            f"  {short(self.effective_features)} effective features; heaviest: "
            + ", ".join(f"{str(name)[:40]} {short(weight, 3)}" for name, weight in heaviest.items())
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "data": None, "sample_weight": None}

    def __copy__(self) -> EWPResults:
        return dataclasses.replace(self)

    def rows_of(self, X: Any) -> tuple[Any, bool]:
        """Return the data meant and whether they are the fitted ones."""
        if X is not None:
            return as_frame(X), False
        if self.data is None:
            raise ValueError("a loaded or unpickled result does not hold its data: pass them as X")
        return self.data, True

    def checked(self, X: Any, *, sparse: str = "dense") -> Any:
        """Check rows for prediction against the features of the fit.

        Parameters
        ----------
        X : array-like of shape (n, p)
        sparse : {"dense", "keep"}
            Whether the rows of a sparse matrix are made dense, which only small ones can be.
        """
        names, named = self.feature_names, self.named_features
        return check_new_data(in_memory(X), names, named=named, missing=self.missing, sparse=sparse)

    def columns_of(self, X: Any, offset: Any = None) -> Any:
        """Checked rows as the columns that have weights; rows of a sparse matrix stay sparse."""
        plain = self.decorrelation is None and self.families is None
        return self.to_columns(self.checked(X, sparse="keep" if plain else "dense"), offset)

    def common_metric(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """One metric of squared differences for all clusters: for pictures.

        Of mean weights, where every cluster has its own; near the means, where divergences stand in
        the place of squared differences.
        """
        metric = self.metric()
        if not self.by_cluster:
            return metric.tangent()
        mean = self.mean_weights.to_numpy(dtype=float)
        return metric.theta, mean, metric.center, metric.scale

    def metric(self) -> FittedMetric:
        """Return what predictions are made with, for the columns that `to_columns` returns."""
        theta, weights = self.centroids.to_numpy(dtype=float), self.weights.to_numpy(dtype=float)
        price = self.clusters["price"].to_numpy(dtype=float) if self.by_cluster else None
        if self.decorrelation is None:
            divergence = None if self.families is None else self.families.divergence
            return FittedMetric(theta, weights, self.center, self.divisors, divergence, price)
        p = self.n_features
        uncorrelated = self.decorrelation.apply(theta), weights, np.zeros(p), np.ones(p)
        return FittedMetric(*uncorrelated, None, price)

    def nearest(
        self, values: np.ndarray, offset: Any = None, *, own: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nearest centroids of checked rows, and the divergences from them (squared distances).

        Parameters are those of `to_columns`.
        """
        columns = self.to_columns(values, offset, own=own)
        labels, squared = nearest_centroids(columns, *self.metric())
        sizes = None if self.families is None else self.families.sizes_of(values, offset, own=own)
        return labels, squared if sizes is None else squared * sizes

    def to_columns(self, values: np.ndarray, offset: Any = None, *, own: bool = False) -> Any:
        """Return checked rows as the columns that have weights.

        These are uncorrelated ones, or values per unit of the rows' size, or the rows as they are.

        Parameters
        ----------
        values : ndarray of shape (n, p)
        offset : array-like of shape (n,), optional
            Sizes of the rows, where those of the fit had sizes of their own.
        own : bool
            Whether these are the rows of the fit, whose sizes are known.
        """
        if self.families is not None:
            if not own:
                cure = "centroids are compared with such values alone: drop or mend these rows"
                check_domains(values, self.families.names, self.feature_names, cure)
            return self.families.per_unit(values, offset, own=own)
        if offset is not None:
            raise ValueError("offset: the rows of the fit had no sizes; leave it out")
        return values if self.decorrelation is None else self.decorrelation.apply(values)
