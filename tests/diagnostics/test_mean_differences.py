"""Tests between clusters found in the same data: their paths, their level, their words."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

mpl.use("Agg")

from matplotlib import pyplot as plt

import ewp
from ewp.diagnostics import difference_tests as module
from ewp.diagnostics.mean_differences import ALL_FEATURES, MeanDifferences
from ewp.diagnostics.paths import Law, Pair
from ewp.diagnostics.selective import Rivals, selective_p_value
from ewp.results.results import EWPResults
from ewp.solver.fit import FitOptions, fit_array
from ewp.solver.weights import RelativeEntropy
from tests.support.interruptions import interrupted_from


def three_groups(n=60, side=6.0):
    """Three groups at the corners of a triangle in two features, and one of noise."""
    X = np.random.default_rng(0).normal(size=(n, 3))
    z = np.arange(n) % 3
    X[:, 0] += side * (z == 1) + side / 2 * (z == 2)
    X[:, 1] += side * 0.866 * (z == 2)
    return pd.DataFrame(X, columns=["u", "v", "noise"])


def noise(seed, n=40, p=3, shared=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) + shared * rng.normal(size=(n, 1))


@pytest.fixture(scope="module")
def results():
    return ewp.fit(three_groups(), 3, lam=12.0, scale="standard", random_state=0)


@pytest.fixture(scope="module")
def found(results):
    return results.test_differences(n_refits=4, random_state=0)


# --- paths -------------------------------------------------------------------------------------


def split(X, seed=1):
    return Pair.of(X, np.random.default_rng(seed).integers(3, size=len(X)), 0, 1)


@given(tau=st.floats(-30, 30), seed=st.integers(0, 5))
def test_along_the_path_of_a_feature_its_t_statistic_alone_changes(tau, seed):
    X = noise(seed, shared=1.0)
    pair = split(X)
    path = pair.feature_path(1)
    moved = path.data(X, tau)
    first, second = pair.contrast > 0, pair.contrast < 0
    t = stats.ttest_ind(moved[first, 1], moved[second, 1]).statistic
    np.testing.assert_allclose(t, tau, atol=1e-8)
    rows = pair.rows
    np.testing.assert_allclose(moved[rows].mean(axis=0), X[rows].mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(moved[rows, 1].var(), X[rows, 1].var())
    others = ~(first | second)
    np.testing.assert_array_equal(moved[others], X[others])
    slope = path.directions[0, 0]
    rest = X - np.outer(X[:, 1], slope)
    np.testing.assert_allclose(moved - np.outer(moved[:, 1], slope), rest, atol=1e-9)


def test_paths_pass_through_the_data_and_know_the_classical_p_values():
    X = noise(3, n=50, p=4, shared=0.5)
    pair = split(X)
    first, second = X[pair.contrast > 0], X[pair.contrast < 0]
    path = pair.feature_path(2)
    np.testing.assert_array_equal(path.data(X, path.observed), X)
    assert path.naive == pytest.approx(stats.ttest_ind(first[:, 2], second[:, 2]).pvalue)
    path = pair.mean_path(np.arange(4))
    np.testing.assert_allclose(path.data(X, path.observed), X, rtol=1e-12, atol=1e-12)
    n, m = len(first), len(second)
    pooled = ((n - 1) * np.cov(first.T) + (m - 1) * np.cov(second.T)) / (n + m - 2)
    shift = first.mean(axis=0) - second.mean(axis=0)
    squared = n * m / (n + m) * shift @ np.linalg.solve(pooled, shift)
    ratio = squared * (n + m - 5) / (4 * (n + m - 2))
    assert path.observed**2 / 4 == pytest.approx(ratio)
    assert path.naive == pytest.approx(stats.f.sf(ratio, 4, n + m - 5))


@pytest.mark.parametrize("p", [3, 60])
@pytest.mark.parametrize("tau", [0.5, 20.0])
def test_the_path_of_the_means_keeps_the_scatter_of_both_clusters(p, tau):
    X = noise(0, n=45, p=p)
    pair = split(X)
    path = pair.mean_path(np.arange(p))
    assert path.law.q == min(p, (len(pair.rows) - 1) // 3)
    moved = path.data(X, tau)
    rows = pair.rows
    np.testing.assert_allclose(np.cov(moved[rows].T), np.cov(X[rows].T), atol=1e-9)
    assert split(moved).mean_path(np.arange(p)).observed == pytest.approx(tau)


def test_with_a_known_covariance_the_rest_of_the_data_is_uncorrelated_with_the_statistic():
    covariance = np.array([[2.0, 0.9, 0.0], [0.9, 1.0, 0.3], [0.0, 0.3, 1.5]])
    X = noise(0)
    pair = split(X)
    shift = X.T @ pair.contrast
    path = pair.mean_path(np.arange(3), covariance)
    assert path.observed == pytest.approx(np.sqrt(shift @ np.linalg.solve(covariance, shift)))
    # at zero the vectors of means are equal
    np.testing.assert_allclose(path.data(X, 0.0).T @ pair.contrast, 0.0, atol=1e-12)
    path = pair.feature_path(1, covariance)
    assert path.observed == pytest.approx(shift[1])
    left = shift - path.directions[0, 0] * shift[1]
    np.testing.assert_allclose(path.data(X, 0.0).T @ pair.contrast, left, atol=1e-12)
    np.testing.assert_allclose(path.directions[0, 0], [0.9, 1.0, 0.3])


def test_tails_are_those_of_scipy_and_go_on_beyond_the_smallest_float():
    tau = np.array([0.1, 2.0, 9.0])
    t = Law(1, 12, True)
    np.testing.assert_allclose(np.exp(t.log_tail(tau)), 2 * stats.t.sf(tau, 12))
    np.testing.assert_allclose(
        np.exp(Law(3, 20, False).log_tail(tau)), stats.f.sf(tau**2 / 3, 3, 20)
    )
    np.testing.assert_allclose(np.exp(Law(3, None, False).log_tail(tau)), stats.chi.sf(tau, 3))
    normal = Law(1, None, True)
    np.testing.assert_allclose(
        normal.log_tail([60.0]), np.log(2) + stats.norm.logsf(60.0), rtol=1e-6
    )
    far = Law(1, 400, True).log_tail(np.array([300.0, 1000.0]))
    assert np.isfinite(far).all()
    assert far[1] < far[0] < -690


# --- the law given the partition -----------------------------------------------------------------


def refitted(X, options):
    return fit_array(X, None, options, np.random.default_rng(0)).labels


@pytest.mark.parametrize("dispersion", ["within", "between"])
@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("lam", [3.0, 1e9])
def test_objectives_along_a_path_are_those_of_the_data_there(dispersion, scale, lam):
    X = noise(0, shared=0.5) * [1.0, 2.0, 0.5]
    prior = np.array([1.0, 0.5, 1.0])
    options = FitOptions(3, lam=lam, scale=scale, dispersion=dispersion, prior=prior)
    labels = np.random.default_rng(0).integers(3, size=(2, 40))
    rivals = Rivals(X, labels[0], options)
    path = split(X).feature_path(0)
    tau = np.array([-3.0, 0.2, 4.0])
    partitions = [rivals.known[0], rivals.add(labels[1])]
    curves = np.array([rivals.along(one, path) for one in partitions])
    lead = np.subtract(*rivals.objectives(curves, rivals.along(None, path), path.steps(tau)))
    for at, gap in zip(tau, lead, strict=True):
        moved = path.data(X, at)
        moved = moved - moved.mean(axis=0)
        if scale is not None:
            moved /= moved.std(axis=0)
        totals = (moved**2).sum(axis=0)
        rule = RelativeEntropy.make(lam, totals, prior, between=dispersion == "between")
        values = []
        for one in labels:
            within = sum(
                ((moved[one == j] - moved[one == j].mean(axis=0)) ** 2).sum(axis=0)
                for j in range(3)
            )
            weights = rule.update(within)
            values.append(within @ weights + rule.penalty(weights))
        np.testing.assert_allclose(gap, values[0] - values[1], rtol=1e-6, atol=1e-6)


def test_equal_partitions_are_one_whatever_their_labels():
    rivals = Rivals(noise(0), np.arange(40) % 3, FitOptions(3, lam=5.0))
    assert rivals.add((np.arange(40) + 1) % 3) is None
    assert rivals.add(np.arange(40) % 2) is not None
    assert len(rivals.known) == 2


def test_the_p_value_is_that_of_fits_at_many_values_of_the_statistic():
    X = noise(4, n=30, p=2)
    options = FitOptions(2, lam=10.0, scale="standard", dispersion="within", random_state=0)
    labels = refitted(X, options)
    pair = Pair.of(X, labels, 0, 1)
    path = pair.mean_path(np.arange(2))
    same = labels[:, None] == labels
    step = 0.1
    tau = path.observed + step * np.arange(-60, 41)
    wins = []
    for at in tau[tau > 0]:
        again = refitted(path.data(X, at), options)
        wins.append(bool(((again[:, None] == again) == same).all()))
    tau = tau[tau > 0]
    mass = np.exp(path.law.log_mass(np.maximum(tau - step / 2, 0), tau + step / 2)) * wins
    beyond = mass[tau > path.observed + step / 4].sum()
    beyond += np.exp(path.law.log_mass(*path.observed + np.array([[0.0], [step / 2]])))[0]
    found = selective_p_value(Rivals(X, labels, options), path, 10, np.random.default_rng(0))
    assert found.settled
    assert found.p_value == pytest.approx(beyond / mass.sum(), abs=0.05)


def test_a_feature_without_part_in_the_fit_has_the_classical_p_value():
    X = three_groups()
    options = {"lam": 12.0, "scale": "standard", "prior": [1.0, 1.0, 0.0], "random_state": 0}
    results = ewp.fit(X, 3, **options)
    table = results.test_differences(0, 1, features=["noise"], n_refits=2, random_state=0).table
    groups = [X["noise"][results.labels == j] for j in (0, 1)]
    assert table["p_value"][1] == pytest.approx(stats.ttest_ind(*groups).pvalue, rel=1e-6)
    assert table["p_naive"][1] == pytest.approx(stats.ttest_ind(*groups).pvalue)


def test_with_a_known_covariance_p_values_of_noise_are_uniform():
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(14, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
        options = FitOptions(2, lam=4.0, scale=None, dispersion="within", random_state=0)
        labels = refitted(X, options)
        path = Pair.of(X, labels, 0, 1).mean_path(np.arange(2), np.array([[1.0, 0.6], [0.6, 1.0]]))
        found.append(selective_p_value(Rivals(X, labels, options), path, 10, rng).p_value)
    assert stats.kstest(found, "uniform").pvalue > 0.01
    assert abs(np.mean(found) - 0.5) < 0.15


def test_partitions_that_the_fit_missed_are_counted_and_restrict_nothing():
    """Of a partition at random nearly every other one is lower."""
    X = noise(1, n=20, p=2)
    labels = np.arange(20) % 2
    rivals = Rivals(X, labels, FitOptions(2, lam=5.0, scale="standard", dispersion="within"))
    rivals.search_observed(np.random.default_rng(0))
    path = Pair.of(X, labels, 0, 1).mean_path(np.arange(2))
    found = selective_p_value(rivals, path, 3, np.random.default_rng(0))
    assert rivals.lower
    assert 0.0 < found.p_value <= 1.0


def test_on_noise_the_p_value_is_uniform_where_the_t_test_always_rejects():
    selective, naive = [], []
    for seed in range(16):
        X = noise(seed, n=16, p=2, shared=seed % 2)
        results = ewp.fit(X, 2, lam=10.0, scale="standard", random_state=0, n_init=3)
        heaviest = results.weights.idxmax()
        found = results.test_differences(features=[heaviest], n_refits=3, random_state=0)
        selective.append(found.table["p_value"].to_numpy())
        naive.append(found.table["p_naive"][1])
    assert np.mean(np.array(naive) < 0.05) == 1.0
    assert (np.mean(np.array(selective) < 0.05, axis=0) <= 0.25).all()
    assert (np.abs(np.mean(selective, axis=0) - 0.5) < 0.25).all()


# --- the table -----------------------------------------------------------------------------------


def test_groups_that_are_there_are_told_apart_in_their_features(found, results):
    table = found.table
    assert results.differences_ is found
    assert table["feature"].tolist() == [ALL_FEATURES] * 3 + ["u", "v", "noise"] * 3
    assert table[["i", "j"]].drop_duplicates().to_numpy().tolist() == [[0, 1], [0, 2], [1, 2]]
    assert set(found.significant()["feature"]) == {ALL_FEATURES, "u", "v"}
    assert (table.loc[table["feature"] == "noise", "p_value"] > 0.01).all()
    theta = results.centroids
    expected = [
        theta.loc[i, g] - theta.loc[j, g]
        for i, j, g in table.loc[3:, ["i", "j", "feature"]].to_numpy()
    ]
    np.testing.assert_allclose(table["difference"][3:], expected, atol=1e-9)
    weights = results.weights[table["feature"][3:]]
    np.testing.assert_array_equal(table["weight"][3:], weights)
    assert table["settled"].all()
    assert (table["refits"] >= 4).all()


def test_p_values_are_adjusted_among_pairs_and_among_features(found):
    table = found.table
    for family in (table[:3], table[3:]):
        p = family["p_value"].to_numpy()
        order = np.argsort(p)
        holm = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
        np.testing.assert_allclose(family["p_holm"].to_numpy()[order], holm)
        assert (family["p_bh"] <= family["p_holm"]).all()
    assert len(found.significant(0.5, "none")) == (table["p_value"] <= 0.5).sum()


def test_pairs_and_features_can_be_chosen(results):
    one = results.test_differences(2, 0, features="v", n_refits=1, random_state=0).table
    assert one[["i", "j", "feature"]].to_numpy().tolist() == [[2, 0, ALL_FEATURES], [2, 0, "v"]]
    some = results.test_differences(1, features=["u"], n_refits=1, random_state=0).table
    assert some[["i", "j"]].drop_duplicates().to_numpy().tolist() == [[1, 0], [1, 2]]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"i": 3}, "i=3 is no cluster; the fit has clusters 0 to 2"),
        ({"i": 1, "j": 1}, "the same cluster"),
        ({"i": -1}, "i=-1 must be at least 0"),
        ({"n_refits": 0}, "n_refits=0"),
        ({"features": ["w"]}, "'w' given"),
        ({"covariance": np.eye(2)}, r"shape \(2, 2\); give a 3 x 3 matrix"),
        ({"covariance": -np.eye(3)}, "positive definite"),
        ({"covariance": 0.0}, "covariance=0"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_cure(results, asked, words):
    with pytest.raises(ValueError, match=words):
        results.test_differences(**asked)


def test_one_cluster_and_uneven_weights_are_refused():
    X = three_groups()
    with pytest.raises(ValueError, match="one cluster"):
        ewp.fit(X, 1, lam=5.0).test_differences()
    weight = np.linspace(0.5, 1.0, 60)
    with pytest.raises(ValueError, match="not two independent rows"):
        ewp.fit(X, 3, lam=5.0, sample_weight=weight, random_state=0).test_differences()


def test_rows_without_weight_do_not_count():
    X = three_groups()
    options = {"lam": 8.0, "scale": "standard", "random_state": 0}
    asked = {"i": 0, "j": 1, "features": ["u"], "n_refits": 1, "random_state": 0}
    weight = (np.arange(60) < 45).astype(float)
    part = ewp.fit(X, 3, sample_weight=weight, **options).test_differences(**asked).table
    alone = ewp.fit(X[:45], 3, **options).test_differences(**asked).table
    np.testing.assert_allclose(part["p_value"], alone["p_value"], rtol=1e-6)


def test_clusters_too_small_and_constant_features_have_no_p_value():
    X = three_groups(30)
    X.loc[0] = [40.0, 40.0, 0.0]
    X["same"] = np.where(np.arange(30) == 0, 5.0, 1.0)
    results = ewp.fit(X, 4, lam=20.0, scale=None, random_state=0)
    table = results.test_differences(0, 1, n_refits=1, random_state=0).table
    assert table["feature"][table["p_value"].isna()].tolist() == ["same"]


@pytest.mark.parametrize(
    "options",
    [{"lam": 12.0, "scale": "decorrelate"}, {"lam": 200.0, "dispersion": "between"}],
)
def test_other_forms_and_scalings_are_tested_too(options):
    results = ewp.fit(three_groups(), 3, random_state=0, **options)
    found = results.test_differences(0, 1, features=["u", "noise"], n_refits=2, random_state=0)
    assert found.table["p_value"].notna().all()
    assert found.table["p_value"][0] < 0.05


# --- running -------------------------------------------------------------------------------------


def test_the_outcome_does_not_depend_on_the_number_of_processes(results, monkeypatch):
    monkeypatch.setattr(module, "_TOGETHER", 2)
    one, two = (
        results.test_differences(0, 1, n_refits=1, random_state=0, n_jobs=jobs).table
        for jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(one, two)


def test_the_call_gives_the_table_again(results):
    found = results.test_differences(0, 2, features=["u"], n_refits=1)
    assert found.call.startswith('results.test_differences(i=0, j=2, features=["u"], n_refits=1, ')
    again = eval(found.call, {"results": results})
    pd.testing.assert_frame_equal(again.table, found.table)
    assert results.recipe.splitlines()[-1] == again.call


def test_an_interruption_keeps_what_is_finished(results, monkeypatch):
    monkeypatch.setattr(module, "_run_tests", interrupted_from(2, module._run_tests))
    with pytest.warns(UserWarning, match="2 of 6 differences are finished"):
        found = results.test_differences(features=["u"], n_refits=1, random_state=0)
    assert found.table["p_value"].notna().tolist() == [True, False, False] * 2
    assert not found.complete
    assert "INTERRUPTED" in str(found)


def test_results_survive_a_file(results, found, tmp_path):
    results.differences_ = found
    results.save(tmp_path / "fit")
    loaded = EWPResults.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(loaded.differences_.table, found.table)
    assert str(loaded.differences_) == str(found)
    with pytest.raises(ValueError, match="pass them as X"):
        loaded.test_differences()
    again = loaded.test_differences(
        0, 1, features="u", n_refits=1, X=three_groups(), random_state=0
    )
    assert again.table["p_holm"].max() < 0.05


def test_the_summary_says_what_the_p_values_rest_on(found):
    text = " ".join(str(found).split())
    assert "3 of 3 pairs of clusters and" in text
    assert "Along every path, 4 searches in a row had to find no lower partition." in text
    assert "NOT SETTLED" not in text
    assert "lower objective than this fit's" not in text
    assert "3 of 3 pairs" in repr(found)
    rough = MeanDifferences(found.table.assign(settled=False), 4, 3, 2, True)
    text = " ".join(str(rough).split())
    assert "NOT SETTLED: in 12 tests" in text
    assert "2 partitions with a lower objective" in text


def test_the_picture_has_a_point_per_test(found):
    ax = found.plot()
    drawn = np.concatenate([line.get_xdata() for line in ax.lines[:-1]])
    p = np.maximum(found.table["p_value"].to_numpy(), 1e-16)
    np.testing.assert_allclose(np.sort(drawn), np.sort(p))
    assert ax.get_yticklabels()[0].get_text() == ALL_FEATURES
    assert "1 more features" in found.plot(top=2).get_xlabel()
    plt.close("all")
