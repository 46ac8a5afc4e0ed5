"""Which of the scored candidates is taken: rules of the scores and of nothing else.

The best mean sets the standard, and a rule says which of those that score about as well is taken:
the most stable, or the largest penalty. Candidates on whose partitions replicates do not agree do
not compete. How candidates are scored is in `ewp.selection.search`.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import NamedTuple

from ewp.display.formatting import short
from ewp.selection.base import LEAST_STABILITY
from ewp.selection.search import MIN_LEAD, Candidate, Family, within_tolerance

__all__ = ["SELECTION_RULES", "Decision", "Guard", "SelectionRule", "competing", "decide"]

#: Where features outnumber rows by far: standard errors by which a candidate may fall short of the
#: best, and its stability of the largest.
_WIDE_SLACK, _WIDE_CLOSE = 1.5, 0.02
#: Part of the best score by which a penalty of weights of every cluster may fall short.
_CLUSTER_EQUAL = 2e-3


@dataclass(frozen=True)
class SelectionRule:
    """Which of the candidates that score about as well as the best is taken.

    Attributes
    ----------
    name : str
    slack : float
        Standard errors of the difference by which a candidate may fall short of the best.
    equal : float
        Part of the best score by which it may fall short in any case.
    stable : bool
        Take the most stable one and, among equally stable ones, the one whose effective number
        of features is closest to the number of features in which its clusters differ; otherwise,
        and where replicates have no partitions of all rows to compare, the one with the largest
        penalty.
    close : float or None
        Take the one whose effective number of features is closest in any case, unless its
        stability is lower than the largest by more than this.
    family_slack : float or None
        Standard errors by which the best of a family may fall short of the best of all, `slack`
        if not given.
    decimals : int
        Of the difference of effective numbers, as logarithms, that count; if these are equal the
        largest penalty is taken.
    """

    name: str
    slack: float
    equal: float
    stable: bool
    close: float | None = None
    family_slack: float | None = None
    decimals: int = 2

    def for_clusters(self) -> SelectionRule:
        """Return the rule among penalties of weights of every cluster: rather a large one.

        At small ones slices of one feature may have a lower objective than clusters, in all rows if
        not in the replicates.
        """
        if not self.stable:
            return self
        return dataclasses.replace(
            self,
            equal=max(self.equal, _CLUSTER_EQUAL),
            close=_WIDE_CLOSE,
            family_slack=self.slack,
            decimals=1,
        )

    def for_wide(self) -> SelectionRule:
        """Return the rule where features outnumber rows by far: weights should tell them apart.

        A single row that changes sides makes a difference of one standard error there.
        """
        if not self.stable:
            return self
        return dataclasses.replace(
            self, slack=_WIDE_SLACK, close=_WIDE_CLOSE, family_slack=self.slack
        )

    def words(self, made: Decision) -> str:
        """Say by what rule a candidate was chosen."""
        if not self.slack:
            return "the best"
        what = "the most stable" if self.asks_stability(made.chosen) else "the largest penalty"
        if self.close is not None and self.asks_stability(made.chosen):
            what = "the weights that fit the significant features best, among the stable"
        steps = ((made.chosen, made.top), (made.top, made.best))
        by_error = all(a is b or within_tolerance(a, b, self.slack, 0.0) for a, b in steps)
        unit = "standard error" if self.slack == 1 else "standard errors"
        error = f"{short(self.slack)} {unit} of the difference to"
        return f"{what} of those within {error if by_error else f'{self.equal:.2%} of'} the best"

    def allows(self, entry: Candidate, best: Candidate) -> bool:
        """Whether a candidate scores about as well as the best."""
        return within_tolerance(entry, best, self.slack, self.equal)

    def allows_family(self, top: Candidate, best: Candidate) -> bool:
        """Whether the best candidate of a family scores about as well as the best of all."""
        slack = self.slack if self.family_slack is None else self.family_slack
        return within_tolerance(top, best, slack, self.equal)

    def asks_stability(self, entry: Candidate) -> bool:
        """Whether the stability of a candidate decides."""
        return self.stable and len(entry.partitions) > 1


SELECTION_RULES = {
    rule.name: rule
    for rule in (
        SelectionRule("stable", 0.5, MIN_LEAD, True),
        SelectionRule("1se", 1.0, 0.0, False),
        SelectionRule("max", 0.0, 0.0, False),
    )
}


class Decision(NamedTuple):
    """What was chosen, and against what.

    Attributes
    ----------
    chosen : Candidate
    runner_up : Candidate or None
        The best of the other families, or the next best penalty if there is one family only.
    best : Candidate
        The best mean of all.
    top : Candidate
        The best mean of the chosen family.
    """

    chosen: Candidate
    runner_up: Candidate | None
    best: Candidate
    top: Candidate


class Guard(NamedTuple):
    """What keeps candidates from competing whose replicates find different answers.

    Attributes
    ----------
    least : float
        Agreement below which the partitions of the replicates have little in common.
    nothing : float
        Score of a partition that is worth nothing, where scores tell.
    """

    least: float = LEAST_STABILITY
    nothing: float = -math.inf


def competing(entries: list[Candidate], guard: Guard) -> list[Candidate]:
    """Candidates with all replicates, whose partitions agree.

    Where replicates find partitions that have little in common, what they gain is no single
    answer. All compete if all are such, and if these gain something where the others, on which
    replicates agree, gain nothing.

    Parameters
    ----------
    entries : list of Candidate
        Scored candidates.
    guard : Guard
    """
    complete = max(len(entry.scores) for entry in entries)
    scored = [entry for entry in entries if len(entry.scores) == complete]
    agreed = [entry for entry in scored if not entry.stability < guard.least]

    def gains(some: list[Candidate]) -> bool:
        return any(entry.mean > guard.nothing for entry in some)

    return agreed if agreed and gains(agreed) >= gains(scored) else scored


def decide(entries: list[Candidate], rule: SelectionRule, guard: Guard | None = None) -> Decision:
    """Choose a candidate and the runner-up.

    Of those that compete the best mean sets the standard. A family whose best is within the rule's
    slack is as good, and the one that units cannot change comes first. In that family the rule
    picks among the penalties within its slack. Standard errors are those of the differences
    between two candidates, see `ewp.selection.search.paired_difference`.

    Parameters
    ----------
    entries : list of Candidate
        Scored candidates.
    rule : SelectionRule
    guard : Guard, optional
        That of scores which do not tell what is worth nothing, if not given.
    """
    racing = competing(entries, guard or Guard())
    best = max(racing, key=lambda entry: (entry.mean, entry.lam))
    of_family: dict[Family, Candidate] = {}
    for entry in racing:
        champion = of_family.get(entry.family)
        if champion is None or (entry.mean, entry.lam) > (champion.mean, champion.lam):
            of_family[entry.family] = entry
    equals = [entry for entry in of_family.values() if rule.allows_family(entry, best)]
    top = min(equals, key=lambda entry: entry.family.rank)

    def preference(entry: Candidate) -> tuple[float, ...]:
        if not rule.asks_stability(entry):
            return (entry.lam,)
        mismatch = round(entry.mismatch, 2)
        return (round(entry.stability, 2), -mismatch, entry.lam)

    if top.family.weights == "cluster":
        rule = rule.for_clusters()
    rivals = [e for e in racing if e.family == top.family and rule.allows(e, top)]
    if rule.close is not None and rule.asks_stability(top):
        least = max(entry.stability for entry in rivals) - rule.close
        steady = [entry for entry in rivals if entry.stability >= least]
        chosen = max(steady, key=lambda entry: (-round(entry.mismatch, rule.decimals), entry.lam))
    else:
        chosen = max(rivals, key=preference)
    others = [entry for family, entry in of_family.items() if family != chosen.family]
    if not others:
        others = [entry for entry in racing if entry is not chosen]
    runner_up = max(others, key=lambda entry: entry.mean) if others else None
    return Decision(chosen, runner_up, best, top)
