"""Choosing the penalty, the scaling and the form without labels."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics import normalized_mutual_info_score as nmi

import ewp
from ewp.datasets import make_simulation2


@pytest.fixture(scope="module")
def data():
    return make_simulation2(4, n=200, p=10, random_state=0)


def test_auto_is_the_default_and_equals_the_fit_with_what_it_chose(data):
    X, labels, relevant = data
    auto = ewp.fit(X, 4, random_state=3)
    assert nmi(labels, auto.labels) > 0.99
    assert auto.weights.iloc[relevant].sum() > 0.95
    given = ewp.fit(
        X,
        4,
        auto.lam,
        scale="standard" if auto.scaling == "standard" else None,
        dispersion=auto.dispersion,
        random_state=3,
    )
    assert given.objective == auto.objective
    np.testing.assert_array_equal(given.weights, auto.weights)
    text = str(auto.summary())
    assert "predictive criterion" in " ".join(text.split())
    assert "Next best" in text
    assert "selection" not in given.options


def test_selection_survives_saving(data, tmp_path):
    X, _, _ = data
    auto = ewp.fit(X, 4, scale="standard", random_state=3)
    auto.save(tmp_path / "fit")
    assert str(ewp.EWPResults.load(tmp_path / "fit").summary()) == str(auto.summary())


def test_table_summary_and_plot(data):
    X, _, _ = data
    chosen = ewp.select_lambda(X, 4, n_lams=4, random_state=0)
    table = chosen.table
    # four penalties in three families, two in each of the decorrelated ones
    assert len(table) == 16
    assert set(table["scaling"]) == {"none", "standard", "decorrelate", "decorrelate:0.25"}
    complete = table[table["replicates"] == table["replicates"].max()]
    scores = complete[[c for c in table.columns if c.startswith("score_")]]
    np.testing.assert_allclose(scores.mean(axis=1), complete["mean"])
    row = table[(table["lam"] == chosen.lam) & (table["scaling"] == chosen.scaling)].iloc[0]
    assert row["replicates"] == table["replicates"].max()
    assert f"{row['mean']:.4g}" in str(chosen)
    assert chosen.results.lam == chosen.lam
    assert "<table" in chosen._repr_html_()
    assert repr(chosen).startswith("LambdaSelection: lambda = ")
    ax = chosen.plot()
    marked = [line for line in ax.lines if line.get_label() == "chosen"]
    assert marked[0].get_xdata()[0] == pytest.approx(chosen.lam / len(X))


@pytest.mark.parametrize("criterion", ["predictive", "stability", "gap", "strength"])
def test_every_criterion_finds_the_clusters(data, criterion):
    X, labels, _ = data
    chosen = ewp.select_lambda(
        X, 4, criterion=criterion, cv=3, n_lams=6, scale="standard", random_state=0
    )
    assert nmi(labels, chosen.results.labels) > 0.95
    assert chosen.criterion == criterion


def test_scaling_is_chosen_where_it_matters():
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 4
    centres = np.array([[0.0, 0.0], [0.0, 6.0], [6.0, 0.0], [6.0, 6.0]])
    # noise of a hundredth of the scale: raw, no penalty of the within form weighs it down
    X = np.hstack([centres[labels] + rng.standard_normal((200, 2)), rng.normal(0, 0.01, (200, 3))])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = ewp.fit(X, 4, dispersion="within", random_state=0)
    # decorrelated features are standardised too, and these have no correlations
    assert chosen.scaling in ("standard", "decorrelate", "decorrelate:0.25")
    assert nmi(labels, chosen.labels) > 0.95


def test_automatic_fits_of_few_rows_and_many_features_find_the_groups():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 40))
    X[:15, :10] += 3
    auto = ewp.fit(X, 2, scale="standard", random_state=0)
    assert auto.n_starts >= 5
    assert adjusted_rand_score(np.arange(30) < 15, auto.labels) == 1.0


def test_the_choice_does_not_hang_on_the_seed(data):
    X, _, _ = data
    chosen = [ewp.select_lambda(X, 4, n_lams=4, random_state=seed) for seed in (0, 1)]
    assert chosen[0].lam == chosen[1].lam
    assert chosen[0].table.equals(chosen[1].table)


def test_summary_says_what_the_table_says(data):
    X, _, _ = data
    chosen = ewp.select_lambda(X, 4, n_lams=4, random_state=0)
    record, table = chosen.results.options["selection"], chosen.table
    finished = table[table["replicates"] == table["replicates"].max()]
    assert record["best_score"] == finished["mean"].max()
    family = finished[
        (finished["scaling"] == chosen.scaling) & (finished["dispersion"] == chosen.dispersion)
    ]
    assert record["family_best_score"] == family["mean"].max()
    row = family[family["lam"] == chosen.lam].iloc[0]
    assert (record["chosen"]["score"], record["chosen"]["se"]) == (row["mean"], row["se"])
    others = finished.drop(family.index)
    assert record["runner_up"]["score"] == others["mean"].max()
    assert record["candidates"] == len(table)
    text = " ".join(str(chosen.summary()).split())
    assert chosen.reason in text
    given_up = (table["replicates"] < table["replicates"].max()).any()
    assert ("were not scored further" in text) == given_up
    assert chosen.reason in " ".join(str(chosen.results.summary()).split())


@pytest.mark.parametrize("rule", ["stable", "1se", "max"])
@pytest.mark.parametrize("criterion", ["predictive", "stability", "gap"])
def test_every_rule_works_with_every_criterion(criterion, rule):
    X, _, _ = make_simulation2(3, n=90, p=6, random_state=0)
    chosen = ewp.select_lambda(
        X, 3, criterion=criterion, rule=rule, cv=2, n_lams=3, scale="standard", random_state=0
    )
    table = chosen.table
    expected = {"predictive": 4, "stability": 2, "gap": 2}[criterion]
    assert table["replicates"].max() == expected
    scores = table[[name for name in table if name.startswith("score_")]]
    np.testing.assert_allclose(scores.mean(axis=1), table["mean"])
    assert table["stability"].isna().all() == (criterion == "gap")
    if rule == "max":
        of_chosen = table["mean"][table["lam"] == chosen.lam]
        assert of_chosen.item() == pytest.approx(table["mean"].max(), abs=1e-9)
    what = "the most stable" if criterion == "predictive" else "the largest penalty"
    words = {
        "stable": f"{what} of those within 0.5 standard errors of the difference to the best",
        "1se": "the largest penalty of those within 1 standard error of the difference to the best",
        "max": "the best",
    }
    assert words[rule] in chosen.reason


def test_the_mark_of_the_plot_is_the_choice_at_any_scale():
    X, _, _ = make_simulation2(3, n=90, p=6, random_state=0)
    chosen = ewp.select_lambda(
        1e-8 * X, 3, n_lams=4, scale=None, dispersion="within", random_state=0
    )
    marked = [line for line in chosen.plot().lines if line.get_label() == "chosen"]
    assert marked[0].get_xdata()[0] == chosen.lam / 90


def test_clusters_of_few_rows_in_many_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 500))
    X[:20, :20] += 2.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = ewp.select_lambda(X, 2, n_lams=3, cv=3, scale="standard", random_state=0)
    assert adjusted_rand_score(np.arange(40) < 20, chosen.results.labels) == 1.0


def test_features_with_no_prior_have_no_part_in_the_grid():
    X = np.random.default_rng(0).standard_normal((60, 3)) * [1.0, 2.0, 1e-6]
    options = {"scale": None, "dispersion": "within", "n_lams": 3, "random_state": 0}
    narrow = ewp.select_lambda(X, 2, prior=[1, 1, 0], **options).table["lam"]
    np.testing.assert_allclose(narrow, ewp.lambda_path(X[:, :2], 2, n_lams=3), rtol=1e-9)
