"""The summary of a fit: the facts it states, in text, HTML and LaTeX, and how it fits a page."""

from __future__ import annotations

import html
import re

import numpy as np
import pandas as pd
import pytest

from tests.support.results import make_results, make_trace, uneven_weights

NASTY = ["a <b>&amp;", r"x_1^2 {50%} \alpha", "$cost$~", "[z]|#", "*star*"]


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
        sample_weight=uneven_weights(),
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
