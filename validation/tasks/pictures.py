"""Partitions and weights behind the paper's figures."""

from __future__ import annotations

from typing import Any

import ewp
from ewp.datasets import make_simulation1, make_simulation2
from validation.feature_selection import replicate
from validation.tasks.contest import (
    choose_default,
    draw_starts,
    gap_bound,
    published_at,
    tuned_default,
)

__all__ = ["boxes", "figure1", "figure2"]

METHODS = ("kmeans", "wkmeans", "power-published", "sparse")


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


def boxes(seed: int, scaling: str) -> dict[str, Any]:
    """Weights of one replicate of the study of feature selection."""
    scores, weights = replicate(seed, scaling, automatic=False)
    return {
        "scores": scores[["method", "nmi", "relevant"]].to_dict("list"),
        "weights": {name: row.round(6).tolist() for name, row in weights.T.items()},
    }
