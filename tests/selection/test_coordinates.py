"""Coordinates in which partitions are scored: coarse columns spread, margins without skewness."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ewp.engine.array import ArrayEngine
from ewp.selection.coordinates import power_transform, resolution, scoring_coordinates


def described(X, weight=None):
    return scoring_coordinates(X, weight, ArrayEngine(X, weight).canonical)


def mixed(n=120, seed=0):
    """A binary, a counted, a skewed and a symmetrical column."""
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [
            rng.integers(0, 2, n),
            rng.poisson(4, n),
            rng.lognormal(0, 1, n),
            rng.standard_normal(n),
        ]
    ).astype(float)


@given(st.floats(-2.0, 4.0), st.integers(0, 100))
@settings(max_examples=40, deadline=None)
def test_power_transform_is_that_of_yeo_and_johnson(power, seed):
    x = np.random.default_rng(seed).normal(0, 2, 30)
    found = power_transform(x[:, None], np.array([power]))[:, 0]
    np.testing.assert_allclose(found, stats.yeojohnson(x, power), rtol=1e-6, atol=1e-8)
    assert (np.diff(found[np.argsort(x)]) >= 0).all()


def test_power_is_close_to_the_most_likely_one():
    rng = np.random.default_rng(0)
    for x in (rng.lognormal(0, 1, 300), rng.standard_normal(300), -rng.gamma(2, 1, 300)):
        found = described(x[:, None])[:, 0]
        standard = (x - np.sort(x)[149]) / np.sqrt(np.mean((x - np.sort(x)[149]) ** 2))
        best, _ = stats.yeojohnson(standard)
        assert np.corrcoef(found, best)[0, 1] > 0.999
        assert abs(stats.skew(found)) < 0.3


def test_continuous_columns_keep_their_order():
    X = mixed()
    for column in (2, 3):
        found = described(X)[:, column]
        np.testing.assert_array_equal(np.argsort(found), np.argsort(X[:, column]))


def test_values_of_coarse_columns_are_spread_and_stay_apart():
    X = mixed()
    binary = described(X)[:, 0]
    assert len(np.unique(binary)) == len(X)
    assert binary[X[:, 0] == 0].max() < binary[X[:, 0] == 1].min()
    counts = described(X)[:, 1]
    for value in range(6):
        lower, upper = counts[X[:, 1] == value], counts[X[:, 1] == value + 1]
        assert lower.max() < upper.min()


def test_units_offsets_and_places_of_columns_do_not_matter():
    X = mixed()
    plain = described(X)
    scaled = described(X * [0.5, 1e-6, 1e6, 3.0] + [0.0, 2.0, 1.0, -5.0])
    np.testing.assert_allclose(scaled, plain, rtol=1e-6, atol=1e-6)
    order = [2, 0, 3, 1]
    np.testing.assert_allclose(described(X[:, order]), plain[:, order], rtol=1e-9, atol=1e-12)
    # values of a coarse column are spread alike whatever stands beside it
    np.testing.assert_array_equal(described(X)[:, 0], described(X)[:, 0])


def test_rows_in_any_order_have_the_same_coordinates():
    X = mixed()
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_allclose(described(X[order]), described(X)[order], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [60, 300])
def test_weights_count_as_copies(n):
    X = mixed(n)
    count = np.random.default_rng(1).integers(1, 4, n)
    copied = described(np.repeat(X, count, axis=0))
    weighted = described(X, count.astype(float))
    np.testing.assert_allclose(np.repeat(weighted, count, axis=0), copied, rtol=1e-9, atol=1e-9)


def test_constant_columns_are_zero():
    X = np.c_[mixed(), np.full(120, 0.1), np.full(120, 1e8 + 0.1)]
    assert (described(X)[:, 4:] == 0).all()
    np.testing.assert_allclose(described(X)[:, 2:4], described(mixed())[:, 2:], rtol=1e-9)


def test_rounding_errors_are_no_resolution():
    X = np.random.default_rng(0).integers(0, 5, (100, 2)) * np.array([0.1, 1.0])
    X[::2, 0] = (X[::2, 0] + 0.7) - 0.7
    assert len(np.unique(X[:, 0])) > 5
    np.testing.assert_allclose(resolution(X), [0.1, 1.0], rtol=1e-12)
    np.testing.assert_allclose(resolution(X + 1e8), [0.1, 1.0], rtol=1e-6)


def test_copies_have_the_resolution_of_weights():
    X = np.random.default_rng(0).integers(0, 40, (50, 2)).astype(float)
    count = np.full(50, 3)
    copied = resolution(np.repeat(X, count, axis=0))
    np.testing.assert_array_equal(resolution(X, count.astype(float)), copied)
    assert (copied > resolution(X)).any()
