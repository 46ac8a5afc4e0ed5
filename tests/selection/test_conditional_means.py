"""Rows are completed for the score alone, by what pairs of columns say and no partition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ewp.data.canonical import order_rows
from ewp.selection.conditional_means import fill_conditional_means
from ewp.selection.coordinates import scoring_coordinates
from tests.support.strategies import SLOW


def drawn(seed, n=300, p=6, share=0.25):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + rng.normal(0, 5, p)
    absent = rng.random((n, p)) < share
    absent[np.arange(n), rng.integers(0, p, n)] = False
    return X, absent, rng


@given(st.integers(0, 2**32 - 1))
@SLOW
def test_what_is_observed_stays_and_what_is_not_does_not_matter(seed):
    X, absent, rng = drawn(seed, n=60)
    found = fill_conditional_means(np.where(absent, np.nan, X), np.ones(60), absent)
    np.testing.assert_array_equal(found[~absent], X[~absent])
    other = fill_conditional_means(np.where(absent, 1e6, X), np.ones(60), absent)
    np.testing.assert_array_equal(found, other)
    copies = rng.integers(1, 4, 60)
    weighted = fill_conditional_means(np.where(absent, np.nan, X), copies.astype(float), absent)
    rows = np.repeat(np.arange(60), copies)
    repeated = fill_conditional_means(X[rows], np.ones(len(rows)), absent[rows])
    np.testing.assert_allclose(weighted[rows], repeated, rtol=1e-6, atol=1e-6)


def test_the_mean_is_that_of_a_normal_distribution():
    """Against the conditional means under the true moments, which the sample estimates."""
    X, absent, _ = drawn(0, n=20_000, p=4)
    found = fill_conditional_means(X, np.ones(len(X)), absent)
    mean, covariance = X.mean(axis=0), np.cov(X.T)
    for i in range(200):
        m, o = np.flatnonzero(absent[i]), np.flatnonzero(~absent[i])
        if len(m):
            slope = covariance[np.ix_(m, o)] @ np.linalg.inv(covariance[np.ix_(o, o)])
            wanted = mean[m] + slope @ (X[i, o] - mean[o])
            deviation = np.sqrt(np.diag(covariance)[m])
            np.testing.assert_allclose(found[i, m], wanted, atol=0.25 * deviation.max())


def test_columns_without_correlation_get_their_mean():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((4000, 3)) + np.array([0.0, 7.0, -2.0])
    absent = rng.random(X.shape) < 0.2
    found = fill_conditional_means(X, np.ones(len(X)), absent)
    means = np.array([X[~absent[:, j], j].mean() for j in range(3)])
    gaps = np.abs(found - means)[absent]
    assert gaps.max() < 0.2


@pytest.mark.parametrize("weighted", [False, True])
def test_scored_columns_are_described_by_their_observed_values(weighted):
    """Whatever is missing beside them, and constant or empty columns are zero."""
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.lognormal(size=90), rng.integers(0, 4, 90), np.full(90, 3.0)])
    mass = rng.integers(1, 3, 90).astype(float) if weighted else None
    canonical = order_rows([X.copy()], np.ones(3))
    whole = scoring_coordinates(X, mass, canonical)
    holey = X.copy()
    holey[:, 1][rng.random(90) < 0.3] = np.nan
    found = scoring_coordinates(holey, mass, canonical)
    np.testing.assert_allclose(found[:, 0], whole[:, 0], rtol=1e-12)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[:, 2], 0.0)
    nothing = np.column_stack([X, np.full(90, np.nan)])
    np.testing.assert_array_equal(scoring_coordinates(nothing, mass, canonical)[:, 3], 0.0)
