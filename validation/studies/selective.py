"""Whether tests of the differences between clusters keep their level where a t test does not.

Level: on data without clusters, normal ones, correlated ones and ones with heavy tails, a test at
5 % should reject in 5 % of the data sets, for a feature named beforehand, for the heaviest one, and
for the vector of means; the t test that takes the clusters for given stands beside it. The penalty
falls with the logarithm of the number of features, by which the entropy grows. Power: groups at a
distance of five standard deviations, two that differ in a tenth of the features, or three at the
corners of a triangle in a tenth of the pairs of features; beside it that of the t test of one who
knows the groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ttest_ind

import ewp
from ewp.diagnostics.mean_differences import ALL_FEATURES
from ewp.metrics import rand_index
from validation.cells import Cell, Store
from validation.page import Section, Table, Verdict

__all__ = ["DRAWS", "SIZES", "differences", "differences_cells", "differences_section"]

#: Data sets of every kind and size, in cells of several; rows of each.
DATA_SETS, _A_CELL, _ROWS = 400, 20, 60
#: Kinds of data, and whether they have groups.
DRAWS = {"normal": 0, "correlated, 0.5": 0, "Student's t, 5 df": 0, "two groups": 2, "triangle": 3}
SIZES = (5, 20, 100)
#: Distance of the groups in standard deviations, and the penalty per row where there are groups
#: and, times the logarithm of the number of features, where there are none.
_SIDE, _PENALTY, _FOR_NONE = 5.0, 0.2, 0.32
#: Features or pairs of features that tell the groups apart: one of so many.
_INFORMATIVE = 10
#: Adjusted Rand index from which the groups count as found.
_FOUND = 0.9


def _draw(kind: str, p: int, rng: np.random.Generator) -> np.ndarray:
    X = rng.standard_normal((_ROWS, p))
    if kind.startswith("correlated"):
        return np.sqrt(0.5) * (X + rng.standard_normal((_ROWS, 1)))
    if kind.startswith("Student"):
        return rng.standard_t(5, size=(_ROWS, p))
    group = np.arange(_ROWS) % max(DRAWS[kind], 1)
    if DRAWS[kind] == 2:
        X[:, : max(p // _INFORMATIVE, 1)] += _SIDE * group[:, None]
    elif DRAWS[kind] == 3:
        corners = _SIDE * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
        pairs = max(p // (2 * _INFORMATIVE), 1)
        X[:, : 2 * pairs] += np.tile(corners, pairs)[group]
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
        Searches in a row along every path that find nothing.
    """
    rows = []
    for seed in range(first, first + count):
        X = _draw(kind, p, np.random.default_rng([seed, 5]))
        k = DRAWS[kind] or 2 + seed % 2
        penalty = _PENALTY if DRAWS[kind] else _FOR_NONE / np.log(p)
        results = ewp.fit(X, k, penalty * _ROWS, scale="standard", random_state=0)
        heaviest = results.weights.idxmax()
        # of the groups, the two that differ most in the first feature
        order = results.centroids["x0"].to_numpy().argsort()
        i, j = (int(order[0]), int(order[-1])) if DRAWS[kind] else (0, 1)
        found = results.test_differences(
            i, j, features=["x0", heaviest], n_refits=n_refits, random_state=seed
        )
        table = found.table.set_index("feature")
        places = [ALL_FEATURES, "x0", heaviest]
        row = {
            "seed": seed,
            "p_value": [float(table.loc[place, "p_value"]) for place in places],
            "naive": [float(table.loc[place, "p_naive"]) for place in places],
            "missed": found.lower > 0,
        }
        if DRAWS[kind]:
            group = np.arange(_ROWS) % k
            row["agreement"] = float(rand_index(group, results.labels.to_numpy()))
            row["oracle"] = float(ttest_ind(X[group == 0, 0], X[group == 1, 0]).pvalue)
        rows.append(row)
    return rows


