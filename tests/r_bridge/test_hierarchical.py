"""Sparse hierarchical clustering: the tree, with sparcl and without."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import dendrogram, is_valid_linkage

from r_bridge import sparcl
from r_bridge.errors import RCallError
from r_bridge.hierarchical import SparseHierarchy, linkage_from_merge
from tests.support.r import named


def test_a_tree_of_r_becomes_one_of_scipy_and_can_be_cut():
    merge = np.array([[-1, -2], [-4, -5], [-3, 1], [2, 3]])
    rows = pd.Index(list("abcde"))
    linkage = linkage_from_merge(merge, np.array([1.0, 2.0, 3.0, 4.0]))
    assert sorted(dendrogram(linkage, no_plot=True)["leaves"]) == list(range(5))
    tree = SparseHierarchy(
        wbound=1.5,
        weights=pd.Series([1.0]),
        dissimilarity=pd.DataFrame(np.zeros((5, 5)), index=rows, columns=rows),
        linkage=linkage,
        order=rows,
        criterion=0.0,
        console="",
    )
    assert tree.cut(2).to_dict() == {"a": 0, "b": 0, "c": 0, "d": 1, "e": 1}
    assert tree.cut(3).tolist() == [0, 0, 1, 2, 2]
    assert repr(tree) == "Sparse hierarchy by sparcl, wbound 1.5: 5 rows; 1 of 1 features"
    assert tree._repr_html_() == f"<p>{tree}</p>"


@pytest.mark.sparcl
@pytest.mark.parametrize("method", ["average", "complete", "single", "centroid"])
def test_a_hierarchy_can_be_cut_and_drawn(method):
    X = named(3)
    found = sparcl.hierarchical(X, wbound=2.0, method=method)
    assert found.weights.index.equals(X.columns)
    assert float((found.weights**2).sum()) == pytest.approx(1.0)
    assert is_valid_linkage(found.linkage)
    assert sorted(found.order) == sorted(X.index)
    assert found.cut(3).nunique() == 3
    assert found.dissimilarity.index.equals(X.index)


@pytest.mark.sparcl
def test_a_hierarchy_of_absolute_differences_has_other_weights():
    X = named()
    squared = sparcl.hierarchical(X, wbound=2.0)
    absolute = sparcl.hierarchical(X, wbound=2.0, dissimilarity="absolute.value")
    assert not np.allclose(squared.weights, absolute.weights)
    with pytest.raises(RCallError, match="give wbound"):
        sparcl.hierarchical(X.iloc[:, :4])
