"""Sparse k-means: sparcl's recorded numbers, the optimality of the weights, and beyond sparcl."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ewp.hartigan_wong import hartigan_wong
from ewp.permutation import SparseGap, sparse_gap, usual_bounds
from ewp.soft_threshold import threshold_weights
from ewp.sparse import feature_sums, random_partition, sparse_fit, sparse_path
from validation import recordings

CLOSE = {"rtol": 0.0, "atol": 1e-10}


def assert_reproduced(fit, recorded):
    assert fit.bound == recorded["bound"]
    assert recordings.same_partition(fit.labels, recorded["labels"])
    assert len(fit.criterion) == len(recorded["criterion"])
    for name in ("weights", "criterion", "within", "between"):
        np.testing.assert_allclose(getattr(fit, name), recorded[name], **CLOSE, err_msg=name)
    assert np.count_nonzero(fit.weights) == np.count_nonzero(recorded["weights"])


def clusters(seed=0, n=60, p=12, k=3, relevant=4, shift=4.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:, :relevant] += shift * ((np.arange(n)[:, None] + np.arange(relevant)) % k)
    return X


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


@pytest.mark.parametrize(("case", "name"), recordings.gaps(finished=True))
def test_recorded_gap_is_reproduced(case, name):
    X, start = recordings.data(case), recordings.start(case, name)
    recorded = start["gap"]
    orders = np.array(recordings.cases()[case]["permutations"])
    gap = sparse_gap(X, start["centers"], recorded["bounds"], permutations=orders)
    for field in ("tots", "permtots", "gaps", "sdgaps", "nnonzerows", "bestw"):
        np.testing.assert_allclose(getattr(gap, field), recorded[field], **CLOSE, err_msg=field)


@pytest.mark.parametrize(("case", "name"), recordings.gaps(finished=True))
def test_recorded_fits_on_permuted_data_are_reproduced(case, name):
    X, start = recordings.data(case), recordings.start(case, name)
    recorded = start["gap"]
    for i, order in enumerate(np.array(recordings.cases()[case]["permutations"])):
        permuted = np.take_along_axis(X, order, axis=0)
        for j, fit in enumerate(sparse_path(permuted, start["centers"], recorded["bounds"])):
            assert recordings.same_partition(fit.labels, recorded["labels"][i][j])
            np.testing.assert_allclose(fit.weights, recorded["weights"][i][j], **CLOSE)


@pytest.mark.parametrize(("case", "name", "i"), recordings.fits("stopped"))
def test_one_feature_left_is_an_answer_where_sparcl_stops(case, name, i):
    start = recordings.start(case, name)
    stopped = start["stopped"][i]
    assert stopped["error"] == "'dims' cannot be of length 0"
    (fit,) = sparse_path(recordings.data(case), start["centers"], [stopped["bound"]])
    assert np.count_nonzero(fit.weights) == 1
    assert set(fit.labels) == set(range(len(start["centers"])))


@pytest.mark.parametrize(("case", "name"), recordings.gaps(finished=False))
def test_a_start_without_rows_is_an_answer_where_sparcl_stops(case, name):
    X, start = recordings.data(case), recordings.start(case, name)
    assert start["gap"]["error"].startswith("empty cluster")
    orders = np.array(recordings.cases()[case]["permutations"])
    gap = sparse_gap(X, start["centers"], start["gap"]["bounds"], permutations=orders)
    assert np.isfinite(gap.gaps).all()
    assert gap.bestw in start["gap"]["bounds"]


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


# -- the weights ------------------------------------------------------------------------------

sums = arrays(np.float64, st.integers(1, 12), elements=st.floats(0, 1e6).map(lambda v: round(v, 3)))


@given(sums, st.floats(1, 4), st.integers(0, 2**32 - 1))
def test_exact_weights_are_feasible_and_no_feasible_weights_do_better(between, bound, seed):
    assume(between.max() > 0)
    w = threshold_weights(between, bound, "exact")
    assert w.min() >= 0
    assert np.linalg.norm(w) <= 1 + 1e-12
    assert w.sum() <= bound + 1e-12
    others = np.random.default_rng(seed).exponential(size=(50, len(w))) ** 3
    others /= np.maximum(np.linalg.norm(others, axis=1), others.sum(axis=1) / bound)[:, None]
    assert (others @ between <= w @ between * (1 + 1e-12)).all()


@given(sums, st.floats(1, 4))
def test_exact_weights_use_up_the_bound_where_it_matters(between, bound):
    assume(between.max() > 0)
    if (between / np.linalg.norm(between)).sum() > bound:
        assert threshold_weights(between, bound, "exact").sum() == pytest.approx(bound, abs=1e-12)


@given(sums, st.floats(1, 4), st.sampled_from(["sparcl", "exact"]))
def test_weights_follow_the_order_of_the_sums(between, bound, search):
    assume(between.max() > 1)
    order = np.argsort(between)
    assert (np.diff(threshold_weights(between, bound, search)[order]) >= -1e-12).all()


@given(st.floats(1e-6, 1e6), st.floats(1, 3))
def test_exact_weights_do_not_depend_on_the_units(scale, bound):
    between = np.array([9.0, 8.5, 8.0, 3.0, 1.0, 0.0])
    np.testing.assert_allclose(
        threshold_weights(between * scale, bound, "exact"),
        threshold_weights(between, bound, "exact"),
        atol=1e-9,
    )


def test_without_effect_of_the_bound_weights_are_proportional_to_the_sums():
    for search in ("sparcl", "exact"):
        w = threshold_weights(np.array([3.0, 4.0, -1.0]), 2.0, search)
        np.testing.assert_allclose(w, [0.6, 0.8, 0.0])


def test_bisection_is_close_on_ordinary_scales_and_misses_the_bound_on_small_ones():
    between = np.array([50.0, 45.0, 30.0, 10.0, 5.0])
    exact = threshold_weights(between, 1.3, "exact")
    np.testing.assert_allclose(threshold_weights(between, 1.3, "sparcl"), exact, atol=1e-4)
    small = threshold_weights(between * 1e-6, 1.3, "sparcl")
    assert abs(small.sum() - 1.3) > 0.1


def test_features_that_tie_at_the_top_share_the_bound():
    w = threshold_weights(np.array([2.0, 2.0, 2.0, 1.0]), 1.2, "exact")
    np.testing.assert_allclose(w, [0.4, 0.4, 0.4, 0.0])


@pytest.mark.parametrize(
    ("between", "options", "message"),
    [
        ([1.0, 2.0], {"bound": 0.9}, "bound=0.9"),
        ([0.0, -1.0], {"bound": 1.1}, "no feature differs"),
        ([1.0, 2.0], {"bound": 1.1, "search": "fine"}, "search='fine'"),
    ],
)
def test_impossible_weights_are_named(between, options, message):
    with pytest.raises(ValueError, match=message):
        threshold_weights(np.array(between), **options)


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


# -- the gap ----------------------------------------------------------------------------------


def test_the_gap_is_the_same_for_the_same_seed_and_any_number_of_processes():
    X = clusters(n=24, p=5)
    options = {"permutations": 3, "n_starts": 2, "random_state": 7}
    one = sparse_gap(X, 3, [1.2, 1.6], **options)
    two = sparse_gap(X, 3, [1.2, 1.6], n_jobs=2, **options)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_gap_is_large_with_clusters_and_near_zero_without():
    options = {"permutations": 5, "n_starts": 3, "random_state": 0}
    noise = np.random.default_rng(1).normal(size=(60, 12))
    assert sparse_gap(clusters(), 3, [2.0], **options).gaps[0] > 0.5
    assert abs(sparse_gap(noise, 3, [2.0], **options).gaps[0]) < 0.2


def test_the_smaller_bound_within_a_standard_deviation():
    gap = SparseGap(
        bounds=np.array([1.5, 2.0, 3.0]),
        tots=np.ones(3),
        permtots=np.ones((3, 2)),
        gaps=np.array([0.45, 0.5, 0.2]),
        sdgaps=np.array([0.01, 0.06, 0.1]),
        nnonzerows=np.array([2, 3, 4]),
        bestw=2.0,
    )
    assert gap.bestw_1sd == 1.5


def test_the_gap_takes_tables_and_usual_bounds():
    X = clusters(n=24, p=5)
    options = {"permutations": 2, "n_starts": 2, "random_state": 7}
    gap = sparse_gap(pd.DataFrame(X), 3, **options)
    np.testing.assert_array_equal(gap.bounds, usual_bounds(5))
    np.testing.assert_array_equal(gap.gaps, sparse_gap(X, 3, usual_bounds(5), **options).gaps)
    centres = sparse_gap(X, pd.DataFrame(X[:3]), [1.5], **options)
    np.testing.assert_array_equal(centres.gaps, sparse_gap(X, X[:3], [1.5], **options).gaps)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"permutations": 1}, "permutations=1 must be at least 2"),
        ({"permutations": np.zeros((2, 60), int)}, r"permutations has shape \(2, 60\)"),
        ({"permutations": np.ones((2, 60, 12), int)}, "each row number from 0 to 59 once"),
        ({"bounds": [1.5, 0.5]}, "bounds has 0.5"),
        ({"bounds": 1.5}, "bounds=1.5 must be a sequence"),
        ({"bounds": []}, "must be a sequence of one number or more"),
        ({"start": 1}, "start=1 must be at least 2"),
        ({"start": 61}, "k=61 exceeds the 60 distinct rows"),
        ({"start": np.zeros((1, 12))}, "2 or more finite centres of 12 features"),
        ({"start": np.zeros((3, 4))}, "2 or more finite centres of 12 features"),
        ({"threshold": "fine"}, "threshold='fine'"),
        ({"n_starts": 0}, "n_starts=0"),
        ({"X": np.full((4, 2), np.nan)}, "contains NaN"),
    ],
)
def test_impossible_gaps_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        sparse_gap(**{"X": clusters(), "start": 3, "bounds": [1.5], **options})
