"""Nested cross-validation, and what its scores say of a single cluster."""

import numpy as np
import pytest

import ewp
from ewp.display.evidence import Evidence
from ewp.selection.base import Score
from ewp.selection.nested import corrected_mean, nested_scores
from ewp.selection.search import Candidate, Family

FAMILY = Family("standard")


def candidates(rng, n=60, folds=5, count=20, shift=0.0):
    """Candidates whose rows have random values: the best of them is so by chance."""
    fold = rng.permutation(n) % folds
    made = []
    for lam in range(1, count + 1):
        values = rng.standard_normal(n) + shift
        rows = [np.where(fold == i, values, np.nan) for i in range(folds)]
        made.append(Candidate(FAMILY, lam, [Score(np.nanmean(r), 1.0, r) for r in rows]))
    return made


def test_the_best_of_many_by_chance_gains_nothing_when_it_is_scored_by_other_rows():
    rng = np.random.default_rng(0)
    best, nested = [], []
    for _ in range(100):
        made = candidates(rng)
        best.append(max(entry.mean for entry in made))
        nested.append(np.mean([score.value for score in nested_scores(made)]))
    assert np.mean(best) > 0.2
    error = np.std(nested) / 10
    # slightly below zero: rows that lower the rest's mean raise their own
    assert -0.1 < np.mean(nested) < 2 * error


def test_every_fold_is_scored_by_the_best_of_the_other_rows():
    made = candidates(np.random.default_rng(1), count=4)
    found = nested_scores(made)
    for i, score in enumerate(found):
        means = []
        for entry in made:
            others = [one.rows for j, one in enumerate(entry.scores) if j != i]
            means.append(np.nanmean(np.concatenate(others)))
        assert score is made[int(np.argmax(means))].scores[i]


def test_repeated_folds_do_not_let_a_row_choose_its_own_score():
    rng = np.random.default_rng(2)
    n, made = 12, []
    folds = [rng.permutation(n) % 2 for _ in range(2)]
    for lam in (1, 2, 3):
        rows = []
        for fold in folds:
            for part in (0, 1):
                rows.append(np.where(fold == part, rng.standard_normal(n), np.nan))
        made.append(Candidate(FAMILY, lam, [Score(np.nanmean(r), 1.0, r) for r in rows]))
    found = nested_scores(made)
    changed = made[0].scores[0].rows.copy()
    held_out = np.isfinite(changed)
    # whatever the held-out rows say in any repeat, the choice for them stays
    for entry in made:
        for score in entry.scores:
            score.rows[held_out & np.isfinite(score.rows)] += 100 * entry.lam
    again = nested_scores(made)
    position = [[entry.scores[0] is one for entry in made] for one in (found[0], again[0])]
    assert position[0] == position[1]


def test_without_values_of_rows_replicates_choose_for_each_other():
    made = [
        Candidate(FAMILY, 1.0, [Score(v, 1.0) for v in (5.0, 0.0, 0.0)]),
        Candidate(FAMILY, 2.0, [Score(v, 1.0) for v in (1.0, 1.0, 1.0)]),
    ]
    assert [score.value for score in nested_scores(made)] == [1.0, 0.0, 0.0]


def test_the_standard_error_is_that_of_nadeau_and_bengio():
    rng = np.random.default_rng(3)
    values, fold = rng.standard_normal(50), np.arange(50) % 5
    scores = [Score(0.0, 1.0, np.where(fold == i, values, np.nan)) for i in range(5)]
    mean, error = corrected_mean(scores)
    assert mean == pytest.approx(values.mean())
    assert error == pytest.approx(values.std(ddof=1) / np.sqrt(50) * np.sqrt(1 + 5 / 4))


def test_parts_of_a_box_are_no_evidence():
    found = Evidence(0.09, 0.001, 2)
    x = (np.arange(10_000) + 0.5) / 10_000 - 0.5

    def likelihood(center, sd):
        parts = [np.exp(-0.5 * ((x - c) / sd) ** 2) for c in (center, -center)]
        return np.log(sum(parts) / (2 * sd * np.sqrt(2 * np.pi))).mean()

    gain = max(
        likelihood(m, s) for m in np.linspace(0.2, 0.3, 41) for s in np.linspace(0.1, 0.2, 41)
    )
    assert found.of_box == pytest.approx(gain - likelihood(0.0, np.sqrt(1 / 12)), abs=1e-4)
    assert found.clear
    assert not Evidence(0.07, 0.001, 2).clear
    assert not Evidence(0.09, 0.01, 2).clear


@pytest.mark.parametrize("name", ["correlated", "box", "tails", "skewed"])
def test_a_single_cloud_is_told_and_select_k_takes_one(name):
    rng = np.random.default_rng(5)
    n, p = 120, 4
    X = {
        "correlated": rng.standard_normal((n, p)) @ np.linalg.cholesky(0.5 * np.eye(p) + 0.5).T,
        "box": rng.random((n, p)),
        "tails": rng.standard_t(3, (n, p)),
        "skewed": rng.exponential(size=(n, p)),
    }[name]
    with pytest.warns(ewp.NoClustersWarning, match="No evidence for more than one cluster"):
        results = ewp.fit(X, 3, random_state=0)
    assert "no evidence for more than one cluster" in str(results.summary()).split("\n")[0].lower()
    chosen = ewp.select_k(X, range(1, 4), random_state=0)
    assert chosen.k == 1
    assert not chosen.table["evidence"].any()
    assert "no evidence for more than one cluster" in str(chosen)


def test_clusters_are_evidence_of_themselves():
    rng = np.random.default_rng(6)
    labels = np.arange(150) % 3
    X = rng.standard_normal((150, 4)) + 6 * rng.standard_normal((3, 4))[labels]
    results = ewp.fit(X, 3, random_state=0)
    found = results.selection["evidence"]
    assert found["gain"] > 5 * found["error"]
    assert "no evidence" not in str(results)
    assert ewp.select_k(X, range(1, 6), random_state=0).k == 3
