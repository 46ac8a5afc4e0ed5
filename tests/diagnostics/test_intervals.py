"""Bootstrap intervals: percentile and BCa, on arrays whose answer is known."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ewp.diagnostics.intervals import (
    bca_interval,
    choose_interval,
    enough_resamples,
    fewest_resamples,
    kinds_in_words,
    logistic,
    logit,
    percentile_interval,
)


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


def normal_case(count=999):
    """Resamples, jackknife and estimate of the mean of normal rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    draws = X.mean(axis=0) + rng.normal(size=(count, 1)) * X.std() / 20
    part = rng.permutation(400) % 50
    jackknife = np.array([X[part != i].mean(axis=0) for i in range(50)])
    return draws, X.mean(axis=0), jackknife


def reason_of(draws, estimate, jackknife, **options):
    """Kind of the interval in words, and whether its ends are those of that kind."""
    found = choose_interval(draws, estimate, jackknife, 0.95, **options)
    kind = percentile_interval(draws, 0.95)
    if not found.reason.any():
        kind = bca_interval(draws, estimate, jackknife, 0.95)
    np.testing.assert_array_equal(found[:2], kind)
    return " ".join(kinds_in_words(found, "weight"))


def test_bca_is_taken_where_its_assumptions_hold():
    draws, estimate, jackknife = normal_case()
    assert reason_of(draws, estimate, jackknife) == "All intervals of weights are BCa intervals."


def test_a_bias_beyond_the_resamples_has_a_percentile_interval():
    draws, estimate, jackknife = normal_case(199)
    text = reason_of(draws, estimate - 2 * draws.std(), jackknife)
    assert "bias is so large" in text
    # some bias is within the reach of many resamples, and not of few
    shifted = estimate + 0.35 * draws.std()
    assert "bias is so large" in reason_of(draws, shifted, jackknife)
    assert "All" in reason_of(normal_case(4999)[0], shifted, jackknife)


def test_without_an_acceleration_there_is_a_percentile_interval():
    draws, estimate, jackknife = normal_case()
    assert "do not differ" in reason_of(draws, estimate, np.ones_like(jackknife))
    assert "without a jackknife" in reason_of(draws, estimate, jackknife[:0])


def test_resamples_that_jump_have_percentile_intervals():
    draws, estimate, jackknife = normal_case()
    assert "clusters are other ones" in reason_of(draws, estimate, jackknife, jumps=True)
    # two modes, of which the jackknife knows one
    two = draws + 0.5 * (np.arange(len(draws)) % 4 == 0)[:, None]
    assert "spread otherwise than the jackknife" in reason_of(two, estimate, jackknife)


def test_kinds_are_chosen_for_every_quantity_by_itself():
    draws, estimate, jackknife = normal_case()
    draws, jackknife = np.hstack([draws, 5 * draws]), np.hstack([jackknife, jackknife])
    found = choose_interval(draws, np.append(estimate, 5 * estimate), jackknife, 0.95)
    assert (found.reason == 0).tolist() == [True, False]
    text = kinds_in_words(found, "weight")[0]
    assert text.startswith("Percentile interval of 1 weight")
    assert text.endswith("else BCa.")


@given(st.floats(0.5, 0.999))
def test_the_fewest_resamples_are_those_whose_extremes_are_the_ends(level):
    count = fewest_resamples(level)
    assert (count + 1) * (1 - level) / 2 >= 1 - 1e-6
    assert count * (1 - level) / 2 < 1 + 1e-6
    assert enough_resamples(level) > count


@given(st.lists(st.floats(1e-12, 1 - 1e-9), min_size=1, max_size=5))
@settings(deadline=None, max_examples=50)
def test_logistic_undoes_logit(shares):
    w = np.array(shares)
    np.testing.assert_allclose(logistic(logit(w)), w, rtol=1e-6)


def test_edges_of_the_simplex_stay_finite():
    assert np.isfinite(logit(np.array([0.0, 1.0]))).all()
