"""What 200 bootstrap fits cost, in units of one fit.

Fits and bootstraps run in turns within one process and its workers; a ratio is the median over the
turns, so that a noisy machine disturbs both alike. One fit has default starts and uses one thread.
The bootstrap runs in this process, both measured in CPU time, and in two processes, started before
the clock, both measured in time that passes.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

import ewp
from ewp.datasets import make_simulation2

__all__ = ["table"]

#: Rows, features and clusters, features as they are or standardised, penalty a row.
_DESIGNS = [
    ("1,000, 100, 20", "raw", 0.05),
    ("1,000, 100, 20", "standardised", 0.15),
    ("150, 4, 3", "raw", 0.05),
    ("150, 4, 3", "standardised", 0.3),
]
_JOBS = 2
_RESAMPLES = 200


def _draw(sizes: str) -> np.ndarray:
    """Simulation 2, or iris."""
    if sizes == "150, 4, 3":
        return load_iris().data
    return make_simulation2(20, n=1000, p=100, random_state=0).X


def _clock() -> np.ndarray:
    """CPU seconds of this process, and seconds that passed."""
    return np.array([time.process_time(), time.perf_counter()])


def measure(sizes: str, features: str, penalty: float, turns: int) -> dict[str, Any]:
    """One row of the table."""
    X = _draw(sizes)
    k = int(sizes.split(", ")[-1])
    how: dict[str, Any] = {"lam": penalty * len(X)}
    how["scale"] = "standard" if features == "standardised" else None
    fits = 5 if len(X) >= 1000 else 50
    results = ewp.fit(X, k, random_state=0, **how)
    results.bootstrap(8, n_jackknife=0, random_state=0, n_jobs=_JOBS)
    ratios = []
    for turn in range(turns):
        begin = _clock()
        for seed in range(fits):
            ewp.fit(X, k, random_state=fits * turn + seed, **how)
        one = (_clock() - begin) / fits
        cpu, passed = 0, 1
        times = [_clock()]
        results.bootstrap(_RESAMPLES, n_jackknife=0, random_state=turn, n_jobs=1)
        times.append(_clock())
        results.bootstrap(_RESAMPLES, n_jackknife=0, random_state=turn, n_jobs=_JOBS)
        times.append(_clock())
        results.bootstrap(_RESAMPLES, random_state=turn, n_jobs=_JOBS)
        times.append(_clock())
        plain, spread, accelerated = np.diff(times, axis=0) / one
        ratios.append((spread[passed], accelerated[passed], plain[cpu], 1e3 * one[cpu]))
    on_two, accelerated, on_one, milliseconds = np.median(ratios, axis=0)
    return {
        "n, p, k": sizes,
        "features": features,
        "200 resamples / fit, two cores": on_two,
        "and 50 parts for BCa / fit, two cores": accelerated,
        "200 resamples / fit, CPU": on_one,
        "fit, ms": milliseconds,
    }


def table(turns: int) -> pd.DataFrame:
    """Ratios on Simulation 2 with 1,000 × 100 and 20 clusters and on iris."""
    return pd.DataFrame([measure(*design, turns) for design in _DESIGNS])
