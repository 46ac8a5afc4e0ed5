"""Longer runs by programs of their own, whose outputs lie beside the committed report."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from validation.cells import Store
from validation.page import Picture, Section, Table, Verdict

__all__ = ["consistency", "uncertainty"]

_KEPT = Path(__file__).parent.parent / "report"


def consistency(store: Store) -> Section | None:
    """Errors against the population as n grows, by `validation/consistency.py`."""
    if not (_KEPT / "consistency.csv").exists():
        return None
    table = pd.read_csv(_KEPT / "consistency.csv")
    table = table[table["case"] == "population"]
    shown = pd.DataFrame(
        {
            "n": table["n"].map("{:,}".format),
            "weights (l1)": table["weights"].map("{:.1e}".format),
            "centroids (w-norm)": table["centroids"].map("{:.1e}".format),
            "ARI": table["ari"].map("{:.3f}".format),
        }
    )
    fall = [table[name].iloc[0] / table[name].iloc[-1] for name in ("weights", "centroids")]
    root = (table["n"].iloc[-1] / table["n"].iloc[0]) ** 0.5
    return Section(
        "Consistency",
        Verdict(
            "holds",
            f"from n = {table['n'].iloc[0]:,} to {table['n'].iloc[-1]:,} the errors fall by "
            f"{fall[0]:.1f} (weights) and {fall[1]:.1f} (centroids); n^(−1/2) would be {root:.1f}. "
            "With two clusters too many it is not seen, and should not be.",
        ),
        [
            Table(shown, "Distance from the population, Simulation 2, k = 5, p = 20"),
            Picture(
                "consistency",
                "By `validation/consistency.py`; slopes, intervals, twenty fresh data sets and the "
                "case of too many clusters are in `consistency.md`",
                (_KEPT / "consistency.png").read_bytes(),
            ),
        ],
    )


def uncertainty(store: Store) -> Section | None:
    """Coverage of intervals and level of tests, by `validation/coverage.py` and `level.py`."""
    if not (_KEPT / "coverage.csv").exists() or not (_KEPT / "level.csv").exists():
        return None
    cover = pd.read_csv(_KEPT / "coverage.csv").groupby(["design", "method"])["coverage, %"]
    covered = pd.DataFrame(
        {
            "coverage, %": cover.mean().map("{:.1f}".format),
            "lowest of a feature": cover.min().map("{:.1f}".format),
            "highest": cover.max().map("{:.1f}".format),
        }
    ).reset_index()
    level = pd.read_csv(_KEPT / "level.csv")
    rates = level["noise, % rejected"]
    shown = level.map(lambda v: v if isinstance(v, str) else "–" if pd.isna(v) else f"{v:.1f}")
    return Section(
        "Intervals and tests",
        Verdict(
            "new",
            f"95 % intervals cover {cover.mean().min():.1f} – {cover.mean().max():.1f} %; tests at "
            f"5 % reject {rates.min():.1f} – {rates.max():.1f} % of pure noise.",
        ),
        [
            Table(covered, "Bootstrap intervals of the weights of relevant features", 2),
            Table(shown, "Tests of features at 5 %, by `validation/level.py`"),
        ],
    )
