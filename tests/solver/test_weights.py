"""How weights follow from dispersions: by entropy, by powers, and within a bound."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import ewp
from ewp.solver.weights import PowerWeights, RelativeEntropy, SparseWeights, threshold_weights
from tests.support.strategies import SLOW, problems

# --- entropy -----------------------------------------------------------------------------------


def test_between_form_is_sparse_k_means_criterion_with_entropy():
    rng = np.random.default_rng(2)
    X = np.repeat(rng.normal(0, 4, (3, 5)), 20, axis=0) + rng.standard_normal((60, 5))
    lam = 100.0
    fit = ewp.fit(X, 3, lam, dispersion="between", random_state=0)
    labels = fit.labels.to_numpy()
    within = sum(
        ((X[labels == j] - X[labels == j].mean(axis=0)) ** 2).sum(axis=0) for j in range(3)
    )
    between = ((X - X.mean(axis=0)) ** 2).sum(axis=0) - within
    expected = np.exp((between - between.max()) / lam)
    np.testing.assert_allclose(fit.weights, expected / expected.sum(), rtol=1e-8)
    w = fit.weights.to_numpy()
    assert fit.objective == pytest.approx(-(w @ between) + lam * (w @ np.log(w)), rel=1e-10)


def test_prior_multiplies_the_weights():
    rng = np.random.default_rng(2)
    X = np.repeat(rng.normal(0, 4, (3, 4)), 20, axis=0) + rng.standard_normal((60, 4))
    prior = np.array([1.0, 2.0, 0.0, 5.0])
    fit = ewp.fit(X, 3, lam=30.0, prior=prior, random_state=0)
    labels = fit.labels.to_numpy()
    within = sum(
        ((X[labels == j] - X[labels == j].mean(axis=0)) ** 2).sum(axis=0) for j in range(3)
    )
    expected = prior * np.exp(-(within - within.min()) / 30.0)
    np.testing.assert_allclose(fit.weights, expected / expected.sum(), rtol=1e-8)
    assert fit.weights.iloc[2] == 0.0


@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_the_least_objective_is_that_of_the_updated_weights(between, scaled):
    rng = np.random.default_rng(3)
    totals = rng.uniform(1, 50, (4, 6))
    dispersion = totals * rng.uniform(0.01, 1, (4, 6))
    prior = np.array([1.0, 2.0, 0.0, 5.0, 1.0, 1.0])
    lams = np.array([1e-3, 0.5, 3.0, 1e4])
    units = 10.0 / totals if scaled else None
    rule = RelativeEntropy.of_runs(lams, totals, np.tile(prior, (4, 1)), np.full(4, between), units)
    weights = rule.update(dispersion)
    expected = (rule.metric(weights) * dispersion).sum(axis=1) + rule.penalty(weights)
    np.testing.assert_allclose(rule.least(dispersion), expected, rtol=1e-9)
    if not scaled:
        for i, lam in enumerate(lams):
            one = RelativeEntropy.make(lam, totals[i], prior, between=between)
            np.testing.assert_allclose(one.least(dispersion[i]), expected[i], rtol=1e-9)


# --- powers ------------------------------------------------------------------------------------


@given(problems(), st.floats(1.05, 10), st.integers(0, 1000))
@SLOW
def test_no_weights_on_the_simplex_do_better_than_the_rule_of_wk_means(problem, beta, seed):
    X, _ = problem
    rng = np.random.default_rng(seed)
    totals = X.var(axis=0) * len(X)
    dispersion = totals * rng.uniform(0.01, 1, len(totals))
    rule = PowerWeights(beta, totals)
    w = rule.update(dispersion)
    value = rule.metric(w) @ dispersion
    others = rng.dirichlet(np.ones(len(w)), 50)
    assert ((others**beta) @ dispersion >= value * (1 - 1e-9)).all()
    ratio = dispersion / dispersion.min()
    expected = ratio ** (1 / (1 - beta))
    np.testing.assert_allclose(w, expected / expected.sum(), rtol=1e-9)


def test_features_without_dispersion_share_the_weight_of_wk_means():
    rule = PowerWeights(2.0, np.array([4.0, 4.0, 4.0, 0.0]))
    assert rule.start().tolist() == [1 / 3, 1 / 3, 1 / 3, 0.0]
    assert rule.update(np.array([0.0, 1.0, 0.0, 0.0])).tolist() == [0.5, 0.0, 0.5, 0.0]
    assert PowerWeights(2.0, np.zeros(2)).update(np.zeros(2)).tolist() == [0.5, 0.5]


# --- a bound -----------------------------------------------------------------------------------


def test_a_bound_without_effect_gives_weights_proportional_to_the_separation():
    rule = SparseWeights(3.0, np.array([9.0, 8.0, 5.0]))
    np.testing.assert_allclose(rule.update(np.array([6.0, 4.0, 5.0])), [0.6, 0.8, 0.0])
    np.testing.assert_allclose(rule.update(np.array([9.0, 8.0, 5.0])), np.full(3, 3**-0.5))
    assert rule.penalty(np.array([1.0, 0.0, 0.0])) == -9.0


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
