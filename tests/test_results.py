"""What a results object says about a fit, in words, tables and predictions."""

from __future__ import annotations

import copy
import html
import pickle
import re

import numpy as np
import pandas as pd
import pytest

import ewp
from tests.support.designs import sixty_rows
from tests.support.results import make_results, make_trace

NASTY = ["a <b>&amp;", r"x_1^2 {50%} \alpha", "$cost$~", "[z]|#", "*star*"]


def weighted(n=60):
    return np.random.default_rng(1).uniform(0.5, 2.0, n)


# --- numbers -----------------------------------------------------------------------------------


def test_counts_and_names_follow_the_fields():
    results = make_results(60, 5, 3, names=list("abcde"))
    assert (results.n_obs, results.n_features, results.n_clusters) == (60, 5, 3)
    assert list(results.feature_names) == list("abcde")


@pytest.mark.parametrize(
    ("weights", "effective"), [(np.ones(5), 5.0), ([1, 0, 0, 0, 0], 1.0), ([1, 1, 0, 0, 0], 2.0)]
)
def test_effective_features_is_the_exponential_of_the_entropy(weights, effective):
    assert make_results(weights=weights).effective_features == pytest.approx(effective)


def test_glance_has_brooms_columns_and_sums_of_squares_add_up():
    glance = make_results(sample_weight=weighted()).glance()
    assert len(glance) == 1
    assert list(glance.columns[:4]) == ["totss", "tot.withinss", "betweenss", "iter"]
    row = glance.iloc[0]
    assert row["betweenss"] == row["totss"] - row["tot.withinss"]
    assert row["betweenss"] > 0
    assert (row["lam"], row["s0"], row["n_obs"], row["n_clusters"]) == (30.0, -1.0, 60, 3)
    assert bool(row["converged"])


def test_one_cluster_has_nothing_between():
    X = np.random.default_rng(0).normal(size=(60, 4)) * 3.0
    results = ewp.fit(X, 1, 5.0, random_state=0)
    assert results.betweenss == 0
    assert "Between / total SS:       0.0 %" in str(results)
    assert "e-" not in str(results.summary().tables[2]["explained"])


def test_betweenss_is_the_weighted_scatter_of_the_centroids():
    results = make_results(scaling="standard", sample_weight=weighted())
    theta = (results.centroids.to_numpy() - results.center) / results.scale
    scatter = results.clusters["mass"].to_numpy() @ (theta**2 @ results.weights.to_numpy())
    assert results.betweenss == pytest.approx(scatter)


def test_tidy_has_a_row_a_cluster_with_brooms_columns():
    results = make_results(names=list("abcde"))
    tidy = results.tidy()
    assert list(tidy.columns) == [*"abcde", "size", "withinss", "cluster"]
    assert tidy["cluster"].tolist() == [0, 1, 2]
    assert tidy["size"].sum() == results.n_obs
    np.testing.assert_array_equal(tidy[list("abcde")], results.centroids)


def test_tidy_gives_way_to_features_of_the_same_name():
    results = make_results(names=["size", "b", "c", "d", "cluster"])
    tidy = results.tidy()
    assert list(tidy.columns[5:]) == [".size", "withinss", ".cluster"]
    np.testing.assert_array_equal(tidy["size"], results.centroids["size"])


# --- rows --------------------------------------------------------------------------------------


