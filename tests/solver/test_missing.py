"""Fits to observed values: what holds for complete data holds, and nothing changes for these."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import ewp
from ewp.datasets import make_simulation2
from ewp.engine.array import ArrayEngine
from ewp.engine.base import RowMass
from ewp.solver.batch import fit_runs
from ewp.solver.breathing import WeightedPoints
from ewp.solver.critical_exponent import critical_exponents, engine_critical_exponent
from ewp.solver.fit import FitOptions
from ewp.solver.iterate import centroid_step
from ewp.solver.multistart import StartPlan
from ewp.solver.runs import Runs
from tests.support.results import assert_identical
from tests.support.strategies import SLOW


@st.composite
def problems(draw):
    """Structured data with missing values, at odd scales and offsets, and a penalty."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(1, 9))
    n, p = draw(st.integers(max(2 * k, 6), 60)), draw(st.integers(2, 6))
    scale = 10.0 ** draw(st.integers(-3, 3))
    X = rng.standard_normal((n, p)) * rng.uniform(0.2, 2, p)
    X += rng.normal(0, 3, (k, p))[rng.integers(0, k, n)]
    X = X * scale + scale * draw(st.sampled_from([0.0, 5.0]))
    absent = rng.random((n, p)) < draw(st.sampled_from([0.02, 0.2, 0.5]))
    absent[np.arange(n), rng.integers(0, p, n)] = False
    absent[rng.integers(0, n, p), np.arange(p)] = False
    X[absent] = np.nan
    lam = draw(st.sampled_from([0.01, 0.1, 1.0, 10.0])) * n * scale**2
    return X, k, lam


def fit(problem, X=None, **options):
    data, k, lam = problem
    given_data = data if X is None else X
    return ewp.fit(given_data, k, lam, random_state=0, missing="observed", **options)


@given(problems(), st.sampled_from(["within", "between"]), st.booleans())
@SLOW
def test_descent_simplex_hull_and_prediction(problem, dispersion, standard):
    X = problem[0]
    found = fit(problem, dispersion=dispersion, scale="standard" if standard else None, n_init=3)
    trace = found.objective_trace
    slack = 1e-9 * np.abs(trace["f_s"]).max()
    assert (np.diff(trace["f_s"]) <= slack).all()
    assert trace["f_inf"].iloc[-1] == found.objective
    weights = found.weights.to_numpy()
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    room = 1e-9 * np.maximum(np.abs(low), np.abs(high))
    centroids = found.centroids.to_numpy()
    assert (centroids >= low - room).all()
    assert (centroids <= high + room).all()
    np.testing.assert_array_equal(found.predict(X), found.labels)


@given(problems(), st.integers(0, 2**32 - 1))
@SLOW
def test_order_of_rows_and_columns_and_units_do_not_matter(problem, seed):
    X, k, lam = problem
    rng = np.random.default_rng(seed)
    found = fit(problem, n_init=2, max_iter=200)
    # a row that is observed in no feature with weight is as near to one centroid as to another
    counting = found.weights.to_numpy() > 1e-12
    assume((~np.isnan(X) & counting).any(axis=1).all())
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    moved = fit(problem, X[rows][:, columns], n_init=2, max_iter=200)
    assert moved.objective == pytest.approx(found.objective, rel=1e-7, abs=1e-7 * lam)
    units = 2.0 ** rng.integers(-3, 4, X.shape[1])
    one, other = (
        ewp.fit(Z, k, float(len(X)), scale="standard", n_init=2, random_state=0, missing="observed")
        for Z in (X, X * units)
    )
    assert_array_close(other.weights.to_numpy(), one.weights.to_numpy())
    np.testing.assert_array_equal(other.labels, one.labels)


def assert_array_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", [{"lam": 20.0}, {"scale": "standard", "lam": 30.0}, {}])
def test_without_missing_values_nothing_changes(options):
    X = make_simulation2(4, n=160, p=12, random_state=0).X
    one, other = (
        ewp.fit(X, 4, random_state=0, missing=m, **options) for m in ("error", "observed")
    )
    assert other.observed is None
    assert_identical(one, other)


