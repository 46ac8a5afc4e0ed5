"""What 200 bootstrap fits cost, in units of one fit.

Fits and bootstraps run in turns within one process and its workers; a ratio is the median over the
turns, so that a noisy machine disturbs both alike. One fit uses one thread, the bootstrap two
processes, started before the clock.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

import ewp
from ewp.datasets import make_simulation2

__all__ = ["table"]

_DESIGNS = [("raw", 0.05, {}), ("standardised", 0.15, {"scale": "standard"})]
_JOBS = 2


def table(turns: int) -> pd.DataFrame:
    """Ratios on Simulation 2 with 1,000 × 100 and 20 clusters, raw and standardised."""
    X = make_simulation2(20, n=1000, p=100, random_state=0).X
    rows = []
    for name, penalty, how in _DESIGNS:
        lam = penalty * len(X)
        results = ewp.fit(X, 20, lam=lam, random_state=0, **how)
        results.bootstrap(8, n_jackknife=0, random_state=0, n_jobs=_JOBS)
        ratios = []
        for turn in range(turns):
            times = []
            for seed in range(5):
                begin = time.perf_counter()
                ewp.fit(X, 20, lam=lam, random_state=100 * turn + seed, **how)
                times.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            results.bootstrap(200, n_jackknife=0, random_state=turn, n_jobs=_JOBS)
            middle = time.perf_counter()
            results.bootstrap(200, random_state=turn, n_jobs=_JOBS)
            end = time.perf_counter()
            one = float(np.mean(times))
            ratios.append(((middle - begin) / one, (end - middle) / one))
        plain, accelerated = np.median(ratios, axis=0)
        rows.append(
            {
                "n, p, k": "1,000, 100, 20",
                "features": name,
                "200 resamples / fit": plain,
                "and 50 parts for BCa / fit": accelerated,
            }
        )
    return pd.DataFrame(rows)
