"""The solver against a transcription of the paper, against theory and against scikit-learn."""

import numpy as np
import pytest
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.datasets import load_iris
from sklearn.metrics import normalized_mutual_info_score

import ewp
from ewp.datasets import make_simulation1, make_simulation2
from ewp.engine import ArrayEngine
from ewp.exponent import engine_critical_exponent
from ewp.fitting import Known, Recipe, fit_array
from ewp.rules import FixedWeights, RelativeEntropy
from ewp.schedules import Annealed, Fixed, Hard
from ewp.solver import centroid_step, iterate
from tests.support import reference


def small_sets():
    rng = np.random.default_rng(3)
    blobs = np.repeat(rng.normal(0, 3, (3, 4)), 15, axis=0) + rng.standard_normal((45, 4))
    X, _, _ = make_simulation2(4, n=60, p=8, random_state=0)
    return {
        "blobs": (blobs, 3, 40.0),
        "iris": (load_iris().data[::3], 3, 10.0),
        "simulation2": (X, 4, 3.0),
        "offset": (blobs + 1e4, 3, 40.0),
    }


@pytest.mark.parametrize("s0", [-1.0, -8.0, -120.0, -2000.0])
@pytest.mark.parametrize("name", small_sets())
def test_thirty_iterations_equal_the_transcribed_algorithm(name, s0):
    X, k, lam = small_sets()[name]
    start = X[np.linspace(0, len(X) - 1, k).astype(int)] + 0.01
    expected = list(reference.algorithm_1(X, start, lam, s0, 1.05, 30))
    engine = ArrayEngine(X)
    rule = RelativeEntropy.make(lam, engine.squares)
    theta, weights = engine.inside(start), rule.start()
    s = s0
    for theta_ref, weights_ref, s_ref in expected:
        stats = engine.statistics(theta, weights, s)
        np.testing.assert_allclose(engine.outside(theta), theta_ref, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(weights, weights_ref, rtol=1e-10, atol=1e-10)
        value = stats.power + rule.penalty(weights)
        wanted = reference.objective(X, theta_ref, weights_ref, s_ref, lam)
        np.testing.assert_allclose(value, wanted, rtol=1e-10)
        theta, dispersion, _ = centroid_step(stats, theta)
        weights = rule.update(dispersion)
        s *= 1.05


def test_estimator_runs_the_published_algorithm():
    X, k, lam = small_sets()["blobs"]
    start = X[[0, 20, 40]] + 0.01
    *_, (theta, weights, s) = reference.algorithm_1(X, start, lam, -1.0, 1.05, 5)
    with pytest.warns(UserWarning, match="max_iter=5"):
        fit = ewp.fit(X, k, lam, s0=-1.0, eta=1.05, init=start, polish=False, max_iter=5)
    assert fit.n_iter == 5
    assert fit.objective_trace["s"].iloc[-1] == pytest.approx(s)
    order = [int(np.abs(fit.centroids - t).sum(axis=1).argmin()) for t in np.array(theta)]
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(fit.centroids.to_numpy()[order], theta, rtol=1e-10)
    np.testing.assert_allclose(fit.weights, weights, rtol=1e-10)
    row = fit.objective_trace.iloc[0]
    assert row["f_s"] == pytest.approx(
        reference.objective(X, start, [0.25] * 4, -1.0, lam), rel=1e-10
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_predicted_growth_factor_matches_the_iterated_map(seed, weighted):
    rng = np.random.default_rng(seed)
    n, p = 200, 6
    X = rng.standard_normal((n, p)) * rng.uniform(0.3, 2, p)
    a = rng.uniform(0.5, 2, n) if weighted else None
    engine = ArrayEngine(X, a)
    w = rng.dirichlet(np.ones(p))
    critical = engine_critical_exponent(engine, w)
    largest = 0.5 / (1.0 - critical)
    for s in (0.5 * critical - 0.1, 1.5 * critical - 1.0, 4 * critical - 1.0):
        delta = rng.standard_normal(p)
        factor = 0.0
        for _ in range(400):  # power iteration on the map itself
            delta *= 1e-6 / np.sqrt(w @ delta**2)
            theta = np.vstack([delta, -delta])
            stats = engine.statistics(theta, w, s)
            new, _, _ = centroid_step(stats, theta)
            moved = (new[0] - new[1]) / 2
            factor = np.sqrt(w @ moved**2) / np.sqrt(w @ delta**2)
            delta = moved
        assert factor == pytest.approx(2 * (1 - s) * largest, rel=1e-6)
        assert (factor > 1) == (s < critical)


def test_large_feature_counts_use_the_same_exponent():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 300))
    w = rng.dirichlet(np.ones(300))
    engine = ArrayEngine(X)
    centred = X - X.mean(axis=0)
    length = (centred**2) @ w
    G = (centred / length[:, None]).T @ centred / len(X)
    G *= np.sqrt(np.outer(w, w))
    wanted = 1 - 0.5 / np.linalg.eigvalsh(G)[-1]
    assert engine_critical_exponent(engine, w) == pytest.approx(wanted, rel=1e-9)
    assert ewp.critical_exponent(X, weights=w) == pytest.approx(wanted, rel=1e-9)


