"""Facts that hold for every input: descent, simplex, hull, limits, equivariances."""

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import ewp
from ewp.datasets import make_simulation2
from ewp.engine.array import ArrayEngine
from ewp.solver.iterate import iterate, step_of_run
from ewp.solver.schedules import Annealed
from ewp.solver.weights import FixedWeights, RelativeEntropy
from tests.support import reference
from tests.support.results import assert_identical
from tests.support.strategies import SLOW


@st.composite
def problems(draw, max_k=5):
    """Continuous data with some structure, at odd scales and offsets, and a penalty."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    k = draw(st.integers(1, max_k))
    n = draw(st.integers(max(k, 2), 40))
    p = draw(st.integers(1, 6))
    scale = 10.0 ** draw(st.integers(-3, 3))
    X = rng.standard_normal((n, p)) * rng.uniform(0.2, 2, p)
    X += rng.normal(0, draw(st.sampled_from([0.0, 3.0])), (k, p))[rng.integers(0, k, n)]
    X = X * scale + scale * draw(st.sampled_from([0.0, 5.0]))
    lam = draw(st.sampled_from([0.01, 0.1, 1.0, 10.0])) * n * scale**2
    return X, k, lam, seed % 1000


def fit(problem, X=None, **options):
    data, k, lam, seed = problem
    return ewp.fit(data if X is None else X, k, lam, random_state=seed, **options)


@given(problems(), st.sampled_from(["within", "between"]), st.booleans(), st.booleans())
@SLOW
def test_objective_never_rises_along_the_trace(problem, dispersion, polish, standard):
    found = fit(
        problem, dispersion=dispersion, polish=polish, scale="standard" if standard else None
    )
    trace = found.objective_trace
    slack = 1e-9 * np.abs(trace["f_s"]).max()
    assert (np.diff(trace["f_s"]) <= slack).all()
    assert (trace["f_inf"] <= trace["f_s"] + slack).all()
    assert trace["f_inf"].iloc[-1] == found.objective
    assert found.converged


@given(problems(), st.sampled_from(["within", "between"]))
@SLOW
def test_weights_lie_on_the_simplex_and_centroids_in_the_hull(problem, dispersion):
    found = fit(problem, dispersion=dispersion)
    w = found.weights.to_numpy()
    assert (w >= 0).all()
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    X, labels = problem[0], found.labels.to_numpy()
    theta = found.centroids.to_numpy()
    slack = 1e-9 * np.abs(X).max()
    assert (theta >= X.min(axis=0) - slack).all()
    assert (theta <= X.max(axis=0) + slack).all()
    # at the fixed point every centroid is the mean of its rows, a point of their hull
    for j in np.unique(labels):
        np.testing.assert_allclose(theta[j], X[labels == j].mean(axis=0), atol=1e-6 * X.std())


@given(problems(), st.floats(-50, -0.1))
@SLOW
def test_power_mean_lies_between_minimum_and_maximum(problem, s):
    X, k, _, seed = problem
    engine = ArrayEngine(X)
    rng = np.random.default_rng(seed)
    theta = engine.rows(rng.choice(len(X), k, replace=False)) + 0.01 * X.std()
    w = rng.dirichlet(np.ones(X.shape[1]))
    stats = step_of_run(engine.statistics, theta, w, s)
    d = [
        [reference.squared_distance(x, t, w) for t in theta]
        for x in (X - engine.center) / engine.scale
    ]
    low, high = sum(map(min, d)), sum(map(max, d))
    assert low * (1 - 1e-9) <= stats.power <= high * (1 + 1e-9)
    assert stats.nearest == pytest.approx(low, rel=1e-9)
    assert stats.power == pytest.approx(sum(reference.power_mean(row, s) for row in d), rel=1e-9)


@given(problems())
@SLOW
def test_huge_penalty_gives_power_k_means(problem):
    X, k, _, seed = problem
    engine = ArrayEngine(X)
    uniform = np.full(X.shape[1], 1.0 / X.shape[1])
    rng = np.random.default_rng(seed)
    start = engine.rows(rng.choice(len(X), k, replace=False))
    lam = 1e13 * float(engine.squares.sum())
    rules = (FixedWeights(uniform), RelativeEntropy.make(lam, engine.squares))
    power, entropy = (
        iterate(engine, start, uniform, rule, Annealed(-3.0, 1.05), max_iter=500, tol=1e-8)
        for rule in rules
    )
    np.testing.assert_allclose(entropy.weights, uniform, rtol=1e-10)
    np.testing.assert_allclose(entropy.theta, power.theta, atol=1e-8 * X.std())


@given(problems(), st.randoms(use_true_random=False))
@SLOW
def test_permuting_rows_permutes_the_labels(problem, random):
    X = problem[0]
    order = list(range(len(X)))
    random.shuffle(order)
    plain, shuffled = fit(problem), fit(problem, X[order])
    assert shuffled.objective == pytest.approx(plain.objective, rel=1e-8)
    np.testing.assert_array_equal(shuffled.labels, plain.labels.to_numpy()[order])
    np.testing.assert_allclose(shuffled.weights, plain.weights, atol=1e-8)


@given(problems(), st.randoms(use_true_random=False))
@SLOW
def test_permuting_columns_permutes_the_weights(problem, random):
    X, k, lam, seed = problem
    order = list(range(X.shape[1]))
    random.shuffle(order)
    start = X[np.random.default_rng(seed).choice(len(X), k, replace=False)]
    plain = ewp.fit(X, k, lam, init=start, polish=False)
    permuted = ewp.fit(X[:, order], k, lam, init=start[:, order], polish=False)
    assert permuted.objective == pytest.approx(plain.objective, rel=1e-8)
    np.testing.assert_allclose(permuted.weights, plain.weights.to_numpy()[order], atol=1e-8)
    np.testing.assert_array_equal(permuted.labels, plain.labels)


@given(problems(), st.randoms(use_true_random=False))
@SLOW
def test_order_of_the_starting_centroids_does_not_matter(problem, random):
    X, k, lam, seed = problem
    start = X[np.random.default_rng(seed).choice(len(X), k, replace=False)]
    order = list(range(k))
    random.shuffle(order)
    one = ewp.fit(X, k, lam, init=start, polish=False)
    other = ewp.fit(X, k, lam, init=start[order], polish=False)
    assert other.objective == pytest.approx(one.objective, rel=1e-8)
    np.testing.assert_array_equal(other.labels, one.labels)
    np.testing.assert_allclose(other.centroids, one.centroids, atol=1e-7 * X.std())


@given(problems(max_k=4), st.sampled_from(["k-means++", "random"]))
@SLOW
def test_weight_two_is_the_row_twice(problem, init):
    X, k, _lam, seed = problem
    rng = np.random.default_rng(seed)
    count = rng.integers(0, 4, len(X))
    assume((count > 0).sum() >= k)
    weighted = fit(problem, sample_weight=count, init=init)
    repeated = fit(problem, np.repeat(X, count, axis=0), init=init)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-8)
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-8)
    np.testing.assert_array_equal(np.repeat(weighted.labels.to_numpy(), count), repeated.labels)
    np.testing.assert_allclose(weighted.clusters["mass"], repeated.clusters["size"])


@given(problems())
@SLOW
def test_scaling_rows_and_penalty_together_changes_nothing_but_the_units(problem):
    X, k, lam, seed = problem
    doubled = ewp.fit(X, k, 2 * lam, random_state=seed, sample_weight=np.full(len(X), 2.0))
    plain = fit(problem)
    assert doubled.objective == pytest.approx(2 * plain.objective, rel=1e-9)
    np.testing.assert_array_equal(doubled.labels, plain.labels)


def two_rows_nearest_to_each_other():
    """Either of them, added to the start, leaves the same error but for rounding."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4, 3)) * rng.uniform(0.2, 2, 3)
    X += rng.normal(0, 3, (3, 3))[rng.integers(0, 3, 4)]
    return X + 5, 3, 0.04, 3


