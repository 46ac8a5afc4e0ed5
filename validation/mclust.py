"""R's mclust and its partitioning around medoids, where there is an R that has them.

mclust chooses among its own models by BIC, at a given number of clusters or among several. PAM is
in the package cluster, which comes with R.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

__all__ = ["has_mclust", "mclust", "pam"]

#: Seconds after which R is given up: some models of mclust take minutes with 30 features.
PATIENCE = 1800
_PROGRAM = """
suppressPackageStartupMessages(library({package}))
given <- commandArgs(trailingOnly = TRUE)
size <- as.integer(given[2:5])
x <- matrix(readBin(given[1], "double", size[1] * size[2]), size[1], size[2])
for (turn in seq_len(as.integer(given[6]) + 1)) {{
    used <- system.time(labels <- {call})
    seconds <- used[["user.self"]] + used[["sys.self"]]
    cat(seconds, labels, "\\n")
    if (seconds > 2) break
}}
"""
_MCLUST = "Mclust(x, G = size[3]:size[4], verbose = FALSE)$classification"
_PAM = "pam(x, size[3], cluster.only = TRUE, pamonce = 5)"


@cache
def has_mclust() -> bool:
    """Whether R and its package mclust are here."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        return False
    command = [rscript, "-e", 'if (!requireNamespace("mclust", quietly = TRUE)) quit(status = 1)']
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def mclust(
    X: np.ndarray, k: int | tuple[int, int], turns: int = 0, patience: float = PATIENCE
) -> tuple[float, np.ndarray | None]:
    """CPU seconds of mclust and its labels; NaN and none without mclust or patience.

    Parameters
    ----------
    X : ndarray
    k : int or tuple of int
        Number of clusters, or the smallest and the largest among which BIC chooses.
    turns : int
        How often a fit of less than two seconds is timed, after one to warm up.
    patience : float
        Seconds after which it is given up.
    """
    if not has_mclust():
        return np.nan, None
    numbers = k if isinstance(k, tuple) else (k, k)
    return _in_r("mclust", _MCLUST, X, numbers, turns, patience)


def pam(X: np.ndarray, k: int, patience: float = PATIENCE) -> tuple[float, np.ndarray | None]:
    """CPU seconds of R's partitioning around medoids and its labels; NaN and none without R.

    Parameters
    ----------
    X : ndarray
    k : int
    patience : float
        Seconds after which it is given up.
    """
    if shutil.which("Rscript") is None:
        return np.nan, None
    return _in_r("cluster", _PAM, X, (k, k), 0, patience)


def _in_r(
    package: str, call: str, X: np.ndarray, numbers: tuple[int, int], turns: int, patience: float
) -> tuple[float, np.ndarray | None]:
    """Run a call in R on one thread."""
    with tempfile.TemporaryDirectory() as name:
        data, program = Path(name) / "x", Path(name) / "program.R"
        data.write_bytes(X.tobytes(order="F"))
        program.write_text(_PROGRAM.format(package=package, call=call))
        command = ["Rscript", str(program), str(data), *map(str, (*X.shape, *numbers, turns))]
        one_thread = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                env=one_thread,
                check=True,
                timeout=patience,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return np.nan, None
    lines = [line.split() for line in done.stdout.splitlines()]
    # the first turn warms up, if there are others
    seconds = [float(line[0]) for line in lines[1:] or lines]
    return float(np.median(seconds)), np.array(lines[-1][1:], dtype=int)
