"""Bootstrap intervals: percentile and BCa, on arrays whose answer is known."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ewp.diagnostics.intervals import bca_interval, logistic, logit, percentile_interval


def test_percentiles_are_order_statistics():
    draws = np.random.default_rng(0).permutation(np.arange(1.0, 200.0))[:, None]
    lower, upper = percentile_interval(draws, 0.95)
    np.testing.assert_allclose([lower[0], upper[0]], [5.0, 195.0])


def test_bca_is_the_percentile_interval_without_bias_and_acceleration():
    half = np.random.default_rng(0).exponential(size=(100, 3))
    draws, jackknife = np.vstack([half, -half]), np.vstack([half[:10], -half[:10]])
    for one, two in zip(
        bca_interval(draws, np.zeros(3), jackknife, 0.9),
        percentile_interval(draws, 0.9),
        strict=True,
    ):
        np.testing.assert_allclose(one, two)


def test_bca_moves_against_the_bias_and_along_the_acceleration():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(2000, 1))
    flat = np.array([[-1.0], [1.0]])
    plain = bca_interval(draws, np.zeros(1), flat, 0.9)
    above = bca_interval(draws, np.array([0.3]), flat, 0.9)
    assert above[0] > plain[0]
    assert above[1] > plain[1]
    skewed = -np.array([[0.0]] * 9 + [[1.0]])
    assert bca_interval(draws, np.zeros(1), skewed, 0.9)[1] > plain[1]


def test_bca_covers_the_mean_of_a_skewed_population_better():
    """Exponential rows, n = 20: the percentile interval is too short on the right."""
    rng = np.random.default_rng(1)
    X = rng.exponential(size=(20, 3000))
    rows = rng.integers(20, size=(500, 20))
    draws = np.array([X[row].mean(axis=0) for row in rows])
    jackknife = np.array([np.delete(X, i, axis=0).mean(axis=0) for i in range(20)])
    covered = {}
    for name, (lower, upper) in {
        "bca": bca_interval(draws, X.mean(axis=0), jackknife, 0.9),
        "percentile": percentile_interval(draws, 0.9),
    }.items():
        covered[name] = np.mean((lower <= 1) & (upper >= 1))
    assert covered["bca"] > covered["percentile"]
    assert covered["bca"] > 0.84


def test_leaving_out_groups_gives_the_acceleration_of_leaving_out_rows():
    rng = np.random.default_rng(2)
    X = rng.exponential(size=(3000, 1))
    draws = rng.normal(size=(4000, 1))
    ends = []
    for groups in (3000, 50):
        part = rng.permutation(3000) % groups
        jackknife = np.array([X[part != i].mean(axis=0) for i in range(groups)])
        ends.append(bca_interval(draws, np.zeros(1), jackknife, 0.95))
    np.testing.assert_allclose(ends[0], ends[1], atol=0.15)


def test_a_bias_beyond_the_resamples_is_reflected():
    draws = np.linspace(1.0, 2.0, 199)[:, None]
    lower, upper = bca_interval(draws, np.zeros(1), np.array([[-1.0], [1.0]]), 0.95)
    low, high = percentile_interval(draws, 0.95)
    assert (lower[0], upper[0]) == (-high[0], -low[0])


@given(st.lists(st.floats(1e-12, 1 - 1e-9), min_size=1, max_size=5))
@settings(deadline=None, max_examples=50)
def test_logistic_undoes_logit(shares):
    w = np.array(shares)
    np.testing.assert_allclose(logistic(logit(w)), w, rtol=1e-6)


def test_edges_of_the_simplex_stay_finite():
    assert np.isfinite(logit(np.array([0.0, 1.0]))).all()
