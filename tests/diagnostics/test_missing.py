"""Questions about fits to data with missing values: answers of observed values, or a refusal."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

import ewp
from ewp.datasets import make_simulation2
from ewp.display.pair_plots import plot_pairs
from ewp.display.profile_plots import plot_parallel
from tests.support.results import assert_identical

NAMES = list("abcdefgh")
HOW = {"missing": "observed", "random_state": 0}


@pytest.fixture(scope="module")
def holey():
    X, labels, _ = make_simulation2(4, n=200, p=8, random_state=0)
    table = pd.DataFrame(X, columns=NAMES).assign(two=labels % 2)
    absent = np.random.default_rng(0).random(table.shape) < 0.15
    return table.mask(absent), labels


@pytest.fixture(scope="module")
def results(holey):
    return ewp.fit(holey[0], 4, 20.0, **HOW)


@pytest.mark.parametrize("start", ["scratch", "estimates"])
def test_resamples_find_the_clusters_and_hold_the_weights(results, start):
    found = results.bootstrap(40, start=start, random_state=0)
    assert found.complete
    assert found.clusters["jaccard"].min() > 0.9
    table = found.weight_intervals()
    assert np.isfinite(table["lower"]).all()
    assert (table["lower"] <= table["weight"]).all()
    assert (table["weight"] <= table["upper"]).all()
    assert results.stability(10, random_state=0).clusters["jaccard"].min() > 0.9


def test_the_bootstrap_of_marked_but_whole_data_is_that_of_whole_data():
    X = make_simulation2(3, n=90, p=5, random_state=0).X
    one, other = (ewp.fit(X, 3, 5.0, missing=m, random_state=0) for m in ("error", "observed"))
    draws = [fit.bootstrap(40, random_state=0).weight_draws for fit in (one, other)]
    np.testing.assert_array_equal(*draws)


@pytest.mark.parametrize(
    ("question", "cure"),
    [
        ("test_features", "fit the rows without missing values"),
        ("test_differences", "fit the rows without missing values"),
    ],
)
def test_questions_that_need_whole_rows_say_so_and_name_the_cure(results, question, cure):
    with pytest.raises(ValueError, match=rf"{question}\(\) needs all values of a row.*: {cure}"):
        getattr(results, question)()


def test_the_cure_is_one(holey):
    whole = holey[0].dropna()
    fitted = ewp.fit(whole, 4, 0.1 * len(whole), scale="standard", **HOW)
    assert np.isfinite(fitted.test_features(random_state=0).table["p_value"]).any()


def test_a_profile_is_of_observed_values_and_has_their_numbers(holey, results):
    X, labels = holey[0], results.labels.to_numpy()
    found = results.profile()
    table = found.table.loc[NAMES]
    groups = X[NAMES].groupby(labels)
    for column, expected in (("", X[NAMES]), *((f"_{j}", groups.get_group(j)) for j in range(4))):
        np.testing.assert_allclose(table[f"mean{column}"], expected.mean(), rtol=1e-9)
        np.testing.assert_allclose(table[f"sd{column}"], expected.std(), rtol=1e-9)
        np.testing.assert_array_equal(table[f"observed{column}"], expected.notna().sum())
    two = found.table.loc["two"]
    assert two["statistic"] == "count"
    assert two["count"] == X["two"].sum()
    assert two["mean"] == pytest.approx(X["two"].mean())
    by_cluster = X["two"].groupby(labels)
    np.testing.assert_array_equal(two[[f"count_{j}" for j in range(4)]], by_cluster.sum())
    codes = results.profile(counted=["two"]).table.loc["two"]
    np.testing.assert_array_equal(codes["count"], X["two"].value_counts().sort_index())
    text = str(found.summary())
    assert "missing: rows without a value" in text
    assert f"{100 * X['two'].isna().mean():.1f} %" in text


def test_a_profile_of_whole_data_says_nothing_of_missing_values(holey):
    whole = holey[0].dropna()
    found = ewp.fit(whole, 4, 20.0, **HOW).profile()
    assert "observed" not in found.table
    assert "missing" not in str(found.summary())


def test_weights_count_in_a_profile_of_observed_values(holey):
    X = holey[0]
    copies = np.random.default_rng(1).integers(1, 3, len(X))
    one = ewp.fit(X, 4, 20.0, sample_weight=copies.astype(float), **HOW).profile().table
    other = ewp.fit(X.loc[np.repeat(X.index, copies)].reset_index(drop=True), 4, 20.0, **HOW)
    table = other.profile().table.loc[one.index]
    numbers = one.select_dtypes("number").columns
    np.testing.assert_allclose(one[numbers], table[numbers], rtol=1e-6)


def test_pictures_are_drawn(results):
    for name in ("heatmap", "parallel", "silhouettes", "biplot", "clusters"):
        assert getattr(results, f"plot_{name}")() is not None
    assert len(results.plot_pairs(features=["a", "two", "b"])) == 6
    assert results.profile().plot() is not None


def test_pictures_of_features_leave_out_what_is_missing():
    nan = np.nan
    z = np.array([[0.0, 1.0], [2.0, nan], [nan, 5.0], [nan, 7.0]])
    ax = plot_parallel(z, [0, 0, 1, 1], [0.6, 0.4])
    lines = [line.get_ydata().tolist() for line in ax.lines if line.get_label() in "01"]
    assert lines == [[1.0, 1.0], [0.0, 6.0]]  # the mean where a cluster has no value
    X = np.random.default_rng(0).normal(size=(40, 2))
    labels = np.arange(40) % 2
    holes = np.vstack([X, [[nan, 9.0], [9.0, nan], [nan, nan]]])
    drawn, whole = plot_pairs(holes, [*labels, 0, 1, 1], "ab"), plot_pairs(X, labels, "ab")
    for one, other in zip(drawn[1].lines, whole[1].lines, strict=True):
        np.testing.assert_allclose(one.get_xydata(), other.get_xydata())


def test_prediction_strength_and_nested_evidence_find_the_number_of_clusters(holey):
    X = holey[0][NAMES]
    for criterion in ("strength", "predictive"):
        found = ewp.select_k(X, range(1, 6), criterion=criterion, n_lams=4, **HOW)
        assert found.k == 4


def test_noise_with_holes_is_told():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 6))
    X[rng.random(X.shape) < 0.15] = np.nan
    with pytest.warns(ewp.NoClustersWarning):
        found = ewp.fit(X, 3, **HOW)
    assert "no evidence for more than one cluster" in str(found.summary())


def test_decorrelated_features_are_no_candidates_where_values_are_missing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) @ rng.normal(size=(5, 5))
    X[:140] += 2 * rng.normal(size=5)

    def tried():
        table = ewp.select_lambda(X, 2, scale="auto", n_lams=3, **HOW).table
        return set(table["scaling"])

    assert any(scaling.startswith("decorrelate") for scaling in tried())
    X[rng.random(X.shape) < 0.05] = np.nan
    assert tried() == {"standard", "none"}


def test_starts_of_sparse_k_means_find_few_features_of_many_with_holes():
    rng = np.random.default_rng(0)
    labels = np.arange(80) % 4
    X = rng.normal(size=(80, 800))
    X[:, :15] += 1.8 * rng.normal(size=(4, 15))[labels]
    X[rng.random(X.shape) < 0.1] = np.nan
    found = ewp.fit(X, 4, 30.0, scale="standard", **HOW)
    assert adjusted_rand_score(labels, found.labels) > 0.9
    assert found.starts["sparse"].sum() > 0
    assert_identical(found, ewp.fit(X, 4, 30.0, scale="standard", **HOW))


def test_a_comparison_refuses_missing_values(holey):
    with pytest.raises(ValueError, match=r"X has \d+ missing values.*all methods get the same"):
        ewp.compare(holey[0], k=4, random_state=0)


def test_the_critical_exponent_is_that_of_complete_data():
    """In expectation; without being asked missing values are refused."""
    X = np.random.default_rng(0).standard_normal((4000, 10))
    Z = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    found = ewp.critical_exponent(Z, missing="observed")
    assert found == pytest.approx(ewp.critical_exponent(X), abs=0.5)
    with pytest.raises(ValueError, match="missing values"):
        ewp.critical_exponent(Z)
