"""Whether tests of the differences between clusters keep their level where a t test does not.

Level: on data without clusters, normal ones, correlated ones and ones with heavy tails, a test at
5 % should reject in 5 % of the data sets, for a feature named beforehand, for the heaviest one, and
for the vector of means; the t test that takes the clusters for given stands beside it. Power:
groups at a distance of five standard deviations, in one feature or at the corners of a triangle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import ewp
from ewp.diagnostics.mean_differences import ALL_FEATURES
from validation.cells import Cell, Store
from validation.page import Section, Table, Verdict

__all__ = ["DRAWS", "SIZES", "differences", "differences_cells", "differences_section"]

#: Data sets of every kind and size, in cells of several; rows of each.
DATA_SETS, _A_CELL, _ROWS = 400, 10, 60
#: Kinds of data, and whether they have groups.
DRAWS = {"normal": 0, "correlated, 0.5": 0, "Student's t, 5 df": 0, "two groups": 2, "triangle": 3}
SIZES = (5, 20, 100)
#: Distance of the groups in standard deviations, and the penalty per row.
_SIDE, _PENALTY = 5.0, 0.2


def _draw(kind: str, p: int, rng: np.random.Generator) -> np.ndarray:
    X = rng.standard_normal((_ROWS, p))
    if kind.startswith("correlated"):
        return np.sqrt(0.5) * (X + rng.standard_normal((_ROWS, 1)))
    if kind.startswith("Student"):
        return rng.standard_t(5, size=(_ROWS, p))
    if DRAWS[kind]:
        corners = _SIDE * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
        X[:, :2] += corners[np.arange(_ROWS) % DRAWS[kind]]
    return X


def differences_cells() -> list[Cell]:
    """Tests of differences, of which those in few features are the cheapest."""
    return [
        Cell(
            "selective.differences",
            {"kind": kind, "p": p, "first": first, "count": _A_CELL, "n_refits": 20},
            rank=0 if first == 0 and p == SIZES[0] else 3,
            chooses=False,
        )
        for first in range(0, DATA_SETS, _A_CELL)
        for p in SIZES
        for kind in DRAWS
    ]


def differences(kind: str, p: int, first: int, count: int, n_refits: int) -> list[dict[str, Any]]:
    """p-values in some data sets: of the vector of means, of the first and of the heaviest feature.

    Parameters
    ----------
    kind : str
        One of `DRAWS`.
    p : int
        Number of features.
    first, count : int
        Seed of the first data set, and how many there are.
    n_refits : int
        Fits in a row along every path that find nothing.
    """
    rows = []
    for seed in range(first, first + count):
        X = _draw(kind, p, np.random.default_rng([seed, 5]))
        k = DRAWS[kind] or 2 + seed % 2
        results = ewp.fit(X, k, _PENALTY * _ROWS, scale="standard", random_state=0)
        heaviest = results.weights.idxmax()
        # of the groups, the two that differ most in the first feature
        order = results.centroids["x0"].to_numpy().argsort()
        i, j = (int(order[0]), int(order[-1])) if DRAWS[kind] else (0, 1)
        found = results.test_differences(
            i, j, features=["x0", heaviest], n_refits=n_refits, random_state=seed
        )
        table = found.table.set_index("feature")
        places = [ALL_FEATURES, "x0", heaviest]
        rows.append(
            {
                "seed": seed,
                "p_value": [float(table.loc[place, "p_value"]) for place in places],
                "naive": [float(table.loc[place, "p_naive"]) for place in places],
            }
        )
    return rows


def _rejected(store: Store) -> pd.DataFrame:
    """Rejections at 5 % in per cent, a row a kind of data and number of features."""
    parts: dict[tuple[str, int], list[dict[str, list[float]]]] = {}
    for cell, value in store.finished(differences_cells()):
        parts.setdefault((cell.inputs["kind"], cell.inputs["p"]), []).extend(value)
    rows = []
    for (kind, p), found in parts.items():
        own, naive = (
            100 * (np.array([one[test] for one in found]) <= 0.05).mean(axis=0)
            for test in ("p_value", "naive")
        )
        rows.append(
            {
                "data": kind,
                "p": p,
                "means, % rejected": own[0],
                "first feature": own[1],
                "heaviest feature": own[2],
                "t test, heaviest": naive[2],
                "data sets": len(found),
            }
        )
    return pd.DataFrame(rows)


def differences_section(store: Store) -> Section | None:
    """Level and power of tests of the differences between clusters."""
    found = _rejected(store)
    if found.empty:
        return None
    groups = found["data"].map(DRAWS) > 0
    level = found.loc[~groups, ["means, % rejected", "first feature", "heaviest feature"]]
    naive = found.loc[~groups, "t test, heaviest"]
    verdict = "where there are no clusters nothing is finished yet"
    if len(level):
        verdict = (
            f"at 5 % they reject {level.min(axis=None):.1f} – {level.max(axis=None):.1f} % where "
            f"there are no clusters, a t test {naive.min():.1f} – {naive.max():.1f} %"
        )
    shown = found.map(lambda v: f"{v:.1f}" if isinstance(v, float) else str(v))
    return Section(
        "Differences between clusters",
        Verdict("new", f"Tests that allow for clusters having been found: {verdict}."),
        [
            Table(
                shown,
                f"Tests between two clusters at 5 %, {_ROWS} rows, standardised features, λ = "
                f"{_PENALTY} a row; groups lie {_SIDE:g} standard deviations apart",
                2,
            )
        ],
    )
