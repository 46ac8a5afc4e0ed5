"""Fitting again: parts and resamples of the rows of a fit, with its own options.

`FittedData` are the fitted rows with the options of the fit; from it rows are fitted again, from
scratch or from the full fit's estimates. The penalty is always in proportion to the rows, so that
all fits estimate the same thing. Which rows, and what becomes of the fits, is the diagnostics'
business.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ewp.common.checks import listing
from ewp.common.parallel import one_blas_thread
from ewp.common.types import Array, FittedResults
from ewp.data.canonical import varying_columns
from ewp.data.validation import check_sample_weight, row_names
from ewp.display.formatting import whole_percent
from ewp.engine.array import ArrayEngine, nearest_centroids
from ewp.engine.base import RowMass
from ewp.metrics import centroid_order
from ewp.solver.batch import FittedRuns, Runs, fit_runs
from ewp.solver.fit import Fit, FitOptions, fit_array
from ewp.solver.polish import PolishEffort

__all__ = [
    "FittedData",
    "Refit",
    "Resample",
    "feature_positions",
    "fit_rows",
    "fitted_data",
    "in_batches",
    "partitions",
    "refit",
    "seed_of",
]

#: Share of the rows that may change their cluster before data count as not those of the fit.
_STRANGE = 0.01
#: Numbers that the weights and estimates of a batch of resamples may take, and the most of them.
_BATCH_ENTRIES, _LARGEST_BATCH = 2**23, 50


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
    critical_exponent : float
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
    critical_exponent: float

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
    return FittedData(
        array,
        weight,
        options,
        theta,
        weights,
        labels,
        center,
        scale,
        varying,
        results.critical_exponent,
    )


def feature_positions(results: FittedResults, features: Any) -> np.ndarray | None:
    """Positions of the features that the user names."""
    if features is None:
        return None
    wanted = [features] if isinstance(features, str) else list(features)
    known = results.feature_names
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        raise ValueError(
            f"features: {listing(unknown) or 'none'} given, but the fit has {listing(list(known))}"
        )
    return np.flatnonzero(known.isin(wanted))


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


class Resample(NamedTuple):
    """Numbers of the rows of a resample, each once, their weights in it, and a seed."""

    rows: np.ndarray
    weight: Array
    seed: int


def seed_of(rng: np.random.Generator) -> int:
    """Draw the seed of a resample's fit."""
    return int(rng.integers(2**63))


def in_batches(source: FittedData, resamples: Iterable[Resample]) -> Iterator[list[Resample]]:
    """Resamples in groups that are fitted in common passes, small enough to lie in memory."""
    k, p = source.centroids.shape
    size = int(np.clip(_BATCH_ENTRIES // (len(source.X) + 8 * k * p), 1, _LARGEST_BATCH))
    remaining = iter(resamples)
    while batch := list(itertools.islice(remaining, size)):
        yield batch


def _fit_resamples(
    source: FittedData,
    resamples: list[Resample],
    options: FitOptions,
    begin: tuple[Array, Array] | None = None,
) -> tuple[ArrayEngine, FittedRuns]:
    """Fit resamples, with the penalty in proportion to their weight."""
    engine = ArrayEngine(source.X, source.weight)
    table = np.zeros((len(resamples), len(source.X)))
    for mass, drawn in zip(table, resamples, strict=True):
        mass[drawn.rows] = drawn.weight
    count = len(resamples)
    runs = Runs(
        options.penalty * table.sum(axis=1) / source.total,
        np.full(count, options.standardise),
        np.full(count, options.between),
        np.full(count, source.critical_exponent),
        np.array([drawn.seed for drawn in resamples]),
        np.arange(count),
        RowMass(table, np.arange(count)),
    )
    if begin is not None:
        begin = engine.to_engine_units(begin[0]), begin[1]
    prior = dataclasses.replace(options, prior=source.prior * source.varying)
    return engine, fit_runs(engine, options.n_clusters, runs, prior, begin)


def refit(source: FittedData, resamples: list[Resample]) -> list[Refit]:
    """Fit resamples from the full fit's estimates: the limit problem, perhaps a light polish.

    Parameters
    ----------
    source : FittedData
    resamples : list of Resample

    Returns
    -------
    list of Refit
        Clusters are matched to those of the full fit.
    """
    options = source.options
    if options.effort.rounds:
        options = dataclasses.replace(options, polish=PolishEffort.LIGHT)
    engine, found = _fit_resamples(source, resamples, options, (source.centroids, source.weights))
    made = []
    for theta, weights, objective, converged in zip(
        found.theta, found.weights, found.objective, found.converged, strict=True
    ):
        centroids = engine.to_data_units(theta)
        order = centroid_order(centroids, source.centroids, source.metric)
        made.append(Refit(centroids[order], weights, float(objective), bool(converged)))
    return made


def partitions(source: FittedData, resamples: list[Resample], options: FitOptions) -> np.ndarray:
    """Partitions that fits to resamples, from scratch, give to all rows.

    Parameters
    ----------
    source : FittedData
    resamples : list of Resample
    options : FitOptions

    Returns
    -------
    ndarray of shape (resamples, n)
    """
    engine, found = _fit_resamples(source, resamples, options)
    return found.labels(engine).astype(np.intp)
