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
from ewp.consistency import ConsistencyResults
from ewp.datasets import Simulation, make_simulation2

__all__ = ["against_population", "results_of", "too_many_clusters"]

_SIZES = [250, 500, 1000, 2000, 4000, 8000, 16000]
_PENALTY = 0.05
_LARGE = 1_000_000


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
