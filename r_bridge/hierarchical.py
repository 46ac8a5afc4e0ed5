"""Sparse hierarchical clustering by sparcl, which has no native counterpart.

Users find the function as `r_bridge.sparcl.hierarchical`; its result is in `r_bridge.hierarchy`.
"""

from __future__ import annotations

from typing import Literal

import pandas as pd
from numpy.typing import ArrayLike

from ewp.inputs import check_choice, check_integer
from r_bridge.errors import input_errors
from r_bridge.hierarchy import SparseHierarchy, linkage_from_merge
from r_bridge.inputs import check_bounds, read
from r_bridge.session import call

__all__ = ["hierarchical"]


def hierarchical(
    X: ArrayLike | pd.DataFrame,
    wbound: float | None = None,
    method: Literal["average", "complete", "single", "centroid"] = "average",
    dissimilarity: Literal["squared.distance", "absolute.value"] = "squared.distance",
    niter: int = 15,
) -> SparseHierarchy:
    """Sparse hierarchical clustering: sparcl's ``HierarchicalSparseCluster``.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, p)
        Finite numbers. sparcl holds n (n - 1) / 2 dissimilarities for each feature.
    wbound : float, optional
        Bound on the one-norm of the weights, above 1. By default sparcl's own.
    method : {"average", "complete", "single", "centroid"}
        Linkage.
    dissimilarity : {"squared.distance", "absolute.value"}
        Between two values of a feature.
    niter : int, default 15
        Largest number of iterations.

    Returns
    -------
    SparseHierarchy

    Raises
    ------
    RBridgeError
        If R, rpy2 or sparcl is missing, the input is unfit, or sparcl stops; the message says
        what to do.
    """
    data = read(X, columns=2)
    bound = check_bounds(wbound)
    with input_errors():
        check_choice("method", method, ("average", "complete", "single", "centroid"))
        check_choice("dissimilarity", dissimilarity, ("squared.distance", "absolute.value"))
        check_integer("niter", niter, least=1)
        if bound is not None and len(bound) != 1:
            raise ValueError(f"wbound={bound.tolist()}: give one bound")
    arguments = {
        "x": data.x,
        "wbound": bound,
        "method": method,
        "dissimilarity": dissimilarity,
        "niter": int(niter),
    }
    reply = call("sparcl", "HierarchicalSparseCluster", arguments)
    found = reply.value
    return SparseHierarchy(
        wbound=float(found["wbound"][0]),
        weights=pd.Series(found["ws"], index=data.columns, name="weight"),
        dissimilarity=pd.DataFrame(found["u"], index=data.rows, columns=data.rows),
        linkage=linkage_from_merge(found["merge"], found["height"]),
        order=data.rows[found["order"] - 1],
        criterion=float(found["crit"][0]),
        console=reply.console,
    )
