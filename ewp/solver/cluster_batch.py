"""Many fits with weights for every cluster, to the same rows in common passes.

What `ewp.solver.batch` is for common weights. Runs of a group, which differ in nothing but the
penalty, are one path: starts are annealed at penalties above its largest one, and every penalty
goes on from the solutions of the one above, its own rows of weights in hand. So what is an
annealing of the penalty in a single fit costs nothing here. Fits with common weights are starts
too, as in a single fit: where slices of one feature have the lower objective, the criterion has to
see them. At last runs try the partitions of their neighbours.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from ewp.common.types import Array
from ewp.engine.base import RowEngine
from ewp.solver.batch import fit_runs
from ewp.solver.cluster_weights import ClusterEntropy, cluster_labels, iterate_clusters
from ewp.solver.fit import FitOptions
from ewp.solver.iterate import Solutions
from ewp.solver.runs import FittedRuns, Runs, make_rule
from ewp.solver.schedules import Hard, annealing
from ewp.solver.starts import choose_starts, seed_numbers

__all__ = ["FittedClusterRuns", "fit_cluster_runs"]

#: The path begins at least at so many times its smallest penalty, by steps of a factor.
_ABOVE, _FACTOR = 16.0, 4.0
#: Starts of a path.
_STARTS = 3
#: Pairs of a row and a centroid of the paths that are followed together.
_PAIRS_AT_ONCE = 2**21
#: How often partitions may go on to the next neighbours, and steps from them.
_EXCHANGES, _EXCHANGE_STEPS = 2, 30
#: Objectives that differ by less than this share are equal.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class FittedClusterRuns(FittedRuns):
    """Where runs ended: weights and metrics are of shape (runs, k, p).

    Attributes
    ----------
    rule : ClusterEntropy
    mass : ndarray of shape (runs, k)
        Weight of the rows of every cluster.
    """

    rule: ClusterEntropy
    mass: Array

    @property
    def mean_weights(self) -> Array:
        """Weights on average over the clusters, by mass."""
        total = self.mass.sum(axis=1, keepdims=True)
        found: Array = np.einsum("bj,bjl->bl", self.mass / total, self.weights)
        return found

    def labels(self, engine: RowEngine) -> np.ndarray:
        """Nearest centroids of all rows in every run, a (runs, n) array."""
        return cluster_labels(engine, self.rule.metric(self.theta, self.weights))[0]


class _Best:
    """The lowest solution of every run so far."""

    def __init__(self, runs: int, k: int, p: int) -> None:
        self.theta, self.weights = np.zeros((2, runs, k, p))
        self.objective = np.full(runs, np.inf)
        self.converged = np.zeros(runs, dtype=bool)

    def offer(self, to: np.ndarray, found: Solutions) -> set[int]:
        """Take what is lower than what is known; return the runs for which something was."""
        taken = set()
        for i, b in enumerate(to.tolist()):
            known = float(self.objective[b])
            if np.isinf(known) or found.objective[i] < known - _ROUNDING * abs(known):
                self.theta[b], self.weights[b] = found.theta[i], found.weights[i]
                self.objective[b], self.converged[b] = found.objective[i], found.converged[i]
                taken.add(b)
        return taken


def fit_cluster_runs(engine: RowEngine, k: int, runs: Runs, options: FitOptions) -> FittedRuns:
    """Fit EWP with weights for every cluster in all runs.

    Parameters
    ----------
    engine : RowEngine
        The rows as they are: scalings are those of the runs.
    k : int
    runs : Runs
    options : FitOptions
        What all runs have in common; penalty, scaling and form are theirs.

    Returns
    -------
    FittedClusterRuns
    """
    rule = ClusterEntropy.of(make_rule(engine, runs, options.prior), runs.mass.totals, engine.p)
    best = _Best(len(runs), k, engine.p)
    groups = np.split(np.arange(len(runs)), np.flatnonzero(np.diff(runs.group)) + 1)
    size = max(_PAIRS_AT_ONCE // (engine.n * k * _STARTS), 1)
    for start in range(0, len(groups), size):
        _follow_paths(engine, k, runs, rule, groups[start : start + size], options, best)
    _begin_common(engine, k, runs, rule, options, best)
    _exchange(engine, runs, rule, options, best)
    labels, _ = cluster_labels(engine, rule.metric(best.theta, best.weights))
    mass = [
        np.bincount(own, runs.mass.table[m], k)
        for own, m in zip(labels, runs.mass.index, strict=True)
    ]
    return FittedClusterRuns(
        best.theta,
        best.weights,
        best.weights * rule.units[:, None, :],
        best.objective,
        best.converged,
        rule,
        np.array(mass),
    )


def _path(lams: Array) -> tuple[np.ndarray, Array]:
    """Places of a group's runs along its path, and by what their penalties are multiplied.

    >>> place, factor = _path(np.array([1.0, 2.0]))
    >>> place.tolist(), factor.tolist()
    ([1, 1, 1, 0], [16.0, 4.0, 1.0, 1.0])
    """
    steps = 0
    while lams[-1] * _FACTOR**steps < _ABOVE * lams[0]:
        steps += 1
    above = _FACTOR ** np.arange(steps, 0, -1)
    place = np.concatenate([np.full(steps, len(lams) - 1), np.arange(len(lams) - 1, -1, -1)])
    return place, np.concatenate([above, np.ones(len(lams))])


def _follow_paths(
    engine: RowEngine,
    k: int,
    runs: Runs,
    rule: ClusterEntropy,
    groups: list[np.ndarray],
    options: FitOptions,
    best: _Best,
) -> None:
    """Follow the paths of some groups from several starts each."""
    given = not isinstance(options.init, str)
    count = 1 if given else _STARTS
    paths = [_path(runs.lam[group]) for group in groups]
    of_start = np.repeat(np.arange(len(groups)), count)
    top = np.array([group[-1] for group in groups])[of_start]
    metric = (rule.start(1)[:, 0] * rule.units)[top]
    if isinstance(options.init, str):
        seeds = [np.random.default_rng(int(runs.seed[group[-1]])) for group in groups]
        numbers = np.concatenate([seed_numbers(rng, count, k) for rng in seeds])
        theta = choose_starts(engine, k, options.init, metric, numbers, runs.mass.take(top))
    else:
        theta = np.tile(engine.to_engine_units(options.init), (len(top), 1, 1))
    weights = rule.take(top).start(k)
    for step in range(max(len(place) for place, _ in paths)):
        going = np.flatnonzero([step < len(paths[g][0]) for g in of_start])
        to = np.array([groups[g][paths[g][0][step]] for g in of_start[going]])
        factor = np.array([paths[g][1][step] for g in of_start[going]])
        critical = runs.critical[top]
        schedule = annealing(options.first_exponent, options.eta, critical) if not step else Hard()
        found = iterate_clusters(
            engine,
            theta[going],
            weights[going],
            rule.take(to).times(factor),
            schedule,
            max_iter=options.max_iter,
            tol=options.tol,
            mass=runs.mass.take(to),
            trace=False,
        )
        theta[going], weights[going] = found.theta, found.weights
        own = np.flatnonzero(factor == 1.0)
        best.offer(to[own], found.take(own))


def _begin_common(
    engine: RowEngine,
    k: int,
    runs: Runs,
    rule: ClusterEntropy,
    options: FitOptions,
    best: _Best,
) -> None:
    """Let every run go on from where common weights end: what is lower there is lower here."""
    common = fit_runs(engine, k, runs, dataclasses.replace(options, weights="common"))
    found = iterate_clusters(
        engine,
        common.theta,
        np.repeat(common.weights[:, None, :], k, axis=1),
        rule,
        Hard(),
        max_iter=options.max_iter,
        tol=options.tol,
        mass=runs.mass,
        trace=False,
    )
    best.offer(np.arange(len(runs)), found)


def _exchange(
    engine: RowEngine, runs: Runs, rule: ClusterEntropy, options: FitOptions, best: _Best
) -> None:
    """Let every run go on from the partitions of its neighbours, as long as it helps."""
    fresh = set(range(len(runs)))
    for _ in range(_EXCHANGES):
        pairs = [
            (b, other)
            for b in range(len(runs))
            for other in (b - 1, b + 1)
            if other in fresh and runs.group[b] == runs.group[other]
        ]
        if not pairs:
            break
        to, source = np.array(pairs).T
        found = iterate_clusters(
            engine,
            best.theta[source],
            best.weights[source],
            rule.take(to),
            Hard(),
            max_iter=min(options.max_iter, _EXCHANGE_STEPS),
            tol=options.tol,
            mass=runs.mass.take(to),
            trace=False,
        )
        fresh = best.offer(to, found)
