"""Features that matter, and rows where mixtures are compared."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ewp.refinement.coordinates import EWP_START, prepare, variance_ratios


def two_groups(n=120, noise=6, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], n // 2)
    X = rng.normal(size=(n, 2 + noise))
    X[:, :2] += 4.0 * labels[:, None]
    return X, labels


def test_ratios_are_those_of_an_analysis_of_variance():
    X, _ = two_groups()
    labels = np.arange(len(X)) % 3
    X[:, 0] += labels
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    ratio, p_value = variance_ratios(rows, np.ones(len(X)), labels, 3)
    reference = stats.f_oneway(*(X[labels == j] for j in range(3)))
    np.testing.assert_allclose(ratio, reference.statistic, rtol=1e-9)
    np.testing.assert_allclose(p_value, reference.pvalue, rtol=1e-7)


def test_features_that_no_cluster_shifts_are_left_out():
    X, labels = two_groups()
    place = prepare(X, np.ones(len(X)), labels, 2)
    assert place.columns.tolist() == [0, 1]
    np.testing.assert_allclose(place.rows.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(place.rows.std(axis=0), 1.0)
    np.testing.assert_allclose(place.center + place.rows * place.scale, X[:, :2])
    assert (place.cell == 0).all()
    assert next(iter(place.starts)) == EWP_START
    assert all(len(np.unique(start)) == 2 for start in place.starts.values())


def test_features_that_a_wrong_partition_overlooks_are_found():
    """The partition follows correlated noise; decorrelated features show the clusters."""
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1, 2], 60)
    common = rng.normal(size=(180, 1))
    noise = common + 0.3 * rng.normal(size=(180, 6))
    X = np.c_[rng.normal(size=(180, 2)) + 6.0 * np.eye(3, 2)[labels], noise]
    wrong = np.digitize(common[:, 0], [-0.5, 0.5])
    place = prepare(X, np.ones(180), wrong, 3)
    assert {0, 1} <= set(place.columns.tolist())
    assert (place.p_value[:2] < 1e-10).all()


def test_features_of_the_users_own_and_constant_ones():
    X, labels = two_groups()
    X[:, 3] = 7.0
    place = prepare(X, np.ones(len(X)), labels, 2, np.array([1, 3, 5]))
    assert place.columns.tolist() == [1, 5]
    assert place.p_value[3] == 1.0


def test_coarse_columns_have_cells():
    X, labels = two_groups()
    X[:, 1] = 3 * np.round(X[:, 1])
    place = prepare(X, np.ones(len(X)), labels, 2)
    assert place.cell[0] == 0
    assert place.cell[1] == pytest.approx(9 / 12 / X[:, 1].var())


def test_no_more_features_than_rows_take_part():
    rng = np.random.default_rng(2)
    labels = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 200)) + np.linspace(6, 3, 200) * labels[:, None]
    place = prepare(X, np.ones(60), labels, 2)
    assert len(place.columns) == 60
    assert place.ratio[place.columns].min() >= np.delete(place.ratio, place.columns).max()
