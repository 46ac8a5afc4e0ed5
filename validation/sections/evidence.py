"""Beyond the paper: consistency, intervals and tests, against known populations."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ewp.consistency import ConsistencyResults
from validation import plan_beyond as plan
from validation.cells import Store
from validation.page import Picture, Section, Table, Verdict
from validation.sections.common import mean_sd
from validation.tasks.consistency import results_of
from validation.tasks.uncertainty import LEVEL

__all__ = ["consistency", "uncertainty"]

_ERRORS = ("weights", "centroids")


def _slopes(found: ConsistencyResults) -> str:
    """Slopes of both errors with their intervals."""
    parts = []
    for name in _ERRORS:
        slope = found.slopes.loc[name]
        ends = f"[{slope['lower']:.2f}, {slope['upper']:.2f}]"
        parts.append(f"{slope['slope']:.2f} {ends} ({name})".replace("-", "−"))
    return " and ".join(parts)


def _fresh(found: list[ConsistencyResults]) -> Table:
    """Slopes of many data sets."""
    rows = []
    for name in _ERRORS:
        slopes = pd.DataFrame([one.slopes.loc[name] for one in found])
        inside = (slopes["lower"] <= -0.5) & (slopes["upper"] >= -0.5)
        rows.append(
            {
                "error": name,
                "slope, mean (sd)": mean_sd(slopes["slope"]).replace("-", "−"),
                "−1/2 in the 95 % interval": f"{inside.sum()} of {len(inside)}",
            }
        )
    return Table(pd.DataFrame(rows), f"Slopes in {len(found)} fresh data sets")


def consistency(store: Store) -> Section | None:
    """Errors against the population as n grows, and with two clusters too many."""
    flat, found, fresh = None, None, []
    for cell, value in store.finished(plan.consistency()):
        one = results_of(value)
        if cell.task.endswith("too_many_clusters"):
            flat = one
        elif cell.inputs["seed"] == 0:
            found = one
        else:
            fresh.append(one)
    if found is None or flat is None:
        return None
    table = found.table
    shown = pd.DataFrame(
        {
            "n": table.index.map("{:,}".format),
            "weights (l1)": table["weights"].map("{:.1e}".format),
            "centroids (w-norm)": table["centroids"].map("{:.1e}".format),
            "ARI": table["ari"].map("{:.3f}".format),
        }
    )
    fall = [table[name].iloc[0] / table[name].iloc[-1] for name in _ERRORS]
    root = (table.index[-1] / table.index[0]) ** 0.5
    kind = {"seen": "holds", "exact": "holds", "not seen": "does not hold", "undecided": "open"}
    expected = ", and should not be" if flat.verdict == "not seen" else ""
    items: list[str | Table | Picture] = [
        Table(
            shown,
            "Distance from the population, Simulation 2, k = 5, p = 20, means over nested "
            "subsamples",
        ),
        f"Log-log slopes: {_slopes(found)}; with two clusters too many {_slopes(flat)}.",
    ]
    if fresh:
        items.append(_fresh(fresh))
    items += [
        Picture.of("consistency", "Against the population", found.plot().figure, dpi=90),
        Picture.of(
            "consistency_two_too_many",
            "Five clusters fitted with seven, against the full fit",
            flat.plot().figure,
            dpi=90,
        ),
    ]
    return Section(
        "Consistency",
        Verdict(
            kind[found.verdict],
            f"from n = {table.index[0]:,} to {table.index[-1]:,} the errors fall by "
            f"{fall[0]:.1f} (weights) and {fall[1]:.1f} (centroids); n^(−1/2) would be {root:.1f}. "
            f"With two clusters too many it is {flat.verdict}{expected}.",
        ),
        items,
    )


def _covered(store: Store) -> pd.DataFrame:
    """Whether each interval of each data set covers the population's weight."""
    weights = {
        cell.inputs["design"]: np.array(value) for cell, value in store.finished(plan.populations())
    }
    rows = []
    for cell, value in store.finished(plan.coverage()):
        design = cell.inputs["design"]
        if design not in weights:
            continue
        for one in value:
            inside = (np.array(one["lower"]) <= weights[design]) & (
                weights[design] <= np.array(one["upper"])
            )
            rows += [
                {"design": design, "method": one["method"], "feature": i, "covered": 100 * hit}
                for i, hit in enumerate(inside.astype(float))
            ]
    return pd.DataFrame(rows, columns=["design", "method", "feature", "covered"])


def _rejected(store: Store) -> pd.DataFrame:
    """Rejections at 5 % in per cent, a row a design."""
    parts: dict[str, list[dict[str, list[float]]]] = {}
    for cell, value in store.finished(plan.level()):
        parts.setdefault(cell.inputs["design"], []).extend(value)
    rows = []
    for design, found in parts.items():
        first = LEVEL[design].relevant
        own, careless = (
            100 * (np.array([one[test] for one in found]) <= 0.05)
            for test in ("p_value", "careless")
        )
        rows.append(
            {
                "design": design,
                "noise, % rejected": own[:, first:].mean(),
                "relevant, % rejected": own[:, :first].mean() if first else np.nan,
                "careless test, noise": careless[:, first:].mean(),
                "data sets": len(found),
            }
        )
    return pd.DataFrame(rows)


def uncertainty(store: Store) -> Section | None:
    """Coverage of intervals and level of tests."""
    covered, level = _covered(store), _rejected(store)
    if covered.empty or level.empty:
        return None
    by_feature = covered.groupby(["design", "method", "feature"])["covered"].mean()
    groups = by_feature.groupby(["design", "method"])
    shown = pd.DataFrame(
        {
            "coverage, %": groups.mean().map("{:.1f}".format),
            "lowest of a feature": groups.min().map("{:.1f}".format),
            "highest": groups.max().map("{:.1f}".format),
            "data sets": covered[covered["feature"] == 0].groupby(["design", "method"]).size(),
        }
    ).reset_index()
    means, rates = groups.mean(), level["noise, % rejected"]
    tests = level.map(
        lambda v: "–" if pd.isna(v) else f"{v:.1f}" if isinstance(v, float) else str(v)
    )
    return Section(
        "Intervals and tests",
        Verdict(
            "new",
            f"95 % intervals cover {means.min():.1f} – {means.max():.1f} %; tests at 5 % reject "
            f"{rates.min():.1f} – {rates.max():.1f} % of pure noise.",
        ),
        [
            Table(
                shown,
                f"Bootstrap intervals ({plan.coverage()[0].inputs['n_boot']} resamples) of the "
                "weights of relevant features, against those of a sample of "
                f"{plan.populations()[0].inputs['n']:,} rows",
                2,
            ),
            Table(
                tests,
                f"Tests of features at 5 %, {plan.level()[0].inputs['n_perm']} permutations. The "
                "careless test permutes a column and compares with the clusters that it helped to "
                "find",
            ),
        ],
    )
