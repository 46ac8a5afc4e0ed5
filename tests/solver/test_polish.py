"""The polish: its search by Lloyd's iteration and breathing, and what it does for a fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

import ewp
from ewp.datasets import make_simulation2
from ewp.engine import array as engine_module
from ewp.engine.array import ArrayEngine
from ewp.solver.breathing import WeightedPoints, _ascending, breathing_kmeans
from ewp.solver.starts import kmeans_plus_plus, seed_numbers


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    m=st.integers(1, 300),
    k=st.integers(2, 40),
    weighted=st.booleans(),
)
def test_distances_and_ranks_are_those_of_differences(seed, m, k, weighted):
    rng = np.random.default_rng(seed)
    X, theta = rng.standard_normal((m, 3)), rng.standard_normal((k, 3))
    mass = rng.uniform(0.1, 3.0, m) if weighted else None
    points = WeightedPoints(X, mass)
    exact = cdist(X, theta, "sqeuclidean")
    assert_allclose(points.distances(theta[None])[0].T, exact, atol=1e-12)
    found = points.assign(theta)
    assert_array_equal(found.labels, exact.argmin(axis=1))
    assert_allclose(found.nearest, exact.min(axis=1), atol=1e-12)
    assert found.error == pytest.approx(points.mass @ exact.min(axis=1), rel=1e-10)
    labels, farther = points.second(theta)
    two = np.sort(exact, axis=1)
    assert_array_equal(labels, found.labels)
    assert_allclose(farther, two[:, 1] - two[:, 0], atol=1e-12)


def test_lloyd_goes_where_scikit_learn_goes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    X += rng.normal(0, 6, (5, 4))[rng.integers(0, 5, 400)]
    X -= X.mean(axis=0)
    mass = rng.uniform(0.5, 2.0, 400)
    start = X[:5]
    found = WeightedPoints(X, mass).lloyd(start)
    theirs = KMeans(5, init=start, n_init=1, tol=0).fit(X, sample_weight=mass)
    assert found.error == pytest.approx(theirs.inertia_, rel=1e-3)
    assert found.error <= WeightedPoints(X, mass).assign(start).error


def test_an_empty_cluster_moves_to_the_worst_row():
    X = np.array([[-1.0], [-1.1], [1.0], [1.1], [8.0]])
    X = X - X.mean()
    found = WeightedPoints(X, None).lloyd(np.array([[-3.0], [0.0], [100.0]]))
    assert len(set(found.labels)) == 3
    assert found.error < 0.02


def test_breathing_mends_a_merged_and_a_split_cluster():
    rng = np.random.default_rng(1)
    centers = np.array([[0.0, 0], [10, 0], [0, 10], [10, 10], [20, 5]])
    X = np.repeat(centers, 60, axis=0) + rng.normal(0, 0.3, (300, 2))
    X -= X.mean(axis=0)
    points = WeightedPoints(X, None)
    truth = np.array([X[i * 60 : (i + 1) * 60].mean(axis=0) for i in range(5)])
    bad = truth.copy()
    bad[0], bad[1] = (truth[0] + truth[1]) / 2, truth[4] + 0.2
    stuck = points.lloyd(bad)
    best = points.assign(truth).error
    assert stuck.error > 5 * best
    found = breathing_kmeans(points, bad, np.random.default_rng(0))
    assert found.error == pytest.approx(best, rel=1e-6)
    assert found.theta.shape == (5, 2)


def test_seeding_spreads_over_distinct_rows():
    X = np.repeat(np.array([[0.0, 1.0], [5.0, -2.0], [-4.0, 3.0]]), 50, axis=0)
    points = WeightedPoints(X - X.mean(axis=0), None)
    (seeds,) = kmeans_plus_plus(points, 3, seed_numbers(np.random.default_rng(0), 1, 3))
    assert len(np.unique(seeds.round(9), axis=0)) == 3


def test_which_of_two_equals_goes_does_not_depend_on_rounding_errors():
    # on the way two rows are each other's nearest: they are missed alike, up to the order of sums
    X = np.array(
        [
            [0.11744896, -2.17290683, -1.63320977, -0.21267417],
            [-0.34058332, 0.39984604, -2.85844485, 0.29234547],
            [-0.16984936, -3.34217195, 0.03193439, -0.43246472],
            [0.12029893, 1.50183638, 1.72088889, -0.707507],
            [2.9296543, -1.23269362, 0.49442076, 0.70366179],
            [-2.47934786, 1.08246554, 0.22226376, -1.59430916],
            [0.33209507, 2.04022232, -0.1876137, 2.10958079],
            [-1.98525487, 0.93936645, -1.40247635, -2.12894284],
        ]
    )
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(X)) for _ in range(30)]
    found = [ewp.fit(X[order], 4, 80.0, random_state=942) for order in orders]
    assert_allclose([one.objective for one in found], found[0].objective, rtol=1e-12)


def test_equal_values_keep_their_order():
    assert _ascending(np.array([0.3, 0.1 + 0.2, 0.1, 0.3])).tolist() == [2, 0, 1, 3]
    assert _ascending(np.zeros(3)).tolist() == [0, 1, 2]


def test_polish_never_raises_the_objective():
    for seed in range(5):
        X, _, _ = make_simulation2(8, n=300, p=12, random_state=seed)
        rough = ewp.fit(X, 8, lam=15.0, random_state=seed, n_init=1, polish=False)
        polished = ewp.fit(X, 8, lam=15.0, random_state=seed, n_init=1)
        assert polished.objective <= rough.objective
        phases = polished.objective_trace["phase"]
        assert phases.iloc[: len(rough.objective_trace)].tolist() == list(
            rough.objective_trace["phase"]
        )


def test_many_rows_are_polished_in_a_sample(monkeypatch):
    X, labels, _ = make_simulation2(12, n=4000, p=20, random_state=3)
    options = {"scale": "standard", "random_state": 0, "init": X[:12]}
    lam = 0.05 * len(X)
    monkeypatch.setattr(engine_module, "_WHOLE", 2000)
    monkeypatch.setattr(engine_module, "sample_size", lambda p, k: 1500)
    passes = []
    plain = ArrayEngine._pass

    def counted(self, *arguments, **options):
        passes.append(self.n)
        return plain(self, *arguments, **options)

    rough = ewp.fit(X, 12, lam, polish=False, **options)
    monkeypatch.setattr(ArrayEngine, "_pass", counted)
    found = ewp.fit(X, 12, lam, **options)
    assert found.objective < rough.objective * (1 - 1e-3)
    assert normalized_mutual_info_score(labels, found.labels) > 0.99
    # every pass over all rows is a step that is in the trace, or one of the few at the end
    steps = len(found.objective_trace) + 5
    assert sum(n == len(X) for n in passes) <= steps + 12
