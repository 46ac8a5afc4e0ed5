"""Permutation tests of features: exact where they claim it, blind where they say so."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt
from statsmodels.stats.multitest import multipletests

import ewp
from ewp.datasets import make_simulation2
from ewp.diagnostics import feature_tests as module
from ewp.diagnostics.feature_tests import FeatureTests, permuted_dispersions
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
    return results.test_features(199, random_state=0)


# --- dispersions -------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_dispersions_are_sums_of_squares_about_the_clusters_means(weighted):
    rng = np.random.default_rng(0)
    Z, labels = rng.normal(size=(40, 3)), rng.integers(2, size=40) * 2  # cluster 1 is empty
    mass = rng.uniform(0.5, 2, 40) if weighted else None
    a = np.ones(40) if mass is None else mass
    within, total = permuted_dispersions(Z, labels, mass, 5, 0)
    assert within.shape == total.shape == (6, 3)
    expected = np.zeros(3)
    for j in (0, 2):
        rows = labels == j
        mean = a[rows] @ Z[rows] / a[rows].sum()
        expected += a[rows] @ (Z[rows] - mean) ** 2
    np.testing.assert_allclose(within[0], expected)
    np.testing.assert_allclose(total[0], a @ (Z - a @ Z / a.sum()) ** 2)
    if not weighted:
        np.testing.assert_allclose(total, np.tile(total[0], (6, 1)))


def test_permutations_are_the_same_for_columns_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    Z, labels = rng.normal(size=(30, 8)), rng.integers(3, size=30)
    whole = permuted_dispersions(Z, labels, None, 6, 1)
    monkeypatch.setattr(module, "_TOGETHER", 90)
    np.testing.assert_allclose(permuted_dispersions(Z, labels, None, 6, 1), whole)


# --- the test ----------------------------------------------------------------------------------


def test_features_of_the_clusters_are_found_and_noise_is_not(tests, results):
    table = tests.table
    assert (table["p_value"].iloc[:3] == 1 / 200).all()
    assert (table["p_value"].iloc[3:] > 0.01).all()
    assert tests.significant().tolist() == list("abc")
    assert tests.significant(adjust="holm").tolist() == list("abc")
    assert (table["earned"].iloc[:3] > table["permuted"].iloc[:3]).all()
    np.testing.assert_array_equal(table["weight"], results.weights)
    assert results.feature_tests_ is tests


def test_the_clusters_have_not_seen_the_features_tested(data, results, monkeypatch):
    fit_array, seen = module.fit_array, []

    def record(X, *arguments):
        seen.append(X)
        return fit_array(X, *arguments)

    monkeypatch.setattr(module, "fit_array", record)
    results.test_features(9, random_state=0)
    assert len(seen) == 7
    left_out = []
    for X in seen:
        missing = [name for name in data if not (data[name].to_numpy() == X.T).all(axis=1).any()]
        assert len(missing) == 1
        left_out += missing
    assert sorted(left_out) == list("abcdefg")


def test_the_p_value_of_noise_is_uniform():
    """The same noise in any order of its rows: ranks among permutations are all equally likely."""
    rng = np.random.default_rng(3)
    Z = rng.exponential(size=(25, 400))
    labels = rng.integers(3, size=25)
    within, _ = permuted_dispersions(Z - Z.mean(axis=0), labels, None, 19, 0)
    p = (1 + (within[1:] <= within[0]).sum(axis=0)) / 20
    assert 0.02 <= np.mean(p <= 0.05) <= 0.09
    assert 0.42 <= np.mean(p <= 0.5) <= 0.58


def test_permuting_the_features_permutes_the_p_values(data, tests):
    order = list("gcfaebd")
    shuffled = ewp.fit(data[order], 3, lam=7.5, random_state=0).test_features(199, random_state=0)
    pd.testing.assert_series_equal(
        shuffled.table["p_value"].sort_index(), tests.table["p_value"].sort_index()
    )


def test_clusters_that_one_feature_has_alone_are_not_told_from_noise():
    """As the documentation says: a permutation leaves them as they are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    X[:, 0] = 20.0 * rng.integers(2, size=120) + X[:, 0]
    tests = ewp.fit(X, 2, lam=300.0, dispersion="between", random_state=0).test_features(
        99, random_state=0
    )
    assert tests.table["weight"].iloc[0] > 0.99
    assert tests.table["p_value"].iloc[0] > 0.05


