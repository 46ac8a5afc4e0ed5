"""Sparse k-means: sparcl's recorded numbers, the alternation, and answers where sparcl stops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ewp.metrics import feature_sums
from ewp.peers.hartigan_wong import hartigan_wong
from ewp.peers.sparcl import random_partition, sparse_fit, sparse_path
from ewp.solver.weights import threshold_weights
from tests.support.designs import clusters
from validation import recordings

CLOSE = {"rtol": 0.0, "atol": 1e-10}


def assert_reproduced(fit, recorded):
    assert fit.bound == recorded["bound"]
    assert recordings.same_partition(fit.labels, recorded["labels"])
    assert len(fit.criterion) == len(recorded["criterion"])
    for name in ("weights", "criterion", "within", "between"):
        np.testing.assert_allclose(getattr(fit, name), recorded[name], **CLOSE, err_msg=name)
    assert np.count_nonzero(fit.weights) == np.count_nonzero(recorded["weights"])


# -- the recordings ---------------------------------------------------------------------------


def test_the_recordings_are_all_there():
    counts = [len(recordings.fits(kind)) for kind in ("single", "path", "stopped")]
    assert counts == [106, 106, 2]
    assert [len(recordings.gaps(finished)) for finished in (True, False)] == [16, 6]


@pytest.mark.parametrize(("case", "name", "i"), recordings.fits("single"))
def test_recorded_single_fit_is_reproduced(case, name, i):
    start = recordings.start(case, name)
    recorded = start["single"][i]
    (fit,) = sparse_path(recordings.data(case), start["centers"], [recorded["bound"]])
    assert_reproduced(fit, recorded)


@pytest.mark.parametrize(("case", "name", "i"), recordings.fits("path"))
def test_recorded_path_fit_is_reproduced(case, name, i):
    start = recordings.start(case, name)
    bounds = [recorded["bound"] for recorded in start["path"][: i + 1]]
    fits = sparse_path(recordings.data(case), start["centers"], bounds)
    assert_reproduced(fits[i], start["path"][i])


@pytest.mark.parametrize(("case", "name", "i"), recordings.fits("stopped"))
def test_one_feature_left_is_an_answer_where_sparcl_stops(case, name, i):
    start = recordings.start(case, name)
    stopped = start["stopped"][i]
    assert stopped["error"] == "'dims' cannot be of length 0"
    (fit,) = sparse_path(recordings.data(case), start["centers"], [stopped["bound"]])
    assert np.count_nonzero(fit.weights) == 1
    assert set(fit.labels) == set(range(len(start["centers"])))


def test_random_starts_reach_the_criterion_of_sparcls_random_starts():
    ratios = []
    for case, found in recordings.cases().items():
        X = recordings.data(case)
        labels = random_partition(X, found["k"], 20, np.random.default_rng(1))
        fits = sparse_path(X, labels, [recorded["bound"] for recorded in found["random"]])
        for fit, recorded in zip(fits, found["random"], strict=True):
            ratios.append(fit.criterion[-1] / recorded["criterion"])
    assert len(ratios) == 53
    assert np.sum(np.array(ratios) >= 1 - 1e-6) >= 50
    assert min(ratios) > 0.99


# -- the alternation --------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.floats(1, 3.5))
@settings(max_examples=40, deadline=None)
def test_criterion_never_falls(seed, bound):
    X = clusters(seed, n=30, p=8, shift=1.5)
    (fit,) = sparse_path(X, X[:3], [bound], search="exact", max_iter=20)
    assert (np.diff(fit.criterion) >= -1e-9 * fit.criterion[0]).all()


@given(st.integers(0, 10_000), st.floats(1, 3.5))
@settings(max_examples=40, deadline=None)
def test_a_fit_holds_together(seed, bound):
    X = clusters(seed, n=30, p=8, shift=1.5)
    (fit,) = sparse_path(X, X[:3], [bound], search="exact")
    within, between = feature_sums(X, fit.labels, 3)
    np.testing.assert_allclose(within + between, X.var(axis=0) * len(X), rtol=1e-10)
    np.testing.assert_array_equal(fit.weights, threshold_weights(between, bound, "exact"))
    assert fit.criterion[-1] == pytest.approx(fit.weights @ between)


def test_relevant_features_are_found():
    X = clusters(3, n=90, p=40, relevant=4)
    (fit,) = sparse_path(X, random_partition(X, 3, 5, np.random.default_rng(0)), [1.8])
    assert set(np.flatnonzero(fit.weights)) <= set(range(4))
    assert recordings.same_partition(fit.labels, np.arange(90) % 3)


def test_a_path_carries_the_partition_on():
    X = clusters(1)
    first, second = sparse_path(X, X[:3], [1.3, 2.0])
    again = sparse_fit(X, first.labels, 2.0)
    np.testing.assert_array_equal(second.weights, again.weights)
    np.testing.assert_array_equal(second.labels, again.labels)


def test_centres_and_the_partition_they_give_start_the_same_fit():
    X = clusters(2)
    labels = hartigan_wong(X, X[:3]).labels
    (a,), (b,) = sparse_path(X, X[:3], [1.5]), sparse_path(X, labels, [1.5])
    np.testing.assert_array_equal(a.weights, b.weights)


def test_max_iter_limits_the_weight_updates():
    X = clusters(5, shift=1.0)
    (fit,) = sparse_path(X, X[:3], [1.2], max_iter=1)
    assert len(fit.criterion) == 1
    assert not fit.converged
    with pytest.raises(ValueError, match="max_iter=0"):
        sparse_path(X, X[:3], [1.2], max_iter=0)


def test_another_kmeans_can_take_the_partition_step():
    def nearest(Z, centers):
        return ((Z[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)

    X = clusters(4, shift=6.0)
    (fit,) = sparse_path(X, X[:3], [1.5], kmeans=nearest)
    assert recordings.same_partition(fit.labels, np.arange(len(X)) % 3)


def test_a_partition_with_an_empty_cluster_is_an_error():
    with pytest.raises(ValueError, match="no row"):
        sparse_fit(clusters(n=4), np.array([0, 0, 2, 2]), 1.5)


def test_random_partition_needs_enough_distinct_rows():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    with pytest.raises(ValueError, match="k=3 exceeds the 2 distinct rows"):
        random_partition(X, 3, 2, np.random.default_rng(0))
