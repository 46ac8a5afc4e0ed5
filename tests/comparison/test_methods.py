"""Methods in a comparison: names, estimators, objects, functions; errors and interruptions."""

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture

import ewp
from ewp.comparison.methods import METHODS, EstimatorMethod, register
from ewp.datasets import make_simulation2
from ewp.peers import KMeans, WKMeans
from tests.support.comparisons import ALL, Recorder


@pytest.fixture(scope="module")
def data():
    X, labels, _ = make_simulation2(4, n=120, p=8, n_relevant=3, random_state=0)
    return X, labels


def thirds(X, k, start, rng):
    return np.arange(len(X)) % k


def weighted(X, k, start, rng):
    return np.arange(len(X)) % k, np.arange(1.0, X.shape[1] + 1)


def test_functions_objects_and_estimators_are_methods_too(data):
    X, labels = data
    mine = EstimatorMethod("gentle WK-means", WKMeans(beta=20.0), settings={"beta": 20.0})
    found = ewp.compare(X, 4, labels, (thirds, weighted, mine), n_trials=2, scale=None)
    assert found.methods == ["thirds", "weighted", "gentle WK-means"]
    assert found.weights.loc[("weighted", 0)].iloc[-1] == pytest.approx(8 / 36)
    assert found.settings["gentle WK-means"] == {"beta": 20.0}


def test_estimators_are_methods(data):
    X, labels = data
    theirs = SklearnKMeans(n_init=1, tol=0)
    found = ewp.compare(
        X, 4, labels, ("kmeans", theirs, WKMeans(beta=8.0), "wkmeans"), n_trials=3, scale=None
    )
    assert found.methods == ["kmeans", "KMeans", "WKMeans", "wkmeans"]
    values = found.table()["nmi"]
    assert values["KMeans"] == pytest.approx(values["kmeans"])
    np.testing.assert_array_equal(found.weights.loc["WKMeans"], found.weights.loc["wkmeans"])
    assert set(found.weights.index.get_level_values("method")) == {"WKMeans", "wkmeans"}
    alone = ewp.compare(X, 4, labels, KMeans(), n_trials=2, scale=None)
    assert alone.methods == ["KMeans"]
    assert alone.weights.empty


def test_mixtures_and_trees_are_methods_by_name_and_as_estimators(data):
    X, labels = data
    tied = GaussianMixture(covariance_type="tied")
    single = AgglomerativeClustering(linkage="single")
    found = ewp.compare(
        X, 4, labels, ("mixture", tied, "agglomerative", single), n_trials=2, scale=None
    )
    assert found.methods == [
        "mixture",
        "GaussianMixture",
        "agglomerative",
        "AgglomerativeClustering",
    ]
    start = found.starts[1]
    seed = int(np.random.default_rng(_trial_seeds(found, 1)).integers(2**31))
    own = GaussianMixture(4, covariance_type="tied", means_init=start, random_state=seed).fit(X)
    np.testing.assert_array_equal(found.labels["GaussianMixture"].iloc[1], own.predict(X))
    np.testing.assert_array_equal(
        found.labels["agglomerative"].iloc[0], AgglomerativeClustering(4).fit(X).labels_
    )
    assert found.weights.empty
    assert found.settings["mixture"] == {"covariance": "full"}


def _trial_seeds(found, trial):
    """What a trial's random numbers of every method are seeded with."""
    first = int(np.random.default_rng(found.seed).integers(2**31, size=2)[1])
    return [first, trial, 1]


def test_methods_come_in_any_iterable(data):
    X, labels = data
    found = ewp.compare(X, 4, labels, iter(["power", "kmeans"]), n_trials=1, scale=None, lam=1.0)
    assert found.methods == ["power", "kmeans"]


def test_all_methods_are_known_by_their_names():
    assert set(ALL) <= set(METHODS)


def test_a_registered_method_is_known_by_its_name(data, monkeypatch):
    X, labels = data
    monkeypatch.setattr("ewp.comparison.methods.METHODS", dict(METHODS))
    register("recorded")(lambda problem, name: Recorder(name))
    found = ewp.compare(X, 4, labels, ("kmeans", "recorded"), n_trials=1, scale=None)
    assert found.methods == ["kmeans", "recorded"]


