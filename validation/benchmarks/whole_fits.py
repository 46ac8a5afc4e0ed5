"""Fits with a given penalty beside other people's k-means, native sparse k-means and sparcl.

Run ``python validation/benchmarks/whole_fits.py``. EWP has default options, and the penalty 0.05 n
on Simulation 2, 0.3 n on overlapping Gaussian clusters, which are standardised. Scikit-learn's
k-means, that of Intel's extension and that of faiss (in single precision, 25 iterations) have ten
starts. All return labels; they run once a turn, in turns, on one thread, small fits ten times a
turn. A figure is the median over the turns of a ratio of CPU times. The column of a peer that
cannot be imported is empty, and a warning says why. Sparse k-means and sparcl, with one bound and
twenty starts, run once, and only in the large designs.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from clock import cpu
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

import ewp
import r_bridge
from ewp.datasets import make_simulation2
from ewp.peers import SparseKMeans

__all__ = ["table"]

#: Kinds of data, rows, features, clusters.
DESIGNS = [
    ("Simulation 2", 100, 5, 3),
    ("Gaussians", 100, 5, 3),
    ("Simulation 2", 500, 20, 5),
    ("Gaussians", 500, 20, 5),
    ("Simulation 2", 1_000, 100, 20),
    ("Simulation 2", 10_000, 100, 100),
    ("Simulation 2", 2_000, 2_000, 10),
]

#: Penalties a row.
PENALTIES = {"Simulation 2": 0.05, "Gaussians": 0.3}
#: Below this n * p * k a method runs so many times a turn.
_SMALL, _REPEATS = 1e5, 10
#: Sparse k-means and sparcl run from this n * p * k on.
_FROM = 1e6

Method = Callable[[np.ndarray, int, int], Any]


def draw(kind: str, n: int, p: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and classes: Simulation 2, or Gaussian clusters about centres from N(0, 1)."""
    if kind == "Simulation 2":
        return tuple(make_simulation2(k, n=n, p=p, random_state=0))[:2]
    rng = np.random.default_rng(0)
    centers, labels = rng.standard_normal((k, p)), rng.integers(k, size=n)
    X = centers[labels] + rng.standard_normal((n, p))
    return (X - X.mean(axis=0)) / X.std(axis=0), labels


def kmeans(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Labels of scikit-learn's k-means."""
    return KMeans(k, n_init=10, random_state=seed).fit_predict(X)


def intel_kmeans() -> Method | None:
    """K-means of scikit-learn-intelex, where it is installed and runs."""
    try:
        from sklearnex.cluster import KMeans as IntelKMeans
    except ImportError as error:
        warnings.warn(f"no scikit-learn-intelex: {error}", stacklevel=2)
        return None
    return lambda X, k, seed: IntelKMeans(k, n_init=10, random_state=seed, n_jobs=1).fit_predict(X)


def faiss_kmeans() -> Method | None:
    """K-means of faiss, where it is installed and runs."""
    try:
        import faiss
    except ImportError as error:
        warnings.warn(f"no faiss: {error}", stacklevel=2)
        return None
    faiss.omp_set_num_threads(1)
    # all rows are used, however many or few a cluster has
    how = {"niter": 25, "nredo": 10, "min_points_per_centroid": 1}

    def fit(X: np.ndarray, k: int, seed: int) -> Any:
        single = np.ascontiguousarray(X, dtype=np.float32)
        found = faiss.Kmeans(X.shape[1], k, seed=seed, max_points_per_centroid=len(X), **how)
        found.train(single)
        return found.index.search(single, 1)[1][:, 0]

    return fit


def measure(
    kind: str, n: int, p: int, k: int, turns: int, slow: float, peers: dict[str, Method]
) -> dict[str, Any]:
    """One row of the table."""
    X, labels = draw(kind, n, p, k)
    lam = PENALTIES[kind] * n
    bound = np.sqrt(5.0)
    methods: dict[str, Method] = {
        "ewp": lambda X, k, seed: ewp.fit(X, k, lam, scale=None, random_state=seed).labels,
        "k-means": kmeans,
    } | peers
    size = float(n) * p * k
    repeats = _REPEATS if size < _SMALL else 1
    once: dict[str, Method] = {}
    if _FROM <= size <= slow:
        once["sparse"] = lambda X, k, seed: SparseKMeans(
            k, wbound=bound, n_init=20, random_state=seed
        ).fit(X)
        if r_bridge.check().ready:
            from r_bridge.sparcl import kmeans_sparse_cluster

            once["sparcl"] = lambda X, k, seed: kmeans_sparse_cluster(
                X, k, wbounds=bound, seed=seed
            )
    seconds = {name: np.zeros(turns) for name in methods}
    found: dict[str, Any] = {}
    for turn in range(turns):
        for seed in range(repeats * turn, repeats * (turn + 1)):
            for name, run in methods.items():
                spent, found[name] = cpu(lambda run=run, seed=seed: run(X, k, seed))
                seconds[name][turn] += spent / repeats
    mine = float(np.median(seconds["ewp"]))
    row: dict[str, Any] = {"data": kind, "n": n, "p": p, "k": k, "EWP, ms": 1e3 * mine}
    for name in ("k-means", "intelex", "faiss"):
        ratio = seconds["ewp"] / seconds[name] if name in seconds else np.nan
        row[f"EWP / {name}"] = float(np.median(ratio))
    for name in ("sparse", "sparcl"):
        row[f"{name} / EWP"] = (
            cpu(lambda run=once[name]: run(X, k, 0))[0] / mine if name in once else np.nan
        )
    for name in ("ewp", "k-means", "intelex", "faiss"):
        row[f"NMI {name}"] = (
            normalized_mutual_info_score(labels, found[name]) if name in found else np.nan
        )
    return row


def table(turns: int, slow: float) -> pd.DataFrame:
    """Ratios at every size; sparse k-means and sparcl up to n * p * k = `slow`."""
    makers = {"intelex": intel_kmeans(), "faiss": faiss_kmeans()}
    peers = {name: method for name, method in makers.items() if method is not None}
    rows = []
    with threadpool_limits(1):
        measure(*DESIGNS[0], 1, slow, peers)  # what starts slowly the first time
        for design in DESIGNS:
            rows.append(measure(*design, turns, slow, peers))
            print(*rows[-1].values(), sep=" | ", flush=True)
    return pd.DataFrame(rows)


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
