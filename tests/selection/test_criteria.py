"""Folds, the criteria on them, and the rule that decides between their scores."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import adjusted_rand_score

from ewp.candidates import Candidate, Family
from ewp.criteria import Gap, Predictive, Score, Stability
from ewp.datasets import make_simulation2
from ewp.deciding import RULES, decide
from ewp.density import PartitionDensity, resolution
from ewp.fitting import Recipe, fit_array
from ewp.racing import compare, hopeful
from ewp.rand_index import rand_index

# -- folds --------------------------------------------------------------------------------------


# -- the predictive criterion -------------------------------------------------------------------


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


def test_constant_columns_are_worth_nothing():
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    X = rng.standard_normal((90, 3)) + 3.0 * labels[:, None]
    # the mean of equal values is not exactly that value
    wider = np.c_[X, np.full(90, 0.1), np.full(90, 1e8 + 0.1)]
    assert wider[:, 3].mean() != 0.1
    plain = PartitionDensity.estimate(X, labels, None, np.zeros(3))
    padded = PartitionDensity.estimate(wider, labels, None, np.zeros(5))
    np.testing.assert_allclose(padded.gain(wider), plain.gain(X), rtol=1e-12)


def test_rounding_errors_are_no_resolution():
    X = np.random.default_rng(0).integers(0, 5, (100, 2)) * np.array([0.1, 1.0])
    X[::2, 0] = (X[::2, 0] + 0.7) - 0.7
    assert len(np.unique(X[:, 0])) > 5
    np.testing.assert_allclose(resolution(X), [0.1, 1.0], rtol=1e-12)
    np.testing.assert_allclose(resolution(X + 1e8), [0.1, 1.0], rtol=1e-6)


def test_copies_have_the_resolution_of_weights():
    X = np.random.default_rng(0).integers(0, 40, (50, 2)).astype(float)
    count = np.full(50, 3)
    copied = resolution(np.repeat(X, count, axis=0))
    np.testing.assert_array_equal(resolution(X, count.astype(float)), copied)
    assert (copied > resolution(X)).any()


# -- the other criteria -------------------------------------------------------------------------


def test_gap_equals_a_written_out_reference():
    X, _, _ = make_simulation2(4, n=200, p=10, random_state=0)
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


@pytest.mark.parametrize("criterion", [Stability(2), Gap(2), Predictive(3)])
def test_one_cluster_is_worth_nothing(criterion):
    X, _, _ = make_simulation2(3, n=60, p=5, random_state=0)
    replicates = criterion.replicates(X, None, np.random.default_rng(0))
    values = [criterion.score(X, None, Recipe(1, 5.0), r, 1).value for r in replicates]
    np.testing.assert_allclose(values, 0.0, atol=1e-9)


def test_agreement_counts_weights_as_copies():
    rng = np.random.default_rng(0)
    one, two, count = rng.integers(0, 3, 30), rng.integers(0, 4, 30), rng.integers(1, 5, 30)
    expected = adjusted_rand_score(np.repeat(one, count), np.repeat(two, count))
    assert rand_index(one, two, count.astype(float)) == pytest.approx(expected, rel=1e-12)
    assert rand_index(one, one, count.astype(float)) == 1.0
    assert rand_index(0 * one, 0 * one, count.astype(float)) == 1.0
    assert rand_index(one, two) == adjusted_rand_score(one, two)


def test_weights_that_cannot_be_copies_are_proportions():
    X, _, _ = make_simulation2(3, n=90, p=5, random_state=0)
    weight = np.random.default_rng(0).uniform(1.0, 2.0, 90)
    weight *= 90 / weight.sum()
    criterion, scores = Predictive(3), []
    for factor, lam in ((1.0, 5.0), (1e-3, 5e-3)):
        part = criterion.replicates(X, factor * weight, np.random.default_rng(0))[0]
        scores.append(criterion.score(X, factor * weight, Recipe(3, lam), part, 1))
    assert scores[0].value > 1
    assert scores[1].value == pytest.approx(scores[0].value, rel=1e-9)


# -- the decision -------------------------------------------------------------------------------


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
    made = decide([best, equal, worse], RULES["max"])
    assert made.chosen is equal  # units cannot change it
    assert made.runner_up is best


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


def test_comparison_counts_weights_as_copies():
    family = Family(True, False)
    rng = np.random.default_rng(0)
    first, second, count = rng.random(9), rng.random(9), rng.integers(1, 4, 9)

    def candidates(rows, copies):
        return [Candidate(family, 1.0, [Score(0.0, 1, rows=r, copies=copies)]) for r in rows]

    weighted = compare(*candidates((first, second), count.astype(float)))
    copied = compare(*candidates((np.repeat(first, count), np.repeat(second, count)), None))
    assert weighted == pytest.approx(copied, rel=1e-12)
    assert copied[0] == pytest.approx(np.repeat(first - second, count).mean())


def test_without_partitions_the_stable_rule_takes_and_names_the_largest_penalty():
    family = Family(True, False)
    entries = [scored(family, lam, [1.0, 1.1]) for lam in (1.0, 3.0, 2.0)]
    made = decide(entries, RULES["stable"])
    assert made.chosen.lam == 3.0
    assert RULES["stable"].words(made) == "the largest penalty within 0.5 SE of the best"


def test_a_tiny_lead_is_none_however_certain():
    family = Family(True, False)
    certain = [scored(family, 1.0, [8.0, 8.1]), scored(family, 2.0, [7.9995, 8.0995])]
    made = decide(certain, RULES["stable"])
    assert (made.chosen.lam, made.best.lam) == (2.0, 1.0)
    assert RULES["stable"].words(made) == "the largest penalty within 0.01% of the best"
    assert decide(certain, RULES["max"]).chosen.lam == 1.0
    assert decide(certain, RULES["1se"]).chosen.lam == 1.0
    far = [scored(family, 1.0, [8.0, 8.1]), scored(family, 2.0, [7.999, 8.099])]
    assert decide(far, RULES["stable"]).chosen.lam == 1.0


def test_a_candidate_that_leads_by_little_drives_none_out_of_the_race():
    family = Family(True, False)
    rows = np.linspace(7.0, 9.0, 1000)

    def row_scores(lam, shift):
        return Candidate(family, lam, [Score(8.0 - shift, 1, rows=rows - shift)] * 2)

    best, close, far = (
        row_scores(lam, shift) for lam, shift in ((1.0, 0), (2.0, 0.0007), (3.0, 0.001))
    )
    assert hopeful([best, close, far]) == [best, close]


def test_candidates_that_were_given_up_set_no_standard():
    family = Family(True, False)
    given_up = scored(family, 1.0, [9.0])
    finished = [scored(family, lam, [1.0, 1.0 + 0.1 * lam]) for lam in (2.0, 3.0)]
    made = decide([given_up, *finished], RULES["max"])
    assert made.chosen is made.best is made.top is finished[1]
    assert made.runner_up is finished[0]
