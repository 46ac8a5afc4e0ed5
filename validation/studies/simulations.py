"""Tables 1 and 2: the paper's simulations, on fresh data and from fresh random rows in each trial.

With many clusters what takes longest has fewer trials than the rest. Fits of Simulation 1 from
single random rows tell how often they end in one feature, and at which penalty. The tables
themselves are made in `validation.studies.simulation_tables`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import ewp
from ewp.comparison.methods import EstimatorMethod
from ewp.datasets import make_simulation1, make_simulation2
from validation.cells import Cell
from validation.same_starts import (
    PARTS,
    PLAIN,
    PUBLISHED,
    TRIALS,
    Rows,
    choose_default,
    contest,
    default_rows,
    draw_starts,
    gap_bound,
    nmi,
    published_at,
)
from validation.studies.peer_settings import with_uniform_noise

__all__ = [
    "NOISE",
    "NUMBERS",
    "bounded",
    "collapses",
    "many_clusters_cells",
    "selected",
    "single_start_cells",
    "table1_cells",
    "table2_cells",
    "trial",
    "uniform_cells",
    "uniform_noise",
]

#: Noise features of Table 1, numbers of clusters of Table 2.
NOISE = (5, 10, 20, 50, 100)
NUMBERS = (20, 100, 200, 500)
#: Table 2 with many clusters: tasks, their inputs, and trials.
_MANY: tuple[tuple[str, dict[str, object], int], ...] = (
    ("selected", {"k": 100}, 20),
    ("selected", {"k": 200}, 6),
    ("selected", {"k": 500}, 2),
    ("bounded", {"k": 200, "method": "sparse"}, 6),
    ("bounded", {"k": 500, "method": "sparse"}, 2),
    ("bounded", {"k": 100, "method": "sparcl"}, 6),
    ("bounded", {"k": 200, "method": "sparcl"}, 2),
)
DESIGNS = {"simulation 1": make_simulation1, "simulation 2": make_simulation2}
#: Rows a cluster on which the penalty is chosen when there are more than 100 clusters.
_ROWS_TO_CHOOSE = 20
#: A fit has ended in one feature when that has at least this weight.
_ALMOST_ALL = 0.99


def table1_cells() -> list[Cell]:
    """Simulation 1: fresh data in each trial."""
    return [
        Cell(
            "simulations.trial",
            {"design": "simulation 1", "size": d, "seed": seed, "part": part},
            rank=_rank1(d, seed),
            chooses=part not in PLAIN,
            needs_sparcl=part == "sparcl",
        )
        for seed in range(TRIALS)
        for d in NOISE
        for part in PARTS
    ]


def single_start_cells() -> list[Cell]:
    """Simulation 1 from single random rows, at the chosen penalty and at twice that."""
    return [
        Cell("simulations.collapses", {"d": d, "seed": seed, "count": 8}, rank=3)
        for seed in range(5)
        for d in NOISE
    ]


def uniform_cells() -> list[Cell]:
    """Simulation 1 with the noise that the paper's text has."""
    return [
        Cell("simulations.uniform_noise", {"d": d, "seed": seed}, rank=3)
        for seed in range(3)
        for d in NOISE
    ]


def _rank1(d: int, seed: int) -> int:
    if d in (5, 20, 100) and seed < 2:
        return 0
    return 1 if seed == 0 else 6 if seed < 3 else 7 + seed // 5


def table2_cells() -> list[Cell]:
    """Simulation 2: fresh data in each trial."""
    return [
        Cell(
            "simulations.trial",
            {"design": "simulation 2", "size": k, "seed": seed, "part": part},
            rank=_rank2(k, seed, part),
            chooses=part not in PLAIN and (part != "published" or k == 20),
            needs_sparcl=part == "sparcl",
        )
        for seed in range(TRIALS)
        for k in NUMBERS
        for part in PARTS
        if part != "sparcl" or k == 20
    ]


def _rank2(k: int, seed: int, part: str) -> int:
    """One draw at every k first, the default before the others."""
    if k == 20:
        return 0 if seed < 2 else 6 if seed < 5 else 7 + seed // 5
    if seed == 0 and part == "ewp":
        return {100: 1, 200: 1, 500: 5}[k]
    if seed == 0:
        return {100: 2, 200: 6, 500: 7}[k]
    return 7 if k == 100 and seed < 3 else 10 if k < 500 else 11 + seed


def many_clusters_cells() -> list[Cell]:
    """What takes longest in Table 2, where it is not among the trials."""
    return [
        Cell(
            f"simulations.{task}",
            {**inputs, "seed": seed},
            rank=9,
            chooses=task == "selected",
            needs_sparcl=inputs.get("method") == "sparcl",
        )
        for task, inputs, trials in _MANY
        for seed in range(trials)
    ]


@cache
def _bound(design: str, size: int, scale: str | None) -> float:
    """Bound of sparse k-means by the permutation gap, chosen once, on the design's first draw."""
    data = DESIGNS[design](size, random_state=0)
    return gap_bound(data.X, len(data.centers), scale, 0, permutations=5, bounds=6)