@pytest.mark.parametrize(
    "options", [{"scale": "standard"}, {"dispersion": "between"}, {"init": "array"}]
)
def test_other_forms_of_the_weights_are_tested_too(data, options):
    X = data.to_numpy() * np.r_[np.full(3, 10.0), np.ones(4)]
    lam = 50.0 if "scale" in options else 3000.0
    if "init" in options:
        options = {"init": X[:3]}
    tests = ewp.fit(X, 3, lam=lam, random_state=0, **options).test_features(99, random_state=0)
    assert (tests.table["p_value"].iloc[:3] == 0.01).all()


def test_p_values_are_adjusted_by_holm_and_by_benjamini_and_hochberg(tests):
    p = tests.table["p_value"].to_numpy()
    for column, method in (("p_holm", "holm"), ("p_bh", "fdr_bh")):
        np.testing.assert_allclose(tests.table[column], multipletests(p, method=method)[1])
    order = np.argsort(p)
    holm = np.minimum(np.maximum.accumulate(p[order] * np.arange(7, 0, -1)), 1.0)
    np.testing.assert_allclose(tests.table["p_holm"].to_numpy()[order], holm)


def test_many_features_are_left_out_in_groups(data):
    X = np.hstack([data, np.random.default_rng(0).normal(size=(150, 30))])
    tests = ewp.fit(X, 3, lam=7.5, random_state=0).test_features(99, n_groups=4, random_state=0)
    assert tests.n_groups == 4
    assert tests.table["p_value"].notna().all()
    assert (tests.table["p_value"].iloc[:3] == 0.01).all()


def test_by_default_permutations_let_adjusted_p_values_be_small(data):
    X = np.hstack([data, np.random.default_rng(0).normal(size=(150, 33))])
    tests = ewp.fit(X, 3, lam=7.5, random_state=0).test_features(n_groups=4, random_state=0)
    assert tests.n_perm == 1599
    assert (tests.table["p_holm"].iloc[:3] == 0.025).all()
    assert "cannot reach" not in str(tests)


def test_too_few_permutations_for_holm_are_told(data):
    X = np.hstack([data, np.random.default_rng(0).normal(size=(150, 33))])
    tests = ewp.fit(X, 3, lam=7.5, random_state=0).test_features(99, n_groups=2, random_state=0)
    assert tests.significant(adjust="holm").empty
    assert "cannot reach 0.05 with so few permutations; n_perm=1599" in " ".join(str(tests).split())


def test_features_without_prior_weight_are_not_tested(data):
    prior = [1.0, 1, 1, 0, 1, 1, 1]
    results = ewp.fit(data, 3, lam=7.5, prior=prior, random_state=0)
    table = results.test_features(19, random_state=0).table
    assert table.index[table["p_value"].isna()].tolist() == ["d"]
    assert table["p_bh"].isna().sum() == 1


def test_what_cannot_be_tested_is_refused_or_missing():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match="one cluster"):
        ewp.fit(X, 1, lam=5.0).test_features()
    with pytest.raises(ValueError, match="a single feature"):
        ewp.fit(X[:, :1], 2, lam=5.0).test_features()
    coarse = np.column_stack([X[:, 0], np.arange(30) % 2])
    table = ewp.fit(coarse, 4, lam=5.0, random_state=0).test_features(9, random_state=0).table
    assert table["p_value"].isna().tolist() == [True, False]  # the other has two values only


def test_weights_of_the_rows_count(data):
    weight = np.random.default_rng(0).uniform(0.5, 1.5, 150)
    weight[:20] = 0
    results = ewp.fit(data, 3, lam=7.5, sample_weight=weight, random_state=0)
    assert results.test_features(99, random_state=0).significant().tolist() == list("abc")


# --- running -----------------------------------------------------------------------------------


def test_the_outcome_does_not_depend_on_the_number_of_processes(results, tests):
    two = results.test_features(199, random_state=0, n_jobs=2)
    pd.testing.assert_frame_equal(two.table, tests.table)


def test_an_interruption_keeps_what_is_finished(data, monkeypatch):
    results = ewp.fit(data, 3, lam=7.5, random_state=0)
    monkeypatch.setattr(module, "_test_group", interrupted_from(3, module._test_group))
    with pytest.warns(UserWarning, match="2 of 7 groups of features are finished"):
        found = results.test_features(19, random_state=0)
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
    table = pd.DataFrame({"weight": weights, "earned": 0.1, "permuted": 0.0, "p_value": p_value})
    table["p_holm"] = table["p_bh"] = adjusted
    found = FeatureTests(table, 999, 20, True)
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
