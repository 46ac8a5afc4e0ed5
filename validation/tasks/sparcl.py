"""sparcl's recorded outputs beside native sparse k-means and, where there is R, sparcl itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from ewp.permutation import sparse_gap
from ewp.sparse import sparse_path
from validation import recordings

__all__ = ["live", "native"]


def _difference(weights: Any, labels: Any, recorded: dict[str, Any]) -> tuple[float, bool]:
    gap = float(np.abs(np.asarray(weights) - recorded["weights"]).max())
    return gap, recordings.same_partition(labels, recorded["labels"])


def native(case: str) -> dict[str, Any]:
    """Fits and permutation gaps of the native sparse k-means against those recorded."""
    X = recordings.data(case)
    found, gaps = [], []
    for name in recordings.cases()[case]["starts"]:
        start = recordings.start(case, name)
        for recorded in start["single"]:
            (fit,) = sparse_path(X, start["centers"], [recorded["bound"]])
            found.append(_difference(fit.weights, fit.labels, recorded))
        if "error" not in start["gap"]:
            orders = np.array(recordings.cases()[case]["permutations"])
            gap = sparse_gap(X, start["centers"], start["gap"]["bounds"], permutations=orders)
            gaps.append(float(np.abs(gap.gaps - start["gap"]["gaps"]).max()))
    return {
        "n": len(X),
        "p": X.shape[1],
        "k": recordings.cases()[case]["k"],
        "fits": len(found),
        "same": sum(same for _, same in found),
        "weights": max(gap for gap, _ in found),
        "gaps": len(gaps),
        "gap": max(gaps, default=0.0),
    }


def live(case: str) -> dict[str, Any]:
    """Fits of the sparcl that is installed against those recorded."""
    from r_bridge import sparcl

    X = recordings.data(case)
    found = []
    for name in recordings.cases()[case]["starts"]:
        start = recordings.start(case, name)
        for recorded in start["single"]:
            fit = sparcl.kmeans_sparse_cluster(
                X, centers=start["centers"], wbounds=recorded["bound"], seed=1
            )[0]
            found.append(_difference(fit.weights, fit.labels, recorded))
    return {
        "fits": len(found),
        "same": sum(same for _, same in found),
        "weights": max(gap for gap, _ in found),
    }
