"""Fits to decorrelated features: what is found, in which units it is told, and that it is one."""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

import ewp
from ewp import EWP, EWPResults
from ewp.diagnostics.refit import fitted_data
from ewp.report.fit import describe_fit
from tests.support.results import assert_identical


def in_correlated_noise(n=300, p=30, rho=0.8, shift=2.0, seed=0):
    """Three groups in three features, each among neighbours that are correlated with it."""
    rng = np.random.default_rng(seed)
    lag = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    X = rng.multivariate_normal(np.zeros(p), rho**lag, n)
    labels = np.arange(n) % 3
    own = np.linspace(0, p - 1, 5).astype(int)[1:4]
    X[:, own] += shift * np.eye(3)[labels]
    return X, labels, own


@pytest.fixture(scope="module")
def small():
    return in_correlated_noise(120, 8, shift=2.5)


@pytest.fixture(scope="module")
def model(small):
    return EWP(3, lam=120.0, scale="decorrelate", n_init=5, random_state=0).fit(small[0])


@pytest.mark.parametrize("seed", range(3))
def test_clusters_that_correlated_noise_hides_are_found(seed):
    X, labels, own = in_correlated_noise(seed=seed)
    options = {"n_init": 10, "random_state": 0}
    hidden = ewp.fit(X, 3, len(X), scale="standard", **options)
    seen = ewp.fit(X, 3, len(X), scale="decorrelate", **options)
    assert adjusted_rand_score(labels, hidden.labels) < 0.1
    assert adjusted_rand_score(labels, seen.labels) > 0.9
    assert set(np.argsort(seen.weights.to_numpy())[-3:]) == set(own)


def test_labels_are_predictions(small, model):
    X, _, _ = small
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    results = model.results_
    np.testing.assert_array_equal(model.labels_, results.predict(X))
    np.testing.assert_array_equal(model.transform(X).argmin(axis=1), model.labels_)
    np.testing.assert_allclose(results.transform(X), model.transform(X))
    appended = results.augment()
    np.testing.assert_array_equal(appended[".cluster"], model.labels_)
    np.testing.assert_allclose(appended[".distance"], model.transform(X).min(axis=1))
    np.testing.assert_array_equal(appended.iloc[:, :-2], X)


