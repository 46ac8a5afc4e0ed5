"""Many starts: how many, which of them are polished, and how often the best was found.

Starts come in blocks that run together. Every second one is annealed, the others begin at the limit
problem: what the one misses the other finds. A start is polished if it is among the lowest that
came before it, so that what becomes of a start never depends on those after it: more starts from
the same seed can only lower the objective. With ``n_init="auto"`` starts go on until several of
them have found the best objective, or until they have cost what they may; if they have not agreed
by then, their partitions are recombined (`ewp.solver.recombination`). Partitions of sparse k-means,
where there are such, come first and in addition, whatever the number of the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ewp.common.types import Array
from ewp.engine.base import Engine, RowEngine
from ewp.metrics import rand_index
from ewp.solver.iterate import Solution, iterate, iterate_runs
from ewp.solver.polish import PolishEffort, lower, polish, polish_runs, polishes_together
from ewp.solver.recombination import recombine
from ewp.solver.row_moves import Ends, RowMoves, rows_can_move
from ewp.solver.schedules import Annealed, Hard, Schedule, every_second_hard
from ewp.solver.starts import choose_starts, seed_numbers
from ewp.solver.weights import RelativeEntropy, WeightRule

__all__ = ["Multistart", "StartPlan", "StartRecord", "multistart"]

#: Starts of a block.
_BLOCK = 10
#: Products that the automatic starts of a fit may cost, and what a number beside the features of a
#: row costs; steps of a start.
_PRODUCTS, _OVERHEAD, _STEPS = 1.2e8, 20, 20
#: How much more starts cost whose polish searches the partition of each of them.
_SEARCHED = 1.5
#: The fewest and the most automatic starts where they cost nothing, and how many must agree; fewer
#: starts are enough if half of them do.
_FEWEST, _MOST, _AGREE = 20, 100, 4
#: Products that automatic starts may cost where each is polished, their most, how many must agree,
#: and starts of a block then: a block is enough if all of it agree. Products that recombining may
#: cost, and the most children.
_PRODUCTS_EACH, _MOST_EACH, _AGREE_EACH, _BLOCK_EACH = 2.4e8, 12, 3, 2
_EFFORT_EACH = PolishEffort(1, (1.0, 2.0), 2)
_PRODUCTS_RECOMBINED, _MOST_CHILDREN = 6e8, 64
#: Every so manieth start has random weights.
_WEIGHTED = 4
#: Share of the starts that must agree for nothing to be recombined.
_OFTEN = 0.2
#: With less than this share of the values observed, rows are poor starts: automatic starts are so
#: many at least.
_POORLY_OBSERVED, _FEWEST_POOR = 0.75, 4
#: Objectives that differ by less than this part of the weighted sum of squares are the same.
_SAME = 1e-5
#: Lowest starts of those so far that are polished, and share of them that must agree for an
#: automatic number of starts to need no polish.
_POLISHED, _CLEAR = 3, 0.8
#: Lowest distinct optima that are recombined.
_PARENTS = 10
#: Distinct optima that are described.
_KEPT = 5
#: Objectives that differ by less than this part of them are equal.
_ROUNDING = 1e-13
#: So are those that differ by less than this part of what makes two optima the same.
_EQUAL = 1e-4


class StartPlan(NamedTuple):
    """How many starts are made.

    Attributes
    ----------
    fewest, most : int
    agree : int
        Starts that must have found the best objective before the most is reached.
    block : int
        Starts that run together.
    each : bool
        Whether every start is polished, lightly; if not, the lowest are.
    children : int
        How many partitions may come from recombining those of starts that have not agreed.
    """

    fewest: int
    most: int
    agree: int
    block: int
    each: bool = False
    children: int = 0

    @classmethod
    def of(
        cls, n_init: int | str, engine: Engine, k: int, *, recombines: bool = False
    ) -> StartPlan:
        """Return the plan for a number of starts, or the automatic one."""
        if not isinstance(n_init, str):
            return cls(n_init, n_init, n_init + 1, _BLOCK)
        cost = float(engine.n) * k * (engine.p + _OVERHEAD) * _STEPS
        if not polishes_together(engine, k):
            cost *= _SEARCHED
        poor = float(engine.missingness.share.mean()) < _POORLY_OBSERVED
        least = _FEWEST_POOR if poor else 1
        children = int(min(_PRODUCTS_RECOMBINED / cost, _MOST_CHILDREN)) if recombines else 0
        if recombines and not polishes_together(engine, k):
            most = int(min(max(_PRODUCTS_EACH / cost, least), _MOST_EACH))
            return cls(most + 1, most, _AGREE_EACH, _BLOCK_EACH, each=True, children=children)
        most = int(min(max(_PRODUCTS / cost, least), _MOST)) if k > 1 else 1
        return cls(min(_FEWEST, most), most, _AGREE, _BLOCK, children=children)


@dataclass(frozen=True)
class StartRecord:
    """Where the starts of a fit ended.

    Attributes
    ----------
    objective : ndarray of shape (starts,)
        Objectives, after the polish where there was one.
    polished : ndarray of bool, shape (starts,)
    optima : ndarray
        Lowest distinct objectives, increasing; the first may be that of a partition known before.
    counts : ndarray
        Number of starts that ended there.
    agreement : ndarray
        Adjusted Rand index of the partition with that of the lowest.
    sparse : int
        Number of the first starts that began at partitions of sparse k-means.
    sparse_counts : ndarray
        How many of these ended in every optimum.
    recombined : ndarray of bool
        Which optima no start found: they come from recombining the partitions of starts.
    """

    objective: Array
    polished: np.ndarray
    optima: Array
    counts: np.ndarray
    agreement: Array
    sparse: int
    sparse_counts: np.ndarray
    recombined: np.ndarray


class Multistart(NamedTuple):
    """The lowest solution of all starts, and where they ended."""

    solution: Solution
    starts: StartRecord


def multistart(
    engine: Engine,
    k: int,
    rule: WeightRule,
    schedule: Schedule,
    *,
    init: str | Array,
    n_init: int | str,
    effort: PolishEffort,
    max_iter: int,
    tol: float,
    rng: np.random.Generator,
    known: Sequence[tuple[Array, Array]] = (),
    sparse: Sequence[tuple[Array, Array]] = (),
    on_step: Callable[[int], None] | None = None,
) -> Multistart:
    """Run from several starts, polish the lowest, keep the best.

    Parameters
    ----------
    engine : Engine
    k : int
    rule : WeightRule
    schedule : Schedule
        Of the first start and of every second one after it; the others begin at the limit, if the
        schedule ends there and partitions are polished.
    init : {"k-means++", "random"} or ndarray of shape (k, p)
        From given centroids there is one start, for all would be the same.
    n_init : int or "auto"
    effort : PolishEffort
        How hard solutions are polished; none for a schedule that does not end at -inf.
    max_iter, tol
        As in `ewp.solver.iterate`.
    rng : Generator
    known : sequence of (centroids, weights)
        Partitions found before, in the engine's coordinates: tried too, and not counted.
    sparse : sequence of (centroids, weights)
        Starts at the limit that come before those that are drawn, which they do not replace.
    on_step : callable, optional
        Called at every step with the number of runs that take it.
    """
    moves, mixes = None, False
    if effort.rounds and rows_can_move(engine, k):
        moves = RowMoves(engine, rule)
        mixes = isinstance(rule, RelativeEntropy) and effort.rounds > PolishEffort.LIGHT.rounds
    plan = StartPlan.of(n_init if isinstance(init, str) else 1, engine, k, recombines=mixes)
    if plan.each:
        effort = _EFFORT_EACH
    seeds, polishing, weighing = rng.spawn(3)
    limits: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "on_step": on_step}
    same = _SAME * float(engine.squares @ rule.metric(rule.start()))
    begun: list[float] = []
    polished: list[bool] = []
    ended: list[Solution] = []
    while len(ended) < len(sparse) + plan.most:
        first = len(ended)
        if first < len(sparse):
            block = _go_on(engine, rule, sparse, limits)
        else:
            count = min(plan.block, len(sparse) + plan.most - first)
            number = first - len(sparse)
            own = _start_weights(rule, moves if plan.each else None, number, count, weighing)
            block = _run(engine, k, rule, own, schedule, init, seeds, number, effort, limits)
        rngs = polishing.spawn(len(block))
        chosen = []
        for one in block:
            chosen.append(
                effort.rounds > 0
                and one.converged
                and (plan.each or _is_promising(one, begun, polished, same))
            )
            begun.append(one.objective)
            polished.append(chosen[-1])
        drawn = begun[len(sparse) :]
        reached = sum(one <= min(begun) + same for one in drawn)
        if plan.agree <= reached >= _CLEAR * len(drawn):
            chosen = [False] * len(block)
            polished[first:] = chosen
        which = [i for i in range(len(block)) if chosen[i]]
        lowest = [block[i] for i in which]
        if which and polishes_together(engine, k):
            assert isinstance(engine, RowEngine)
            better = polish_runs(
                engine, lowest, rule, [rngs[i] for i in which], effort=effort, **limits
            )
        else:
            better = [
                polish(engine, one, rule, rngs[i], effort=effort, **limits)
                for i, one in zip(which, lowest, strict=True)
            ]
        if moves is not None and better and not polishes_together(engine, k):
            better = _move_rows(engine, moves, rule, better, limits)
        for i, one in zip(which, better, strict=True):
            block[i] = one
        ended += block
        for i in range(first, len(ended)):
            if (twin := _polished_before(i, begun, polished, same)) is not None:
                ended[i] = ended[twin]
        best, made = min(one.objective for one in ended), len(ended) - len(sparse)
        agreeing = sum(one.objective <= best + same for one in ended[len(sparse) :])
        agreed = agreeing >= plan.agree and (made >= plan.fewest or 2 * agreeing >= made)
        agreed = agreed or (plan.each and agreeing == made >= plan.block)
        if agreed:
            break
    if len(known) > 1 and polishes_together(engine, k):
        others = _go_on(engine, rule, known, limits | {"finish": "polish"})
    else:
        others = [
            iterate(engine, theta, weights, rule, Hard(), finish="polish", **limits)
            for theta, weights in known
        ]
    mixed = []
    rarely = agreeing < _OFTEN * made
    mixable = moves is not None and plan.children and all(one.converged for one in ended)
    if mixable and len(ended) > 1 and (not agreed or rarely):
        assert moves is not None
        rng = polishing.spawn(1)[0]
        mixed = _recombine(engine, moves, rule, [*ended, *others], rng, plan.children, same, limits)
    return _summarise(engine, rule, ended, others, mixed, np.array(polished), same, len(sparse))


def _move_rows(
    engine: Engine,
    moves: RowMoves,
    rule: WeightRule,
    solutions: list[Solution],
    limits: dict[str, Any],
) -> list[Solution]:
    """Move single rows as long as that helps, and go on to the fixed points."""
    better = list(solutions)
    found = moves.descend(*_stack(solutions)[:2])
    for i in np.flatnonzero(found.objective < [one.objective for one in solutions]).tolist():
        end = iterate(
            engine, found.theta[i], found.weights[i], rule, Hard(), finish="polish", **limits
        )
        better[i] = lower(better[i], end)
    return better


def _stack(solutions: Sequence[Solution]) -> Ends:
    """Centroids, weights and objectives of some solutions."""
    return Ends(
        np.array([one.theta for one in solutions]),
        np.array([one.weights for one in solutions]),
        np.array([one.objective for one in solutions]),
    )


def _recombine(
    engine: Engine,
    moves: RowMoves,
    rule: WeightRule,
    solutions: list[Solution],
    rng: np.random.Generator,
    children: int,
    same: float,
    limits: dict[str, Any],
) -> list[Solution]:
    """Recombine partitions: the fixed point of the lowest, if it is lower than all of them."""
    assert isinstance(engine, RowEngine)
    assert isinstance(rule, RelativeEntropy)
    distinct: list[Solution] = []
    for one in sorted(solutions, key=lambda one: one.objective):
        if not distinct or one.objective > distinct[-1].objective + same:
            distinct.append(one)
    best = distinct[0]
    found = recombine(
        engine,
        rule,
        moves,
        moves.descend(*_stack(distinct[:_PARENTS])[:2]),
        rng,
        most=children,
        same=_EQUAL * same,
        breathes=not polishes_together(engine, len(best.theta)),
        on_step=limits["on_step"],
    )
    end = iterate(engine, found.theta, found.weights, rule, Hard(), finish="polish", **limits)
    better = lower(best, end)
    return [] if better is best else [better]


def _go_on(
    engine: Engine,
    rule: WeightRule,
    begun: Sequence[tuple[Array, Array]],
    limits: dict[str, Any],
) -> list[Solution]:
    """Go on from partitions at the limit to their fixed points."""
    theta, weights = (np.array(part) for part in zip(*begun, strict=True))
    found = iterate_runs(engine, theta, weights, rule, Hard(), **limits)
    return [found.run(b) for b in range(len(begun))]


def _start_weights(
    rule: WeightRule,
    moves: RowMoves | None,
    first: int,
    count: int,
    rng: np.random.Generator,
) -> Array:
    """Weights of some starts: equal ones, and random ones in every fourth if rows can move."""
    weights = np.tile(rule.start(), (count, 1))
    if moves is not None:
        drawn = moves.random_weights(count, rng)
        random = np.arange(first, first + count) % _WEIGHTED == _WEIGHTED - 1
        weights[random] = drawn[random]
    return weights


def _run(
    engine: Engine,
    k: int,
    rule: WeightRule,
    weights: Array,
    schedule: Schedule,
    init: str | Array,
    seeds: np.random.Generator,
    first: int,
    effort: PolishEffort,
    limits: dict[str, Any],
) -> list[Solution]:
    """Run some starts to their fixed points."""
    count = len(weights)
    if isinstance(init, str):
        rows = engine.sample_for_starts(k)
        theta = choose_starts(rows, k, init, rule.metric(weights), seed_numbers(seeds, count, k))
    else:
        theta = engine.to_engine_units(init)[None]
    if effort.rounds and isinstance(schedule, Annealed):
        schedule = every_second_hard(schedule, count, first)
    found = iterate_runs(engine, theta, weights, rule, schedule, **limits)
    return [found.run(b) for b in range(count)]


def _is_promising(one: Solution, begun: list[float], polished: list[bool], same: float) -> bool:
    """Whether a start is among the lowest so far, and not where another was polished before."""
    if sum(objective <= one.objective for objective in begun) >= _POLISHED:
        return False
    here = len(begun)
    return _polished_before(here, [*begun, one.objective], [*polished, False], same) is None


def _polished_before(i: int, begun: list[float], polished: list[bool], same: float) -> int | None:
    """Return the first start before an unpolished one that came to the same place and was."""
    if polished[i]:
        return None
    for j in range(i):
        if polished[j] and abs(begun[j] - begun[i]) <= same:
            return j
    return None


def _summarise(
    engine: Engine,
    rule: WeightRule,
    ended: list[Solution],
    others: list[Solution],
    mixed: list[Solution],
    polished: np.ndarray,
    same: float,
    sparse: int,
) -> Multistart:
    """Return the lowest solution, and where the starts ended."""
    objective = np.array([one.objective for one in ended])
    distinct: list[Solution] = []
    candidates = [*ended, *others, *mixed]
    lowest = min(one.objective for one in candidates)
    # of equals the first one that was annealed, whose trace tells more
    level = lowest + max(_ROUNDING * abs(lowest), _EQUAL * same)
    order = sorted(
        candidates,
        key=lambda one: (max(one.objective, level), math.isinf(one.trace[0].s)),
    )
    for one in order:
        if not distinct or one.objective > distinct[-1].objective + same:
            distinct.append(one)
    del distinct[_KEPT:]
    optima = np.array([one.objective for one in distinct])
    # the one that is taken may lie above its equals by rounding errors
    ends = np.maximum(objective, optima[0])
    there = (ends >= optima[:, None]) & (ends <= optima[:, None] + same)
    agreement = np.ones(len(distinct))
    if len(distinct) > 1:
        rows = engine.sample_for_starts(len(ended[0].theta))
        labels = [rows.assign(one.theta, rule.metric(one.weights))[0] for one in distinct]
        agreement[1:] = [rand_index(labels[0], other, rows.sample_weight) for other in labels[1:]]
    counts, of_sparse = there.sum(axis=1), there[:, :sparse].sum(axis=1)
    is_mixed = np.array([any(one is other for other in mixed) for one in distinct])
    record = StartRecord(
        objective, polished, optima, counts, agreement, sparse, of_sparse, is_mixed & (counts == 0)
    )
    return Multistart(distinct[0], record)
