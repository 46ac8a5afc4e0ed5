"""Clusters refined by a mixture: what is found, what is told, what stays as it is."""

from __future__ import annotations

import dataclasses

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import ewp
from ewp.diagnostics import refine as module
from ewp.results.results import EWPResults
from tests.support.results import make_results


def unequal(seed=2, n=240):
    """Clusters of different spread, size and direction, and two features of noise."""
    rng = np.random.default_rng(seed)
    y = np.searchsorted([0.5, 0.85], rng.random(n))
    X = rng.normal(size=(n, 2)) * np.array([[0.4, 0.4], [2.0, 0.5], [0.5, 2.0]])[y]
    X += np.array([[0.0, 0.0], [7.0, 0.0], [0.0, 7.0]])[y]
    table = pd.DataFrame(np.c_[X, rng.normal(size=(n, 2))], columns=list("abcd"))
    return table.set_axis([f"r{i}" for i in range(n)], axis=0), y


def of_labels(X, labels, **fields):
    """Results of a fit whose partition is given."""
    start = ewp.fit(X, int(labels.max()) + 1, lam=len(X) / 5, scale="standard", random_state=0)
    return dataclasses.replace(start, labels=pd.Series(labels, index=start.labels.index), **fields)


@pytest.fixture(scope="module")
def data():
    return unequal()


@pytest.fixture(scope="module")
def results(data):
    return ewp.fit(data[0], 3, lam=48.0, scale="standard", random_state=0)


@pytest.fixture(scope="module")
def found(results):
    return dataclasses.replace(results).refine()


# --- what is found -----------------------------------------------------------------------------


def test_clusters_of_unequal_spread_are_recovered(data, results, found):
    before, after = (
        normalized_mutual_info_score(data[1], labels) for labels in (results.labels, found.labels)
    )
    assert before < 0.93
    assert after >= 0.98
    assert found.refined
    assert found.clearly_better
    assert found.features.tolist() == ["a", "b"]


@pytest.mark.parametrize("seed", range(3))
def test_small_clusters_beside_a_large_one_are_recovered(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [400, 25, 15])
    X = rng.normal(size=(440, 3)) + 6.0 * np.eye(3)[y]
    cut = np.where(y == 0, (X[:, 0] > 6.3) * 1, 2)
    found = of_labels(X, cut).refine()
    assert normalized_mutual_info_score(y, found.labels) >= 0.98


def test_clusters_that_correlation_hides_are_found_from_another_partition():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    root = np.linalg.cholesky(0.1 * np.eye(4) + 0.9)
    X = rng.normal(size=(300, 4)) @ root.T
    X[:, 0] += 2.5 * (y - 1)
    along = np.digitize(X[:, 1:].mean(axis=1), [-0.5, 0.5])
    assert normalized_mutual_info_score(y, along) < 0.1
    found = of_labels(X, along).refine()
    assert normalized_mutual_info_score(y, found.labels) > 0.95
    assert found.covariance == "tied"
    assert found.candidates["start"].iloc[0] != "EWP"


@pytest.mark.parametrize("seed", range(4))
def test_one_cloud_is_not_refined_clearly(seed):
    X = np.random.default_rng(seed).normal(size=(150, 4))
    found = ewp.fit(X, 3, lam=30.0, scale="standard", random_state=0).refine()
    assert found.gain < 0.2
    assert len(np.unique(found.labels)) == 3


def test_binary_columns_are_survived():
    rng = np.random.default_rng(0)
    y = np.arange(160) % 2
    X = (rng.random((160, 8)) < np.where(y[:, None] == 0, 0.15, 0.85)).astype(float)
    found = ewp.fit(X, 2, lam=30.0, scale="standard", random_state=0).refine()
    assert np.isfinite(found.log_likelihood)
    assert found.log_likelihood < 0
    assert normalized_mutual_info_score(y, found.labels) > 0.8


# --- what belongs together ---------------------------------------------------------------------


def test_labels_probabilities_and_predictions_are_one(data, results, found):
    X = data[0]
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(found.labels, found.probabilities.to_numpy().argmax(axis=1))
    pd.testing.assert_series_equal(found.predict(X), found.labels, check_dtype=False)
    pd.testing.assert_frame_equal(found.predict_proba(X), found.probabilities)
    np.testing.assert_array_equal(found.predict(X.to_numpy()[:7]), found.labels[:7])
    assert found.predict_proba(X.to_numpy()[:7]).shape == (7, 3)
    np.testing.assert_allclose(found.uncertainty, 1 - found.probabilities.max(axis=1))
    assert found.labels.index.equals(X.index)
    assert found.proportions.sum() == pytest.approx(1.0)


