"""Many fits to the same rows in common passes: penalties, families, and weights of the rows.

What selections and diagnostics fit hundreds of times differs in little: the penalty, the scaling
and form of the weights, and which rows count. Standardised features are raw ones in another metric,
and a part of the rows is the rows with weights of zero and one; so all runs share the products with
the data. `fit_runs` takes them from their starts to polished fixed points of the limit problem.
Runs of one group, which differ in nothing but the penalty, try each other's partitions. Where
features outnumber rows by far, runs begin at partitions of sparse k-means too.
"""

from __future__ import annotations

import numpy as np

from ewp.common.types import Array
from ewp.data.canonical import block_rows
from ewp.engine.base import RowEngine
from ewp.solver.fit import FitOptions
from ewp.solver.iterate import Solution, iterate_runs
from ewp.solver.polish import first_lowest, lower, polish_runs, polishes_together, search
from ewp.solver.runs import FittedRuns, Runs, make_rule
from ewp.solver.schedules import Annealed, Hard, Schedule, annealing, every_second_hard
from ewp.solver.sparse_starts import SparseStarts
from ewp.solver.starts import choose_starts, seed_numbers
from ewp.solver.weights import RelativeEntropy

__all__ = ["fit_runs"]

#: Runs of up to so many products n * p * k begin several times, every second time at the limit; of
#: more than the second number only every other run of a group begins, the others go on from its
#: neighbours.
_SMALL, _EVERY_RUN = 5e5, 1e6
#: Starts of such runs, where features outnumber rows, and where they are decorrelated: then noise
#: has as much variance in every direction as the clusters, and most starts end elsewhere.
_STARTS, _WIDE_STARTS, _DECORRELATED_STARTS = 2, 4, 12
#: Steps from the partition of a neighbour: what would take more is hardly ever lower.
_EXCHANGE_STEPS = 30
#: How often partitions may go on to the next neighbours.
_EXCHANGES = 4
#: Runs of a group whose partitions are searched where runs are not polished together.
_ANCHORS = 2
#: Solutions found before from which small runs, and larger ones, go on: the most promising ones.
_CANDIDATES, _FEWER_CANDIDATES = 3, 2


def fit_runs(
    engine: RowEngine,
    k: int,
    runs: Runs,
    options: FitOptions,
    begin: tuple[Array, Array] | None = None,
) -> FittedRuns:
    """Fit EWP in all runs.

    Parameters
    ----------
    engine : RowEngine
        The rows as they are: scalings are those of the runs.
    k : int
    runs : Runs
    options : FitOptions
        What all runs have in common; penalty, scaling and form are theirs.
    begin : (ndarray of shape (c, k, p), ndarray of shape (c, p)), optional
        Centroids and weights of solutions found before, in the engine's coordinates: from the
        most promising of them every run goes on at the limit.

    Returns
    -------
    FittedRuns
    """
    rule = make_rule(engine, runs, options.prior)
    which = np.arange(len(runs))
    sparse = begin is None and options.begins_sparse(engine)
    if sparse or float(engine.n) * engine.p * k > _EVERY_RUN:
        which = which[_place_in_group(runs.group) % 2 == 0]
    begun, own = runs.take(which), rule.take(which)
    rngs = []
    if begin is None or options.effort.rounds:  # a generator takes as long as some steps
        rngs = [np.random.default_rng(int(seed)) for seed in begun.seed]
    found = _begin(engine, k, begun, own, options, rngs, begin)
    known = dict(zip(which.tolist(), found, strict=True))
    if sparse:
        # single rows were moved already: a polish would hardly find more
        _begin_sparse(engine, k, runs, rule, options, known)
    elif options.effort.rounds and k > 1:
        if polishes_together(engine, k):
            found = polish_runs(
                engine,
                found,
                own,
                rngs,
                effort=options.effort,
                max_iter=options.max_iter,
                tol=options.tol,
                mass=begun.mass,
                trace=False,
            )
        elif begin is None:  # from estimates there is no partition to search for
            found = _search_anchors(engine, begun, own, found, options, rngs)
        known = dict(zip(which.tolist(), found, strict=True))
    best = _exchange(engine, runs, rule, known, options)
    weights = np.array([one.weights for one in best])
    return FittedRuns(
        np.array([one.theta for one in best]),
        weights,
        rule.metric(weights),
        np.array([one.objective for one in best]),
        np.array([one.converged for one in best]),
    )


