"""The authors' program on the real sets, along penalties: the best in hindsight."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

import ewp
from validation.tasks.authors import authors_variant
from validation.tasks.contest import draw_starts
from validation.tasks.real import SEED, load, scaled

__all__ = ["path"]


def path(name: str, version: str, data: str, scaling: str, lams: int, count: int) -> dict[str, Any]:
    """NMI of the authors' program from the same rows at each of many penalties.

    Parameters
    ----------
    name, version : str
    data : str
        Hash of the data.
    scaling : {"raw", "standardised", "range"}
    lams : int
        Length of the path. It reaches 10 k times lower than that of the paper's algorithm: the
        program's memberships, and so its dispersions, are up to k times smaller.
    count : int
        Starts at each penalty.
    """
    X, y, k = load(name, version)
    Z = scaled(X, scaling)
    starts = draw_starts(Z, k, count, SEED)
    ends = ewp.lambda_path(Z, k, 2)
    tried = []
    penalties = np.geomspace(ends[0] / (10 * k), ends[1], lams)
    for lam in penalties:
        with np.errstate(all="ignore"):
            found = [
                authors_variant(Z, k, lam, np.random.default_rng([SEED, trial]), start=start)
                for trial, start in enumerate(starts)
            ]
        tried.append(
            [round(float(normalized_mutual_info_score(y, labels)), 6) for labels, _, _ in found]
        )
    return {"lams": (penalties / len(X)).tolist(), "tried": tried}
