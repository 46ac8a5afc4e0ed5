"""Weights for every cluster: the step, its descent, and where fits end."""

import itertools

import numpy as np
import pytest

import ewp
from ewp.datasets import make_subspaces
from ewp.engine import array_engine
from ewp.engine.array import ArrayEngine
from ewp.solver.cluster_fit import fit_clusters
from ewp.solver.cluster_weights import ClusterEntropy, cluster_labels, iterate_clusters
from ewp.solver.critical_exponent import engine_critical_exponent
from ewp.solver.fit import FitOptions, fit_engine
from ewp.solver.schedules import Annealed, Fixed, Hard
from ewp.solver.weights import RelativeEntropy


def rule_of(engine, lam, *, between=False, prior=None):
    common = RelativeEntropy.make(lam, engine.squares, prior, between=between)
    return ClusterEntropy.of(common, np.array([engine.total]), engine.p)


def plain_step(X, a, theta, w, lam, s, prior, reward):
    """One MM step in plain NumPy, on the objective as it is defined."""
    n, k = a.sum(), len(theta)
    pi = prior * np.exp((reward - reward.max()) / lam)
    pi = pi / pi.sum()
    ratio = np.divide(w, pi, out=np.ones_like(w), where=w > 0)
    price = lam / n * (w * np.log(ratio)).sum(axis=1)
    d = ((X[:, None, :] - theta) ** 2 * w).sum(axis=2) + price
    if np.isinf(s):
        mean = d.min(axis=1)
        phi = (d.argmin(axis=1)[:, None] == np.arange(k)).astype(float)
    else:
        low = d.min(axis=1, keepdims=True)
        inner = ((d / low) ** s).mean(axis=1, keepdims=True)
        mean = (low * inner ** (1 / s))[:, 0]
        phi = (d / low) ** (s - 1) * inner ** (1 / s - 1) / k
    phi = phi * a[:, None]
    mass = phi.sum(axis=0)[:, None]
    theta = phi.T @ X / mass
    V = np.array([phi[:, j] @ (X - theta[j]) ** 2 for j in range(k)]) / mass
    exponent = np.log(np.maximum(pi, 1e-300)) - n * V / lam
    w = np.exp(exponent - exponent.max(axis=1, keepdims=True)) * (pi > 0)
    return theta, w / w.sum(axis=1, keepdims=True), float(a @ mean)


