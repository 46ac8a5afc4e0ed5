"""Sparse hierarchical clustering by sparcl, which has no native counterpart.

The function, which users find as `r_bridge.sparcl.hierarchical`, and its result, with the tree in
SciPy's coding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import cut_tree

from ewp.checks import check_choice, check_integer
from ewp.kernel import Array
from r_bridge._printed import Printed
from r_bridge.agreement import selected
from r_bridge.errors import input_errors
from r_bridge.inputs import check_bounds, read
from r_bridge.session import call

__all__ = ["SparseHierarchy", "hierarchical", "linkage_from_merge"]


def linkage_from_merge(merge: np.ndarray, height: Array) -> Array:
    """SciPy's linkage matrix from the ``merge`` and ``height`` of R's ``hclust``.

    R writes row i as -i and the cluster of step j as j, both from 1; SciPy writes them as i - 1
    and n + j - 1, and adds the number of rows of each cluster.

    Examples
    --------
    >>> linkage_from_merge(np.array([[-1, -3], [-2, 1]]), np.array([0.5, 2.0])).tolist()
    [[0.0, 2.0, 0.5, 2.0], [1.0, 3.0, 2.0, 3.0]]
    """
    n = len(merge) + 1
    ids = np.where(merge < 0, -merge - 1, n + merge - 1)
    sizes = np.ones(2 * n - 1)
    for step, pair in enumerate(ids):
        sizes[n + step] = sizes[pair].sum()
    return np.column_stack([ids, height, sizes[n:]])


@dataclass(frozen=True, repr=False)
class SparseHierarchy(Printed):
    """Sparse hierarchical clustering by sparcl.

    Attributes
    ----------
    wbound : float
        Bound on the one-norm of the weights.
    weights : Series
        Weight of each feature.
    dissimilarity : DataFrame
        Weighted dissimilarities between the rows, from which the tree was built.
    linkage : ndarray of shape (n - 1, 4)
        The tree as SciPy has it, for ``scipy.cluster.hierarchy.dendrogram`` and its like.
    order : Index
        Names of the rows in the order of the tree's leaves.
    criterion : float
    console : str
    """

    wbound: float
    weights: pd.Series
    dissimilarity: pd.DataFrame
    linkage: Array
    order: pd.Index
    criterion: float
    console: str

    def _heading(self) -> str:
        used = f"{len(selected(self.weights))} of {len(self.weights)} features"
        rows = len(self.order)
        return f"Sparse hierarchy by sparcl, wbound {self.wbound:.4g}: {rows} rows; {used}"

    def cut(self, k: int) -> pd.Series:
        """Cluster of each row, from 0, when the tree is cut into k.

        Clusters are numbered in the order in which the rows first meet them.
        """
        rows = self.dissimilarity.index
        labels = pd.factorize(cut_tree(self.linkage, n_clusters=k).ravel())[0]
        return pd.Series(labels, index=rows, name="cluster")


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
