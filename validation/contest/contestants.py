"""The contestants: partitions of a table into k clusters by each method, and their CPU seconds.

A contestant gets the features and a number of clusters, nothing else; each is used as its
documentation proposes, with ten random starts (five for mixtures, whose steps cost more). All but
this package's default and "k-means, raw" see standardised features. Beyond 50 features a mixture
with full covariances and mclust see the first 20 principal components of these, without which
neither would end.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, silhouette_score
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

import ewp
from ewp.peers import SparseKMeans, WKMeans
from validation.data import scaled
from validation.mclust import mclust, pam
from validation.same_starts import gap_bound

__all__ = [
    "BESIDE",
    "DEFAULT",
    "NUMBERS",
    "OTHERS",
    "OURS",
    "OWN_PEERS",
    "R_PACKAGES",
    "Scores",
    "chosen_by_default",
    "chosen_by_others",
    "run_default",
    "run_others",
    "run_own_peers",
    "run_r_packages",
]

#: NMI, ARI and CPU seconds of each method; None where one gave no answer.
Scores = dict[str, dict[str, float | None]]
DEFAULT = "ewp, default"
#: What this package offers besides, which has no rank.
BESIDE = "ewp, refined"
OURS = (DEFAULT, BESIDE)
OWN_PEERS = ("sparse k-means, gap", "WK-means")
OTHERS = (
    "k-means, raw",
    "k-means, standardised",
    "Ward",
    "spectral",
    "mixture, diagonal",
    "mixture, full",
)
R_PACKAGES = ("mclust", "PAM")
#: Numbers of clusters among which one is chosen.
NUMBERS = range(1, 10)
_STARTS, _RESTARTS = 10, 5
#: More features than this are reduced, and to how many components.
_MANY, _COMPONENTS = 50, 20
#: Seconds after which an R package is given up.
_PATIENCE = 240


def _scored(y: np.ndarray, run: Callable[[], Any]) -> tuple[dict[str, float | None], Any]:
    """Run a contestant on one thread, score its labels; return what else it found."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        begin = time.process_time()
        found = run()
        seconds = time.process_time() - begin
    labels = np.asarray(getattr(found, "labels", found))
    return {**_agreement(y, labels), "seconds": round(seconds, 3)}, found


def _agreement(y: np.ndarray, labels: np.ndarray) -> dict[str, float | None]:
    return {
        "nmi": round(float(normalized_mutual_info_score(y, labels)), 6),
        "ari": round(float(adjusted_rand_score(y, labels)), 6),
    }


def _components(Z: np.ndarray) -> np.ndarray:
    """Features for those who estimate covariances of all pairs."""
    if Z.shape[1] <= _MANY:
        return Z
    return np.asarray(PCA(min(_COMPONENTS, len(Z) - 1), random_state=0).fit_transform(Z))


def run_default(X: np.ndarray, y: np.ndarray, seed: int) -> Scores:
    """Run this package: its default, and the refinement, whose seconds come on top.

    Parameters
    ----------
    X, y : ndarray
        The classes give their number, and score what was found.
    seed : int
    """
    k = len(np.unique(y))
    own, results = _scored(y, lambda: ewp.fit(X, k, random_state=seed))
    refined, _ = _scored(y, results.refine)
    return {DEFAULT: own, BESIDE: refined}


def run_own_peers(X: np.ndarray, y: np.ndarray, seed: int) -> Scores:
    """Run sparse k-means at the bound of its gap, which equals sparcl's, and WK-means.

    Parameters
    ----------
    X, y, seed
        As in `run_default`.
    """
    k, Z = len(np.unique(y)), scaled(X, "standardised")
    many = {"n_init": _STARTS, "random_state": seed}
    permutations = 10 if Z.shape[1] < 1000 else 5

    def sparse() -> np.ndarray:
        bound = gap_bound(Z, k, None, seed, permutations, bounds=8)
        return np.asarray(SparseKMeans(k, bound, **many).fit_predict(Z))

    runs: dict[str, Callable[[], Any]] = {
        "sparse k-means, gap": sparse,
        "WK-means": lambda: WKMeans(k, **many).fit_predict(Z),
    }
    return {name: _scored(y, runs[name])[0] for name in OWN_PEERS}


