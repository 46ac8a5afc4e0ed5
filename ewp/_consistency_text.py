"""Consistency in words and a table: slopes, the verdict, the annealing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ewp._diagnostic_text import INTERRUPTED, render

if TYPE_CHECKING:
    from ewp._summary import EWPSummary
    from ewp.consistency import ConsistencyResults

__all__ = ["summarise_consistency"]

_ROUNDING = 1e-7
_WORDS = {"weights": "weights (l1)", "centroids": "centroids (w-norm)"}


def summarise_consistency(found: ConsistencyResults) -> EWPSummary:
    """Errors by size, slopes and the verdict."""
    table = found.table
    shown = pd.DataFrame(index=[f"n = {n}" for n in table.index])
    headings = {
        "weights": "weights",
        "effective_features": "exp-entropy",
        "centroids": "centroids",
        "objective_per_row": "objective/n",
        "ari": "ARI",
    }
    for name, heading in headings.items():
        pairs = zip(table[name], table[f"{name}_sd"], strict=True)
        shown[heading] = [
            f"{mean:.3g}" + ("" if np.isnan(spread) else f" ({_spread(mean, spread)})")
            for mean, spread in pairs
        ]
    title = f"Consistency: distance from the {found.reference} as n grows"
    return render(title, shown, _consistency_notes(found))


def _spread(mean: float, spread: float) -> str:
    """Standard deviation to one digit, 0 if of rounding errors: all rows are one sample."""
    return f"{float(f'{spread:.1g}'):g}" if spread > _ROUNDING * (abs(mean) + _ROUNDING) else "0"


def _consistency_notes(found: ConsistencyResults) -> Iterable[str]:
    count = found.replicates["replicate"].nunique()
    yield f"Means over {count} nested subsamples, standard deviations in brackets."
    for name, words in _WORDS.items():
        ends = found.slopes.loc[[name], ["slope", "lower", "upper"]].to_numpy(dtype=float)
        slope, lower, upper = ends[0].tolist()
        if slope == -np.inf:
            yield f"{words}: no error at any n."
            continue
        interval = f" [{lower:.2f}, {upper:.2f}]" if np.isfinite(lower) else ""
        yield f"{words}: log-log slope {slope:.2f}{interval}, {_rate_words(lower, upper)}."
    sizes = found.replicates["n"]
    reach = f"between {sizes.min()} and {sizes.max()} rows"
    yield {
        "seen": f"Consistency is seen {reach}: weights and centroids approach the "
        f"{found.reference}.",
        "exact": f"Consistency is seen {reach}: there is no error at all.",
        "not seen": f"CONSISTENCY IS NOT SEEN {reach}: the estimates do not approach the "
        f"{found.reference}. There may be no unique best solution, for instance because "
        "the number of clusters is too large, or the rows are too few to find it.",
        "undecided": f"Whether there is consistency cannot be told {reach}: more replicates or a "
        "wider range of sizes would help.",
    }[found.verdict]
    if found.reference == "full fit":
        yield (
            "Slopes are of root mean squares in 1/(1/n - 1/N), which allows for the rows that "
            f"subsamples share with the full fit of N = {found.n_obs}."
        )
    path = found.along_s
    soft = path[np.isfinite(path["s"])]
    if len(soft) > 1:
        first, last = soft.iloc[0], soft.iloc[-1]
        yield (
            f"Along s, from {first['s']:.3g} to {last['s']:.3g}: f_s - f_-inf falls from "
            f"{first['gap']:.3g} to {last['gap']:.3g}, the weights come from within "
            f"{min(first['weights'], 2.0):.2g} to within {last['weights']:.2g} (l1) of their limit."
        )
    if not found.complete:
        yield INTERRUPTED


def _rate_words(lower: float, upper: float) -> str:
    if not np.isfinite(lower):
        return "without an interval"
    if lower <= -0.5 <= upper:
        return "the theorem's -1/2 is inside" + (", and so is 0" if upper >= 0 else "")
    if upper < -0.5:
        return "steeper than -1/2"
    return "flatter than -1/2" + (" and not different from 0" if upper >= 0 >= lower else "")
