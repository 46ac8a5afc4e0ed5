"""The rule that picks one of the scored candidates: a function of their scores and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ewp.candidates import Candidate, Family
from ewp.racing import EQUAL, is_close

__all__ = ["RULES", "Decision", "Rule", "decide"]


@dataclass(frozen=True)
class Rule:
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
    """

    name: str
    slack: float
    equal: float
    stable: bool

    def words(self, made: Decision) -> str:
        """Say by what rule a candidate was chosen."""
        if not self.slack:
            return "the best"
        what = "the most stable" if self.asks_stability(made.chosen) else "the largest penalty"
        steps = ((made.chosen, made.top), (made.top, made.best))
        by_error = all(a is b or is_close(a, b, self.slack, 0.0) for a, b in steps)
        limit = f"{self.slack:g} SE" if by_error else f"{self.equal:.2%}"
        return f"{what} within {limit} of the best"

    def allows(self, entry: Candidate, best: Candidate) -> bool:
        """Whether a candidate scores about as well as the best."""
        return is_close(entry, best, self.slack, self.equal)

    def asks_stability(self, entry: Candidate) -> bool:
        """Whether the stability of a candidate decides."""
        return self.stable and len(entry.partitions) > 1


RULES = {
    rule.name: rule
    for rule in (
        Rule("stable", 0.5, EQUAL, True),
        Rule("1se", 1.0, 0.0, False),
        Rule("max", 0.0, 0.0, False),
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


def decide(entries: list[Candidate], rule: Rule) -> Decision:
    """Choose a candidate and the runner-up.

    The best mean sets the standard. A family whose best is within the rule's slack is as good,
    and the one that units cannot change comes first. In that family the rule picks among the
    penalties within its slack. Standard errors are those of the differences between two
    candidates, see `ewp.racing.compare`.

    Parameters
    ----------
    entries : list of Candidate
        Scored candidates; only those with all replicates compete.
    rule : Rule
    """
    complete = max(len(entry.scores) for entry in entries)
    racing = [entry for entry in entries if len(entry.scores) == complete]
    best = max(racing, key=lambda entry: (entry.mean, entry.lam))
    of_family: dict[Family, Candidate] = {}
    for entry in racing:
        champion = of_family.get(entry.family)
        if champion is None or (entry.mean, entry.lam) > (champion.mean, champion.lam):
            of_family[entry.family] = entry
    equals = [entry for entry in of_family.values() if rule.allows(entry, best)]
    top = min(equals, key=lambda entry: entry.family.rank)

    def preference(entry: Candidate) -> tuple[float, ...]:
        if not rule.asks_stability(entry):
            return (entry.lam,)
        return (round(entry.stability, 2), -round(entry.mismatch, 2), entry.lam)

    rivals = [entry for entry in racing if entry.family == top.family]
    chosen = max((entry for entry in rivals if rule.allows(entry, top)), key=preference)
    others = [entry for family, entry in of_family.items() if family != chosen.family]
    if not others:
        others = [entry for entry in racing if entry is not chosen]
    runner_up = max(others, key=lambda entry: entry.mean) if others else None
    return Decision(chosen, runner_up, best, top)
