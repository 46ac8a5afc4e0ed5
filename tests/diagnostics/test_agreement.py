"""Two clusterings side by side."""

from __future__ import annotations

import dataclasses

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from sklearn.cluster import KMeans

import ewp
from ewp.datasets import make_simulation2
from ewp.results.results import EWPResults
from tests.support.results import make_results


def named(n=60, **options):
    return make_results(n, rows=[f"r{i}" for i in range(n)], **options)


def test_a_fit_agrees_with_itself():
    results = make_results()
    same = results.compare_to(results)
    assert (same.ari, same.nmi, same.same) == (1.0, 1.0, 1.0)
    assert same.weight_distance == 0.0
    assert same.centroid_distance == 0.0
    assert (same.clusters["jaccard"] == 1).all()
    np.testing.assert_array_equal(same.clusters["size"], results.clusters["size"])
    assert same.effective_features == pytest.approx((results.effective_features,) * 2)


@given(st.permutations(range(3)), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_numbers_of_clusters_do_not_matter(order, seed):
    results = make_results()
    renamed = np.array(order)[results.labels]
    found = results.compare_to(renamed)
    assert found.ari == found.same == 1.0
    np.testing.assert_array_equal(found.labels["other"], results.labels)
    noisy = np.where(np.random.default_rng(seed).random(60) < 0.2, 0, renamed)
    other = results.compare_to(noisy)
    assert other.same >= np.mean(renamed == noisy) - 1e-12


def test_labels_of_any_kind_are_understood():
    results = make_results()
    words = np.array(["b", "c", "a"])[results.labels]
    found = results.compare_to(words)
    assert found.ari == 1.0
    assert found.numbers.to_dict() == {"a": 2, "b": 0, "c": 1}
    assert found.weights is None
    assert np.isnan(found.weight_distance)
    assert found.clusters["other"].tolist() == ["b", "c", "a"]


def test_different_numbers_of_clusters_leave_some_without_a_partner():
    results = make_results(k=3)
    labels = results.labels.to_numpy().copy()
    first = np.flatnonzero(labels == 0)
    labels[first[: len(first) // 3]] = 7
    found = results.compare_to(labels)
    assert len(found.clusters) == 4
    assert found.clusters.loc[3, "size"] == 0
    assert found.clusters.loc[3, "other_size"] == len(first) // 3
    fewer = results.compare_to(np.minimum(results.labels, 1))
    assert len(fewer.clusters) == 3
    assert (fewer.clusters["other_size"] == 0).sum() == 1


def test_weights_are_compared_on_one_scale():
    results = make_results(names=list("abcde"), weights=[0.4, 0.3, 0.2, 0.1, 0.0])
    found = results.compare_to(results.labels, weights=[4.0, 3, 2, 0, 1])
    np.testing.assert_allclose(found.weights["difference"], [0, 0, 0, -0.1, 0.1], atol=1e-12)
    assert found.weight_distance == pytest.approx(0.1)
    other = pd.Series({"e": 1.0, "z": 1.0})
    moved = results.compare_to(results.labels, weights=other)
    assert moved.weight_distance == pytest.approx(1.0)
    assert moved.weights.index.tolist() == [*"abcde", "z"]


def test_rows_are_matched_by_name():
    results = named()
    part = results.labels.iloc[[50, 3, 7, 20, 31, 33]]
    found = results.compare_to(part)
    assert sorted(found.labels.index) == sorted(part.index)
    assert found.ari == 1.0


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(59), "59 labels cannot be matched"),
        (pd.Series([0, 1], index=["x", "y"]), "no rows in common"),
        (pd.Series([0, 1], index=["r1", "r1"]), "more than once"),
        (pd.Series([0.0] * 59 + [np.nan], index=[f"r{i}" for i in range(60)]), "missing values"),
    ],
)
def test_rows_that_cannot_be_matched_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        named().compare_to(labels)


@pytest.mark.parametrize("weights", [[1.0, 2.0], [-1.0, 1, 1, 1, 1], [0.0] * 5, [np.nan] * 5])
def test_weights_that_are_none_are_refused(weights):
    results = make_results()
    with pytest.raises(ValueError, match="weights"):
        results.compare_to(results.labels, weights=weights)


def test_tables_of_one_clustering_are_understood_and_of_several_refused():
    """As the bridge to sparcl returns them: one column a bound."""
    results = named(p=2)

    class Path:
        labels = pd.DataFrame({2.0: results.labels})
        weights = pd.DataFrame({2.0: results.weights})

    found = results.compare_to(Path())
    assert found.ari == 1.0
    assert found.weight_distance == 0.0
    Path.labels = pd.DataFrame({2.0: results.labels, 3.0: results.labels})
    with pytest.raises(ValueError, match=r"labels of shape \(60, 2\); choose one"):
        results.compare_to(Path())


@pytest.mark.parametrize(
    ("other", "options", "message"),
    [
        (None, {}, "None is no clustering"),
        (ewp.EWP(3), {}, "has no labels_: fit it first"),
        (np.zeros(60), {"names": "ab"}, "two different texts"),
        (np.zeros(60), {"names": ("a", "a")}, "two different texts"),
    ],
)
def test_what_is_no_clustering_is_refused(other, options, message):
    with pytest.raises(ValueError, match=message):
        named().compare_to(other, **options)


