"""Options that are scored together, in common passes, and what does not change a choice."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

import ewp
from ewp.datasets import make_simulation2
from ewp.selection import parts as parts_module
from ewp.selection.base import OwnCriterion, Score
from ewp.selection.criteria import Gap, Predictive, Stability
from ewp.selection.options import SelectionOptions
from ewp.solver import batch
from ewp.solver.fit import FitOptions
from tests.support.results import assert_identical

CRITERIA = [Predictive(3), Stability(2), Gap(2)]


@pytest.fixture(scope="module")
def X():
    return make_simulation2(3, n=120, p=6, n_relevant=3, random_state=0).X


def in_families(lam):
    """One penalty in every family: none has a neighbour to learn from."""
    options = FitOptions(3).lighter()
    of_families = (
        ("standard", "within"),
        (None, "within"),
        (None, "between"),
        ("decorrelate", "within"),
        ("decorrelate:0.25", "within"),
    )
    return [options.settle(lam, scale=scale, dispersion=form) for scale, form in of_families]


def assert_alike(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-9, abs=1e-9)
        assert one.effective_features == pytest.approx(other.effective_features, rel=1e-7)
        for name in ("rows", "labels"):
            if getattr(one, name) is not None:
                np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-7)


def scores_together_and_apart(criterion, X, options):
    replicate = criterion.replicates(X, None, np.random.default_rng(0))[0]
    together = criterion.score_all(X, None, options, replicate, 5)
    return together, [criterion.score(X, None, one, replicate, 5) for one in options]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_options_of_different_families_are_scored_together_as_alone(criterion, X):
    assert_alike(*scores_together_and_apart(criterion, X, in_families(12.0)))


@pytest.mark.parametrize("weighted", [False, True])
def test_folds_are_scored_together_as_one_after_the_other(X, weighted):
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float) if weighted else None
    criterion, options = Predictive(4), in_families(12.0)
    replicates = criterion.replicates(X, weight, np.random.default_rng(0))
    seeds = list(range(len(replicates)))
    together = criterion.score_replicates(X, weight, options, replicates, seeds)
    for found, replicate, seed in zip(together, replicates, seeds, strict=True):
        assert_alike(found, criterion.score_all(X, weight, options, replicate, seed))


def test_a_fold_tells_what_is_hopeless_if_it_holds_out_rows_enough(X):
    """Rows of a weight count as copies."""
    few, many = Predictive(10), Predictive(2)
    weight = np.full(len(X), 5.0)
    for criterion, given, tells in ((few, None, False), (few, weight, True), (many, None, True)):
        replicates = criterion.replicates(X, given, np.random.default_rng(0))
        assert criterion.first_tells(replicates, 50) is tells


@pytest.mark.parametrize("criterion", CRITERIA)
def test_penalties_that_do_not_exchange_are_scored_together_as_alone(criterion, X, monkeypatch):
    def apart(engine, runs, rule, begun, options):
        return [begun[b] for b in range(len(runs))]

    monkeypatch.setattr(batch, "_exchange", apart)
    options = [FitOptions(3).lighter().settle(lam) for lam in (0.5, 6.0, 12.0, 60.0)]
    assert_alike(*scores_together_and_apart(criterion, X, options))


def test_penalties_that_exchange_only_fit_better(X, monkeypatch):
    """What neighbours in a grid change is that objectives fall."""
    ends = []
    plain = parts_module.fit_runs

    def recorded(*arguments):
        found = plain(*arguments)
        ends.append(found.objective)
        return found

    monkeypatch.setattr(parts_module, "fit_runs", recorded)
    noise = np.random.default_rng(3).standard_normal((90, 5))
    options = [FitOptions(5).lighter().settle(lam) for lam in np.geomspace(0.5, 100, 6)]
    scores_together_and_apart(Predictive(3), noise, options)
    together, apart = ends[0], np.concatenate(ends[1:])
    assert (together <= apart + 1e-9 * np.abs(apart)).all()


def test_what_options_have_in_common_is_theirs(X):
    """Steps, starts and polish of the fits are those that were asked for."""
    hasty = [dataclasses.replace(one, max_iter=1, polish=False) for one in in_families(12.0)]
    together, apart = scores_together_and_apart(Predictive(3), X, hasty)
    assert_alike(together, apart)
    thorough, _ = scores_together_and_apart(Predictive(3), X, in_families(12.0))
    assert [one.value for one in together] != [one.value for one in thorough]


@pytest.mark.parametrize("criterion", ["predictive", "stability", "gap"])
def test_processes_change_no_digit_of_a_score(criterion, X):
    options = {"n_lams": 4, "cv": 3, "criterion": criterion, "random_state": 0}
    one, two = (ewp.select_lambda(X, 3, n_jobs=jobs, **options) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one.table, two.table, check_exact=True)
    assert_identical(two.results, one.results)


@pytest.mark.parametrize("criterion", ["predictive", "stability", "gap"])
def test_another_seed_of_the_fit_does_not_change_the_choice(criterion):
    overlapping = np.random.default_rng(1).standard_normal((100, 4))
    overlapping[:50, :2] += 1.5
    options = {"n_lams": 4, "cv": 3, "criterion": criterion}
    chosen = [
        ewp.select_lambda(overlapping, 2, random_state=seed, **options) for seed in (0, 1, None)
    ]
    for other in chosen[1:]:
        pd.testing.assert_frame_equal(other.table, chosen[0].table, check_exact=True)
        assert other.lam == chosen[0].lam


class Compactness:
    """A criterion of somebody's own, with nothing but what it needs."""

    def replicates(self, X, weight, rng):
        return [rng.permutation(len(X))[:60] for _ in range(3)]

    def score(self, X, weight, options, replicate, seed):
        fit = ewp.fit(
            X[replicate],
            options.n_clusters,
            options.penalty,
            scale=options.scale,
            dispersion=options.dispersion,
            random_state=seed,
            n_init=1,
        )
        return Score(-float(fit.clusters["withinss"].sum()) / fit.totss, fit.effective_features)

    def spread(self, scores):
        return float(np.std([score.value for score in scores]))


