"""Fits in common passes: a run is the fit to its own rows, in its own scaling and form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ewp.engine.array import ArrayEngine
from ewp.engine.base import RowMass
from ewp.solver import batch as module
from ewp.solver.batch import fit_runs
from ewp.solver.critical_exponent import critical_exponents, engine_critical_exponent
from ewp.solver.fit import FitOptions
from ewp.solver.iterate import iterate
from ewp.solver.polish import PolishEffort
from ewp.solver.runs import Runs
from ewp.solver.schedules import Hard, annealing
from ewp.solver.weights import RelativeEntropy

BOUNDED = settings(max_examples=20, deadline=None)
K = 3


def blobs(seed, n=40, p=4):
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 3, (K, p))
    return (rng.standard_normal((n, p)) + centres[rng.integers(0, K, n)]) * rng.uniform(0.3, 3, p)


def make_runs(engine, lams, *, standardise=False, between=False, table=None, seeds=7, group=None):
    """One run for every penalty; whatever else is given once is the same in all."""
    count = len(lams)
    table = np.ones((1, engine.n)) if table is None else table
    index = np.arange(count) % len(table)
    return Runs(
        np.asarray(lams, dtype=float),
        np.broadcast_to(standardise, count),
        np.broadcast_to(between, count),
        np.full(count, -1.0),
        np.broadcast_to(seeds, count),
        np.arange(count) if group is None else np.asarray(group),
        RowMass(table, index),
    )


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
@BOUNDED
def test_scaling_and_form_are_those_of_an_engine_that_scales(seed, standardise, between):
    X = blobs(seed)
    options = FitOptions(K, init=X[:K], polish=False)
    lams = np.array([2.0, 30.0, 400.0])
    engine = ArrayEngine(X)
    runs = make_runs(engine, lams, standardise=standardise, between=between)
    found = fit_runs(engine, K, runs, options)
    own = ArrayEngine(X, scale="standard" if standardise else None)
    for b, lam in enumerate(lams):
        rule = RelativeEntropy.make(lam, own.squares, between=between)
        schedule = annealing(None, options.eta, -1.0)
        alone = iterate(
            own, own.to_engine_units(X[:K]), rule.start(), rule, schedule, max_iter=500, tol=1e-8
        )
        size = float(own.squares @ alone.weights) + lam
        assert found.objective[b] == pytest.approx(alone.objective, abs=1e-9 * size)
        np.testing.assert_allclose(found.weights[b], alone.weights, atol=1e-7)
        np.testing.assert_allclose(found.metric[b], found.weights[b] / own.scale**2, rtol=1e-12)
        np.testing.assert_array_equal(
            found.labels(engine)[b], own.assign(alone.theta, alone.weights)[0]
        )


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from(["k-means++", "random"]))
@BOUNDED
def test_a_row_of_weight_two_is_that_row_twice(seed, standardise, init):
    X = blobs(seed, n=25)
    rng = np.random.default_rng(seed)
    count = rng.integers(1, 4, 25)
    kept = rng.random((2, 25)) < 0.8
    kept[:, : K + 1] = True
    options = FitOptions(K, init=init).lighter()

    def ends(engine, table):
        runs = make_runs(engine, [20.0, 60.0], standardise=standardise, table=table)
        return fit_runs(engine, K, runs, options)

    weighted = ends(ArrayEngine(X, count.astype(float)), kept * count.astype(float))
    copies = np.repeat(np.arange(25), count)
    repeated = ends(ArrayEngine(X[copies]), kept[:, copies].astype(float))
    np.testing.assert_allclose(weighted.objective, repeated.objective, rtol=1e-9)
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-8)
    # starts of equal objective may have their clusters in another order
    one, two = (
        np.take_along_axis(t, t[:, :, :1].argsort(axis=1), axis=1)
        for t in (weighted.theta, repeated.theta)
    )
    np.testing.assert_allclose(one, two, atol=1e-7)


@given(st.integers(0, 2**32 - 1), st.booleans())
@BOUNDED
def test_runs_end_where_they_end_alone(seed, standardise):
    """Runs of other groups do not matter, nor does their number."""
    X = blobs(seed)
    rng = np.random.default_rng(seed)
    engine = ArrayEngine(X)
    table = (rng.random((4, 40)) < 0.8).astype(float)
    table[:, : K + 1] = 1.0
    runs = make_runs(
        engine, rng.uniform(1, 60, 4), standardise=standardise, table=table, seeds=[1, 2, 2, 3]
    )
    options = FitOptions(K).lighter()
    together = fit_runs(engine, K, runs, options)
    for b in range(4):
        alone = fit_runs(engine, K, runs.take(np.array([b])), options)
        assert together.objective[b] == pytest.approx(alone.objective[0], rel=1e-9)
        np.testing.assert_allclose(together.weights[b], alone.weights[0], atol=1e-8)
        np.testing.assert_allclose(together.theta[b], alone.theta[0], atol=1e-7)


def test_a_column_that_is_constant_in_a_part_of_the_rows_has_no_weight_there():
    X = blobs(0)
    X[:20, 1] = 5.0
    X[20:, 2] = 1e-3 * X[20:, 2] + 1e4  # varies little, but it does
    table = np.ones((3, 40))
    table[0, 20:] = 0.0
    table[1, :20] = 0.0
    engine = ArrayEngine(X)
    for standardise in (False, True):
        runs = make_runs(engine, [40.0] * 3, standardise=standardise, table=table)
        weights = fit_runs(engine, K, runs, FitOptions(K).lighter()).weights
        assert weights[0, 1] == 0.0
        assert (weights[1:, 1] > 0).all()
        assert (weights[:, 2] > 0).all()
        np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    # where nothing varies, every feature is as good as another
    constant = np.zeros((1, 40))
    constant[0, 0] = 1.0
    alone = make_runs(engine, [40.0], table=constant)
    one = fit_runs(engine, 1, alone, FitOptions(1).lighter())
    np.testing.assert_allclose(one.weights, 0.25)


def test_a_feature_without_prior_has_no_weight_in_any_run():
    engine = ArrayEngine(blobs(1))
    options = FitOptions(K, prior=np.array([1.0, 0.0, 2.0, 1.0])).lighter()
    found = fit_runs(engine, K, make_runs(engine, [1.0, 50.0, 1e3]), options)
    np.testing.assert_array_equal(found.weights[:, 1], 0.0)


def test_runs_of_a_group_end_no_higher_than_from_what_their_neighbours_found(monkeypatch):
    k = 6
    engine = ArrayEngine(np.random.default_rng(3).standard_normal((80, 4)))  # many local optima
    lams = np.geomspace(0.5, 500, 6)
    options = FitOptions(k).lighter()
    apart = fit_runs(engine, k, make_runs(engine, lams), options)
    together = fit_runs(engine, k, make_runs(engine, lams, group=np.zeros(6)), options)
    assert (together.objective <= apart.objective + 1e-9 * np.abs(apart.objective)).all()
    for b, lam in enumerate(lams):
        rule = RelativeEntropy.make(lam, engine.squares)
        for other in {b - 1, b + 1} & set(range(6)):
            theirs = iterate(
                engine,
                apart.theta[other],
                apart.weights[other],
                rule,
                Hard(),
                max_iter=module._EXCHANGE_STEPS,
                tol=options.tol,
            )
            assert together.objective[b] <= theirs.objective + 1e-9 * abs(theirs.objective)
    lower = together.objective < apart.objective - 1e-6 * np.abs(apart.objective)
    assert lower.any()
    # every other run begins where products are dear: none is left out
    monkeypatch.setattr(module, "_EVERY_RUN", 0.0)
    halved = fit_runs(engine, k, make_runs(engine, lams, group=[0, 0, 0, 1, 1, 1]), options)
    for b in (0, 2, 3, 5):
        assert halved.objective[b] <= apart.objective[b] + 1e-9 * abs(apart.objective[b])
    for b, lam in enumerate(lams):
        rule = RelativeEntropy.make(lam, engine.squares)
        value = engine.statistics(
            halved.theta[b : b + 1], halved.weights[b : b + 1], np.array([-np.inf])
        ).nearest[0] + rule.penalty(halved.weights[b])
        assert halved.objective[b] == pytest.approx(value, rel=1e-9)


def one_of(begin):
    """One solution, as the only candidate."""
    return tuple(part[None] for part in begin)


def test_runs_go_on_at_the_limit_from_what_they_are_given():
    X = blobs(4)
    engine = ArrayEngine(X)
    begin = engine.to_engine_units(X[:K]), np.full(4, 0.25)
    runs = make_runs(engine, [20.0, 50.0])
    found = fit_runs(engine, K, runs, FitOptions(K, polish=False), one_of(begin))
    for b, lam in enumerate(runs.lam):
        rule = RelativeEntropy.make(lam, engine.squares)
        wanted = iterate(engine, *begin, rule, Hard(), max_iter=500, tol=1e-8)
        assert found.objective[b] == pytest.approx(wanted.objective, rel=1e-9)
    polished = fit_runs(engine, K, runs, FitOptions(K, polish=PolishEffort.FULL), one_of(begin))
    assert (polished.objective <= found.objective + 1e-9 * np.abs(found.objective)).all()


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 5, 30]), st.booleans())
@BOUNDED
def test_critical_exponents_are_never_above_and_near_where_one_direction_leads(seed, p, weighted):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, p)) * rng.uniform(0.1, 3.0, p)
    X += rng.normal(0, 2, (3, p))[rng.integers(0, 3, 60)]
    engine = ArrayEngine(X, rng.uniform(0.1, 2.0, 60) if weighted else None)
    metric = rng.dirichlet(np.full(p, 0.5), 4) + 1e-9
    found = critical_exponents(engine, metric)
    for exponent, one in zip(found, metric, strict=True):
        exact = engine_critical_exponent(engine, one)
        # a product gives an eigenvalue from below, and so does 1 - 1 / (2 largest) the exponent
        assert exponent <= exact + 1e-9
        unit = engine.rows(slice(None)) * np.sqrt(one)
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        mass = np.ones(60) if engine.sample_weight is None else engine.sample_weight
        eigenvalues = np.linalg.eigvalsh((unit.T * mass) @ unit / mass.sum())
        if p == 1 or eigenvalues[-2] < 0.5 * eigenvalues[-1]:
            assert 1.0 - exponent == pytest.approx(1.0 - exact, rel=1e-3)
    together = [critical_exponents(engine, one[None])[0] for one in metric]
    np.testing.assert_allclose(found, together, rtol=1e-9)


def test_places_in_groups_choose_every_other_run():
    assert module._place_in_group(np.array([0, 0, 1, 3, 3, 3])).tolist() == [0, 1, 0, 0, 1, 2]