def test_weights_by_name_may_come_in_a_dictionary():
    results = make_results(names=list("abcde"))
    found = results.compare_to(results.labels, weights={"e": 3.0, "a": 1.0})
    np.testing.assert_allclose(found.weights["other"], [0.25, 0, 0, 0, 0.75])


@pytest.mark.parametrize("kind", ["words", "fit"])
def test_the_last_comparison_survives_a_file(kind, tmp_path):
    results = named()
    other = np.array(["b", "c", "a"])[results.labels] if kind == "words" else make_results(seed=1)
    found = results.compare_to(other, names=("EWP", "them"))
    results.save(tmp_path / "fit")
    loaded = EWPResults.load(tmp_path / "fit").agreement_
    assert str(loaded) == str(found)
    assert loaded.names == ("EWP", "them")
    pd.testing.assert_frame_equal(loaded.labels, found.labels)
    pd.testing.assert_series_equal(loaded.numbers, found.numbers)
    assert (loaded.weights is None) == (kind == "words")


@pytest.fixture(scope="module")
def data():
    return make_simulation2(3, n=150, p=6, n_relevant=3, random_state=1)


@pytest.fixture(scope="module")
def results(data):
    return ewp.fit(data.X, 3, lam=7.5, random_state=0)


def test_two_penalties_can_be_compared(data, results):
    other = ewp.fit(data.X, 3, lam=15.0, random_state=0)
    found = results.compare_to(other, names=("small", "large"))
    assert found.ari == 1.0
    assert found.effective_features[0] < found.effective_features[1]
    assert 0 < found.weight_distance < 1
    assert found.centroid_distance < 1e-6
    text = str(found)
    assert "small" in text
    assert "ARI 1.0000" in text


def test_estimators_of_this_and_other_packages_are_understood(data, results):
    model = ewp.EWP(3, lam=7.5, random_state=1).fit(data.X)
    assert results.compare_to(model).weight_distance < 1e-9
    sparse = ewp.peers.SparseKMeans(3, wbound=1.5, random_state=0).fit(data.X)
    found = results.compare_to(sparse, names=("EWP", "sparse"))
    weights = sparse.feature_weights_ / sparse.feature_weights_.sum()
    np.testing.assert_allclose(found.weights["other"], weights)
    plain = results.compare_to(KMeans(3, n_init=1, random_state=0).fit(data.X))
    assert plain.weights is None
    assert np.isfinite(plain.centroid_distance)


@pytest.mark.parametrize(("p", "shown"), [(5, 5), (4434, 20)])
def test_the_picture_shows_both_weights_of_the_heaviest_features(p, shown):
    one, two = make_results(p=p, seed=0), make_results(p=p, seed=1)
    ax = one.compare_to(two, names=("first", "second")).plot()
    assert len(ax.get_yticks()) == shown
    assert ("4414 more features" in ax.get_xlabel()) == (p == 4434)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["first", "second"]
    ax.figure.canvas.draw()
    plt.close("all")


def test_the_names_of_classes_are_in_tables_and_pictures():
    results = make_results(n=90)
    species = np.array(["setosa", "virginica", "versicolor"])[results.labels]
    species[:5] = "virginica"
    found = results.compare_to(species, names=("EWP", "species"))
    names = ["setosa", "virginica", "versicolor"]
    assert found.overlap.columns.tolist() == names
    wanted = pd.crosstab(results.labels, species).loc[[0, 1, 2], names].to_numpy()
    np.testing.assert_array_equal(found.overlap, wanted)
    for name in names:
        assert name in str(found)
    axes = found.plot()
    assert [label.get_text() for label in axes.get_xticklabels()] == names
    numbers = [text.get_text() for text in axes.texts]
    assert numbers == [str(count) for count in wanted.ravel()]
    weighted = results.compare_to(species, results.weights)
    assert weighted.plot().get_xlabel() == "weight"
    assert weighted.plot_overlap().get_ylabel() == "this"
    plt.close("all")


def test_clusters_that_share_no_row_are_not_matched():
    results = make_results(k=3)
    # "a" is cluster 0, all others are "b", and "c" has one row of cluster 0
    labels = np.where(results.labels == 0, "a", "b").astype(object)
    labels[np.flatnonzero(results.labels == 0)[0]] = "c"
    found = results.compare_to(labels)
    assert found.numbers[["a", "b"]].tolist() == [0, 1]
    assert found.numbers["c"] == 3
    assert found.clusters.loc[2, ["other", "other_size", "shared"]].tolist() == ["", 0, 0]
    assert found.clusters.loc[3, ["size", "other", "other_size"]].tolist() == [0, "c", 1]
    assert found.n_clusters == 3
    text = str(found.summary())
    assert "no cluster" in text
    assert "none" in text


def test_an_agreement_that_was_saved_before_gets_its_names(tmp_path):
    results = make_results(n=60)
    words = np.array(["b", "c", "a"])[results.labels]
    found = results.compare_to(words)
    old = dataclasses.replace(found, clusters=found.clusters.drop(columns="other"))
    assert old.clusters.equals(found.clusters)
    results.save(tmp_path / "fit.npz")
    again = EWPResults.load(tmp_path / "fit.npz").agreement_
    assert again.overlap.equals(found.overlap)
    assert str(again) == str(found)