def run_others(X: np.ndarray, y: np.ndarray, seed: int) -> Scores:
    """Run methods of scikit-learn.

    Parameters
    ----------
    X, y, seed
        As in `run_default`.
    """
    k, Z = len(np.unique(y)), scaled(X, "standardised")
    many = {"n_init": _STARTS, "random_state": seed}
    few = {"n_init": _RESTARTS, "random_state": seed}
    near = {"affinity": "nearest_neighbors", "n_neighbors": min(10, len(Z) - 1)}
    runs: dict[str, Callable[[], Any]] = {
        "k-means, raw": lambda: KMeans(k, **many).fit_predict(X),
        "k-means, standardised": lambda: KMeans(k, **many).fit_predict(Z),
        "Ward": lambda: AgglomerativeClustering(k).fit_predict(Z),
        "spectral": lambda: SpectralClustering(k, random_state=seed, **near).fit_predict(Z),
        "mixture, diagonal": lambda: GaussianMixture(k, covariance_type="diag", **few).fit_predict(
            Z
        ),
        "mixture, full": lambda: GaussianMixture(k, **few).fit_predict(_components(Z)),
    }
    return {name: _scored(y, runs[name])[0] for name in OTHERS}


def run_r_packages(X: np.ndarray, y: np.ndarray) -> Scores:
    """Run mclust, its model by BIC, and partitioning around medoids.

    Parameters
    ----------
    X, y
        As in `run_default`.
    """
    k, Z = len(np.unique(y)), scaled(X, "standardised")
    runs = {
        "mclust": lambda: mclust(_components(Z), k, patience=_PATIENCE),
        "PAM": lambda: pam(Z, k, patience=_PATIENCE),
    }
    found: Scores = {}
    for name in R_PACKAGES:
        seconds, labels = runs[name]()
        if labels is None:
            found[name] = {"nmi": None, "ari": None, "seconds": None}
        else:
            found[name] = {**_agreement(y, labels), "seconds": round(seconds, 3)}
    return found


def chosen_by_default(X: np.ndarray, y: np.ndarray, seed: int) -> Scores:
    """Let this package choose the number of clusters.

    Parameters
    ----------
    X, y, seed
        As in `run_default`.
    """
    kept, found = _scored(y, lambda: ewp.select_k(X, NUMBERS, random_state=seed).results)
    return {DEFAULT: {**kept, "k": found.n_clusters}}


def chosen_by_others(X: np.ndarray, y: np.ndarray, seed: int) -> Scores:
    """Choose the number by the silhouette of k-means, and by BIC with mixtures and mclust.

    Parameters
    ----------
    X, y, seed
        As in `run_default`.
    """
    Z = scaled(X, "standardised")
    few = {"n_init": _RESTARTS, "random_state": seed}

    def silhouette() -> np.ndarray:
        # there is none of a single cluster
        labels = [KMeans(k, **few).fit_predict(Z) for k in NUMBERS if k > 1]
        return np.asarray(max(labels, key=lambda one: silhouette_score(Z, one)))

    def mixture() -> np.ndarray:
        W = _components(Z)
        fits = [GaussianMixture(k, **few).fit(W) for k in NUMBERS]
        return np.asarray(min(fits, key=lambda one: one.bic(W)).predict(W))

    found: Scores = {}
    for name, run in (("k-means, silhouette", silhouette), ("mixture, full, BIC", mixture)):
        kept, labels = _scored(y, run)
        found[name] = {**kept, "k": len(np.unique(labels))}
    seconds, labels = mclust(_components(Z), (NUMBERS[0], NUMBERS[-1]), patience=_PATIENCE)
    if labels is not None:
        kept = {**_agreement(y, labels), "seconds": round(seconds, 3)}
        found["mclust, BIC"] = {**kept, "k": len(np.unique(labels))}
    return found