@pytest.mark.parametrize("s", [-1.0, -9.0, -np.inf])
@pytest.mark.parametrize("between", [False, True])
def test_steps_are_those_of_the_definition(s, between):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5)) * [1.0, 2.0, 0.5, 1.0, 3.0]
    X -= X.mean(axis=0)
    a, prior, lam = np.ones(80), np.array([1.0, 2.0, 0.0, 1.0, 1.0]), 60.0
    engine = ArrayEngine(X)
    rule = rule_of(engine, lam, between=between, prior=prior)
    start = X[:3] + 0.01  # not on rows, whose distances would be zero
    theta, w = start, np.tile(prior / prior.sum(), (3, 1))
    reward = engine.squares if between else np.zeros(5)
    for steps in range(1, 6):
        found = iterate_clusters(
            engine, start[None], w[None], rule, Fixed(s), max_iter=steps, tol=1e-300
        ).run(0)
        expected_theta, expected_w = theta, w
        for _ in range(steps):
            expected_theta, expected_w, power = plain_step(
                X, a, expected_theta, expected_w, lam, s, prior, reward
            )
        np.testing.assert_allclose(found.theta, expected_theta, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(found.weights, expected_w, rtol=1e-9, atol=1e-12)
        # the value before the last step belongs to the parameters that it starts from
        assert found.trace[-2].f_s == pytest.approx(power + rule.constant[0], rel=1e-10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lam", [2.0, 40.0, 1e4])
def test_descent_simplex_and_hull(seed, lam):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((70, 6)) * rng.uniform(0.2, 3, 6) + rng.integers(0, 4, (70, 1))
    mass = rng.uniform(0.2, 2.0, 70)
    engine = ArrayEngine(X, mass, scale="standard" if seed % 2 else None)
    rule = rule_of(engine, lam, between=seed == 3)
    start = engine.rows(slice(0, 4))[None]
    found = iterate_clusters(
        engine, start, rule.start(4), rule, Annealed(-1.5, 1.1), max_iter=300, tol=1e-9
    ).run(0)
    f_s = np.array([row.f_s for row in found.trace])
    assert (np.diff(f_s) <= 1e-10 * np.abs(f_s[:-1])).all()
    assert found.converged
    assert found.objective == pytest.approx(found.trace[-1].f_inf)
    assert (found.weights >= 0).all()
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0)
    centroids = engine.to_data_units(found.theta)
    assert (centroids >= X.min(axis=0) - 1e-9).all()
    assert (centroids <= X.max(axis=0) + 1e-9).all()


def test_equal_rows_of_weights_have_the_objective_of_common_ones():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 4)) + 3 * rng.integers(0, 2, (60, 1))
    for between in (False, True):
        options = FitOptions(2, 25.0, dispersion="between" if between else "within")
        engine = array_engine(X)
        common = fit_engine(engine, options, np.random.default_rng(0))
        rule = rule_of(engine, 25.0, between=between)
        theta, w = common.solution.theta[None], np.tile(common.weights, (1, 2, 1))
        _, nearest = cluster_labels(engine, rule.metric(theta, w))
        value = nearest.sum() + rule.constant[0]
        assert value == pytest.approx(common.solution.objective, rel=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_a_fit_does_not_end_above_common_weights(seed):
    X, _, _ = make_subspaces(4, 200, 12, 3, random_state=seed)
    for share in (0.02, 0.2, 2.0):
        options = FitOptions(4, share * len(X), scale="standard", dispersion="within")
        engine = array_engine(X, None, "standard")
        common = fit_engine(engine, options, np.random.default_rng(seed))
        own = fit_clusters(engine, options.settle(weights="cluster"), np.random.default_rng(seed))
        assert own.solution.objective <= common.solution.objective * (1 + 1e-9) + 1e-9
        assert own.weights.shape == (4, 12)


def test_large_penalties_give_power_k_means():
    X, _labels, _ = make_subspaces(3, 150, 6, 2, sd=0.1, shift=4.0, random_state=0)
    own = ewp.fit(X, 3, lam=1e9, weights="cluster", random_state=0)
    common = ewp.fit(X, 3, lam=1e9, random_state=0)
    np.testing.assert_allclose(own.weights, 1 / 6, atol=1e-6)
    assert (own.labels == common.labels).all()
    np.testing.assert_allclose(own.centroids, common.centroids, atol=1e-6)


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_clusters_in_features_of_their_own_are_found(share):
    X, labels, _ = make_subspaces(5, 500, 30, 5, random_state=3)
    design = make_subspaces(5, 500, 30, 5, random_state=3)
    found = ewp.fit(X, 5, lam=share * len(X), scale="standard", weights="cluster", random_state=0)
    assert ewp.metrics.rand_index(labels, found.labels.to_numpy()) > 0.99
    for j in range(5):
        truth = int(np.bincount(labels[found.labels == j]).argmax())
        heaviest = found.weights.loc[j].to_numpy().argsort()[-5:]
        assert set(heaviest) == set(np.flatnonzero(design.centers[truth]))


def test_the_critical_exponent_is_where_collapsed_centroids_part():
    # symmetric about the mean, so that weights stay equal to first order
    rng = np.random.default_rng(0)
    half = rng.standard_normal((60, 4)) * [1.0, 2.0, 0.7, 1.5]
    X = np.concatenate([half, -half])
    engine = ArrayEngine(X)
    rule = rule_of(engine, 1e3)
    collapsed = rule.update((engine.squares / engine.total)[None, None])
    price = float(rule.price(collapsed)[0, 0])
    assert price > 0
    critical = engine_critical_exponent(engine, collapsed[0, 0], price)
    w = np.repeat(collapsed, 2, axis=1)
    for s in (critical - 0.2, critical + 0.2):
        delta = rng.standard_normal(4)
        for _ in range(300):
            delta *= 1e-5 / np.sqrt(collapsed[0, 0] @ delta**2)
            theta = np.array([[delta, -delta]])
            moved = iterate_clusters(
                engine, theta, w, rule, Fixed(s), max_iter=1, tol=1e-300
            ).theta[0]
            factor = np.linalg.norm(moved[0]) / np.linalg.norm(delta)
            delta = (moved[0] - moved[1]) / 2
        assert (factor > 1) == (s < critical)


def test_weight_two_is_two_rows():
    X, _, _ = make_subspaces(3, 90, 8, 3, random_state=1)
    a = np.random.default_rng(0).integers(1, 3, len(X))
    options = {"lam": 20.0, "scale": "standard", "weights": "cluster", "random_state": 0}
    one = ewp.fit(X, 3, sample_weight=a, **options)
    two = ewp.fit(np.repeat(X, a, axis=0), 3, **options)
    assert one.objective == pytest.approx(two.objective, rel=1e-9)
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-6)
    assert (np.repeat(one.labels.to_numpy(), a) == two.labels.to_numpy()).all()


