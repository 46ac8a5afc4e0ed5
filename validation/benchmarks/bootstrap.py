"""What 200 bootstrap fits cost, in units of one fit.

Run ``python validation/benchmarks/bootstrap.py``. Fits and bootstraps run in turns within one
process and its workers; a ratio is the median over the turns, so that a noisy machine disturbs both
alike. One fit uses one thread, the bootstrap two processes, started before the clock.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

import ewp
from ewp.datasets import make_simulation2

DESIGNS = [("raw", 0.05, {}), ("standardised", 0.15, {"scale": "standard"})]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "report")
    options = parser.parse_args()
    X = make_simulation2(20, n=1000, p=100, random_state=0).X
    rows = []
    for name, penalty, how in DESIGNS:
        lam = penalty * len(X)
        results = ewp.fit(X, 20, lam=lam, random_state=0, **how)
        results.bootstrap(8, n_jackknife=0, random_state=0, n_jobs=options.n_jobs)
        turns = []
        for turn in range(options.turns):
            times = []
            for seed in range(5):
                begin = time.perf_counter()
                ewp.fit(X, 20, lam=lam, random_state=100 * turn + seed, **how)
                times.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            results.bootstrap(200, n_jackknife=0, random_state=turn, n_jobs=options.n_jobs)
            middle = time.perf_counter()
            results.bootstrap(200, random_state=turn, n_jobs=options.n_jobs)
            end = time.perf_counter()
            one = float(np.mean(times))
            turns.append((one, (middle - begin) / one, (end - middle) / one))
        one, plain, accelerated = np.median(turns, axis=0)
        rows.append(
            {
                "features": name,
                "one fit, s": one,
                "200 resamples / fit": plain,
                "and 50 parts for BCa / fit": accelerated,
            }
        )
    table = pd.DataFrame(rows)
    table.to_csv(options.out / "bootstrap_cost.csv", index=False, float_format="%.4g")
    print("n = 1000, p = 100, k = 20")
    print(table.to_string(index=False, float_format="%.2f"))


if __name__ == "__main__":
    main()
