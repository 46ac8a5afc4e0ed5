"""Resamples of the rows, fitted again: the bootstrap of a fit.

Rows are drawn with replacement and the model is fitted again. By default solutions that were found
from scratch compete in every resample, so that intervals know of solutions other than the fit's.
Weights of every cluster are those of the resample's cluster that shares most rows with it.
Everything is conditional on the number of clusters, the penalty, the scaling and the form of the
weights: choosing them anew in each resample is not part of it.
"""

from __future__ import annotations

import dataclasses
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ewp.common.checks import check_choice, check_integer, check_number
from ewp.common.parallel import run_replicates
from ewp.common.types import Array, FittedResults
from ewp.data.arguments import generator
from ewp.data.canonical import block_rows
from ewp.data.splits import Resampler
from ewp.diagnostics.bootstrap import BootstrapResults
from ewp.diagnostics.intervals import warn_of_few
from ewp.diagnostics.refit import (
    FittedData,
    Resample,
    as_runs,
    fit_resamples,
    fitted_data,
    in_batches,
    seed_of,
)
from ewp.engine.array import ArrayEngine
from ewp.engine.predict import nearest_centroids
from ewp.metrics import overlap, overlap_order, rand_index, similarities
from ewp.solver.cluster_weights import ClusterEntropy, cluster_labels, iterate_clusters
from ewp.solver.fit import FitOptions
from ewp.solver.iterate import Solutions
from ewp.solver.polish import PolishEffort, first_lowest
from ewp.solver.runs import FittedRuns, Runs, make_rule
from ewp.solver.schedules import Hard

__all__ = [
    "Candidates",
    "Refit",
    "bootstrap",
    "distinct_solutions",
    "estimates",
    "fit_from_scratch",
    "refit",
]

#: Resamples that are fitted from scratch; what is found in them is tried in all.
_SCRATCH = 20
#: Agreement (adjusted Rand index) from which two solutions count as one to begin from.
_SAME = 0.95
#: Movement, in standard deviations, at which fits that go on from other fits end: far below what
#: resamples differ by.
_TOLERANCE = 1e-5
#: Solutions from which a resample goes on where every cluster has weights of its own.
_MOST_PROMISING = 3


