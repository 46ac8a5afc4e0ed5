"""Fits with everything automatic beside k-means, mclust, and sparcl's permutation gap and fit.

Run ``python validation/benchmarks/default_fits.py``. ``ewp.fit(X, k)`` chooses penalty, scaling,
form and the number of starts; k-means has ten starts. Both run once a turn, in turns, on one
thread; a figure is the median over the turns, of CPU seconds or of their ratio. What starts slowly
the first time has started before the clock. In the three small sets ``Mclust(x, G=k)`` of R's
package mclust runs too, on R's own clock: a fit of more than two seconds once, others once a turn;
the loading of the package is not counted. sparcl's permutation gap with 25 permutations and ten
bounds, and the fit with the bound it chose, run once, and only up to a size beyond which they take
more than ten minutes. The normalised mutual information is that with the classes, in the last turn.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from clock import cpu
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

import ewp
import r_bridge
from ewp.datasets import load_dataset, make_simulation2
from validation.mclust import mclust

__all__ = ["table"]

REAL = ("iris", "wine", "wdbc")
SIZES = [(1_000, 100, 20), (2_000, 2_000, 10), (20_000, 50, 10)]

PERMUTATIONS = 25


def data_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray, int]]:
    """Names, features, classes and numbers of clusters, the small sets first."""
    for name in REAL:
        found = load_dataset(name)
        yield name, found.X.to_numpy(), found.y.to_numpy(), found.k
    for n, p, k in SIZES:
        X, labels, _ = make_simulation2(k, n=n, p=p, random_state=0)
        yield "Simulation 2", X, labels, k


def sparcl(X: np.ndarray, k: int) -> tuple[float, Any]:
    """CPU seconds of sparcl's gap and fit, and its labels; NaN and none without sparcl."""
    if not r_bridge.check().ready:
        return np.nan, None
    from r_bridge.sparcl import kmeans_sparse_cluster, permute

    def choose_and_fit() -> Any:
        chosen = permute(X, k, nperms=PERMUTATIONS, seed=0).bestw
        return kmeans_sparse_cluster(X, k, wbounds=chosen, seed=0)[0].labels

    return cpu(choose_and_fit)


def measure(
    name: str, X: np.ndarray, labels: np.ndarray, k: int, turns: int, slow: float
) -> dict[str, Any]:
    """One row of the table."""
    seconds = np.empty((turns, 2))
    for turn in range(turns):
        seconds[turn, 0], ours = cpu(lambda turn=turn: ewp.fit(X, k, random_state=turn).labels)
        seconds[turn, 1], theirs = cpu(
            lambda turn=turn: KMeans(k, n_init=10, random_state=turn).fit_predict(X)
        )
    mine = float(np.median(seconds[:, 0]))
    mixture, mixed = mclust(X, k, turns) if name in REAL else (np.nan, None)
    gap, sparse = sparcl(X, k) if float(X.size) * k <= slow else (np.nan, None)
    found = {"ewp": ours, "k-means": theirs, "mclust": mixed, "sparcl": sparse}
    return {
        "data": name,
        "n": len(X),
        "p": X.shape[1],
        "k": k,
        "EWP, s": mine,
        "k-means, s": np.median(seconds[:, 1]),
        "EWP / k-means": np.median(seconds[:, 0] / seconds[:, 1]),
        "mclust / EWP": mixture / mine,
        "sparcl / EWP": gap / mine,
    } | {
        f"NMI {method}": np.nan if one is None else normalized_mutual_info_score(labels, one)
        for method, one in found.items()
    }


def table(turns: int, slow: float) -> pd.DataFrame:
    """Seconds and ratios for every data set; sparcl up to n * p * k = `slow`."""
    rows = []
    with threadpool_limits(1):
        iris = load_dataset("iris").X
        ewp.fit(iris, 3, random_state=0)
        KMeans(3, n_init=10, random_state=0).fit(iris)
        for one in data_sets():
            rows.append(measure(*one, turns, slow))
            print(*rows[-1].values(), sep=" | ", flush=True)
    return pd.DataFrame(rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--slow", type=float, default=5e6, help="largest n*p*k for sparcl")
    options = parser.parse_args()
    print(table(options.turns, options.slow).to_string(index=False, float_format="%.3g"))


if __name__ == "__main__":
    main()
