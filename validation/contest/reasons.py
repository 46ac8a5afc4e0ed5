"""Why this package was behind: fits started at the classes, and fits at what it did not choose.

The candidates are those that the default had before it: its own penalties, scalings and forms. At
each there is an ordinary fit, and one that starts at the means of the classes and only takes the
last, hard steps. All of this has seen the classes; it explains a loss and is no method.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import ewp
from validation.same_starts import nmi

__all__ = ["REASONS", "reason_of", "tried"]

#: Reasons by their names, in the order in which they are looked for.
REASONS = {
    "search": "a fit started at the classes reaches a lower objective, which the search missed",
    "penalty": "another λ at the chosen scaling and form would have done",
    "scaling": "another scaling would have done",
    "form": "the other form of the weight rule would have done",
    "objective": "a fit started at the classes stays near them, where the objective is higher",
    "model": "fits started at the classes leave them, at every λ, scaling and form",
}
#: Relative differences of objectives below this are those of rounding and of the last steps.
_SAME = 1e-6
#: Every second penalty of a grid is tried.
_EVERY = 2


def _at(X: np.ndarray, y: np.ndarray, seed: int, entry: dict[str, Any]) -> dict[str, Any]:
    """An ordinary fit at a candidate, and one from the means of the classes."""
    k = len(np.unique(y))
    scaling = entry["scaling"]
    options = {
        "scale": None if scaling == "none" else scaling,
        "dispersion": entry["dispersion"],
        "random_state": seed,
    }
    found = ewp.fit(X, k, entry["lam"], **options)
    means = np.array([X[y == j].mean(axis=0) for j in np.unique(y)])
    start = {"init": means, "s0": -np.inf, "polish": False}
    started = ewp.fit(X, k, entry["lam"], **options, **start)
    return {
        "scaling": scaling,
        "form": entry["dispersion"],
        "per_row": entry["lam"] / len(X),
        "score": entry["score"],
        "nmi": nmi(y, found.labels),
        "from_classes": nmi(y, started.labels),
        "excess": (started.objective - found.objective) / abs(found.objective),
    }


def tried(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Any]:
    """What the default chose, and fits at every second of the candidates that it had.

    Parameters
    ----------
    X, y : ndarray
    seed : int

    Returns
    -------
    dict
        ``own`` is the candidate that was chosen, ``others`` are the rest: scaling, form, penalty a
        row, held-out score, NMI of an ordinary fit, NMI of the fit from the classes, and by how
        much, relatively, its objective is above the other's.
    """
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        selection = ewp.fit(X, len(np.unique(y)), random_state=seed).options["selection"]
        families: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for entry in selection["curve"]:
            families.setdefault((entry["scaling"], entry["dispersion"]), []).append(entry)
        others = [one for grid in families.values() for one in grid[::_EVERY]]
        return {
            "own": _at(X, y, seed, selection["chosen"]),
            "others": [_at(X, y, seed, entry) for entry in others],
        }


def reason_of(found: dict[str, Any], target: float) -> str:
    """Name of the first reason of `REASONS` that explains why an NMI was not reached.

    Parameters
    ----------
    found : dict
        What `tried` returned.
    target : float
        The NMI that would not have been a loss.
    """
    own, others = found["own"], found["others"]

    def missed(one: dict[str, Any]) -> bool:
        return bool(one["excess"] < -_SAME and one["from_classes"] >= target)

    if missed(own):
        return "search"
    reached = [one for one in others if one["nmi"] >= target]
    if any((one["scaling"], one["form"]) == (own["scaling"], own["form"]) for one in reached):
        return "penalty"
    if any(one["scaling"] != own["scaling"] for one in reached):
        return "scaling"
    if reached:
        return "form"
    if any(missed(one) for one in others):
        return "search"
    if any(one["from_classes"] >= target for one in (own, *others)):
        return "objective"
    return "model"
