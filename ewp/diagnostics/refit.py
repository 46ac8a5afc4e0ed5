"""Fitting again: parts and resamples of the rows of a fit, with its own options.

`FittedData` are the fitted rows with the options of the fit; from it rows are fitted again, from
scratch or from the full fit's estimates. The penalty is always in proportion to the rows, so that
all fits estimate the same thing. Features that were decorrelated are the uncorrelated columns here,
by the map of the fit, which is not estimated again. Which rows, and what becomes of the fits, is
the diagnostics' business; what goes on from estimates is in `ewp.diagnostics.resampling`.
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
from ewp.data.arguments import check_sample_weight
from ewp.data.canonical import varying_columns
from ewp.data.decorrelation import Decorrelation
from ewp.data.frames import row_names
from ewp.display.formatting import whole_percent
from ewp.engine import array_engine
from ewp.engine.array import ArrayEngine
from ewp.engine.base import RowMass
from ewp.engine.divergence import ColumnDivergence
from ewp.engine.predict import FittedMetric, nearest_centroids
from ewp.solver.batch import fit_runs
from ewp.solver.cluster_batch import fit_cluster_runs
from ewp.solver.fit import Fit, FitOptions, fit_array
from ewp.solver.runs import FittedRuns, Runs

__all__ = [
    "FittedData",
    "Resample",
    "as_runs",
    "check_common_weights",
    "check_whole_rows",
    "feature_positions",
    "fit_resamples",
    "fit_rows",
    "fitted_data",
    "in_batches",
    "partitions",
    "seed_of",
]

#: Share of the rows that may change their cluster before data count as not those of the fit.
_STRANGE = 0.01
#: Numbers that the weights and estimates of a batch of resamples may take, and the most of them.
_BATCH_ENTRIES, _LARGEST_BATCH = 2**23, 100


@dataclass(frozen=True)
class FittedData:
    """The rows of a fit, their weights, and how to fit them again.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        In data units, or decorrelated.
    weight : ndarray of shape (n,) or None
    options : FitOptions
        Options of fits to these rows; the penalty belongs to all of them.
    centroids : ndarray of shape (k, p)
        The estimates, in the units of X.
    weights : ndarray of shape (p,)
        Means over the clusters, by mass, where every cluster has weights of its own.
    labels : ndarray of shape (n,)
    center, scale : ndarray of shape (p,)
    varying : ndarray of shape (p,)
        Which features vary at all.
    critical_exponent : float
    decorrelation : Decorrelation or None
        How X came from the data, if it was decorrelated.
    divergence : ColumnDivergence or None
        What stands in the place of squared differences. Rows with sizes are per unit of these,
        which are factors of the weights.
    cluster_weights : ndarray of shape (k, p) or None
        Where every cluster has weights of its own.
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
    decorrelation: Decorrelation | None
    divergence: ColumnDivergence | None = None
    cluster_weights: Array | None = None

    def to_columns(self, centroids: Array) -> Array:
        """Translate centroids from data units to those of X."""
        return centroids if self.decorrelation is None else self.decorrelation.apply(centroids)

    def to_data_units(self, centroids: Array) -> Array:
        """Translate centroids from the units of X to those of the data."""
        return centroids if self.decorrelation is None else self.decorrelation.invert(centroids)

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
        """Diagonal of the fit's metric in data units; to second order for other divergences."""
        found = FittedMetric(
            self.centroids, self.weights, self.center, self.scale, self.divergence
        ).tangent()
        return found[1] / self.scale**2


