"""Mixtures of rows with missing values: EM beside a transcription, and what never falls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ewp.refinement.coordinates import prepare, variance_ratios
from ewp.refinement.mixture import Mixture, MixtureModel, fit_mixture, one_hot
from ewp.refinement.observed import Patterns, estimate_anchor
from ewp.refinement.scatter import COVARIANCES, Anchor, MatrixScatter, VarianceScatter
from tests.support.strategies import never_rises

TAILS = (np.inf, 5.0)
KINDS = [(covariance, tails) for covariance in COVARIANCES for tails in TAILS]


def with_holes(seed=0, n=60, p=4, k=3, share=0.25):
    """Standardised rows of clusters that overlap, some values missing, and a partition."""
    rng = np.random.default_rng(seed)
    labels = np.r_[np.arange(k), rng.integers(0, k, n - k)]
    rows = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + rng.normal(0, 2, (k, p))[labels]
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    rows[rng.random(rows.shape) < share] = np.nan
    return rows, labels


def matrix_of(scatter, j):
    if isinstance(scatter, MatrixScatter):
        return scatter.matrix[min(j, len(scatter.matrix) - 1)]
    return np.diag(scatter.variance[j])


def density(values, mean, matrix, tails):
    if not len(values):
        return 0.0
    if np.isfinite(tails):
        return stats.multivariate_t.logpdf(values, mean, matrix, df=tails)
    return stats.multivariate_normal.logpdf(values, mean, matrix)


def step(rows, mass, log_share, means, matrices, tails, anchor, covariance):
    """One step of EM, row by row (Little and Rubin 2002, chapters 8 and 11)."""
    n, p = rows.shape
    k = len(means)
    count, weight = np.zeros(k), np.zeros(k)
    sums, products = np.zeros((k, p)), np.zeros((k, p, p))
    for i in range(n):
        o = np.flatnonzero(~np.isnan(rows[i]))
        m = np.flatnonzero(np.isnan(rows[i]))
        logs = [
            log_share[j] + density(rows[i, o], means[j][o], matrices[j][np.ix_(o, o)], tails)
            for j in range(k)
        ]
        member = np.exp(logs - np.logaddexp.reduce(logs))
        for j in range(k):
            away = rows[i, o] - means[j][o]
            inverse = np.linalg.inv(matrices[j][np.ix_(o, o)])
            trust = (tails + len(o)) / (tails + away @ inverse @ away) if tails < np.inf else 1.0
            x, more = rows[i].copy(), np.zeros((p, p))
            slope = matrices[j][np.ix_(m, o)] @ inverse
            x[m] = means[j][m] + slope @ away
            more[np.ix_(m, m)] = matrices[j][np.ix_(m, m)] - slope @ matrices[j][np.ix_(o, m)]
            share = mass[i] * member[j]
            count[j] += share
            weight[j] += share * trust
            sums[j] += share * trust * x
            products[j] += share * (trust * np.outer(x, x) + more)
    new = sums / weight[:, None]
    for j in range(k):
        products[j] -= weight[j] * np.outer(new[j], new[j])
    if covariance == "tied":
        pooled = products.sum(axis=0) + anchor.rows * np.diag(anchor.variance)
        return np.log(count / count.sum()), new, [pooled / (count.sum() + anchor.rows)] * k
    more = p + 2.0
    new_matrices = [(products[j] + more * anchor.pooled) / (count[j] + more) for j in range(k)]
    return np.log(count / count.sum()), new, new_matrices


@pytest.mark.parametrize("covariance", ["tied", "full"])
@pytest.mark.parametrize("tails", TAILS)
def test_steps_are_those_of_a_transcription(covariance, tails):
    rows, labels = with_holes()
    rows[5] = np.nan  # a row without any value has the proportions as its memberships
    mass = np.random.default_rng(1).uniform(0.5, 3.0, len(rows))
    anchor = estimate_anchor(rows, mass, labels, 3, np.zeros(4), tails, pool=True)
    model = MixtureModel(covariance, tails)
    begin = fit_mixture(rows, mass, one_hot(labels, 3), model, anchor, max_iter=1)
    found = fit_mixture(rows, mass, begin, model, anchor, max_iter=5, tol=-np.inf)
    log_share, means = begin.log_share, begin.means
    matrices = [matrix_of(begin.scatter, j) for j in range(3)]
    for _ in range(4):
        log_share, means, matrices = step(
            rows, mass, log_share, means, matrices, tails, anchor, covariance
        )
    np.testing.assert_allclose(found.log_share, log_share, atol=1e-9)
    np.testing.assert_allclose(found.means, means, atol=1e-9)
    for j in range(3):
        np.testing.assert_allclose(matrix_of(found.scatter, j), matrices[j], atol=1e-9)
    np.testing.assert_allclose(found.probabilities(rows[5:6])[0], np.exp(found.log_share))


@pytest.mark.parametrize(("covariance", "tails"), KINDS)
def test_densities_are_those_of_the_observed_values(covariance, tails):
    rows, labels = with_holes(1)
    anchor = estimate_anchor(rows, np.ones(60), labels, 3, np.zeros(4), tails, pool=True)
    model = MixtureModel(covariance, tails)
    found = fit_mixture(rows, np.ones(60), one_hot(labels, 3), model, anchor, max_iter=3)
    joint = found.joint(rows)
    for i in range(0, 60, 7):
        o = np.flatnonzero(~np.isnan(rows[i]))
        for j in range(3):
            matrix = matrix_of(found.scatter, j)[np.ix_(o, o)]
            expected = density(rows[i, o], found.means[j][o], matrix, tails)
            assert joint[j, i] == pytest.approx(found.log_share[j] + expected, rel=1e-9)


@pytest.mark.parametrize(("covariance", "tails"), KINDS)
@given(seed=st.integers(0, 2**32 - 1), coarse=st.booleans(), hold=st.booleans())
@settings(max_examples=6, deadline=None)
def test_no_step_lowers_the_penalised_likelihood(covariance, tails, seed, coarse, hold):
    rng = np.random.default_rng(seed)
    rows, labels = with_holes(seed, share=rng.uniform(0.02, 0.5))
    cell = np.zeros(4)
    if coarse:
        rows[:, 0] = np.round(2 * rows[:, 0]) / 2
        cell[0] = 0.25 / 12
    mass = rng.uniform(0.5, 3.0, len(rows))
    anchor = estimate_anchor(rows, mass, labels, 3, cell, tails, pool=True)
    model = MixtureModel(covariance, tails)
    start = one_hot(labels, 3)
    found = fit_mixture(rows, mass, start, model, anchor, tol=1e-9, max_iter=60, hold=hold)
    assert len(found.trace) > 1
    assert never_rises(-np.array(found.trace))
    probabilities = found.probabilities(rows)
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize(("covariance", "tails"), KINDS)
def test_a_maximum_stays_where_rows_without_values_are_added(covariance, tails):
    """They know nothing, though the path through expected values is taken because of them."""
    rows, labels = with_holes(2, share=0.0)
    assert Patterns.of(rows) is None
    mass, model = np.ones(60), MixtureModel(covariance, tails)
    anchor = Anchor.estimate(rows, mass, labels, 3, np.zeros(4), tails, pool=True)
    how = {"tol": 1e-13, "max_iter": 3000}
    whole = fit_mixture(rows, mass, one_hot(labels, 3), model, anchor, **how)
    more = np.vstack([rows, np.full((2, 4), np.nan)])
    begin = Mixture(model, whole.log_share, whole.means, whole.scatter, whole.cell)
    found = fit_mixture(more, np.r_[mass, 0.5, 0.5], begin, model, anchor, **how)
    np.testing.assert_allclose(found.means, whole.means, atol=1e-4)
    np.testing.assert_allclose(found.log_share, whole.log_share, atol=1e-4)
    assert found.trace[-1] == pytest.approx(whole.trace[-1], rel=1e-8)


def test_cells_of_missing_values_do_not_count():
    rows = with_holes(3)[0]
    cell = np.array([0.02, 0.0, 0.01, 0.0])
    for scatter in (
        MatrixScatter(np.array([np.diag([0.5, 1.0, 0.7, 0.9]) + 0.1 * np.ones((4, 4))])),
        VarianceScatter(np.tile([0.6, 1.1, 0.8, 1.0], (3, 1))),
    ):
        means = np.arange(12.0).reshape(3, 4) / 10
        found = Mixture(MixtureModel("tied"), np.log(np.ones(3) / 3), means, scatter, cell)
        joint = found.joint(rows)
        for i in range(0, 60, 11):
            o = np.flatnonzero(~np.isnan(rows[i]))
            matrix = matrix_of(scatter, 0)[np.ix_(o, o)]
            less = 0.5 * np.diag(np.linalg.inv(matrix)) @ cell[o]
            expected = density(rows[i, o], means[1][o], matrix, np.inf) - less - np.log(3)
            assert joint[1, i] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("tails", TAILS)
def test_few_holes_change_little_of_what_matrices_are_shrunk_to(tails):
    rows, labels = with_holes(4, n=2000, share=0.0)
    rng = np.random.default_rng(0)
    holey = np.where(rng.random(rows.shape) < 0.1, np.nan, rows)
    whole, found = (
        estimate_anchor(one, np.ones(2000), labels, 3, np.zeros(4), tails, pool=True)
        for one in (rows, holey)
    )
    np.testing.assert_allclose(found.variance, whole.variance, rtol=0.06)
    np.testing.assert_allclose(found.pooled, whole.pooled, atol=0.06 * whole.variance.max())
    np.testing.assert_allclose(np.diag(found.pooled), found.variance)


def test_ratios_are_those_of_an_analysis_of_the_observed_values():
    rows, labels = with_holes(5)
    rows = (rows - np.nanmean(rows, axis=0)) / np.nanstd(rows, axis=0)
    ratio, p_value = variance_ratios(rows, np.ones(60), labels, 3)
    for column, values in enumerate(rows.T):
        groups = [values[(labels == j) & ~np.isnan(values)] for j in range(3)]
        reference = stats.f_oneway(*groups)
        assert ratio[column] == pytest.approx(reference.statistic)
        assert p_value[column] == pytest.approx(reference.pvalue)


def test_rows_are_standardised_by_what_is_observed():
    rows, labels = with_holes(6, n=90)
    X = 7.0 + 3.0 * rows
    X[:, 3] = np.where(np.isnan(X[:, 3]), np.nan, np.round(X[:, 3]))
    place = prepare(X, np.ones(90), labels, 3, np.arange(4))
    np.testing.assert_allclose(np.nanmean(place.rows, axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.nanstd(place.rows, axis=0), 1.0)
    np.testing.assert_array_equal(np.isnan(place.rows), np.isnan(X))
    assert place.cell[3] == pytest.approx(1 / 12 / np.nanvar(X[:, 3]))
    assert (place.cell[:3] == 0).all()
    assert all(not np.isnan(start).any() for start in place.starts.values())
    for column in range(4):
        groups = [X[(labels == j) & ~np.isnan(X[:, column]), column] for j in range(3)]
        reference = stats.f_oneway(*groups)
        assert place.ratio[column] >= reference.statistic * (1 - 1e-9)
