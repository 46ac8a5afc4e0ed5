"""Partitions lowered row by row: descent, what is left at the end, and the lowest of all."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ewp.solver.small_sets import lower_partitions
from ewp.solver.weights import RelativeEntropy


def rule(p, lam=3.0, reward=None):
    return RelativeEntropy(lam, np.zeros(p), np.zeros(p) if reward is None else reward)


def dispersion(Y, labels, k):
    parts = [Y[labels == j] for j in range(k)]
    return sum(((part - part.mean(axis=0)) ** 2).sum(axis=0) for part in parts if len(part))


def data(seed, m=2, n=12, p=3):
    Y = np.random.default_rng(seed).normal(size=(m, n, p))
    return Y - Y.mean(axis=1, keepdims=True)


def found_in(Y, seed, k=2, starts=4, reward=None):
    rng = np.random.default_rng(seed)
    m, n, p = Y.shape
    labels = rng.integers(k, size=(m, 1, n))
    theta = rng.normal(size=(m, starts, k, p))
    return labels, lower_partitions(Y, labels, theta, rule(p, reward=reward))


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 1000), k=st.integers(2, 4), between=st.booleans())
def test_sums_belong_to_the_labels_and_no_row_wants_to_move(seed, k, between):
    Y = data(seed)
    squares = (Y**2).sum(axis=1)[:, None]
    begun, found = found_in(Y, seed, k, reward=squares if between else None)
    m, r, n = found.labels.shape
    for s, run in product(range(m), range(r)):
        labels = found.labels[s, run]
        own = dispersion(Y[s], labels, k)
        np.testing.assert_allclose(found.dispersion[s, run], own, atol=1e-9)
        np.testing.assert_array_equal(found.size[s, run], np.bincount(labels, minlength=k))
        one = rule(3, reward=squares[s, 0] if between else None)
        weights = one.update(own)
        for row, to in product(range(n), range(k)):
            moved = labels.copy()
            moved[row] = to
            if (labels == labels[row]).sum() > 1:
                assert weights @ dispersion(Y[s], moved, k) >= weights @ own - 1e-6
        if run == 0:
            assert one.least(own) <= one.least(dispersion(Y[s], begun[s, 0], k)) + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_from_many_starts_the_lowest_of_all_partitions_is_found(seed):
    Y = data(seed, m=1, n=10, p=2)
    every = [np.array(labels) for labels in product((0, 1), repeat=10)]
    lowest = min(float(rule(2).least(dispersion(Y[0], labels, 2))) for labels in every)
    _, found = found_in(Y, seed, starts=60)
    assert rule(2).least(found.dispersion).min() == pytest.approx(lowest)


def test_what_becomes_of_a_data_set_does_not_depend_on_the_others():
    Y = data(5, m=3)
    rng = np.random.default_rng(0)
    labels, theta = rng.integers(2, size=(3, 2, 12)), rng.normal(size=(3, 5, 2, 3))
    together = lower_partitions(Y, labels, theta, rule(3))
    for s in range(3):
        part = slice(s, s + 1)
        alone = lower_partitions(Y[part], labels[part], theta[part], rule(3))
        np.testing.assert_array_equal(alone.labels, together.labels[part])
