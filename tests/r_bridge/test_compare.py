"""Three methods side by side: their agreement, the picture, and the comparison with sparcl."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import r_bridge
from r_bridge import sparcl
from r_bridge.compare import agreement_table, matched, plot_comparison
from r_bridge.errors import RInputError
from r_bridge.results import selected
from tests.support.r import named


def test_labels_are_matched_whatever_their_numbers():
    rng = np.random.default_rng(0)
    reference = pd.Series(rng.integers(5, size=200))
    for _ in range(10):
        assert matched(pd.Series(rng.permutation(5)[reference]), reference).equals(reference)


def test_the_table_measures_agreement_with_the_reference():
    labels = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "c": [0, 1, 0, 1]})
    weights = pd.DataFrame({"a": [0.6, 0.4, 0.0], "b": [0.6, 0.4, 1e-11], "c": [1 / 3] * 3})
    table = agreement_table(labels, weights, "a", y=pd.Series([1, 1, 2, 2]))
    assert table["features"].tolist() == [2, 2, 3]
    np.testing.assert_allclose(table["ARI"], [1, 1, -0.5])
    np.testing.assert_allclose(table["ARI truth"], [1, 1, -0.5])
    np.testing.assert_allclose(table["overlap"], [1, 1, 2 / 3])
    np.testing.assert_allclose(table["weight r"], [1, 1, np.nan])


def test_selection_is_relative_to_the_largest_weight():
    weights = pd.Series([5.0, 0.01, 1e-6], index=["a", "b", "c"])
    assert list(selected(weights)) == list(selected(1e-9 * weights)) == ["a", "b"]


def test_the_picture_shows_weights_and_every_partition():
    labels = pd.DataFrame({"sparcl": [0, 0, 1, 1], "native": [0, 0, 1, 1], "EWP": [0, 1, 1, 1]})
    weights = pd.DataFrame(np.full((40, 3), 1 / 40), columns=labels.columns)
    figure = plot_comparison(weights, labels, top=10)
    left, native, ewp = figure.axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == list(labels)
    assert len(left.get_yticks()) == 10
    assert "30 lighter features" in left.get_xlabel()
    assert native.get_title() == "4 of 4 rows alike"
    assert ewp.get_title() == "3 of 4 rows alike"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, "tol=0.0 must be a number between 0 and 1"),
        ({"tol": "small"}, "tol='small' must be a number between 0 and 1"),
        ({"wbound": 0.5}, "must be finite and above 1"),
        ({"y": [0, 1]}, r"y has shape \(2,\), but X has 5 rows"),
        ({"y": [[0], [1, 2]]}, "inhomogeneous"),
    ],
)
def test_unfit_options_are_refused_before_r_is_asked(options, message):
    with pytest.raises(RInputError, match=message):
        r_bridge.compare_with_sparcl(np.arange(10.0).reshape(5, 2), 2, **options)


@pytest.mark.sparcl
def test_three_methods_are_compared_from_the_same_centroids():
    X = named(5)
    truth = np.arange(45) % 3
    found = r_bridge.compare_with_sparcl(X, 3, y=truth, wbound=1.8, lam=200.0)
    assert list(found.table.index) == list(found.weights) == ["sparcl", "native", "EWP"]
    np.testing.assert_allclose(found.weights.sum(), 1.0)
    assert found.weights.index.equals(X.columns)
    assert found.labels.index.equals(X.index)
    assert found.centers.shape == (3, 8)
    live, native = found.table.loc["sparcl"], found.table.loc["native"]
    np.testing.assert_allclose(live, native)
    assert live["ARI"] == live["overlap"] == 1.0
    np.testing.assert_allclose(found.weights["sparcl"], found.weights["native"], atol=1e-8)
    assert found.labels["sparcl"].equals(found.labels["native"])
    assert "wbound 1.8, lambda 200" in str(found)
    assert len(found.plot().axes) == 3


@pytest.mark.sparcl
def test_the_bound_of_a_comparison_is_chosen_by_the_gap():
    X = named(5)
    found = r_bridge.compare_with_sparcl(X, 3, lam=200.0, nperms=3, seed=2)
    assert found.wbound == sparcl.permute(X, 3, nperms=3, seed=2).bestw
