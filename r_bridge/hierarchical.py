"""Sparse hierarchical clustering by sparcl, which has no native counterpart.

The function, which users find as `r_bridge.sparcl.hierarchical`, and its result, with the tree in
SciPy's coding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import cut_tree

from r_bridge.inputs import check_bound, check_choice, check_integer, read
from r_bridge.results import PrintedResult, selected
from r_bridge.session import call

__all__ = ["SparseHierarchy", "hierarchical", "linkage_from_merge"]

Linkage = Literal["average", "complete", "single", "centroid"]
Dissimilarity = Literal["squared.distance", "absolute.value"]


def linkage_from_merge(merge: np.ndarray, height: NDArray[np.float64]) -> NDArray[np.float64]:
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
class SparseHierarchy(PrintedResult):
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
    linkage: NDArray[np.float64]
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
    method: Linkage = "average",
    dissimilarity: Dissimilarity = "squared.distance",
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
    arguments = {
        "x": data.x,
        "wbound": check_bound(wbound),
        "method": check_choice("method", method, get_args(Linkage)),
        "dissimilarity": check_choice("dissimilarity", dissimilarity, get_args(Dissimilarity)),
        "niter": check_integer("niter", niter, least=1),
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