def test_centroids_are_means_of_the_data(small, model):
    X, _, _ = small
    means = np.array([X[model.labels_ == j].mean(axis=0) for j in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-8)
    np.testing.assert_allclose(model.results_.center, X.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(model.results_.spread, X.std(axis=0))


def test_a_fit_to_the_uncorrelated_columns_is_the_same(small, model):
    X, _, _ = small
    columns = model.results_.decorrelation.apply(X)
    plain = EWP(3, lam=120.0, scale=None, n_init=5, random_state=0).fit(columns)
    np.testing.assert_array_equal(plain.labels_, model.labels_)
    np.testing.assert_allclose(plain.feature_weights_, model.feature_weights_, rtol=1e-9)
    assert plain.objective_ == pytest.approx(model.objective_)
    assert plain.score(columns) == pytest.approx(model.score(X))
    np.testing.assert_allclose(plain.transform(columns), model.transform(X), rtol=1e-7)


def test_units_do_not_matter(small, model):
    X, _, _ = small
    units = 10.0 ** np.linspace(-3, 3, X.shape[1])
    other = clone(model).fit(X * units + 1.0)
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_allclose(other.feature_weights_, model.feature_weights_, rtol=1e-6)
    np.testing.assert_allclose(other.cluster_centers_, model.cluster_centers_ * units + 1.0)


def test_starting_centroids_are_in_data_units(small, model):
    X, _, _ = small
    again = EWP(
        3, lam=120.0, scale="decorrelate", init=model.cluster_centers_, s0=-np.inf, polish=False
    ).fit(X)
    assert again.n_iter_ <= 3
    np.testing.assert_array_equal(again.labels_, model.labels_)
    with pytest.raises(ValueError, match="give centroids among them"):
        EWP(3, lam=120.0, scale="decorrelate", init=model.cluster_centers_ + 1e12).fit(X)


def test_memory_files_blocks_and_dask_are_one_fit(small, model, tmp_path):
    X, _, _ = small
    np.save(tmp_path / "rows.npy", X)
    blocks = da.from_array(X, chunks=(50, 8))
    for source in (tmp_path / "rows.npy", lambda: iter([X[:70], X[70:]]), blocks):
        other = clone(model).fit(source)
        np.testing.assert_array_equal(np.asarray(other.labels_), model.labels_)
        np.testing.assert_allclose(other.feature_weights_, model.feature_weights_, rtol=1e-10)
        np.testing.assert_allclose(other.cluster_centers_, model.cluster_centers_, atol=1e-10)
        np.testing.assert_array_equal(np.asarray(other.predict(source)), model.labels_)
        np.testing.assert_allclose(
            np.asarray(other.transform(source)), model.transform(X), atol=1e-9
        )
        assert other.score(source) == pytest.approx(model.score(X))


def test_weights_count_as_copies(small):
    X, _, _ = small
    count = np.random.default_rng(0).integers(0, 3, len(X))
    options = {"lam": float(count.sum()), "scale": "decorrelate", "n_init": 5, "random_state": 0}
    weighted = EWP(3, **options).fit(X, sample_weight=count)
    copied = EWP(3, **options).fit(np.repeat(X, count, axis=0))
    np.testing.assert_array_equal(np.repeat(weighted.labels_, count), copied.labels_)
    np.testing.assert_allclose(weighted.feature_weights_, copied.feature_weights_, rtol=1e-6)


def test_excluded_and_constant_features_have_no_part(small):
    X, _, _ = small
    options = {"lam": 120.0, "scale": "decorrelate", "n_init": 5, "random_state": 0}
    narrow = EWP(3, **options).fit(X)
    alike = X[:, 0] + 0.01 * np.arange(len(X))
    excluded = EWP(3, prior=np.r_[np.ones(8), 0.0], **options).fit(np.c_[X, alike])
    constant = EWP(3, **options).fit(np.c_[X, np.full(len(X), 0.1)])
    for wider in (excluded, constant):
        np.testing.assert_array_equal(wider.labels_, narrow.labels_)
        np.testing.assert_allclose(wider.feature_weights_[:8], narrow.feature_weights_, rtol=1e-6)
        assert wider.feature_weights_[8] == 0


def test_the_share_of_shrinkage_can_be_given(small):
    X, _, _ = small
    quarter = ewp.fit(X, 3, 120.0, scale="decorrelate:0.25", n_init=3, random_state=0)
    assert quarter.decorrelation.shrinkage == 0.25
    assert quarter.scaling == "decorrelate:0.25"
    whole = ewp.fit(X, 3, 120.0, scale="decorrelate:1", n_init=3, random_state=0)
    standard = ewp.fit(X, 3, 120.0, scale="standard", n_init=3, random_state=0)
    np.testing.assert_array_equal(whole.labels, standard.labels)
    np.testing.assert_allclose(whole.weights, standard.weights, rtol=1e-9)
    with pytest.raises(ValueError, match="no share by which correlations are shrunk"):
        ewp.fit(X, 3, 120.0, scale="decorrelate:2")


def test_more_features_than_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 60)) @ rng.standard_normal((60, 300))
    labels = np.arange(40) % 2
    X[:, :40] += 25.0 * labels[:, None]
    found = ewp.fit(X, 2, 40.0, scale="decorrelate", random_state=0)
    assert found.decorrelation.axes.shape[1] < 40
    assert adjusted_rand_score(labels, found.labels) == 1.0
    np.testing.assert_array_equal(found.predict(X), found.labels)


def test_saved_results_predict_and_tell_the_same(small, model, tmp_path):
    X, _, _ = small
    model.results_.save(tmp_path / "fit.npz")
    loaded = EWPResults.load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)
    np.testing.assert_array_equal(loaded.transform(X), model.results_.transform(X))
    assert loaded.scaling == "decorrelate"
    assert str(loaded.summary()) == str(model.results_.summary())


def test_the_summary_says_what_a_weight_means(model):
    told = " ".join(str(model.results_.summary()).split())
    assert "that of the part of it which the other features do not explain" in told
    assert f"shrunk by {model.results_.decorrelation.shrinkage:.2g}" in told
    assert "Centroids are in the units of the data" in told


def test_the_page_says_what_sets_the_clusters_apart(small, model, tmp_path):
    X, _, own = small
    model.results_.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "of the parts that the other features do not explain" in page
    assert "decorrelated features" in page
    apart = [
        item["feature"] for one in describe_fit(model.results_)["clusters"] for item in one["apart"]
    ]
    assert {f"x{j}" for j in own} <= set(apart)
    plain = ewp.fit(X, 3, 120.0, scale="standard", n_init=1, random_state=0)
    plain.report(tmp_path / "plain.html")
    assert "of the parts" not in (tmp_path / "plain.html").read_text()