def test_what_moved_is_counted(results, found):
    moved = found.labels.to_numpy() != results.labels.to_numpy()
    np.testing.assert_array_equal(found.moved, moved)
    assert found.moved_share == pytest.approx(moved.mean())
    counts = found.cross_table
    assert counts.to_numpy().sum() == len(moved)
    assert np.trace(counts) == len(moved) - moved.sum()
    np.testing.assert_array_equal(counts.sum(axis=1), results.clusters["size"])


def test_criteria_follow_from_likelihood_and_memberships(data, found):
    n = len(data[0])
    bic = found.n_parameters * np.log(n) - 2 * found.log_likelihood
    assert found.bic == pytest.approx(bic)
    p = np.clip(found.probabilities.to_numpy(), 1e-300, 1)
    assert found.icl == pytest.approx(bic - 2 * (p * np.log(p)).sum())
    assert found.icl >= found.bic


def test_the_estimates_are_in_the_units_of_the_data(data, found):
    rows = data[0][["a", "b"]].to_numpy()
    for j in range(3):
        own = rows[found.labels == j]
        np.testing.assert_allclose(found.means.loc[j], own.mean(axis=0), atol=0.25)
        ratio = np.diag(found.covariance_matrix(j)) / own.var(axis=0)
        assert (np.abs(np.log(ratio)) < 0.7).all()
    with pytest.raises(ValueError, match="cluster=3 is none of the 3 clusters"):
        found.covariance_matrix(3)


def test_labels_of_the_fit_stay_and_its_summary_tells(data, results):
    own = dataclasses.replace(results)
    labels = own.labels.copy()
    assert "refined partition" not in str(own)
    found = own.refine()
    assert own.refinement_ is found
    pd.testing.assert_series_equal(own.labels, labels)
    told = " ".join(str(own).split())
    assert "The refined partition predicts held-out rows better, by" in told
    found.gain = 0.5 * found.gain_se
    assert "refined partition" not in str(own)


# --- invariances -------------------------------------------------------------------------------


def test_units_of_the_features_do_not_matter(data, results, found):
    factor = np.array([1e3, 0.01, 7.0, 1.0])
    other = ewp.fit(data[0] * factor + 5.0, 3, lam=48.0, scale="standard", random_state=0)
    scaled = other.refine()
    pd.testing.assert_series_equal(scaled.labels, found.labels)
    np.testing.assert_allclose(scaled.probabilities, found.probabilities, atol=1e-5)
    np.testing.assert_allclose(scaled.means, found.means * factor[:2] + 5.0, rtol=1e-5)
    assert scaled.gain == pytest.approx(found.gain, rel=1e-4)
    less = len(data[0]) * np.log(factor[:2]).sum()
    assert scaled.log_likelihood == pytest.approx(found.log_likelihood - less, rel=1e-7)


def test_the_order_of_rows_does_not_matter(data, results, found):
    order = np.random.default_rng(0).permutation(len(data[0]))
    X = data[0].iloc[order]
    other = ewp.fit(X, 3, lam=48.0, scale="standard", random_state=0).refine()
    pd.testing.assert_series_equal(other.labels, found.labels.iloc[order])
    np.testing.assert_allclose(other.probabilities, found.probabilities.iloc[order], atol=1e-5)
    assert other.gain == pytest.approx(found.gain, rel=1e-5)


def test_weights_are_copies(data):
    X = data[0].to_numpy()
    copies = np.random.default_rng(0).integers(0, 4, len(X))
    again = np.repeat(np.arange(len(X)), copies)
    how = {"lam": 0.2 * copies.sum(), "scale": "standard", "random_state": 0}
    weighted = ewp.fit(X, 3, **how, sample_weight=copies).refine()
    repeated = ewp.fit(X[again], 3, **how).refine()
    np.testing.assert_allclose(
        weighted.probabilities.iloc[again], repeated.probabilities, atol=1e-5
    )
    assert weighted.gain == pytest.approx(repeated.gain, rel=1e-4)
    assert weighted.gain_se == pytest.approx(repeated.gain_se, rel=1e-4)
    assert weighted.bic == pytest.approx(repeated.bic, rel=1e-6)
    assert weighted.moved_share == pytest.approx(repeated.moved_share)


# --- other data, files, errors -----------------------------------------------------------------


def test_a_saved_refinement_predicts_as_before(tmp_path, data, results, found):
    own = dataclasses.replace(results, refinement_=found)
    own.save(tmp_path / "fit")
    loaded = EWPResults.load(tmp_path / "fit").refinement_
    for field in dataclasses.fields(found):
        one, two = getattr(found, field.name), getattr(loaded, field.name)
        if isinstance(one, pd.DataFrame):
            pd.testing.assert_frame_equal(one, two, check_names=False)
        elif isinstance(one, pd.Series):
            pd.testing.assert_series_equal(one, two)
        elif isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, two)
        else:
            assert one == two
    np.testing.assert_array_equal(loaded.predict_proba(data[0]), found.predict_proba(data[0]))
    assert str(loaded) == str(found)
    assert repr(loaded) == repr(found)


