"""Partitions of sparse k-means as starts: found, invariant, among the starts, never left behind."""

import dataclasses
import math

import numpy as np
import pytest

import ewp
from ewp.data.arguments import generator
from ewp.engine.array import ArrayEngine
from ewp.engine.base import RowMass
from ewp.metrics import rand_index
from ewp.solver.batch import fit_runs
from ewp.solver.fit import FitOptions, fit_engine
from ewp.solver.iterate import iterate
from ewp.solver.runs import Runs
from ewp.solver.schedules import Hard
from ewp.solver.sparse_starts import SparseStarts, has_wide_shape, is_wide, sparse_partitions
from ewp.solver.weights import RelativeEntropy

K, RELEVANT = 3, 20


def gene_like(seed, n=80, p=1200):
    """Three clusters, which differ in 20 of many features by 1.5 standard deviations."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % K
    X = rng.standard_normal((n, p))
    X[:, :RELEVANT] += rng.normal(0, 1.5, (K, RELEVANT))[truth]
    return X, truth


def rule_of(engine, lam, *, between=False):
    return RelativeEntropy.make(lam, engine.squares, between=between)


def starts_of(engine, mass=None):
    return SparseStarts(engine, K, mass, np.ones(engine.p, dtype=bool))


@pytest.fixture(scope="module")
def data():
    return gene_like(0)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("standardise", [False, True])
def test_the_clusters_are_among_the_partitions(seed, standardise):
    X, truth = gene_like(seed)
    X -= X.mean(axis=0)
    X = X / X.std(axis=0) if standardise else X
    found = sparse_partitions(X, np.ones(len(X)), K, np.random.default_rng(0))
    assert max(rand_index(truth, one) for one in found) >= 0.9
    assert len(np.unique(found, axis=0)) == len(found)
    # clusters are numbered as they come up, so that equal partitions are equal
    assert (found[:, 0] == 0).all()


def test_clusters_beside_a_loud_direction_are_among_the_partitions():
    """Three clusters, and one direction of forty times their variance that all of them share."""
    rng = np.random.default_rng(4)
    truth = np.arange(90) % K
    X = rng.standard_normal((90, 600)) + 0.5 * rng.standard_normal((K, 600))[truth]
    X += 4.0 * rng.standard_normal((90, 1)) * rng.standard_normal(600)
    found = sparse_partitions(X - X.mean(axis=0), np.ones(90), K, np.random.default_rng(0))
    share = [rand_index(truth, one) for one in found]
    assert max(share) > 0.4


def test_columns_rows_and_units_do_not_matter(data):
    X, _ = data
    rng = np.random.default_rng(1)
    columns, rows = rng.permutation(X.shape[1]), rng.permutation(len(X))
    units = np.exp(rng.normal(0, 2, X.shape[1]))
    own = starts_of(ArrayEngine(X)).begun(standardise=True)
    other = starts_of(ArrayEngine((X * units)[rows][:, columns])).begun(standardise=True)
    np.testing.assert_allclose(other.within, (own.within * units**2)[:, columns], rtol=1e-8)


def test_rows_without_weight_have_no_part(data):
    X, truth = data
    mass = (np.arange(len(X)) % 5 > 0).astype(float)
    X = np.where(mass[:, None] > 0, X, 1e3 * X)
    engine = ArrayEngine(X, mass)
    starts = starts_of(engine, mass)
    np.testing.assert_allclose(starts.squares, engine.squares, rtol=1e-9)
    means = np.array([X[(truth == j) & (mass > 0)].mean(axis=0) for j in range(K)])
    found = starts.begun(standardise=True).means + engine.center
    matched = np.abs(found[:, :, None] - means).max(axis=3).min(axis=2).max(axis=1)
    assert matched.min() < 0.5


@pytest.mark.parametrize("between", [False, True])
def test_the_lowest_objectives_come_first(data, between):
    X, _ = data
    engine = ArrayEngine(X)
    rule, starts = rule_of(engine, 20.0, between=between), starts_of(engine)
    theta, weights = starts.lowest(rule, 4, standardise=False)
    objective = []
    for one, w in zip(theta, weights, strict=True):
        # rows to where the means say, or nearer: the partition's own value is no lower
        hard = engine.statistics(one[None], w[None], np.array([-np.inf]))
        objective.append(float(hard.nearest[0] + rule.penalty(w)))
    parts = [starts.begun(standardise=one).within for one in (False, True)]
    values = np.sort(rule.least(np.concatenate(parts)))[:4]
    assert (np.array(objective) <= values + 1e-9 * np.abs(values)).all()
    assert len(theta) == 4


@pytest.mark.parametrize(
    ("scale", "dispersion"), [("standard", "within"), (None, "within"), (None, "between")]
)
def test_a_fit_is_never_above_what_is_reached_from_sparse_k_means(data, scale, dispersion):
    X, _ = data
    options = FitOptions(K, 10.0, n_init=1, scale=scale, dispersion=dispersion).settle()
    engine = ArrayEngine(X, scale=scale)
    found = fit_engine(engine, options, generator(0))
    rule = rule_of(engine, 10.0, between=dispersion == "between")
    starts = starts_of(engine)
    theta, weights = starts.lowest(rule, 4, standardise=scale == "standard")
    for one, w in zip(theta, weights, strict=True):
        end = iterate(engine, one, w, rule, Hard(), max_iter=500, tol=1e-8)
        assert found.solution.objective <= end.objective + 1e-9 * abs(end.objective)
    assert found.starts.sparse == 4
    assert len(found.starts.objective) == 5


def test_runs_in_common_passes_are_not_above_it_either(data):
    X, _ = data
    engine = ArrayEngine(X)
    rng = np.random.default_rng(3)
    table = np.ones((2, len(X)))
    for part in table:
        part[rng.choice(len(X), 16, replace=False)] = 0.0
    lams = np.tile([6.0, 20.0], 2)
    of_part = np.repeat([0, 1], 2)
    none = np.zeros(4, dtype=bool)
    runs = Runs(lams, none, none, np.full(4, -5.0), np.arange(4), of_part, RowMass(table, of_part))
    options = FitOptions(K, 6.0).settle()
    found = fit_runs(engine, K, runs, options)
    for b, lam in enumerate(lams):
        mass = table[of_part[b]]
        part = ArrayEngine(X[mass > 0], center=engine.center)
        starts = SparseStarts(engine, K, mass, np.ones(engine.p, dtype=bool))
        rule = rule_of(part, lam)
        theta, weights = starts.lowest(rule, 1, standardise=False)
        end = iterate(part, theta[0], weights[0], rule, Hard(), max_iter=500, tol=1e-8)
        assert found.objective[b] <= end.objective + 1e-9 * abs(end.objective)


def test_more_starts_never_end_higher(data):
    X, _ = data
    ends = [ewp.fit(X, K, 8.0, n_init=count, random_state=0) for count in (1, 2, 4)]
    objective = [one.objective for one in ends]
    assert objective == sorted(objective, reverse=True)
    assert [one.n_starts for one in ends] == [5, 6, 8]


def test_the_table_of_starts_counts_them(data):
    X, _ = data
    found = ewp.fit(X, K, 8.0, scale="standard", n_init=2, random_state=0)
    assert list(found.starts.columns) == ["objective", "gap_per_row", "starts", "sparse", "ari"]
    assert (found.starts["sparse"] <= found.starts["starts"]).all()
    assert 1 <= found.starts["sparse"].sum() <= 4


@pytest.mark.parametrize("larger", [1.0, 3.0], ids=["equal", "larger variance"])
def test_the_default_finds_clusters_and_features(larger):
    X, truth = gene_like(2)
    X[:, :RELEVANT] *= larger
    found = ewp.fit(X, K, random_state=0)
    weights = found.weights.to_numpy()
    assert rand_index(truth, found.labels.to_numpy()) >= 0.9
    assert weights[:RELEVANT].sum() >= 0.7
    assert (np.argsort(-weights)[:10] < RELEVANT).all()


def test_the_order_of_columns_does_not_matter_for_the_default():
    X, _ = gene_like(3, n=50, p=600)
    own, other = (ewp.fit(one, K, random_state=0) for one in (X, X[:, ::-1]))
    np.testing.assert_array_equal(own.labels.to_numpy(), other.labels.to_numpy())
    np.testing.assert_allclose(own.weights.to_numpy(), other.weights.to_numpy()[::-1], rtol=1e-6)


def test_units_do_not_matter_where_features_are_standardised(data):
    X, _ = data
    units = np.exp(np.random.default_rng(4).normal(0, 2, X.shape[1]))
    own = ewp.fit(X, K, 8.0, scale="standard", random_state=0)
    other = ewp.fit(X * units, K, 8.0, scale="standard", random_state=0)
    np.testing.assert_array_equal(own.labels.to_numpy(), other.labels.to_numpy())
    np.testing.assert_allclose(own.weights.to_numpy(), other.weights.to_numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    ("n", "p", "wide"), [(80, 500, True), (80, 499, False), (600, 600, False), (599, 600, True)]
)
def test_the_rule_is_about_the_shape_alone(n, p, wide):
    assert has_wide_shape(n, p) == wide
    assert is_wide(ArrayEngine(np.random.default_rng(0).standard_normal((n, p)))) == wide


@pytest.mark.parametrize(
    "asked", [{"init": "random"}, {"init": np.zeros((K, 600))}, {"polish": False}]
)
def test_a_start_of_the_users_own_and_the_published_algorithm_have_none(asked):
    engine = ArrayEngine(np.random.default_rng(0).standard_normal((40, 600)))
    options = FitOptions(K, 4.0)
    assert options.begins_sparse(engine)
    assert not dataclasses.replace(options, **asked).begins_sparse(engine)
    assert not dataclasses.replace(options, n_clusters=1).begins_sparse(engine)


def test_excluded_features_have_no_say(data):
    X, truth = data
    prior = np.ones(X.shape[1])
    prior[:RELEVANT] = 0.0
    found = ewp.fit(X, K, 8.0, prior=prior, scale="standard", random_state=0)
    assert (found.weights.to_numpy()[:RELEVANT] == 0).all()
    labels = sparse_partitions(
        X[:, RELEVANT:] - X[:, RELEVANT:].mean(axis=0), np.ones(len(X)), K, generator(0)
    )
    begun = SparseStarts(ArrayEngine(X), K, None, prior > 0).begun(standardise=False)
    for within in begun.within:
        # none of the partitions explains what is excluded
        assert within[:RELEVANT].sum() > 0.7 * (len(X) * X[:, :RELEVANT].var(axis=0)).sum()
    assert max(rand_index(truth, one) for one in labels) < 0.5


@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_extreme_units_are_no_obstacle(data, scale):
    X, truth = data
    found = sparse_partitions(
        scale * (X - X.mean(axis=0)), np.ones(len(X)), K, np.random.default_rng(0)
    )
    assert max(rand_index(truth, one) for one in found) >= 0.9


def test_rows_that_are_all_equal_have_no_partitions():
    assert sparse_partitions(np.zeros((6, 600)), np.ones(6), 2, np.random.default_rng(0)).size == 0


def test_binary_and_repeated_features():
    rng = np.random.default_rng(6)
    truth = np.arange(40) % 2
    X = (rng.random((40, 700)) < 0.5).astype(float)
    X[:, :10] = truth[:, None]
    found = ewp.fit(X, 2, 0.1 * len(X), random_state=0)
    assert rand_index(truth, found.labels.to_numpy()) == 1.0
    assert math.isfinite(found.objective)
