"""The estimator as scikit-learn sees it."""

import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import ewp
from ewp import EWP
from ewp.datasets import make_simulation2
from ewp.solver.fit import FitOptions


@parametrize_with_checks(
    [
        EWP(lam=10.0),
        EWP(n_clusters=3, lam=10.0, random_state=0),
        EWP(n_clusters=3, lam=10.0, scale="standard", init="random", random_state=0),
        EWP(n_clusters=3, lam=10.0, dispersion="between", polish=False, random_state=0),
        EWP(n_clusters=3, lam=10.0, missing="observed", random_state=0),
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


def test_score_is_the_log_density_that_rows_gain_from_the_partition(data):
    X, _ = data
    weight = np.random.default_rng(0).uniform(1, 2, len(X))
    model = EWP(4, 10.0, random_state=0).fit(X, sample_weight=weight)
    new = X[:50] + 0.01
    mass = np.bincount(model.labels_, weight)
    total = mass.sum()
    mean = weight @ X / total
    of = (model.labels_ == np.arange(4)[:, None]) * weight
    means = of @ X / mass[:, None]
    within = weight @ (X - means[model.labels_]) ** 2 / (total - 4)
    variance = weight @ (X - mean) ** 2 / (total - 1)
    joint = [
        m / total * multivariate_normal(mu, np.diag(within * (1 + 1 / m))).pdf(new)
        for m, mu in zip(mass, means, strict=True)
    ]
    single = multivariate_normal(mean, np.diag(variance * (1 + 1 / total))).logpdf(new)
    wanted = np.log(np.sum(joint, axis=0)) - single
    assert model.score(new) == pytest.approx(wanted.mean(), rel=1e-9)
    shares = np.linspace(0.1, 1, 50)
    weighted = model.score(new, sample_weight=shares)
    assert weighted == pytest.approx(np.average(wanted, weights=shares), rel=1e-9)
    assert EWP(1, 10.0, random_state=0).fit(X).score(new) == pytest.approx(0.0, abs=1e-12)


def test_a_grid_search_over_penalties_finds_the_clusters():
    """The objective, which was the score, falls without bound as the penalty grows."""
    X, y, _ = make_simulation2(4, n=200, p=10, n_relevant=3, random_state=1)
    X = 1e3 * X
    lams = 0.8 * ewp.lambda_path(X, 4, 6, scale="standard")
    model = EWP(4, scale="standard", n_init=5, random_state=0)
    found = GridSearchCV(model, {"lam": lams}, cv=4).fit(X)
    assert found.best_params_["lam"] < lams[-1]
    assert adjusted_rand_score(y, found.best_estimator_.labels_) == 1.0
    assert adjusted_rand_score(y, model.set_params(lam=lams[-1]).fit(X).labels_) < 0.9
    again = GridSearchCV(model, {"lam": lams}, cv=4).fit(X / 1e3)
    np.testing.assert_allclose(
        again.cv_results_["mean_test_score"], found.cv_results_["mean_test_score"], rtol=1e-6
    )


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
