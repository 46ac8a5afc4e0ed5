"""Whole fits on Simulation 2 beside scikit-learn's k-means, native sparse k-means and sparcl.

Run ``python validation/benchmarks/whole_fits.py``. EWP and k-means run once a turn, in turns, on
one thread; a figure is the median over the turns of a ratio of CPU times. EWP has default options
and the penalty 0.05 n, k-means ten starts. Sparse k-means and sparcl, with one bound and twenty
starts, run in the first turn only.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

import ewp
import r_bridge
from ewp.datasets import make_simulation2
from ewp.peers import SparseKMeans

SIZES = [(1_000, 100, 20), (10_000, 100, 100), (2_000, 2_000, 10)]


def cpu(run: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, and what it returns."""
    begin = time.process_time()
    found = run()
    return time.process_time() - begin, found


def measure(n: int, p: int, k: int, turns: int, slow: float) -> dict[str, Any]:
    """One row of the table."""
    X, labels, _ = make_simulation2(k, n=n, p=p, random_state=0)
    bound = np.sqrt(5.0)
    methods: dict[str, Callable[[], Any]] = {
        "ewp": lambda: ewp.fit(X, k, 0.05 * n, random_state=0).labels,
        "k-means": lambda: KMeans(k, n_init=10, random_state=0).fit_predict(X),
    }
    if float(n) * p * k <= slow:
        sparse = SparseKMeans(k, wbound=bound, n_init=20, random_state=0)
        methods["sparse"] = lambda: sparse.fit_predict(X)
        if r_bridge.check().ready:
            from r_bridge.sparcl import kmeans_sparse_cluster

            methods["sparcl"] = lambda: kmeans_sparse_cluster(X, k, wbounds=bound, seed=0)
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    found: dict[str, Any] = {}
    for turn in range(turns):
        for name, run in methods.items():
            if turn and name in ("sparse", "sparcl"):  # minutes: once is enough for a factor
                continue
            spent, found[name] = cpu(run)
            seconds[name].append(spent)
    row: dict[str, Any] = {"n": n, "p": p, "k": k}
    ewp_seconds = np.array(seconds["ewp"])
    row["EWP / k-means"] = float(np.median(ewp_seconds / seconds["k-means"]))
    for name in ("sparse", "sparcl"):
        row[f"{name} / EWP"] = (
            seconds[name][0] / float(np.median(ewp_seconds)) if name in seconds else np.nan
        )
    for name in ("ewp", "k-means"):
        row[f"NMI {name}"] = normalized_mutual_info_score(labels, found[name])
    return row


def table(turns: int, slow: float) -> pd.DataFrame:
    """Ratios at every size; sparse k-means and sparcl up to n * p * k = `slow`."""
    with threadpool_limits(1):
        return pd.DataFrame([measure(n, p, k, turns, slow) for n, p, k in SIZES])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument(
        "--slow", type=float, default=5e7, help="largest n*p*k for sparse k-means and sparcl"
    )
    options = parser.parse_args()
    print(table(options.turns, options.slow).to_string(index=False, float_format="%.3g"))


if __name__ == "__main__":
    main()