@pytest.mark.parametrize("standard", [False, True])
def test_the_collapsed_point_loses_its_stability_at_the_critical_exponent(standard):
    """A small split of the centroids grows by 2 (1 - s) times the largest eigenvalue a step."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) * [1.0, 1.0, 2.0, 0.5, 1.0]
    X[rng.random(X.shape) < [0.5, 0.0, 0.2, 0.1, 0.3]] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    engine = ArrayEngine(X, scale="standard" if standard else None)
    w = rng.dirichlet(np.ones(5))
    critical = engine_critical_exponent(engine, w)
    if not standard:
        public = ewp.critical_exponent(X, weights=w, missing="observed")
        assert public == pytest.approx(critical, rel=1e-9)
    assert critical_exponents(engine, w[None])[0] == pytest.approx(critical, abs=1e-2)
    share = 0.5 / (1.0 - critical)  # the largest eigenvalue
    for s, grows in ((critical - 0.05, True), (critical + 0.05, False)):
        split = 1e-7 * rng.standard_normal(5)
        lengths = []
        for _ in range(60):
            theta = np.array([[split, -split]])
            new = centroid_step(engine.statistics(theta, w[None], np.array([s])), theta)[0]
            length = np.linalg.norm(new[0, 0] - new[0, 1])
            lengths.append(length / np.linalg.norm(2 * split))
            split = 1e-7 * (new[0, 0] - new[0, 1]) / length
        assert (lengths[-1] > 1.0) == grows
        assert lengths[-1] == pytest.approx(2 * (1 - s) * share, rel=1e-3)


def test_search_points_measure_observed_values():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 3))
    marks = (rng.random(X.shape) > 0.4).astype(float)
    points = WeightedPoints(X * marks, None, marks)
    theta = rng.standard_normal((5, 3))
    plain = ((X[:, None] - theta) ** 2 * marks[:, None]).sum(axis=2)
    np.testing.assert_allclose(points.distances(theta[None])[0], plain.T, atol=1e-12)
    state = points.assign(theta)
    np.testing.assert_array_equal(state.labels, plain.argmin(axis=1))
    ended = points.lloyd(theta)
    assert ended.error <= state.error + 1e-12


@pytest.mark.parametrize("standardise", [False, True])
def test_a_part_of_the_rows_is_fitted_as_it_would_be_by_itself(standardise):
    """In common passes it has the observed shares of its own rows."""
    X = make_simulation2(3, n=120, p=6, random_state=0).X
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.2] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    engine, kept = ArrayEngine(X), np.arange(len(X)) % 3 > 0
    options = FitOptions(3, 5.0, polish=False, n_init=1)
    runs = Runs(
        np.array([5.0]),
        np.array([standardise]),
        np.array([False]),
        np.array([-1.0]),
        np.zeros(1, dtype=int),
        np.zeros(1, dtype=int),
        RowMass(kept[None].astype(float), np.zeros(1, dtype=int)),
    )
    found = fit_runs(engine, 3, runs, options)
    alone = ArrayEngine(X[kept], scale="standard" if standardise else None)
    theta = alone.to_engine_units(engine.to_data_units(found.theta[0]))
    stats = alone.statistics(theta[None], found.weights, np.array([-np.inf]))
    penalty = 5.0 * float((found.weights * np.log(found.weights)).sum())
    assert found.objective[0] == pytest.approx(stats.nearest[0] + penalty, rel=1e-9)


def test_clusters_are_recovered_and_weights_do_not_follow_holes():
    """A relevant feature with half of its values missing keeps its weight."""
    X, labels, relevant = make_simulation2(k=6, n=600, p=30, random_state=1)
    rng = np.random.default_rng(0)
    Z = X.copy()
    Z[rng.random(X.shape) < 0.1] = np.nan
    holey = relevant[0]
    Z[rng.random(len(X)) < 0.5, holey] = np.nan
    full = ewp.fit(X, 6, 30.0, random_state=0)
    found = ewp.fit(Z, 6, 30.0, random_state=0, missing="observed")
    from sklearn.metrics import normalized_mutual_info_score

    assert normalized_mutual_info_score(labels, found.labels) > 0.97
    assert found.weights.iloc[holey] == pytest.approx(full.weights.iloc[holey], rel=0.05)


def test_where_much_is_missing_one_start_is_not_enough():
    """Large data have one automatic start, which may miss the relevant features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 30))
    plans = []
    for share in (0.0, 0.1, 0.4):
        Z = X.copy()
        Z[rng.random(X.shape) < share] = np.nan
        plans.append(StartPlan.of("auto", ArrayEngine(Z), 10))
    assert [plan.most for plan in plans] == [1, 1, 4]
    assert plans[2].fewest == 4
    assert StartPlan.of(2, ArrayEngine(Z), 10).most == 2
