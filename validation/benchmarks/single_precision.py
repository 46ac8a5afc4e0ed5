"""Fits in single precision beside the same fits in double precision.

Run ``python validation/benchmarks/single_precision.py``; it writes ``single_precision.csv``. Times
are of one thread in CPU seconds, in turns within one process; a ratio is the median over the turns.
Memory is what NumPy and Python hold at most during the fits, beyond the rows and with them. On the
paper's simulations the partitions are compared with the classes, and the objectives with each
other: both are those of the data in double precision at the centroids and weights that were found.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import normalized_mutual_info_score

import ewp
from ewp.common.parallel import one_blas_thread
from ewp.datasets import Simulation, make_simulation1, make_simulation2
from ewp.engine.array import ArrayEngine
from ewp.engine.precision import DOUBLE, SINGLE

SHAPES = [(100_000, 50, 10), (100_000, 50, 20), (1_000_000, 20, 10), (1_000_000, 20, 20)]
EXPONENTS = (-1.0, -5.25, -60.5, -np.inf)
SIMULATIONS: dict[str, Callable[[int], Simulation]] = {
    "simulation 1, d = 5": lambda seed: make_simulation1(5, random_state=seed),
    "simulation 1, d = 20": lambda seed: make_simulation1(20, random_state=seed),
    "simulation 2, k = 20": lambda seed: make_simulation2(20, random_state=seed),
}
#: Rows from which on a fit is timed once.
_LARGE = 1_000_000
RECORD = Path(__file__).with_suffix(".csv")
Row = dict[str, object]


def pass_ratios(turns: int) -> list[Row]:
    """CPU time of a pass over the rows, single over double precision, at some exponents."""
    rows: list[Row] = []
    for n, p, k in SHAPES:
        made = make_simulation2(k, n, p, random_state=0)
        engines = [
            ArrayEngine(made.X.astype(kind), dtype=kind, keep=False) for kind in (DOUBLE, SINGLE)
        ]
        theta = engines[0].to_engine_units(made.centers)[None]
        weights = np.full((1, p), 1.0 / p)
        for s in EXPONENTS:
            seconds: list[list[float]] = [[], []]
            for _ in range(turns):
                for engine, own in zip(engines, seconds, strict=True):
                    begin = time.process_time()
                    engine.statistics(theta, weights, np.array([s]))
                    own.append(time.process_time() - begin)
            ratio = float(np.median(np.divide(seconds[1], seconds[0])))
            rows.append({"what": f"pass at s = {s:g}", "data": f"{n} x {p}, k = {k}"})
            rows[-1] |= {"figure": "time ratio", "value": round(ratio, 3), "draws": turns}
    return rows


def fit_ratios(turns: int) -> list[Row]:
    """CPU time and memory of whole fits at a given penalty."""
    rows: list[Row] = []
    for n, p, k in SHAPES:
        X = make_simulation2(k, n, p, random_state=1).X
        both = X, X.astype(np.float32)
        seconds: list[list[float]] = [[], []]
        beyond = [0, 0]
        for turn in range(turns if n < _LARGE else 1):
            for i, rows_of_kind in enumerate(both):
                tracemalloc.start()
                begin = time.process_time()
                ewp.fit(rows_of_kind, k, lam=0.05 * n, scale=None, random_state=turn)
                seconds[i].append(time.process_time() - begin)
                beyond[i] = max(beyond[i], tracemalloc.get_traced_memory()[1])
                tracemalloc.stop()
        total = [more + one.nbytes for more, one in zip(beyond, both, strict=True)]
        figures = {
            "time ratio": float(np.median(np.divide(seconds[1], seconds[0]))),
            "memory ratio beyond X": beyond[1] / beyond[0],
            "memory ratio with X": total[1] / total[0],
            "MB beyond X, double": beyond[0] / 1e6,
            "MB beyond X, single": beyond[1] / 1e6,
        }
        rows += [
            {
                "what": "fit at a given penalty",
                "data": f"{n} x {p}, k = {k}",
                "figure": name,
                "value": round(value, 3),
                "draws": len(seconds[0]),
            }
            for name, value in figures.items()
        ]
    return rows


def accuracy(draws: int, penalty: str) -> list[Row]:
    """NMI in both precisions, and how far the objectives are apart."""
    rows: list[Row] = []
    for name, make in SIMULATIONS.items():
        scores: list[list[float]] = [[], []]
        apart = []
        for draw in range(draws):
            X, labels, _ = make(draw)
            k = len(np.unique(labels))
            lam = 0.05 * len(X) if penalty == "given" else "auto"
            found = []
            for kind, own in zip((np.float64, np.float32), scores, strict=True):
                found.append(ewp.fit(X.astype(kind), k, lam, random_state=draw))
                own.append(normalized_mutual_info_score(labels, found[-1].labels.to_numpy()))
            double, single = found
            if np.isclose(double.lam, single.lam, rtol=1e-5):
                size = float(double.clusters["withinss"].sum())
                size = max(size, abs(double.objective))
                apart.append(abs(single.objective - double.objective) / size)
        figures = {
            "NMI, double": np.mean(scores[0]),
            "NMI, single": np.mean(scores[1]),
            "largest difference of NMI": np.abs(np.subtract(*scores)).max(),
            "median relative difference of the objective": np.median(apart),
            "largest relative difference of the objective": np.max(apart),
        }
        rows += [
            {
                "what": f"fit, {penalty} penalty",
                "data": name,
                "figure": figure,
                "value": float(f"{value:.4g}"),
                "draws": draws,
            }
            for figure, value in figures.items()
        ]
    return rows


@one_blas_thread()
def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--default-draws", type=int, default=5)
    parser.add_argument("--only", choices=["passes", "fits", "given", "chosen"], nargs="*")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    parts: dict[str, Callable[[], list[Row]]] = {
        "passes": lambda: pass_ratios(2 * asked.turns),
        "fits": lambda: fit_ratios(asked.turns),
        "given": lambda: accuracy(asked.draws, "given"),
        "chosen": lambda: accuracy(asked.default_draws, "chosen"),
    }
    for name in asked.only or parts:
        # what was measured before stays where it is not measured again
        new = pd.DataFrame(parts[name]()).assign(part=name)
        old = pd.read_csv(RECORD) if RECORD.exists() else new.iloc[:0]
        table = pd.concat([one for one in (old[old["part"] != name], new) if len(one)])
        table.to_csv(RECORD, index=False)
    print(table.to_string())


if __name__ == "__main__":
    main()
