"""Studies of what the paper leaves open: one draw, or one setting, a call."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

import ewp
from ewp.datasets import make_simulation1, make_simulation2
from ewp.peers import KMeans, PowerKMeans, SparseKMeans
from ewp.permutation import usual_bounds
from validation.tasks.authors import authors_variant
from validation.tasks.contest import PUBLISHED, draw_starts

__all__ = ["authors", "eta", "exponent", "forms", "polish", "spread", "starts"]


def _nmi(truth: np.ndarray, labels: Any) -> float:
    return round(float(normalized_mutual_info_score(truth, np.asarray(labels))), 6)


def _standardised(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def _example(scaling: str, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Simulation 2 with 20 clusters, and a penalty that suits the scaling."""
    X, y, _ = make_simulation2(20, random_state=seed)
    if scaling == "raw":
        return X, y, 0.05 * len(X)
    return _standardised(X), y, 0.15 * len(X)


def spread(sd: float, seed: int) -> dict[str, float]:
    """Simulation 1, d = 20, at a standard deviation within clusters."""
    data = make_simulation1(20, sd=sd, random_state=seed)
    X, y, relevant = data
    used = X[:, relevant]
    gaps = ((used[:, None, :] - data.centers[None, :, relevant]) ** 2).sum(axis=2)
    (start,) = draw_starts(X, 100, 1, seed)
    lam = 0.0265 * len(X)
    options: dict[str, Any] = {"init": start, "random_state": seed}
    return {
        "true centres": _nmi(y, np.argmin(gaps, axis=1)),
        "EWP": _nmi(y, ewp.fit(X, 100, lam, **options).labels),
        "EWP as published": _nmi(y, ewp.fit(X, 100, lam, **options, **PUBLISHED).labels),
        "k-means": _nmi(y, KMeans(100, init=start).fit(X).labels_),
    }


def exponent(scaling: str, s0: float, seed: int) -> dict[str, float]:
    """Simulation 2, k = 20, from a given first exponent, without polish."""
    X, y, lam = _example(scaling, seed)
    (start,) = draw_starts(X, 20, 1, seed)
    found = ewp.fit(X, 20, lam, s0=s0, polish=False, init=start, random_state=seed)
    return {"nmi": _nmi(y, found.labels), "critical": ewp.critical_exponent(X, lam=lam)}


def polish(design: str, seed: int) -> dict[str, float]:
    """With and without polish, from the published and from the critical exponent."""
    if design.startswith("simulation 1"):
        X, y, _ = make_simulation1(20, random_state=seed)
        k, lam = 100, 0.0265 * len(X)
    else:
        X, y, lam = _example(design.rpartition(" ")[2], seed)
        k = 20
    (start,) = draw_starts(X, k, 1, seed)
    options: dict[str, Any] = {"init": start, "random_state": seed}
    return {
        f"{name}{after}": _nmi(y, ewp.fit(X, k, lam, s0=s0, polish=on, **options).labels)
        for name, s0 in (("published start", -1.0), ("critical exponent", "auto"))
        for after, on in ((", no polish", False), (", polish", True))
    }


def eta(value: float, seed: int) -> dict[str, float]:
    """Simulation 2, k = 20, raw: factors of the exponent."""
    X, y, lam = _example("raw", seed)
    (start,) = draw_starts(X, 20, 1, seed)
    options: dict[str, Any] = {"eta": value, "init": start, "random_state": seed}
    published = ewp.fit(X, 20, lam, **options, **PUBLISHED)
    default = ewp.fit(X, 20, lam, **options)
    return {
        "EWP as published": _nmi(y, published.labels),
        "EWP": _nmi(y, default.labels),
        "steps, published": len(published.objective_trace),
        "steps": len(default.objective_trace),
    }


def starts(scaling: str, start: int) -> dict[str, float]:
    """One data set of Simulation 2, k = 20, from one of many random starts."""
    X, y, lam = _example(scaling, 0)
    rows = draw_starts(X, 20, start + 1, 0)[start]
    options: dict[str, Any] = {"init": rows, "random_state": start}
    return {
        "k-means": _nmi(y, KMeans(20, init=rows).fit(X).labels_),
        "power k-means": _nmi(y, PowerKMeans(20, init=rows).fit(X).labels_),
        "sparse k-means": _nmi(y, SparseKMeans(20, wbound=5**0.5, init=rows).fit(X).labels_),
        "EWP as published": _nmi(y, ewp.fit(X, 20, lam, **options, **PUBLISHED).labels),
        "EWP": _nmi(y, ewp.fit(X, 20, lam, **options).labels),
    }


def forms(ratio: float, seed: int) -> dict[str, float]:
    """80 rows, 500 features: 20 relevant ones whose sd is `ratio` times the noise's.

    The form is studied, not the choice of the penalty: each has its best penalty (sparse k-means
    its best bound) in hindsight. Only the automatic fit chooses without the classes.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(80) % 4
    X = rng.standard_normal((80, 500))
    relevant = 1.5 * rng.standard_normal((4, 20))[y] + rng.standard_normal((80, 20))
    X[:, :20] = ratio * relevant / relevant.std(axis=0)
    (start,) = draw_starts(X, 4, 1, seed)
    options: dict[str, Any] = {"init": start, "random_state": seed, "scale": None}
    found = {}
    for name, form, extra in (
        ("EWP as published", "within", PUBLISHED),
        ("within form", "within", {}),
        ("between form", "between", {}),
    ):
        fits = (
            ewp.fit(X, 4, lam, dispersion=form, **options, **extra)
            for lam in ewp.lambda_path(X, 4, dispersion=form)
        )
        found[name] = max(_nmi(y, fit.labels) for fit in fits)
    bounds = usual_bounds(X.shape[1], 8)
    sparse = (SparseKMeans(4, wbound=bound, init=start).fit(X) for bound in bounds)
    found["sparse k-means"] = max(_nmi(y, fit.labels_) for fit in sparse)
    found["EWP, automatic"] = _nmi(y, ewp.fit(X, 4, random_state=seed).labels)
    return found


def authors(per_row: float, seed: int) -> dict[str, float]:
    """Simulation 2, k = 20, raw: the authors' program, the paper's algorithm, this package."""
    X, y, _ = _example("raw", seed)
    (start,) = draw_starts(X, 20, 1, seed)
    lam = per_row * len(X)
    options: dict[str, Any] = {"init": start, "random_state": seed}
    labels, _, s = authors_variant(X, 20, lam, np.random.default_rng(seed), start=start)
    return {
        "authors' program": _nmi(y, labels),
        "EWP as published": _nmi(y, ewp.fit(X, 20, lam, **options, **PUBLISHED).labels),
        "EWP": _nmi(y, ewp.fit(X, 20, lam, **options).labels),
        "last exponent": s,
    }
