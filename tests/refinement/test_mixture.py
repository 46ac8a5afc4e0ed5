"""Mixtures: densities beside references, EM that never loses, and clusters that survive."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp
from sklearn.mixture import GaussianMixture

from ewp.refinement.mixture import MixtureModel, fit_mixture, one_hot
from ewp.refinement.scatter import COVARIANCES, Anchor, MatrixScatter, count_parameters
from tests.support.strategies import never_rises

TAILS = (np.inf, 5.0)
KINDS = [(covariance, tails) for covariance in COVARIANCES for tails in TAILS]


def groups(seed=0, n=90, p=3, k=3):
    """Standardised rows of clusters that overlap, and a partition that is partly wrong."""
    rng = np.random.default_rng(seed)
    labels = np.r_[np.arange(k), rng.integers(0, k, n - k)]
    rows = rng.normal(size=(n, p)) * rng.uniform(0.5, 2.0, (k, 1))[labels]
    rows += rng.normal(0, 3, (k, p))[labels]
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    wrong = rng.random(n) < 0.2
    wrong[:k] = False
    return rows, np.where(wrong, rng.integers(0, k, n), labels)


def fitted(rows, labels, covariance, tails, *, mass=None, cell=None, k=3, **options):
    mass = np.ones(len(rows)) if mass is None else mass
    cell = np.zeros(rows.shape[1]) if cell is None else cell
    anchor = Anchor.estimate(rows, mass, labels, k, cell, tails, pool=True)
    model = MixtureModel(covariance, tails)
    return fit_mixture(rows, mass, one_hot(labels, k), model, anchor, **options)


def matrix_of(mixture, j):
    scatter = mixture.scatter
    if isinstance(scatter, MatrixScatter):
        return scatter.matrix[min(j, len(scatter.matrix) - 1)]
    return np.diag(scatter.variance[j])


@pytest.mark.parametrize(("covariance", "tails"), KINDS)
@given(seed=st.integers(0, 2**32 - 1), coarse=st.booleans(), hold=st.booleans())
@settings(max_examples=8, deadline=None)
def test_no_step_lowers_the_penalised_likelihood(covariance, tails, seed, coarse, hold):
    rows, labels = groups(seed, n=50)
    cell = np.zeros(3)
    if coarse:
        rows[:, 0] = np.round(2 * rows[:, 0]) / 2
        cell[0] = 0.25 / 12
    mass = np.random.default_rng(seed).uniform(0.5, 3.0, len(rows))
    mixture = fitted(rows, labels, covariance, tails, mass=mass, cell=cell, tol=1e-9, hold=hold)
    assert len(mixture.trace) > 1
    assert never_rises(-np.array(mixture.trace))


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_the_likelihood_is_that_of_scikit_learn(covariance):
    rows, labels = groups()
    mixture = fitted(rows, labels, covariance, np.inf)
    kind = "diag" if covariance == "diagonal" else covariance
    reference = GaussianMixture(3, covariance_type=kind)
    reference.weights_, reference.means_ = np.exp(mixture.log_share), mixture.means
    matrices = np.array([matrix_of(mixture, j) for j in range(3)])
    root = {
        "spherical": 1 / np.sqrt(matrices[:, 0, 0]),
        "diag": 1 / np.sqrt(np.diagonal(matrices, axis1=1, axis2=2)),
        "tied": np.linalg.inv(np.linalg.cholesky(matrices[0])).T,
        "full": np.linalg.inv(np.linalg.cholesky(matrices)).swapaxes(1, 2),
    }
    reference.precisions_cholesky_ = root[kind]
    reference.covariances_ = matrices[0] if kind == "tied" else matrices
    density = mixture.log_density(rows)
    np.testing.assert_allclose(density, reference.score_samples(rows), rtol=1e-10)
    probabilities = mixture.probabilities(rows)
    np.testing.assert_allclose(probabilities, reference.predict_proba(rows), atol=1e-10)
    n_parameters = mixture.model.count_parameters(3, 3)
    bic = n_parameters * np.log(len(rows)) - 2 * density.sum()
    assert reference.bic(rows) == pytest.approx(bic, rel=1e-10)


@pytest.mark.parametrize(("covariance", "tails"), KINDS)
def test_densities_are_those_of_scipy(covariance, tails):
    rows, labels = groups(1)
    mixture = fitted(rows, labels, covariance, tails)
    parts = []
    for j, (share, mean) in enumerate(zip(mixture.log_share, mixture.means, strict=True)):
        matrix = matrix_of(mixture, j)
        density = (
            stats.multivariate_t(mean, matrix, df=tails)
            if np.isfinite(tails)
            else stats.multivariate_normal(mean, matrix)
        )
        parts.append(share + density.logpdf(rows))
    np.testing.assert_allclose(mixture.joint(rows), parts, rtol=1e-10)
    np.testing.assert_allclose(mixture.log_density(rows), logsumexp(parts, axis=0), rtol=1e-10)
    np.testing.assert_allclose(mixture.probabilities(rows).sum(axis=1), 1.0, rtol=1e-12)
    assert np.exp(mixture.log_share).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_distances_are_expected_ones_over_the_cells(covariance):
    rows, labels = groups(2)
    width = np.array([0.5, 0.0, 0.2])
    mixture = fitted(rows, labels, covariance, np.inf, cell=width**2 / 12)
    noise = width * np.random.default_rng(0).uniform(-0.5, 0.5, (4000, 3))
    noise = np.r_[noise, -noise]
    nothing = np.zeros(3)
    spread = [
        mixture.scatter.squared(row + noise, mixture.means, nothing).mean(axis=1)
        for row in rows[:5]
    ]
    expected = mixture.scatter.squared(rows[:5], mixture.means, mixture.cell)
    np.testing.assert_allclose(np.transpose(spread), expected, rtol=0.01)


@pytest.mark.parametrize(("covariance", "tails"), KINDS)
def test_a_coarse_column_has_no_pole(covariance, tails):
    """Its density times the width of a cell is a probability, however few values it takes."""
    labels = np.repeat([0, 1], 40)
    rows = np.where(labels == 0, -1.0, 1.0)[:, None]
    width = 2.0
    mixture = fitted(
        rows, labels, covariance, tails, cell=np.array([width**2 / 12]), k=2, max_iter=500
    )
    inside = mixture.log_density(rows) + np.log(width)
    assert (inside <= np.log(0.5)).all()
    assert (inside > -3).all()


@pytest.mark.parametrize(("covariance", "tails"), KINDS)
def test_weights_are_copies(covariance, tails):
    rows, labels = groups(3, n=60)
    copies = np.random.default_rng(0).integers(1, 4, len(rows))
    weighted = fitted(rows, labels, covariance, tails, mass=copies.astype(float), max_iter=30)
    again = np.repeat(np.arange(len(rows)), copies)
    repeated = fitted(rows[again], labels[again], covariance, tails, max_iter=30)
    np.testing.assert_allclose(weighted.trace, repeated.trace, rtol=1e-9)
    np.testing.assert_allclose(weighted.means, repeated.means, atol=1e-9)
    np.testing.assert_allclose(weighted.log_share, repeated.log_share, atol=1e-9)


@pytest.mark.parametrize(("covariance", "tails"), KINDS)
def test_more_features_than_rows_and_clusters_of_one_row_survive(covariance, tails):
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(20, 30))
    labels = np.r_[0, np.repeat([1, 2], [9, 10])]
    mixture = fitted(rows, labels, covariance, tails)
    assert np.isfinite(mixture.trace).all()
    assert np.isfinite(mixture.log_density(rng.normal(size=(5, 30)))).all()
    assert mixture.probabilities(rows)[0, 0] > 0.5


def test_equal_proportions_are_kept_equal():
    rows, labels = groups(5)
    free = fitted(rows, labels, "full", np.inf)
    anchor = Anchor.estimate(rows, np.ones(90), labels, 3, np.zeros(3), np.inf, pool=True)
    model = replace(free.model, equal=True)
    equal = fit_mixture(rows, np.ones(90), free, model, anchor)
    np.testing.assert_allclose(np.exp(equal.log_share), 1 / 3)
    assert never_rises(-np.array(equal.trace))
    assert model.count_parameters(3, 3) == free.model.count_parameters(3, 3) - 2
    assert count_parameters("full", 3, 3) == 18


def test_heavy_tails_trust_far_rows_less():
    rows, labels = groups(6)
    rows[7] = 40.0
    robust, normal = (fitted(rows, labels, "tied", tails, hold=True) for tails in (5.0, np.inf))
    others = np.delete(np.arange(90), 7)
    own = labels[7]
    truth = rows[others][labels[others] == own].mean(axis=0)
    away = [np.linalg.norm(mixture.means[own] - truth) for mixture in (robust, normal)]
    assert away[0] < 0.2 * away[1]
