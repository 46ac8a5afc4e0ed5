"""Choosing the penalty, the scaling, the form and the number of clusters without labels."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics import normalized_mutual_info_score as nmi
from sklearn.model_selection import KFold, ShuffleSplit

import ewp
from ewp import candidates as candidates_module
from ewp.candidates import Candidate, Family, compare
from ewp.criteria import Gap, Predictive, Score, Stability
from ewp.datasets import make_simulation2
from ewp.deciding import RULES, decide
from ewp.density import PartitionDensity, resolution
from ewp.fitting import Recipe, fit_array
from ewp.folds import distinct_groups, folds


@pytest.fixture(scope="module")
def data():
    X, labels, relevant = make_simulation2(4, n=200, p=10, random_state=0)
    return X, labels, relevant


# -- the grid ----------------------------------------------------------------------------------


def test_path_goes_from_one_feature_to_all():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 12)) * 10.0 ** np.linspace(-5, 5, 12)
    path = ewp.lambda_path(X, 3, n_lams=15)
    total = ((X - X.mean(axis=0)) ** 2).sum(axis=0)
    weights = np.exp(-(total - total.min()) / path[:, None])
    weights /= weights.sum(axis=1, keepdims=True)
    features = np.exp(-(weights * np.log(np.maximum(weights, 1e-300))).sum(axis=1))
    assert features[0] < 1.01
    assert features[-1] > 11
    assert (np.diff(path) > 0).all()
    # every order of magnitude gets its share: no step jumps over more than two features
    assert np.diff(features).max() < 2.5


def test_path_of_standardised_features_does_not_depend_on_units():
    X = np.random.default_rng(0).standard_normal((50, 4))
    one = ewp.lambda_path(X, 2, scale="standard")
    other = ewp.lambda_path(X * [1, 10, 1e6, 1e-6], 2, scale="standard")
    np.testing.assert_allclose(one, other, rtol=1e-9)
    np.testing.assert_allclose(one[-1] / one[0], 200)


def test_path_scales_with_the_rows():
    X = np.random.default_rng(0).standard_normal((50, 4))
    once, twice = ewp.lambda_path(X, 2), ewp.lambda_path(np.vstack([X, X]), 2)
    weighted = ewp.lambda_path(X, 2, sample_weight=np.full(50, 2.0))
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-9)
    np.testing.assert_allclose(weighted, twice, rtol=1e-9)


def test_path_survives_constant_columns():
    X = np.c_[np.random.default_rng(0).standard_normal((30, 2)), np.ones(30)]
    assert np.isfinite(ewp.lambda_path(X, 2)).all()
    assert len(ewp.lambda_path(np.ones((5, 2)), 1)) == 10


# -- folds -------------------------------------------------------------------------------------


def test_equal_rows_stay_together_and_weights_count_as_copies():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 2)).astype(float)
    for fold in folds(X, None, 4, np.random.default_rng(1)):
        train, test = {*map(tuple, X[fold.train])}, {*map(tuple, X[fold.test])}
        assert not train & test
        assert len(fold.train) + len(fold.test) == 60
    values, count = np.unique(X, axis=0, return_counts=True)
    plain = [{*map(tuple, X[f.test])} for f in folds(X, None, 4, np.random.default_rng(1))]
    weighted = [
        {*map(tuple, values[f.test])}
        for f in folds(values, count.astype(float), 4, np.random.default_rng(1))
    ]
    assert plain == weighted
    assert distinct_groups(X, None)[1] == len(values)


# -- the predictive criterion ------------------------------------------------------------------


def mixture_gain_by_loops(X, labels, test, cell):
    """The documented score, written out."""
    n, p = X.shape
    groups = np.unique(labels)
    k = len(groups)
    gains = []
    columns = []
    for m in range(p):
        samples = [X[labels == g, m] for g in groups]
        result = stats.f_oneway(*samples)
        if result.pvalue * p < 0.05:
            columns.append((m, result.statistic))
    for x in test:
        cluster = []
        for g in groups:
            size = (labels == g).sum()
            value = np.log(size / n)
            for m, F in columns:
                pooled = sum(
                    ((X[labels == h, m] - X[labels == h, m].mean()) ** 2).sum() for h in groups
                ) / (n - k)
                grand = X[:, m].mean()
                mean = grand + max(0, 1 - 1 / F) * (X[labels == g, m].mean() - grand)
                sd = np.sqrt(pooled * (1 + 1 / size))
                if cell[m]:
                    value += np.log(
                        stats.norm.cdf(x[m] + cell[m] / 2, mean, sd)
                        - stats.norm.cdf(x[m] - cell[m] / 2, mean, sd)
                    )
                else:
                    value += stats.norm.logpdf(x[m], mean, sd)
            cluster.append(value)
        single = 0.0
        for m, _ in columns:
            mean, sd = X[:, m].mean(), np.sqrt(X[:, m].var(ddof=1) * (1 + 1 / n))
            if cell[m]:
                single += np.log(
                    stats.norm.cdf(x[m] + cell[m] / 2, mean, sd)
                    - stats.norm.cdf(x[m] - cell[m] / 2, mean, sd)
                )
            else:
                single += stats.norm.logpdf(x[m], mean, sd)
        gains.append(np.logaddexp.reduce(cluster) - single)
    return np.array(gains)


def test_density_gain_is_the_documented_formula():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 80)
    X = rng.standard_normal((80, 5)) + np.c_[2.0 * labels, -labels, np.zeros((80, 3))]
    X[:, 1] = X[:, 1].round()
    test = np.c_[rng.standard_normal((20, 5))]
    test[:, 1] = test[:, 1].round()
    cell = resolution(X)
    assert cell.tolist() == [0, 1, 0, 0, 0]
    density = PartitionDensity.estimate(X, labels, None, cell)
    expected = mixture_gain_by_loops(X, labels, test, cell)
    np.testing.assert_allclose(density.gain(test), expected, rtol=1e-9, atol=1e-9)


def test_density_gain_ignores_units_and_counts_weights_as_copies():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 60)
    X = rng.standard_normal((60, 4)) + 2.0 * labels[:, None] * [1, 0, 0, 1]
    cell = np.zeros(4)
    plain = PartitionDensity.estimate(X, labels, None, cell).gain(X)
    units = np.array([1e-6, 1.0, 1e3, 1e6])
    scaled = PartitionDensity.estimate(X * units, labels, None, cell).gain(X * units)
    np.testing.assert_allclose(scaled, plain, rtol=1e-9)
    count = rng.integers(1, 4, 60)
    weighted = PartitionDensity.estimate(X, labels, count.astype(float), cell)
    copies = PartitionDensity.estimate(
        np.repeat(X, count, axis=0), np.repeat(labels, count), None, cell
    )
    np.testing.assert_allclose(weighted.gain(X), copies.gain(X), rtol=1e-9)


def test_noise_and_trivial_partitions_gain_nothing():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 50))
    chance = PartitionDensity.estimate(X, rng.integers(0, 4, 200), None, np.zeros(50))
    assert np.abs(chance.gain(X).mean()) < 0.05
    one = PartitionDensity.estimate(X, np.zeros(200, dtype=int), None, np.zeros(50))
    assert (one.gain(X) == 0).all()


def test_a_binary_column_that_splits_itself_gains_almost_nothing():
    rng = np.random.default_rng(3)
    X = np.c_[rng.integers(0, 2, 400).astype(float), rng.standard_normal((400, 3))]
    split = PartitionDensity.estimate(X, X[:, 0].astype(int), None, resolution(X))
    assert abs(split.gain(X).mean()) < 0.1


# -- the other criteria ------------------------------------------------------------------------


def test_gap_equals_a_written_out_reference(data):
    X, _, _ = data
    recipe = Recipe(4, 10.0)
    criterion = Gap(3)
    (seeds,) = criterion.replicates(X, None, np.random.default_rng(0))
    score = criterion.score(X, None, recipe, seeds, 7)

    def log_between(table):
        fit = fit_array(table, None, recipe, np.random.default_rng(7))
        mean = table.mean(axis=0)
        total = 0.0
        for j in range(4):
            rows = table[fit.labels == j]
            if len(rows):
                total += len(rows) * ((rows.mean(axis=0) - mean) ** 2 @ fit.weights)
        return np.log(total)

    null = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        null.append(log_between(rng.permuted(X, axis=0)))
    assert score.value == pytest.approx(log_between(X) - np.mean(null), rel=1e-8)
    wanted = np.std(null) * np.sqrt(1 + 1 / 3)
    assert criterion.spread([score]) == pytest.approx(wanted, rel=1e-8)


def test_stability_of_clusters_is_high_and_of_one_noise_feature_is_not():
    X, _, _ = make_simulation2(4, n=200, p=10, random_state=0)
    rng = np.random.default_rng(0)
    good = Stability(2)
    replicates = good.replicates(X, None, rng)
    value = np.mean([good.score(X, None, Recipe(4, 10.0), r, 1).value for r in replicates])
    assert value > 0.9
    noise = rng.standard_normal((200, 5)) * [1, 1, 1, 1, 1e-2]
    # a tiny penalty cuts the smallest column into slices, which is stable but no structure
    sliced = [good.score(noise, None, Recipe(2, 1e-4), r, 1) for r in replicates]
    assert all(score.effective_features < 1.01 for score in sliced)
    assert np.mean([score.value for score in sliced]) < 0.5


# -- the decision ------------------------------------------------------------------------------


def scored(family, lam, values, labels=None):
    return Candidate(family, lam, [Score(v, 1.0, labels=labels) for v in values])


def test_rules_pick_as_documented():
    raw, standard = Family(False, False), Family(True, False)
    best = scored(raw, 1.0, [1.0, 1.2, 1.1, 1.3])
    close = scored(raw, 2.0, [1.1, 1.0, 1.15, 1.25])
    worse = scored(raw, 3.0, [0.5, 0.6, 0.55, 0.7])
    assert decide([best, close, worse], RULES["max"])[0] is best
    assert decide([best, close, worse], RULES["1se"])[0] is close
    assert decide([best, close, worse], RULES["1se"])[1] is best
    equal = scored(standard, 5.0, [1.0, 1.2, 1.1, 1.3])
    chosen, runner_up = decide([best, equal, worse], RULES["max"])
    assert chosen is equal  # units cannot change it
    assert runner_up is best


def test_stable_rule_prefers_agreeing_partitions():
    family = Family(True, False)
    same, other = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    firm = scored(family, 1.0, [1.0, 1.1], same)
    shaky = Candidate(family, 2.0, [Score(1.1, 1.0, labels=same), Score(1.0, 1.0, labels=other)])
    assert firm.stability == 1.0
    assert shaky.stability < 0.1
    assert decide([firm, shaky], RULES["stable"])[0] is firm
    assert decide([firm, shaky], RULES["1se"])[0] is shaky


def test_comparison_of_candidates_uses_rows_where_there_are_any():
    family = Family(True, False)
    one, two = np.array([1.0, 2.0, np.nan, np.nan]), np.array([np.nan, np.nan, 3.0, 5.0])
    a = Candidate(family, 1.0, [Score(1.5, 1, rows=one), Score(4.0, 1, rows=two)])
    b = Candidate(family, 2.0, [Score(0.5, 1, rows=one - 1), Score(4.0, 1, rows=two)])
    mean, error = compare(a, b)
    assert mean == pytest.approx(0.5)
    assert error == pytest.approx(np.std([1, 1, 0, 0], ddof=1) / 2)


# -- the whole ---------------------------------------------------------------------------------


class Untouchable:
    """Labels that nobody may look at."""

    def __getattribute__(self, name):
        raise AssertionError(f"the labels were asked for {name}")


def test_no_label_reaches_the_selection(data):
    X, _, _ = data
    model = ewp.EWP(4, scale=None, dispersion="within", random_state=0)
    blind = model.fit(X, Untouchable()).results_
    again = model.fit(X).results_
    assert blind.lam == again.lam
    np.testing.assert_array_equal(blind.labels, again.labels)


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
    assert "Runner-up" in text
    assert "selection" not in given.options


def test_selection_survives_saving(data, tmp_path):
    X, _, _ = data
    auto = ewp.fit(X, 4, scale="standard", random_state=3)
    auto.save(tmp_path / "fit")
    assert str(ewp.EWPResults.load(tmp_path / "fit").summary()) == str(auto.summary())


def test_a_number_costs_no_selection(data, monkeypatch):
    X, _, _ = data

    def forbidden(*args, **kwargs):
        raise AssertionError("a selection was started")

    monkeypatch.setattr(candidates_module, "evaluate", forbidden)
    monkeypatch.setattr("ewp.choice.evaluate", forbidden)
    assert ewp.fit(X, 4, 10.0, random_state=0).lam == 10.0


def test_table_summary_and_plot(data):
    X, _, _ = data
    chosen = ewp.select_lambda(X, 4, n_lams=4, random_state=0)
    table = chosen.table
    assert len(table) == 12
    assert set(table["scaling"]) == {"none", "standard"}
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


@pytest.mark.parametrize("criterion", ["predictive", "stability", "gap"])
def test_every_criterion_finds_the_clusters(data, criterion):
    X, labels, _ = data
    chosen = ewp.select_lambda(
        X, 4, criterion=criterion, cv=3, n_lams=6, scale="standard", random_state=0
    )
    assert nmi(labels, chosen.results.labels) > 0.95
    assert chosen.criterion == criterion


@pytest.mark.parametrize(
    "cv", [KFold(3, shuffle=True, random_state=0), ShuffleSplit(2, random_state=0)]
)
def test_splitters_of_scikit_learn_are_taken(data, cv):
    X, _, _ = data
    chosen = ewp.select_lambda(X, 4, cv=cv, n_lams=3, scale="standard", random_state=0)
    assert chosen.table["replicates"].max() == cv.get_n_splits(X)


def test_processes_do_not_change_the_choice(data):
    X, _, _ = data
    one, two = (
        ewp.select_lambda(X, 4, n_lams=3, scale="standard", random_state=0, n_jobs=jobs)
        for jobs in (None, 2)
    )
    pd.testing.assert_frame_equal(one.table, two.table)


def test_rows_in_any_order_and_weights_for_copies_choose_the_same(data):
    X, _, _ = data
    options = {"n_lams": 3, "scale": "standard", "random_state": 0}
    plain = ewp.select_lambda(X, 4, **options)
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = ewp.select_lambda(X[order], 4, **options)
    np.testing.assert_allclose(shuffled.table["mean"], plain.table["mean"], rtol=1e-6)
    assert shuffled.lam == pytest.approx(plain.lam)
    np.testing.assert_array_equal(shuffled.results.labels, plain.results.labels.to_numpy()[order])
    count = np.random.default_rng(2).integers(0, 3, len(X))
    weighted = ewp.select_lambda(X, 4, sample_weight=count, **options)
    copies = ewp.select_lambda(np.repeat(X, count, axis=0), 4, **options)
    assert weighted.lam == pytest.approx(copies.lam)
    np.testing.assert_allclose(weighted.table["mean"], copies.table["mean"], rtol=1e-6)


def test_interruption_keeps_what_is_finished(data, monkeypatch):
    X, _, _ = data
    calls = {"count": 0}
    plain = Predictive.score

    def interrupted(self, *args):
        calls["count"] += 1
        if calls["count"] > 8:
            raise KeyboardInterrupt
        return plain(self, *args)

    monkeypatch.setattr(Predictive, "score", interrupted)
    with pytest.warns(UserWarning, match="interrupted"):
        chosen = ewp.select_lambda(X, 4, n_lams=3, scale="standard", random_state=0)
    assert not chosen.complete
    assert chosen.table["replicates"].tolist() == [2, 2, 2]
    assert "interrupted" in chosen.reason


def test_too_few_rows_are_said_to_be_too_few():
    X = np.random.default_rng(0).standard_normal((8, 3))
    with pytest.warns(UserWarning, match="8 rows are too few to choose a penalty for 7 clusters"):
        found = ewp.fit(X, 7, random_state=0)
    assert "too few" in str(found.summary())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "aic"}, "criterion='aic' is unknown"),
        ({"rule": "2se"}, "rule='2se' is unknown"),
        ({"lams": []}, "lams is empty"),
        ({"lams": [1.0, -2.0]}, "lams=-2.0 must be"),
        ({"cv": 1}, "cv=1 must be at least 2"),
        ({"n_lams": 0}, "n_lams=0"),
    ],
)
def test_bad_selection_options_are_named(data, options, message):
    with pytest.raises(ValueError, match=message):
        ewp.select_lambda(data[0], 4, **options)


def test_given_penalties_are_used(data):
    X, _, _ = data
    chosen = ewp.select_lambda(X, 4, lams=[40.0, 10.0], scale="standard", random_state=0)
    assert chosen.table["lam"].tolist() == [10.0, 40.0]


def test_scaling_is_chosen_where_it_matters():
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 4
    centres = np.array([[0.0, 0.0], [0.0, 6.0], [6.0, 0.0], [6.0, 6.0]])
    # noise of a hundredth of the scale: raw, no penalty of the within form weighs it down
    X = np.hstack([centres[labels] + rng.standard_normal((200, 2)), rng.normal(0, 0.01, (200, 3))])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = ewp.fit(X, 4, dispersion="within", random_state=0)
    assert chosen.scaling == "standard"
    assert nmi(labels, chosen.labels) > 0.95


@pytest.mark.parametrize("scale", [None, "standard"])
def test_number_of_clusters(scale):
    found = []
    for seed in range(3):
        X, labels, _ = make_simulation2(5, p=20, random_state=seed)
        chosen = ewp.select_k(
            X,
            range(3, 8),
            scale=scale,
            dispersion="within",
            cv=3,
            n_lams=5,
            random_state=seed,
        )
        found.append(chosen.k)
        assert adjusted_rand_score(labels, chosen.fits[5].labels) > 0.99
    assert found.count(5) >= 2
    assert "number of clusters" in str(chosen)
    assert chosen.results.n_clusters == chosen.k
    marked = [line for line in chosen.plot().lines if line.get_label() == "chosen"]
    assert marked[0].get_xdata()[0] == chosen.k


def test_automatic_fits_of_few_rows_and_many_features_take_several_starts():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 40))
    X[:15, :10] += 3
    auto = ewp.fit(X, 2, scale="standard", random_state=0)
    assert auto.options["n_init"] == 5
    assert adjusted_rand_score(np.arange(30) < 15, auto.labels) == 1.0
    assert ewp.fit(X, 2, 10.0, random_state=0).options["n_init"] == 1
