"""The number of clusters that is chosen where there is one, and where there are 2 to 8.

Clouds that are one cluster by construction, correlated, bounded, skewed or with heavy tails;
Gaussian clusters whose closest centres are some standard deviations apart, alike or of unequal
sizes and covariances; and real sets. `select_k` has its defaults, numbers 1 to 8. What it finds is
shown by `validation.studies.correlation`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import ewp
from validation.cells import Cell, Store
from validation.data import available, further, load, load_further
from validation.page import Table
from validation.recipes import DIFFERENCES, SINGLE, separated, unequal
from validation.summaries import frame_of

__all__ = [
    "Aim",
    "Part",
    "cloud_cells",
    "number_on_cloud",
    "number_on_real",
    "number_separated",
    "number_unequal",
    "numbers",
    "rank_of",
    "real_cells",
    "separated_cells",
    "texts",
    "unequal_cells",
]

CLOUDS = 20
DRAWS = 10
DISTANCES = (6.0, 5.0, 4.0)
NUMBERS = range(2, 9)
UNEQUAL_NUMBERS = range(2, 6)
_QUICK_SETS = ("iris", "wine")
_SHARE = 90
#: Shares of fewer draws are not judged.
_LEAST_DRAWS = 10
#: An aim: in words, what was found, and whether it is reached; None while draws are too few.
Aim = tuple[str, str, bool | None]
#: What a part of the section shows, and its aims.
Part = tuple[list[str | Table], list[Aim]]


def rank_of(seed: int, quick: bool = True) -> int:
    """The first draw is the quick run's, the next four come before the others."""
    return 0 if seed == 0 and quick else 2 if seed < 5 else 3


def cloud_cells() -> list[Cell]:
    """The number of clusters where there is one."""
    return [
        Cell("structure.number_on_cloud", {"cloud": cloud, "seed": seed}, rank=rank_of(seed))
        for seed in range(CLOUDS)
        for cloud in SINGLE
    ]


def separated_cells() -> list[Cell]:
    """The number of clusters where they lie apart."""
    return [
        Cell(
            "structure.number_separated",
            {"k": k, "distance": distance, "seed": seed},
            rank=rank_of(seed, quick=distance == DISTANCES[0] and k in (2, 5)),
        )
        for seed in range(DRAWS)
        for distance in DISTANCES
        for k in NUMBERS
    ]


def unequal_cells() -> list[Cell]:
    """The number of clusters where they are not alike."""
    return [
        Cell(
            "structure.number_unequal",
            {"difference": difference, "k": k, "seed": seed},
            rank=rank_of(seed, quick=k == 3),
        )
        for seed in range(DRAWS)
        for difference in DIFFERENCES
        for k in UNEQUAL_NUMBERS
    ]


def real_cells() -> list[Cell]:
    """The number of clusters on the real sets at hand."""
    return [
        Cell("structure.number_on_real", {"name": name, "data": data}, int(name not in _QUICK_SETS))
        for name, data in {**available(), **further()}.items()
    ]


def number_on_cloud(cloud: str, seed: int) -> dict[str, int]:
    """Number of clusters that `ewp.select_k` takes on a cloud without clusters.

    Parameters
    ----------
    cloud : str
        One of `SINGLE`.
    seed : int
    """
    X = SINGLE[cloud](np.random.default_rng([seed, 6]))
    return {"chosen": int(ewp.select_k(X, random_state=seed).k)}


def number_separated(k: int, distance: float, seed: int) -> dict[str, int]:
    """Number of clusters that `ewp.select_k` takes on Gaussian clusters.

    Parameters
    ----------
    k, distance, seed
        As in `validation.recipes.separated`.
    """
    return {"chosen": int(ewp.select_k(separated(k, distance, seed), random_state=seed).k)}


def number_unequal(difference: str, k: int, seed: int) -> dict[str, int]:
    """Number of clusters that `ewp.select_k` takes on clusters that are not alike.

    Parameters
    ----------
    difference, k, seed
        As in `validation.recipes.unequal`.
    """
    return {"chosen": int(ewp.select_k(unequal(difference, k, seed), random_state=seed).k)}


def number_on_real(name: str, data: str) -> dict[str, int]:
    """Number of clusters that `ewp.select_k` takes on a real set, and that of its classes.

    Parameters
    ----------
    name : str
    data : str
        Hash of the set.
    """
    X, y = load(name)[:2] if name in available() else load_further(name)
    return {"chosen": int(ewp.select_k(X, random_state=0).k), "classes": len(np.unique(y))}


