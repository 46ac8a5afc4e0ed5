"""Which number of clusters: which ones compete, by how much the best leads, what is as good.

What is compared are nested scores, see `ewp.selection.nested`; what a user sees of it is in
`ewp.select`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ewp.display.evidence import NO_CLUSTERS
from ewp.selection.decision import SelectionOutcome
from ewp.selection.nested import overlap_factor
from ewp.selection.search import ROUNDING, Candidate, paired_difference

__all__ = ["competing_numbers", "lead_table", "smallest_as_good"]

#: Share of the mean gain per cluster that an additional cluster has to gain.
_WORTH = 0.2


def competing_numbers(outcomes: dict[int, SelectionOutcome]) -> tuple[list[int], str]:
    """Numbers of clusters that compete, and why there is one only, in words.

    Numbers above one compete if their clusters are separated, provided that held-out rows speak for
    more than one cluster at any number.
    """
    scored = [k for k in outcomes if outcomes[k].nested]
    if not scored:
        raise ValueError(
            f"X has too few distinct rows to score k = {', '.join(map(str, outcomes))}; try fewer "
            "clusters"
        )
    several = [k for k in scored if k > 1]
    judged = [outcomes[k].evidence for k in several]
    if scored[0] == 1 and several and not any(one is None or one.clear for one in judged):
        return [1], f"{NO_CLUSTERS} at any other number"
    gaps = {k: one for k in several if (one := outcomes[k].separation) is not None}
    apart = [k for k in scored if k not in gaps or gaps[k].clear]
    if apart == [1] and several:
        return apart, "at any other number there are clusters that are not separated"
    if not apart:
        best = max(gaps, key=lambda k: gaps[k].gain)
        return [best], "at no number all clusters are separated; here they are so best"
    return apart, ""


def lead_table(
    outcomes: dict[int, SelectionOutcome], competing: list[int]
) -> tuple[pd.DataFrame, int]:
    """Compare the numbers of clusters with the best of those that compete."""
    nested = {
        k: Candidate(one.chosen.family, one.chosen.lam, one.nested) for k, one in outcomes.items()
    }
    best = max(competing, key=lambda k: nested[k].mean)
    rows = []
    criterion = outcomes[best].criterion
    for k, outcome in outcomes.items():
        row = {
            "k": k,
            "scaling": outcome.chosen.family.scaling,
            "dispersion": outcome.chosen.family.dispersion,
            "lam": outcome.chosen.lam,
            "mean": nested[k].mean,
        }
        if outcome.nested:
            lead, error = paired_difference(nested[best], nested[k])
            if criterion.over_one_cluster:
                error *= overlap_factor(outcome.nested)
            row |= {"se": criterion.spread(outcome.nested), "lead": lead, "se_lead": error}
        if criterion.over_one_cluster:
            row["evidence"] = outcome.evidence is not None and outcome.evidence.clear
            apart = outcome.separation
            row["separation"] = np.nan if apart is None else apart.gain
        rows.append(row)
    return pd.DataFrame(rows), best


def smallest_as_good(table: pd.DataFrame, best: int, *, per_cluster: bool) -> tuple[int, str]:
    """Smallest number that is as good as the best, and why it is, in words.

    Parameters
    ----------
    table : DataFrame
        Of the numbers that compete.
    best : int
    per_cluster : bool
        Whether scores are gains over a single cluster, so that there is a mean gain per cluster.
    """
    within = table["lead"] <= table["se_lead"] + ROUNDING
    words = f"the smallest within one standard error of the difference to the best ({best})"
    close = within
    if per_cluster and best > 1:
        mean = table.set_index("k")["mean"]
        fewer = (best - table["k"]).clip(lower=0)
        worth = _WORTH * max(float(mean[best]), 0.0) / best
        close = within | ((table["lead"] <= worth * fewer) & (table["k"] > 1))
    chosen = int(table.loc[close, "k"].min())
    if not within[table["k"] == chosen].all():
        words = (
            f"the smallest to which the best ({best}) adds less per cluster than a fifth of what a "
            "cluster gains on average"
        )
    return chosen, words
