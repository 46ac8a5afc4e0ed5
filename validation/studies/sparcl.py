"""sparcl's recorded outputs beside native sparse k-means and, where there is R, sparcl itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ewp.peers.sparcl import sparse_gap, sparse_path
from validation import recordings
from validation.cells import Cell, Store
from validation.page import Section, Table, Verdict

__all__ = ["agreement_section", "live", "native", "sparcl_cells"]


def sparcl_cells() -> list[Cell]:
    """Recorded outputs of sparcl beside native and live ones."""
    return [
        Cell(
            f"sparcl.{kind}",
            {"case": case},
            rank=0,
            chooses=False,
            needs_sparcl=kind == "live",
        )
        for kind in ("native", "live")
        for case in recordings.cases()
    ]


def _difference(weights: Any, labels: Any, recorded: dict[str, Any]) -> tuple[float, bool]:
    gap = float(np.abs(np.asarray(weights) - recorded["weights"]).max())
    return gap, recordings.same_partition(labels, recorded["labels"])


def native(case: str) -> dict[str, Any]:
    """Fits and permutation gaps of the native sparse k-means against those recorded."""
    X = recordings.data(case)
    found, gaps = [], []
    for name in recordings.cases()[case]["starts"]:
        start = recordings.start(case, name)
        for recorded in start["single"]:
            (fit,) = sparse_path(X, start["centers"], [recorded["bound"]])
            found.append(_difference(fit.weights, fit.labels, recorded))
        if "error" not in start["gap"]:
            orders = np.array(recordings.cases()[case]["permutations"])
            gap = sparse_gap(X, start["centers"], start["gap"]["bounds"], permutations=orders)
            gaps.append(float(np.abs(gap.gaps - start["gap"]["gaps"]).max()))
    return {
        "n": len(X),
        "p": X.shape[1],
        "k": recordings.cases()[case]["k"],
        "fits": len(found),
        "same": sum(same for _, same in found),
        "weights": max(gap for gap, _ in found),
        "gaps": len(gaps),
        "gap": max(gaps, default=0.0),
    }


def live(case: str) -> dict[str, Any]:
    """Fits of the sparcl that is installed against those recorded."""
    from r_bridge import sparcl

    X = recordings.data(case)
    found = []
    for name in recordings.cases()[case]["starts"]:
        start = recordings.start(case, name)
        for recorded in start["single"]:
            fit = sparcl.kmeans_sparse_cluster(
                X, centers=start["centers"], wbounds=recorded["bound"], seed=1
            )[0]
            found.append(_difference(fit.weights, fit.labels, recorded))
    return {
        "fits": len(found),
        "same": sum(same for _, same in found),
        "weights": max(gap for gap, _ in found),
    }


def agreement_section(store: Store) -> Section | None:
    """Native sparse k-means and the installed sparcl against sparcl's recorded outputs."""
    kept = {
        (cell.task, cell.inputs["case"]): value for cell, value in store.finished(sparcl_cells())
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
        text += (
            f" sparcl itself, run anew beside R, repeats {live} of its own "
            f"{sum(one['fits'] for one in lives)} recorded fits."
        )
    return Section(
        "sparcl: native against recorded and live outputs",
        Verdict("holds" if same == fits and worst < 1e-9 else "does not hold", text),
        [
            Table(
                pd.DataFrame(rows),
                "sparcl 1.0.4 under R 4.2.2, recorded from given centroids at several bounds. "
                "“Native”: how many fits of this package have sparcl's partition, and the largest "
                "difference of a weight; “gaps”: how many permutation gaps were recorded, and the "
                "largest difference; “live”: the same of sparcl, run anew",
            )
        ],
    )