@given(problems())
@example(two_rows_nearest_to_each_other())
@SLOW
def test_standardised_fits_do_not_depend_on_units_or_form(problem):
    X, k, _, seed = problem
    lam = 0.3 * len(X)
    units = 10.0 ** np.random.default_rng(seed).integers(-4, 5, X.shape[1])
    options = {"scale": "standard", "random_state": seed}
    plain = ewp.fit(X, k, lam, **options)
    other = ewp.fit(X * units, k, lam, **options)
    between = ewp.fit(X, k, lam, dispersion="between", **options)
    np.testing.assert_array_equal(other.labels, plain.labels)
    np.testing.assert_allclose(other.weights, plain.weights, atol=1e-7)
    np.testing.assert_array_equal(between.labels, plain.labels)
    np.testing.assert_allclose(between.weights, plain.weights, atol=1e-7)


@given(problems())
@SLOW
def test_same_seed_same_answer_for_any_number_of_threads(problem):
    one, two, three = (fit(problem, n_jobs=jobs) for jobs in (1, 2, 3))
    for other in (two, three):
        assert_identical(other, one)


# --- at a size of which the polish may search a sample -----------------------------------------


@pytest.fixture(scope="module")
def many():
    # 1500 rows are searched whole by the polish, 3000 would be sampled
    return make_simulation2(5, n=1500, p=20, random_state=0)[0]


def test_a_row_of_weight_two_is_that_row_twice_whatever_the_polish_samples(many):
    twice = ewp.fit(np.vstack([many, many]), 5, 75.0, random_state=1)
    weighted = ewp.fit(many, 5, 75.0, sample_weight=np.full(1500, 2.0), random_state=1)
    assert twice.objective == pytest.approx(weighted.objective, rel=1e-12)
    np.testing.assert_allclose(twice.centroids, weighted.centroids, atol=1e-12)
    np.testing.assert_array_equal(twice.labels[:1500], weighted.labels)


def test_rows_of_weight_zero_do_not_matter(many):
    kept = np.arange(1500) % 3 > 0
    strange = many.copy()
    strange[~kept] *= 1e6
    one = ewp.fit(strange, 5, 50.0, sample_weight=kept.astype(float), random_state=1)
    two = ewp.fit(many[kept], 5, 50.0, random_state=1)
    np.testing.assert_allclose(one.centroids, two.centroids, atol=1e-12)
    np.testing.assert_array_equal(one.labels[kept], two.labels)


@pytest.mark.parametrize("seed", range(5))
def test_polished_fits_follow_permutations_of_rows_and_columns(many, seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(1500), rng.permutation(20)
    one = ewp.fit(many, 5, 75.0, random_state=seed)
    two = ewp.fit(many[np.ix_(rows, columns)], 5, 75.0, random_state=seed)
    np.testing.assert_allclose(two.weights, one.weights.iloc[columns], atol=1e-12)
    np.testing.assert_allclose(two.centroids, one.centroids.iloc[:, columns], atol=1e-12)
    np.testing.assert_array_equal(two.labels, one.labels.iloc[rows])
