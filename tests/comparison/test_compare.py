"""The comparison: the same start for everybody, no classes in any choice, tests and pictures."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon
from sklearn.metrics import normalized_mutual_info_score as nmi

import ewp
from ewp.comparison.results import MEASURES, signed_rank
from ewp.datasets import make_feature_selection, make_simulation2
from ewp.peers import KMeans, SparseKMeans, WKMeans, sparse_gap
from tests.support.comparisons import ALL, Recorder
from tests.support.designs import wide_design


@pytest.fixture(scope="module")
def data():
    X, labels, _ = make_simulation2(4, n=120, p=8, n_relevant=3, random_state=0)
    columns = [f"gene {i}" for i in range(8)]
    return pd.DataFrame(X, columns=columns, index=np.arange(120) + 5), labels


@pytest.fixture(scope="module")
def found(data):
    X, labels = data
    return ewp.compare(
        X, 4, labels, methods=ALL, n_trials=6, scale=None, lam=6.0, wbound=1.7, random_state=0
    )


# -- fairness ---------------------------------------------------------------------------------


def test_every_method_starts_from_the_same_k_distinct_rows(data):
    X, labels = data
    one, two = Recorder("one"), Recorder("two")
    made = ewp.compare(X, 4, labels, (one, two), n_trials=5, scale=None, random_state=3)
    assert len(one.seen) == 5
    for (_, k, start, number), (_, _, other, same) in zip(one.seen, two.seen, strict=True):
        assert k == 4
        np.testing.assert_array_equal(start, other)
        assert number == same
        gaps = np.abs(X.to_numpy()[:, None] - start).max(axis=2)
        rows = gaps.argmin(axis=0)
        assert (gaps.min(axis=0) < 1e-12).all()
        assert len(set(rows)) == 4
    starts = np.array([start for _, _, start, _ in one.seen])
    np.testing.assert_allclose(made.starts, starts, atol=1e-12)
    assert len(np.unique(starts.reshape(5, -1), axis=0)) == 5


def test_a_method_reaches_what_its_estimator_reaches_from_that_start(found, data):
    X, _ = data
    for trial, start in enumerate(found.starts):
        kmeans = KMeans(4, init=start).fit(X)
        np.testing.assert_array_equal(found.labels["kmeans"].iloc[trial], kmeans.labels_)
        wkmeans = WKMeans(4, beta=8.0, init=start).fit(X)
        share = wkmeans.metric_ / wkmeans.metric_.sum()
        np.testing.assert_allclose(found.weights.loc[("wkmeans", trial)], share, atol=1e-9)
        sparse = SparseKMeans(4, wbound=1.7, init=start).fit(X)
        share = sparse.feature_weights_ / sparse.feature_weights_.sum()
        np.testing.assert_allclose(found.weights.loc[("sparse", trial)], share, atol=1e-9)


def test_the_result_depends_neither_on_the_processes_nor_on_the_other_methods(data, found):
    X, labels = data
    options = {"n_trials": 6, "scale": None, "lam": 6.0, "wbound": 1.7, "random_state": 0}
    alone = ewp.compare(X, 4, labels, ("ewp", "sparse"), n_jobs=2, **options)
    for name in ("ewp", "sparse"):
        pd.testing.assert_frame_equal(alone.labels[name], found.labels[name])
        pd.testing.assert_frame_equal(alone.weights.loc[[name]], found.weights.loc[[name]])


def test_tuning_parameters_come_from_the_methods_own_rules_and_never_from_the_classes():
    X, labels, _ = make_simulation2(2, n=40, p=4, n_relevant=2, random_state=0)
    options = {"methods": ("sparse", "ewp-between"), "n_trials": 1, "random_state": 1}
    found = ewp.compare(X, 2, labels, scale=None, **options)
    shuffled = ewp.compare(X, 2, np.roll(labels, 7), scale=None, **options)
    assert found.settings == shuffled.settings
    pd.testing.assert_frame_equal(found.weights, shuffled.weights)
    assert not found.scores["nmi"].equals(shuffled.scores["nmi"])
    seed = int(np.random.default_rng(1).integers(2**31, size=2)[0])
    assert found.settings["sparse"] == {"wbound": sparse_gap(X, 2, random_state=seed).bestw}
    chosen = ewp.select_lambda(X, 2, scale=None, dispersion="between", random_state=seed)
    assert found.settings["ewp-between"] == {"lam": chosen.lam, "form": "between"}


def test_automatic_scaling_is_that_of_the_selection_and_everybodys():
    X, labels, _ = make_simulation2(2, n=40, p=4, n_relevant=2, random_state=0)
    seen = Recorder("seen")
    found = ewp.compare(X, 2, labels, (seen, "ewp"), n_trials=1, random_state=0)
    wanted = 1.0 if found.scaling == "standard" else X.std(axis=0)
    np.testing.assert_allclose(seen.seen[0][0].std(axis=0), wanted)
    seed = int(np.random.default_rng(0).integers(2**31, size=2)[0])
    chosen = ewp.select_lambda(X, 2, random_state=seed)
    assert found.scaling == chosen.scaling
    assert found.settings["ewp"] == {"lam": chosen.lam, "form": chosen.dispersion}
    given = ewp.compare(X, 2, labels, "kmeans", n_trials=1, lam=5.0, random_state=0)
    assert given.scaling == "none"


def test_standard_scaling_is_comparing_standardised_data(data):
    X, labels = data
    z = (X - X.mean()) / X.std(ddof=0)
    options = {"methods": ("kmeans", "ewp"), "n_trials": 3, "lam": 20.0, "random_state": 0}
    one = ewp.compare(X, 4, labels, scale="standard", **options)
    two = ewp.compare(z, 4, labels, scale=None, **options)
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-9)
    means, spread = X.mean().to_numpy(), X.std(ddof=0).to_numpy()
    np.testing.assert_allclose(one.starts, two.starts * spread + means, atol=1e-9)


def test_starts_can_be_given_in_data_units(data):
    X, labels = data
    starts = np.array([X.to_numpy()[i : i + 4] for i in range(3)])
    seen = Recorder("seen")
    ewp.compare(X, 4, labels, seen, n_trials=3, init=starts, scale="standard", lam=1.0)
    z = (starts - X.mean().to_numpy()) / X.std(ddof=0).to_numpy()
    np.testing.assert_allclose([start for _, _, start, _ in seen.seen], z, atol=1e-12)
    seeded = ewp.compare(X, 4, labels, "kmeans", n_trials=2, init="k-means++", scale=None)
    assert seeded.init == "k-means++"


# -- what comes back --------------------------------------------------------------------------


def test_weights_of_all_weighting_methods_sum_to_one(found):
    weighting = ["wkmeans", "sparse", "sparse-annealed", "ewp", "ewp-between", "ewp-published"]
    assert set(found.weights.index.get_level_values("method")) == set(weighting)
    assert list(found.weights.columns) == [f"gene {i}" for i in range(8)]
    assert len(found.weights) == 6 * len(weighting)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0)
    assert (found.weights >= 0).all(axis=None)


def test_the_table_holds_means_deviations_and_signed_rank_tests(found, data):
    _, labels = data
    table = found.table()
    assert list(table.index) == list(ALL)
    assert found.reference == "ewp"
    scores = {
        name: np.array([nmi(labels, row) for row in found.labels[name].to_numpy()]) for name in ALL
    }
    for name in ALL:
        assert table.loc[name, "nmi"] == pytest.approx(scores[name].mean())
        assert table.loc[name, "nmi_sd"] == pytest.approx(scores[name].std(ddof=1))
        if name == "ewp":
            assert np.isnan(table.loc[name, "nmi_p"])
            assert table.loc[name, "nmi_mark"] == ""
            continue
        assert table.loc[name, "nmi_p"] == signed_rank(scores[name], scores["ewp"])
        better = scores["ewp"].mean() > scores[name].mean()
        differs = table.loc[name, "nmi_p"] < 0.05
        assert table.loc[name, "nmi_mark"] == (("+" if better else "−") if differs else "≃")
    assert table.loc["kmeans", "nmi_mark"] == "+"
    assert table.loc["ewp", "nmi"] > 0.99
    assert np.isnan(table.loc["kmeans", "features"])
    assert 1 <= table.loc["sparse", "features"] <= 8
    assert (table["seconds"] > 0).all()


def test_labels_have_the_names_of_the_rows(found, data):
    X, _ = data
    assert found.labels["ewp"].shape == (6, 120)
    assert found.labels["ewp"].columns.equals(X.index)


def test_signed_rank_is_scipys_where_pairs_differ_and_one_where_none_does():
    rng = np.random.default_rng(0)
    one, two = rng.random(12), rng.random(12)
    assert signed_rank(one, two) == wilcoxon(one, two).pvalue
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert signed_rank(one, one) == 1.0
        assert signed_rank(one, one + 1e-15) == 1.0
        assert signed_rank(np.ones(8), np.r_[np.ones(4), np.zeros(4)]) > 0.05
        assert signed_rank(np.ones(3), np.full(3, np.nan)) == 1.0


def test_internal_measures_without_classes(data):
    X, _ = data
    found = ewp.compare(X, 4, methods=("kmeans", "power"), n_trials=3, scale=None, random_state=0)
    assert found.measures == ["silhouette", "between"]
    assert found.reference is None
    table = found.table()
    assert (table["between"].between(0, 1)).all()
    assert table["between_mark"].tolist() == ["", ""]
    values = X.to_numpy()
    within = sum(
        ((values[labels == j] - values[labels == j].mean(axis=0)) ** 2).sum()
        for labels in [found.labels["kmeans"].iloc[0].to_numpy()]
        for j in range(4)
    )
    share = 1 - within / (values.var(axis=0).sum() * len(values))
    assert found.scores["between"].iloc[0] == pytest.approx(share)


def test_measures_of_a_single_cluster_are_defined_or_missing():
    X = np.random.default_rng(0).standard_normal((10, 2))
    labels = np.zeros(10, dtype=int)
    assert np.isnan(MEASURES["silhouette"].value(X, labels, None))
    assert MEASURES["between"].value(X, labels, None) == pytest.approx(0.0)
    assert MEASURES["nmi"].value(X, labels, np.arange(10) % 2) == 0.0


def test_the_summary_prints_in_text_html_and_latex(found):
    text = str(found)
    assert "n = 120, p = 8 (raw), k = 4" in text
    assert "6 starts on one data set" in text
    assert "wbound 1.7" in text
    assert "Wilcoxon" in text
    kmeans = next(line for line in text.splitlines() if line.startswith("kmeans"))
    assert kmeans.count("+") == 2
    assert "<table" in found._repr_html_()
    latex = found.summary().as_latex()
    assert "≃" not in latex
    assert r"$\simeq$" in latex
    assert repr(found).startswith("Comparison: 6 trials, k = 4, nmi: kmeans 0.")


def test_classes_may_be_words_or_a_column(found, data):
    X, labels = data
    words = pd.DataFrame({"kind": np.array(["a", "b", "c", "d"])[labels]})
    for classes in (words, words["kind"], words["kind"].astype("category")):
        again = ewp.compare(X, 4, classes, "kmeans", n_trials=6, scale=None, random_state=0)
        np.testing.assert_array_equal(again.table()["nmi"], found.table().loc[["kmeans"], "nmi"])


def test_one_trial_has_no_deviation(data):
    X, labels = data
    found = ewp.compare(X, 4, labels, ("kmeans", "power"), n_trials=1, scale=None)
    assert found.table()["nmi_sd"].isna().all()
    assert "1 start on one data set" in str(found)


def test_the_summary_says_when_trials_are_too_few_for_the_test(found, data):
    X, labels = data
    options = {"methods": ("kmeans", "ewp"), "scale": None, "lam": 6.0, "random_state": 0}
    few = ewp.compare(X, 4, labels, n_trials=5, **options)
    assert few.table()["nmi_p"].min() > 0.05
    assert "5 starts are too few" in " ".join(str(few).split())
    assert "too few" not in str(found)


# -- what the comparison shows ----------------------------------------------------------------


@pytest.mark.parametrize(("scale", "share"), [(None, 0.05), ("standard", 0.15)])
def test_ewp_puts_the_weight_on_the_relevant_features_of_the_papers_design(scale, share):
    for seed in range(3):
        X, labels, relevant = make_feature_selection(random_state=seed)
        found = ewp.compare(
            X,
            10,
            labels,
            methods=("kmeans", "wkmeans", "ewp"),
            n_trials=1,
            scale=scale,
            lam=share * len(X),
            random_state=seed,
        )
        assert found.weights.loc[("ewp", 0)].iloc[relevant].sum() >= 0.99
        assert found.table()["nmi"].max() == found.table().loc["ewp", "nmi"]


def test_relevant_features_of_large_variance_are_sparse_k_means_home_ground():
    methods = ("sparse", "sparse-annealed", "ewp-published", "ewp-between")
    means = []
    for seed in range(3):
        X, labels = wide_design(seed)
        found = ewp.compare(
            X, 4, labels, methods, n_trials=2, scale=None, lam=90.0, wbound=4.0, random_state=seed
        )
        means.append(found.table()["nmi"])
    mean = pd.concat(means, axis=1).mean(axis=1)
    assert mean["sparse"] > 0.95
    assert mean["ewp-published"] < 0.3
    assert mean["ewp-between"] > mean["ewp-published"] + 0.4
