"""Does a feature help to tell the clusters apart, given the others? Level, power, bookkeeping."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt
from sklearn.datasets import load_wine
from statsmodels.stats.multitest import multipletests

import ewp
from ewp.datasets import make_simulation2
from ewp.diagnostics import feature_tests as module
from ewp.diagnostics.feature_tests import FeatureTests
from ewp.results.results import EWPResults
from tests.support.interruptions import interrupted_from
from tests.support.results import make_results


@pytest.fixture(scope="module")
def data():
    X = make_simulation2(3, n=150, p=7, n_relevant=3, random_state=1).X
    return pd.DataFrame(X, columns=list("abcdefg"))


@pytest.fixture(scope="module")
def results(data):
    return ewp.fit(data, 3, lam=7.5, random_state=0)


@pytest.fixture(scope="module")
def tests(results):
    return results.test_features(random_state=0)


# --- level and power ---------------------------------------------------------------------------


def drawn(design, seed, n=300):
    """Five features: clusters in the first two, or none at all."""
    rng = np.random.default_rng([seed, 9])
    X = rng.normal(size=(n, 5))
    if design == "correlated":
        X = 1.5 * rng.normal(size=(n, 1)) + X
    elif design == "triangle":
        corners = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 12**0.5]])
        X[:, :2] += corners[rng.integers(3, size=n)]
    elif design == "copies":
        X[:, :2] += np.array([[-3.0, 0.0], [3.0, 0.0], [0.0, 27**0.5]])[rng.integers(3, size=n)]
        X[:, 3] = 0.4 * X[:, 1] + X[:, 3]  # tells nothing that the second does not
        X[:, 4] = 0.5 * X[:, 2] + X[:, 4]
    elif design == "square":
        X[:, :2] += 5.0 * rng.integers(2, size=(n, 2))
    return X


def p_values(design, draws, k=3, n=300):
    fits = (
        ewp.fit(drawn(design, seed, n), k, lam=0.2 * n, scale="standard", random_state=0)
        for seed in range(draws)
    )
    return np.array([fit.test_features(random_state=0).table["p_value"] for fit in fits])


@pytest.mark.parametrize("design", ["triangle", "copies"])
def test_features_at_the_corners_of_a_triangle_are_found_and_noise_is_not(design):
    """Neither shows three clusters alone. Noise may follow other noise, or the second feature."""
    p = p_values(design, 8)
    assert (p[:, :2] <= 0.05).mean(axis=0).min() >= 0.8
    assert (p[:, 2:] <= 0.05).mean() <= 0.15
    marginal = [abs(np.corrcoef(drawn(design, seed).T)[1, 3]) for seed in range(8)]
    assert (np.median(marginal) > 0.5) == (design == "copies")


def test_features_of_one_correlated_cloud_are_not_found():
    p = p_values("correlated", 8, n=150)
    assert (p <= 0.05).mean() <= 0.12
    assert np.median(p) > 0.3


def test_clusters_that_one_feature_has_alone_are_found():
    p = p_values("square", 3, k=4)
    assert p[:, :2].max() < 1e-4
    # nine tests of noise
    assert 9 * p[:, 2:].min() > 0.05


def test_features_of_the_clusters_are_found_and_noise_is_not(tests, results):
    table = tests.table
    assert (table["p_value"].iloc[:3] < 1e-3).all()
    assert (table["p_value"].iloc[3:] > 0.01).all()
    assert tests.significant().tolist() == list("abc")
    assert tests.significant(adjust="holm").tolist() == list("abc")
    assert (table["partial_r2"].iloc[:3] > table["partial_r2"].iloc[3:].max()).all()
    np.testing.assert_array_equal(table["weight"], results.weights)
    assert results.feature_tests_ is tests


@pytest.mark.parametrize(("n", "p"), [(60, 90), (150, 60)])
def test_of_many_correlated_features_few_are_found_without_clusters(n, p):
    """More features than a third of the rows: each is regressed on a part of the others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 1)) + rng.normal(size=(n, p))
    results = ewp.fit(X, 3, lam=0.3 * n, scale="standard", random_state=0)
    table = results.test_features(n_groups=8, random_state=0).table
    assert (table["p_value"] <= 0.05).mean() <= 0.13
    assert (table["p_bh"] > 0.05).all()


# --- the words ---------------------------------------------------------------------------------


