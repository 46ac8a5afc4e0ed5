"""One MM iteration beside one Lloyd iteration of scikit-learn, as ratios of CPU time.

Run ``python validation/benchmarks/iteration.py``. Both run on one thread, in turns within one
process; a ratio is the median over the turns, so that a noisy machine disturbs both alike. The
limit is the work that no iteration with power means can avoid: two matrix products, one log and
one exp an element.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
from sklearn.cluster._k_means_lloyd import lloyd_iter_chunked_dense

from ewp.common.parallel import one_blas_thread
from ewp.engine.array import ArrayEngine
from ewp.solver.iterate import centroid_step, step_of_run
from ewp.solver.weights import RelativeEntropy

GRID = [
    (1_000, 100, 20),
    (10_000, 100, 100),
    (50_000, 100, 500),
    (200_000, 50, 20),
    (1_000_000, 20, 10),
    (50, 4_434, 4),
    (2_000, 2_000, 10),
]


def lloyd_seconds(X: np.ndarray, start: np.ndarray, steps: int) -> float:
    """CPU seconds of one Lloyd iteration of scikit-learn."""
    old, new = start.copy(), np.zeros_like(start)
    weight = np.ones(len(X))
    mass, shift = np.zeros(len(start)), np.zeros(len(start))
    labels = np.full(len(X), -1, dtype=np.int32)
    begin = time.process_time()
    for _ in range(steps):
        lloyd_iter_chunked_dense(X, weight, old, new, mass, labels, shift, n_threads=1)
        old, new = new, old
    return (time.process_time() - begin) / steps


def limit_seconds(X: np.ndarray, k: int, steps: int) -> float:
    """CPU seconds of what no iteration can avoid: two matrix products, a log and an exp."""
    n, p = X.shape
    rows = int(np.clip(2**20 // (16 * (p + k)), 64, 4096))
    T, S = np.ones((k, p)), np.empty((k, p))
    D = np.empty((k, rows))
    begin = time.process_time()
    for _ in range(steps):
        for i in range(0, n, rows):
            block = X[i : i + rows]
            view = D[:, : len(block)]
            np.matmul(T, block.T, out=view)
            np.abs(view, out=view)
            np.log(view, out=view)
            np.exp(view, out=view)
            np.matmul(view, block, out=S)
    return (time.process_time() - begin) / steps


def ours_seconds(engine: ArrayEngine, start: np.ndarray, s: float, steps: int) -> float:
    """CPU seconds of one MM iteration at exponent s."""
    rule = RelativeEntropy.make(float(engine.squares.sum()), engine.squares)
    theta, weights = start, rule.start()
    begin = time.process_time()
    for _ in range(steps):
        stats = step_of_run(engine.statistics, theta, weights, s)
        theta, dispersion, _ = centroid_step(stats, theta)
        weights = rule.update(dispersion)
    return (time.process_time() - begin) / steps


def measure(n: int, p: int, k: int, turns: int) -> dict[str, float]:
    """Ratios at one size, medians over the turns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    X -= X.mean(axis=0)
    start = X[rng.choice(n, k, replace=False)]
    engine = ArrayEngine(X)
    steps = int(np.clip(2e9 / (4.0 * n * p * k), 2, 200))
    ratios = []
    for _ in range(turns):
        lloyd = lloyd_seconds(X, start, steps)
        limit = limit_seconds(X, k, steps)
        soft = ours_seconds(engine, engine.to_engine_units(start), -5.0, steps)
        hard = ours_seconds(engine, engine.to_engine_units(start), -np.inf, steps)
        ratios.append((soft / lloyd, hard / lloyd, limit / lloyd, soft / limit))
    columns = ("s = -5 / Lloyd", "s = -inf / Lloyd", "limit / Lloyd", "s = -5 / limit")
    sizes = {"n": n, "p": p, "k": k}
    return sizes | dict(zip(columns, np.median(ratios, axis=0), strict=True))


def table(turns: int, largest: float = np.inf) -> pd.DataFrame:
    """Ratios at every size of the grid."""
    with one_blas_thread():
        rows = [measure(n, p, k, turns) for n, p, k in GRID if n * p * k <= largest]
    return pd.DataFrame(rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5, help="measurements a size")
    parser.add_argument("--largest", type=float, default=np.inf, help="skip larger n*p*k")
    arguments = parser.parse_args()
    found = table(arguments.turns, arguments.largest)
    print(found.to_string(index=False, float_format="%.2f"))


if __name__ == "__main__":
    main()
