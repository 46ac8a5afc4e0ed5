"""Fitting again: parts and resamples of the rows of a fit, with its own options.

A `Source` is the fitted data with the recipe of the fit; from it rows are fitted again, from
scratch or from the full fit's estimates. The penalty is always in proportion to the rows, so that
all fits estimate the same thing. Which rows, and what becomes of the fits, is the diagnostics'
business.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ewp.assigning import assign
from ewp.blas import one_blas_thread
from ewp.engine import ArrayEngine
from ewp.fitting import Fit, Recipe, fit_array
from ewp.inputs import check_sample_weight
from ewp.kernel import Array
from ewp.matching import centroid_order
from ewp.moments import varying_columns
from ewp.polish import FULL, LIGHT, NONE, polish
from ewp.rules import RelativeEntropy
from ewp.schedules import Hard
from ewp.solver import iterate

if TYPE_CHECKING:
    from ewp.results import EWPResults

__all__ = ["Refit", "Source", "fit_rows", "refit", "source_of"]

#: Share of the rows that may change their cluster before data count as not those of the fit.
_STRANGE = 0.01


@dataclass(frozen=True)
class Source:
    """The rows of a fit, their weights, and how to fit them again.

    Attributes
    ----------
    X : ndarray of shape (n, p)
    weight : ndarray of shape (n,) or None
    recipe : Recipe
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
    recipe: Recipe
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
        known = self.recipe.prior
        return np.ones(self.X.shape[1]) if known is None else known

    @property
    def metric(self) -> Array:
        """Diagonal of the fit's metric in data units."""
        return self.weights / self.scale**2


def source_of(results: EWPResults, X: Any = None, sample_weight: Any = None) -> Source:
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
    rows, own = results._rows(X)
    array = results._check(rows)
    labels = results.labels.to_numpy()
    if len(array) != len(labels):
        raise ValueError(f"X has {len(array)} rows, but the fit had {len(labels)}: pass its data")
    theta, weights, center, scale = results._metric()
    if own:
        if sample_weight is not None:
            raise ValueError(
                "sample_weight belongs to X: these results hold their data and weights themselves"
            )
        weight = results.sample_weight
    else:
        weight = check_sample_weight(sample_weight, len(array))
        with one_blas_thread():
            nearest = assign(array, theta, weights, center, scale)[0]
        strange = float(np.mean(nearest != labels))
        if strange > _STRANGE:
            raise ValueError(
                f"X is not the data of the fit: {100 * strange:.0f} % of its rows belong to "
                "other clusters than the labels say; pass the same rows in the same order"
            )
        mass = np.bincount(labels, weight, minlength=len(theta))
        if not np.allclose(mass, results.clusters["mass"], rtol=1e-6):
            raise ValueError(
                "the sample weights are not those of the fit; pass them as sample_weight with X"
            )
    varying = varying_columns(array)
    recipe = _recipe(results, theta)
    return Source(array, weight, recipe, theta, weights, labels, center, scale, varying)


def _recipe(results: EWPResults, theta: Array) -> Recipe:
    options = results.options
    init = options.get("init", "k-means++")
    # an automatic start is computed anew for every part of the data
    automatic = options.get("s0", "auto") == "auto"
    return Recipe(
        n_clusters=results.n_clusters,
        lam=results.lam,
        s0=None if automatic else results.s0,
        eta=results.eta,
        init=init if init in ("k-means++", "random") else theta,
        n_init=int(options.get("n_init", 1)),
        standardise=results.scaling == "standard",
        between=results.dispersion == "between",
        prior=results.prior,
        polish=FULL if options.get("polish", True) else NONE,
        max_iter=int(options.get("max_iter", 500)),
        tol=float(options.get("tol", 1e-8)),
    )


def _prior(source: Source, part: Array) -> Array:
    """Prior of the fit without the features that vary in all rows but not in these."""
    frozen = ~varying_columns(part) & source.varying
    prior = np.where(frozen, 0.0, source.prior)
    return prior if prior.any() else source.prior


def fit_rows(source: Source, rows: np.ndarray, recipe: Recipe, rng: np.random.Generator) -> Fit:
    """Fit some of the rows from scratch.

    Parameters
    ----------
    source : Source
    rows : ndarray
        Row numbers.
    recipe : Recipe
        Its penalty belongs to all rows and is scaled to the weight of these.
    rng : Generator
    """
    X = source.X[rows]
    weight = None if source.weight is None else source.weight[rows]
    share = (len(rows) if weight is None else float(weight.sum())) / source.total
    scaled = dataclasses.replace(recipe, lam=recipe.lam * share, prior=_prior(source, X))
    return fit_array(X, weight, scaled, rng)


class Refit(NamedTuple):
    """Estimates from a resample, with the clusters of the full fit."""

    centroids: Array
    weights: Array
    objective: float
    converged: bool


def refit(source: Source, rows: np.ndarray, weight: Array, rng: np.random.Generator) -> Refit:
    """Fit a resample from the full fit's estimates: the limit problem, then a light polish.

    Parameters
    ----------
    source : Source
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
    recipe, X = source.recipe, source.X[rows]
    limits: dict[str, Any] = {"max_iter": recipe.max_iter, "tol": recipe.tol}
    with one_blas_thread():
        engine = ArrayEngine(X, weight, scale="standard" if recipe.standardise else None)
        lam = recipe.lam * float(weight.sum()) / source.total
        prior = _prior(source, X)
        rule = RelativeEntropy.make(lam, engine.squares, prior, between=recipe.between)
        theta = engine.inside(source.centroids)
        found = iterate(engine, theta, source.weights, rule, Hard(), **limits)
        if recipe.polish.rounds and found.converged:
            found = polish(engine, found, rule, rng, effort=LIGHT, **limits)
        centroids = engine.outside(found.theta)
    order = centroid_order(centroids, source.centroids, source.metric)
    return Refit(centroids[order], found.weights, found.objective, found.converged)
