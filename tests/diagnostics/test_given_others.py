"""A feature against clusters of the others: F tests where they are exact, and what each finds."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import kstest

from ewp.diagnostics.given_others import conditional_tests, memberships


def indicator(labels):
    return (labels[:, None] == np.unique(labels)).astype(float)


def test_means_are_tested_by_the_f_test_of_a_linear_model():
    """Where the residuals' sizes do not grow with the leverages, it is the classical one."""
    checked = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        others, x = rng.normal(size=(60, 3)), rng.normal(size=60)
        member = indicator(rng.integers(3, size=60))
        small = sm.OLS(x, sm.add_constant(others)).fit()
        size = np.abs(small.resid) / np.sqrt(1 - small.get_influence().hat_matrix_diag)
        found = conditional_tests(x, others, member, x)
        if np.corrcoef(size, small.get_influence().hat_matrix_diag)[0, 1] <= 0:
            large = sm.OLS(x, np.column_stack([sm.add_constant(others), member[:, 1:]])).fit()
            assert found.means == pytest.approx(large.compare_f_test(small)[1], rel=1e-9)
            assert found.partial_r2 == pytest.approx(1 - large.ssr / small.ssr, rel=1e-9)
            checked += 1
    assert checked >= 2


def test_p_values_are_uniform_where_errors_know_nothing_of_the_others():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        others = rng.standard_t(4, size=(60, 4))
        member = indicator((others[:, 0] > 0.3) + 2 * (others[:, 1] > 0))
        x = others @ [1.0, -2.0, 0.0, 3.0] + rng.normal(size=60)
        found.append(conditional_tests(x, others, member, x))
    for p in (np.array([one.means for one in found]), np.array([one.spreads for one in found])):
        assert kstest(p, "uniform").pvalue > 0.01
        assert 0.03 <= np.mean(p <= 0.05) <= 0.07
    assert np.mean([one.modes <= 0.05 for one in found]) <= 0.02


def test_the_answer_does_not_depend_on_what_the_others_explain():
    """Adding a linear function of the other features, or another unit, changes nothing."""
    rng = np.random.default_rng(1)
    others = rng.normal(size=(80, 3))
    member = indicator(others[:, 0] > 0)
    x = rng.normal(size=80) + member[:, 1]
    first = conditional_tests(x, others, member, x)
    moved = 7.0 - 3.0 * x + others @ [5.0, 0.0, -9.0]
    second = conditional_tests(moved, 100.0 * others + 4.0, member, moved)
    np.testing.assert_allclose(second, first, rtol=1e-6)


def test_errors_of_a_t_distribution_in_all_features_are_no_clusters():
    """Far out they are larger, and the outer rows are a cluster."""
    rng = np.random.default_rng(2)
    means, spreads = [], []
    for _ in range(200):
        X = rng.normal(size=(150, 4)) / np.sqrt(rng.chisquare(5, size=(150, 1)) / 5)
        far = (X[:, 1:] ** 2).sum(axis=1)
        member = indicator((far > np.quantile(far, 0.9)) * (1 + (X[:, 1] > 0)))
        found = conditional_tests(X[:, 0], X[:, 1:], member, X[:, 0])
        means.append(found.means)
        spreads.append(found.spreads)
    assert np.mean(np.array(means) <= 0.05) <= 0.09
    assert np.mean(np.array(spreads) <= 0.05) <= 0.12


def test_each_part_finds_its_own():
    rng = np.random.default_rng(3)
    others = rng.normal(size=(200, 3))
    group = (np.abs(others[:, 0]) > 0.7).astype(int)
    noise = rng.normal(size=200)
    features = {
        "means": noise + 2.0 * group,
        "spreads": noise * np.array([1.0, 2.5])[group],
        "modes": noise + 6.0 * rng.integers(2, size=200),
    }
    for part, x in features.items():
        found = conditional_tests(x, others, indicator(group), x)._asdict()
        del found["partial_r2"]
        assert found.pop(part) < 1e-4
        assert min(found.values()) > 0.01


