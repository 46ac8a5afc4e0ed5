"""Measures of partitions and the matching of clusters, against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from ewp import metrics as cohesion
from ewp.metrics import (
    centroid_order,
    jaccard,
    match_labels,
    overlap,
    overlap_order,
    rand_index,
    silhouettes,
)


def test_agreement_counts_weights_as_copies():
    rng = np.random.default_rng(0)
    one, two, count = rng.integers(0, 3, 30), rng.integers(0, 4, 30), rng.integers(1, 5, 30)
    expected = adjusted_rand_score(np.repeat(one, count), np.repeat(two, count))
    assert rand_index(one, two, count.astype(float)) == pytest.approx(expected, rel=1e-12)
    assert rand_index(one, one, count.astype(float)) == 1.0
    assert rand_index(0 * one, 0 * one, count.astype(float)) == 1.0
    assert rand_index(one, two) == pytest.approx(adjusted_rand_score(one, two), rel=1e-12)
    assert rand_index(one[:1], two[:1]) == 1.0


def test_centroids_are_matched_one_to_one():
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(7, 3))
    order = rng.permutation(7)
    found = centroid_order(reference[order] + 1e-6, reference, np.ones(3))
    np.testing.assert_array_equal(order[found], np.arange(7))


def test_labels_are_renumbered_to_agree():
    rng = np.random.default_rng(0)
    labels = rng.integers(5, size=100)
    renamed = np.array([3, 1, 4, 0, 2])[labels]
    np.testing.assert_array_equal(match_labels(renamed, labels, 5)[renamed], labels)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.floats(0.0, 1.0))
def test_clusters_that_share_more_than_half_are_partners(seed, k, noise):
    rng = np.random.default_rng(seed)
    original = rng.integers(k, size=40)
    turned = rng.permutation(k)
    found = np.where(rng.random(40) < noise, rng.integers(k, size=40), turned[original])
    order = overlap_order(overlap(original, found, k))
    assert sorted(order) == list(range(k))
    for j, value in enumerate(jaccard(original, found, k)):
        if value > 0.5:
            mine, theirs = original == j, found == order[j]
            assert (mine & theirs).sum() / (mine | theirs).sum() == pytest.approx(value)


def test_similarity_is_shared_rows_among_those_in_either():
    rng = np.random.default_rng(0)
    original, other = rng.integers(4, size=50), rng.integers(6, size=50)
    for j, value in enumerate(jaccard(original, other, 4)):
        mine = set(np.flatnonzero(original == j))
        theirs = [set(np.flatnonzero(other == i)) for i in range(6)]
        assert value == pytest.approx(max(len(mine & t) / len(mine | t) for t in theirs))


def test_the_same_partition_under_other_numbers_has_similarity_one():
    labels = np.array([0, 1, 1, 2, 0])
    np.testing.assert_array_equal(jaccard(labels, np.array([5, 0, 0, 3, 5]), 3), 1.0)


def test_silhouettes_are_in_the_weighted_metric():
    rng = np.random.default_rng(0)
    X, metric = rng.normal(size=(30, 3)), np.array([0.7, 0.3, 0.0])
    labels = np.arange(30) % 3
    distance = np.sqrt((((X[:, None] - X) ** 2) * metric).sum(axis=2))
    expected = []
    for i in range(30):
        means = [distance[i, labels == j].sum() for j in range(3)]
        own = means[labels[i]] / 9
        other = min(means[j] / 10 for j in range(3) if j != labels[i])
        expected.append((other - own) / max(own, other))
    np.testing.assert_allclose(silhouettes(X, labels, metric), expected)


def test_many_rows_are_thinned_and_one_cluster_has_no_silhouette(monkeypatch):
    monkeypatch.setattr(cohesion, "_MOST_SILHOUETTES", 100)
    X = np.random.default_rng(0).normal(size=(150, 1))
    values = silhouettes(X, (X[:, 0] > 0).astype(int), np.ones(1))
    assert np.isfinite(values).sum() == 100
    assert np.isnan(silhouettes(X[:5], np.zeros(5, dtype=int), np.ones(1))).all()