def test_the_null_hypothesis_is_printed_as_the_null(tests, results):
    words = " ".join(str(tests).split())
    assert "Does the feature help to tell the clusters apart, given the others?" in words
    assert "Null hypothesis of each row: given the other features, this one scatters" in words
    assert "A small p-value speaks against it" in words
    whole = " ".join(str(results).split())
    assert "test that the feature is independent" not in whole
    assert "speaks against the null hypothesis" in whole


# --- the test ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["holm", "fdr_bh"])
def test_p_values_are_adjusted_as_statsmodels_does(method):
    p = np.append(np.random.default_rng(0).random(12) ** 3, [0.02, 0.02, 1.0])
    expected = multipletests(p, method=method)[1]
    np.testing.assert_allclose(module.adjusted(p, method), expected)
    found = module.adjusted(np.insert(p, 4, np.nan), method)
    assert np.isnan(found[4])
    np.testing.assert_allclose(np.delete(found, 4), expected)


def test_a_feature_that_correlated_others_nearly_replace_is_found():
    """Alcohol in the wines: clusters are told by linear discriminant analysis of the others."""
    results = ewp.fit(load_wine().data, 3, lam=712.0, scale="standard", random_state=0)
    table = results.test_features(random_state=0).table
    assert table["p_value"].iloc[0] <= 0.03
    assert table["p_means"].iloc[0] <= 0.02


def test_the_parts_are_joined_by_bonferroni(tests):
    table = tests.table
    parts = table["p_means"] / 0.6, table["p_spreads"] / 0.3, table["p_modes"] / 0.1
    np.testing.assert_allclose(table["p_value"], np.minimum(np.minimum.reduce(parts), 1.0))


def test_the_clusters_have_not_seen_the_features_tested(data, results, monkeypatch):
    fit_array, seen = module.fit_array, []

    def record(X, *arguments):
        seen.append(X)
        return fit_array(X, *arguments)

    monkeypatch.setattr(module, "fit_array", record)
    results.test_features(random_state=0)
    assert len(seen) == 7
    left_out = []
    for X in seen:
        missing = [name for name in data if not (data[name].to_numpy() == X.T).all(axis=1).any()]
        assert len(missing) == 1
        left_out += missing
    assert sorted(left_out) == list("abcdefg")


def test_permuting_the_features_permutes_the_p_values(data, tests):
    order = list("gcfaebd")
    shuffled = ewp.fit(data[order], 3, lam=7.5, random_state=0).test_features(random_state=0)
    pd.testing.assert_series_equal(
        shuffled.table["p_value"].sort_index(), tests.table["p_value"].sort_index()
    )


@pytest.mark.parametrize(
    "options", [{"scale": "standard"}, {"dispersion": "between"}, {"init": "array"}]
)
def test_other_forms_of_the_weights_are_tested_too(data, options):
    X = data.to_numpy() * np.r_[np.full(3, 10.0), np.ones(4)]
    lam = 50.0 if "scale" in options else 3000.0
    if "init" in options:
        options = {"init": X[:3]}
    tests = ewp.fit(X, 3, lam=lam, random_state=0, **options).test_features(random_state=0)
    assert (tests.table["p_value"].iloc[:3] < 0.01).all()


def test_p_values_are_adjusted_by_holm_and_by_benjamini_and_hochberg(tests):
    p = tests.table["p_value"].to_numpy()
    for column, method in (("p_holm", "holm"), ("p_bh", "fdr_bh")):
        np.testing.assert_allclose(tests.table[column], multipletests(p, method=method)[1])
    order = np.argsort(p)
    holm = np.minimum(np.maximum.accumulate(p[order] * np.arange(7, 0, -1)), 1.0)
    np.testing.assert_allclose(tests.table["p_holm"].to_numpy()[order], holm)


def test_many_features_are_left_out_in_groups(data):
    X = np.hstack([data, np.random.default_rng(0).normal(size=(150, 30))])
    tests = ewp.fit(X, 3, lam=7.5, random_state=0).test_features(n_groups=4, random_state=0)
    assert tests.n_groups == 4
    assert tests.table["p_value"].notna().all()
    assert (tests.table["p_value"].iloc[:3] < 0.01).all()