def texts(frame: pd.DataFrame, digits: int = 3) -> pd.DataFrame:
    """Numbers as texts, a dash for what is missing."""
    return frame.map(lambda v: "–" if pd.isna(v) else f"{v:.{digits}f}")


def _counts(chosen: pd.Series) -> str:
    """Numbers of clusters, and how often each was chosen."""
    return ", ".join(f"{k} ({times} ×)" for k, times in chosen.value_counts().sort_index().items())


def numbers(store: Store) -> Part:
    """Shares of draws in which the true number of clusters was chosen."""
    items: list[str | Table] = []
    aims: list[Aim] = []
    clouds = frame_of(store, cloud_cells())
    if len(clouds):
        groups = clouds.groupby("cloud", sort=False)["chosen"]
        share = groups.apply(lambda chosen: (chosen == 1).mean())
        rows = {
            "chosen k": groups.apply(_counts),
            "k = 1, %": (100 * share).map("{:.0f}".format),
            "draws": groups.size().astype(str),
        }
        caption = "`select_k` over 1 to 8 where there are no clusters; 200 rows unless it says so"
        items.append(Table(pd.DataFrame(rows).reset_index(), caption))
        aims.append(
            _judged(f"no clusters: k = 1 in at least {_SHARE} % of the draws", 100 * share, groups)
        )
    apart = frame_of(store, separated_cells())
    if len(apart):
        apart["right"] = 100.0 * (apart["chosen"] == apart["k"])
        table = apart.pivot_table("right", "distance", "k")
        table = table.reindex([one for one in DISTANCES if one in table.index])
        sizes = apart.groupby(["distance", "k"]).size().groupby("distance").agg(["min", "max"])
        shown = texts(table, 0).rename(columns=lambda k: f"k = {k}, %")
        shown.insert(0, "draws of each k", [_range(*sizes.loc[one]) for one in table.index])
        shown.index = pd.Index([f"{one:g} sd" for one in table.index], name="closest centres")
        caption = (
            "`select_k` over 1 to 8 on k Gaussian clusters of 60 rows in six features: draws in "
            "which it takes the true k"
        )
        items.append(Table(shown.reset_index(), caption))
        if DISTANCES[0] in table.index:
            far = apart[apart["distance"] == DISTANCES[0]].groupby("k")["right"]
            what = f"clusters {DISTANCES[0]:g} sd apart: the true k in at least {_SHARE} %"
            aims.append(_judged(what, far.mean().rename(index="k = {}".format), far))
    differ = frame_of(store, unequal_cells())
    if len(differ):
        differ["right"] = 100.0 * (differ["chosen"] == differ["k"])
        groups = differ.groupby("difference", sort=False)
        table = texts(differ.pivot_table("right", "difference", "k", sort=False), 0)
        shown = table.rename(columns=lambda k: f"k = {k}, %")
        each = groups["k"].value_counts().groupby("difference").agg(["min", "max"])
        shown.insert(0, "draws of each k", [_range(*each.loc[one]) for one in table.index])
        caption = (
            "`select_k` over 1 to 8 on k Gaussian clusters that differ, six standard deviations "
            "apart: draws in which it takes the true k"
        )
        items.append(Table(shown.reset_index(), caption))
        what = f"clusters of unequal sizes or covariances: the true k in at least {_SHARE} %"
        aims.append(_judged(what, groups["right"].mean(), groups["right"]))
    real = frame_of(store, real_cells())
    if len(real):
        shown = real[["name", "classes", "chosen"]].rename(columns={"name": "data"})
        items.append(Table(shown.astype(str), "`select_k` over 1 to 8 on real sets"))
    return items, aims


def _judged(what: str, share: pd.Series, groups: Any) -> Aim:
    """Judge the lowest share, in per cent, if there are draws enough."""
    draws = groups.size()
    where = "" if share.min() == share.max() else f" ({share.idxmin()})"
    each = "draw" if draws.max() == 1 else "draws"
    found = f"lowest {share.min():.0f} %{where}, {_range(draws.min(), draws.max())} {each} each"
    enough = draws.min() >= _LEAST_DRAWS
    return what, found, bool(share.min() >= _SHARE) if enough else None


def _range(low: int, high: int) -> str:
    """Smallest and largest number of draws.

    Examples
    --------
    >>> _range(5, 5), _range(3, 5)
    ('5', '3 to 5')
    """
    return f"{low}" if low == high else f"{low} to {high}"
