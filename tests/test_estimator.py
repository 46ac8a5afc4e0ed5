"""The estimator as scikit-learn sees it."""

import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ewp import EWP
from ewp.datasets import make_simulation2
from ewp.solver.fit import FitOptions


@parametrize_with_checks(
    [
        EWP(lam=10.0),
        EWP(n_clusters=3, lam=10.0, random_state=0),
        EWP(n_clusters=3, lam=10.0, scale="standard", init="random", random_state=0),
        EWP(n_clusters=3, lam=10.0, dispersion="between", polish=False, random_state=0),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    X, labels, _ = make_simulation2(4, n=200, p=10, random_state=0)
    return X, labels


def test_labels_equal_predictions(data):
    X, _ = data
    for scale in (None, "standard"):
        model = EWP(4, 10.0, scale=scale, random_state=0)
        np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))
        np.testing.assert_array_equal(model.transform(X).argmin(axis=1), model.labels_)


def test_score_of_the_training_data_is_minus_the_objective(data):
    X, _ = data
    weight = np.random.default_rng(0).uniform(0, 2, len(X))
    model = EWP(4, 10.0, random_state=0).fit(X, sample_weight=weight)
    assert model.score(X, sample_weight=weight) == pytest.approx(-model.objective_, rel=1e-10)
    twice = model.score(np.vstack([X, X]), sample_weight=np.r_[weight, weight])
    assert twice == pytest.approx(-2 * model.objective_, rel=1e-10)


def test_transform_is_the_weighted_distance(data):
    X, _ = data
    model = EWP(4, 10.0, scale="standard", random_state=0).fit(X)
    z = (X[:, None, :] - model.cluster_centers_) / X.std(axis=0)
    wanted = np.sqrt((z**2) @ model.feature_weights_)
    np.testing.assert_allclose(model.transform(X), wanted, rtol=1e-9)


def test_pipeline_clone_pickle_and_set_output(data):
    X, _ = data
    pipe = make_pipeline(StandardScaler(), EWP(4, 30.0, random_state=0), PCA(2))
    assert clone(pipe).fit_transform(X).shape == (200, 2)
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(10)], index=np.arange(200) * 2)
    model = EWP(4, 10.0, random_state=0).set_output(transform="pandas").fit(frame)
    out = model.transform(frame)
    assert list(out.columns) == ["ewp0", "ewp1", "ewp2", "ewp3"]
    assert out.index.equals(frame.index)
    assert list(model.feature_names_in_) == list(frame.columns)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.labels_)
    assert again.results_.data is None


def test_sample_weight_is_routed(data):
    X, _ = data
    weight = np.arange(len(X)) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            EWP(4, 30.0, random_state=0).set_fit_request(sample_weight=True),
        )
        pipe.fit(X, sample_weight=weight)
    routed = pipe[-1]
    direct = EWP(4, 30.0, random_state=0).fit(pipe[0].transform(X), sample_weight=weight)
    assert routed.objective_ == direct.objective_
    assert routed.results_.clusters["mass"].sum() == weight.sum()


def test_fitting_does_not_touch_the_data(data):
    X, _ = data
    before = X.copy()
    EWP(4, 10.0, scale="standard", random_state=0).fit(X)
    np.testing.assert_array_equal(X, before)


def test_progress_goes_to_stderr_only_when_asked(data, capsys):
    X, _ = data
    EWP(4, 10.0, random_state=0).fit(X)
    assert capsys.readouterr() == ("", "")
    EWP(4, 10.0, random_state=0, progress=True).fit(X)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "steps" in shown.err


def test_distances_come_as_a_table_when_asked():
    X = make_simulation2(3, n=60, p=4, n_relevant=2, random_state=0).X
    frame = pd.DataFrame(X, columns=list("abcd"), index=[f"r{i}" for i in range(60)])
    model = EWP(3, 3.0, random_state=0).set_output(transform="pandas").fit(frame)
    found = model.transform(frame)
    assert list(found.columns) == ["ewp0", "ewp1", "ewp2"]
    assert found.index.equals(frame.index)
    plain = model.set_output(transform="default").transform(frame)
    np.testing.assert_array_equal(found.to_numpy(), plain)
    np.testing.assert_array_equal(plain.argmin(axis=1), model.labels_)


def test_a_refused_fit_leaves_a_fitted_estimator_as_it_was():
    X = make_simulation2(3, n=90, p=4, n_relevant=2, random_state=0).X
    model = EWP(3, 5.0, random_state=0).fit(pd.DataFrame(X, columns=list("abcd")))
    before = model.predict(pd.DataFrame(X, columns=list("abcd")))
    model.set_params(tol=-1.0)
    with pytest.raises(ValueError, match="tol=-1"):
        model.fit(pd.DataFrame(X, columns=list("dcba")))
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(model.predict(pd.DataFrame(X, columns=list("abcd"))), before)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=list("dcba")))


def test_defaults_are_those_of_the_options():
    """They stand in one place; the estimator and the command line show them."""
    assert EWP().get_params() == {f.name: f.default for f in dataclasses.fields(FitOptions)}
