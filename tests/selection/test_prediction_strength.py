"""Prediction strength: the definition of Tibshirani and Walther, and the rule that uses it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ewp
from ewp.datasets import make_simulation2
from ewp.selection.criteria import PredictionStrength
from ewp.selection.options import CRITERIA, SelectionOptions
from ewp.selection.prediction_strength import THRESHOLD, halves, largest_strong, strength
from ewp.solver.fit import FitOptions, fit_array

partitions = st.integers(2, 25).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 3), min_size=n, max_size=n)] * 2)
)


@settings(max_examples=50, deadline=None)
@given(partitions)
def test_it_is_the_share_of_pairs_kept_together_in_the_worst_cluster(pair):
    own, other = (np.unique(one, return_inverse=True)[1] for one in pair)
    shares = []
    for j in np.unique(own):
        pairs = list(combinations(np.flatnonzero(own == j), 2))
        if pairs:
            shares.append(np.mean([other[a] == other[b] for a, b in pairs]))
    assert strength(own, other) == pytest.approx(min(shares, default=1.0))


@settings(max_examples=30, deadline=None)
@given(partitions, st.data())
def test_whole_weights_are_repeated_rows(pair, data):
    own, other = (np.unique(one, return_inverse=True)[1] for one in pair)
    copies = data.draw(st.lists(st.integers(1, 3), min_size=len(own), max_size=len(own)))
    repeated = np.repeat(np.arange(len(own)), copies)
    weighted = strength(own, other, np.array(copies, dtype=float))
    assert weighted == pytest.approx(strength(own[repeated], other[repeated]))


def test_halves_are_disjoint_and_keep_equal_rows_together():
    X = np.repeat(np.arange(20.0)[:, None], 3, axis=0)
    weight = np.ones(60)
    weight[:3] = 0.0
    for one, two in halves(X, weight, 4, np.random.default_rng(0)):
        assert set(one) | set(two) == set(range(3, 60))
        assert not set(X[one, 0]) & set(X[two, 0])
        assert abs(len(one) - len(two)) <= 3


def test_the_criterion_predicts_each_half_by_the_other():
    X = make_simulation2(3, n=90, p=5, n_relevant=2, random_state=0).X
    options = FitOptions(3, 4.0, scale=None, dispersion="within", n_init=3).settle(
        4.0, scale=None, dispersion="within"
    )
    criterion = PredictionStrength(2)
    (one, two), _ = criterion.replicates(X, None, np.random.default_rng(0))
    found = criterion.score(X, None, options, (one, two), 0)
    labels = []
    for half in (one, two):
        made = fit_array(X[half], None, FitOptions(3, 2.0, scale=None), np.random.default_rng(0))
        squares = ((X[:, None] - made.centroids) ** 2) @ made.weights
        labels.append(squares.argmin(axis=1))
    wanted = [
        strength(labels[0][one], labels[1][one]),
        strength(labels[1][two], labels[0][two]),
    ]
    assert found.value == pytest.approx(np.mean(wanted))


def test_one_cluster_has_strength_one_and_clusters_in_noise_have_not():
    X = np.random.default_rng(0).normal(size=(120, 4))
    found = ewp.select_k(X, range(1, 5), "strength", n_lams=3, n_init=1, random_state=0)
    mean = found.table.set_index("k")["mean"]
    assert mean[1] == 1.0
    assert mean[4] < 0.5
    assert found.k == 1


def test_the_largest_supported_number_is_taken_and_the_printout_says_so():
    X = make_simulation2(3, n=120, p=5, n_relevant=3, random_state=0).X
    found = ewp.select_k(X, range(1, 6), "strength", n_lams=3, n_init=2, random_state=0)
    supported = found.table.loc[found.table["mean"] >= THRESHOLD, "k"]
    assert found.k == supported.max() == 3
    text = " ".join(str(found).split())
    assert "k = 3: the largest whose prediction strength is at least 0.8." in text
    assert "mean: prediction strength, from 0 to 1." in text


def test_without_any_support_the_strongest_is_taken():
    table = pd.DataFrame({"k": [2, 3, 4, 5], "mean": [0.5, 0.6, 0.1, np.nan]})
    chosen, words = largest_strong(table)
    assert chosen == 3
    assert "there is none" in words
    supported = table.assign(mean=[0.9, 0.7, 0.8, np.nan])
    assert largest_strong(supported)[0] == 4


def test_it_chooses_penalties_too_and_is_known_by_its_name():
    X = make_simulation2(3, n=90, p=5, n_relevant=2, random_state=1).X
    found = ewp.select_lambda(X, 3, criterion="strength", cv=3, n_lams=3, random_state=0)
    assert found.criterion == "strength"
    assert found.table["mean"].between(0, 1).all()
    assert found.table["replicates"].max() == 3
    assert CRITERIA["strength"] is PredictionStrength
    made = SelectionOptions(criterion="strength", cv=7).make_criterion()
    assert made.n_splits == 7


def test_halves_with_too_few_rows_are_no_replicates():
    criterion = PredictionStrength()
    assert criterion.has_enough_rows(np.arange(10), 10, 4)
    assert not criterion.has_enough_rows(np.arange(10), 10, 5)
