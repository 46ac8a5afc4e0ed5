"""Blocks, threads and accuracy of the pass over the data."""

import tracemalloc

import numpy as np
import pytest

import ewp
from ewp.data import canonical as rows_module
from ewp.engine import array as engine_module
from ewp.engine.array import ArrayEngine
from ewp.engine.predict import nearest_centroids
from ewp.solver.iterate import step_of_run
from tests.support.results import assert_identical


def exact_distances(X, theta, w):
    """Squared distances in extended precision, from differences."""
    wide = np.longdouble
    difference = X.astype(wide)[:, None, :] - theta.astype(wide)
    return ((difference**2) @ w.astype(wide)).astype(float)


def test_blocks_do_not_change_the_statistics(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 4))
    a = rng.uniform(0, 2, 700)
    theta = rng.standard_normal((5, 4))
    w = rng.dirichlet(np.ones(4))
    for s in (-3.0, -np.inf):
        plain = step_of_run(ArrayEngine(X, a).statistics, theta, w, s)
        with monkeypatch.context() as patch:
            patch.setattr(rows_module, "_BLOCK_BYTES", 1)  # as few rows a block as there may be
            patch.setattr(engine_module, "_PREPARED_BYTES", 0)  # nothing is kept
            small = step_of_run(ArrayEngine(X, a).statistics, theta, w, s)
        np.testing.assert_allclose(small.sums, plain.sums, rtol=1e-12)
        np.testing.assert_allclose(small.scatter, plain.scatter, rtol=1e-12)
        assert small.power == pytest.approx(plain.power, rel=1e-13)
        assert small.nearest == pytest.approx(plain.nearest, rel=1e-13)
        assert small.softness == pytest.approx(plain.softness, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("prepared", [0, 2**40])
def test_threads_agree_to_the_last_bit(monkeypatch, prepared):
    monkeypatch.setattr(engine_module, "_PREPARED_BYTES", prepared)
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(0, 3, (6, 5)), 2000, axis=0) + rng.standard_normal((12000, 5))
    fits = [ewp.fit(X, 6, 3000.0, random_state=0, n_jobs=jobs) for jobs in (1, 2, 5)]
    for other in fits[1:]:
        assert_identical(other, fits[0])


def test_large_offsets_keep_the_nearest_centroid():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 3)) + 1e8
    theta = rng.standard_normal((6, 3)) + 1e8
    w = np.full(3, 1 / 3)
    labels, nearest = nearest_centroids(X, theta, w, X.mean(axis=0), np.ones(3))
    exact = exact_distances(X, theta, w)
    np.testing.assert_array_equal(labels, exact.argmin(axis=1))
    np.testing.assert_allclose(nearest, exact.min(axis=1), rtol=1e-6)


def test_distances_far_below_the_spread_are_recomputed():
    rng = np.random.default_rng(2)
    far = rng.normal(0, 1e6, (5, 3))
    X = np.repeat(far, 50, axis=0) + rng.standard_normal((250, 3))
    w = np.full(3, 1 / 3)
    _, nearest = nearest_centroids(X, far, w, X.mean(axis=0), np.ones(3))
    np.testing.assert_allclose(nearest, exact_distances(X, far, w).min(axis=1), rtol=1e-8)
    engine = ArrayEngine(X)
    on_point = engine.rows(np.array([0, 60, 120]))
    for s in (-1.0, -50.0, -np.inf):
        stats = step_of_run(engine.statistics, on_point, w, s)
        assert np.isfinite(stats.sums).all()
        assert np.isfinite(stats.power)
        assert stats.nearest <= stats.power


def test_single_precision_data_are_summed_in_double():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((5000, 6)).astype(np.float32) + np.float32(100)
    single, double = ArrayEngine(X), ArrayEngine(X.astype(float))
    np.testing.assert_allclose(single.center, double.center, rtol=1e-14)
    theta = rng.standard_normal((4, 6))
    w = np.full(6, 1 / 6)
    one, two = (step_of_run(e.statistics, theta, w, -4.0) for e in (single, double))
    np.testing.assert_allclose(one.sums, two.sums, rtol=1e-12)


def test_a_large_fit_adds_little_memory():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200_000, 50))
    X += rng.normal(0, 2, (20, 50))[rng.integers(0, 20, len(X))]
    weight = rng.integers(0, 3, len(X)).astype(float)
    ewp.fit(X[:1000], 20, 500.0, random_state=0, tol=1e-3)  # modules and caches are loaded
    tracemalloc.start()
    try:
        found = ewp.fit(X, 20, 0.5 * len(X), sample_weight=weight, random_state=0, tol=1e-3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.converged  # so it was polished too
    assert peak < 50e6


@pytest.mark.parametrize("weighted", [False, True])
def test_hard_sums_of_many_clusters_are_those_of_their_rows(weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    a = rng.integers(0, 3, 300).astype(float) if weighted else None
    mass = np.ones(300) if a is None else a
    engine = ArrayEngine(X, a)
    theta = engine.rows(np.arange(40))
    found = step_of_run(engine.statistics, theta, np.ones(3), -np.inf)
    rows = engine.rows(np.arange(300))
    labels = ((rows[:, None] - theta) ** 2).sum(axis=2).argmin(axis=1)
    for j in range(40):
        mine = mass * (labels == j)
        assert found.mass[j] == mine.sum()
        np.testing.assert_allclose(found.sums[j], mine @ engine.rows(np.arange(300)), atol=1e-9)