@one_blas_thread()
def fitted_data(
    results: FittedResults,
    X: Any = None,
    sample_weight: Any = None,
    *,
    as_given: bool = False,
    squared: str | None = None,
) -> FittedData:
    """Collect what is needed to fit parts of the data again.

    Parameters
    ----------
    results : EWPResults
    X : array-like of shape (n, p), optional
        The data that were fitted, if the results do not hold them any more.
    sample_weight : array-like of shape (n,), optional
        Their weights; only with `X`.
    as_given : bool, default False
        Leave the rows in data units, also where features were decorrelated, and their weights
        as they are, also where rows have sizes.
    squared : str, optional
        Name of a question that is for squared differences alone, and is refused for others.

    Raises
    ------
    ValueError
        If there are no data, or they are not those of the fit.
    """
    if squared is not None and results.families is not None:
        raise ValueError(
            f"{squared}() is for columns with squared differences, but the fit has "
            f"divergence={results.divergence!r}; bootstrap() and stability() tell how sure it is"
        )
    rows, own = results.rows_of(X)
    array = results.checked(rows)
    labels = results.labels.to_numpy()
    if len(array) != len(labels):
        raise ValueError(f"X has {len(array)} rows, but the fit had {len(labels)}: pass its data")
    columns = results.to_columns(array, own=True)
    theta, _, center, scale, divergence, _ = results.metric()
    weights = results.mean_weights.to_numpy(dtype=float)
    if own:
        if sample_weight is not None:
            raise ValueError(
                "sample_weight belongs to X: these results hold their data and weights themselves"
            )
        weight = results.sample_weight
    else:
        weight = check_sample_weight(sample_weight, len(array), row_names(rows))
        if results.outliers is not None:
            kept = ~results.outliers["trimmed"].to_numpy()
            weight = kept * (1.0 if weight is None else weight)
        nearest = nearest_centroids(columns, *results.metric())[0]
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
    families = results.families
    if families is not None and families.sizes is not None and not as_given:
        weight = families.sizes * (1.0 if weight is None else weight)
    varying = varying_columns(array)
    # the prior that was used, without the columns that never vary
    options, made = dataclasses.replace(results.fit_options, prior=results.prior), None
    if as_given:
        columns = array if families is None else columns
        theta = results.centroids.to_numpy(dtype=float)
        center, scale = results.center, results.scale
    elif results.decorrelation is not None:
        made = results.decorrelation
        init = options.init if isinstance(options.init, str) else made.apply(options.init)
        options = dataclasses.replace(options, scale=None, init=init)
    return FittedData(
        columns,
        weight,
        options,
        theta,
        weights,
        labels,
        center,
        scale,
        varying,
        results.critical_exponent,
        made,
        divergence,
        results.weights.to_numpy(dtype=float) if results.by_cluster else None,
    )


def check_common_weights(results: FittedResults, question: str) -> None:
    """Check that a fit has one set of feature weights, for a question about these."""
    if results.by_cluster:
        raise ValueError(
            f"{question}() asks about one set of feature weights, but this fit has one for every "
            'cluster (weights="cluster"): ask the fit with common ones, '
            'results.refit(weights="common")'
        )


def check_whole_rows(source: FittedData, question: str, reason: str, cure: str) -> None:
    """Check that nothing is missing, for a question that needs all values of a row.

    Parameters
    ----------
    source : FittedData
    question : str
        Its name.
    reason : str
        Why it needs them, as a clause.
    cure : str
        What to do instead, as an imperative.
    """
    if np.isnan(source.X).any():
        raise ValueError(
            f"{question}() needs all values of a row, but the data have missing values, and "
            f"{reason}: {cure}"
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


def as_runs(
    source: FittedData, resamples: list[Resample], options: FitOptions
) -> tuple[ArrayEngine, Runs, FitOptions]:
    """Return the engine of the rows, resamples as runs on it, and the options with their prior.

    The penalty of a run is in proportion to its weight.
    """
    engine = array_engine(source.X, source.weight, names=options.families)
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
    return engine, runs, dataclasses.replace(options, prior=source.prior * source.varying)


def fit_resamples(
    source: FittedData,
    resamples: list[Resample],
    options: FitOptions,
    begin: tuple[Array, Array] | None = None,
) -> tuple[ArrayEngine, FittedRuns]:
    """Fit resamples in common passes.

    Parameters
    ----------
    source : FittedData
    resamples : list of Resample
    options : FitOptions
    begin : (ndarray of shape (c, k, p), ndarray of shape (c, p)), optional
        Centroids and weights of solutions to begin from, where weights are common. By default runs
        begin from scratch.
    """
    engine, runs, own = as_runs(source, resamples, options)
    if own.by_cluster:
        return engine, fit_cluster_runs(engine, own.n_clusters, runs, own)
    known = None if begin is None else (engine.to_engine_units(begin[0]), begin[1])
    return engine, fit_runs(engine, own.n_clusters, runs, own, known)


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
    engine, found = fit_resamples(source, resamples, options)
    return found.labels(engine).astype(np.intp)
