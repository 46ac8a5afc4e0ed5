"""The consistency theorem on simulated data: errors that fall like n^(-1/2), and some that do not.

Simulation 2 with k = 5 and p = 20 is fitted at n = 250 to 16,000 and compared with its population:
the true centroids, and the weights of a fit to a million rows. With two clusters more than there
are no solution is unique.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pandas as pd

import ewp
from ewp.datasets import Simulation, make_simulation2
from ewp.diagnostics.consistency import ConsistencyResults
from validation.cells import Cell, Store
from validation.page import Picture, Section, Table, Verdict
from validation.summaries import mean_sd

__all__ = [
    "against_population",
    "consistency_cells",
    "consistency_section",
    "results_of",
    "too_many_clusters",
]

_SIZES = [250, 500, 1000, 2000, 4000, 8000, 16000]
_PENALTY = 0.05
_LARGE = 1_000_000
_ERRORS = ("weights", "centroids")


def consistency_cells() -> list[Cell]:
    """Errors against the population, and with too many clusters."""
    return [
        Cell("consistency.too_many_clusters", {"replicates": 20}, rank=0, chooses=False),
        *(
            Cell(
                "consistency.against_population",
                {"seed": seed, "replicates": 20},
                rank=0 if seed == 0 else 3,
                chooses=False,
            )
            for seed in range(21)
        ),
    ]


def _draw(seed: int, n: int) -> Simulation:
    """Data of the design; the same seed has the same centroids for every n."""
    return make_simulation2(5, n=n, p=20, random_state=seed)


def against_population(seed: int, replicates: int) -> dict[str, Any]:
    """One data set of 16,000 rows and its subsamples against the population."""
    big = _draw(seed, _LARGE)
    limit = ewp.fit(big.X, 5, _PENALTY * _LARGE, random_state=0, init=big.centers)
    data = _draw(seed, _SIZES[-1])
    results = ewp.fit(data.X, 5, _PENALTY * len(data.X), random_state=0)
    found = results.consistency(
        _SIZES, replicates, reference=(big.centers, limit.weights.to_numpy()), random_state=seed
    )
    return _plain(found)


def too_many_clusters(replicates: int) -> dict[str, Any]:
    """Five clusters fitted with seven."""
    data = _draw(0, 8000)
    results = ewp.fit(data.X, 7, _PENALTY * len(data.X), random_state=0)
    return _plain(results.consistency(_SIZES[:5], replicates, random_state=0))


def _plain(found: ConsistencyResults) -> dict[str, Any]:
    """The results as lists and numbers, tables by rows."""
    values = {one.name: getattr(found, one.name) for one in fields(found)}
    return {
        name: value.to_dict("split") if isinstance(value, pd.DataFrame) else value
        for name, value in values.items()
    }


def results_of(value: dict[str, Any]) -> ConsistencyResults:
    """The results again."""
    tables = {
        name: pd.DataFrame(**part) if isinstance(part, dict) else part
        for name, part in value.items()
    }
    return ConsistencyResults(**tables)


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


def consistency_section(store: Store) -> Section | None:
    """Errors against the population as n grows, and with two clusters too many."""
    flat, found, fresh = None, None, []
    for cell, value in store.finished(consistency_cells()):
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
        f"Slopes of log error on log n, with 95 % intervals: {_slopes(found)}; with two clusters "
        f"too many {_slopes(flat)}.",
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
            f"factors of {fall[0]:.1f} (weights) and {fall[1]:.1f} (centroids); at the rate "
            f"n^(−1/2) it would be {root:.1f}. With two clusters too many consistency is "
            f"{flat.verdict}{expected}.",
        ),
        items,
    )