def bootstrap(
    results: FittedResults,
    /,
    n_boot: int = 200,
    *,
    start: str = "scratch",
    n_jackknife: int = 50,
    threshold: float | None = None,
    X: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> BootstrapResults:
    """Put intervals on weights and centroids by resampling the rows.

    By default solutions that this fit did not find may be found in a resample: twenty resamples
    are fitted from scratch, with starts of their own, and in every resample the limit problem is
    iterated from the most promising of all that was found, this fit included; the lowest
    objective wins. Clusters are matched to this fit's by the rows that they share, and how often
    a cluster is another one is told beside the intervals. Where every cluster has weights of its
    own, so have they intervals of their own, those of the cluster in a resample that is matched
    to it. Afterwards ``summary()`` and ``plot_weights()`` of this object show the intervals.
    Everything is conditional on the number of clusters, the penalty, the scaling and the form of
    the weights.

    Parameters
    ----------
    results : EWPResults
        The fit, where this is not called as a method of it.
    n_boot : int, default 200
        Number of resamples. 95 % intervals need at least 39, and are rough below 160.
    start : {"scratch", "estimates"}, default "scratch"
        "estimates" begins from this fit alone: intervals are then about the solution near it,
        and too narrow where there are others that are about as good.
    n_jackknife : int, default 50
        Number of parts of the rows that are left out in turn for the acceleration of BCa
        intervals, always fitted from the estimates; 0 leaves percentile intervals only.
    threshold : float, optional
        A feature with more weight than this counts as selected. By default an equal share,
        one over the number of features.
    X, sample_weight : array-like, optional
        The data that were fitted, for results that do not hold them any more. Whole numbers
        as weights are repetitions and resampled as such, other weights stay with their rows.
    random_state, n_jobs, progress
        As in `consistency`.

    Returns
    -------
    BootstrapResults
        With ``weight_intervals()``, ``centroid_intervals()``, ``log_ratios()``, ``clusters``,
        ``selection_frequency``, ``rank_switches()``, ``summary()`` and ``plot()``; kept as
        ``bootstrap_``.

    Examples
    --------
    >>> import ewp
    >>> from ewp.datasets import make_simulation2
    >>> X = make_simulation2(3, n=300, p=6, n_relevant=2, random_state=0).X
    >>> results = ewp.fit(X, 3, lam=0.05 * len(X), random_state=0)
    >>> found = results.bootstrap(100, random_state=0)
    >>> found.selection_frequency.tolist()
    [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    >>> table = found.weight_intervals()
    >>> bool((table["lower"] <= table["weight"]).all() and (table["upper"] < 1).all())
    True
    >>> found.clusters["dissolved"].tolist()
    [0, 0, 0]
    """
    check_choice("start", start, ("scratch", "estimates"))
    check_integer("n_boot", n_boot, least=2)
    check_integer("n_jackknife", n_jackknife, least=0)
    source = fitted_data(results, X, sample_weight)
    included = int(np.count_nonzero(results.prior > 0))
    limit = 1.0 / included if threshold is None else check_number("threshold", threshold, below=1)
    if limit < 0:
        raise ValueError(f"threshold={threshold!r} must be a weight: 0 or more, and below 1")
    resampler = Resampler.of(source.X, source.weight, source.options.n_clusters)
    grouping, *rngs = generator(random_state).spawn(1 + n_boot)
    groups = min(n_jackknife, len(resampler.rows))
    parts = resampler.leave_out(groups, grouping) if groups > 1 else []
    warn_of_few(n_boot)
    first = [Resample(*resampler.draw(rng), seed_of(rng)) for rng in rngs[:_SCRATCH]]
    others = (Resample(*resampler.draw(rng), seed_of(rng)) for rng in rngs[_SCRATCH:])
    left_out = (Resample(*part, seed_of(grouping)) for part in parts)
    how: dict[str, Any] = {"what": "resamples", "n_jobs": n_jobs, "progress": progress}
    local = begin = estimates(source)
    fits: list[Refit] = []
    complete = True
    if start == "scratch":
        fits, complete = run_replicates(
            fit_from_scratch,
            ((source, batch) for batch in in_batches(source, first)),
            total=n_boot,
            **how,
        )
        begin = distinct_solutions(source, fits)
    if complete:
        fits, complete = run_replicates(
            refit,
            chain(
                ((source, begin, batch) for batch in in_batches(source, chain(first, others))),
                ((source, local, batch) for batch in in_batches(source, left_out)),
            ),
            total=n_boot + len(parts),
            **how,
        )
    found, jackknife = fits[:n_boot], fits[n_boot:] if complete else []
    k, p = source.centroids.shape
    own = results.weights.shape
    whole = source.to_data_units(source.centroids)

    def shifts(fits: list[Refit]) -> np.ndarray:
        moved = [source.to_data_units(fit.centroids) - whole for fit in fits]
        return np.array(moved, dtype=np.float64).reshape(-1, k, p)

    return BootstrapResults(
        weights=results.weights,
        centroids=results.centroids,
        weight_draws=np.array([fit.weights for fit in found]),
        centroid_shifts=shifts(found),
        weight_jackknife=np.array([fit.weights for fit in jackknife]).reshape(-1, *own),
        centroid_jackknife=shifts(jackknife),
        threshold=limit,
        converged=float(np.mean([fit.converged for fit in found])),
        complete=complete,
        similarity=np.array([fit.similarity for fit in found]),
        start=start,
    )


class Refit(NamedTuple):
    """Estimates from a resample, clusters in the order of the full fit's.

    `similarity` is the Jaccard similarity of every cluster of the full fit to the most similar one
    of the resample, over the rows that are in it.
    """

    centroids: Array
    weights: Array
    objective: float
    converged: bool
    similarity: Array


class Candidates(NamedTuple):
    """Solutions from which resamples are fitted: (c, k, p) centroids in data units, weights.

    Weights are of shape (c, p), or (c, k, p) where every cluster has its own.
    """

    centroids: Array
    weights: Array


def _rule_of_clusters(engine: ArrayEngine, runs: Runs, options: FitOptions) -> ClusterEntropy:
    """Return the rule of the weights of every cluster in some runs."""
    return ClusterEntropy.of(make_rule(engine, runs, options.prior), runs.mass.totals, engine.p)


def _partitions_of(source: FittedData, begin: Candidates) -> list[np.ndarray]:
    """Partitions of all rows by some solutions."""
    if not source.options.by_cluster:
        center, scale, divergence = source.center, source.scale, source.divergence
        return [
            nearest_centroids(source.X, theta, weights, center, scale, divergence)[0]
            for theta, weights in zip(*begin, strict=True)
        ]
    n = len(source.X)
    whole = Resample(np.arange(n), np.ones(n) if source.weight is None else source.weight, 0)
    engine, runs, own = as_runs(source, [whole], source.options)
    rule = _rule_of_clusters(engine, runs, own).take(np.zeros(len(begin.weights), dtype=int))
    metric = rule.metric(engine.to_engine_units(begin.centroids), begin.weights)
    return list(cluster_labels(engine, metric)[0])


def _objectives(engine: ArrayEngine, runs: Runs, rule: ClusterEntropy, labels: np.ndarray) -> Array:
    """Objectives of a partition in all runs, (runs,), at its best centroids and weights."""
    table, k, p = runs.mass.table, int(labels.max()) + 1, engine.p
    sums = np.zeros((len(table), k, 2 * p))
    mass = np.zeros((len(table), k))
    size = block_rows(p, len(table))
    for start in range(0, engine.n, size):
        rows = slice(start, min(start + size, engine.n))
        values = engine.rows(rows)
        wide = np.concatenate([values, values**2], axis=1)
        for j in range(k):
            own = labels[rows] == j
            share = table[:, rows][:, own]
            sums[:, j] += share @ wide[own]
            mass[:, j] += share.sum(axis=1)
    means, squares = np.split(sums / np.where(mass > 0, mass, 1.0)[..., None], 2, axis=2)
    variances = np.maximum(squares - means**2, 0.0)
    weights = rule.update(variances)
    cost = (weights * rule.units[:, None] * variances).sum(axis=-1) + rule.price(weights)
    found: Array = (mass * cost).sum(axis=1) + rule.constant
    return found


def _refit_clusters(
    source: FittedData, begin: Candidates, resamples: list[Resample], options: FitOptions
) -> tuple[ArrayEngine, Solutions, np.ndarray]:
    """Fit resamples with weights of every cluster from the most promising solutions.

    Returns
    -------
    engine : ArrayEngine
    found : Solutions
        The lowest of every resample.
    labels : ndarray of shape (resamples, n)
    """
    engine, runs, own = as_runs(source, resamples, options)
    rule, count = _rule_of_clusters(engine, runs, own), len(runs)
    chosen = np.tile(np.arange(len(begin.weights)), (count, 1))
    if len(begin.weights) > _MOST_PROMISING:
        known = _partitions_of(source, begin)
        objective = np.array([_objectives(engine, runs, rule, labels) for labels in known])
        chosen = np.argsort(objective.T, axis=1, kind="stable")[:, :_MOST_PROMISING]
    of_run, first = np.repeat(np.arange(count), chosen.shape[1]), chosen.ravel()
    ended = iterate_clusters(
        engine,
        engine.to_engine_units(begin.centroids)[first],
        begin.weights[first],
        rule.take(of_run),
        Hard(),
        max_iter=own.max_iter,
        tol=own.tol,
        mass=runs.mass.take(of_run),
        trace=False,
    )
    ends = ended.objective.reshape(count, -1)
    found = ended.take(first_lowest(ends) + ends.shape[1] * np.arange(count))
    return engine, found, cluster_labels(engine, rule.metric(found.theta, found.weights))[0]


def _matched(
    source: FittedData,
    resamples: list[Resample],
    engine: ArrayEngine,
    found: FittedRuns | Solutions,
    labels: np.ndarray,
) -> list[Refit]:
    """Estimates with the clusters matched to those of the full fit by the rows they share."""
    k, own = source.options.n_clusters, source.options.by_cluster
    centroids = engine.to_data_units(found.theta)
    made = []
    for b, drawn in enumerate(resamples):
        shared = overlap(source.labels[drawn.rows], labels[b, drawn.rows], k)
        order = overlap_order(shared)
        made.append(
            Refit(
                centroids[b, order],
                found.weights[b, order] if own else found.weights[b],
                float(found.objective[b]),
                bool(found.converged[b]),
                similarities(shared),
            )
        )
    return made


def fit_from_scratch(source: FittedData, resamples: list[Resample]) -> list[Refit]:
    """Fit resamples from starts of their own, each by itself."""
    options = source.options
    if options.effort.rounds:
        options = dataclasses.replace(options, polish=PolishEffort.LIGHT)
    engine, found = fit_resamples(source, resamples, options)
    return _matched(source, resamples, engine, found, found.labels(engine))


def estimates(source: FittedData) -> Candidates:
    """Return the full fit as the only solution to begin from."""
    own = source.weights if source.cluster_weights is None else source.cluster_weights
    return Candidates(source.centroids[None], own[None])


def distinct_solutions(source: FittedData, found: list[Refit]) -> Candidates:
    """Return the full fit and what was found in resamples, of nearly equal partitions one.

    Parameters
    ----------
    source : FittedData
    found : list of Refit
    """
    fit = estimates(source)
    others = Candidates(
        np.array([one.centroids for one in found]), np.array([one.weights for one in found])
    )
    labels = [source.labels]
    kept = []
    for i, own in enumerate(_partitions_of(source, others)):
        if all(rand_index(own, other, source.weight) < _SAME for other in labels):
            labels.append(own)
            kept.append(i)
    return Candidates(
        np.concatenate([fit.centroids, others.centroids[kept]]),
        np.concatenate([fit.weights, others.weights[kept]]),
    )


def refit(source: FittedData, begin: Candidates, resamples: list[Resample]) -> list[Refit]:
    """Fit resamples from solutions found before: the limit problem from the most promising.

    Parameters
    ----------
    source : FittedData
    begin : Candidates
    resamples : list of Resample

    Returns
    -------
    list of Refit
        The lowest objective that was reached in each.
    """
    options = dataclasses.replace(
        source.options,
        polish=PolishEffort.NONE,
        tol=max(source.options.tol, _TOLERANCE),
    )
    if options.by_cluster:
        engine, ends, labels = _refit_clusters(source, begin, resamples, options)
        return _matched(source, resamples, engine, ends, labels)
    engine, found = fit_resamples(source, resamples, options, begin)
    return _matched(source, resamples, engine, found, found.labels(engine))
