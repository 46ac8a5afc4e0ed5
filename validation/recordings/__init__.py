"""Recorded outputs of R, and how they are read.

`sparcl.json.gz` holds sparse k-means by sparcl 1.0.4 and k-means by stats::kmeans, R 4.2.2: eleven
data sets, each with two sets of starting centres, five column-wise permutations, and what R made of
them. Numbers have 17 significant digits, so they are the doubles of R; clusters and row numbers
count from 0. For each case: ``x``, ``k``, ``permutations``, ``random`` (sparcl with 20 random
starts) and, for each of the ``starts``, ``centers``, ``kmeans`` (Hartigan-Wong, by ``iter.max``),
``single`` (one sparcl call per bound), ``path`` (one call for all bounds), ``stopped`` (bounds at
which sparcl ended with an error) and ``gap`` (the permutation gap: its figures and the fits on
permuted data, or its error). `fpc.json` holds resamples of clusters by fpc, as `fpc.R` made them.
`missing.csv` holds means over draws with missing values, those of k-POD among them.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = [
    "cases",
    "data",
    "fits",
    "fpc",
    "gaps",
    "k_pod",
    "same_partition",
    "start",
    "starts",
]

_FOLDER = Path(__file__).parent


@cache
def cases() -> dict[str, dict[str, Any]]:
    """All cases by name."""
    return json.loads(gzip.decompress((_FOLDER / "sparcl.json.gz").read_bytes()))["cases"]


@cache
def fpc() -> dict[str, dict[str, Any]]:
    """What fpc's clusterboot made of its resamples, for both of its schemes."""
    return json.loads((_FOLDER / "fpc.json").read_text())


@cache
def _missing() -> pd.Series:
    """Means over draws with missing values, by data, share and figure."""
    table = pd.read_csv(_FOLDER / "missing.csv", comment="#")
    return table.set_index(["data", "share", "figure"])["value"]


def k_pod(name: str, share: float) -> float | None:
    """NMI of k-POD with the classes where a share of the values is missing; None where unknown."""
    return _missing().get((name, share, "k-POD"))


def data(case: str) -> np.ndarray:
    """Rows and features of a case."""
    return np.array(cases()[case]["x"])


def start(case: str, name: str) -> dict[str, Any]:
    """Everything recorded from one set of starting centres; ``centers`` as an array."""
    found = cases()[case]["starts"][name]
    return {**found, "centers": np.array(found["centers"])}


def starts() -> list[tuple[str, str]]:
    """Names of all cases and sets of starting centres."""
    return [(case, name) for case, found in cases().items() for name in found["starts"]]


def fits(kind: str) -> list[tuple[str, str, int]]:
    """Case, start and position of each recorded fit: `kind` is "single", "path" or "stopped"."""
    return [
        (case, name, i)
        for case, name in starts()
        for i in range(len(cases()[case]["starts"][name][kind]))
    ]


def gaps(finished: bool) -> list[tuple[str, str]]:
    """Cases and starts whose permutation gap sparcl finished, or where it stopped."""
    return [s for s in starts() if ("error" not in start(*s)["gap"]) == finished]


def same_partition(a: Any, b: Any) -> bool:
    """Equal up to the numbering of the clusters."""
    pairs = set(zip(np.asarray(a).tolist(), np.asarray(b).tolist(), strict=True))
    return len(pairs) == len({x for x, _ in pairs}) == len({y for _, y in pairs})
