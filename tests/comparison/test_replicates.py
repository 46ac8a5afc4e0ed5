"""What the test counts: starts, resamples or data sets; and what the marks say of it."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon
from sklearn.datasets import load_iris

mpl.use("Agg")

import ewp
from ewp.comparison.several import SeveralComparisons
from ewp.comparison.tables import mark, marks_note
from ewp.comparison.trials import draw_resamples
from ewp.datasets import make_simulation2
from tests.support.comparisons import Recorder

OPTIONS = {"scale": None, "lam": 6.0, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    X, labels, _ = make_simulation2(3, n=90, p=6, n_relevant=3, random_state=0)
    return X, labels


def one_line(text):
    return " ".join(str(text).split())


# --- marks -------------------------------------------------------------------------------------


def worse(X, k, start, rng):
    return np.zeros(len(X), dtype=int)


def test_marks_have_the_direction_of_the_difference(data):
    X, labels = data

    def oracle(X, k, start, rng):
        return labels

    found = ewp.compare(X, 3, labels, (worse, oracle, "kmeans"), 8, reference="kmeans", **OPTIONS)
    table = found.table()
    assert table.loc["worse", "nmi"] < table.loc["kmeans", "nmi"] < table.loc["oracle", "nmi"]
    assert table["nmi_mark"].tolist() == ["+", "−", ""]
    assert "+ kmeans is better, − it is worse" in one_line(found)
    latex = found.summary().as_latex()
    assert "$-$" in latex
    assert "−" not in latex


def test_the_direction_is_that_of_the_signed_ranks():
    one, other = np.array([1.0, 2, 3, 4, 5, -100]), np.zeros(6)
    # the mean is negative, the ranks speak for the first
    assert mark(one, other, 0.01) == "+"
    assert mark(other, one, 0.01) == "−"
    assert mark(one, other, 0.05) == "≃"


def test_too_few_replicates_are_named():
    assert "1 start is too few" in marks_note("ewp", 1, "starts")
    assert "3 data sets are too few" in marks_note("ewp", 3, "data sets")
    assert "too few" not in marks_note("ewp", 6, "starts")


# --- starts ------------------------------------------------------------------------------------


def test_starts_are_reported_as_what_they_are(data):
    X, labels = data
    found = ewp.compare(X, 3, labels, ("kmeans", "ewp"), 6, **OPTIONS)
    text = one_line(found)
    assert "6 starts on one data set" in text
    assert "starts, not data" in text
    assert "nothing of other data" in text


# --- resamples ---------------------------------------------------------------------------------


def test_resamples_are_drawn_with_replacement_and_shared_by_the_methods(data):
    X, labels = data
    one, two = Recorder("one"), Recorder("two")
    found = ewp.compare(X, 3, labels, (one, two), 4, replicates="bootstrap", **OPTIONS)
    seed = int(np.random.default_rng(0).integers(2**31, size=2)[1])
    drawn = draw_resamples(X, 3, 4, seed)
    for (rows, _, start, _), (other, _, same, _), own in zip(
        one.seen, two.seen, drawn, strict=True
    ):
        np.testing.assert_array_equal(rows, X[own])
        np.testing.assert_array_equal(other, X[own])
        np.testing.assert_array_equal(start, same)
        gaps = np.abs(X[own][:, None] - start).max(axis=2)
        assert (gaps.min(axis=0) < 1e-12).all()
    assert found.replicates == "bootstrap"
    share = len(np.unique(drawn[0])) / len(X)
    assert 0.5 < share < 0.75


def test_rows_that_were_not_drawn_have_no_cluster_and_the_others_are_scored(data):
    X, labels = data
    found = ewp.compare(X, 3, labels, ("kmeans", "ewp"), 6, replicates="bootstrap", **OPTIONS)
    seed = int(np.random.default_rng(0).integers(2**31, size=2)[1])
    drawn = draw_resamples(X, 3, 6, seed)
    for trial, rows in enumerate(drawn):
        own = found.labels["ewp"].iloc[trial].to_numpy()
        assert set(np.flatnonzero(own < 0)) == set(range(90)) - set(rows)
        score = ewp.metrics.rand_index(labels[rows], own[rows])
        assert found.scores.query("trial == @trial and method == 'ewp'")["ari"].item() == score
    text = one_line(found)
    assert "6 bootstrap resamples of the rows" in text
    assert "without classes, once, on all rows" in text
    axes = found.plot_clusters("ewp", trial=0)
    assert len(axes[0].collections[0].get_offsets()) == len(np.unique(drawn[0]))


def test_resamples_do_not_depend_on_the_processes(data):
    X, labels = data
    options = {"n_trials": 4, "replicates": "bootstrap", **OPTIONS}
    one = ewp.compare(X, 3, labels, ("kmeans", "ewp"), **options)
    two = ewp.compare(X, 3, labels, ("ewp",), n_jobs=2, **options)
    pd.testing.assert_frame_equal(one.labels["ewp"], two.labels["ewp"])


def test_the_call_of_a_bootstrap_gives_it_again(data):
    X, y = data
    found = ewp.compare(X, 3, y, ("kmeans",), 3, replicates="bootstrap", **OPTIONS)
    again = eval(found.call, {"ewp": ewp, "X": X, "y": y})
    assert 'replicates="bootstrap"' in found.call
    pd.testing.assert_frame_equal(again.labels["kmeans"], found.labels["kmeans"])


# --- data sets ---------------------------------------------------------------------------------


def made_sets(count=6):
    made = (make_simulation2(3, n=60, p=5, n_relevant=2, random_state=i) for i in range(count))
    return {f"draw {i}": (X, labels) for i, (X, labels, _) in enumerate(made)}


@pytest.fixture(scope="module")
def several():
    return ewp.compare(
        made_sets(), 3, methods=("kmeans", "ewp"), n_trials=2, scale=None, lam=5.0, random_state=0
    )


def test_data_sets_are_the_replicates(several):
    assert isinstance(several, SeveralComparisons)
    scores = several.scores.pivot_table(index="dataset", columns="method", values="nmi")
    means = [
        found.scores.groupby("method")["nmi"].mean()["ewp"]
        for found in several.comparisons.values()
    ]
    np.testing.assert_allclose(scores["ewp"], means)
    table = several.table()
    assert table.loc["ewp", "nmi"] == pytest.approx(np.mean(means))
    assert table.loc["ewp", "nmi_sd"] == pytest.approx(np.std(means, ddof=1))
    assert table.loc["kmeans", "nmi_p"] == wilcoxon(scores["kmeans"] - scores["ewp"]).pvalue
    assert table.loc["kmeans", "nmi_mark"] == "+"


def test_the_printout_speaks_of_data_sets(several):
    text = one_line(several)
    assert "over 6 data sets" in text
    assert "mean over 2 starts" in text
    assert "The replicates are data sets" in text
    assert "draw 3" in text
    assert repr(several).startswith("SeveralComparisons: 6 data sets, nmi: kmeans 0.")


def test_every_call_gives_its_comparison_again(several):
    X = made_sets()
    again = eval(several.call, {"ewp": ewp, "X": X})
    pd.testing.assert_frame_equal(
        again.scores.drop(columns="seconds"), several.scores.drop(columns="seconds")
    )
    assert several.comparisons["draw 2"].call.endswith(".comparisons['draw 2']")


def test_a_data_set_does_not_depend_on_those_after_it(several):
    fewer = ewp.compare(
        made_sets(2), 3, methods=("kmeans", "ewp"), n_trials=2, scale=None, lam=5.0, random_state=0
    )
    one, two = (found.comparisons["draw 1"].labels["ewp"] for found in (several, fewer))
    pd.testing.assert_frame_equal(one, two)


def test_data_sets_may_differ_in_size_and_number_of_clusters():
    iris = load_iris(as_frame=True).data
    X = {"iris": iris, "blobs": make_simulation2(4, n=60, p=5, random_state=1).X}
    found = ewp.compare(
        X, {"iris": 3, "blobs": 4}, methods=("kmeans", "power"), n_trials=1, **OPTIONS
    )
    assert [one.k for one in found.comparisons.values()] == [3, 4]
    assert found.measures == ["silhouette", "between"]
    assert found.reference is None
    assert "data sets are too few" not in one_line(found)


def test_the_page_of_several_data_sets(several, tmp_path):
    several.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Scores by data set" in page
    assert "draw 5" in page
    assert "ewp.compare(X, 3" in page


def test_an_interruption_keeps_the_finished_data_sets():
    calls = []

    def impatient(X, k, start, rng):
        calls.append(1)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return np.arange(len(X)) % k

    with pytest.warns(UserWarning, match="interrupted"):
        found = ewp.compare(made_sets(), 3, methods=(impatient,), n_trials=2, **OPTIONS)
    assert list(found.comparisons) == ["draw 0", "draw 1"]
    assert not found.complete
    assert "interrupted: finished data sets only" in one_line(found)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        ({}, {}, "X is empty"),
        (made_sets(2), {"y": [1, 2]}, "y belongs to one data set"),
        (made_sets(2), {"init": np.zeros((2, 3, 5))}, "init has centroids of one data set"),
        (made_sets(1) | {"bare": np.zeros((9, 2))}, {}, "'bare' has no classes, but others do"),
        (made_sets(2), {"k": {"draw 0": 3}}, "no number of clusters for the data set 'draw 1'"),
        (np.eye(9), {"replicates": "folds"}, "replicates='folds'"),
    ],
)
def test_impossible_comparisons_are_named(X, options, message):
    with pytest.raises(ValueError, match=message):
        ewp.compare(X, **({"k": 3, "methods": ("kmeans",)} | options))
