"""Input that cannot be right gets an error that names it."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import ewp
from tests.support.designs import sixty_rows, thirty_rows

X, GROUPS = thirty_rows(), sixty_rows()


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
        r"not numeric: 'name' \((str|object)\); drop them, X.drop\(columns=\['name'\]\)",
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


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (GROUPS, {"s0": -0.01}, "s0=-0.01 must be -0.1 or less"),
        (GROUPS, {"scale": np.ones(3)}, "scale=array"),
        (GROUPS, {"n_jobs": "2"}, "n_jobs='2'"),
        (GROUPS, {"n_jobs": 0}, "n_jobs=0"),
        (GROUPS, {"polish": "no"}, "polish='no' must be True or False"),
        (GROUPS, {"init": np.full((2, 4), 1e200)}, "init has values above"),
        (GROUPS, {"sample_weight": np.full(60, 1e308)}, "divide the weights by a constant"),
        (1e-165 * GROUPS, {}, "multiply X by a constant"),
        (np.ma.masked_greater(GROUPS, 5), {}, "masked values"),
        (pd.DataFrame(GROUPS, columns=list("aabb")), {}, "not unique: 'a', 'b'"),
        (pd.DataFrame(), {}, "X is empty"),
    ],
)
def test_odd_inputs_are_named(data, options, message):
    with pytest.raises(ValueError, match=message):
        ewp.fit(data, 2, 1.0, **options)


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
    with pytest.raises(ValueError, match="missing none, unknown 'd'"):
        found.predict(frame.assign(d=1.0))
    with pytest.raises(ValueError, match="missing 'b', unknown none"):
        found.predict(frame[["c", "a"]])
    with pytest.raises(ValueError, match="row 0, column 'b'"):
        found.predict(frame.assign(b=np.nan))
    np.testing.assert_array_equal(found.predict(frame), found.labels)
