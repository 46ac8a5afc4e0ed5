"""R's package sparcl: sparse k-means and sparse hierarchical clustering (Witten and Tibshirani).

These functions call the real package; the native counterparts are `ewp.peers.SparseKMeans` and
`ewp.peers.sparse_gap`. What sparse k-means returns is in `r_bridge.results`, the hierarchical
method and its tree in `r_bridge.hierarchical`. Importing this module needs no R; the first call
starts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from r_bridge.errors import RInputError
from r_bridge.hierarchical import hierarchical
from r_bridge.inputs import Data, check_bounds, check_integer, check_seed, check_start, read
from r_bridge.results import SparseGapTable, SparseKMeansFit, SparseKMeansPath
from r_bridge.session import call

__all__ = ["hierarchical", "kmeans_sparse_cluster", "permute"]

Bounds = float | Sequence[float] | np.ndarray


def kmeans_sparse_cluster(
    X: ArrayLike | pd.DataFrame,
    K: int | None = None,
    centers: ArrayLike | None = None,
    wbounds: Bounds | None = None,
    nstart: int = 20,
    maxiter: int = 6,
    seed: int | np.random.Generator | None = None,
) -> SparseKMeansPath:
    """Sparse k-means: sparcl's ``KMeansSparseCluster``.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, p)
        Finite numbers. A DataFrame's row and column names appear in the result.
    K : int, optional
        Number of clusters, for random starts. One of `K` and `centers` is needed.
    centers : array-like of shape (K, p), optional
        Starting centres. With them the answer does not depend on the seed.
    wbounds : float or sequence of float, optional
        Bounds on the one-norm of the weights, above 1. sparcl carries the partition from one to
        the next. By default sparcl's own twenty, from 1.1 to the square root of p.
    nstart : int, default 20
        Random starts, when `K` is given.
    maxiter : int, default 6
        Largest number of iterations at a bound.
    seed : int, Generator or None
        Seed of R's random numbers during the call (Mersenne-Twister, Inversion, Rejection). None
        draws one; it is in the result.

    Returns
    -------
    SparseKMeansPath
        One fit per bound.

    Raises
    ------
    RBridgeError
        If R, rpy2 or sparcl is missing, the input is unfit, or sparcl stops; the message says
        what to do.
    """
    data = read(X, columns=2)
    start = check_start(data.x, K, centers, least=2)
    nstart = check_integer("nstart", nstart, least=1)
    maxiter = check_integer("maxiter", maxiter, least=1)
    seed = check_seed(seed)
    arguments = {
        "x": data.x,
        "K": start.k if start.centers is None else None,
        "centers": start.centers,
        "wbounds": check_bounds(wbounds),
        "nstart": nstart,
        "maxiter": maxiter,
        "silent": True,
    }
    reply = call("sparcl", "KMeansSparseCluster", arguments, seed)
    fits = tuple(_fit(found, data, maxiter) for found in reply.value)
    return SparseKMeansPath(fits, seed, reply.console)


def _fit(found: dict[str, Any], data: Data, maxiter: int) -> SparseKMeansFit:
    sums = found["wcss"]
    criterion = found["crit"]
    iterations = pd.RangeIndex(1, len(criterion) + 1, name="iteration")
    return SparseKMeansFit(
        wbound=float(found["wbound"][0]),
        weights=pd.Series(found["ws"], index=data.columns, name="weight"),
        labels=pd.Series(found["Cs"].astype(np.intp) - 1, index=data.rows, name="cluster"),
        criterion=pd.Series(criterion, index=iterations, name="criterion"),
        within=pd.Series(sums["wcss.perfeature"], index=data.columns, name="within"),
        between=pd.Series(sums["bcss.perfeature"], index=data.columns, name="between"),
        wcss=float(sums["wcss"][0]),
        weighted_wcss=float(sums["wcss.ws"][0]),
        converged=len(criterion) < maxiter,
    )


def permute(
    X: ArrayLike | pd.DataFrame,
    K: int | None = None,
    centers: ArrayLike | None = None,
    wbounds: Bounds | None = None,
    nperms: int = 25,
    nvals: int = 10,
    seed: int | np.random.Generator | None = None,
) -> SparseGapTable:
    """Permutation gap over bounds: sparcl's ``KMeansSparseCluster.permute``.

    Parameters
    ----------
    X, K, centers, seed
        As in :func:`kmeans_sparse_cluster`. sparcl uses given centres on the permuted data too,
        and stops if one of them is nearest to no row there.
    wbounds : sequence of float, optional
        Bounds to compare, two or more, above 1. By default `nvals` of sparcl's own.
    nperms : int, default 25
        Number of permutations.
    nvals : int, default 10
        How many bounds sparcl chooses when `wbounds` is not given.

    Returns
    -------
    SparseGapTable

    Raises
    ------
    RBridgeError
        As in :func:`kmeans_sparse_cluster`.
    """
    data = read(X, columns=2)
    start = check_start(data.x, K, centers, least=2)
    bounds = check_bounds(wbounds)
    if bounds is not None and len(bounds) < 2:
        raise RInputError(f"wbounds={bounds.tolist()}: a gap compares two bounds or more")
    nperms = check_integer("nperms", nperms, least=2)
    nvals = check_integer("nvals", nvals, least=2)
    seed = check_seed(seed)
    arguments = {
        "x": data.x,
        "K": start.k if start.centers is None else None,
        "centers": start.centers,
        "wbounds": bounds,
        "nperms": nperms,
        "nvals": nvals,
        "silent": True,
    }
    reply = call("sparcl", "KMeansSparseCluster.permute", arguments, seed)
    found = reply.value
    index = pd.Index(found["wbounds"], name="wbound")
    columns = {"criterion": "tots", "gap": "gaps", "sd": "sdgaps", "nonzero": "nnonzerows"}
    table = pd.DataFrame({name: found[key] for name, key in columns.items()}, index=index)
    permutations = pd.RangeIndex(found["permtots"].shape[1], name="permutation")
    permuted = pd.DataFrame(found["permtots"], index=index, columns=permutations)
    return SparseGapTable(table, permuted, float(found["bestw"][0]), seed, reply.console)
