"""Sparse hierarchical clustering as sparcl returns it, in R's coding of a tree and in SciPy's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import cut_tree

from ewp.kernel import Array

__all__ = ["SparseHierarchy", "linkage_from_merge"]


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


@dataclass(frozen=True)
class SparseHierarchy:
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

    def cut(self, k: int) -> pd.Series:
        """Cluster of each row, from 0, when the tree is cut into k.

        Clusters are numbered in the order in which the rows first meet them.
        """
        rows = self.dissimilarity.index
        labels = pd.factorize(cut_tree(self.linkage, n_clusters=k).ravel())[0]
        return pd.Series(labels, index=rows, name="cluster")