def test_predict_and_transform_use_the_weighted_metric():
    results = make_results(scaling="standard")
    X, theta = results.data.to_numpy(), results.centroids.to_numpy()
    scaled = (X[:, None] - theta) / results.scale
    distance = np.sqrt(scaled**2 @ results.weights.to_numpy())
    np.testing.assert_allclose(results.transform(X), distance, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(results.predict(X), distance.argmin(1))


def test_a_frame_gives_back_its_row_names_and_an_array_an_array():
    results = make_results(rows=[f"r{i}" for i in range(60)])
    new = results.data.iloc[[5, 3, 8]]
    labels, distance = results.predict(new), results.transform(new)
    assert isinstance(labels, pd.Series)
    assert labels.name == "cluster"
    assert list(labels.index) == list(distance.index) == ["r5", "r3", "r8"]
    assert list(distance.columns) == [0, 1, 2]
    assert type(results.predict(new.to_numpy())) is np.ndarray
    assert type(results.transform(new.to_numpy())) is np.ndarray


def test_predict_refuses_other_columns():
    results = make_results(names=list("abcde"))
    with pytest.raises(ValueError, match="e"):
        results.predict(results.data.rename(columns={"e": "f"}))
    with pytest.raises(ValueError, match="4"):
        results.predict(results.data.to_numpy()[:, :4])


@pytest.mark.parametrize("frame", [True, False])
def test_augment_appends_cluster_and_distance_to_a_copy_of_the_data(frame):
    results = make_results(rows=[f"r{i}" for i in range(60)], frame=frame)
    before = results.data.copy()
    augmented = results.augment()
    assert list(augmented.columns) == [*results.feature_names, ".cluster", ".distance"]
    assert list(augmented.index) == list(results.labels.index)
    np.testing.assert_array_equal(augmented[".cluster"], results.labels)
    np.testing.assert_array_equal(augmented.iloc[:, :5], before)
    np.testing.assert_array_equal(results.data, before)
    nearest = results.transform(before).min(axis=1)
    np.testing.assert_allclose(augmented[".distance"], nearest, atol=1e-12)


def test_augment_predicts_new_rows():
    results = make_results()
    new = results.data.iloc[:7] + 0.01
    augmented = results.augment(new)
    np.testing.assert_array_equal(augmented[".cluster"], results.predict(new))
    assert list(results.augment(new.to_numpy()).index) == list(range(7))


def test_augment_refuses_to_overwrite_and_needs_data():
    results = make_results()
    with pytest.raises(ValueError, match=r"\.cluster"):
        results.augment(results.augment())
    with pytest.raises(ValueError, match="pass them as X"):
        make_results(data=None).augment()


# --- the summary -------------------------------------------------------------------------------


def test_summary_text_states_the_facts():
    results = make_results(lam=12.5, objective=-3.25, critical_exponent=-0.75)
    text = str(results)
    assert text == results.summary().as_text()
    assert "Entropy Weighted Power k-means" in text
    for label, value in {
        "Observations": "60",
        "Penalty lambda": "12.5",
        "lambda / n": "0.2083",
        "Objective f_-inf": "-3.25",
        "Critical exponent": "-0.75",
        "Starting exponent s0": "-1",
        "anneal + finish + polish": r"30 \+ 6 \+ 4",
        "Starts": r"2 \(k-means\+\+\)",
        "Converged": "yes",
        "Scaling": "none",
        "Dispersion": "within",
    }.items():
        assert re.search(rf"{re.escape(label)}: +{value}\b|{re.escape(label)}: +{value}", text), (
            label
        )
    share = 100 * results.betweenss / results.totss
    assert f"{share:.1f} %" in text


def test_summary_lists_clusters_and_heaviest_features_with_their_centroids():
    results = make_results(names=list("abcde"), weights=[0.1, 0.4, 0.2, 0.25, 0.05])
    text = results.summary(top=3).as_text()
    lines = text.splitlines()
    rows = [line.split() for line in lines]
    for j, size in enumerate(results.clusters["size"]):
        assert any(row[:3] == ["cluster", str(j), str(size)] for row in rows)
    listed = [row for row in rows if row and row[0] in list("abcde")]
    assert [row[:2] for row in listed] == [["b", "0.4000"], ["d", "0.2500"], ["c", "0.2000"]]
    shown = np.array([row[4:] for row in listed], dtype=float)
    np.testing.assert_allclose(shown, results.centroids[["b", "d", "c"]].T, atol=0.051)
    assert "... and 2 more features, together with 15.0 % of the weight" in text


def test_summary_tables_have_one_width():
    lines = str(make_results(300, 8, 4)).splitlines()
    rules = {len(line) for line in lines if line and set(line) <= set("=-")}
    assert len(rules) == 1


def test_explained_is_the_share_of_a_features_variance_between_clusters():
    results = make_results(names=list("abcde"))
    X, fitted = results.data, results.centroids.to_numpy()[results.labels]
    explained = 1 - ((X - fitted) ** 2).sum() / ((X - X.mean()) ** 2).sum()
    row = next(line for line in str(results).splitlines() if line.startswith("a "))
    assert f"{100 * explained['a']:.1f} %" in row
    assert "explained" not in str(make_results(spread=None))


@pytest.mark.parametrize(("p", "k"), [(5, 2), (4434, 100)])
def test_summary_stays_short_and_narrow(p, k):
    results = make_results(
        400, p, k, names=[f"a rather long name of feature {i}" for i in range(p)]
    )
    lines = str(results).splitlines()
    assert len(lines) < 60
    assert max(map(len, lines)) <= 100
    assert ("... and 80 more clusters" in str(results)) == (k == 100)
    assert ("... and 4424 more features" in str(results)) == (p == 4434)


def test_small_numbers_are_not_shown_as_zero_and_long_ones_are_cut():
    results = make_results(weights=[1.0, 1e-7, 0.0, 0.5, 0.5], lam=1e-7, objective=1 / 3)
    text = str(results)
    assert "0.333333 " in text
    assert "1.000e-07" in text
    assert "5.0e-08" in text
    assert not re.search(r"\d\.\d{8}", text)


def test_centroids_far_from_zero_can_be_told_apart():
    results = make_results()
    results.centroids = results.centroids + 3e8
    rows = [re.findall(r"[23]\.\d+e\+08", line) for line in str(results).splitlines()]
    assert [len(set(row)) for row in rows if row] == [3] * 5


def test_notes_say_what_to_know():
    prior = np.array([1.0, 0.0, 1.0, 2.0, 0.0])
    results = make_results(
        names=list("abcde"),
        weights=[0.6, 0, 0.395, 0.005, 0],
        prior=prior,
        scaling="standard",
        converged=False,
        critical_exponent=-12.5,
        sample_weight=weighted(),
    )
    text = " ".join(str(results).split())
    assert "2 of 5 features hold 99 % of the weight." in text
    assert "prior weight 0: b, e." in text
    assert "NOT CONVERGED: stopped after 40 iterations (max_iter = 300)" in text
    assert "above the critical exponent -12.5" in text
    assert "standardised features" in text
    assert "Rows are weighted" in text
    assert "a prior that is not the same" in text
    plain = " ".join(str(make_results()).split())
    for phrase in ("prior", "CONVERGED", "critical exponent -", "standardised", "weighted:"):
        assert phrase not in plain


def test_the_features_that_hold_most_of_the_weight_are_counted():
    text = str(make_results(weights=[0.5, 0.42, 0.04, 0.039, 0.001]))
    assert "4 of 5 features hold 99 % of the weight, 2 of them 90 %." in " ".join(text.split())


def test_a_start_at_the_critical_exponent_is_not_called_above_it():
    assert "above the critical" not in str(make_results(s0=-12.5, critical_exponent=-12.5))


def test_many_excluded_features_are_counted():
    prior = (np.arange(30) >= 12).astype(float)
    assert "x5, ... and 6 more." in str(make_results(p=30, prior=prior))


def test_html_escapes_names_and_carries_the_title():
    page = make_results(names=NASTY)._repr_html_()
    assert "<caption>Entropy Weighted Power k-means</caption>" in page
    for name in NASTY:
        assert f"<th>{html.escape(name)}</th>" in re.sub(r"\s+</th>", "</th>", page)
    assert set(re.findall(r"</?(\w+)", page)) == {"table", "caption", "tr", "td", "th", "br"}


def test_latex_escapes_names_once():
    text = make_results(names=NASTY).summary().as_latex(label="tab:fit")
    assert r"\caption{Entropy Weighted Power k-means}" in text
    assert r"\label{tab:fit}" in text
    for escaped in (
        r"a \textless{}b\textgreater{}\&amp;",
        r"x\_1\textasciicircum{}2 \{50\%\} \textbackslash{}alpha",
        r"\$cost\$\textasciitilde{}",
        r"{[}z{]}\textbar{}\#",
        "{*}star{*}",
    ):
        assert escaped in text
    assert not re.search(r"(?<!\\)[%#$]", text)


def test_names_of_any_type_and_length_are_shown_on_one_line():
    names = [7, 2.5, ("a", 1), pd.Timestamp("2020-01-02"), "line one\nline two " + "x" * 300]
    results = make_results(names=pd.Index(names, dtype=object))
    text = str(results)
    for shown in ("7 ", "2.5 ", "('a', 1)", "2020-01-02 00:00:00", "line one lin...xxxx"):
        assert shown in text
    assert max(map(len, text.splitlines())) <= 100


def test_summary_needs_a_feature_to_list():
    with pytest.raises(ValueError, match="top=0"):
        make_results().summary(top=0)


@pytest.mark.parametrize(("n", "p", "k"), [(4, 1, 1), (3, 2, 3), (60, 1, 7)])
def test_the_smallest_fits_can_be_summarised(n, p, k):
    results = make_results(n, p, k, weights=np.ones(p), objective_trace=make_trace(0, 1, 0))
    for text in (str(results), repr(results), results._repr_html_(), results.summary().as_latex()):
        assert text


def test_a_fit_without_any_spread_has_no_share_to_report():
    assert re.search(r"Between / total SS: +--", str(make_results(totss=0.0)))


def test_repr_is_a_few_lines():
    text = repr(make_results(200, 40, 30))
    assert len(text.splitlines()) == 4
    assert "200 observations, 40 features, 30 clusters (converged after 40 iterations)" in text


# --- pickling ----------------------------------------------------------------------------------


def test_a_pickle_leaves_the_data_behind_and_predicts_as_before():
    results = make_results(5000, 20, 3, sample_weight=weighted(5000))
    X = results.data
    revived = pickle.loads(pickle.dumps(results))
    assert revived.data is None
    assert revived.sample_weight is None
    assert results.data is X
    assert len(pickle.dumps(results)) < X.to_numpy().nbytes / 5
    pd.testing.assert_series_equal(revived.predict(X), results.predict(X))
    assert str(revived) == str(results)
    assert copy.deepcopy(results).data is None


def test_a_copy_holds_the_data_and_saving_needs_a_folder(tmp_path):
    X = sixty_rows()
    found = ewp.fit(X, 2, 100.0, random_state=0)
    assert copy.copy(found).data is X
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        found.save(tmp_path / "no" / "fit")
