"""The rule that picks one of the scored candidates: a function of their scores and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ewp.candidates import NOTHING, Candidate, Family, compare

__all__ = ["RULES", "Rule", "decide"]


def _is_close(one: Candidate, best: Candidate, slack: float) -> bool:
    """Whether a candidate is within `slack` standard errors of the difference to the best."""
    lead, error = compare(best, one)
    return lead <= slack * error + NOTHING


@dataclass(frozen=True)
class Rule:
    """Which of the candidates that score about as well as the best is taken.

    Attributes
    ----------
    name : str
    slack : float
        Standard errors of the difference by which a candidate may fall short of the best.
    stable : bool
        Take the most stable one and, among equally stable ones, the one whose effective number
        of features is closest to the number of features in which its clusters differ; otherwise
        the one with the largest penalty.
    """

    name: str
    slack: float
    stable: bool

    @property
    def words(self) -> str:
        """The rule as a phrase."""
        if not self.slack:
            return "the best"
        what = "the most stable" if self.stable else "the largest penalty"
        return f"{what} within {self.slack:g} SE of the best"


RULES = {
    rule.name: rule
    for rule in (Rule("stable", 0.5, True), Rule("1se", 1.0, False), Rule("max", 0.0, False))
}


def decide(entries: list[Candidate], rule: Rule) -> tuple[Candidate, Candidate | None]:
    """Choose a candidate and the runner-up.

    The best mean sets the standard. A family whose best is within the rule's slack is as good,
    and the one that units cannot change comes first. In that family the rule picks among the
    penalties within its slack. Standard errors are those of the differences between two
    candidates, see `compare`.

    Parameters
    ----------
    entries : list of Candidate
        Scored candidates; only those with all replicates compete.
    rule : Rule

    Returns
    -------
    chosen : Candidate
    runner_up : Candidate or None
        The best of the other families, or the next best penalty if there is one family only.
    """
    complete = max(len(entry.scores) for entry in entries)
    racing = [entry for entry in entries if len(entry.scores) == complete]
    best = max(racing, key=lambda entry: (entry.mean, entry.lam))
    of_family: dict[Family, Candidate] = {}
    for entry in racing:
        champion = of_family.get(entry.family)
        if champion is None or (entry.mean, entry.lam) > (champion.mean, champion.lam):
            of_family[entry.family] = entry
    equals = [entry for entry in of_family.values() if _is_close(entry, best, rule.slack)]
    top = min(equals, key=lambda entry: entry.family.rank)

    def preference(entry: Candidate) -> tuple[float, ...]:
        if not rule.stable or not np.isfinite(entry.stability):
            return (entry.lam,)
        return (round(entry.stability, 2), -round(entry.mismatch, 2), entry.lam)

    rivals = [entry for entry in racing if entry.family == top.family]
    chosen = max((entry for entry in rivals if _is_close(entry, top, rule.slack)), key=preference)
    others = [entry for family, entry in of_family.items() if family != chosen.family]
    if not others:
        others = [entry for entry in racing if entry is not chosen]
    runner_up = max(others, key=lambda entry: entry.mean) if others else None
    return chosen, runner_up
