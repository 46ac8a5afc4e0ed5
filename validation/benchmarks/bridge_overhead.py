"""What the bridge adds to a call of sparcl: the same fit from Python and in an R of its own.

    python validation/benchmarks/bridge_overhead.py [repetitions]

Both make the same fit of n = 1000 rows and p = 500 features in turn, so that both meet the same
machine. R times its own call, with the data already in its memory; Python times everything from the
NumPy array to the pandas result. The CPU time is less disturbed by other programs than the clock.
What the bridge does beside the fit is also timed alone, by a call that checks and sends the same
data and asks R for nothing but their size: on a busy machine the difference of two fits is noise.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from r_bridge import sparcl
from r_bridge.inputs import read
from r_bridge.session import call

N, P, K, BOUND = 1000, 500, 5, 6.0

R_PROGRAM = """
given <- commandArgs(trailingOnly = TRUE)
read <- function(name, rows, columns) {
    matrix(readBin(file.path(given[1], name), "double", rows * columns), rows, columns)
}
x <- read("x", %(n)d, %(p)d)
centers <- read("centers", %(k)d, %(p)d)
invisible(loadNamespace("sparcl"))
input <- file("stdin", "r")
while (length(readLines(input, 1))) {
    used <- system.time(
        fit <- sparcl::KMeansSparseCluster(x, wbounds = %(bound)f, centers = centers, silent = TRUE)
    )
    cpu <- used[["user.self"]] + used[["sys.self"]]
    cat(sprintf("%%.6f %%.6f %%.17g\\n", used[["elapsed"]], cpu, sum(fit[[1]]$ws)))
}
"""


def main(repetitions: int) -> None:
    """Print seconds of both ways and their ratio."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P))
    X[:, :20] += 2.0 * (np.arange(N) % K)[:, None]
    centers = X[:K]
    rscript = shutil.which("Rscript")
    if rscript is None:
        sys.exit("Rscript is not on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x").write_bytes(X.tobytes(order="F"))
        (Path(folder) / "centers").write_bytes(centers.tobytes(order="F"))
        program = Path(folder) / "program.R"
        program.write_text(R_PROGRAM % {"n": N, "p": P, "k": K, "bound": BOUND})
        with subprocess.Popen(
            [rscript, str(program), folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as r:
            assert r.stdin is not None
            assert r.stdout is not None
            rows = []
            for repetition in range(repetitions + 1):
                print("again", file=r.stdin, flush=True)
                clock, cpu, total = map(float, r.stdout.readline().split())
                begin, begin_cpu = time.perf_counter(), time.process_time()
                found = sparcl.kmeans_sparse_cluster(X, centers=centers, wbounds=BOUND)
                mine = time.perf_counter() - begin, time.process_time() - begin_cpu
                assert abs(found[0].weights.sum() - total) < 1e-12
                begin_cpu = time.process_time()
                call("base", "dim", {"x": read(X).x})
                alone = time.process_time() - begin_cpu
                if repetition:  # the first call starts R
                    rows.append((clock, mine[0], cpu, mine[1], alone))
            r.stdin.close()
    times = pd.DataFrame(rows, columns=["R", "bridge", "R, CPU", "bridge, CPU", "alone, CPU"])
    print(f"KMeansSparseCluster, n={N}, p={P}, K={K}, {repetitions} repetitions, seconds:")
    print(times.agg(["min", "median"]).round(3).to_string())
    for kind, a, b in (("clock", "bridge", "R"), ("CPU", "bridge, CPU", "R, CPU")):
        least = times[a].min() / times[b].min() - 1
        paired = (times[a] / times[b]).median() - 1
        print(f"overhead by {kind}: {least:+.1%} (minima), {paired:+.1%} (median of the pairs)")
    share = times["alone, CPU"].median() / times["R, CPU"].median()
    print(f"checking and sending the data alone: {share:.1%} of R's CPU time")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
