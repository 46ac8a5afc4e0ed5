"""Divergences of single columns: half the deviances, one matrix product, means as centroids."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from ewp.engine.bregman import BregmanEngine
from ewp.engine.divergence import ColumnDivergence
from ewp.engine.families import FAMILIES
from tests.support.families import NAMES, draw_values, half_deviance, table
from tests.support.strategies import SLOW

DEVIANCES = {
    "poisson": sm.families.Poisson(),
    "bernoulli": sm.families.Binomial(),
    "gamma": sm.families.Gamma(),
}


@pytest.mark.parametrize("name", DEVIANCES)
def test_divergences_are_half_the_deviances_of_generalised_linear_models(name):
    rng = np.random.default_rng(0)
    x, theta = draw_values(name, rng, 500), draw_values("bernoulli-mean", rng, 500)
    theta = theta if name == "bernoulli" else 9.0 * theta
    wanted = DEVIANCES[name].resid_dev(x, theta) ** 2 / 2.0
    np.testing.assert_allclose(FAMILIES[name].divergence(x, theta), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 2**32 - 1))
@SLOW
def test_a_divergence_is_its_potential_minus_a_tangent(name, seed):
    rng = np.random.default_rng(seed)
    family, x = FAMILIES[name], draw_values(name, rng, 20)
    theta, mean = (draw_values("bernoulli-mean", rng, 20) for _ in range(2))
    potential = family.divergence(x, mean)
    built = potential - x * family.slope(theta, mean) + family.conjugate(theta, mean)
    found = family.divergence(x, theta)
    np.testing.assert_allclose(found, built, rtol=1e-8, atol=1e-10)
    assert (found >= 0).all()
    np.testing.assert_allclose(family.divergence(theta, theta), 0.0, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_curvature_is_the_second_derivative_of_the_potential(name):
    mean, step = np.linspace(0.2, 0.8, 7), 1e-4
    family = FAMILIES[name]
    slopes = [family.slope(mean + move, mean) for move in (-step, step)]
    np.testing.assert_allclose(
        family.curvature(mean), (slopes[1] - slopes[0]) / (2 * step), rtol=1e-6
    )


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 2**32 - 1))
@SLOW
def test_no_point_is_nearer_to_weighted_rows_than_their_mean(name, seed):
    rng = np.random.default_rng(seed)
    x, a = draw_values(name, rng, 12), rng.uniform(0, 2, 12)
    mean, other = a @ x / a.sum(), draw_values("bernoulli-mean", rng, 1)
    mean = np.clip(mean, 1e-12, 1 - 1e-12) if name == "bernoulli" else max(mean, 1e-12)
    family = FAMILIES[name]
    at_mean = a @ family.divergence(x, np.full(12, mean))
    assert at_mean <= a @ family.divergence(x, np.full(12, other[0])) + 1e-9


@pytest.mark.parametrize(
    "names", [*[(name,) * 3 for name in NAMES], ("euclidean", "poisson", "gamma")]
)
@pytest.mark.parametrize("scale", [None, "standard"])
def test_engines_give_divergences_sums_and_dispersions(names, scale):
    rng = np.random.default_rng(4)
    X, a = table(names, rng, 60), rng.uniform(0.5, 2, 60)
    engine = BregmanEngine(X, a, names=names, scale=scale).in_double()
    mean = a @ X / a.sum()
    total = a @ half_deviance(X, mean, names)
    units = a.sum() / total if scale else np.ones(3)
    np.testing.assert_allclose(engine.squares, total * units, rtol=1e-10)
    w = rng.dirichlet(np.ones(3))
    labels = rng.integers(0, 4, 60)
    centroids = np.array([a[labels == j] @ X[labels == j] / a[labels == j].sum() for j in range(4)])
    theta = engine.to_engine_units(centroids)
    direct = np.array([half_deviance(X, one, names) @ (w * units) for one in centroids]).T
    found = engine.distances(theta, w)
    # where a mean is at the end of its domain other rows are infinitely far
    near = direct < 30.0
    assert (found[~near] > 20.0 * (w * units).min()).all()
    np.testing.assert_allclose(found[near], direct[near], rtol=1e-8, atol=1e-12)
    runs = engine.distances_of_runs(theta[None], w[None], engine.lengths_of_runs(w[None]))[0]
    np.testing.assert_allclose(runs.T, found, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(engine.assign(theta, w)[0], direct.argmin(axis=1))
    about = engine.deviations(theta, w)
    own = half_deviance(X, centroids[direct.argmin(axis=1)], names) * units
    np.testing.assert_allclose(about.squares, a @ own, rtol=1e-9)
    assert about.nearest == pytest.approx(a @ direct.min(axis=1), rel=1e-10)


def test_kept_and_passing_potentials_give_the_same_sums(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.poisson(4.0, (300, 5)).astype(float)
    names, theta = ("poisson",) * 5, rng.uniform(1, 8, (2, 3, 5))
    weights = rng.dirichlet(np.ones(5), 2)
    kept = BregmanEngine(X, names=names)
    monkeypatch.setattr("ewp.engine.bregman._POTENTIAL_BYTES", 0)
    passing = BregmanEngine(X, names=names)
    s = np.array([-3.0, -np.inf])
    one, two = (engine.statistics(theta, weights, s) for engine in (kept, passing))
    for name in ("sums", "mass", "scatter", "power", "nearest"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-11)


def test_fixed_points_of_the_search_are_fixed_points():
    """Means of hard clusters lie at the end of a domain, or between the ends of searches."""
    rng = np.random.default_rng(0)
    X = (rng.random((50, 8)) < 0.1).astype(float)
    engine = BregmanEngine(X, names=("bernoulli",) * 8)
    labels = rng.integers(0, 6, 50)
    means = np.array([X[labels == j].mean(axis=0) for j in range(6)])
    lowest, highest = engine.divergence.search
    assert ((means == 0) | (means >= lowest)).all()
    assert ((means == 1) | (means <= highest)).all()
    searched, exact = (
        one.distances(means, np.full(8, 0.125)) for one in (engine, engine.in_double())
    )
    assert (searched <= exact * (1 + 1e-9) + 1e-9).all()


def test_constant_columns_have_no_dispersion():
    X = np.column_stack([np.zeros(6), np.arange(6.0), np.full(6, 3.0)])
    engine = BregmanEngine(X, names=("poisson",) * 3, scale="standard")
    assert engine.squares[[0, 2]].tolist() == [0.0, 0.0]
    assert engine.squares[1] == pytest.approx(6.0)
    distance = engine.distances(X[:2], np.array([0.0, 1.0, 0.0]))
    assert np.isfinite(distance).all()


def test_units_multiply_divergences():
    names = ("poisson", "gamma")
    one = ColumnDivergence.estimate(names, np.ones(2), np.ones(2), np.full(2, np.inf), 10.0)
    X = np.array([[3.0, 2.0], [1.0, 0.5]])
    np.testing.assert_allclose(
        one.with_units(np.array([2.0, 5.0])).exact(X, np.full(2, 1.5)),
        one.exact(X, np.full(2, 1.5)) * [2.0, 5.0],
    )
