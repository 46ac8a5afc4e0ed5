"""What the report shows of the contest where the number of clusters is chosen, too."""

from __future__ import annotations

import pandas as pd

from validation.cells import Store
from validation.contest import registry
from validation.contest.contestants import DEFAULT, NUMBERS
from validation.page import Section, Table, Verdict
from validation.studies.contest import number_cells

__all__ = ["numbers_section"]


def _percent(share: pd.Series) -> pd.Series:
    return (100 * share).map("{:.0f}".format)


def numbers_section(store: Store) -> Section | None:
    """The number of clusters chosen, and what the partitions are then worth."""
    rows = []
    for cell, value in store.finished(number_cells()):
        for method, found in value.items():
            rows.append({"name": cell.inputs["name"], "method": method, **found})
    if not rows:
        return None
    found = pd.DataFrame(rows).astype({"nmi": float, "ari": float})
    hashes = registry.at_hand()
    counts = {
        name: int(registry.fetch(name, hashes[name])[1].max()) + 1
        for name in found["name"].unique()
    }
    found["off"] = found["k"] - found["name"].map(counts)
    whole = found.groupby("name")["method"].transform("nunique") == found["method"].nunique()
    kept = found[whole]
    if kept.empty or kept["method"].nunique() < 2:
        return None
    groups = kept.groupby("method")
    right = groups["off"].agg(lambda off: (off == 0).mean())
    near = groups["off"].agg(lambda off: (off.abs() <= 1).mean())
    single = groups["k"].agg(lambda k: (k == 1).mean())
    by_ari, by_nmi = groups["ari"].mean(), groups["nmi"].mean()
    table = pd.DataFrame(
        {
            "mean NMI": by_nmi.map("{:.3f}".format),
            "mean ARI": by_ari.map("{:.3f}".format),
            "right k, %": _percent(right),
            "within one, %": _percent(near),
            "k = 1, %": _percent(single),
            "mean k": groups["k"].mean().map("{:.1f}".format),
            "median s": groups["seconds"].median().map("{:.1f}".format),
        }
    )
    others = _percent(right.drop(DEFAULT).sort_values())
    places = {
        name: int((by > by[DEFAULT]).sum()) + 1 for name, by in (("NMI", by_nmi), ("ARI", by_ari))
    }
    every = kept.pivot_table("k", "name", "method", sort=False).astype(int).astype(str)
    every.insert(0, "classes", [str(counts[name]) for name in every.index])
    done, planned = kept["name"].nunique(), len({one.inputs["name"] for one in number_cells()})
    sets = f"{done} real sets" if done == planned else f"{done} of {planned} real sets so far"
    return Section(
        "The contest with chosen numbers of clusters",
        Verdict(
            "new",
            f"on {sets} `select_k` takes the number of classes on "
            f"{_percent(right)[DEFAULT]} % (the others on {others.iloc[0]} to {others.iloc[-1]} "
            f"%). Of {len(table)} methods it is number {places['NMI']} by mean NMI "
            f"({by_nmi[DEFAULT]:.3f}, the best other {by_nmi.drop(DEFAULT).max():.3f}) and number "
            f"{places['ARI']} by mean ARI ({by_ari[DEFAULT]:.3f}, the best other "
            f"{by_ari.drop(DEFAULT).max():.3f}). On {_percent(single)[DEFAULT]} % it finds no "
            "evidence for clusters: then k = 1, and NMI and ARI are 0.",
        ),
        [
            Table(
                table.sort_values("mean NMI", ascending=False).reset_index(),
                f"k among {NUMBERS[0]} to {NUMBERS[-1]}, on sets of at most {NUMBERS[-1]} classes "
                "and 500 features: `ewp.select_k`; k-means with the largest silhouette (2 to 9); "
                "mixtures with full covariances and mclust by BIC. “Within one” counts numbers "
                "that are right or off by one",
            ),
            Table(
                every.rename_axis("data").reset_index(),
                "The chosen numbers of clusters beside the number of classes. Classes are what "
                "somebody has named; there need not be as many clusters, but the measure is the "
                "same for all methods",
            ),
        ],
    )
