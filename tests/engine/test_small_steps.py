"""Steps on few rows: the statistics of the kernel, whatever runs stand side by side."""

import gc
import weakref

import numpy as np
import pytest

from ewp.engine.array import ArrayEngine
from ewp.engine.base import RowMass
from ewp.engine.small_steps import SmallSteps

NAMES = ("sums", "mass", "scatter", "power", "nearest", "softness")
EXPONENTS = {
    "limit": lambda runs: np.full(runs, -np.inf),
    "finite": lambda runs: np.linspace(-2.0, -40.0, runs),
    "finite first": lambda runs: np.where(np.arange(runs) < runs // 2, -3.0, -np.inf),
    "in turn": lambda runs: np.where(np.arange(runs) % 2, -np.inf, -5.0),
}


def draw(n=90, p=4, k=3, runs=11, *, weighted=False):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(0, 2, (n, p)), 1)
    weight = rng.integers(0, 3, n).astype(float) if weighted else None
    engine = ArrayEngine(X, weight, scale="standard")
    theta = engine.rows(rng.integers(n, size=runs * k)).reshape(runs, k, p)
    theta[1::2] += rng.normal(0, 0.1, theta[1::2].shape)
    weights = rng.dirichlet(np.full(p, 0.5), runs)
    mass = RowMass((rng.random((3, n)) < 0.8).astype(float), np.arange(runs) % 3)
    return engine, theta, weights, mass


@pytest.mark.parametrize("exponents", EXPONENTS)
@pytest.mark.parametrize("massed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_are_those_of_the_kernel(exponents, massed, weighted):
    engine, theta, weights, mass = draw(weighted=weighted)
    s, own = EXPONENTS[exponents](len(theta)), mass if massed else None
    found = SmallSteps(engine).statistics(theta, weights, s, own)
    expected = engine.statistics(theta, weights, s, own)
    for name in NAMES:
        one, two = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-10 * np.abs(two).max(initial=1.0))


def test_ties_go_to_the_first_of_equal_centroids():
    engine, theta, weights, _ = draw()
    theta[:, 1] = theta[:, 0]
    found = SmallSteps(engine).statistics(theta, weights, np.full(len(theta), -np.inf))
    assert not found.mass[:, 1].any()
    assert found.mass.sum(axis=1).tolist() == [engine.n] * len(theta)


def test_distances_that_cancel_are_made_of_differences():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 2))
    X[30:] += 1e7
    engine = ArrayEngine(X)
    theta = engine.rows(np.array([0, 1, 30]))[None]
    weights, s = np.full((1, 2), 0.5), np.array([-np.inf])
    found = SmallSteps(engine).statistics(theta, weights, s)
    exact = 0.5 * ((engine.X - engine.center)[:, None] - theta[0]) ** 2
    nearest = exact.sum(axis=2).min(axis=1)
    assert found.nearest[0] == pytest.approx(nearest.sum(), rel=1e-9)


def test_runs_are_cut_into_passes_that_change_nothing(monkeypatch):
    engine, theta, weights, mass = draw()
    s = EXPONENTS["in turn"](len(theta))
    whole = SmallSteps(engine).statistics(theta, weights, s, mass)
    monkeypatch.setattr("ewp.engine.small_steps._RUN_BYTES", 24 * 3 * engine.n * 2)
    cut = SmallSteps(engine).statistics(theta, weights, s, mass)
    for name in NAMES:
        np.testing.assert_allclose(getattr(cut, name), getattr(whole, name), rtol=1e-12)


def test_an_engine_ends_when_nobody_needs_it():
    engine, theta, weights, _ = draw()
    engine.step_function()(theta, weights, np.full(len(theta), -np.inf))
    gone = weakref.ref(engine)
    gc.disable()
    try:
        del engine
        assert gone() is None
    finally:
        gc.enable()
