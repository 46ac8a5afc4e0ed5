"""Aliases of types that every room uses, and what a fit must offer to be described.

Nothing here computes. The protocol `FittedResults` names what summaries, diagnostics and pages read
from a fit, so that they need not import the results object, which is built on top of them.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["Array", "FittedResults", "Ints"]

Array = NDArray[np.float64]
Ints = NDArray[np.intp]


class FittedResults(Protocol):
    """What is read from the results of a fit; `ewp.EWPResults` says what each of it means."""

    weights: Any
    centroids: pd.DataFrame
    labels: pd.Series
    objective: float
    objective_trace: pd.DataFrame
    s0: float
    converged: bool
    n_iter: int
    clusters: pd.DataFrame
    totss: float
    center: Array
    scale: Array
    prior: Array
    critical_exponent: float
    fit_options: Any
    named_features: bool
    selection: dict[str, Any] | None
    starts: pd.DataFrame | None
    n_starts: int
    data: Any
    sample_weight: Array | None
    spread: Array | None
    decorrelation: Any
    observed: Array | None
    within: Array | None
    outliers: pd.DataFrame | None
    families: Any
    bootstrap_: Any
    consistency_: Any
    stability_: Any
    feature_tests_: Any
    agreement_: Any
    refinement_: Any
    profile_: Any
    differences_: Any
    call: str
    calls: dict[str, str]
    versions: dict[str, str]
    data_sha256: str | None

    @property
    def recipe(self) -> str:
        """Lines of Python that give the results again."""

    @property
    def lam(self) -> float:
        """Penalty."""

    @property
    def scaling(self) -> str:
        """What was done to the features."""

    @property
    def dispersion(self) -> str:
        """Form of the weights."""

    @property
    def options(self) -> dict[str, Any]:
        """Options of the fit as plain data."""

    @property
    def divergence(self) -> Any:
        """Divergence of all columns, or that of each."""

    @property
    def missing(self) -> str:
        """What was done with missing values."""

    @property
    def feature_names(self) -> pd.Index:
        """Names of the features."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def n_obs(self) -> int:
        """Number of rows."""

    @property
    def effective_features(self) -> float:
        """Exponential of the weights' entropy."""

    @property
    def betweenss(self) -> float:
        """Sum of squares between the clusters."""

    @property
    def by_cluster(self) -> bool:
        """Whether every cluster has feature weights of its own."""

    @property
    def mean_weights(self) -> pd.Series:
        """Feature weights, on average over the clusters."""

    def metric(self) -> Any:
        """Centroids, weights, means and divisors: what predictions are made with."""

    def common_metric(self) -> tuple[Array, Array, Array, Array]:
        """Centroids, mean weights, means and divisors, of squared differences."""

    def to_columns(self, values: Array, offset: Any = None, *, own: bool = False) -> Any:
        """Return checked rows as the columns that have weights."""

    def rows_of(self, X: Any) -> tuple[Any, bool]:
        """Return the data meant by X and whether they are the fitted ones."""

    def checked(self, X: Any) -> Array:
        """Check rows against the features of the fit."""

    def predict(self, X: Any) -> Any:
        """Clusters of rows."""

    def plot_trace(self) -> Any:
        """Draw the objective along the iterations."""

    def plot_weights(self) -> Any:
        """Draw the weights."""

    def plot_clusters(self) -> Any:
        """Draw the rows in the plane."""