def _begin(
    engine: RowEngine,
    k: int,
    runs: Runs,
    rule: RelativeEntropy,
    options: FitOptions,
    rngs: list[np.random.Generator],
    begin: tuple[Array, Array] | None,
) -> list[Solution]:
    """Run every run from its starts, and keep the lower end."""
    count = len(runs)
    weights = np.broadcast_to(rule.start(), (count, engine.p))
    schedule: Schedule = Hard()
    own_weights = None
    if begin is not None:
        chosen = _most_promising(engine, runs, rule, *begin)
        of_run = np.repeat(np.arange(count), chosen.shape[1])
        theta, own_weights = begin[0][chosen.ravel()], begin[1][chosen.ravel()]
    elif isinstance(options.init, str):
        starts, small = 1, float(engine.n) * engine.p * k <= _SMALL
        if options.effort.rounds and small and not options.begins_sparse(engine):
            starts = _STARTS if engine.p <= engine.n else _WIDE_STARTS
            if engine.decorrelation is not None:
                starts = _DECORRELATED_STARTS
        numbers = np.concatenate([seed_numbers(rng, starts, k) for rng in rngs])
        of_run = np.repeat(np.arange(count), starts)
        theta = choose_starts(
            engine, k, options.init, rule.metric(weights)[of_run], numbers, runs.mass.take(of_run)
        )
    else:
        of_run = np.arange(count)
        theta = np.tile(engine.to_engine_units(options.init), (count, 1, 1))
    if begin is None:
        schedule = annealing(options.first_exponent, options.eta, runs.critical[of_run])
    if isinstance(schedule, Annealed) and len(of_run) > count:
        schedule = every_second_hard(schedule, len(of_run))
    found = iterate_runs(
        engine,
        theta,
        weights[of_run] if own_weights is None else own_weights,
        rule.take(of_run),
        schedule,
        max_iter=options.max_iter,
        tol=options.tol,
        mass=runs.mass.take(of_run),
        trace=False,
    )
    ends = found.objective.reshape(count, -1)
    return [found.run(i) for i in first_lowest(ends) + ends.shape[1] * np.arange(count)]


def _most_promising(
    engine: RowEngine, runs: Runs, rule: RelativeEntropy, theta: Array, weights: Array
) -> np.ndarray:
    """Numbers of the solutions with the lowest objectives in every run, a (runs, most) array.

    The objective is that of the solution's centroids with the weights that are best there.
    """
    count, candidates = len(runs), len(theta)
    small = float(engine.n) * theta[0].size <= _SMALL
    most = _CANDIDATES if small else _FEWER_CANDIDATES
    if candidates <= most:
        return np.tile(np.arange(candidates), (count, 1))
    objective = np.empty((count, candidates))
    table, index = runs.mass.table, runs.mass.index
    size = block_rows(engine.p, len(table))
    metric = weights
    if runs.standardise.any():  # rows are assigned in the scaling of all rows
        varying = engine.squares > 0
        metric = weights * varying * engine.total / np.where(varying, engine.squares, 1.0)
    for c in range(candidates):
        labels, _ = engine.assign(theta[c], metric[c])
        dispersion = np.zeros((len(table), engine.p))
        for start in range(0, engine.n, size):
            rows = slice(start, min(start + size, engine.n))
            gaps = engine.divergence.exact(engine.rows(rows), theta[c][labels[rows]])
            dispersion += table[:, rows] @ gaps
        best = rule.update(dispersion[index])
        fitted = (rule.metric(best) * dispersion[index]).sum(axis=1)
        objective[:, c] = fitted + rule.penalty(best)
    return np.argsort(objective, axis=1, kind="stable")[:, :most]