def test_features_without_prior_weight_are_not_tested(data):
    prior = [1.0, 1, 1, 0, 1, 1, 1]
    results = ewp.fit(data, 3, lam=7.5, prior=prior, random_state=0)
    table = results.test_features(random_state=0).table
    assert table.index[table["p_value"].isna()].tolist() == ["d"]
    assert table["p_bh"].isna().sum() == 1


def test_what_cannot_be_tested_is_refused_or_missing():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match="one cluster"):
        ewp.fit(X, 1, lam=5.0).test_features()
    with pytest.raises(ValueError, match="a single feature"):
        ewp.fit(X[:, :1], 2, lam=5.0).test_features()
    coarse = np.column_stack([X[:, 0], np.arange(30) % 2])
    table = ewp.fit(coarse, 4, lam=5.0, random_state=0).test_features(random_state=0).table
    assert table["p_value"].isna().tolist() == [True, False]  # the other has two values only


def test_weights_of_the_rows_count(data):
    weight = np.random.default_rng(0).uniform(0.5, 1.5, 150)
    weight[:20] = 0
    results = ewp.fit(data, 3, lam=7.5, sample_weight=weight, random_state=0)
    assert results.test_features(random_state=0).significant().tolist() == list("abc")


# --- running -----------------------------------------------------------------------------------


def test_the_outcome_does_not_depend_on_the_number_of_processes(results, tests):
    two = results.test_features(random_state=0, n_jobs=2)
    pd.testing.assert_frame_equal(two.table, tests.table)


def test_an_interruption_keeps_what_is_finished(data, monkeypatch):
    results = ewp.fit(data, 3, lam=7.5, random_state=0)
    monkeypatch.setattr(module, "_test_group", interrupted_from(3, module._test_group))
    with pytest.warns(UserWarning, match="2 of 7 groups of features are finished"):
        found = results.test_features(random_state=0)
    assert found.table["p_value"].notna().sum() == 2
    assert not found.complete
    assert "INTERRUPTED" in str(found)


def test_results_survive_a_file_and_are_in_the_summary(results, tests, tmp_path):
    assert "p (Holm)" in str(results)
    results.save(tmp_path / "fit")
    loaded = EWPResults.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(loaded.feature_tests_.table, tests.table)
    assert str(loaded) == str(results)
    with pytest.raises(ValueError, match="pass them as X"):
        loaded.test_features()


@pytest.mark.parametrize(("p", "shown"), [(5, 5), (4434, 20)])
def test_the_picture_shows_the_heaviest_features(p, shown):
    rng = np.random.default_rng(0)
    weights = make_results(p=p).weights
    p_value = np.where(np.arange(p) < 30, 0.001, rng.uniform(size=p))
    adjusted = multipletests(p_value, method="fdr_bh")[1]
    table = pd.DataFrame({"weight": weights, "partial_r2": 0.1, "p_value": p_value})
    for name in ("p_means", "p_spreads", "p_modes"):
        table[name] = p_value
    table["p_holm"] = table["p_bh"] = adjusted
    found = FeatureTests(table, 20, True)
    ax = found.plot()
    left = ax.figure.axes[0]
    assert len(left.get_yticks()) == shown
    assert len(ax.figure.axes) == 2
    drawn = np.concatenate([line.get_xdata() for line in ax.lines[:2]])
    heaviest = table.sort_values("weight", ascending=False, kind="stable").head(shown)
    np.testing.assert_allclose(np.sort(drawn), np.sort(heaviest["p_value"]))
    assert ("4414 more features" in ax.get_xlabel()) == (p == 4434)
    assert f"{(adjusted <= 0.05).sum()} of {p} significant" in ax.get_xlabel()
    ax.figure.canvas.draw()
    assert len(str(found).splitlines()) < 35
    plt.close("all")


def test_tiny_p_values_are_drawn_and_printed_at_a_bound():
    table = pd.DataFrame({"weight": [0.6, 0.4], "partial_r2": 0.1, "p_value": [0.0, np.nan]})
    for name in ("p_means", "p_spreads", "p_modes", "p_holm", "p_bh"):
        table[name] = table["p_value"]
    found = FeatureTests(table, 2, True)
    assert "<1e-10" in str(found)
    assert "--" in str(found)
    ax = found.plot()
    ax.figure.canvas.draw()
    np.testing.assert_allclose(ax.lines[0].get_xdata(), 1e-10)
    plt.close("all")
