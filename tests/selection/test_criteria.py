"""The criteria: values that can be written out, and what must be worth nothing."""

import numpy as np
import pytest

from ewp.datasets import make_simulation2
from ewp.selection import parts as module
from ewp.selection.criteria import Gap, Predictive, Stability
from ewp.solver.fit import FitOptions


def test_gap_equals_a_written_out_reference(monkeypatch):
    X, _, _ = make_simulation2(4, n=200, p=10, random_state=0)
    options = [FitOptions(4, lam) for lam in (10.0, 30.0)]
    criterion = Gap(3)
    (seeds,) = criterion.replicates(X, None, np.random.default_rng(0))
    fitted = []
    plain = module.fit_runs

    def recorded(engine, k, runs, options):
        found = plain(engine, k, runs, options)
        fitted.append((engine, found))
        return found

    monkeypatch.setattr(module, "fit_runs", recorded)
    scores = criterion.score_all(X, None, options, seeds, 7)
    tables = [X] + [np.random.default_rng(seed).permuted(X, axis=0) for seed in seeds]
    for one, score in enumerate(scores):
        logs = []
        for table, (engine, found) in zip(tables, fitted, strict=True):
            np.testing.assert_array_equal(engine.X, table)
            theta, w = engine.to_data_units(found.theta[one]), found.weights[one]
            within = (((table[:, None] - theta) ** 2) @ w).min(axis=1).sum()
            logs.append(np.log(((table - table.mean(axis=0)) ** 2 @ w).sum() - within))
        gaps = logs[0] - np.array(logs[1:])
        assert score.value == pytest.approx(gaps.mean(), rel=1e-8)
        wanted = np.std(gaps) * np.sqrt(1 + 1 / 3)
        assert criterion.spread([score]) == pytest.approx(wanted, rel=1e-8)


def test_stability_of_clusters_is_high_and_of_one_noise_feature_is_not():
    X, _, _ = make_simulation2(4, n=200, p=10, random_state=0)
    rng = np.random.default_rng(0)
    good = Stability(2)
    replicates = good.replicates(X, None, rng)
    value = np.mean([good.score(X, None, FitOptions(4, 10.0), r, 1).value for r in replicates])
    assert value > 0.9
    noise = rng.standard_normal((200, 5)) * [1, 1, 1, 1, 1e-2]
    # a tiny penalty cuts the smallest column into slices, which is stable but no structure
    sliced = [good.score(noise, None, FitOptions(2, 1e-4), r, 1) for r in replicates]
    assert all(score.effective_features < 1.01 for score in sliced)
    assert np.mean([score.value for score in sliced]) < 0.5


@pytest.mark.parametrize("criterion", [Stability(2), Gap(2), Predictive(3)])
def test_one_cluster_is_worth_nothing(criterion):
    X, _, _ = make_simulation2(3, n=60, p=5, random_state=0)
    replicates = criterion.replicates(X, None, np.random.default_rng(0))
    values = [criterion.score(X, None, FitOptions(1, 5.0), r, 1).value for r in replicates]
    np.testing.assert_allclose(values, 0.0, atol=1e-9)


def test_weights_that_cannot_be_copies_are_proportions():
    X, _, _ = make_simulation2(3, n=90, p=5, random_state=0)
    weight = np.random.default_rng(0).uniform(1.0, 2.0, 90)
    weight *= 90 / weight.sum()
    criterion, scores = Predictive(3), []
    for factor, lam in ((1.0, 5.0), (1e-3, 5e-3)):
        part = criterion.replicates(X, factor * weight, np.random.default_rng(0))[0]
        scores.append(criterion.score(X, factor * weight, FitOptions(3, lam), part, 1))
    assert scores[0].value > 1
    assert scores[1].value == pytest.approx(scores[0].value, rel=1e-9)
