"""The density of clusters with variances of their own, and the choice of whose weights to take."""

import numpy as np
import pytest

import ewp
from ewp.datasets import make_simulation2, make_subspaces
from ewp.selection.cluster_density import ClusterDensity
from ewp.selection.decision import Advantage, select_candidate
from ewp.selection.options import SelectionOptions
from ewp.selection.search import families
from ewp.solver.fit import FitOptions


def halves(X, labels, rng):
    order = rng.permutation(len(X))
    train, test = order[: len(X) // 2], order[len(X) // 2 :]
    return train, ClusterDensity(X[train], X[test], None), labels[train]


def test_the_true_partition_gains_most_and_by_its_own_variances():
    rng = np.random.default_rng(0)
    X, labels, _ = make_subspaces(4, 600, 10, 3, random_state=0)
    _, density, own = halves(X, labels, rng)
    gain = density.judge(own).gain.mean()
    wrong = own.copy()
    wrong[:60] = rng.integers(0, 4, 60)
    assert gain > density.judge(wrong).gain.mean() > 0
    assert density.excess(own).mean() > 0.3 * gain
    assert set(density.judge(own).features) == set(range(10)) & set(
        np.flatnonzero(make_subspaces(4, 600, 10, 3, random_state=0).centers.any(axis=0))
    )


def test_clusters_of_one_scatter_gain_nothing_by_variances_of_their_own():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 600)
    X = rng.standard_normal((600, 4)) + 4.0 * np.eye(3, 4)[labels]
    _, density, own = halves(X, labels, rng)
    assert density.judge(own).gain.mean() > 0.5
    assert abs(density.excess(own).mean()) < 0.05


def test_random_partitions_gain_nothing_whatever_the_units():
    rng = np.random.default_rng(2)
    X = rng.multivariate_normal(np.zeros(3), 0.7 + 0.3 * np.eye(3), 400)
    labels = rng.integers(0, 3, 400)
    _, density, own = halves(X, labels, rng)
    assert abs(density.judge(own).gain.mean()) < 0.02
    _, scaled, own = halves(X * [1e-3, 1.0, 1e4] + 5, labels, np.random.default_rng(3))
    _, same, _ = halves(X, labels, np.random.default_rng(3))
    np.testing.assert_allclose(scaled.judge(own).gain, same.judge(own).gain, atol=1e-6)


def test_numbers_of_copies_are_copies():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((80, 3)) + 3.0 * (np.arange(80)[:, None] % 2)
    copies = rng.integers(1, 3, 80).astype(float)
    labels, new = np.arange(80) % 2, rng.standard_normal((20, 3))
    weighted = ClusterDensity(X, new, copies).judge(labels).gain
    times = copies.astype(int)
    repeated = ClusterDensity(np.repeat(X, times, axis=0), new, None)
    np.testing.assert_allclose(weighted, repeated.judge(np.repeat(labels, times)).gain, rtol=1e-6)


def test_names_of_clusters_and_columns_without_variance_do_not_matter():
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.standard_normal((90, 2)), np.ones(90)])
    labels = rng.integers(0, 3, 90)
    density = ClusterDensity(X[:60], X[60:], None)
    assert (density.judge(labels[:60]).gain == density.judge(2 - labels[:60]).gain).all()
    nothing = ClusterDensity(np.ones((5, 2)), np.ones((3, 2)), None)
    assert (nothing.judge(np.arange(5) % 2).gain == 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_auto_takes_weights_of_every_cluster_where_these_are_the_truth(seed):
    X, labels, _ = make_subspaces(4, 400, 20, 4, 0.25, random_state=seed)
    found = ewp.fit(X, 4, weights="auto", n_init=8, random_state=0)
    assert found.fit_options.weights == "cluster"
    assert ewp.metrics.rand_index(labels, found.labels.to_numpy()) > 0.97
    assert "Weights of every cluster were taken" in str(found.summary()).replace("\n", " ")
    assert found.selection["advantage"]["clear"]


def test_auto_takes_common_weights_where_these_are_the_truth():
    X, _labels, _ = make_simulation2(4, n=300, p=10, n_relevant=4, sd=0.1, random_state=0)
    found = ewp.fit(X, 4, weights="auto", random_state=0)
    assert found.fit_options.weights == "common"
    plain = ewp.fit(X, 4, random_state=0)
    assert (found.labels == plain.labels).all()
    assert found.lam == plain.lam


def test_families_of_clusters_come_last_and_are_not_decorrelated_unasked():
    common = families("auto", "auto", 200, 5)
    both = families("auto", "auto", 200, 5, weights="auto")
    assert both[: len(common)] == common
    own = families("auto", "auto", 200, 5, weights="cluster")
    assert both[len(common) :] == own
    assert not any(one.decorrelates for one in own)
    assert max(one.rank for one in common) < min(one.rank for one in own)
    asked = families("decorrelate", "within", 200, 5, weights="cluster")
    assert [one.decorrelates for one in asked] == [True]


def test_an_advantage_needs_variances_that_differ_and_no_loss():
    assert Advantage(0.1, 0.05, 0.5, 0.05, 1.0).clear
    assert Advantage(-0.02, 0.05, 0.5, 0.05, 1.0).clear
    assert not Advantage(-0.2, 0.05, 0.5, 0.05, 1.0).clear
    assert not Advantage(0.5, 0.05, 0.1, 0.02, 1.0).clear
    assert not Advantage(0.1, 0.05, 0.5, 0.3, 1.0).clear


def test_a_choice_is_that_of_the_copies():
    X, _, _ = make_subspaces(3, 120, 6, 2, random_state=1)
    options = FitOptions(3, weights="cluster", scale="standard", random_state=0)
    selection = SelectionOptions(n_lams=4)
    copies = np.repeat(X, 2, axis=0)
    one = select_candidate(X, np.full(len(X), 2.0), options, selection)
    two = select_candidate(copies, None, options, selection)
    assert one.chosen.lam == pytest.approx(two.chosen.lam)
    for a, b in zip(one.entries, two.entries, strict=True):
        np.testing.assert_allclose(a.values, b.values, rtol=1e-5)