def raising(X, k, start, rng):
    raise RuntimeError("out of luck")


def short(X, k, start, rng):
    return np.zeros(3)


def weightless(X, k, start, rng):
    return np.zeros(len(X)), np.zeros(X.shape[1])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"methods": ("kmeans", "dbscan")}, ValueError, "'dbscan' is unknown; choose from kmeans"),
        ({"methods": ()}, ValueError, "methods is empty"),
        ({"methods": ("kmeans", "kmeans")}, ValueError, "two methods are called 'kmeans'"),
        ({"methods": (7,)}, TypeError, "method 7 is neither a name"),
        ({"methods": None}, TypeError, "method None is neither a name"),
        ({"methods": (KMeans,)}, TypeError, "method KMeans is a class"),
        ({"methods": (PCA(),)}, TypeError, "option n_clusters or n_components"),
        ({"methods": (short,)}, ValueError, "'short' returned labels of shape"),
        ({"methods": (weightless,)}, ValueError, "'weightless' returned weights"),
        ({"reference": "ewp"}, ValueError, "reference='ewp'"),
        ({"scale": "best"}, ValueError, "scale='best'"),
        ({"init": "best"}, ValueError, "init='best'"),
        ({"init": np.zeros((2, 4, 8))}, ValueError, "init has shape"),
        ({"init": np.full((1, 4, 8), np.nan)}, ValueError, "init contains NaN"),
        ({"lam": -1.0}, ValueError, "lam=-1.0"),
        ({"wbound": 0.5}, ValueError, "wbound=0.5 must be at least 1"),
        ({"n_trials": 0}, ValueError, "n_trials=0"),
        ({"beta": 1.0}, ValueError, "beta=1.0"),
        ({"y": [1, 2]}, ValueError, r"y has shape \(2,\)"),
        ({"y": [None] + [1] * 119}, ValueError, "missing value in row 0"),
        ({"k": 500}, ValueError, "k=500 exceeds"),
        ({"methods": ("ewp",), "lam": "best"}, ValueError, "lam='best'"),
        ({"methods": ("sparse",), "wbound": "best"}, ValueError, "wbound='best'"),
    ],
)
def test_impossible_comparisons_are_named(data, options, error, message):
    options = {"k": 4, "methods": ("kmeans",), "n_trials": 1, "scale": None, "lam": 1.0} | options
    with pytest.raises(error, match=message):
        ewp.compare(data[0], **options)


def test_an_error_of_a_method_says_whose_it_is(data):
    with pytest.raises(RuntimeError, match="out of luck") as caught:
        ewp.compare(data[0], 4, methods=(raising,), n_trials=1, scale=None)
    assert "method 'raising' in trial 0" in "".join(caught.value.__notes__)


def test_an_interruption_keeps_the_finished_trials(data):
    X, labels = data
    calls = []

    def impatient(X, k, start, rng):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return np.arange(len(X)) % k

    with pytest.warns(UserWarning, match="3 of 9 trials are finished"):
        found = ewp.compare(X, 4, labels, (impatient,), n_trials=9, scale=None)
    assert found.n_trials == 3
    assert not found.complete
    assert "interrupted" in str(found)


def test_a_warning_of_no_clusters_says_whose_selection_found_none():
    X = np.random.default_rng(0).normal(size=(60, 3))
    options = {"n_trials": 1, "random_state": 0}
    with pytest.warns(ewp.NoClustersWarning) as caught:
        ewp.compare(X, 2, methods=("ewp", "ewp-between", ewp.EWP(2)), **options)
    told = [str(one.message).split(":")[0] for one in caught]
    assert told == ["ewp", "ewp-between", "EWP"]
    assert all(": No evidence for more than one cluster" in str(one.message) for one in caught)
    with pytest.warns(ewp.NoClustersWarning, match="^scaling: No evidence"):
        ewp.compare(X, 2, methods=("kmeans",), **options)
