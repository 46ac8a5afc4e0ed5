"""One block of rows: the sums of an MM step are those of the definitions, run by run."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ewp.engine.divergence import SQUARED_EUCLIDEAN, BregmanDivergence, SquaredEuclidean
from ewp.engine.kernel import block_distances, block_lengths, block_statistics
from ewp.engine.statistics import Metric, Statistics, Workspace
from tests.support import reference

EXPONENTS = (-0.5, -1.0, -3.25, -17.3, -400.0, -np.inf)
FIELDS = [one.name for one in dataclasses.fields(Statistics) if one.name != "columns"]


def problem(seed, n=9, p=3, k=4, runs=1):
    """Rows, weights of rows, and centroids and weights of some runs."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, p))
    return (
        rows - rows.mean(axis=0),
        rng.uniform(0.2, 2.0, n),
        rng.standard_normal((runs, k, p)),
        rng.dirichlet(np.ones(p), runs),
    )


def compute(X, a, theta, weights, s, divergence=SQUARED_EUCLIDEAN):
    squares = (X**2).sum(axis=0) if a is None else a @ X**2
    total = float(len(X) if a is None else a.sum())
    metric = Metric.prepare(theta, weights, squares, total, divergence)
    into = Statistics.zeros(*theta.shape)
    work = Workspace(len(X), X.shape[1], theta.shape[1], len(theta))
    block_statistics(X, a, metric, np.asarray(s, dtype=float), work, into)
    return into


@given(st.integers(0, 2**31), st.sampled_from(EXPONENTS), st.booleans(), st.integers(1, 5))
@settings(deadline=None, max_examples=60)
def test_statistics_are_those_of_the_definition(seed, s, weighted, k):
    X, a, theta, weights = problem(seed, k=k)
    a = a if weighted else np.ones(len(X))
    found = compute(X, a if weighted else None, theta, weights, [s]).run(0)
    wanted = reference.statistics(X.tolist(), a.tolist(), theta[0].tolist(), weights[0].tolist(), s)
    for name, value in wanted.items():
        np.testing.assert_allclose(getattr(found, name), value, rtol=1e-9, atol=1e-10)


def test_softness_is_the_mass_that_is_not_with_the_nearest_centroid():
    X, _, theta, weights = problem(3)
    s = -2.5
    found = compute(X, None, theta, weights, [s]).run(0)
    soft = 0.0
    for x in X.tolist():
        d = [reference.squared_distance(x, t, weights[0].tolist()) for t in theta[0].tolist()]
        soft += 1.0 - 1.0 / sum((v / min(d)) ** (s - 1) for v in d)
    assert found.softness == pytest.approx(soft, rel=1e-10)
    assert compute(X, None, theta, weights, [-np.inf]).softness[0] == 0.0


@pytest.mark.parametrize("k", [3, 40])  # dense and sparse hard memberships
@pytest.mark.parametrize("weighted", [False, True])
def test_runs_in_one_pass_are_the_runs_by_themselves(weighted, k):
    """Starts, penalties and exponents differ between runs; hard and soft ones share the pass."""
    X, a, theta, weights = problem(5, n=200, p=6, k=k, runs=4)
    a = a if weighted else None
    s = [-1.0, -np.inf, -7.7, -np.inf]
    together = compute(X, a, theta, weights, s)
    for b in range(4):
        alone = compute(X, a, theta[b : b + 1], weights[b : b + 1], s[b : b + 1])
        for name in FIELDS:
            np.testing.assert_allclose(
                getattr(together, name)[b], getattr(alone, name)[0], rtol=1e-12, atol=1e-12
            )


def test_distances_of_rows_on_a_centroid_are_not_lost_to_cancellation():
    X, _, _, weights = problem(7, n=6, runs=2)
    X = X + 1e6
    theta = np.stack([X[:3] + 1e-4, X[1:4]])
    metric = Metric.prepare(theta, weights, (X**2).sum(axis=0), len(X))
    work = Workspace(6, 3, 3, 2)
    distance, nearest = block_distances(X, metric, work)
    for b in range(2):
        exact = ((X[None] - theta[b][:, None]) ** 2 @ weights[b]).astype(float)
        np.testing.assert_allclose(distance[b], np.maximum(exact, metric.floor[b]), rtol=1e-3)
        np.testing.assert_array_equal(nearest[b], distance[b].min(axis=0))


class Plain(SquaredEuclidean):
    """Squared distance by the formulas that serve every divergence."""

    fold = BregmanDivergence.fold


class Poisson(BregmanDivergence):
    """x log(x / t) - x + t, the divergence of counts."""

    shift_invariant = False
    scale_equivariant = False
    of_differences = False

    def potential(self, x, out=None):
        return np.subtract(x * np.log(x), x, out=out)

    def derivative(self, theta):
        return np.log(theta)


def test_the_general_formulas_give_squared_distances():
    X, a, theta, weights = problem(11, runs=2)
    one, two = (
        compute(X, a, theta, weights, [-2.0, -np.inf], d()) for d in (SquaredEuclidean, Plain)
    )
    for name in FIELDS:
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-12)


def test_another_divergence_is_computed_by_the_same_product():
    rng = np.random.default_rng(2)
    X, theta = rng.uniform(1, 9, (8, 3)), rng.uniform(1, 9, (1, 4, 3))
    weights = rng.dirichlet(np.ones(3), 1)
    metric = Metric.prepare(theta, weights, (X**2).sum(axis=0), 8.0, Poisson())
    distance, _ = block_distances(X, metric, Workspace(8, 3, 4))
    x, t = X[None], theta[0][:, None]
    np.testing.assert_allclose(distance[0], (x * np.log(x / t) - x + t) @ weights[0], rtol=1e-10)
    lengths = block_lengths(X, metric, Workspace(8, 3, 4))[0]
    np.testing.assert_allclose(lengths, (X * np.log(X) - X) @ weights[0], rtol=1e-12)


def test_a_conjugate_is_the_derivative_times_the_point_minus_the_potential():
    theta = np.linspace(0.5, 4.0, 7)
    np.testing.assert_allclose(SQUARED_EUCLIDEAN.conjugate(theta), theta**2)
    np.testing.assert_allclose(Poisson().conjugate(theta), theta)
