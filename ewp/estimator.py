"""The scikit-learn estimator `EWP` and the function `fit`.

A thin shell: `ewp.fitting` does the work, and what comes back is shown as fitted attributes and as
an `EWPResults`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from ewp.common.parallel import one_blas_thread
from ewp.common.types import Array
from ewp.data.arguments import check_sample_weight
from ewp.data.frames import as_frame, row_names
from ewp.data.sources import in_memory, is_dask, is_file_or_blocks, open_rows
from ewp.data.validation import check_data, remember_features
from ewp.engine.columns import aligned_offset
from ewp.engine.dask import (
    lazy_distances,
    lazy_gain,
    lazy_labels,
    new_distances,
    new_labels,
)
from ewp.engine.precision import precision_for
from ewp.fitting import fit_model
from ewp.metrics import mixture_gain
from ewp.results.partition import partition_mixture
from ewp.results.results import EWPResults
from ewp.selection.options import SelectionOptions
from ewp.solver.fit import FitOptions

__all__ = ["EWP", "fit"]


class EWP(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    r"""Entropy Weighted Power k-means.

    Minimises

    .. math::
        f_s(\Theta, w) = \sum_i M_s(d_{i1}, \dots, d_{ik}) + \lambda \sum_l w_l \log(w_l / \pi_l),
        \qquad d_{ij} = \sum_l w_l (x_{il} - \theta_{jl})^2,

    where :math:`M_s` is the power mean with exponent s < 0 and w lies on the simplex, by
    majorisation-minimisation while s is annealed to :math:`-\infty`, where the power mean is the
    minimum. The limit problem is then iterated to its own fixed point and its partition polished.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters k, at most the number of distinct rows.
    lam : float or "auto", default="auto"
        Entropy penalty in the units of a sum over rows: it must grow like n for fits at
        different n to estimate the same thing. Small values concentrate the weight on few
        features, large ones spread it equally. "auto" chooses it by what the partition is worth
        to held-out rows, together with what is "auto" in `scale` and `dispersion`; see
        `ewp.select_lambda`, which also shows the alternatives. It costs some tens of fits.
    s0 : float or "auto", default="auto"
        First exponent. "auto" is ``min(-1, s_c)``, rounded down to a multiple of 1/4 as all
        exponents after it, with the critical exponent s_c at which centroids that collapsed into
        the mean can leave it, see `ewp.critical_exponent`; the paper's choice is -1. ``-inf``
        starts at the limit problem.
    eta : float, default=1.05
        Factor by which the exponent moves every step, above 1.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        Starting centroids; an array is in data units, a DataFrame is matched with the columns of
        the data by name.
    n_init : int or "auto", default="auto"
        Number of starts; the lowest limit objective is kept. Every second start is annealed, the
        others begin at the limit problem (all are annealed without a polish), and the lowest are
        polished; more starts from the same seed never give a higher objective. "auto" makes
        starts until several of them have found the best objective: at least 20 and at most 100
        on small data, one or two on large ones, at most twelve with eight clusters and more; the
        partitions of starts that do not agree are recombined. Where features outnumber rows and
        are 500 or more, partitions of sparse k-means are starts in addition. `results_.starts`
        says where all ended. An array for `init` is one start.
    scale : {"auto", "standard", "decorrelate", None}, default="auto"
        "standard" divides every column by its standard deviation, None leaves it. "decorrelate"
        puts in the place of every feature the part of it that the others do not explain (ZCA-cor
        sphering: standardised rows times :math:`P^{-1/2}`, with the correlation matrix P), so that
        clusters which correlation hides are seen and weights still belong to features; centroids
        stay in data units. Correlations are shrunk towards zero by an estimated share, or by the
        one in "decorrelate:0.25". Features that `prior` excludes have no part in it. "auto" is
        chosen with `lam`; with a number for `lam` it is None, as in the paper.
    dispersion : {"auto", "within", "between"}, default="auto"
        "within" rewards features with a small dispersion within clusters, as the paper does;
        "between" rewards a large dispersion between clusters (the prior
        :math:`\pi_l \propto e^{T_l / \lambda}` with the total sums of squares). They agree on
        standardised features. "auto" is chosen with `lam`; with a number for `lam` it is
        "within".
    prior : array of shape (n_features,) or None, default=None
        What is known about the features beforehand: weights are proportional to
        ``prior * exp(-D / lam)``; it is scaled to a mean of 1. Zero excludes a feature. A Series
        is matched with the columns of a DataFrame by name. None is uniform on the columns that
        vary; constant columns get no weight.
    polish : bool, default=True
        Search for a better partition in the learned metric after the annealing. With
        ``lam="auto"`` the partitions that the folds found at the chosen penalty are tried first.
        False, with ``s0=-1``, is the published algorithm, iterated to its limit.
    max_iter : int, default=500
        Largest number of steps of a start, and of the limit iterations of a polish.
    tol : float, default=1e-8
        Largest step at a fixed point: in standard deviations for the centroids, in total
        variation for the weights.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the starts and of the polish. The same seed gives the same answer for any
        `n_jobs`, and, ties apart, for any order of the rows and columns.
    n_jobs : int or None, default=None
        Number of processes, as in joblib. A large fit forks them where that is possible (Linux),
        so that they share the data, and uses threads elsewhere; a small one needs none.
    progress : bool or None, default=None
        Show a progress bar on stderr. None shows it in a terminal or a notebook, for what takes
        more than some seconds.
    missing : {"error", "observed"}, default="error"
        What to do with missing values, which are NaN. "error" refuses them. "observed" fits to
        what is observed: distances are over observed entries, and every feature's terms are
        divided by its observed share, so that the expected objective is that of complete data if
        values are missing completely at random. A centroid none of whose rows has a value of a
        feature is at the feature's mean there. New rows may have missing values too.
    robust : None or str, default=None
        "trim" leaves the tenth of the rows that are farthest from all centroids without influence,
        "trim:0.2" a fifth, and so on below a half: gross errors then cannot take a centroid, nor
        weight from the features. Sums over rows, `lam` among them, are those of the other rows.
        Trimmed rows have labels all the same; `results_.outliers` tells how far out every row is.
    dtype : {"float64", "float32"} or None, default=None
        Type of floats in which rows are held and multiplied; None is that of the data, float32 if
        they are float32 (or float16), else float64. float32 takes half the memory, and passes over
        the rows take 0.5 to 0.7 of the time. Sums over rows, weights and objective are float64, and
        the last steps are too, so that what is returned is a fixed point of the data to the last
        digits; a choice of `lam` compares scores in float64. Data whose squares float32 cannot hold
        (values beyond 1e16, standard deviations below 1e-12) are computed as float64.
    divergence : str, sequence of str or mapping, default="euclidean"
        What stands in the place of squared differences: "poisson" for counts, "bernoulli" for yes
        or no (and shares from 0 to 1), "gamma" for positive amounts whose deviation grows with
        their mean. These are half the deviances of generalised linear models; centroids are means
        all the same. One for all columns, one for each, or a mapping of column names, those that it
        does not name having squared differences: then standardise, which divides the divergences of
        every column by their mean about the column's mean. Rows have to be in memory and complete.
    offset : None, "size" or array of shape (n_samples,), default=None
        Sizes of rows of counts: a row of size s is compared with s times the centroids. "size"
        takes row totals over their mean, as where samples were counted to different depths. Sizes
        are factors, not logarithms. Centroids are per unit of size. For new rows "size" takes their
        totals over the mean of the fit's; other sizes are given to `predict`.
    weights : {"common", "cluster", "auto"}, default="common"
        "common" is one set of feature weights for all clusters. "cluster" gives every cluster its
        own, for clusters that live in features of their own: with :math:`w_{jl}` in the place of
        :math:`w_l`, and :math:`\frac{\lambda}{n} \sum_l w_{jl} \log (w_{jl} / \pi_l)` added to
        :math:`d_{ij}`, so that rows pay for the concentration of their cluster's weights. With
        equal weights this is the objective of common ones: `lam` has one meaning in both.
        "cluster" needs complete dense rows in memory, and is computed in float64. "auto" is
        chosen with `lam`; with a number for `lam` it is "common".

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every row; cluster 0 has the largest sum of sample weights.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centroids in data units.
    feature_weights_ : ndarray of shape (n_features,) or (n_clusters, n_features)
        Weights, not negative, summing to 1, for every cluster if it has its own. They refer to
        standardised or decorrelated features if these were used.
    objective_ : float
        Limit objective :math:`f_{-\infty}`.
    lam_, s0_ : float
        Penalty and first exponent that were used.
    n_iter_ : int
        Number of MM steps.
    trace_ : DataFrame
        One row per iteration, see `EWPResults.objective_trace`.
    results_ : EWPResults
        The statistician's view of the fit.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Chakraborty, S., Paul, D., Das, S. and Xu, J. (2020). Entropy weighted power k-means
    clustering. Proceedings of AISTATS, PMLR 108, 691-701.

    Kessy, A., Lewin, A. and Strimmer, K. (2018). Optimal whitening and decorrelation. The American
    Statistician 72, 309-314.

    Examples
    --------
    >>> from ewp import EWP
    >>> from ewp.datasets import make_simulation2
    >>> X, labels, relevant = make_simulation2(k=5, n=500, p=20, random_state=1)
    >>> model = EWP(5, lam=0.05 * len(X), random_state=1).fit(X)
    >>> round(float(model.feature_weights_[relevant].sum()), 3)
    1.0
    >>> bool((model.labels_ == model.predict(X)).all())
    True
    """

    def __init__(
        self,
        n_clusters: int = FitOptions.n_clusters,
        lam: float | str = FitOptions.lam,
        s0: float | str = FitOptions.s0,
        eta: float = FitOptions.eta,
        init: str | Array = FitOptions.init,
        n_init: int | str = FitOptions.n_init,
        scale: str | None = FitOptions.scale,
        dispersion: str = FitOptions.dispersion,
        prior: Array | None = FitOptions.prior,
        polish: bool = bool(FitOptions.polish),
        max_iter: int = FitOptions.max_iter,
        tol: float = FitOptions.tol,
        random_state: Any = FitOptions.random_state,
        n_jobs: int | None = FitOptions.n_jobs,
        progress: bool | None = FitOptions.progress,
        missing: str = FitOptions.missing,
        robust: str | None = FitOptions.robust,
        dtype: str | None = FitOptions.dtype,
        divergence: Any = FitOptions.divergence,
        offset: Any = FitOptions.offset,
        weights: str = FitOptions.weights,
    ) -> None:
        self.n_clusters = n_clusters
        self.lam = lam
        self.s0 = s0
        self.eta = eta
        self.init = init
        self.n_init = n_init
        self.scale = scale
        self.dispersion = dispersion
        self.prior = prior
        self.polish = polish
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.missing = missing
        self.robust = robust
        self.dtype = dtype
        self.divergence = divergence
        self.offset = offset
        self.weights = weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "observed"
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _more_tags(self) -> dict[str, Any]:  # scikit-learn 1.5
        return {
            "allow_nan": self.missing == "observed",
            "X_types": ["2darray", "sparse"],
            "preserves_dtype": [np.float64, np.float32],
        }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> EWP:
        """Cluster the rows of X and learn the weights of its columns.

        Parameters
        ----------
        X : array-like, table or sparse matrix of shape (n_samples, n_features)
            A table of pandas, polars, Arrow, or of another library that narwhals knows; lazy ones
            are collected. An AnnData object stands for its ``X``. Rows of a sparse matrix (SciPy's,
            CSR best) are never made dense whole, but for what needs dense rows, such as a choice of
            `lam`, if they are small. Also the path of a ``.npy`` or Parquet file, or a function
            that returns an iterator of blocks of rows: these are never in memory at once. Also a
            Dask array or DataFrame, which stays on the workers.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as that row twice, a row of weight 0 not at all.

        Returns
        -------
        EWP
            The fitted estimator.
        """
        options = FitOptions(
            **{field.name: getattr(self, field.name) for field in fields(FitOptions)}
        )
        results, found, _ = fit_model(X, sample_weight, options, SelectionOptions())
        # only a fit that has succeeded may change what the estimator knows
        remember_features(self, results.data, reset=True)
        self.results_ = results
        self.labels_ = found.labels
        self.cluster_centers_ = found.centroids
        self.feature_weights_ = found.weights
        self.objective_ = results.objective
        self.lam_ = results.lam
        self.s0_ = results.s0
        self.n_iter_ = results.n_iter
        self.trace_ = results.objective_trace
        return self

    def _checked(self, X: Any) -> Any:
        """Rows as they are, checked, with the names of the fit's features."""
        check_is_fitted(self)
        if is_file_or_blocks(X):
            X = open_rows(X, self.results_.missing)
        rows = X = as_frame(X)
        if not is_dask(X):
            plain = self.results_.decorrelation is None and self.results_.families is None
            sparse = "keep" if plain else "dense"
            rows = check_data(X, missing=self.results_.missing, sparse=sparse)
        remember_features(self, X, reset=False)
        return rows

    def _answer(
        self,
        X: Any,
        function: Callable[..., Any],
        lazy: Callable[..., Any],
        *metric: Any,
        offset: Any = None,
    ) -> Any:
        """Apply a function of rows and a metric, a lazy one to a Dask collection."""
        results = self.results_
        if is_dask(X):
            if results.families is not None:
                raise ValueError(
                    "rows have to be in memory unless all columns have squared differences; give "
                    "an array or a DataFrame"
                )
            if not results.by_cluster:  # which has a price at the end
                metric = tuple(part for part in metric if part is not None)
            return lazy(X, *metric, made=results.decorrelation, missing=results.missing)
        return function(results.to_columns(X, offset), *metric)

    @one_blas_thread()
    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """Nearest centroid of every row, in the learned metric.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            Also a path, a function that makes blocks, or a Dask collection, as in `fit`.
        offset : array-like of shape (n_samples,), optional
            Sizes of the rows, where those of the fit had sizes of their own.

        Returns
        -------
        ndarray of shape (n_samples,)
            For a Dask collection a Dask array, computed when it is asked for.
        """
        rows, metric = self._checked(X), self.results_.metric()
        offset = aligned_offset(offset, X)
        labels: np.ndarray = self._answer(rows, new_labels, lazy_labels, *metric, offset=offset)
        return labels

    @one_blas_thread()
    def transform(self, X: Any, offset: Any = None) -> Array:
        """Weighted distances to the centroids (not squared).

        With ``weights="cluster"`` their squares include the price of the cluster's weights.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            Also what `predict` takes.
        offset : array-like of shape (n_samples,), optional
            Sizes of the rows, where those of the fit had sizes of their own.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Of the type of X, float64 or float32. For a Dask collection a Dask array, computed
            when it is asked for.
        """
        rows, metric = self._checked(X), self.results_.metric()
        offset = aligned_offset(offset, X)
        distances: Array = self._answer(rows, new_distances, lazy_distances, *metric, offset=offset)
        families = self.results_.families
        if families is not None and (sizes := families.sizes_of(rows, offset)) is not None:
            distances *= np.sqrt(sizes)[:, None]
        return distances.astype(precision_for(rows, None), copy=False)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and return the weighted distances of the rows to the centroids, as `transform` does.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        families = self.fit(X, sample_weight=sample_weight).results_.families
        own = families is not None and families.sizes is not None and families.reference is None
        return self.transform(X, offset=families.sizes if own and families is not None else None)

    @one_blas_thread()
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Log-density per observation that rows gain from the partition, in nats.

        The clusters' proportions, means and pooled variances are a mixture of Gaussians over all
        features; the score is the mean of its log-density at the rows of X minus that of a single
        Gaussian. It is larger the better, does not change with the units of a feature, and on rows
        that were not fitted it compares penalties, scalings, forms and numbers of clusters, as in
        scikit-learn's ``GridSearchCV``. For ``scale="decorrelate"`` mixture and single Gaussian
        are those of the uncorrelated columns: both know the correlations, so that these gain
        nothing, while for the other scalings they may. A penalty in a search is in the units of a
        sum over the rows of a training fold; `ewp.select_lambda` takes care of that, and fits in
        common passes.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            Also what `predict` takes.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        rows = self._checked(X)
        if self.results_.families is not None:
            raise ValueError(
                "score() is for columns with squared differences; ewp.select_lambda and "
                f"ewp.select_k score fits with divergence={self.results_.divergence!r}"
            )
        mixture = partition_mixture(self.results_)
        gain = self._answer(rows, mixture_gain, lazy_gain, *mixture)
        if is_dask(X):
            gain, sample_weight = gain.compute(), in_memory(sample_weight)
        weight = check_sample_weight(sample_weight, len(gain), row_names(X))
        return float(np.average(gain, weights=weight))

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)


def fit(X: Any, k: int, lam: float | str = "auto", **options: Any) -> EWPResults:
    """Fit Entropy Weighted Power k-means and return the results object at once.

    Parameters
    ----------
    X : array-like or table of shape (n, p)
        A table of pandas, polars or Arrow, an AnnData object, and what else `ewp.EWP.fit` takes.
    k : int
        Number of clusters.
    lam : float or "auto", default="auto"
        Entropy penalty in the units of a sum over rows; "auto" chooses it without labels.
    **options
        The other options of `ewp.EWP`, and `sample_weight`.

    Returns
    -------
    EWPResults

    Examples
    --------
    >>> import ewp
    >>> from ewp.datasets import make_simulation2
    >>> X, labels, relevant = make_simulation2(k=5, n=500, p=20, random_state=1)
    >>> results = ewp.fit(X, 5, lam=0.05 * len(X), random_state=1)
    >>> results.weights[results.weights > 0.01].index.tolist()
    ['x0', 'x1', 'x2', 'x3', 'x4']
    """
    sample_weight = options.pop("sample_weight", None)
    results: EWPResults = EWP(k, lam, **options).fit(X, sample_weight=sample_weight).results_
    return results
