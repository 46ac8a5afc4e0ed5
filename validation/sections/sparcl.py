"""sparcl: recorded, native and live."""

from __future__ import annotations

import pandas as pd

from validation import plan
from validation.cells import Store
from validation.page import Section, Table, Verdict

__all__ = ["agreement"]


def agreement(store: Store) -> Section | None:
    """Native sparse k-means and the installed sparcl against sparcl's recorded outputs."""
    kept = {
        (cell.task, cell.inputs["case"]): value for cell, value in store.finished(plan.sparcl())
    }
    cases = [case for task, case in kept if task == "sparcl.native"]
    if not cases:
        return None
    rows = []
    for case in cases:
        own, live = kept["sparcl.native", case], kept.get(("sparcl.live", case))
        rows.append(
            {
                "case": case,
                "n, p, k": f"{own['n']}, {own['p']}, {own['k']}",
                "fits": str(own["fits"]),
                "native: same": str(own["same"]),
                "weights": f"{own['weights']:.0e}",
                "gaps": str(own["gaps"]),
                "differ by": f"{own['gap']:.0e}" if own["gaps"] else "–",
                "live: same": str(live["same"]) if live else "–",
                "live weights": f"{live['weights']:.0e}" if live else "–",
            }
        )
    fits = sum(kept["sparcl.native", case]["fits"] for case in cases)
    same = sum(kept["sparcl.native", case]["same"] for case in cases)
    worst = max(kept["sparcl.native", case]["weights"] for case in cases)
    lives = [value for (task, _), value in kept.items() if task == "sparcl.live"]
    live = sum(one["same"] for one in lives)
    text = (
        f"native sparse k-means has sparcl's partition in {same} of {fits} recorded fits, and its "
    )
    text += f"weights to {worst:.0e}."
    if lives:
        text += f" The installed sparcl repeats {live} of {sum(one['fits'] for one in lives)}."
    return Section(
        "sparcl: native against recorded and live outputs",
        Verdict("holds" if same == fits and worst < 1e-9 else "does not hold", text),
        [
            Table(
                pd.DataFrame(rows),
                "sparcl 1.0.4 under R 4.2.2, recorded from given centroids at several bounds; "
                "how many fits have the same partition, and the largest differences of the "
                "weights and of the permutation gaps",
            )
        ],
    )
