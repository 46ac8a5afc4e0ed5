"""What choosing the penalty without labels reaches, by each criterion, and what was possible.

The choice never sees the classes; these only score the outcome.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import ewp
from validation.tasks.designs import DESIGNS
from validation.tasks.real import load, scaled

__all__ = ["chosen", "possible", "with_range"]


def _data(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """A draw of a simulated design, or a real set; classes and their number."""
    if name not in DESIGNS:
        return load(name)
    X, y = DESIGNS[name](seed)
    return X, y, len(np.unique(y))


def _scores(y: np.ndarray, labels: Any) -> dict[str, float]:
    return {
        "nmi": round(float(normalized_mutual_info_score(y, labels)), 6),
        "ari": round(float(adjusted_rand_score(y, labels)), 6),
    }


def _select(X: np.ndarray, y: np.ndarray, k: int, seed: int, **options: Any) -> tuple[Any, dict]:
    """A selection, and what is kept of it."""
    found = ewp.select_lambda(X, k, random_state=seed, **options)
    complete = found.table["replicates"] == found.table["replicates"].max()
    return found, {
        **_scores(y, found.results.labels),
        "per_row": found.lam / len(X),
        "scaling": found.scaling,
        "form": found.dispersion,
        "features": found.results.effective_features,
        "score": float(found.table.loc[complete, "mean"].max()),
    }


def chosen(name: str, data: str, seed: int, criterion: str) -> dict[str, Any]:
    """Choose by a criterion, and start from the classes at what was chosen.

    If the objective that is reached from the classes is lower than that of the fit, the search
    missed it; if it is higher, the objective itself prefers another partition.

    Parameters
    ----------
    name : str
        Simulated design or real set.
    data : str
        Hash of a real set.
    seed : int
        Of the draw and of the selection.
    criterion : {"predictive", "stability", "gap"}
    """
    X, y, k = _data(name, seed)
    found, kept = _select(X, y, k, seed, criterion=criterion)
    means = np.array([X[y == j].mean(axis=0) for j in np.unique(y)])
    from_classes = ewp.fit(
        X,
        k,
        found.lam,
        scale=None if found.scaling == "none" else found.scaling,
        dispersion=found.dispersion,
        init=means,
        s0=-np.inf,
        polish=False,
    )
    reached = found.results.objective
    return {
        **kept,
        "from_classes": _scores(y, from_classes.labels)["nmi"],
        "excess": (from_classes.objective - reached) / abs(reached),
    }


def possible(name: str, data: str, seed: int) -> dict[str, float]:
    """NMI of the best penalty of all paths in hindsight, and of k-means with ten starts.

    Parameters
    ----------
    name, data, seed
        As in `chosen`.
    """
    X, y, k = _data(name, seed)
    fits = (
        ewp.fit(X, k, lam, scale=scale, dispersion=form, random_state=seed)
        for scale, form in (("standard", "within"), (None, "within"), (None, "between"))
        for lam in ewp.lambda_path(X, k, scale=scale, dispersion=form)
    )
    plain = {
        f"k-means, {scaling}": _scores(
            y, KMeans(k, n_init=10, random_state=seed).fit_predict(scaled(X, scaling))
        )["nmi"]
        for scaling in ("raw", "standardised")
    }
    return {"best": max(_scores(y, fit.labels)["nmi"] for fit in fits), **plain}


def with_range(name: str, data: str) -> dict[str, dict[str, Any]]:
    """Choose on features that are divided by their ranges, for both forms.

    Parameters
    ----------
    name : str
        Real set.
    data : str
        Its hash.
    """
    X, y, k = load(name)
    Z = scaled(X, "range")
    return {
        form: _select(Z, y, k, 0, scale=None, dispersion=form)[1] for form in ("within", "between")
    }
