"""Deciding what is automatic in a fit: the penalty, the scaling, the form of the weights.

`select_candidate` works on a validated array and is what ``lam="auto"`` calls. How to select is
said by `ewp.selection.options`, which of the scored candidates is taken by `ewp.selection.rules`;
what a user sees of it is in `ewp.select`. There is no argument for labels.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ewp.common.checks import check_integer
from ewp.common.types import Array
from ewp.data.canonical import distinct_groups
from ewp.display.evidence import Evidence, Separation
from ewp.display.formatting import counted, short
from ewp.engine import array_engine
from ewp.engine.array import ArrayEngine
from ewp.engine.bregman import BregmanEngine
from ewp.engine.kernel import hard_sums
from ewp.metrics import rand_index
from ewp.selection.base import Criterion, Score
from ewp.selection.criteria import HeldOut, Predictive
from ewp.selection.nested import corrected_mean, nested_scores
from ewp.selection.options import SelectionOptions
from ewp.selection.rules import Decision, Guard, SelectionRule, competing, decide
from ewp.selection.search import (
    ROUNDING,
    Candidate,
    families,
    make_candidates,
    mean_and_error,
    score_candidates,
    within_tolerance,
)
from ewp.selection.separation import least_separated
from ewp.solver.fit import FitOptions, WarmStart
from ewp.solver.sparse_starts import has_wide_shape

__all__ = ["SelectionOutcome", "select_candidate"]

#: Partitions of the replicates that the fit to all rows tries, and rows looked at together.
_MOST_WARM_STARTS, _ROWS = 5, 4096
#: Seed of the replicates.
_SEED = 0
#: Standard errors, and part of what a partition is worth, that variances of every cluster must add
#: for these to have weights of their own.
_CLEAR, _PART = 2.0, 0.3
#: Part of what a partition is worth that weights of every cluster may lose.
_LOSS = 0.01
#: Standard errors of the difference to the best up to which a penalty does as well.
_ALIKE = 1.0


class Advantage(NamedTuple):
    """What held-out rows gain if every cluster has feature weights of its own, in nats per row.

    Attributes
    ----------
    gain, error : float
        From their partition, over that of common weights, and its standard error.
    excess, excess_error : float
        From variances of every cluster in their partition, over common variances.
    whole : float
        From their partition over a single cloud.
    """

    gain: float
    error: float
    excess: float
    excess_error: float
    whole: float

    @property
    def clear(self) -> bool:
        """Whether clusters have variances of their own, and weights for these lose nothing."""
        needed = max(_CLEAR * self.excess_error, _PART * self.whole, ROUNDING)
        loss = max(_CLEAR * self.error, _LOSS * self.whole)
        return self.gain >= -loss and self.excess > needed


@dataclass(frozen=True)
class SelectionOutcome:
    """A decision and what it rests on.

    Attributes
    ----------
    entries : list of Candidate
    decision : Decision
    criterion : Criterion
    rule : SelectionRule
    total : float
        Sum of the sample weights.
    complete : bool
        False if the user interrupted the scoring.
    found : list of WarmStart
        Partitions of all rows that the replicates of the chosen candidate found.
    nested : list of Score
        Every replicate's score by the candidate that the others choose.
    evidence : Evidence or None
        What held-out rows say of more than one cluster, where the criterion holds rows out.
    separation : Separation or None
        What they say of the two clusters that are separated least, where that was asked.
    advantage : Advantage or None
        What they say of weights of every cluster, where that was open. The entries are those of the
        weights that were chosen.
    """

    entries: list[Candidate]
    decision: Decision
    criterion: Criterion
    rule: SelectionRule
    total: float
    complete: bool = True
    found: list[WarmStart] = dataclasses.field(default_factory=list)
    nested: list[Score] = dataclasses.field(default_factory=list)
    evidence: Evidence | None = None
    separation: Separation | None = None
    advantage: Advantage | None = None

    @property
    def chosen(self) -> Candidate:
        """The candidate that was taken."""
        return self.decision.chosen

    def apply(self, options: FitOptions, factor: float = 1.0) -> FitOptions:
        """Return the options with the chosen penalty, scaling and form.

        Parameters
        ----------
        options : FitOptions
        factor : float
            How much more the data of the fit weigh than those of the choice.
        """
        return self.chosen.family.settle(options, factor * self.chosen.lam)

    def warm_starts(self, factor: float = 1.0) -> list[WarmStart]:
        """Return the partitions found on the way, for data that weigh `factor` times as much."""
        # variances do not depend on the weight of the rows
        return [one._replace(dispersion=factor * one.dispersion) for one in self.found]

    def _alike(self) -> dict[str, Any] | None:
        """Penalties of the chosen family that do as well, and how alike their partitions are."""
        chosen, _, _, top = self.decision
        family = [entry for entry in self.entries if entry.family == chosen.family]
        complete = len(chosen.scores)
        rivals = [
            entry
            for entry in family
            if complete and len(entry.scores) == complete and within_tolerance(entry, top, _ALIKE)
        ]
        if not rivals or len(family) < 2:
            return None
        copies = chosen.scores[0].copies
        agreement = [
            float(np.mean([rand_index(*pair, copies) for pair in pairs]))
            for entry in rivals
            if (pairs := list(zip(entry.partitions, chosen.partitions, strict=True)))
        ]
        return {
            "smallest": min(entry.lam for entry in rivals),
            "largest": max(entry.lam for entry in rivals),
            "count": len(rivals),
            "agreement": min(agreement) if agreement else None,
        }

    def _end_of_grid(self) -> str | None:
        """Whether the chosen penalty is the smallest or the largest of its family."""
        lams = [entry.lam for entry in self.entries if entry.family == self.chosen.family]
        if len(lams) < 2 or min(lams) < self.chosen.lam < max(lams):
            return None
        return "smallest" if self.chosen.lam == min(lams) else "largest"

    def record(self) -> dict[str, Any]:
        """Return the decision as plain data, for the results and their file."""
        chosen, runner_up, best, top = self.decision
        return {
            "criterion": self.criterion.name,
            "unit": self.criterion.unit,
            "rule": self.rule.words(self.decision),
            "candidates": len(self.entries),
            "replicates": max(len(entry.scores) for entry in self.entries),
            "complete": self.complete,
            "chosen": chosen.record(self.criterion),
            "best_score": best.mean,
            "family_best_score": top.mean,
            "runner_up": None if runner_up is None else runner_up.record(self.criterion),
            "total": self.total,
            "alike": self._alike(),
            "end_of_grid": self._end_of_grid(),
            "evidence": None
            if self.evidence is None
            else {"gain": self.evidence.gain, "error": self.evidence.error},
            "advantage": None
            if self.advantage is None
            else {**self.advantage._asdict(), "clear": self.advantage.clear},
            "curve": [
                entry.record(self.criterion) | {"replicates": len(entry.scores)}
                for entry in self.entries
            ],
        }


def select_candidate(
    X: Array,
    weight: Array | None,
    options: FitOptions,
    selection: SelectionOptions,
    sizes: Array | None = None,
) -> SelectionOutcome:
    """Choose among penalties and families.

    The replicates are drawn from a seed of their own: the choice belongs to the data, and another
    seed of the fit does not change it.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    weight : ndarray of shape (n,) or None
    options : FitOptions
        Options of the fits; the penalty is ignored, and what is "auto" in scaling and form is
        open.
    selection : SelectionOptions
    sizes : ndarray of shape (n,) or None
        Sizes of the rows, where they have some: X is per unit of them then, and they are factors of
        the weights.
    """
    criterion, rule = selection.make_criterion(), selection.make_rule()
    lams, n_lams = selection.penalties(), check_integer("n_lams", selection.n_lams, least=1)
    group, distinct = distinct_groups(X, weight)
    criterion = criterion.for_rows(X, weight)
    if weight is not None and not weight.all():
        sizes = None if sizes is None else sizes[weight > 0]
        X, weight, group = X[weight > 0], weight[weight > 0], group[weight > 0]
    if options.families is not None:
        criterion = criterion.for_families(options.families, sizes)
    enough = criterion.has_enough_rows(group, distinct, options.n_clusters)
    total = float(len(X) if weight is None else weight.sum())
    complete = not np.isnan(X).any() and options.families is None
    if options.weights != "common":
        _check_criterion(criterion, options.weights)
    open_families = families(
        options.scale,
        options.dispersion,
        total,
        X.shape[1],
        complete=complete,
        weights=options.weights if complete else "common",
    )
    entries = make_candidates(
        X, weight, open_families, lams, n_lams, options.prior, options.families
    )
    if not enough:
        middle = entries[(len(entries) // len(open_families)) // 2]
        warnings.warn(
            f"{counted(distinct, 'distinct row')}: too few to choose a penalty for "
            f"k={options.n_clusters}; lam={short(middle.lam)} is the middle of the grid, not a "
            "choice; give lam, or ask for fewer clusters or folds",
            UserWarning,
            stacklevel=5,
        )
        return SelectionOutcome(
            entries, Decision(middle, None, middle, middle), criterion, rule, total
        )
    complete = score_candidates(
        X,
        weight,
        entries,
        criterion,
        options,
        np.random.default_rng(_SEED),
        n_jobs=options.n_jobs,
        progress=options.progress,
    )
    if not complete:
        if not selection.partial:
            raise KeyboardInterrupt
        finished = max(len(entry.scores) for entry in entries)
        warnings.warn(
            f"selection interrupted: {counted(finished, 'replicate')} finished, which decide; the "
            "fit to all rows follows",
            UserWarning,
            stacklevel=5,
        )
    if has_wide_shape(*X.shape) and any(len(entry.partitions) > 1 for entry in entries):
        rule = rule.for_wide()
    nothing = 0.0 if criterion.over_one_cluster else -math.inf
    guard = Guard(criterion.least_stability, nothing)
    decision, advantage = decide(entries, rule, guard), None
    if options.weights == "auto" and complete and isinstance(criterion, Predictive):
        again = criterion.replicates(X, weight, np.random.default_rng(_SEED))
        decision, advantage = _decide_weights(entries, rule, again, guard)
        kept = decision.chosen.family.weights
        entries = [entry for entry in entries if entry.family.weights == kept]
    family = decision.chosen.family
    if family.weights == "cluster":
        rule = rule.for_clusters()
    rows = array_engine(X, weight, family.scale, options.prior, options.families)
    found = _warm_starts(rows, decision.chosen, options.n_clusters)
    nested = nested_scores(competing(entries, guard))
    evidence, separation = None, None
    if criterion.over_one_cluster and options.n_clusters > 1:
        # of clusters of one scatter: with scatters of their own heavy tails look like clusters
        shared = [_of_one_scatter(score) for score in nested]
        by_column = options.families is not None
        evidence = Evidence(*corrected_mean(shared), options.n_clusters, by_column)
        if advantage is not None:
            nested = shared
        if selection.separation and isinstance(criterion, Predictive):
            again = criterion.replicates(X, weight, np.random.default_rng(_SEED))
            separation = least_separated(again, nested)
    return SelectionOutcome(
        entries,
        decision,
        criterion,
        rule,
        total,
        complete,
        found,
        nested,
        evidence,
        separation,
        advantage,
    )


def _check_criterion(criterion: Criterion, weights: str) -> None:
    """Check that a criterion does not depend on one metric for all clusters."""
    if criterion.name == "gap":
        raise ValueError(
            f'criterion="gap" compares dispersions in one metric for all clusters, which weights='
            f'{weights!r} has not: use criterion="predictive"'
        )


def _of_one_scatter(score: Score) -> Score:
    """Return a score by the model in which all clusters have one scatter."""
    if score.shared is None:
        return score
    held_out = np.isfinite(score.shared)
    copies = None if score.copies is None else score.copies[held_out]
    value = float(np.average(score.shared[held_out], weights=copies))
    return dataclasses.replace(score, value=value, rows=score.shared)


def _decide_weights(
    entries: list[Candidate], rule: SelectionRule, replicates: list[HeldOut], guard: Guard
) -> tuple[Decision, Advantage | None]:
    """Choose among common weights, among weights of every cluster, and then between the two.

    Clusters have weights of their own if their partition is worth no less to held-out rows than
    that of common weights, and a good part of what it is worth lies in variances of its clusters
    that differ, see `ewp.selection.cluster_density`.
    """
    common, own = (
        decide([entry for entry in entries if entry.family.weights == weights], rule, guard)
        for weights in ("common", "cluster")
    )
    shape = len(replicates), len(replicates[0].described)
    more, excess, whole = (np.full(shape, np.nan) for _ in range(3))
    scores = zip(common.chosen.scores, own.chosen.scores, strict=True)
    for i, (held_out, pair) in enumerate(zip(replicates, scores, strict=False)):
        train, test = held_out.fold
        density = held_out.own_density()
        one, two = (np.asarray(score.labels)[train] for score in pair)
        whole[i, test] = density.judge(two).gain
        more[i, test] = whole[i, test] - density.judge(one).gain
        excess[i, test] = density.excess(two)
    copies = replicates[0].copies
    found: list[float] = []
    for rows in (more, excess, whole):
        seen = np.isfinite(rows).any(axis=0)
        mean = np.nanmean(rows[:, seen], axis=0)
        found += mean_and_error(mean, None if copies is None else copies[seen])
    advantage = Advantage(*found[:5])
    return (own if advantage.clear else common), advantage


def _describe_observed(engine: ArrayEngine, labels: np.ndarray, mass: Array, k: int) -> WarmStart:
    """Describe a partition by the observed values."""
    p, columns = engine.p, engine.missingness.columns
    marked = engine.marked_rows(slice(None))
    sums = hard_sums(labels, k, mass, marked)
    seen = np.repeat(np.bincount(labels, mass, k)[:, None], p, axis=1)
    seen[:, columns] = sums[:, p:]
    theta = np.divide(sums[:, :p], seen, out=np.zeros((k, p)), where=seen > 0)
    dispersion = mass @ marked[:, :p] ** 2 - (seen * theta**2).sum(axis=0)
    return WarmStart(engine.to_data_units(theta), np.maximum(dispersion, 0.0) * engine.scale**2)


def _warm_starts(engine: ArrayEngine, chosen: Candidate, k: int) -> list[WarmStart]:
    """Describe the partitions that the replicates of a candidate gave to all rows."""
    X = engine.X
    mass = np.ones(len(X)) if engine.sample_weight is None else engine.sample_weight
    found, by_cluster = [], chosen.family.weights == "cluster"
    for labels in chosen.partitions[:_MOST_WARM_STARTS]:
        size = np.bincount(labels, mass, k)
        if len(size) > k or not size.all():
            continue
        if engine.missingness:
            found.append(_describe_observed(engine, labels, mass, k))
            continue
        centroids = hard_sums(labels, k, mass, X) / size[:, None]
        dispersion = np.zeros(X.shape[1])
        each = np.zeros_like(centroids)
        for start in range(0, len(X), _ROWS):
            rows = slice(start, start + _ROWS)
            own = engine.divergence.exact(X[rows], centroids[labels[rows]])
            dispersion += mass[rows] @ own
            if by_cluster:
                each += hard_sums(labels[rows], k, mass[rows], own)
        if isinstance(engine, BregmanEngine):
            dispersion *= engine.dispersion_divisors
        if engine.decorrelation is not None:
            centroids = engine.decorrelation.invert(centroids)
        variances = each / size[:, None] if by_cluster else None
        found.append(WarmStart(centroids, dispersion, variances))
    return found
