"""Tables 1 and 2: one trial, on fresh data and from fresh random rows."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

import ewp
from ewp.datasets import make_simulation1, make_simulation2
from validation.tasks.contest import (
    Rows,
    choose_default,
    contest,
    default_rows,
    gap_bound,
    published_at,
)

__all__ = ["trial", "truth"]

DESIGNS = {"simulation 1": make_simulation1, "simulation 2": make_simulation2}
#: Rows a cluster on which the penalty is chosen when there are more than 100 clusters.
_ROWS_TO_CHOOSE = 20


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


def truth(d: int, sd: float, seed: int) -> float:
    """NMI of Simulation 1 when the true centres and the relevant features are known."""
    data = make_simulation1(d, sd=sd, random_state=seed)
    used = data.X[:, data.relevant]
    distance = ((used[:, None, :] - data.centers[None, :, data.relevant]) ** 2).sum(axis=2)
    return float(normalized_mutual_info_score(data.labels, np.argmin(distance, axis=1)))