def test_rows_are_drawn_as_the_fit_sees_them_and_named_features_as_they_are(small):
    sharp = ewp.fit(small[0], 3, 3.0, scale="decorrelate", n_init=5, random_state=0)
    heaviest = sharp.weights.idxmax()
    seen = sharp.plot_clusters()
    assert seen.get_xlabel() == f"{heaviest}, decorrelated"
    measured = sharp.plot_clusters(features=[heaviest])
    assert measured.get_xlabel() == heaviest
    columns = sharp.decorrelation.apply(small[0])[:, sharp.feature_names.get_loc(heaviest)]
    for ax, values in ((seen, columns), (measured, small[0][:, int(heaviest[1:])])):
        low, high = ax.get_xlim()
        assert low < values.min() < values.max() < high
        assert high - low < 1.5 * np.ptp(values)
    plt.close("all")


def test_refits_go_on_from_the_partition(small, model):
    X, _, _ = small
    again = model.results_.refit(lam=100.0)
    assert again.scaling == "decorrelate"
    assert again.lam == 100.0
    np.testing.assert_array_equal(again.labels, model.labels_)
    raw = model.results_.refit(scale="standard")
    assert raw.decorrelation is None
    assert eval(model.results_.call, {"ewp": ewp, "X": X, "np": np}).objective == model.objective_


def test_the_answer_is_the_same_for_any_number_of_processes(small):
    X, _, _ = small
    options = {"scale": "decorrelate", "cv": 3, "n_lams": 4, "random_state": 0}
    one, two = (ewp.select_lambda(X, 3, n_jobs=jobs, **options) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one.table, two.table, check_exact=True)
    assert set(one.table["scaling"]) == {"decorrelate"}
    assert_identical(two.results, one.results)


def test_resamples_are_fitted_in_the_columns_of_the_fit(small, model):
    X, _, own = small
    results = model.results_
    found = results.bootstrap(40, n_jackknife=0, random_state=0)
    table = found.weight_intervals(method="percentile")
    assert ((table["lower"] <= table["weight"]) & (table["weight"] <= table["upper"])).all()
    spread = found.centroid_intervals(method="percentile")
    # centroids in data units, with errors of means of some forty rows
    np.testing.assert_allclose(spread["centroid"], results.centroids.to_numpy().ravel())
    assert spread["se"].between(0.03, 0.6).all()
    assert results.stability(20, random_state=0).clusters["jaccard"].min() > 0.8
    significant = results.test_features(random_state=0).significant()
    # neighbours share the noise of a feature that differs: given it, they tell clusters apart too
    assert set(significant) >= {f"x{j}" for j in own}
    settled = results.consistency([40, 60, 90], n_rep=4, random_state=0)
    assert settled.replicates["ari"].mean() > 0.5
    # rows that are handed over again are recognised
    assert results.stability(5, X=X, random_state=0).jaccard.shape == (5, 3)


def test_rows_of_a_fit_are_its_columns_or_the_data(small, model):
    X, _, _ = small
    columns, given = (fitted_data(model.results_, as_given=one) for one in (False, True))
    np.testing.assert_array_equal(given.X, X)
    np.testing.assert_allclose(columns.to_data_units(columns.X), X, atol=1e-9)
    np.testing.assert_allclose(columns.to_data_units(columns.centroids), given.centroids)
    np.testing.assert_allclose(columns.to_columns(given.centroids), columns.centroids)


def test_methods_are_compared_on_uncorrelated_columns():
    X, labels, _ = in_correlated_noise(150, 10, shift=2.5)
    options = {"n_trials": 3, "random_state": 0}
    methods = ("kmeans", "ewp")
    raw = ewp.compare(X, 3, labels, methods, scale="standard", lam=150.0, **options)
    found = ewp.compare(X, 3, labels, methods, scale="decorrelate", lam=150.0, **options)
    assert (found.table()["nmi"] > raw.table()["nmi"]).all()
    assert found.scaling == "decorrelate"
    assert "decorrelated" in str(found)
    # all start from the same rows of the data
    near = np.abs(found.starts[:, :, None, :] - X).max(axis=-1).min(axis=-1)
    np.testing.assert_allclose(near, 0, atol=1e-9)
    chosen = ewp.compare(X, 3, labels, ("ewp",), scale="decorrelate", n_trials=1, random_state=0)
    assert chosen.scaling == "decorrelate"


def test_scikit_learn_accepts_the_estimator():
    check_estimator(EWP(scale="decorrelate", lam=10.0, n_init=1))
