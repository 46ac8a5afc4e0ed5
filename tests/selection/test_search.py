"""Which candidate wins, which stay in the race, and how two of them are compared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ewp.selection.base import Score
from ewp.selection.decision import select_candidate
from ewp.selection.options import SelectionOptions
from ewp.selection.rules import SELECTION_RULES, Guard, competing, decide
from ewp.selection.search import Candidate, Family, eliminate_hopeless, paired_difference
from ewp.solver.fit import FitOptions
from validation.recipes import NOISES


def scored(family, lam, values, labels=None):
    return Candidate(family, lam, [Score(v, 1.0, labels=labels) for v in values])


def test_rules_pick_as_documented():
    raw, standard = Family(None), Family("standard")
    best = scored(raw, 1.0, [1.0, 1.2, 1.1, 1.3])
    close = scored(raw, 2.0, [1.1, 1.0, 1.15, 1.25])
    worse = scored(raw, 3.0, [0.5, 0.6, 0.55, 0.7])
    assert decide([best, close, worse], SELECTION_RULES["max"])[0] is best
    assert decide([best, close, worse], SELECTION_RULES["1se"])[0] is close
    assert decide([best, close, worse], SELECTION_RULES["1se"])[1] is best
    equal = scored(standard, 5.0, [1.0, 1.2, 1.1, 1.3])
    made = decide([best, equal, worse], SELECTION_RULES["max"])
    assert made.chosen is equal  # units cannot change it
    assert made.runner_up is best


def test_stable_rule_prefers_agreeing_partitions():
    family = Family("standard")
    same, other = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    firm = scored(family, 1.0, [1.0, 1.1], same)
    shaky = Candidate(family, 2.0, [Score(1.1, 1.0, labels=same), Score(1.0, 1.0, labels=other)])
    assert firm.stability == 1.0
    assert shaky.stability < 0.1
    # without agreement there is no answer that could be compared, whatever the rule
    for rule in SELECTION_RULES.values():
        assert decide([firm, shaky], rule)[0] is firm
    assert decide([shaky], SELECTION_RULES["1se"])[0] is shaky


@given(
    gains=st.lists(st.floats(-2, 2), min_size=2, max_size=6),
    firm=st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_unstable_partitions_compete_if_only_they_gain_something(gains, firm):
    same, other = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    entries = [
        Candidate(
            Family("standard"),
            float(i + 1),
            [Score(gain, 1.0, labels=same), Score(gain, 1.0, labels=same if agrees else other)],
        )
        for i, (gain, agrees) in enumerate(zip(gains, firm, strict=False))
    ]
    stable = [entry for entry in entries if entry.stability == 1.0]
    guard = Guard(nothing=0.0)
    found = competing(entries, guard)
    only_others = max(gains) > 0 and not any(entry.mean > 0 for entry in stable)
    assert found == (entries if only_others or not stable else stable)
    best = decide(entries, SELECTION_RULES["max"], guard).best
    assert best.mean == max(entry.mean for entry in found)
    # scores that do not tell what is worth nothing: stable partitions come first
    assert competing(entries, Guard()) == (stable or entries)


def test_a_stable_partition_worth_nothing_does_not_hide_one_that_gains():
    """Clusters beside factor noise, where folds agree on a cut along a factor."""
    X, _ = NOISES["factor noise"](9, True)
    made = select_candidate(X, None, FitOptions(n_clusters=3), SelectionOptions())
    complete = [entry for entry in made.entries if len(entry.scores) == 5]
    assert max(entry.mean for entry in complete if entry.stability >= 0.5) < 0
    assert made.chosen.mean > 0


def test_among_many_features_the_weights_decide_between_stable_candidates():
    family, rule = Family("standard"), SELECTION_RULES["stable"].for_wide()
    labels = np.arange(400) % 2
    moved = labels.copy()
    moved[0] = 1  # an adjusted Rand index of 0.99
    far = labels.copy()
    far[:80] = 0

    def candidate(lam, features, second):
        parts = zip((1.0, 1.1), (labels, second), strict=True)
        return Candidate(
            family, lam, [Score(v, features, labels=p, significant_features=20.0) for v, p in parts]
        )

    even, fitting, shaky = (
        candidate(3.0, 900.0, labels),
        candidate(2.0, 25.0, moved),
        candidate(1.0, 20.0, far),
    )
    entries = [even, fitting, shaky]
    assert fitting.stability < even.stability
    assert decide(entries, SELECTION_RULES["stable"]).chosen is even
    made = decide(entries, rule)
    assert made.chosen is fitting
    assert rule.words(made) == (
        "the weights that fit the significant features best, among the stable of those within 1.5 "
        "standard errors of the difference to the best"
    )
    # of equals the larger penalty
    larger = candidate(2.5, 25.0, moved)
    assert decide([*entries, larger], rule).chosen is larger
    for name in ("1se", "max"):
        assert SELECTION_RULES[name].for_wide() is SELECTION_RULES[name]


def test_comparison_of_candidates_uses_rows_where_there_are_any():
    family = Family("standard")
    one, two = np.array([1.0, 2.0, np.nan, np.nan]), np.array([np.nan, np.nan, 3.0, 5.0])
    a = Candidate(family, 1.0, [Score(1.5, 1, rows=one), Score(4.0, 1, rows=two)])
    b = Candidate(family, 2.0, [Score(0.5, 1, rows=one - 1), Score(4.0, 1, rows=two)])
    mean, error = paired_difference(a, b)
    assert mean == pytest.approx(0.5)
    assert error == pytest.approx(np.std([1, 1, 0, 0], ddof=1) / 2)


def test_comparison_counts_weights_as_copies():
    family = Family("standard")
    rng = np.random.default_rng(0)
    first, second, count = rng.random(9), rng.random(9), rng.integers(1, 4, 9)

    def candidates(rows, copies):
        return [Candidate(family, 1.0, [Score(0.0, 1, rows=r, copies=copies)]) for r in rows]

    weighted = paired_difference(*candidates((first, second), count.astype(float)))
    copied = paired_difference(
        *candidates((np.repeat(first, count), np.repeat(second, count)), None)
    )
    assert weighted == pytest.approx(copied, rel=1e-12)
    assert copied[0] == pytest.approx(np.repeat(first - second, count).mean())


def test_without_partitions_the_stable_rule_takes_and_names_the_largest_penalty():
    family = Family("standard")
    entries = [scored(family, lam, [1.0, 1.1]) for lam in (1.0, 3.0, 2.0)]
    made = decide(entries, SELECTION_RULES["stable"])
    assert made.chosen.lam == 3.0
    words = SELECTION_RULES["stable"].words(made)
    assert words == (
        "the largest penalty of those within 0.5 standard errors of the difference to the best"
    )


def test_a_tiny_lead_is_none_however_certain():
    family = Family("standard")
    certain = [scored(family, 1.0, [8.0, 8.1]), scored(family, 2.0, [7.9995, 8.0995])]
    made = decide(certain, SELECTION_RULES["stable"])
    assert (made.chosen.lam, made.best.lam) == (2.0, 1.0)
    words = SELECTION_RULES["stable"].words(made)
    assert words == "the largest penalty of those within 0.01% of the best"
    assert decide(certain, SELECTION_RULES["max"]).chosen.lam == 1.0
    assert decide(certain, SELECTION_RULES["1se"]).chosen.lam == 1.0
    far = [scored(family, 1.0, [8.0, 8.1]), scored(family, 2.0, [7.999, 8.099])]
    assert decide(far, SELECTION_RULES["stable"]).chosen.lam == 1.0


def test_a_candidate_that_leads_by_little_drives_none_out_of_the_race():
    family = Family("standard")
    rows = np.linspace(7.0, 9.0, 1000)

    def row_scores(lam, shift):
        return Candidate(family, lam, [Score(8.0 - shift, 1, rows=rows - shift)] * 2)

    best, close, far = (
        row_scores(lam, shift) for lam, shift in ((1.0, 0), (2.0, 0.0007), (3.0, 0.001))
    )
    assert eliminate_hopeless([best, close, far]) == [best, close]


def test_candidates_that_were_given_up_set_no_standard():
    family = Family("standard")
    given_up = scored(family, 1.0, [9.0])
    finished = [scored(family, lam, [1.0, 1.0 + 0.1 * lam]) for lam in (2.0, 3.0)]
    made = decide([given_up, *finished], SELECTION_RULES["max"])
    assert made.chosen is made.best is made.top is finished[1]
    assert made.runner_up is finished[0]
