"""Hartigan and Wong's k-means beside R's compiled one, as ratios of CPU time.

Run ``python validation/benchmarks/hartigan_wong.py``; it needs R. Both make the same fits in turn,
from the same starting rows with ten iterations at most, so that a noisy machine disturbs both, and
must return the same partitions. R times its own calls, with the data in its memory; small fits are
repeated, since its clock counts milliseconds. A ratio is that of medians over the turns. Noise
without clusters is the hard case: rows move until the end.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from ewp.common.parallel import one_blas_thread
from ewp.peers.hartigan_wong import hartigan_wong

SIZES = [(2_000, 200, 10), (500, 20, 5), (5_000, 50, 20), (100, 2_000, 4)]

R_PROGRAM = """
given <- commandArgs(trailingOnly = TRUE)
size <- as.integer(given[2:4])
repeats <- as.integer(given[5])
read <- function(name, rows) {
    matrix(readBin(file.path(given[1], name), "double", rows * size[2]), rows, size[2])
}
x <- read("x", size[1])
input <- file("stdin", "r")
while (length(readLines(input, 1))) {
    centers <- read("centers", size[3])
    used <- system.time(for (i in seq_len(repeats)) {
        fit <- suppressWarnings(kmeans(x, centers, iter.max = 10))
    })
    cat((used[["user.self"]] + used[["sys.self"]]) / repeats, fit$cluster - 1, "\\n")
}
"""


def draw(kind: str, n: int, p: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Noise, with or without k groups in a tenth of the features."""
    X = rng.standard_normal((n, p))
    if kind == "groups":
        relevant = max(p // 10, 2)
        X[:, :relevant] += rng.normal(0, 2, (k, relevant))[rng.integers(k, size=n)]
    return X


def measure(kind: str, n: int, p: int, k: int, turns: int, rscript: str) -> dict[str, object]:
    """Seconds of both and their ratio on one data set, medians over the turns."""
    rng = np.random.default_rng(0)
    X = draw(kind, n, p, k, rng)
    repeats = max(1, 2_000_000 // (n * p * k))
    seconds = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "x").write_bytes(X.tobytes(order="F"))
        (folder / "program.R").write_text(R_PROGRAM)
        command = [rscript, str(folder / "program.R"), name, *map(str, (n, p, k, repeats))]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as r:
            assert r.stdin is not None
            assert r.stdout is not None
            for turn in range(turns + 1):
                centers = X[rng.choice(n, k, replace=False)]
                (folder / "centers").write_bytes(centers.tobytes(order="F"))
                print("again", file=r.stdin, flush=True)
                theirs, *labels = r.stdout.readline().split()
                begin = time.process_time()
                for _ in range(repeats):
                    fit = hartigan_wong(X, centers)
                seconds.append(((time.process_time() - begin) / repeats, float(theirs)))
                if fit.labels.tolist() != [int(label) for label in labels]:
                    sys.exit(f"partitions differ: {kind}, n={n}, p={p}, k={k}, start {turn}")
            r.stdin.close()
    mine, theirs = np.array(seconds[1:]).T  # the first turn warms both up
    return {
        "data": kind,
        "n": n,
        "p": p,
        "k": k,
        "ewp, ms": 1e3 * np.median(mine),
        "R, ms": 1e3 * np.median(theirs),
        "ewp / R": np.median(mine) / np.median(theirs),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=15, help="starts for each data set")
    arguments = parser.parse_args()
    rscript = shutil.which("Rscript")
    if rscript is None:
        sys.exit("Rscript is not on the PATH")
    with one_blas_thread():
        rows = [
            measure(kind, *size, arguments.turns, rscript)
            for size in SIZES
            for kind in ("groups", "noise")
        ]
    print(pd.DataFrame(rows).to_string(index=False, float_format="%.2f"))


if __name__ == "__main__":
    main()
