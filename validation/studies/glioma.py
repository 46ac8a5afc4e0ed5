"""The paper's case study: GLIOMA, 50 tumours and 4434 genes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import ewp
from ewp.comparison.plots import plot_partitions
from validation.cells import Cell, Store
from validation.data import SEED, available, load
from validation.page import Picture, Section, Table, Verdict
from validation.published import PAPER, is_reached
from validation.same_starts import choose_default, draw_starts, gap_bound, tuned_default
from validation.studies.figures import panels_of
from validation.studies.hindsight import best_of_paths
from validation.studies.peer_tables import table3
from validation.studies.real_sets import PEERS, real_cells
from validation.summaries import TITLES, mean_sd, scores_of

__all__ = ["glioma_cells", "glioma_section", "partitions"]


def glioma_cells() -> list[Cell]:
    """Partitions of one trial, where the data are at hand."""
    if "GLIOMA" not in available():
        return []
    data = available()["GLIOMA"]
    return [Cell("glioma.partitions", {"name": "GLIOMA", "data": data}, rank=3)]


def partitions(name: str, data: str) -> dict[str, Any]:
    """Partitions of one trial on raw features by five methods, for a picture."""
    X, y, k = load(name)
    found = ewp.compare(
        X,
        k,
        y,
        methods=("kmeans", "wkmeans", "power", "sparse", tuned_default(choose_default(X, k, SEED))),
        n_trials=1,
        scale=None,
        init=draw_starts(X, k, 1, SEED),
        wbound=gap_bound(X, k, None, SEED, permutations=3, bounds=8),
        random_state=SEED,
    )
    return {
        "labels": {name: frame.iloc[0].tolist() for name, frame in found.labels.items()},
        "nmi": found.scores.set_index("method")["nmi"].to_dict(),
    }


def glioma_section(store: Store) -> Section | None:
    """The case study: 50 tumours, 4434 genes."""
    kept = store.finished(glioma_cells())
    if not kept:
        return None
    ((_, found),) = kept
    X, y, _ = load("GLIOMA")
    figure = plot_partitions(X, panels_of(found, y))[0].figure
    scores, best = scores_of(store, real_cells()), best_of_paths(store)
    part = scores[scores["name"] == "GLIOMA"] if len(scores) else scores
    rows = []
    for name in ("ewp, same rows", "ewp-published", *PEERS):
        for scaling, group in part[part["method"] == name].groupby("scaling"):
            rows.append((TITLES[name], scaling, mean_sd(group["nmi"]), mean_sd(group["ari"])))
    table = pd.DataFrame(rows, columns=["method", "features", "NMI", "ARI"])
    top = best.loc[best["name"] == "GLIOMA", "nmi"].max()
    beside = table3(store, part)
    means = part[part["method"].isin(["ewp, same rows", "ewp-published", *PEERS])]
    levels = means.groupby(["method", "scaling"])["nmi"].mean()
    low, high = levels.min(), levels.max()
    kind = "open" if np.isnan(top) else "holds" if is_reached("GLIOMA", top) else "does not hold"
    where = "in our runs: " if kind == "does not hold" else ""
    reached = "is not computed yet" if np.isnan(top) else f"is {top:.3f}, λ chosen in hindsight"
    return Section(
        "Table 3: GLIOMA",
        Verdict(
            kind,
            f"{where}the paper has NMI {PAPER['GLIOMA']:.3f} for EWP; the best mean over 20 "
            f"starts or seeds {reached}. Without labels the means of all methods lie between "
            f"{low:.2f} and {high:.2f}, EWP's from the same rows at "
            f"{levels['ewp, same rows'].max():.2f}.",
        ),
        [
            "50 tumours of four kinds, 4434 genes.",
            *([beside] if beside is not None else []),
            Table(table, "NMI and adjusted Rand index (ARI), mean (sd) over 20 trials", 2),
            Picture.of(
                "glioma",
                "GLIOMA, raw features, one trial. Clusters have the colour of the class with which "
                "they overlap most.",
                figure,
            ),
        ],
    )
