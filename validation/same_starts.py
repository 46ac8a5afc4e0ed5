"""Methods from the same centroids: this package, the published algorithm and their peers.

Every method is tuned by its own rule, without the classes; what is best in hindsight is a path of
penalties whose scores are all kept, so that the report can say which it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import ewp
from ewp.comparison.methods import EstimatorMethod
from ewp.data.decorrelation import is_decorrelated
from ewp.datasets import make_simulation2
from ewp.peers.sparcl import sparse_gap, usual_bounds

__all__ = [
    "PARTS",
    "PLAIN",
    "PUBLISHED",
    "TRIALS",
    "Rows",
    "choose_default",
    "contest",
    "default_rows",
    "draw_starts",
    "example",
    "gap_bound",
    "name_of_scaling",
    "nmi",
    "published_at",
    "standardised",
    "tuned_default",
]

#: Trials of the tables, as in the paper.
TRIALS = 20
#: Parts of trials, and those in which no penalty is chosen.
PARTS = ("ewp", "published", "peers", "sparcl")
PLAIN = ("peers", "sparcl")
#: Options of the published algorithm; eta is 1.05 there and here.
PUBLISHED: dict[str, Any] = {"s0": -1.0, "polish": False}
Rows = list[dict[str, Any]]


def draw_starts(X: np.ndarray, k: int, count: int, seed: int) -> np.ndarray:
    """Starting centroids: k distinct rows for each trial."""
    rows = np.unique(X, axis=0)
    rng = np.random.default_rng([seed, 1])
    return np.array([rows[rng.choice(len(rows), k, replace=False)] for _ in range(count)])


def choose_default(X: np.ndarray, k: int, seed: int) -> dict[str, Any]:
    """What this package chooses by itself, and the partition that a user gets."""
    chosen = ewp.select_lambda(X, k, random_state=seed)
    return {
        "lam": chosen.lam,
        "scale": None if chosen.scaling == "none" else chosen.scaling,
        "dispersion": chosen.dispersion,
        "labels": np.asarray(chosen.results.labels),
    }


def tuned_default(choice: dict[str, Any]) -> EstimatorMethod:
    """Return this package's default with its choices settled, as a method of a comparison."""
    options = {name: choice[name] for name in ("lam", "scale", "dispersion")}
    return EstimatorMethod("ewp", ewp.EWP(**options), settings=options)


def default_rows(
    X: np.ndarray, y: np.ndarray, k: int, choice: dict[str, Any], **shared: Any
) -> Rows:
    """Scores of this package's default: the fit a user gets, and fits from the same random rows.

    The first is the method "ewp": one fit with its own start, made by the choice itself. The
    others, "ewp, same rows", start where all methods start.
    """
    rows = contest(X, y, k, scale=None, methods=(tuned_default(choice),), **shared)
    own = {
        **rows[0],
        "trial": 0,
        "nmi": round(float(normalized_mutual_info_score(y, choice["labels"])), 6),
        "ari": round(float(adjusted_rand_score(y, choice["labels"])), 6),
    }
    return [own, *({**row, "method": "ewp, same rows"} for row in rows)]


def name_of_scaling(scale: str | None) -> str:
    """Name of a scaling in the report.

    Examples
    --------
    >>> [name_of_scaling(scale) for scale in (None, "standard", "decorrelate:0.25")]
    ['raw', 'standardised', 'decorrelated']
    """
    if is_decorrelated(scale):
        return "decorrelated"
    return "raw" if scale is None else "standardised"


def published_at(lams: np.ndarray, n: int) -> list[EstimatorMethod]:
    """The published algorithm at given penalties, named by the penalty a row."""
    return [
        EstimatorMethod(
            f"published@{lam / n:.4g}", ewp.EWP(lam=float(lam), scale=None, **PUBLISHED)
        )
        for lam in lams
    ]


def gap_bound(
    X: np.ndarray, k: int, scale: str | None, seed: int, permutations: int, bounds: int
) -> float:
    """Bound of sparse k-means by its permutation gap."""
    if scale == "standard":
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    grid = usual_bounds(X.shape[1], bounds)
    found = sparse_gap(X, k, grid, permutations=permutations, n_starts=5, random_state=seed)
    return found.bestw


def contest(
    X: np.ndarray,
    y: np.ndarray,
    k: int,
    *,
    scale: str | None,
    seed: int,
    trials: int,
    methods: Sequence[str | EstimatorMethod],
    wbound: float = 1.5,
) -> Rows:
    """Run methods from the same starts at one scaling.

    Parameters
    ----------
    X, y : ndarray
    k : int
    scale : {None, "standard"}
    seed : int
    trials : int
    methods : sequence
        Methods, or names that `ewp.compare` knows.
    wbound : float
        Bound of sparse k-means, if it is among them.

    Returns
    -------
    list of dict
        A row for each trial and method.
    """
    found = ewp.compare(
        X,
        k,
        y,
        methods=methods,
        n_trials=trials,
        scale=scale,
        init=draw_starts(X, k, trials, seed),
        wbound=wbound,
        random_state=seed,
    )
    scaling = name_of_scaling(scale)
    rows = []
    for row in found.scores.to_dict("records"):
        settings = found.settings[row["method"]]
        own = row["method"] == "ewp"  # it scales by itself
        shown = {key: value for key, value in settings.items() if key in ("lam", "wbound")}
        rows.append(
            {
                "method": row["method"],
                "scaling": name_of_scaling(settings["scale"]) if own else scaling,
                "trial": int(row["trial"]),
                "nmi": round(row["nmi"], 6),
                "ari": round(row["ari"], 6),
                "seconds": round(row["seconds"], 3),
                **{key: float(value) for key, value in shown.items()},
                **({"form": settings["dispersion"]} if own else {}),
            }
        )
    return rows


def nmi(truth: np.ndarray, labels: Any) -> float:
    """Normalised mutual information with the classes, to six digits."""
    return round(float(normalized_mutual_info_score(truth, np.asarray(labels))), 6)


def standardised(X: np.ndarray) -> np.ndarray:
    """Features with mean 0 and standard deviation 1."""
    return (X - X.mean(axis=0)) / X.std(axis=0)


def example(scaling: str, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Simulation 2 with 20 clusters, and a penalty that suits the scaling."""
    X, y, _ = make_simulation2(20, random_state=seed)
    if scaling == "raw":
        return X, y, 0.05 * len(X)
    return standardised(X), y, 0.15 * len(X)