def test_what_the_others_determine_adds_nothing():
    rng = np.random.default_rng(4)
    others = rng.normal(size=(50, 3))
    x = others @ [1.0, 2.0, 3.0]
    found = conditional_tests(x, others, indicator(others[:, 0] > 0), x)
    assert found == (0.0, 1.0, 1.0, 1.0)
    x = rng.normal(size=6)
    few = conditional_tests(x, rng.normal(size=(6, 3)), np.eye(3)[[0, 1, 2] * 2], x)
    assert np.isnan(few).all()


def test_dependent_columns_count_once():
    rng = np.random.default_rng(5)
    others = rng.normal(size=(50, 3))
    x, member = rng.normal(size=50), indicator(others[:, 0] > 0)
    twice = np.hstack([others, others @ rng.normal(size=(3, 2)), np.ones((50, 1))])
    np.testing.assert_allclose(
        conditional_tests(x, twice, member, x), conditional_tests(x, others, member, x), rtol=1e-6
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_memberships_are_those_of_a_discriminant_analysis(weighted):
    rng = np.random.default_rng(6)
    labels = np.array([0, 2])[rng.integers(2, size=40)]  # cluster 1 is empty
    X = rng.normal(size=(40, 3)) + labels[:, None]
    mass = rng.uniform(0.5, 2.0, 40) if weighted else None
    weight = np.ones(40) if mass is None else mass
    found = memberships(X, labels, mass)
    assert found.probability.shape == (40, 2)
    np.testing.assert_allclose(found.probability.sum(axis=1), 1.0)
    means = np.array(
        [np.average(X[labels == j], axis=0, weights=weight[labels == j]) for j in (0, 2)]
    )
    within = weight @ (X - means[labels // 2]) ** 2 / weight.sum()
    share = np.array([weight[labels == j].sum() for j in (0, 2)])
    log = np.log(share) - 0.5 * ((X[:, None] - means) ** 2 / within).sum(axis=2)
    np.testing.assert_allclose(found.scores[:, 0], log[:, 1] - log[:, 0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        found.probability[:, 1], 1 / (1 + np.exp(-found.scores[:, 0] / 4)), atol=1e-12
    )
    design = np.column_stack([np.ones(40), X])
    linear = design @ np.linalg.lstsq(design, found.scores, rcond=None)[0]
    np.testing.assert_allclose(linear, found.scores, atol=1e-8)


def test_discriminant_probabilities_are_linear_in_the_features_and_know_no_units():
    rng = np.random.default_rng(7)
    labels = rng.integers(3, size=60)
    X = rng.normal(size=(60, 4)) + 2.0 * (labels[:, None] == np.arange(4))
    found = memberships(X, labels, None).discriminant
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.mean(found.argmax(axis=1) == labels) > 0.7
    log = np.log(found[:, 1:] / found[:, :1])
    design = np.column_stack([np.ones(60), X])
    linear = design @ np.linalg.lstsq(design, log, rcond=None)[0]
    np.testing.assert_allclose(linear, log, atol=1e-7)
    moved = memberships(X * [1.0, 50.0, 0.01, 3.0] + 7.0, labels, None).discriminant
    np.testing.assert_allclose(moved, found, atol=1e-9)
    twice = memberships(np.repeat(X, 2, axis=0), np.repeat(labels, 2), np.full(120, 0.5))
    np.testing.assert_allclose(twice.discriminant, np.repeat(found, 2, axis=0), atol=1e-9)


@pytest.mark.parametrize(("p", "apart"), [(12, 0.0), (4, 50.0)])
def test_of_many_features_and_of_clusters_apart_probabilities_are_the_flattened_ones(p, apart):
    labels = np.arange(30) % 2
    X = np.random.default_rng(8).normal(size=(30, p)) + apart * labels[:, None]
    found = memberships(X, labels, None)
    np.testing.assert_array_equal(found.discriminant, found.probability)
