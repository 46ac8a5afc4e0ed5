"""Bad input gets a clear error; odd but good input works."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import ewp

RNG = np.random.default_rng(0)
X = np.repeat([[0.0, 0.0, 0.0], [6.0, 6.0, 0.0]], 15, axis=0) + RNG.standard_normal((30, 3))


def changed(row, column, value):
    copy = X.copy()
    copy[row, column] = value
    return copy


BAD = {
    "NaN": ({"X": changed(3, 1, np.nan)}, "NaN.*row 3, column 1"),
    "infinity": ({"X": changed(7, 2, -np.inf)}, "inf.*row 7, column 2"),
    "named NaN": (
        {"X": pd.DataFrame(changed(3, 1, np.nan), columns=["a", "b", "c"])},
        "row 3, column 'b'",
    ),
    "text column": (
        {"X": pd.DataFrame({"a": X[:, 0], "name": ["u"] * 30})},
        r"not numeric: 'name'; drop",
    ),
    "category": (
        {"X": pd.DataFrame({"a": X[:, 0], "kind": pd.Categorical(["u", "v"] * 15)})},
        "'kind'",
    ),
    "dates": (
        {"X": pd.DataFrame({"a": X[:, 0], "day": pd.date_range("2020-01-01", periods=30)})},
        "'day'",
    ),
    "one dimension": ({"X": X[:, 0]}, "2D"),
    "three dimensions": ({"X": X[None]}, "dim 3|3 dim|found array with dim"),
    "no rows": ({"X": X[:0]}, "0 sample"),
    "complex": ({"X": X + 1j}, "[Cc]omplex"),
    "overflow": ({"X": X * 1e200}, "squares overflow"),
    "k zero": ({"k": 0}, "n_clusters=0 must be at least 1"),
    "k negative": ({"k": -2}, "n_clusters=-2"),
    "k float": ({"k": 2.5}, "n_clusters=2.5 must be an integer"),
    "k too large": ({"k": 31}, "k=31 exceeds the 30 distinct rows"),
    "k above distinct": ({"X": np.repeat(X[:4], 5, axis=0), "k": 5}, "k=5 exceeds the 4 distinct"),
    "lam zero": ({"lam": 0}, "lam=0 must be finite and above 0"),
    "lam negative": ({"lam": -1.0}, "lam=-1.0"),
    "lam NaN": ({"lam": float("nan")}, "lam=nan"),
    "lam infinite": ({"lam": np.inf}, "lam=inf"),
    "lam text": ({"lam": "large"}, "lam='large'"),
    "eta": ({"eta": 1.0}, "eta=1.0 must be finite and above 1"),
    "s0 zero": ({"s0": 0}, "s0=0 must be below 0"),
    "s0 positive": ({"s0": 2.0}, "s0=2.0"),
    "s0 text": ({"s0": "critical"}, "s0='critical'"),
    "init name": ({"init": "best"}, "init='best' is unknown"),
    "init shape": ({"init": X[:3]}, r"init has shape \(3, 3\).*\(2, 3\)"),
    "init NaN": ({"init": changed(0, 0, np.nan)[:2]}, "init contains NaN"),
    "n_init": ({"n_init": 0}, "n_init=0"),
    "scale": ({"scale": "robust"}, "scale='robust' is unknown"),
    "dispersion": ({"dispersion": "total"}, "dispersion='total' is unknown"),
    "prior shape": ({"prior": [1, 1]}, r"prior has shape \(2,\), but X has 3 features"),
    "prior negative": ({"prior": [1, -1, 1]}, "prior must be finite and not negative"),
    "prior zero": ({"prior": [0, 0, 0]}, "at least one positive"),
    "max_iter": ({"max_iter": 0}, "max_iter=0"),
    "tol": ({"tol": 0.0}, "tol=0.0"),
    "random_state": ({"random_state": -1}, "random_state=-1 is no seed"),
    "weights negative": (
        {"sample_weight": np.where(np.arange(30) == 4, -1.0, 1.0)},
        "negative in row 4",
    ),
    "weights zero": ({"sample_weight": np.zeros(30)}, "all of sample_weight is zero"),
    "weights short": ({"sample_weight": np.ones(29)}, "30 rows"),
    "weights NaN": ({"sample_weight": np.full(30, np.nan)}, "NaN"),
    "weighted distinct": (
        {"sample_weight": np.r_[1.0, np.zeros(29)]},
        "k=2 exceeds the 1 distinct rows",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    arguments, message = BAD[case]
    arguments = {"X": X, "k": 2, "lam": 5.0} | arguments
    with pytest.raises(ValueError, match=message):
        ewp.fit(**arguments)


def test_sparse_input_is_refused_with_advice():
    with pytest.raises(TypeError, match="toarray"):
        ewp.fit(sparse.csr_matrix(X), 2, 5.0)


def test_prediction_checks_its_columns():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    found = ewp.fit(frame, 2, 5.0, random_state=0)
    with pytest.raises(ValueError, match="X has 2 features, but the fit had 3"):
        found.predict(X[:, :2])
    with pytest.raises(ValueError, match="missing 'c', unknown 'd'"):
        found.predict(frame.rename(columns={"c": "d"}))
    with pytest.raises(ValueError, match="another order"):
        found.predict(frame[["c", "b", "a"]])
    with pytest.raises(ValueError, match="row 0, column 'b'"):
        found.predict(frame.assign(b=np.nan))
    np.testing.assert_array_equal(found.predict(frame), found.labels)


def truth_recovered(found):
    labels = found.labels.to_numpy()
    return len({*labels[:15]}) == 1 and len({*labels[15:]}) == 1 and labels[0] != labels[-1]


def read_only():
    copy = X.copy()
    copy.setflags(write=False)
    return copy


GOOD = {
    "float32": X.astype(np.float32),
    "integers": np.rint(10 * X).astype(int),
    "booleans beside floats": pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        flag=[True, False] * 15
    ),
    "nullable": pd.DataFrame(X).convert_dtypes(),
    "objects that are numbers": pd.DataFrame(X).astype(object),
    "lists": X.tolist(),
    "Fortran order": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=0)[::2],
    "read-only": read_only(),
    "offset": X + 1e8,
    "constant column": np.c_[X, np.full(30, 7.3)],
    "duplicates": np.vstack([X[:15], X[:15], X[15:], X[15:]])[
        np.r_[0:15, 30:45]  # 15 rows of each cluster
    ],
}


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize("scale", [None, "standard"])
def test_odd_but_good_data_work(kind, scale):
    data = GOOD[kind]
    spread = np.asarray(data, dtype=float).var(axis=0).max()
    lam = 30.0 if scale else 30.0 * spread
    found = ewp.fit(data, 2, lam, scale=scale, random_state=0)
    assert truth_recovered(found)
    assert np.isfinite(found.centroids.to_numpy()).all()
    np.testing.assert_allclose(found.weights.sum(), 1.0)
    np.testing.assert_array_equal(np.asarray(found.predict(data)), found.labels)


@pytest.mark.parametrize("dispersion", ["within", "between"])
def test_constant_columns_get_no_weight_unless_asked(dispersion):
    data = np.c_[X, np.full(30, 7.3), np.zeros(30)]
    found = ewp.fit(data, 2, 300.0, dispersion=dispersion, random_state=0)
    assert found.weights.iloc[3:].tolist() == [0.0, 0.0]
    assert truth_recovered(found)
    asked = ewp.fit(data, 2, 300.0, prior=np.ones(5), random_state=0)
    assert asked.weights.iloc[3] == asked.weights.max()


def test_columns_of_sixteen_orders_of_magnitude_standardise():
    data = X * [1e-8, 1.0, 1e8]
    plain = ewp.fit(X, 2, 10.0, scale="standard", random_state=0)
    scaled = ewp.fit(data, 2, 10.0, scale="standard", random_state=0)
    np.testing.assert_allclose(scaled.weights, plain.weights, rtol=1e-8)
    np.testing.assert_array_equal(scaled.labels, plain.labels)
    raw = ewp.fit(data, 2, 10.0, random_state=0)
    assert np.isfinite(raw.objective)


def test_extreme_shapes():
    one = ewp.fit(X, 1, 5.0)
    assert set(one.labels) == {0}
    np.testing.assert_allclose(one.centroids.iloc[0], X.mean(axis=0))
    every = ewp.fit(X[:6], 6, 5.0, random_state=0)
    assert sorted(every.labels) == list(range(6))
    np.testing.assert_allclose(every.clusters["withinss"], 0, atol=1e-20)
    column = ewp.fit(X[:, :1], 2, 5.0, random_state=0)
    assert column.weights.tolist() == [1.0]
    assert truth_recovered(column)
    same = ewp.fit(np.ones((5, 2)), 1, 5.0)
    assert same.weights.tolist() == [0.5, 0.5]
    single = ewp.fit(X[:1], 1, 5.0)
    np.testing.assert_allclose(single.centroids.iloc[0], X[0])


def test_heavily_duplicated_rows_neither_loop_nor_fail():
    data = np.repeat(np.eye(4), 25, axis=0)
    for k in (2, 3, 4):
        found = ewp.fit(data, k, 20.0, random_state=0)
        assert np.isfinite(found.centroids.to_numpy()).all()
        assert found.converged
    assert sorted(found.clusters["size"]) == [25, 25, 25, 25]


@pytest.mark.parametrize(
    "seed", [3, np.random.default_rng(3), np.random.RandomState(3), None, np.random.SeedSequence(3)]
)
def test_every_usual_kind_of_seed_is_taken(seed):
    assert truth_recovered(ewp.fit(X, 2, 300.0, random_state=seed))


def test_clusters_that_no_weighted_feature_can_tell_apart_do_not_cycle():
    data = np.random.default_rng(0).integers(0, 2, (100, 3)).astype(float)
    found = ewp.fit(data, 4, 1e-3, random_state=0)
    assert found.converged
    assert found.n_iter < 100