def test_a_criterion_of_the_users_own_needs_three_methods(X):
    found = ewp.select_lambda(X, 3, criterion=Compactness(), lams=[1.0, 10.0], random_state=0)
    assert found.lam in (1.0, 10.0)
    assert found.results.selection["criterion"] == "Compactness"
    assert (found.table["replicates"] == 3).all()
    # the same values as the criterion gives when it is asked
    drawn = Compactness().replicates(X, None, np.random.default_rng(0))
    assert len(drawn) == 3
    wrapped = OwnCriterion(Compactness())
    options = in_families(10.0)
    scores = wrapped.score_all(X, None, options, drawn[0], 3)
    for one, score in zip(options, scores, strict=True):
        assert score.value == Compactness().score(X, None, one, drawn[0], 3).value
    np.testing.assert_array_equal(wrapped.values(scores), [score.value for score in scores])
    assert wrapped.for_rows(X, None) is wrapped
    assert wrapped.has_enough_rows(np.arange(3), 3, 3)


def test_a_criterion_without_its_methods_is_refused(X):
    class Half:
        replicates = Compactness.replicates

    for wrong in (Half(), Compactness, 3):
        with pytest.raises(ValueError, match=re.escape("replicates, score, spread")):
            SelectionOptions(criterion=wrong).make_criterion()


def test_penalties_that_score_as_well_are_told_with_their_range(X):
    found = ewp.select_lambda(X, 3, scale="standard", n_lams=6, random_state=0)
    alike = found.results.selection["alike"]
    curve = found.table.sort_values("lam")
    assert alike["smallest"] <= found.lam <= alike["largest"]
    within = curve["lam"].between(alike["smallest"], alike["largest"])
    assert alike["count"] <= within.sum()
    told = " ".join(str(found.results).split())
    assert (alike["count"] > 1) == ("score as well" in told)
    assert -1 <= alike["agreement"] <= 1
    single = ewp.select_lambda(X, 3, lams=[10.0], scale="standard", random_state=0)
    assert single.results.selection["alike"] is None
    assert "score as well" not in str(single.results)


@pytest.mark.parametrize("make", [lambda: Predictive(3), lambda: Stability(2), lambda: Gap(2)])
def test_a_criterion_that_was_used_before_scores_as_a_new_one(make):
    X = make_simulation2(3, n=60, p=4, n_relevant=2, random_state=1).X
    weight = np.r_[np.ones(30), np.full(30, 3.0)]
    used = make()

    def table(criterion, **options):
        found = ewp.select_lambda(X, 3, criterion=criterion, n_lams=2, random_state=0, **options)
        return found.table

    table(used)
    prior = [1.0, 2.0, 1.0, 1.0]
    for options in ({"sample_weight": weight}, {"prior": prior}, {}):
        pd.testing.assert_frame_equal(table(used, **options), table(make(), **options))
    X[:30, 1] -= 9.0 * X[:, 1].std()  # the same array with other values
    pd.testing.assert_frame_equal(table(used), table(make()))


def test_folds_of_decorrelated_features_find_what_a_fit_of_many_starts_finds():
    """Noise has as much variance as the clusters there: two starts end elsewhere."""
    rng = np.random.default_rng(0)
    lag = np.abs(np.subtract.outer(np.arange(30), np.arange(30)))
    rows = rng.multivariate_normal(np.zeros(30), 0.8**lag, 300)
    labels = np.repeat(np.arange(3), 100)
    rows[:, [4, 14, 24]] += 2.0 * np.eye(3)[labels]
    criterion = Predictive(5)
    options = [
        FitOptions(3).lighter().settle(lam, scale="decorrelate") for lam in (300.0, 600.0, 1200.0)
    ]
    for fold in criterion.replicates(rows, None, np.random.default_rng(0)):
        _, middle, _ = criterion.score_all(rows, None, options, fold, 5)
        assert adjusted_rand_score(labels, middle.labels) > 0.9
