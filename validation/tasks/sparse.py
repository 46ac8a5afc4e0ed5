"""Sparse k-means on its home ground, and annealed instead of by Hartigan and Wong's steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

import ewp
from ewp.datasets import make_feature_selection
from ewp.peers import SparseKMeans
from validation.tasks.contest import Rows, draw_starts
from validation.tasks.designs import wide
from validation.tasks.real import load, scaled

__all__ = ["ALGORITHMS", "WIDE", "annealed", "wide_design"]

#: Methods on the wide design; the last one is what the others are compared with.
WIDE = (
    "kmeans",
    "power",
    "wkmeans",
    "sparse",
    "sparse-annealed",
    "ewp-published",
    "ewp-between",
)
_RELEVANT = 20
ALGORITHMS: dict[str, dict[str, Any]] = {
    "Hartigan-Wong, six updates (sparcl)": {},
    "Hartigan-Wong, to the end": {"max_iter": 100, "tol": 1e-8},
    "Lloyd": {"algorithm": "lloyd"},
    "annealed": {"algorithm": "annealed"},
}


def wide_design(seed: int, scaling: str, trials: int) -> Rows:
    """All methods on one draw: 80 rows, 2000 features, of which 20 vary more and carry 4 clusters.

    Penalties and bounds are chosen by each method's own rule, without the classes.

    Parameters
    ----------
    seed : int
    scaling : {"raw", "standardised"}
    trials : int
        Starts.
    """
    X, labels = wide(seed)
    found = ewp.compare(
        X,
        4,
        labels,
        methods=WIDE,
        n_trials=trials,
        scale="standard" if scaling == "standardised" else None,
        reference=WIDE[-1],
        random_state=seed,
    )
    scores = found.scores.set_index(["method", "trial"])[["nmi", "ari", "seconds"]]
    scores["relevant"] = found.weights.iloc[:, :_RELEVANT].sum(axis=1)
    rows: Rows = scores.reset_index().assign(draw=seed).to_dict("records")
    return rows


def annealed(name: str, data: str, bound: str, starts: int) -> dict[str, dict[str, Any]]:
    """The criterion that sparse k-means maximises, and NMI, by each algorithm from the same rows.

    Parameters
    ----------
    name : str
        A real set, or "feature selection"; features are standardised.
    data : str
        Hash of a real set, nothing for the other.
    bound : {"tight", "middle", "loose"}
        From few features to a bound that hardly matters.
    starts : int
    """
    X, y = make_feature_selection(random_state=0)[:2] if data == "" else load(name)[:2]
    X, k = scaled(X, "standardised"), len(np.unique(y))
    root = X.shape[1] ** 0.5
    value = {"tight": 1.3, "middle": 0.5 * (1 + root), "loose": 0.9 * root}[bound]
    found = {}
    for title, options in ALGORITHMS.items():
        fits = [
            SparseKMeans(k, value, init=start, threshold="exact", **options).fit(X)
            for start in draw_starts(X, k, starts, 0)
        ]
        found[title] = {
            "bound": value,
            "criterion": [float(fit.objective_) for fit in fits],
            "nmi": [round(float(normalized_mutual_info_score(y, fit.labels_)), 6) for fit in fits],
        }
    return found
