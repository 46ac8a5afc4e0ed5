"""Hard steps that follow one another are those of passes over everything."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import ewp
from ewp.datasets import make_simulation2
from ewp.engine import array as engine_module
from ewp.engine.array import ArrayEngine
from ewp.engine.incremental import IncrementalHardStep
from ewp.solver.iterate import iterate, step_of_run
from ewp.solver.schedules import Annealed, Hard
from ewp.solver.weights import RelativeEntropy


def equal(found, plain):
    assert_array_equal(found.mass, plain.mass)
    longest = np.sqrt(plain.scatter * plain.mass.sum())  # of a column's sums of absolute values
    assert (np.abs(found.sums - plain.sums) <= 1e-12 * longest).all()
    assert_allclose(found.scatter, plain.scatter, rtol=1e-12)
    assert found.power == pytest.approx(plain.power, rel=1e-10)
    assert found.nearest == pytest.approx(plain.nearest, rel=1e-10)


def exact_nearest(rows, theta, weights):
    """Nearest centroids in extended precision, and the rows that rounding errors decide."""
    wide = np.longdouble
    difference = rows.astype(wide)[:, None, :] - theta.astype(wide)
    distance = (difference**2) @ weights.astype(wide)
    two = np.sort(distance, axis=1)[:, :2]
    scale = (rows**2 @ weights) + (theta**2 @ weights).max()
    return distance.argmin(axis=1), np.diff(two, axis=1).sum(axis=1) <= 1e-13 * scale


@pytest.fixture
def narrow_steps(monkeypatch):
    """Count the steps that leave features out."""
    seen = []
    monkeypatch.setattr(engine_module, "_INCREMENTAL", 0)  # small data make a quick test
    plain = IncrementalHardStep._hard

    def counted(self, theta, weights, used):
        seen.append(int(used.sum()))
        return plain(self, theta, weights, used)

    monkeypatch.setattr(IncrementalHardStep, "_hard", counted)
    return seen


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(5, 200),
    k=st.integers(1, 40),
    used=st.integers(1, 5),
    small=st.sampled_from([0.0, 1e-300, 1e-16, 1e-9, 1e-7]),
    whole=st.booleans(),
    weighted=st.booleans(),
)
def test_a_step_is_that_of_a_pass_over_everything(seed, n, k, used, small, whole, weighted):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 24)) * 10.0 ** rng.integers(-3, 4, 24)
    if whole:  # ties, repeated rows, rows on centroids
        X = np.round(X / X.std(axis=0))
    a = rng.integers(0, 3, n).astype(float) if weighted else None
    if a is not None:
        a[0] = 1.0
    engine = ArrayEngine(X, a)
    spread = np.sqrt(np.where(engine.squares > 0, engine.squares, 1.0) / engine.total)
    weights = np.full(24, small)
    weights[:used] = rng.uniform(0.2, 1.0, used)
    weights /= spread**2
    weights /= weights.sum()
    follower, seen = IncrementalHardStep(engine), []
    follow = follower._update_sums
    follower._update_sums = lambda labels, k: seen.append(labels.copy()) or follow(labels, k)
    theta = engine.rows(rng.integers(0, n, k))
    for _ in range(4):  # from the second step on there are labels to go on from
        found = step_of_run(follower.statistics, theta, weights, -np.inf)
        nearest, tied = exact_nearest(engine.rows(np.arange(n)), theta, weights)
        if a is not None:
            tied |= a == 0  # rows without a say
        for labels in seen:  # of a step that left features out
            assert_array_equal(labels[~tied], nearest[~tied])
        seen.clear()
        if not tied.any():
            equal(found, step_of_run(engine.statistics, theta, weights, -np.inf))
        theta = theta + rng.normal(0, 0.3, theta.shape) * spread
        weights = weights * rng.uniform(0.9, 1.1, 24)


def test_features_left_out_decide_where_the_others_cannot(narrow_steps):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 30))
    X[:, 0] = np.repeat([-1.0, 1.0], 50)
    engine = ArrayEngine(X)
    theta = np.zeros((2, 30))
    theta[:, 1:] = engine.rows(np.array([3, 7]))[:, 1:]  # equal in the feature that counts
    weights = np.full(30, 1e-9)
    weights[0] = 1.0
    found = step_of_run(IncrementalHardStep(engine).statistics, theta, weights, -np.inf)
    assert narrow_steps == [1]
    distance = ((engine.rows(np.arange(100))[:, None] - theta) ** 2) @ weights
    assert_array_equal(found.mass, np.bincount(distance.argmin(axis=1), minlength=2))
    assert found.power == pytest.approx(distance.min(axis=1).sum(), rel=1e-12)


@pytest.mark.parametrize("start", [Hard(), Annealed(-1.0, 1.3)])
@pytest.mark.parametrize("between", [False, True])
def test_runs_end_in_the_same_place(narrow_steps, start, between):
    steps = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        k, p = int(rng.integers(2, 8)), int(rng.integers(20, 80))
        X, _, _ = make_simulation2(k, n=int(rng.integers(60, 400)), p=p, random_state=seed)
        a = rng.uniform(0.5, 2.0, len(X)) if seed % 2 else None
        lam = 10.0 ** rng.uniform(-3, -1) * len(X)
        runs = []
        for follow in (True, False):
            engine = ArrayEngine(X, a)
            if not follow:
                engine.step_function = lambda engine=engine: engine.statistics
            rule = RelativeEntropy.make(lam, engine.squares, between=between)
            theta = engine.rows(np.arange(k))
            runs.append(iterate(engine, theta, rule.start(), rule, start, max_iter=300, tol=1e-10))
        one, two = runs
        assert one.n_iter == two.n_iter
        assert one.converged == two.converged
        assert one.objective == pytest.approx(two.objective, rel=1e-11)
        assert_allclose(one.theta, two.theta, rtol=0, atol=1e-11)
        assert_allclose(one.weights, two.weights, rtol=1e-8, atol=1e-13)
        steps += one.n_iter
    assert len(narrow_steps) > steps / 4  # or nothing was compared


def test_whole_fits_find_the_same_partition(narrow_steps, monkeypatch):
    X, _, _ = make_simulation2(10, n=500, p=200, random_state=0)
    found = ewp.fit(X, 10, 0.03 * len(X), random_state=0)
    assert len(narrow_steps) > 5
    monkeypatch.setattr(ArrayEngine, "step_function", lambda self: self.statistics)
    plain = ewp.fit(X, 10, 0.03 * len(X), random_state=0)
    assert_array_equal(found.labels, plain.labels)
    assert_allclose(found.centroids, plain.centroids, rtol=0, atol=1e-12)
    assert_allclose(found.weights, plain.weights, rtol=1e-9, atol=1e-15)
    assert found.objective == pytest.approx(plain.objective, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-140, 1e-80, 1.0, 1e90])
def test_the_bound_holds_at_every_scale(narrow_steps, scale):
    rng = np.random.default_rng(0)
    engine = ArrayEngine(rng.standard_normal((200, 30)) * scale)
    theta = rng.standard_normal((2, 30)) * scale
    theta[1, 0] = theta[0, 0]  # what counts does not tell the two apart
    weights = np.full(30, 1e-8)
    weights[0] = 1.0
    found = step_of_run(IncrementalHardStep(engine).statistics, theta, weights, -np.inf)
    assert narrow_steps == [1]
    assert_array_equal(found.mass, step_of_run(engine.statistics, theta, weights, -np.inf).mass)


def test_a_column_that_all_but_vanishes_decides_nothing():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 30))
    X[:, 5] *= 1e-162
    engine = ArrayEngine(X)
    theta = rng.standard_normal((3, 30))
    theta[:, 5] = 0.0
    theta[1, 0] = theta[0, 0]
    weights = np.full(30, 1e-9)
    weights[0] = 1.0
    found = step_of_run(IncrementalHardStep(engine).statistics, theta, weights, -np.inf)
    assert_array_equal(found.mass, step_of_run(engine.statistics, theta, weights, -np.inf).mass)