def test_results_without_data_take_them_as_an_argument(data, results, found):
    bare = dataclasses.replace(results, data=None)
    with pytest.raises(ValueError, match="pass them as X"):
        bare.refine()
    pd.testing.assert_series_equal(bare.refine(X=data[0]).labels, found.labels)


def test_many_rows_are_represented_by_a_sample(monkeypatch, data, results, found):
    monkeypatch.setattr(module, "_MOST_ROWS", 120)
    part = dataclasses.replace(results).refine()
    assert len(part.labels) == len(data[0])
    assert adjusted_rand_score(part.labels, found.labels) > 0.9
    np.testing.assert_allclose(part.probabilities.sum(axis=1), 1.0)


def test_rows_of_a_file_are_refined(tmp_path, data, found):
    np.save(tmp_path / "rows.npy", data[0].to_numpy())
    how = {"lam": 48.0, "scale": "standard", "random_state": 0}
    own = ewp.fit(tmp_path / "rows.npy", 3, **how).refine()
    np.testing.assert_array_equal(own.labels, found.labels)


def test_kinds_of_mixtures_can_be_asked_for(results):
    own = dataclasses.replace(results)
    found = own.refine(covariance="tied", tails="t", proportions="equal", features=["b", "d"])
    assert (found.covariance, found.tails, found.equal_proportions) == ("tied", 5.0, True)
    assert found.features.tolist() == ["b", "d"]
    assert set(found.candidates["covariance"]) == {"tied"}
    assert "a covariance matrix for all" not in str(found)
    assert "equal proportions" in " ".join(str(found).split())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"covariance": "round"}, "covariance='round' is unknown; give one of 'auto', 'spherical'"),
        ({"tails": 5}, "tails=5 is unknown"),
        ({"proportions": "some"}, "proportions='some' is unknown"),
        ({"features": ["a", "z"]}, "'z' given, but the fit has 'a', 'b', 'c', 'd'"),
        ({"features": []}, "none given"),
        ({"sample_weight": [1.0]}, "sample_weight belongs to X"),
    ],
)
def test_options_that_cannot_be_are_refused(results, options, words):
    with pytest.raises(ValueError, match=words):
        results.refine(**options)


def test_one_cluster_cannot_be_refined():
    with pytest.raises(ValueError, match="nothing to refine"):
        make_results(k=1).refine()


def test_large_matrices_are_refused(monkeypatch, results):
    monkeypatch.setattr(module, "_MOST_NUMBERS", 10)
    with pytest.raises(ValueError, match="name fewer features, or give covariance='diagonal'"):
        dataclasses.replace(results).refine(covariance="full")


# --- words and pictures ------------------------------------------------------------------------


def test_the_summary_says_what_was_gained(found):
    text = " ".join(str(found).split())
    assert "The refined clusters predict held-out rows better than EWP's, by" in text
    assert "on 2 of 4 features: a, b." in text
    assert f"BIC {found.bic:.2f}"[:8] in text
    kept = dataclasses.replace(found, refined=False, gain=-0.3, gain_se=0.1)
    assert "by 0.30 (se 0.10) nats per row: it is kept" in " ".join(str(kept).split())
    assert not kept.clearly_better
    open_question = dataclasses.replace(found, gain=0.01, gain_se=0.02)
    assert "do not predict held-out rows clearly better" in " ".join(str(open_question).split())
    stopped = dataclasses.replace(found, converged=False)
    assert "EM stopped before it converged" in str(stopped)


def test_pictures_show_uncertainty_and_ellipses(data, found):
    ax = found.plot()
    points = np.concatenate([line.get_ydata() for line in ax.lines])
    np.testing.assert_allclose(np.sort(points), np.sort(found.uncertainty))
    ax = found.plot(data[0])
    assert ax.get_xlabel() == "a, standardised"
    assert len(ax.lines) == 3
    inside = [
        line.get_path().contains_points(cloud.get_offsets())
        for line, cloud in zip(ax.lines, ax.collections, strict=True)
    ]
    assert 0.8 < np.mean(np.concatenate(inside)) < 0.99
    plt.close("all")
    with pytest.raises(ValueError, match="must be two of the features that take part: 'a', 'b'"):
        found.plot(data[0], features=["a", "c"])


def test_more_features_are_drawn_along_discriminants():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = rng.normal(size=(120, 4)) + 4.0 * np.eye(3, 4)[y] + 3.0 * (y == 1)[:, None]
    found = ewp.fit(X, 3, lam=20.0, scale="standard", random_state=0).refine()
    ax = found.plot(X)
    assert ax.get_xlabel() == "first discriminant direction"
    plt.close("all")
    alone = ewp.fit(X, 3, lam=20.0, scale="standard", random_state=0).refine(features=["x0"])
    with pytest.raises(ValueError, match="one feature takes part"):
        alone.plot(X)
