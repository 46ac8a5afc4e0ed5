"""The gap over permuted data: sparcl's recorded numbers, seeds, and what cannot be asked."""

import numpy as np
import pandas as pd
import pytest

from ewp.peers.sparcl import SparseGap, sparse_gap, sparse_path, usual_bounds
from tests.support.designs import clusters
from validation import recordings

CLOSE = {"rtol": 0.0, "atol": 1e-10}


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


@pytest.mark.parametrize(("case", "name"), recordings.gaps(finished=False))
def test_a_start_without_rows_is_an_answer_where_sparcl_stops(case, name):
    X, start = recordings.data(case), recordings.start(case, name)
    assert start["gap"]["error"].startswith("empty cluster")
    orders = np.array(recordings.cases()[case]["permutations"])
    gap = sparse_gap(X, start["centers"], start["gap"]["bounds"], permutations=orders)
    assert np.isfinite(gap.gaps).all()
    assert gap.bestw in start["gap"]["bounds"]


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