def _choice(X: np.ndarray, k: int, seed: int) -> dict[str, Any]:
    """Return this package's own choice; with very many clusters on a sample of the rows."""
    n = _ROWS_TO_CHOOSE * k
    if k <= 100:
        return choose_default(X, k, seed)
    rows = np.sort(np.random.default_rng([seed, 2]).choice(len(X), n, replace=False))
    found = choose_default(X[rows], k, seed)
    lam = found["lam"] * len(X) / n
    fit = ewp.fit(
        X, k, lam, scale=found["scale"], dispersion=found["dispersion"], random_state=seed
    )
    return {**found, "lam": lam, "labels": np.asarray(fit.labels)}


def trial(design: str, size: int, seed: int, part: str) -> Rows:
    """Some of the methods on one draw, all from the same random rows.

    Parameters
    ----------
    design : {"simulation 1", "simulation 2"}
    size : int
        Number of noise features, or of clusters.
    seed : int
        Seed of the data, of the starting centroids and of the methods.
    part : {"ewp", "published", "peers", "sparcl"}
        This package by its own choices; the published algorithm on raw features, by selection (up
        to 20 clusters) and along a path of penalties; the others, on raw and on standardised
        features.
    """
    data = DESIGNS[design](size, random_state=seed)
    X, y, relevant = data
    k = len(data.centers)
    many = design == "simulation 2" and k > 20
    shared: dict[str, Any] = {"seed": seed, "trials": 1}
    if part == "ewp":
        rows = default_rows(X, y, k, _choice(X, k, seed), **shared)
    elif part == "published":
        given = [0.05] if k > 100 else [0.01, 0.03, 0.1]
        lams = np.array(given) * len(X) if many else ewp.lambda_path(X, k)
        named = () if many else ("ewp-published",)
        rows = contest(X, y, k, scale=None, methods=(*named, *published_at(lams, len(X))), **shared)
    else:
        methods = ("kmeans", "power", "wkmeans") if part == "peers" else ("sparcl",)
        if part == "peers" and k <= 100:
            methods += ("sparse",)
        rows = []
        for scale in (None, "standard"):
            # with many clusters the bound that suits the relevant features, for lack of time
            bound = len(relevant) ** 0.5 if many else _bound(design, size, scale)
            rows += contest(X, y, k, scale=scale, methods=methods, wbound=bound, **shared)
    return [{**row, "trial": seed} for row in rows]


def collapses(d: int, seed: int, count: int) -> dict[str, Any]:
    """Fits of Simulation 1 that end in one feature, at the chosen penalty and at twice that.

    Parameters
    ----------
    d : int
        Number of noise features.
    seed : int
        Seed of the data, of the choice and of the starts.
    count : int
        Number of starts, each from k random rows.
    """
    data = make_simulation1(d, random_state=seed)
    k = len(data.centers)
    choice = choose_default(data.X, k, seed)
    options = {name: choice[name] for name in ("scale", "dispersion")}
    starts = draw_starts(data.X, k, count, seed)
    ended = {}
    for name, factor in (("once", 1.0), ("twice", 2.0)):
        fits = (
            ewp.fit(data.X, k, factor * choice["lam"], init=one, random_state=seed, **options)
            for one in starts
        )
        ended[name] = sum(bool(fit.weights.max() >= _ALMOST_ALL) for fit in fits)
    return {"lam": choice["lam"], "starts": count, **ended}


def uniform_noise(d: int, seed: int) -> dict[str, float]:
    """NMI of the default on Simulation 1 with noise that is uniform on (0, 2).

    Parameters
    ----------
    d : int
        Number of noise features.
    seed : int
        Of the data and of the fit.
    """
    data = make_simulation1(d, random_state=seed)
    X = with_uniform_noise(data, seed)
    fit = ewp.fit(X, len(data.centers), random_state=seed)
    return {"default": nmi(data.labels, fit.labels)}


def selected(k: int, seed: int) -> Rows:
    """The published algorithm on raw features, its penalty selected on a sample of the rows.

    Parameters
    ----------
    k : int
        Number of clusters.
    seed : int
        Seed of the data, of the starting centroids and of the selection.
    """
    data = make_simulation2(k, random_state=seed)
    n = len(data.X)
    count = _ROWS_TO_CHOOSE * k
    sample = np.sort(np.random.default_rng([seed, 2]).choice(n, count, replace=False))
    found = ewp.select_lambda(
        data.X[sample], k, scale=None, dispersion="within", random_state=seed, **PUBLISHED
    )
    lam = found.lam * n / count
    model = ewp.EWP(lam=lam, scale=None, **PUBLISHED)
    method = EstimatorMethod("ewp-published", model, settings={"lam": lam})
    rows = contest(data.X, data.labels, k, scale=None, methods=(method,), seed=seed, trials=1)
    return [{**row, "trial": seed} for row in rows]


def bounded(k: int, seed: int, method: str) -> Rows:
    """Sparse k-means on standardised features, at the bound that suits the relevant ones.

    Parameters
    ----------
    k : int
        Number of clusters.
    seed : int
        Seed of the data and of the starting centroids.
    method : {"sparse", "sparcl"}
        Native, or R's.
    """
    data = make_simulation2(k, random_state=seed)
    rows = contest(
        data.X,
        data.labels,
        k,
        scale="standard",
        methods=(method,),
        wbound=len(data.relevant) ** 0.5,
        seed=seed,
        trials=1,
    )
    return [{**row, "trial": seed} for row in rows]
