"""Synthetic results whose parts belong together, and when two fits are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ewp.results.results import EWPResults
from ewp.solver.fit import FitOptions


def make_trace(n_anneal: int = 30, n_finish: int = 6, n_polish: int = 4) -> pd.DataFrame:
    """A trace of as many iterations, with one more row for the parameters returned."""
    m = np.arange(n_anneal + n_finish + n_polish + 1)
    phase = ["anneal"] * n_anneal + ["finish"] * n_finish + ["polish"] * (n_polish + 1)
    s = np.where(m < n_anneal, -(1.2**m), -np.inf)
    f_inf = 10 + 5 * np.exp(-m / 8)
    f_s = f_inf + np.where(m < n_anneal, 20 * np.exp(-m / 6), 0.0)
    return pd.DataFrame(
        {
            "iteration": m,
            "phase": phase,
            "s": s,
            "f_s": f_s,
            "f_inf": f_inf,
            "entropy": np.linspace(1.5, 0.7, len(m)),
            "effective_features": np.exp(np.linspace(1.5, 0.7, len(m))),
            "delta_centroids": 0.5**m,
            "delta_weights": 0.4**m,
        }
    )


def make_results(
    n: int = 60,
    p: int = 5,
    k: int = 3,
    *,
    names: Any = None,
    rows: Any = None,
    weights: Any = None,
    scaling: str = "none",
    sample_weight: np.ndarray | None = None,
    frame: bool = True,
    seed: int = 0,
    **fields: Any,
) -> EWPResults:
    """Results of k clusters around random centres; ``fields`` replace what is made here."""
    rng = np.random.default_rng(seed)
    labels = np.sort(np.r_[np.arange(k), (k * rng.random(n - k) ** 1.5).astype(int)])
    labels = np.argsort(-np.bincount(labels), kind="stable").argsort()[labels]
    rng.shuffle(labels)
    relevant = np.arange(p) < max(2, p // 2)
    X = rng.normal(scale=4.0, size=(k, p))[labels] * relevant + rng.normal(size=(n, p))
    if weights is None:
        weights = np.where(relevant, 1.0, 1e-6) * rng.uniform(0.5, 1.0, p)
    w = np.asarray(weights, dtype=float) / np.sum(weights)
    mass = np.ones(n) if sample_weight is None else sample_weight
    center = mass @ X / mass.sum()
    spread = np.sqrt(mass @ (X - center) ** 2 / mass.sum())
    scale = spread if scaling == "standard" else np.ones(p)
    of = (labels == np.arange(k)[:, None]) * mass
    theta = of @ X / of.sum(1, keepdims=True)
    within = ((X - theta[labels]) / scale) ** 2 @ w
    features = pd.Index([f"x{i}" for i in range(p)] if names is None else names)
    index = pd.RangeIndex(n) if rows is None else pd.Index(rows)
    numbers = pd.RangeIndex(k, name="cluster")
    sizes = {"size": np.bincount(labels, minlength=k), "mass": of.sum(1), "withinss": of @ within}
    lam = fields.pop("lam", 30.0)
    made: dict[str, Any] = {
        "weights": pd.Series(w, index=features, name="weight"),
        "centroids": pd.DataFrame(theta, index=numbers, columns=features),
        "labels": pd.Series(labels, index=index, name="cluster"),
        "objective": float(mass @ within + lam * (w[w > 0] @ np.log(w[w > 0]))),
        "objective_trace": make_trace(),
        "s0": -1.0,
        "converged": True,
        "n_iter": 40,
        "clusters": pd.DataFrame(sizes, index=numbers),
        "totss": float(mass @ (((X - center) / scale) ** 2 @ w)),
        "center": center,
        "scale": scale,
        "prior": np.ones(p),
        "critical_exponent": -0.75,
        "fit_options": FitOptions(
            n_clusters=k,
            lam=lam,
            n_init=2,
            max_iter=300,
            random_state=0,
            scale="standard" if scaling == "standard" else None,
            dispersion="within",
        ),
        "n_starts": 2,
        "data": pd.DataFrame(X, index=index, columns=features) if frame else X,
        "sample_weight": sample_weight,
        "spread": spread,
    }
    return EWPResults(**(made | fields))


def uneven_weights(n: int = 60) -> np.ndarray:
    """Weights of rows, no two of them equal."""
    return np.random.default_rng(1).uniform(0.5, 2.0, n)


def assert_identical(found: EWPResults, wanted: EWPResults) -> None:
    """Two fits agree to the last bit."""
    assert found.objective == wanted.objective
    np.testing.assert_array_equal(found.weights, wanted.weights)
    np.testing.assert_array_equal(found.centroids, wanted.centroids)
    np.testing.assert_array_equal(found.labels, wanted.labels)
