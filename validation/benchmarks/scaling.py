"""How a fit grows: with cores, in memory, with n, k and p; out of core and on a Dask cluster.

Run ``python validation/benchmarks/scaling.py``. Times are of passes over the same data in turns, by
the clock where several cores work and by CPU time elsewhere; ratios are medians over the turns.
Memory is what Python's allocations add at their peak; the file is fitted in a process of its own,
whose resident memory is read at the end.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ewp
from ewp.common.parallel import one_blas_thread
from ewp.engine.array import ArrayEngine
from ewp.solver.iterate import step_of_run

#: The fit of a file, in a process that may have this much memory of its own.
ALLOWED = 2 * 2**30
CHILD = """
import resource, sys, time
resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[3]), int(sys.argv[3])))
import ewp
from ewp.engine.array import ArrayEngine
passes = 0
plain = ArrayEngine._pass
def counted(self, *arguments, **named):
    global passes
    passes += self.n == int(sys.argv[2])
    return plain(self, *arguments, **named)
ArrayEngine._pass = counted
begin = time.perf_counter()
found = ewp.fit(sys.argv[1], 10, 0.5 * float(sys.argv[2]), random_state=0, eta=1.2, tol=1e-3)
seconds = time.perf_counter() - begin
status = dict(line.split(":") for line in open("/proc/self/status"))
peak = int(status["VmHWM"].split()[0]) / 1024
print(seconds, passes, peak, found.n_iter, found.converged)
"""


def blobs(n: int, p: int, k: int) -> np.ndarray:
    """Draw overlapping clusters."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    X += rng.normal(0, 2, (k, p))[rng.integers(0, k, n)]
    return X


def pass_seconds(engine: ArrayEngine, k: int, s: float, clock: Any) -> float:
    """Seconds of one pass at exponent s."""
    theta, weights = engine.rows(np.arange(k)), np.full(engine.p, 1.0 / engine.p)
    with one_blas_thread():
        begin = clock()
        step_of_run(engine.statistics, theta, weights, s)
        return float(clock() - begin)


def cores(turns: int) -> dict[str, float]:
    """Speed of two threads over one, at 200,000 rows."""
    X = blobs(200_000, 50, 20)
    one, two = ArrayEngine(X, n_jobs=1), ArrayEngine(X, n_jobs=2)
    found = {}
    for s in (-5.0, -np.inf):
        times = [
            [pass_seconds(engine, 20, s, time.perf_counter) for engine in (one, two)]
            for _ in range(turns + 1)
        ][1:]
        found[f"one core / two, s = {s:g}"] = float(np.median([a / b for a, b in times]))
    return found


def memory() -> dict[str, float]:
    """Peak of what a fit of a million rows allocates beyond the data."""
    X = blobs(1_000_000, 20, 10)
    ewp.fit(X[:1000], 10, 50.0, random_state=0)
    tracemalloc.start()
    ewp.fit(X, 10, 0.05 * len(X), random_state=0, tol=1e-3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"MB beyond X, n = 1,000,000, p = 20, k = 10": peak / 1e6}


def growth(turns: int) -> dict[str, float]:
    """Exponents of the time of a pass in n, k and p."""
    ladders = {
        "n": [(n, 50, 20) for n in (20_000, 40_000, 80_000, 160_000)],
        "k": [(20_000, 50, k) for k in (20, 40, 80, 160)],
        "p": [(20_000, p, 20) for p in (50, 100, 200, 400)],
    }
    found = {}
    for name, sizes in ladders.items():
        engines = [(ArrayEngine(blobs(n, p, k)), k) for n, p, k in sizes]
        times = np.min(
            [
                [pass_seconds(e, k, -5.0, time.process_time) for e, k in engines]
                for _ in range(turns)
            ],
            axis=0,
        )
        steps = np.log([size[{"n": 0, "p": 1, "k": 2}[name]] for size in sizes])
        found[f"exponent in {name}"] = float(np.polyfit(steps, np.log(times), 1)[0])
    return found


def out_of_core(gigabytes: float) -> dict[str, float]:
    """A file against an array in memory: time of a row in a pass, and resident memory."""
    p = 20
    n = int(gigabytes * 2**30 / (8 * p))
    small = min(n, 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        part = blobs(small, p, 10)
        rows = np.lib.format.open_memmap(path, "w+", np.float64, (n, p))
        rng = np.random.default_rng(1)
        for start in range(0, n, small):
            rows[start : start + small] = part[: n - start] + rng.normal(0, 0.1, p)
        rows.flush()
        del rows
        command = [sys.executable, "-W", "ignore", "-c", CHILD, str(path), str(n), str(ALLOWED)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, passes, resident, steps, converged = done.stdout.split()
    engine = ArrayEngine(part)
    times = [pass_seconds(engine, 10, s, time.perf_counter) for s in (-5.0, -np.inf) * 5]
    inside = float(np.mean(times)) / small
    return {
        f"file of {gigabytes:g} GB / memory, time of a row in a pass": float(seconds)
        / n
        / float(passes)
        / inside,
        "file: resident memory, MB": float(resident),
        "file: steps": float(steps),
        "file: passes": float(passes),
        "file: converged": float(converged == "True"),
        "file: seconds": float(seconds),
    }


def dask(n: int, turns: int) -> dict[str, float]:
    """Two processes of Dask against two threads in memory."""
    import dask.array as da
    from distributed import Client, LocalCluster

    X = blobs(n, 20, 10)
    options: dict[str, Any] = {"random_state": 0, "polish": False, "tol": 1e-4}
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        lazy = client.persist(da.from_array(X, chunks=(n // 8, 20)))
        ratios = []
        for _ in range(turns):
            begin = time.perf_counter()
            ewp.fit(lazy, 10, 0.05 * n, **options)
            middle = time.perf_counter()
            ewp.fit(X, 10, 0.05 * n, n_jobs=2, **options)
            ratios.append((middle - begin) / (time.perf_counter() - middle))
    return {f"Dask, two processes / memory, two threads, n = {n:,}": float(np.median(ratios))}


def one_machine(turns: int) -> pd.DataFrame:
    """Cores, memory and growth, one figure a row."""
    return _table(cores(turns) | memory() | growth(turns))


def file(gigabytes: float) -> pd.DataFrame:
    """Data in a file, one figure a row."""
    return _table(out_of_core(gigabytes))


def cluster(rows: int, turns: int) -> pd.DataFrame:
    """Data on a Dask cluster, one figure a row."""
    return _table(dask(rows, max(turns // 2, 1)))


def _table(found: dict[str, float]) -> pd.DataFrame:
    return pd.DataFrame({"figure": list(found), "value": list(found.values())})


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="size of the file")
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows on the cluster")
    options = parser.parse_args()
    for measure in (
        lambda: one_machine(options.turns),
        lambda: file(options.gigabytes),
        lambda: cluster(options.rows, options.turns),
    ):
        found = measure()
        print(found.to_string(index=False, float_format="%.3g"), flush=True)


if __name__ == "__main__":
    main()
