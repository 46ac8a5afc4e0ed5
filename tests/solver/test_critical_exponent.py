"""The critical exponent: where the map begins to separate centroids, and where fits start."""

import numpy as np
import pytest

import ewp
from ewp.datasets import make_simulation2
from ewp.engine.array import ArrayEngine
from ewp.solver.critical_exponent import engine_critical_exponent
from ewp.solver.iterate import centroid_step, step_of_run


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
            stats = step_of_run(engine.statistics, theta, w, s)
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


def test_rows_that_are_all_equal_have_no_critical_exponent():
    assert ewp.critical_exponent(np.ones((5, 300))) == -np.inf
    assert ewp.fit(np.ones((5, 300)), 1, 1.0).objective == pytest.approx(-np.log(300))