def _parts(store: Store) -> dict[tuple[str, int], pd.DataFrame]:
    """What was found of every kind of data and number of features, a row a data set."""
    parts: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for cell, value in store.finished(differences_cells()):
        parts.setdefault((cell.inputs["kind"], cell.inputs["p"]), []).extend(value)
    order = {place: i for i, place in enumerate((kind, p) for kind in DRAWS for p in SIZES)}
    return {place: pd.DataFrame(parts[place]) for place in sorted(parts, key=order.__getitem__)}


def _rejected(p_values: pd.Series) -> np.ndarray:
    """Rejections at 5 % in per cent: the means, the first and the heaviest feature."""
    found: np.ndarray = 100 * (np.array(p_values.tolist()) <= 0.05).mean(axis=0)
    return found


def _levels(parts: dict[tuple[str, int], pd.DataFrame]) -> pd.DataFrame:
    """Rejections where there are no clusters."""
    rows = []
    for (kind, p), found in parts.items():
        if not DRAWS[kind]:
            own, naive = _rejected(found["p_value"]), _rejected(found["naive"])
            rows.append(
                {
                    "data": kind,
                    "p": p,
                    "means, % rejected": own[0],
                    "first feature": own[1],
                    "heaviest feature": own[2],
                    "t test, heaviest": naive[2],
                    "better partition missed, %": 100 * found["missed"].mean(),
                    "data sets": len(found),
                }
            )
    return pd.DataFrame(rows)


def _powers(parts: dict[tuple[str, int], pd.DataFrame]) -> pd.DataFrame:
    """Rejections where there are groups, and of those data sets in which they were found."""
    rows = []
    for (kind, p), found in parts.items():
        if DRAWS[kind]:
            there = found[found["agreement"] >= _FOUND]
            own = _rejected(there["p_value"]) if len(there) else np.full(3, np.nan)
            rows.append(
                {
                    "data": kind,
                    "p": p,
                    "groups found, %": 100 * len(there) / len(found),
                    "means, % rejected": own[0],
                    "first feature": own[1],
                    "t test, groups known": 100 * (found["oracle"] <= 0.05).mean(),
                    "data sets": len(found),
                }
            )
    return pd.DataFrame(rows)


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    return table.map(lambda v: f"{v:.1f}" if isinstance(v, float) else str(v))


def _span(rates: pd.DataFrame | pd.Series) -> str:
    """Lowest and highest of some rates in percent."""
    low, high = np.min(rates.to_numpy()), np.max(rates.to_numpy())
    return f"{low:.1f} %" if low == high else f"{low:.1f} to {high:.1f} %"


def differences_section(store: Store) -> Section | None:
    """Level and power of tests of the differences between clusters."""
    parts = _parts(store)
    if not parts:
        return None
    level, power = _levels(parts), _powers(parts)
    tables, words = [], []
    if len(level):
        own = level[["means, % rejected", "first feature", "heaviest feature"]]
        naive = level["t test, heaviest"]
        words.append(
            f"at 5 % they reject {_span(own)} of the null hypotheses where there are no clusters, "
            f"a t test of the heaviest feature {_span(naive)}"
        )
        caption = (
            f"Tests between two clusters at 5 %, {_ROWS} rows without clusters, standardised "
            f"features, λ = {_FOR_NONE} / log p a row. Where the fit missed a better partition of "
            "its own data the tests reject less often. In % of the data sets: the null hypothesis "
            "that two clusters have the same means, in all features, in the first, in the heaviest"
        )
        tables.append(Table(_shown(level), caption, 2))
    if len(power):
        own = power[["means, % rejected", "first feature"]]
        words.append(
            f"where groups lie {_SIDE:g} standard deviations apart and were found, they reject "
            f"{_span(own)}"
        )
        caption = (
            f"Groups that lie {_SIDE:g} standard deviations apart in a tenth of the features, λ = "
            f"{_PENALTY} a row. Rejections of the same null hypotheses in % of those data sets in "
            f"which the groups were found (adjusted Rand index of at least {_FOUND}), and "
            "in % of all of them by the t test of one who knows the groups"
        )
        tables.append(Table(_shown(power), caption, 2))
    text = "; ".join(words)
    verdict = Verdict("new", f"tests that allow for clusters having been found: {text}.")
    return Section("Differences between clusters", verdict, tables)
