"""Real data: twenty trials a set, and what is best in hindsight along paths of penalties.

The sets with a known flaw come in two versions, as they are and mended. Data are found where
`ewp.datasets.load_dataset` finds them; cells carry a hash of the data, so other data are other
cells.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

import ewp
from ewp.datasets import load_dataset
from validation.tasks.contest import (
    PUBLISHED,
    Rows,
    choose_default,
    contest,
    default_rows,
    draw_starts,
    gap_bound,
    tuned_default,
)

__all__ = ["MENDED", "best", "digest", "load", "partitions", "trials"]

#: What is done to the sets with a known flaw.
MENDED = {
    "mammographic": "BI-RADS 55 in one row set to 5",
    "automobile": "constant column dropped",
}
SEED = 0


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


def trials(name: str, version: str, data: str, part: str, count: int) -> Rows:
    """Some of the methods from the same random rows.

    Parameters
    ----------
    name, version : str
    data : str
        Hash of the data.
    part : {"ewp", "published", "peers", "sparcl"}
        As in `validation.tasks.simulations.trial`; all but the first on raw and on standardised
        features.
    count : int
        Number of trials.
    """
    X, y, k = load(name, version)
    shared: dict[str, Any] = {"seed": SEED, "trials": count}
    if part == "ewp":
        return default_rows(X, y, k, choose_default(X, k, SEED), **shared)
    methods = {
        "published": ("ewp-published",),
        "peers": ("kmeans", "power", "wkmeans", "sparse"),
        "sparcl": ("sparcl",),
    }[part]
    rows = []
    for scale in (None, "standard"):
        bound = 1.5
        if part != "published":
            # the gap compares few permutations where there are thousands of features
            permutations = 10 if X.shape[1] < 1000 else 3
            bound = gap_bound(X, k, scale, SEED, permutations, bounds=8)
        rows += contest(X, y, k, scale=scale, methods=methods, wbound=bound, **shared)
    return rows


def scaled(X: np.ndarray, scaling: str) -> np.ndarray:
    """Raw features, or divided by their standard deviations or by their ranges."""
    if scaling == "raw":
        return X
    spread = X.std(axis=0) if scaling == "standardised" else np.ptp(X, axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def best(
    name: str,
    version: str,
    data: str,
    scaling: str,
    form: str,
    variant: str,
    lams: int,
    tries: int,
    count: int,
) -> dict[str, Any]:
    """A path of penalties, and trials at the one that is best in hindsight.

    Parameters
    ----------
    name, version : str
    data : str
        Hash of the data.
    scaling : {"raw", "standardised", "range"}
    form : {"within", "between"}
    variant : {"published", "default"}
        Algorithm 1 of the paper or this package's.
    lams, tries : int
        Length of the path, and from how many starts each penalty is tried. Eight more penalties
        follow between the neighbours of the best.
    count : int
        Number of trials at the best.
    """
    X, y, k = load(name, version)
    Z = scaled(X, scaling)
    starts = draw_starts(Z, k, count, SEED)
    options = PUBLISHED if variant == "published" else {}

    def scores(lam: float, some: np.ndarray) -> list[float]:
        fits = (
            ewp.fit(Z, k, lam, scale=None, dispersion=form, init=one, random_state=SEED, **options)
            for one in some
        )
        return [round(float(normalized_mutual_info_score(y, fit.labels)), 6) for fit in fits]

    path = ewp.lambda_path(Z, k, lams, dispersion=form).tolist()
    tried = [scores(lam, starts[:tries]) for lam in path]
    at = int(np.argmax([np.mean(one) for one in tried]))
    ends = path[max(at - 1, 0)], path[min(at + 1, lams - 1)]
    finer = np.geomspace(*ends, 10)[1:-1].tolist()
    path += finer
    tried += [scores(lam, starts[:tries]) for lam in finer]
    at = int(np.argmax([np.mean(one) for one in tried]))
    final = tried[at] + scores(path[at], starts[tries:])
    return {"lams": [lam / len(X) for lam in path], "tried": tried, "at": at, "final": final}


def partitions(name: str, data: str) -> dict[str, Any]:
    """Partitions of one trial on raw features by five methods, for a picture."""
    X, y, k = load(name)
    found = ewp.compare(
        X,
        k,
        y,
        methods=("kmeans", "wkmeans", "power", "sparse", tuned_default(choose_default(X, k, SEED))),
        n_trials=1,
        scale=None,
        init=draw_starts(X, k, 1, SEED),
        wbound=gap_bound(X, k, None, SEED, permutations=3, bounds=8),
        random_state=SEED,
    )
    return {
        "labels": {name: frame.iloc[0].tolist() for name, frame in found.labels.items()},
        "nmi": found.scores.set_index("method")["nmi"].to_dict(),
    }
