"""Table 2 beyond 20 clusters: what takes longest there, in fewer trials than the rest."""

from __future__ import annotations

import numpy as np

import ewp
from ewp.datasets import make_simulation2
from ewp.methods import EstimatorMethod
from validation.tasks.contest import PUBLISHED, Rows, contest

__all__ = ["bounded", "selected"]

#: Rows a cluster on which the penalty is chosen.
_ROWS_TO_CHOOSE = 20


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
