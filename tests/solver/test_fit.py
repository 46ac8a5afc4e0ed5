"""The solver against a transcription of the paper, against theory and against scikit-learn."""

import numpy as np
import pytest
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.datasets import load_iris
from sklearn.metrics import normalized_mutual_info_score

import ewp
from ewp.datasets import make_simulation1, make_simulation2
from ewp.engine.array import ArrayEngine
from ewp.solver.fit import FitOptions, WarmStart, fit_array, fit_engine
from ewp.solver.iterate import centroid_step, iterate, step_of_run
from ewp.solver.schedules import Annealed, Fixed, Hard
from ewp.solver.weights import FixedWeights, RelativeEntropy
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
    theta, weights = engine.to_engine_units(start), rule.start()
    s = s0
    for theta_ref, weights_ref, s_ref in expected:
        stats = step_of_run(engine.statistics, theta, weights, s)
        np.testing.assert_allclose(engine.to_data_units(theta), theta_ref, rtol=1e-10, atol=1e-10)
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


def test_hard_uniform_iteration_is_lloyd():
    rng = np.random.default_rng(5)
    for _ in range(20):
        X = rng.standard_normal((80, 3))
        start = X[rng.choice(80, 4, replace=False)]
        engine = ArrayEngine(X)
        ones = np.ones(3)
        ours = iterate(
            engine,
            engine.to_engine_units(start),
            ones,
            FixedWeights(ones),
            Hard(),
            max_iter=300,
            tol=1e-12,
        )
        theirs = SklearnKMeans(4, init=start, n_init=1, tol=0, algorithm="lloyd").fit(X)
        assert ours.converged
        np.testing.assert_allclose(
            engine.to_data_units(ours.theta), theirs.cluster_centers_, atol=1e-10
        )
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
    stats = step_of_run(engine.statistics, found.theta, ones, -1.0)
    np.testing.assert_allclose(centroid_step(stats, found.theta)[0], found.theta, atol=1e-8)


def test_annealing_ends_at_the_limit():
    schedule = Annealed(-2.0, 1.5)
    assert schedule.next_exponent(-2.0, 0.5) == -3.0
    assert schedule.next_exponent(-2.0, 1e-3) == -np.inf
    assert schedule.next_exponent(-9e3, 0.5) == -1.35e4
    assert schedule.next_exponent(-1.9e4, 0.5) == -np.inf
    assert schedule.is_final(-np.inf)
    assert not schedule.is_final(-2.0)


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


def test_a_known_partition_saves_a_start_that_fails():
    X, labels, _ = make_simulation1(5, random_state=1)
    options = FitOptions(100, 20.0, scale="standard", n_init=1)
    alone = fit_array(X, None, options, np.random.default_rng(0))
    centroids = np.array([X[labels == j].mean(axis=0) for j in range(100)])
    known = WarmStart(centroids, ((X - centroids[labels]) ** 2).sum(axis=0))
    engine = ArrayEngine(X, scale="standard")
    found = fit_engine(engine, options, np.random.default_rng(0), known=[known])
    assert normalized_mutual_info_score(labels, found.labels) > 0.99
    # a start that fails here: the test would say nothing otherwise
    assert normalized_mutual_info_score(labels, alone.labels) < 0.9
    assert found.solution.objective < alone.solution.objective - 1.0
    trace = [row.f_inf for row in found.solution.trace if np.isinf(row.s)]
    assert (np.diff(trace) <= 1e-9 * np.abs(trace[:-1])).all()
