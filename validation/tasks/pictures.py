"""Partitions and weights behind the paper's figures."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import ewp
from ewp.datasets import make_feature_selection, make_simulation1, make_simulation2
from validation.tasks.contest import (
    choose_default,
    draw_starts,
    gap_bound,
    published_at,
    tuned_default,
)

__all__ = ["boxes", "figure1", "figure2"]

METHODS = ("kmeans", "wkmeans", "power-published", "sparse")
#: The study of feature selection: clusters, scalings, and penalties a row for the published
#: algorithm, which suit it.
_CLUSTERS = 10
_SCALES = {"raw": None, "standardised": "standard"}
_PENALTIES = {"raw": 0.05, "standardised": 0.15}


def _partitions(data: Any, k: int, seed: int, bound: float) -> dict[str, Any]:
    """One trial on raw features: five methods as the paper has them, and this package."""
    X, y, _ = data
    chosen = choose_default(X, k, seed)
    published = published_at(ewp.lambda_path(X, k), len(X))
    found = ewp.compare(
        X,
        k,
        y,
        methods=(*METHODS, *published, tuned_default(chosen)),
        n_trials=1,
        scale=None,
        init=draw_starts(X, k, 1, seed),
        wbound=bound,
        random_state=seed,
    )
    nmi = found.scores.set_index("method")["nmi"].to_dict()
    best = max((method.name for method in published), key=lambda name: nmi[name])
    shown = {**{name: name for name in METHODS}, "ewp-published": best, "ewp": "ewp"}
    return {
        "labels": {name: found.labels[kept].iloc[0].tolist() for name, kept in shown.items()},
        "nmi": {name: nmi[kept] for name, kept in shown.items()},
    }


def figure1(k: int, seed: int) -> dict[str, Any]:
    """The motivating example: k clusters in 5 of 100 features."""
    data = make_simulation2(k, random_state=seed)
    return _partitions(data, k, seed, len(data.relevant) ** 0.5)


def figure2(d: int, seed: int) -> dict[str, Any]:
    """Simulation 1, whose clusters can be seen in a plane."""
    data = make_simulation1(d, random_state=seed)
    return _partitions(data, 100, seed, gap_bound(data.X, 100, None, seed, 3, 5))


@cache
def _bound(scaling: str) -> float:
    """Bound of sparse k-means by the permutation gap, chosen once, on the design's first draw."""
    X = make_feature_selection(k=_CLUSTERS, random_state=0).X
    return gap_bound(X, _CLUSTERS, _SCALES[scaling], 0, permutations=5, bounds=6)


def boxes(seed: int, scaling: str, part: str) -> dict[str, Any]:
    """Weights of one replicate of the study of feature selection.

    Parameters
    ----------
    seed : int
        Seed of the data and of the starting centroids.
    scaling : {"raw", "standardised"}
    part : {"native", "sparcl"}
        All methods of this package, or sparcl. The published algorithm has a given penalty, named
        "published", and one by selection.
    """
    X, labels, relevant = make_feature_selection(k=_CLUSTERS, random_state=seed)
    (given,) = published_at(np.array([_PENALTIES[scaling] * len(X)]), len(X))
    native = ("kmeans", "power", "wkmeans", "sparse", "ewp-published", "ewp", given)
    found = ewp.compare(
        X,
        _CLUSTERS,
        labels,
        methods=native if part == "native" else ("sparcl",),
        n_trials=1,
        scale=_SCALES[scaling],
        init=draw_starts(X, _CLUSTERS, 1, seed),
        wbound=_bound(scaling),
        random_state=seed,
    )
    weights = found.weights.droplevel("trial").rename(index={given.name: "published"})
    return {
        "nmi": found.scores.set_index("method")["nmi"].rename({given.name: "published"}).to_dict(),
        "relevant": weights.iloc[:, relevant].sum(axis=1).to_dict(),
        "weights": {name: row.round(6).tolist() for name, row in weights.T.items()},
    }