def test_collapsed_weights_follow_from_lam():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 5)) * [1, 2, 3, 4, 5]
    total = ((X - X.mean(axis=0)) ** 2).sum(axis=0)
    w = np.exp(-(total - total.min()) / 50)
    assert ewp.critical_exponent(X, lam=50.0) == pytest.approx(
        ewp.critical_exponent(X, weights=w), rel=1e-12
    )


def test_automatic_start_is_the_critical_exponent():
    X, _, _ = make_simulation2(5, n=300, p=30, random_state=0)
    standardised = (X - X.mean(axis=0)) / X.std(axis=0)
    fit = ewp.fit(standardised, 5, lam=45.0, random_state=0)
    critical = ewp.critical_exponent(standardised, lam=45.0)
    assert fit.critical_exponent == pytest.approx(critical, rel=1e-9)
    assert critical - 0.25 < fit.s0 <= critical < -1
    assert (4 * fit.s0).is_integer()
    raw = ewp.fit(X, 5, lam=15.0, random_state=0)
    assert raw.s0 == -1.0
    assert raw.critical_exponent > -1


def test_hard_uniform_iteration_is_lloyd():
    rng = np.random.default_rng(5)
    for _ in range(20):
        X = rng.standard_normal((80, 3))
        start = X[rng.choice(80, 4, replace=False)]
        engine = ArrayEngine(X)
        ones = np.ones(3)
        ours = iterate(
            engine, engine.inside(start), ones, FixedWeights(ones), Hard(), max_iter=300, tol=1e-12
        )
        theirs = SklearnKMeans(4, init=start, n_init=1, tol=0, algorithm="lloyd").fit(X)
        assert ours.converged
        np.testing.assert_allclose(engine.outside(ours.theta), theirs.cluster_centers_, atol=1e-10)
        assert ours.objective == pytest.approx(theirs.inertia_, rel=1e-12)


def test_fixed_schedule_stops_at_a_fixed_point_of_its_own_exponent():
    rng = np.random.default_rng(5)
    X = np.repeat(rng.normal(0, 5, (3, 2)), 30, axis=0) + rng.standard_normal((90, 2))
    engine = ArrayEngine(X)
    ones = np.ones(2)
    found = iterate(
        engine,
        engine.rows(np.array([0, 40, 80])),
        ones,
        FixedWeights(ones),
        Fixed(-1.0),
        max_iter=2000,
        tol=1e-10,
    )
    assert found.converged
    assert {row.s for row in found.trace} == {-1.0}
    stats = engine.statistics(found.theta, ones, -1.0)
    np.testing.assert_allclose(centroid_step(stats, found.theta)[0], found.theta, atol=1e-8)


def test_annealing_ends_at_the_limit():
    schedule = Annealed(-2.0, 1.5)
    assert schedule.following(-2.0, 0.5) == -3.0
    assert schedule.following(-2.0, 1e-3) == -np.inf
    assert schedule.following(-9e3, 0.5) == -1.35e4
    assert schedule.following(-1.9e4, 0.5) == -np.inf
    assert schedule.is_final(-np.inf)
    assert not schedule.is_final(-2.0)


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


def test_duplicate_starting_centroids_are_separated():
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]], 20, axis=0)
    X = X + rng.standard_normal(X.shape)
    start = np.repeat(X[:1], 3, axis=0)
    for s0 in ("auto", -np.inf):
        fit = ewp.fit(X, 3, lam=500.0, init=start, s0=s0, polish=False)
        assert np.isfinite(fit.centroids.to_numpy()).all()
        assert fit.clusters["size"].tolist() == [20, 20, 20]


@pytest.mark.parametrize("n_init", [1, 4])
def test_more_starts_never_end_higher(n_init):
    X, _, _ = make_simulation2(6, n=200, p=10, random_state=4)
    one = ewp.fit(X, 6, lam=10.0, random_state=3, polish=False)
    more = ewp.fit(X, 6, lam=10.0, random_state=3, polish=False, n_init=n_init)
    assert more.objective <= one.objective + 1e-9 * abs(one.objective)


def test_polish_never_raises_the_objective():
    for seed in range(5):
        X, _, _ = make_simulation2(8, n=300, p=12, random_state=seed)
        rough = ewp.fit(X, 8, lam=15.0, random_state=seed, polish=False)
        polished = ewp.fit(X, 8, lam=15.0, random_state=seed)
        assert polished.objective <= rough.objective
        phases = polished.objective_trace["phase"]
        assert phases.iloc[: len(rough.objective_trace)].tolist() == list(
            rough.objective_trace["phase"]
        )


def test_a_known_partition_saves_a_start_that_fails():
    X, labels, _ = make_simulation1(5, random_state=1)
    recipe = Recipe(100, 20.0, standardise=True)
    alone = fit_array(X, None, recipe, np.random.default_rng(0))
    centroids = np.array([X[labels == j].mean(axis=0) for j in range(100)])
    known = Known(centroids, ((X - centroids[labels]) ** 2).sum(axis=0))
    found = fit_array(X, None, recipe, np.random.default_rng(0), known=[known])
    assert normalized_mutual_info_score(labels, found.labels) > 0.99
    # a start that fails here: the test would say nothing otherwise
    assert normalized_mutual_info_score(labels, alone.labels) < 0.9
    assert found.solution.objective < alone.solution.objective - 1.0
    trace = [row.f_inf for row in found.solution.trace if np.isinf(row.s)]
    assert (np.diff(trace) <= 1e-9 * np.abs(trace[:-1])).all()
