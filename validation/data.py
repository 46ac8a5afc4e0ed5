"""Data of the studies: simulated designs, and the paper's real sets as this machine has them.

Every entry of `DESIGNS` is a function of a seed that returns X and the true labels; some are the
paper's, others it avoids. Real sets are found where `ewp.datasets.load_dataset` finds them. Those
with a known flaw come in two versions, as they are and mended. Cells carry a hash of the data, so
other data are other cells.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from ewp.datasets import (
    DATA_VARIABLE,
    DATASETS,
    load_dataset,
    make_feature_selection,
    make_simulation1,
    make_simulation2,
)

__all__ = [
    "DESIGNS",
    "FACES",
    "FURTHER",
    "MENDED",
    "SEED",
    "WIDE",
    "available",
    "digest",
    "further",
    "load",
    "load_further",
    "scaled",
    "wide",
]

Data = tuple[np.ndarray, np.ndarray]


def _standardised(data: Data) -> Data:
    X, labels = data
    return (X - X.mean(axis=0)) / X.std(axis=0), labels


def _simulation1(d: int) -> Callable[[int], Data]:
    return lambda seed: tuple(make_simulation1(d, random_state=seed))[:2]  # type: ignore[return-value]


def _simulation2(k: int) -> Callable[[int], Data]:
    return lambda seed: tuple(make_simulation2(k, random_state=seed))[:2]  # type: ignore[return-value]


def _feature_selection(seed: int) -> Data:
    X, labels, _ = make_feature_selection(random_state=seed)
    return X, labels


def wide(seed: int) -> Data:
    """More features than rows; the relevant ones have the larger variance."""
    rng = np.random.default_rng(seed)
    labels = np.arange(80) % 4
    X = rng.normal(0, 1.5, (80, 2000))
    X[:, :20] = rng.normal(0, 2, (4, 20))[labels] + rng.standard_normal((80, 20))
    return X, labels


def unbalanced(seed: int) -> Data:
    """Cluster sizes from 15 to 300."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(5), [300, 150, 80, 30, 15])
    X = rng.standard_normal((len(labels), 30))
    X[:, :4] = rng.normal(0, 4, (5, 4))[labels] + rng.standard_normal((len(labels), 4))
    return X, labels


def heavy_tails(seed: int) -> Data:
    """Noise features with three degrees of freedom."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, 400)
    X = rng.standard_t(3, (400, 30))
    X[:, :5] = rng.normal(0, 2.5, (4, 5))[labels] + rng.standard_normal((400, 5))
    return X, labels


def mixed_scales(seed: int) -> Data:
    """Columns in units that differ by eight orders of magnitude."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, 400)
    X = rng.standard_normal((400, 20))
    X[:, :6] = rng.normal(0, 2.5, (4, 6))[labels] + rng.standard_normal((400, 6))
    return X * 10.0 ** rng.uniform(-4, 4, 20), labels


def no_noise(seed: int) -> Data:
    """Every feature is relevant."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, 400)
    return rng.normal(0, 2, (5, 8))[labels] + rng.standard_normal((400, 8)), labels


def overlapping(seed: int) -> Data:
    """Three clusters whose centres are two standard deviations apart in four features."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, 500)
    centres = np.array([[0.0, 0, 0, 0], [2, 2, 0, 0], [0, 0, 2, 2]])
    X = rng.standard_normal((500, 16))
    X[:, :4] += centres[labels]
    return X, labels


DESIGNS: dict[str, Callable[[int], Data]] = {
    "simulation 1, d = 5": _simulation1(5),
    "simulation 1, d = 20": _simulation1(20),
    "simulation 1, d = 100": _simulation1(100),
    "simulation 2, k = 20": _simulation2(20),
    "simulation 2, k = 20, standardised": lambda seed: _standardised(_simulation2(20)(seed)),
    "feature selection": _feature_selection,
    "p >> n, relevant features of larger variance": wide,
    "unbalanced sizes": unbalanced,
    "heavy-tailed noise": heavy_tails,
    "columns of mixed scale": mixed_scales,
    "no noise": no_noise,
    "overlapping clusters": overlapping,
}
#: What is done to the sets with a known flaw.
MENDED = {
    "mammographic": "BI-RADS 55 in one row set to 5",
    "automobile": "constant column dropped",
}
SEED = 0
FACES = ("warpAR10P", "warpPIE10P")
WIDE = (*FACES, "GLIOMA")
#: Sets that are not the paper's: from UCI and from the R packages pgmm, datasetsICR, plsgenomics
#: and spls. They are looked for in the folder of the others.
FURTHER = (
    "coffee",
    "olive3",
    "olive9",
    "wine27",
    "SRBCT",
    "leukemia",
    "colon",
    "lymphoma",
    "prostate",
    "seeds",
    "ecoli",
    "yeast",
    "dermatology",
)


def load(name: str, version: str = "as it is") -> tuple[np.ndarray, np.ndarray, int]:
    """Data, classes and their number."""
    data = load_dataset(name)
    X = data.X.to_numpy(dtype=float)
    if version == "mended" and name == "mammographic":
        X = np.where((X == 55) & (np.arange(X.shape[1]) == 0), 5.0, X)
    if version == "mended" and name == "automobile":
        X = X[:, np.ptp(X, axis=0) > 0]
    return X, data.y.to_numpy(), data.k


def digest(name: str) -> str:
    """Hash of a data set; raises FileNotFoundError where there is none."""
    X, y, _ = load(name)
    return hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()[:16]


def scaled(X: np.ndarray, scaling: str) -> np.ndarray:
    """Raw features, or divided by their standard deviations or by their ranges."""
    if scaling == "raw":
        return X
    spread = X.std(axis=0) if scaling == "standardised" else np.ptp(X, axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


@cache
def available() -> dict[str, str]:
    """Real sets that can be loaded, with the hashes of their data."""
    found = {}
    for name in DATASETS:
        try:
            found[name] = digest(name)
        except FileNotFoundError:
            continue
    return found


def load_further(name: str) -> Data:
    """Data and classes of one of `FURTHER`; raises FileNotFoundError where there is none.

    Parameters
    ----------
    name : str
        The file is ``name.csv.gz``, with a header and the classes as its last column.
    """
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        raise FileNotFoundError(f"{DATA_VARIABLE} names no folder with {name}.csv.gz")
    path = Path(folder) / f"{name}.csv.gz"
    if not path.is_file():
        raise FileNotFoundError(f"{path} was not found")
    values = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    return values[:, :-1].copy(), np.unique(values[:, -1], return_inverse=True)[1]


@cache
def further() -> dict[str, str]:
    """Those of `FURTHER` that are at hand, with the hashes of their data."""
    found = {}
    for name in FURTHER:
        try:
            X, y = load_further(name)
        except FileNotFoundError:
            continue
        found[name] = hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()[:16]
    return found
