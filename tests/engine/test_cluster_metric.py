"""Passes with one metric for every cluster against loops over rows and clusters."""

import math

import numpy as np
import pytest

from ewp.engine import cluster_metric
from ewp.engine.array import ArrayEngine
from ewp.engine.base import RowMass
from ewp.engine.cluster_metric import ClusterMetric, cluster_distances, cluster_statistics
from ewp.engine.predict import centroid_distances, nearest_centroids
from tests.support import reference


def metric_of(rng, runs, k, p, price=True):
    theta = rng.standard_normal((runs, k, p))
    weights = rng.dirichlet(np.ones(p), (runs, k))
    return ClusterMetric(theta, weights, rng.uniform(0, 0.3, (runs, k)) * price)


def distances(engine, metric):
    return np.concatenate([part for _, part in cluster_distances(engine, metric)], axis=2)


def test_distances_are_those_of_every_clusters_own_metric_and_price():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((70, 4))
    engine = ArrayEngine(X, center=np.zeros(4))
    metric = metric_of(rng, 2, 3, 4)
    found = distances(engine, metric)
    for b in range(2):
        for j in range(3):
            for i in (0, 33, 69):
                gap = X[i] - metric.theta[b, j]
                wanted = metric.weights[b, j] @ gap**2 + metric.price[b, j]
                assert found[b, j, i] == pytest.approx(wanted, rel=1e-12)


def test_distances_next_to_a_centroid_do_not_cancel():
    rng = np.random.default_rng(1)
    X = 1e3 + rng.standard_normal((20, 3))
    engine = ArrayEngine(X, center=np.zeros(3))
    theta = (X[:2] + 1e-5)[None]
    weights = np.full((1, 2, 3), 1 / 3)
    found = distances(engine, ClusterMetric(theta, weights, np.zeros((1, 2))))
    np.testing.assert_allclose(found[0, [0, 1], [0, 1]], 1e-10, rtol=1e-5)


@pytest.mark.parametrize("pairs", [2**18, 64])
@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_are_sums_over_rows(pairs, weighted, monkeypatch):
    monkeypatch.setattr(cluster_metric, "_PAIRS_AT_ONCE", pairs)
    rng = np.random.default_rng(2)
    n, k, p = 90, 3, 4
    X = rng.standard_normal((n, p))
    a = rng.integers(0, 3, n).astype(float) if weighted else np.ones(n)
    engine = ArrayEngine(X, a if weighted else None, center=np.zeros(p))
    metric = metric_of(rng, 4, k, p)
    s = np.array([-1.0, -np.inf, -7.5, -40.0])
    found = cluster_statistics(engine, metric, s)
    for b in range(4):
        d = [
            [
                reference.squared_distance(x, t, w) + c
                for t, w, c in zip(metric.theta[b], metric.weights[b], metric.price[b], strict=True)
            ]
            for x in X
        ]
        phi = np.array([reference.memberships(row, s[b]) for row in d]) * a[:, None]
        np.testing.assert_allclose(found.mass[b], phi.sum(axis=0), rtol=1e-10)
        np.testing.assert_allclose(found.sums[b], phi.T @ X, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(found.squares[b], phi.T @ X**2, rtol=1e-9)
        power = [min(r) if math.isinf(s[b]) else reference.power_mean(r, s[b]) for r in d]
        assert found.power[b] == pytest.approx(a @ power, rel=1e-10)
        assert found.nearest[b] == pytest.approx(a @ np.min(d, axis=1), rel=1e-10)
    assert found.softness[1] == 0.0


def test_runs_with_weights_of_the_rows_are_fits_to_those_rows():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 3))
    engine = ArrayEngine(X, center=np.zeros(3))
    metric = metric_of(rng, 2, 2, 3)
    table = rng.integers(0, 2, (2, 60)).astype(float)
    both = cluster_statistics(engine, metric, np.array([-2.0, -2.0]), RowMass(table, np.arange(2)))
    for b in range(2):
        part = ArrayEngine(X[table[b] > 0], center=np.zeros(3))
        alone = cluster_statistics(part, metric.take(np.array([b])), np.array([-2.0]))
        np.testing.assert_allclose(both.sums[b], alone.sums[0], rtol=1e-10)
        assert both.power[b] == pytest.approx(alone.power[0])


def test_predictions_with_one_metric_need_no_price_and_agree():
    rng = np.random.default_rng(4)
    X, theta = rng.standard_normal((50, 3)), rng.standard_normal((4, 3))
    w, center, scale = rng.dirichlet(np.ones(3)), np.zeros(3), np.array([1.0, 2.0, 0.5])
    labels, distance = nearest_centroids(X, theta, w, center, scale)
    each = np.tile(w, (4, 1)), center, scale, None, np.zeros(4)
    again, same = nearest_centroids(X, theta, *each)
    assert (labels == again).all()
    np.testing.assert_allclose(distance, same, rtol=1e-10)
    np.testing.assert_allclose(
        centroid_distances(X, theta, w, center, scale), centroid_distances(X, theta, *each)
    )
