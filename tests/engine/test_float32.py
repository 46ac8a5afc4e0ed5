"""Rows in single precision: what they share with double precision, and where they end."""

import warnings

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import entr

import ewp
from ewp.datasets import make_simulation2
from ewp.engine import array_engine, kernel
from ewp.engine.array import ArrayEngine
from ewp.engine.precision import DOUBLE, PRECISION, SINGLE

BOUNDED = settings(max_examples=25, deadline=None)
FIELDS = ("sums", "mass", "scatter", "power", "nearest", "softness")


def simulated(n=600, p=8, k=4, seed=0):
    made = make_simulation2(k, n, p, random_state=seed)
    return made.X.astype(np.float32)


@st.composite
def passes(draw):
    """Rows of single precision, perhaps far from 0, with centroids, weights and exponents."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(30, 300)), draw(st.integers(1, 12))
    k, runs = draw(st.sampled_from([1, 3, 7, 70])), draw(st.integers(1, 3))
    offset, size = draw(st.sampled_from([0.0, 1.0, 1e4])), 10.0 ** draw(st.integers(-6, 6))
    X = ((rng.standard_normal((n, p)) + offset) * size).astype(np.float32)
    theta = rng.standard_normal((runs, k, p)) * size
    weights = rng.dirichlet(np.full(p, 0.3), runs)
    s = rng.choice([-1.0, -3.3, -57.25, -8000.0, -np.inf], runs)
    mass = rng.integers(0, 4, n) * 1.0 if draw(st.booleans()) else None
    if mass is not None:
        mass[0] = 1.0
    return X, theta, weights, s, mass, draw(st.sampled_from([None, "standard"]))


@given(passes(), st.sampled_from([0, 4096]), st.booleans())
@BOUNDED
def test_sums_of_a_pass_are_those_of_double_precision(case, few_pairs, keep):
    X, theta, weights, s, mass, scale = case
    double = ArrayEngine(X, mass, scale=scale, keep=keep)
    single = ArrayEngine(X, mass, scale=scale, keep=keep, dtype=SINGLE)
    assert single.dtype == SINGLE
    theta = theta / double.scale
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_FEW_PAIRS", few_pairs)
        wanted = double.statistics(theta, weights, s)
        found = single.statistics(theta, weights, s)
    for name in ("power", "nearest"):
        value = getattr(wanted, name)
        np.testing.assert_allclose(getattr(found, name), value, rtol=2e-4)
    np.testing.assert_allclose(found.mass.sum(axis=1), wanted.mass.sum(axis=1), rtol=1e-2)
    for name in FIELDS:
        assert getattr(found, name).dtype == np.float64
        assert np.isfinite(getattr(found, name)).all()
    # a row between two centroids may be on either side
    same = np.abs(found.mass - wanted.mass).max(axis=1) < 0.5
    spread = np.sqrt(double.squares / double.total)
    for b in np.flatnonzero(same):
        error = np.abs(found.sums[b] - wanted.sums[b]) / (spread + 1e-300)
        assert error.max() <= 1e-2 * double.total
    np.testing.assert_allclose(found.scatter[same], wanted.scatter[same], rtol=1e-2)


@pytest.mark.parametrize("s", [-1.0, -2.0, -9.75, -400.25, -8000.0, -1e4])
def test_powers_far_below_zero_neither_vanish_nor_overflow(s):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 4)).astype(np.float32)
    X[:3] *= 1e4
    X[5] = X[6]
    theta = np.vstack([X[5:8], X[5] + 1e-6, rng.standard_normal((3, 4))]).astype(float)[None]
    weights = np.array([[0.5, 0.5, 1e-42, 1e-300]])
    for few in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch, np.errstate(all="raise", under="ignore"):
            patch.setattr(kernel, "_FEW_PAIRS", few)
            engine = ArrayEngine(X, dtype=SINGLE, center=np.zeros(4))
            found = engine.statistics(theta, weights, np.array([s]))
        exact = ArrayEngine(X, center=np.zeros(4)).statistics(theta, weights, np.array([s]))
        assert found.mass.min() >= 0
        np.testing.assert_allclose(found.power, exact.power, rtol=1e-4)
        np.testing.assert_allclose(found.nearest, exact.nearest, rtol=1e-4)
        assert float(np.abs(found.mass - exact.mass).max()) <= 0.02 * len(X)


def test_a_metric_of_single_precision_has_no_subnormal_numbers():
    engine = ArrayEngine(np.eye(3, dtype=np.float32), dtype=SINGLE)
    metric = engine.metric(np.full((1, 2, 3), 0.5), np.array([[1.0, 1e-40, 1e-310]]))
    tiny = PRECISION[SINGLE].tiny
    for values in (metric.weights, metric.product):
        assert values.dtype == SINGLE
        assert ((values == 0) | (np.abs(values) >= tiny)).all()


def test_rows_far_from_zero_are_centred_without_loss():
    rng = np.random.default_rng(1)
    X = (rng.standard_normal((400, 5)) + 1e4 * np.arange(1, 6)).astype(np.float32)
    exact = (X.astype(float) - X.astype(float).mean(axis=0)) / X.astype(float).std(axis=0)
    kept = array_engine(X, None, "standard")
    single = ArrayEngine(X, scale="standard", dtype=SINGLE)
    assert single.prepared.dtype == SINGLE
    np.testing.assert_allclose(single.prepared, exact, atol=2e-7 * np.abs(exact).max())
    np.testing.assert_array_equal(single.center, kept.center)
    np.testing.assert_array_equal(single.squares, kept.squares)
    again = ArrayEngine(X, scale="standard", dtype=SINGLE, keep=False)
    ones, s = np.full((1, 5), 0.2), np.array([-3.0])
    for name in FIELDS:
        np.testing.assert_array_equal(
            getattr(single.statistics(exact[None, :4], ones, s), name),
            getattr(again.statistics(exact[None, :4], ones, s), name),
        )


def test_rows_are_held_in_half_the_memory():
    X = simulated()
    single, double = ArrayEngine(X, dtype=SINGLE), ArrayEngine(X)
    assert single.X is X
    assert 2 * single.prepared.nbytes == double.prepared.nbytes
    centred = ArrayEngine(X, dtype=SINGLE, center=np.zeros(X.shape[1]))
    assert centred.prepared is X


@pytest.mark.parametrize("scale", [None, "standard", "decorrelate"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_fit_is_that_of_double_precision(scale, seed):
    X = simulated(seed=seed)
    options = {"lam": 60.0, "scale": scale, "random_state": seed}
    single, double = ewp.fit(X, 4, **options), ewp.fit(X, 4, dtype="float64", **options)
    assert single.converged
    assert single.fit_options.dtype == "float32"
    assert double.fit_options.dtype == "float64"
    assert single.objective == pytest.approx(double.objective, rel=1e-6)
    np.testing.assert_array_equal(single.labels, double.labels)
    np.testing.assert_allclose(single.weights, double.weights, atol=1e-5)
    np.testing.assert_array_equal(single.labels, single.predict(X))


@pytest.mark.parametrize("options", [{"lam": 30.0}, {"lam": 30.0, "scale": "standard"}])
def test_in_double_precision_a_fit_is_to_the_last_bit_that_of_the_same_values(options):
    X = simulated()
    asked = ewp.fit(X, 4, random_state=0, dtype=np.float64, **options)
    wanted = ewp.fit(X.astype(np.float64), 4, random_state=0, **options)
    assert asked.objective == wanted.objective
    np.testing.assert_array_equal(asked.objective_trace, wanted.objective_trace)
    np.testing.assert_array_equal(asked.centroids, wanted.centroids)


def test_where_it_is_asked_for_doubles_are_computed_as_singles():
    X = simulated()
    asked = ewp.fit(X.astype(np.float64), 4, 30.0, random_state=0, dtype="float32")
    assert asked.fit_options.dtype == "float32"
    assert "dtype='float32'" in asked.call.replace('"', "'")
    wanted = ewp.fit(X, 4, 30.0, random_state=0)
    assert asked.objective == pytest.approx(wanted.objective, rel=1e-7)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_the_end_is_a_fixed_point_of_double_precision(seed):
    rng = np.random.default_rng(seed)
    n, p, k = int(rng.integers(20, 400)), int(rng.integers(1, 7)), int(rng.integers(2, 7))
    X = (
        rng.standard_normal((n, p))
        + rng.normal(0, rng.choice([0.0, 2.0]), (k, p))[rng.integers(0, k, n)]
    )
    X = (X * 10.0 ** rng.integers(-3, 4) + rng.choice([0.0, 1e3])).astype(np.float32)
    lam = float(n * X.var() * rng.choice([0.02, 0.3]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        results = ewp.fit(X, k, lam, scale=None, random_state=seed % 1000, n_init=2)
    assert results.converged
    rows, theta = X.astype(float), results.centroids.to_numpy()
    labels = results.labels.to_numpy()
    for j in range(k):
        mean = rows[labels == j].mean(axis=0)
        np.testing.assert_allclose(theta[j], mean, atol=1e-5 * rows.std(axis=0).max())
    distance = (((rows[:, None] - theta) ** 2) * results.weights.to_numpy()).sum(axis=2)
    penalty = -lam * float(entr(results.weights).sum())
    size = distance.min(axis=1).sum()
    assert results.objective == pytest.approx(size + penalty, rel=1e-9, abs=1e-6 * size)


def test_objectives_fall_but_for_rounding():
    X = simulated(n=2000, p=20, k=5, seed=3)
    trace = ewp.fit(X, 5, 100.0, random_state=0, polish=False).objective_trace
    at_limit = trace.loc[np.isinf(trace["s"]), "f_inf"].to_numpy()
    size = np.abs(at_limit).max()
    assert (np.diff(at_limit) <= 1e-6 * size).all()


@pytest.mark.parametrize("factor", [1e20, 1e-20])
def test_squares_that_singles_cannot_hold_are_computed_as_doubles(factor):
    X = simulated()
    small = ewp.fit(X, 4, 30.0, random_state=0, dtype="float64")
    scaled = X.astype(float) * factor
    far = ewp.fit(scaled.astype(np.float32), 4, 30.0 * factor**2, random_state=0)
    assert far.fit_options.dtype is None
    np.testing.assert_array_equal(far.labels, small.labels)
    asked = ewp.fit(scaled, 4, 30.0 * factor**2, random_state=0, dtype="float32")
    assert asked.fit_options.dtype == "float64"


def test_a_far_row_without_weight_leaves_singles_as_they_are():
    X = simulated()
    X = np.vstack([X, np.full((1, X.shape[1]), 1e20, np.float32)])
    weight = np.append(np.ones(len(X) - 1), 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = ewp.fit(X, 4, 30.0, sample_weight=weight, random_state=0)
        alone = ewp.fit(X[:-1], 4, 30.0, random_state=0)
    assert results.fit_options.dtype is None
    assert results.objective == pytest.approx(alone.objective, rel=1e-6)


def test_files_blocks_and_clusters_hold_singles(tmp_path):
    X = simulated()
    wanted = ewp.fit(X, 4, 30.0, random_state=0)
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "columns.npy", np.asfortranarray(X))
    sources = {
        "file": tmp_path / "rows.npy",
        "columns": tmp_path / "columns.npy",
        "blocks": lambda: iter([X[:250], X[250:]]),
        "Dask": da.from_array(X, chunks=(200, -1)),
    }
    for name, source in sources.items():
        found = ewp.fit(source, 4, 30.0, random_state=0)
        assert found.fit_options.dtype == "float32", name
        assert found.objective == pytest.approx(wanted.objective, rel=1e-6), name
        np.testing.assert_array_equal(found.labels, wanted.labels)
    doubles = ewp.fit(sources["Dask"], 4, 30.0, random_state=0, dtype="float64")
    assert doubles.objective == pytest.approx(wanted.objective, rel=1e-9)


@pytest.mark.parametrize("batch", [7, 2**16])
def test_blocks_of_both_kinds_become_doubles(batch, monkeypatch):
    monkeypatch.setattr("ewp.data.sources.BATCH_ROWS", batch)
    X = simulated(n=50)
    double = X.astype(np.float64) + 1e-9
    rows = ewp.data.sources.open_rows(lambda: iter([X[:30], X[30:40], double[40:], X[:3]]))
    assert rows.dtype == DOUBLE
    np.testing.assert_array_equal(rows[:], np.vstack([X[:40], double[40:], X[:3]]))
    assert ewp.data.sources.open_rows(lambda: iter([X[:30], X[30:]])).dtype == SINGLE


def test_frames_of_short_columns_are_singles():
    X = simulated()
    frame = pd.DataFrame(X).add_prefix("f")
    halves = frame.astype({"f0": np.float16})
    assert ewp.fit(frame, 4, 30.0, random_state=0).fit_options.dtype == "float32"
    assert ewp.fit(halves, 4, 30.0, random_state=0).fit_options.dtype == "float32"
    mixed = frame.astype({"f0": np.float64})
    assert ewp.fit(mixed, 4, 30.0, random_state=0).fit_options.dtype is None
    assert ewp.fit(X.astype(np.float16), 4, 30.0, random_state=0).fit_options.dtype == "float32"


def test_distances_are_of_the_type_of_the_rows():
    X = simulated()
    model = ewp.EWP(4, lam=30.0, random_state=0).fit(X)
    exact = model.transform(X.astype(np.float64))
    assert exact.dtype == DOUBLE
    found = model.transform(X)
    assert found.dtype == SINGLE
    np.testing.assert_array_equal(found, exact.astype(np.float32))
    np.testing.assert_array_equal(model.labels_, found.argmin(axis=1))
    assert model.cluster_centers_.dtype == DOUBLE
    lazy = model.transform(da.from_array(X, chunks=(100, -1)))
    assert lazy.dtype == SINGLE
    np.testing.assert_array_equal(lazy.compute(), found)
    assert model.results_.transform(pd.DataFrame(X)).to_numpy().dtype == SINGLE


@pytest.mark.parametrize("wrong", ["half", "float16", int, 32, [1]])
def test_other_types_are_refused_with_the_cure(wrong):
    X = simulated(n=40)
    with pytest.raises(ValueError, match='give "float64", "float32", or None'):
        ewp.fit(X, 2, 1.0, dtype=wrong)


def test_the_type_is_saved_and_fitted_again(tmp_path):
    X = simulated()
    results = ewp.fit(X, 4, 30.0, random_state=0)
    results.save(tmp_path / "fit.ewp")
    loaded = ewp.EWPResults.load(tmp_path / "fit.ewp")
    assert loaded.fit_options.dtype == "float32"
    assert "single" in str(loaded.summary())
    assert results.refit(dtype="float64").fit_options.dtype == "float64"
    again = results.refit(polish=False)
    assert again.fit_options.dtype == "float32"


def test_values_may_be_missing():
    X = simulated()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    options = {"lam": 30.0, "missing": "observed", "random_state": 0}
    single, double = ewp.fit(X, 4, **options), ewp.fit(X, 4, dtype="float64", **options)
    assert single.fit_options.dtype == "float32"
    assert single.objective == pytest.approx(double.objective, rel=1e-6)


def test_weights_are_copies_of_rows():
    X = simulated(n=200)
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = ewp.fit(X, 4, 15.0, sample_weight=weight, random_state=0)
    repeated = ewp.fit(np.repeat(X, weight, axis=0), 4, 15.0, random_state=0)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-6)


def test_processes_change_nothing(monkeypatch):
    monkeypatch.setattr("ewp.engine.array._WORTHWHILE", 0.0)
    X = simulated(n=9000, p=5)
    one, two = (ewp.fit(X, 4, 450.0, random_state=0, n_jobs=jobs, n_init=1) for jobs in (1, 2))
    assert one.objective == two.objective
    np.testing.assert_array_equal(one.objective_trace, two.objective_trace)


def test_the_choice_of_a_penalty_is_that_of_double_precision():
    X = simulated(n=150, p=6)
    single = ewp.fit(X, 4, random_state=0)
    double = ewp.fit(X.astype(np.float64), 4, random_state=0)
    assert (single.lam, single.scaling, single.dispersion) == (
        double.lam,
        double.scaling,
        double.dispersion,
    )
    assert single.fit_options.dtype == "float32"


def test_rows_may_be_trimmed():
    X = simulated()
    X[::20] += 30.0
    options = {"lam": 30.0, "robust": "trim", "random_state": 0}
    single, double = ewp.fit(X, 4, **options), ewp.fit(X, 4, dtype="float64", **options)
    assert single.fit_options.dtype == "float32"
    np.testing.assert_array_equal(single.outliers["trimmed"], double.outliers["trimmed"])
    assert single.objective == pytest.approx(double.objective, rel=1e-6)


def test_an_engine_in_double_precision_shares_what_is_known():
    single = ArrayEngine(simulated(), dtype=SINGLE, scale="standard")
    order = single.order
    double = single.in_double()
    assert (single.dtype, double.dtype) == (SINGLE, DOUBLE)
    for name in ("X", "center", "scale", "squares"):
        assert getattr(double, name) is getattr(single, name)
    assert double.order is order
    assert double.prepared is None
    assert single.prepared is not None
    assert double.in_double() is double
