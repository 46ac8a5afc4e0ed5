"""Results of fits with weights for every cluster: tables, files, pictures, questions, refusals."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import ewp
from ewp.datasets import make_subspaces

LAM = 15.0


@pytest.fixture(scope="module")
def data():
    X, _, _ = make_subspaces(3, 150, 8, 3, random_state=0)
    return pd.DataFrame(X, columns=list("abcdefgh"))


@pytest.fixture(scope="module")
def fitted(data):
    return ewp.fit(data, 3, lam=LAM, scale="standard", weights="cluster", random_state=0)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_weights_are_one_row_per_cluster(fitted, data):
    assert isinstance(fitted.weights, pd.DataFrame)
    assert fitted.weights.index.equals(fitted.centroids.index)
    assert fitted.weights.columns.equals(data.columns)
    np.testing.assert_allclose(fitted.weights.sum(axis=1), 1.0)
    assert fitted.feature_names.equals(data.columns)
    assert fitted.n_features == 8
    share = fitted.clusters["mass"] / fitted.clusters["mass"].sum()
    np.testing.assert_allclose(fitted.mean_weights, share.to_numpy() @ fitted.weights.to_numpy())


def test_the_objective_is_what_the_tables_say(fitted, data):
    mass, p, n = fitted.clusters["mass"], 8, len(data)
    paid = float(mass @ fitted.clusters["price"])
    assert fitted.objective == pytest.approx(fitted.tot_withinss + paid - LAM * np.log(p))
    w = fitted.weights.to_numpy()
    entropy = np.where(w > 0, w * np.log(np.maximum(w, 1e-300) * p), 0.0).sum(axis=1)
    np.testing.assert_allclose(fitted.clusters["price"], LAM / n * entropy, rtol=1e-8)
    z = (data - fitted.center) / fitted.scale
    total = sum(
        w[j] @ z[fitted.labels == j].to_numpy().T ** 2 @ np.ones(m)
        for j, m in enumerate(fitted.clusters["size"])
    )
    assert fitted.totss == pytest.approx(total)
    assert 0 < fitted.betweenss < fitted.totss


def test_predictions_are_the_labels_at_every_door(fitted, data, tmp_path):
    assert (fitted.predict(data) == fitted.labels).all()
    assert (fitted.predict(data[list("hgfedcba")]) == fitted.labels).all()
    assert (fitted.transform(data).to_numpy().argmin(axis=1) == fitted.labels).all()
    augmented = fitted.augment()
    assert (augmented[".cluster"] == fitted.labels).all()
    squared = (augmented[".distance"] ** 2).groupby(fitted.labels).sum()
    paid = fitted.clusters["withinss"] + fitted.clusters["mass"] * fitted.clusters["price"]
    np.testing.assert_allclose(squared, paid)
    assert (fitted.predict(csr_matrix(data.to_numpy())) == fitted.labels.to_numpy()).all()
    model = ewp.EWP(3, lam=LAM, scale="standard", weights="cluster", random_state=0).fit(data)
    assert model.feature_weights_.shape == (3, 8)
    assert (model.labels_ == fitted.labels).all()
    np.save(tmp_path / "rows.npy", data.to_numpy())
    plain = ewp.EWP(3, lam=LAM, scale="standard", weights="cluster", random_state=0)
    plain.fit(data.to_numpy())
    assert (plain.predict(tmp_path / "rows.npy") == fitted.labels).all()


def test_lazy_rows_are_predicted_block_by_block(data):
    dask = pytest.importorskip("dask.array")
    X = data.to_numpy()
    model = ewp.EWP(3, lam=LAM, scale="standard", weights="cluster", random_state=0).fit(X)
    blocks = dask.from_array(X, chunks=(40, 8))
    assert (model.predict(blocks).compute() == model.labels_).all()
    np.testing.assert_allclose(model.transform(blocks).compute(), model.transform(X))


def test_files_hold_weights_of_every_cluster(fitted, data, tmp_path):
    fitted.save(tmp_path / "fit.npz")
    again = ewp.EWPResults.load(tmp_path / "fit.npz")
    pd.testing.assert_frame_equal(again.weights, fitted.weights)
    assert again.fit_options.weights == "cluster"
    assert (again.predict(data) == fitted.labels).all()
    assert str(again.summary()) == str(fitted.summary())


def test_files_of_common_weights_have_the_format_of_before(data, tmp_path):
    ewp.fit(data, 3, lam=LAM, random_state=0).save(tmp_path / "fit.npz")
    with np.load(tmp_path / "fit.npz") as archive:
        assert b'"format_version": 1' in archive["header"].tobytes()


def test_the_call_gives_the_fit_again(fitted, data):
    again = eval(fitted.call, {"ewp": ewp, "X": data})
    assert again.objective == fitted.objective
    assert (again.labels == fitted.labels).all()


def test_the_same_for_any_number_of_processes(fitted, data):
    again = ewp.fit(data, 3, lam=LAM, scale="standard", weights="cluster", random_state=0, n_jobs=2)
    assert again.objective == fitted.objective
    assert again.weights.equals(fitted.weights)


def test_summary_and_page_tell_whose_weights_they_are(fitted, tmp_path):
    text = str(fitted.summary())
    heaviest = fitted.weights.loc[0].idxmax()
    assert "of every cluster" in text
    assert f"{heaviest} {fitted.weights.loc[0, heaviest]:.2f}" in text
    fitted.report(tmp_path / "page.html")
    assert "weights of every cluster" in (tmp_path / "page.html").read_text()
    assert "weights of every cluster" in repr(fitted)


def test_the_picture_of_the_weights_has_a_column_a_cluster(fitted):
    ax = fitted.plot_weights(top=5)
    assert len(ax.get_yticklabels()) == 5
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2"]


@pytest.mark.parametrize(
    "name",
    ["plot_trace", "plot_clusters", "plot_heatmap", "plot_parallel", "plot_silhouettes",
     "plot_pairs", "plot_biplot", "tidy", "glance"],
)  # fmt: skip
def test_other_pictures_and_tables_work(fitted, name):
    assert getattr(fitted, name)() is not None


def test_questions_about_partitions_are_answered(fitted, data):
    common = fitted.refit(weights="common")
    assert isinstance(common.weights, pd.Series)
    assert common.refit(weights="cluster").objective <= common.objective
    assert fitted.compare_to(fitted).ari == 1.0
    assert len(common.compare_to(fitted).weights) == 8
    assert fitted.stability(4, random_state=0).clusters["jaccard"].min() > 0.9
    assert len(fitted.profile().table)
    assert fitted.refine().labels is not None


@pytest.mark.parametrize("question", ["consistency", "test_features", "test_differences"])
def test_questions_about_one_set_of_weights_are_refused(fitted, question):
    pairs = (0, 1) if question == "test_differences" else ()
    with pytest.raises(ValueError, match=r'results\.refit\(weights="common"\)'):
        getattr(fitted, question)(*pairs)


def test_data_that_cannot_be_fitted_are_refused_with_a_cure(data):
    X = data.to_numpy()
    holes = X.copy()
    holes[3, 2] = np.nan
    own = {"lam": LAM, "weights": "cluster", "random_state": 0}
    with pytest.raises(ValueError, match="fill or drop them"):
        ewp.fit(holes, 3, missing="observed", **own)
    with pytest.raises(ValueError, match=r"X\.toarray\(\)"):
        ewp.fit(csr_matrix(X), 3, **own)
    with pytest.raises(ValueError, match="robust=None"):
        ewp.fit(X, 3, robust="trim", **own)
    with pytest.raises(ValueError, match="needs rows in memory"):
        ewp.fit(lambda: iter([X]), 3, **own)
    with pytest.raises(ValueError, match="give neither divergence nor offset"):
        ewp.fit(np.round(X - X.min()), 3, divergence="poisson", **own)
    with pytest.raises(ValueError, match="weights='own' is unknown"):
        ewp.fit(X, 3, lam=LAM, weights="own")
    with pytest.raises(ValueError, match='criterion="predictive"'):
        ewp.select_lambda(X, 3, weights="cluster", criterion="gap")
    complete = ewp.fit(X, 3, missing="observed", **own)
    with pytest.raises(ValueError, match="need all values of a row"):
        complete.predict(holes)


def test_auto_means_common_where_nothing_is_chosen_or_possible(data):
    assert ewp.fit(data, 3, lam=LAM, weights="auto").fit_options.weights == "common"
    sparse = ewp.fit(csr_matrix(data.to_numpy()), 3, weights="auto", random_state=0)
    assert sparse.fit_options.weights == "common"
