"""Long validation runs: data sets in parallel, each kept in a file as soon as it is finished."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
from joblib import Parallel, delayed

__all__ = ["replicate"]


def _numbered(function: Callable[[int], pd.DataFrame], seed: int) -> pd.DataFrame:
    table = function(seed)
    table.insert(0, "seed", seed)
    return table


def replicate(
    function: Callable[[int], pd.DataFrame],
    count: int,
    *,
    keep: Path | None = None,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Call a function for the seeds 0, 1, ... and put its tables together.

    Parameters
    ----------
    function : callable
        ``function(seed)`` returns a table.
    count : int
        Number of seeds.
    keep : Path, optional
        A CSV file to which each table is appended; seeds that are in it are not run again, so that
        an interrupted run goes on where it was.
    n_jobs : int, optional
        Number of processes.

    Returns
    -------
    DataFrame
        With the column ``seed`` in front.
    """
    parts = [pd.read_csv(keep)] if keep is not None and keep.exists() else []
    done = set(parts[0]["seed"]) if parts else set()
    missing = [seed for seed in range(count) if seed not in done]
    runs = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_numbered)(function, seed) for seed in missing
    )
    for table in runs:
        parts.append(table)
        if keep is not None:
            table.to_csv(keep, mode="a", header=not keep.exists(), index=False)
    found = pd.concat(parts, ignore_index=True)
    return found[found["seed"] < count].sort_values("seed", kind="stable")
