"""Missing values at the door: what is counted, and what is known of rows by value."""

import numpy as np
import pandas as pd
import pytest

from ewp.data.canonical import (
    distinct_groups,
    filled_with_marks,
    hash_sample_block,
    varying_columns,
)
from ewp.data.decorrelation import Decorrelation
from ewp.data.missing import Missingness
from ewp.data.outliers import OutlierWarning, describe_outliers
from ewp.data.sources import ArraySource
from ewp.data.splits import Resampler, folds
from ewp.data.validation import check_data, check_with_ends

NAN = np.nan


def test_ends_are_those_of_the_observed_values():
    X = pd.DataFrame({"a": [NAN, 2.0, -1.0], "b": [4.0, NAN, NAN]})
    array, (low, high) = check_with_ends(X, "observed")
    assert np.isnan(array).sum() == 3
    np.testing.assert_array_equal(low, [-1.0, 4.0])
    np.testing.assert_array_equal(high, [2.0, 4.0])


@pytest.mark.parametrize("kind", ["Int64", "Float64", object])
def test_missing_entries_of_tables_are_missing_values(kind):
    frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype=kind), "b": [1.0, 2.0, NAN]})
    found = check_data(frame, missing="observed")
    np.testing.assert_array_equal(found, [[1.0, 1.0], [NAN, 2.0], [3.0, NAN]])
    with pytest.raises(ValueError, match="2 missing values, in 2 of 3 rows and 2 of 2 columns"):
        check_data(frame)


def test_values_that_are_too_large_are_refused_beside_missing_ones():
    with pytest.raises(ValueError, match="squares overflow"):
        check_data([[1e200, NAN], [1.0, 2.0]], missing="observed")


def test_marks_and_shares():
    X = np.array([[1.0, NAN, 5.0], [2.0, 4.0, NAN], [3.0, NAN, 1.0]])
    found = Missingness.of_rows(X, np.array([1.0, 2.0, 1.0]), np.array([1, 2]))
    np.testing.assert_allclose(found.share, [1.0, 0.5, 0.5])
    block = np.column_stack([X, np.full((3, 2), -9.0)])
    found.mark(block)
    np.testing.assert_array_equal(block, [[1, 0, 5, 0, 1], [2, 4, 0, 1, 0], [3, 0, 1, 0, 1]])
    assert not Missingness.none(3)


def test_which_columns_vary_does_not_depend_on_what_is_missing_first():
    X = np.array([[NAN, NAN, 1.0, NAN], [5.0, NAN, NAN, 2.0], [5.0, 1.0, 1.0, 3.0]])
    np.testing.assert_array_equal(varying_columns(X), [False, False, False, True])
    later = np.vstack([np.full((6000, 4), NAN), X])  # beyond the first block
    np.testing.assert_array_equal(varying_columns(later), [False, False, False, True])
    weight = np.array([1.0, 1.0, 0.0])
    np.testing.assert_array_equal(varying_columns(X, weight), [False, False, False, False])


def test_nan_of_any_kind_are_one_value():
    other = np.frombuffer(np.uint64(0xFFF8000000000001).tobytes(), dtype=np.float64)[0]
    assert np.isnan(other)
    X = np.array([[1.0, NAN], [1.0, other], [1.0, 0.0]])
    found = hash_sample_block(X, None, 10)
    assert sorted(found.mass.tolist()) == [1.0, 2.0]
    assert len(np.unique(filled_with_marks(X), axis=0)) == 2


def test_copies_of_a_row_with_missing_values_stay_together():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    X[rng.random(X.shape) < 0.3] = NAN
    X[:, 0] = rng.standard_normal(20)
    twice = np.vstack([X, X])
    for train, test in folds(twice, None, 4, np.random.default_rng(0)):
        assert set(train % 20).isdisjoint(test % 20)
    drawn = Resampler.of(twice, None, 2)
    assert len(drawn.rows) == 20
    np.testing.assert_allclose(drawn.chance, 1 / 20)


def test_codes_for_missing_values_are_told_beside_missing_values():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((40, 3)), columns=["a", "b", "c"])
    X.loc[::5, "a"] = NAN
    assert describe_outliers(ArraySource(X, None, "observed")) is None
    X.loc[3, "a"] = -9999.0
    told = describe_outliers(ArraySource(X, None, "observed"))
    assert told is not None
    assert told.startswith("column 'a': 1 value of -9999")
    assert issubclass(OutlierWarning, UserWarning)


def test_columns_are_decorrelated_where_rows_are_whole():
    X = np.random.default_rng(0).standard_normal((20, 3))
    X[4, 1] = NAN
    with pytest.raises(ValueError, match='scale="decorrelate" needs all values of a row'):
        Decorrelation.estimate(X)


def test_rows_of_a_weight_have_the_place_of_as_many_copies():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) ** 3
    X[rng.random(X.shape) < 0.2] = np.nan
    copies = rng.integers(1, 6, 80)
    rows = np.repeat(np.arange(80), copies)
    weighted, count = distinct_groups(X, copies.astype(float))
    repeated, other = distinct_groups(X[rows], None)
    assert count == other
    np.testing.assert_array_equal(weighted[rows], repeated)
