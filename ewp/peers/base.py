"""What the peers have in common: checked options, the solver, fitted attributes, prediction.

A peer names its weight rule and its schedule; everything else happens here.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ewp.common.checks import check_integer, check_number
from ewp.common.parallel import one_blas_thread
from ewp.common.types import Array
from ewp.data.arguments import check_init, check_sample_weight, generator
from ewp.data.frames import as_frame, row_names
from ewp.data.validation import check_data, check_distinct, check_spread, remember_features
from ewp.engine import rows_engine
from ewp.engine.array import ArrayEngine
from ewp.engine.predict import centroid_distances, nearest_centroids
from ewp.solver.fit import solve
from ewp.solver.iterate import Solution, step_of_run
from ewp.solver.polish import PolishEffort
from ewp.solver.schedules import Schedule
from ewp.solver.weights import WeightRule

__all__ = ["Peer", "PeerFit", "PeerOptions", "SampleWeightPeer"]

_TRACE = ["phase", "s", "f_s", "f_inf", "delta_centroids", "delta_weights"]


@dataclass(frozen=True)
class PeerOptions:
    """The checked options that all peers have."""

    n_clusters: int
    init: str | Array
    n_init: int
    max_iter: int
    tol: float


@dataclass(frozen=True)
class PeerFit:
    """What a search found, clusters in canonical order.

    Attributes
    ----------
    centroids : ndarray of shape (k, p)
        In data units.
    weights : ndarray of shape (p,)
    objective : float
    trace : DataFrame
    n_iter : int
    converged : bool
    labels : ndarray of shape (n,) or None
        The partition; None if it is the one by the nearest centroid.
    """

    centroids: Array
    weights: Array
    objective: float
    trace: pd.DataFrame
    n_iter: int
    converged: bool
    labels: np.ndarray | None = None


class Peer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Base class of the peers; subclasses give `_rule` and `_schedule`."""

    n_clusters: Any
    init: Any
    n_init: Any
    max_iter: Any
    tol: Any
    random_state: Any
    n_jobs: Any

    #: Whether weights of the features are learned.
    learns_weights: ClassVar[bool] = True
    #: Whether rows of a sparse matrix are taken, which are never made dense then.
    _takes_sparse: ClassVar[bool] = True
    #: The exponent at which the objective is reported.
    _last_exponent: ClassVar[float] = -math.inf

    def _rule(self, engine: ArrayEngine) -> WeightRule:
        """Return the weight rule for these data."""
        raise AssertionError("defined by every peer")

    def _schedule(self, engine: ArrayEngine) -> Schedule:
        """Return the schedule for these data."""
        raise AssertionError("defined by every peer")

    def _limits(self) -> tuple[Any, Any]:
        """Return `max_iter` and `tol`."""
        return self.max_iter, self.tol

    def _options(self, p: int) -> PeerOptions:
        k = check_integer("n_clusters", self.n_clusters, least=1)
        max_iter, tol = self._limits()
        return PeerOptions(
            n_clusters=k,
            init=check_init(self.init, k, p),
            n_init=check_integer("n_init", self.n_init, least=1),
            max_iter=check_integer("max_iter", max_iter, least=1),
            tol=check_number("tol", tol, above=0),
        )

    def _search(
        self, engine: ArrayEngine, options: PeerOptions, rng: np.random.Generator
    ) -> PeerFit:
        """Run the solver; a peer that does not use it overrides this."""
        solution, _ = solve(
            engine,
            options.n_clusters,
            self._rule(engine),
            self._schedule(engine),
            init=options.init,
            n_init=options.n_init,
            effort=PolishEffort.NONE,
            max_iter=options.max_iter,
            tol=options.tol,
            rng=rng,
        )
        return PeerFit(
            engine.to_data_units(solution.theta),
            solution.weights,
            solution.objective,
            _tabulate(solution),
            solution.n_iter,
            solution.converged,
        )

    def _check(self, X: Any) -> Any:
        return check_data(X, sparse="keep" if self._takes_sparse else "refuse")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def _fit(self, X: Any, sample_weight: Any) -> Self:
        X = as_frame(X)
        array = self._check(X)
        options = self._options(array.shape[1])
        weight = check_sample_weight(sample_weight, len(array), row_names(X))
        check_distinct(array, options.n_clusters, weight)
        with one_blas_thread():
            engine = rows_engine(array, weight, n_jobs=self.n_jobs)
            check_spread(engine.squares, options.n_clusters)
            found = self._search(engine, options, generator(self.random_state))
            # only a fit that has succeeded may change what the estimator knows
            remember_features(self, X, reset=True)
            self._center = engine.center
            self.metric_ = self._rule(engine).metric(found.weights)
            self.cluster_centers_ = found.centroids
            self.labels_ = found.labels
            if found.labels is None:
                self.labels_ = nearest_centroids(*self._placed(array))[0]
        if not found.converged:
            warnings.warn(
                f"no fixed point after max_iter={options.max_iter} steps; increase max_iter",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.feature_weights_ = found.weights
        self.objective_ = found.objective
        self.n_iter_ = found.n_iter
        self.trace_ = found.trace
        return self

    def _placed(self, array: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Arguments of the engine's functions for new rows."""
        ones = np.ones(len(self._center))
        return array, self.cluster_centers_, self.metric_, self._center, ones

    def _checked(self, X: Any) -> Array:
        check_is_fitted(self)
        X = as_frame(X)
        array = self._check(X)
        remember_features(self, X, reset=False)
        return array

    def predict(self, X: Any) -> np.ndarray:
        """Nearest centroid of every row, in the metric of the fit.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        array = self._checked(X)
        with one_blas_thread():
            return nearest_centroids(*self._placed(array))[0]

    def transform(self, X: Any) -> Array:
        """Distances to the centroids (not squared), in the metric of the fit.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        array = self._checked(X)
        with one_blas_thread():
            return np.sqrt(centroid_distances(*self._placed(array)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """What the method maximises, on X: minus the objective where that is minimised.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        array = self._checked(X)
        weight = check_sample_weight(sample_weight, len(array), row_names(X))
        with one_blas_thread():
            engine = rows_engine(array, weight, center=self._center)
            theta = engine.to_engine_units(self.cluster_centers_)
            stats = step_of_run(engine.statistics, theta, self.metric_, self._last_exponent)
            return -stats.power - self._rule(engine).penalty(self.feature_weights_)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)


class SampleWeightPeer(Peer):
    """A peer whose rows may have weights."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as that row twice, a row of weight 0 not at all.

        Returns
        -------
        estimator
            The fitted estimator itself.
        """
        return self._fit(X, sample_weight)


def _tabulate(solution: Solution) -> pd.DataFrame:
    trace = pd.DataFrame([asdict(row) for row in solution.trace])[_TRACE]
    return trace.rename_axis("iteration").reset_index()