def test_order_of_rows_and_columns_does_not_matter():
    X, _, _ = make_subspaces(3, 120, 8, 3, random_state=2)
    options = {"lam": 12.0, "scale": "standard", "weights": "cluster", "random_state": 0}
    found = ewp.fit(X, 3, **options)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(X)), rng.permutation(8)
    again = ewp.fit(X[rows][:, columns], 3, **options)
    assert again.objective == pytest.approx(found.objective, rel=1e-9)
    assert (again.labels.to_numpy() == found.labels.to_numpy()[rows]).all()
    np.testing.assert_allclose(again.weights, found.weights.to_numpy()[:, columns], atol=1e-6)


def test_copies_of_the_rows_ask_for_a_penalty_in_proportion():
    X, _, _ = make_subspaces(3, 60, 6, 2, random_state=4)
    options = {"scale": None, "weights": "cluster", "random_state": 0}
    one = ewp.fit(X, 3, lam=6.0, **options)
    two = ewp.fit(np.repeat(X, 2, axis=0), 3, lam=12.0, **options)
    assert two.objective == pytest.approx(2 * one.objective, rel=1e-8)
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-6)


def test_between_form_does_not_depend_on_what_standardised_features_had():
    X, _, _ = make_subspaces(3, 120, 6, 2, random_state=5)
    options = {"lam": 12.0, "scale": "standard", "weights": "cluster", "random_state": 0}
    within = ewp.fit(X, 3, dispersion="within", **options)
    between = ewp.fit(X, 3, dispersion="between", **options)
    np.testing.assert_allclose(within.weights, between.weights, atol=1e-8)
    assert (within.labels == between.labels).all()


def test_excluded_and_constant_features_have_no_weight_in_any_cluster():
    X, _, _ = make_subspaces(3, 90, 6, 2, random_state=6)
    X[:, 2] = 1.0
    prior = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    constant = ewp.fit(X, 3, lam=9.0, weights="cluster", random_state=0)
    assert (constant.weights.iloc[:, 2] == 0).all()
    X[:, 2] = X[::-1, 0]
    excluded = ewp.fit(X, 3, lam=9.0, prior=prior, weights="cluster", random_state=0)
    assert (excluded.weights.iloc[:, 3] == 0).all()


def test_as_many_clusters_as_distinct_rows_leave_none_empty():
    X = np.repeat(np.arange(6.0)[:, None] ** 2, 2, axis=1)
    X[:, 1] = X[::-1, 1]
    found = ewp.fit(np.repeat(X, 2, axis=0), 6, lam=1.0, weights="cluster", random_state=0)
    assert (found.clusters["size"] == 2).all()
    np.testing.assert_allclose(found.tot_withinss, 0.0, atol=1e-9)


def test_one_cluster_has_the_weights_of_the_collapsed_solution():
    X = np.random.default_rng(0).standard_normal((50, 3)) * [1.0, 2.0, 3.0]
    found = ewp.fit(X, 1, lam=80.0, weights="cluster", random_state=0)
    common = ewp.fit(X, 1, lam=80.0, random_state=0)
    np.testing.assert_allclose(found.weights.loc[0], common.weights, rtol=1e-8)
    assert found.objective == pytest.approx(common.objective)


def test_empty_clusters_go_to_badly_fitted_rows_and_never_raise_the_objective():
    rng = np.random.default_rng(7)
    X = np.concatenate([rng.normal(0, 0.1, (30, 2)), rng.normal(5, 0.1, (5, 2))])
    engine = ArrayEngine(X)
    rule = rule_of(engine, 3.0)
    theta = engine.to_engine_units(np.array([[0.0, 0.0], [90.0, 90.0], [95.0, 95.0]]))
    found = iterate_clusters(
        engine, theta[None], rule.start(3), rule, Hard(), max_iter=100, tol=1e-9
    ).run(0)
    f = np.array([row.f_inf for row in found.trace])
    assert (np.diff(f) <= 1e-10 * np.abs(f[:-1])).all()
    labels, _ = cluster_labels(engine, rule.metric(found.theta[None], found.weights[None]))
    assert len(np.unique(labels)) == 3


def test_more_starts_from_one_seed_never_end_higher():
    X, _, _ = make_subspaces(6, 240, 20, 3, random_state=8)
    options = {"lam": 8.0, "scale": "standard", "weights": "cluster", "random_state": 1}
    ends = [ewp.fit(X, 6, n_init=n, **options).objective for n in (1, 2, 5, 9)]
    assert all(more <= fewer + 1e-9 * abs(fewer) for fewer, more in itertools.pairwise(ends))