def _begin_sparse(
    engine: RowEngine,
    k: int,
    runs: Runs,
    rule: RelativeEntropy,
    options: FitOptions,
    known: dict[int, Solution],
) -> None:
    """Let every run begin at the partition of sparse k-means whose objective is lowest too."""
    parts: dict[int, SparseStarts] = {}
    begun: dict[int, tuple[Array, Array]] = {}
    for b in range(len(runs)):
        m, own = int(runs.mass.index[b]), rule.take(np.array([b]))
        if m not in parts:
            included = np.isfinite(own.log_prior[0])
            parts[m] = SparseStarts(engine, k, runs.mass.table[m], included)
        unitless = bool(runs.standardise[b]) or engine.decorrelation is not None
        theta, weights = parts[m].lowest(own, 1, standardise=unitless)
        if len(theta):
            begun[b] = theta[0], weights[0]
    if not begun:
        return
    which = np.array(list(begun))
    found = iterate_runs(
        engine,
        np.array([theta for theta, _ in begun.values()]),
        np.array([weights for _, weights in begun.values()]),
        rule.take(which),
        Hard(),
        max_iter=options.max_iter,
        tol=options.tol,
        mass=runs.mass.take(which),
        trace=False,
    )
    for i, b in enumerate(which.tolist()):
        end = found.run(i)
        known[b] = lower(known[b], end) if b in known else end


def _search_anchors(
    engine: RowEngine,
    runs: Runs,
    rule: RelativeEntropy,
    best: list[Solution],
    options: FitOptions,
    rngs: list[np.random.Generator],
) -> list[Solution]:
    """Search the partitions of a few runs of every group by breathing k-means."""
    parts: dict[int, RowEngine] = {}
    chosen, theta, weights = [], [], []
    for group in np.unique(runs.group):
        members = np.flatnonzero(runs.group == group)
        at = np.linspace(0, len(members) - 1, min(_ANCHORS, len(members)) + 2)[1:-1]
        for b in np.unique(members[np.round(at).astype(int)]):
            m = int(runs.mass.index[b])
            if m not in parts:
                rows = np.flatnonzero(runs.mass.table[m] > 0)
                parts[m] = engine.part(rows, runs.mass.table[m][rows])
            begun, ended = search(parts[m], best[b], 1.0, rule.take(np.array([b])), rngs[b])
            chosen.append(int(b))
            theta.append(begun)
            weights.append(ended)
    which = np.array(chosen)
    found = iterate_runs(
        engine,
        np.array(theta),
        np.array(weights),
        rule.take(which),
        Hard(),
        max_iter=options.max_iter,
        tol=options.tol,
        mass=runs.mass.take(which),
        trace=False,
    )
    for i, b in enumerate(chosen):
        best[b] = lower(best[b], found.run(i))
    return best


def _place_in_group(group: np.ndarray) -> np.ndarray:
    """Place of every run in its group, counted from 0.

    >>> _place_in_group(np.array([4, 4, 4, 7, 7])).tolist()
    [0, 1, 2, 0, 1]
    """
    first = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
    return np.arange(len(group)) - np.repeat(first, np.diff(first, append=len(group)))


def _exchange(
    engine: RowEngine,
    runs: Runs,
    rule: RelativeEntropy,
    begun: dict[int, Solution],
    options: FitOptions,
) -> list[Solution]:
    """Let every run go on from the partitions of its neighbours, as long as it helps."""
    best = dict(begun)
    fresh = set(begun)
    small = float(engine.n) * engine.p * len(next(iter(begun.values())).theta) <= _SMALL
    for _ in range(_EXCHANGES if small else 1):
        pairs = [
            (b, other)
            for b in range(len(runs))
            for other in (b - 1, b + 1)
            if other in fresh and runs.group[b] == runs.group[other]
        ]
        if not pairs:
            break
        to, source = np.array(pairs).T
        found = iterate_runs(
            engine,
            np.array([best[i].theta for i in source.tolist()]),
            np.array([best[i].weights for i in source.tolist()]),
            rule.take(to),
            Hard(),
            max_iter=min(options.max_iter, _EXCHANGE_STEPS),
            tol=options.tol,
            mass=runs.mass.take(to),
            trace=False,
        )
        fresh = set()
        for i, b in enumerate(to.tolist()):
            if b in best and found.objective[i] >= best[b].objective:
                continue
            end = found.run(i)
            if b not in best or (end := lower(best[b], end)) is not best[b]:
                best[b] = end
                fresh.add(b)
    return [best[b] for b in range(len(runs))]
