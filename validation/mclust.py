"""The R package mclust, where there is one: its own choice among its models, at a given k."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

__all__ = ["has_mclust", "mclust"]

#: Seconds after which mclust is given up: some of its models take minutes with 30 features.
PATIENCE = 1800
_PROGRAM = """
suppressPackageStartupMessages(library(mclust))
given <- commandArgs(trailingOnly = TRUE)
size <- as.integer(given[2:4])
x <- matrix(readBin(given[1], "double", size[1] * size[2]), size[1], size[2])
for (turn in seq_len(as.integer(given[5]) + 1)) {
    used <- system.time(fit <- Mclust(x, G = size[3], verbose = FALSE))
    seconds <- used[["user.self"]] + used[["sys.self"]]
    cat(seconds, fit$classification, "\\n")
    if (seconds > 2) break
}
"""


@cache
def has_mclust() -> bool:
    """Whether R and its package mclust are here."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        return False
    command = [rscript, "-e", 'if (!requireNamespace("mclust", quietly = TRUE)) quit(status = 1)']
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def mclust(X: np.ndarray, k: int, turns: int = 0) -> tuple[float, np.ndarray | None]:
    """CPU seconds of mclust and its labels; NaN and none without mclust or patience.

    Parameters
    ----------
    X : ndarray
    k : int
        Number of clusters.
    turns : int
        How often a fit of less than two seconds is timed, after one to warm up.
    """
    if not has_mclust():
        return np.nan, None
    with tempfile.TemporaryDirectory() as name:
        data, program = Path(name) / "x", Path(name) / "program.R"
        data.write_bytes(X.tobytes(order="F"))
        program.write_text(_PROGRAM)
        command = ["Rscript", str(program), str(data), *map(str, (*X.shape, k, turns))]
        one_thread = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                env=one_thread,
                check=True,
                timeout=PATIENCE,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return np.nan, None
    lines = [line.split() for line in done.stdout.splitlines()]
    # the first turn warms up, if there are others
    seconds = [float(line[0]) for line in lines[1:] or lines]
    return float(np.median(seconds)), np.array(lines[-1][1:], dtype=int)
