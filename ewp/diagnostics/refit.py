"""Fitting again: parts and resamples of the rows of a fit, with its own options.

`FittedData` are the fitted rows with the options of the fit; from it rows are fitted again, from
scratch or from the full fit's estimates. The penalty is always in proportion to the rows, so that
all fits estimate the same thing. Which rows, and what becomes of the fits, is the diagnostics'
business.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ewp.common.parallel import one_blas_thread
from ewp.common.types import Array, FittedResults
from ewp.data.canonical import varying_columns
from ewp.data.validation import check_sample_weight, row_names
from ewp.display.formatting import whole_percent
from ewp.engine.array import ArrayEngine, nearest_centroids
from ewp.metrics import centroid_order
from ewp.solver.fit import Fit, FitOptions, fit_array
from ewp.solver.iterate import iterate
from ewp.solver.polish import PolishEffort, polish
from ewp.solver.schedules import Hard
from ewp.solver.weights import RelativeEntropy

__all__ = [
    "FittedData",
    "Refit",
    "fit_rows",
    "fitted_data",
    "refit",
]

#: Share of the rows that may change their cluster before data count as not those of the fit.
_STRANGE = 0.01


@dataclass(frozen=True)
class FittedData:
    """The rows of a fit, their weights, and how to fit them again.

    Attributes
    ----------
    X : ndarray of shape (n, p)
    weight : ndarray of shape (n,) or None
    options : FitOptions
        Options of the fit; its penalty belongs to all rows.
    centroids : ndarray of shape (k, p)
        The estimates, in data units.
    weights : ndarray of shape (p,)
    labels : ndarray of shape (n,)
    center, scale : ndarray of shape (p,)
    varying : ndarray of shape (p,)
        Which features vary at all.
    """

    X: Array
    weight: Array | None
    options: FitOptions
    centroids: Array
    weights: Array
    labels: np.ndarray
    center: Array
    scale: Array
    varying: np.ndarray

    @property
    def used(self) -> np.ndarray:
        """Numbers of the rows that do not have weight zero."""
        if self.weight is None:
            return np.arange(len(self.X))
        return np.flatnonzero(self.weight > 0)

    @property
    def total(self) -> float:
        """Sum of the sample weights."""
        return float(len(self.X) if self.weight is None else self.weight.sum())

    @property
    def prior(self) -> Array:
        """Prior weights of the features, all ones if they are uniform."""
        known = self.options.prior
        return np.ones(self.X.shape[1]) if known is None else known

    @property
    def metric(self) -> Array:
        """Diagonal of the fit's metric in data units."""
        return self.weights / self.scale**2


@one_blas_thread()
def fitted_data(results: FittedResults, X: Any = None, sample_weight: Any = None) -> FittedData:
    """Collect what is needed to fit parts of the data again.

    Parameters
    ----------
    results : EWPResults
    X : array-like of shape (n, p), optional
        The data that were fitted, if the results do not hold them any more.
    sample_weight : array-like of shape (n,), optional
        Their weights; only with `X`.

    Raises
    ------
    ValueError
        If there are no data, or they are not those of the fit.
    """
    rows, own = results.rows_of(X)
    array = results.checked(rows)
    labels = results.labels.to_numpy()
    if len(array) != len(labels):
        raise ValueError(f"X has {len(array)} rows, but the fit had {len(labels)}: pass its data")
    theta, weights, center, scale = results.metric()
    if own:
        if sample_weight is not None:
            raise ValueError(
                "sample_weight belongs to X: these results hold their data and weights themselves"
            )
        weight = results.sample_weight
    else:
        weight = check_sample_weight(sample_weight, len(array), row_names(rows))
        nearest = nearest_centroids(array, theta, weights, center, scale)[0]
        strange = float(np.mean(nearest != labels))
        if strange > _STRANGE:
            raise ValueError(
                f"X is not the data of the fit: {whole_percent(strange)} of its rows belong to "
                "other clusters than the labels say; pass the same rows in the same order"
            )
        mass = np.bincount(labels, weight, minlength=len(theta))
        if not np.allclose(mass, results.clusters["mass"], rtol=1e-6):
            raise ValueError(
                "the sample weights are not those of the fit; pass them as sample_weight with X"
            )
    varying = varying_columns(array)
    # the prior that was used, without the columns that never vary
    options = dataclasses.replace(results.fit_options, prior=results.prior)
    return FittedData(array, weight, options, theta, weights, labels, center, scale, varying)


def _prior(source: FittedData, part: Array) -> Array:
    """Prior of the fit without the features that vary in all rows but not in these."""
    frozen = ~varying_columns(part) & source.varying
    prior = np.where(frozen, 0.0, source.prior)
    return prior if prior.any() else source.prior


def fit_rows(
    source: FittedData, rows: np.ndarray, options: FitOptions, rng: np.random.Generator
) -> Fit:
    """Fit some of the rows from scratch.

    Parameters
    ----------
    source : FittedData
    rows : ndarray
        Row numbers.
    options : FitOptions
        Its penalty belongs to all rows and is scaled to the weight of these.
    rng : Generator
    """
    X = source.X[rows]
    weight = None if source.weight is None else source.weight[rows]
    share = (len(rows) if weight is None else float(weight.sum())) / source.total
    scaled = dataclasses.replace(options, lam=options.penalty * share, prior=_prior(source, X))
    return fit_array(X, weight, scaled, rng)


class Refit(NamedTuple):
    """Estimates from a resample, with the clusters of the full fit."""

    centroids: Array
    weights: Array
    objective: float
    converged: bool


def refit(source: FittedData, rows: np.ndarray, weight: Array, rng: np.random.Generator) -> Refit:
    """Fit a resample from the full fit's estimates: the limit problem, then a light polish.

    Parameters
    ----------
    source : FittedData
    rows : ndarray
        Numbers of the rows drawn, each once.
    weight : ndarray
        Their weights in the resample.
    rng : Generator

    Returns
    -------
    Refit
        Clusters are matched to those of the full fit.
    """
    options, X = source.options, source.X[rows]
    limits: dict[str, Any] = {"max_iter": options.max_iter, "tol": options.tol}
    engine = ArrayEngine(X, weight, scale="standard" if options.standardise else None)
    lam = options.penalty * float(weight.sum()) / source.total
    prior = _prior(source, X)
    rule = RelativeEntropy.make(lam, engine.squares, prior, between=options.between)
    theta = engine.to_engine_units(source.centroids)
    found = iterate(engine, theta, source.weights, rule, Hard(), **limits)
    if options.effort.rounds and found.converged:
        found = polish(engine, found, rule, rng, effort=PolishEffort.LIGHT, **limits)
    centroids = engine.to_data_units(found.theta)
    order = centroid_order(centroids, source.centroids, source.metric)
    return Refit(centroids[order], found.weights, found.objective, found.converged)
