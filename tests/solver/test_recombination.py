"""Recombined partitions: never worse than their parents, better where starts miss the optimum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

import ewp
from ewp.engine.array import ArrayEngine
from ewp.results.results import EWPResults
from ewp.solver.recombination import _cross, recombine
from ewp.solver.row_moves import Ends, RowMoves
from ewp.solver.weights import RelativeEntropy
from tests.support.results import assert_identical


def crowded(seed=0, k=16, each=12):
    """Sixteen small clusters in four of ten features."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(k), each)
    corners = 3.0 * np.array(np.meshgrid(*[[0.0, 1.0]] * 4)).reshape(4, -1).T
    X = rng.standard_normal((k * each, 10))
    X[:, :4] = corners[labels] + 0.5 * X[:, :4]
    return X, labels


def noise():
    return np.random.default_rng(1).standard_normal((100, 6))


def parents(X, k, lam, count=6, seed=0):
    engine = ArrayEngine(X)
    rule = RelativeEntropy.make(lam, engine.squares)
    moves = RowMoves(engine, rule)
    rng = np.random.default_rng(seed)
    theta = np.array([engine.rows(rng.choice(len(X), k, replace=False)) for _ in range(count)])
    return engine, rule, moves, moves.descend(theta, np.tile(rule.start(), (count, 1)))


@pytest.mark.parametrize("breathes", [False, True])
@pytest.mark.parametrize("count", [1, 6])
def test_the_lowest_is_never_higher_than_the_parents(breathes, count):
    engine, rule, moves, begun = parents(noise(), 9, 10.0, count)
    options = {"most": 24, "same": 1e-9, "breathes": breathes}
    one, two = (
        recombine(engine, rule, moves, begun, np.random.default_rng(3), **options) for _ in range(2)
    )
    assert one.objective <= begun.objective.min()
    assert 0 < one.children <= 24
    assert_array_equal(two.theta, one.theta)
    fitted = moves.distances(one.theta[None], one.weights[None])[0].min(axis=0) @ moves.mass
    assert_allclose(one.objective, fitted + rule.penalty(one.weights), rtol=1e-9)


def test_a_child_has_one_centroid_of_every_matched_pair():
    first = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 9.0]])
    second = first[[2, 0, 1]] + 0.1
    pool = Ends(np.array([first, second]), np.full((2, 2), 0.5), np.zeros(2))
    for seed in range(20):
        child, weights = _cross(pool, 0, 1, np.random.default_rng(seed))
        gap = child - first
        assert ((np.abs(gap) < 1e-12).all(axis=1) | (np.abs(gap - 0.1) < 1e-12).all(axis=1)).all()
        assert_allclose(weights, 0.5)


def test_the_default_finds_clusters_that_single_starts_miss():
    X, labels = crowded()
    means = np.array([X[labels == j].mean(axis=0) for j in range(16)])
    planted = ewp.fit(X, 16, 60.0, init=means, scale="standard")
    assert adjusted_rand_score(labels, planted.labels) > 0.95
    options = {"scale": "standard"}
    singles = [
        ewp.fit(X, 16, 60.0, n_init=1, random_state=seed, **options).objective for seed in range(3)
    ]
    assert max(singles) > planted.objective + 1.0
    for seed in range(3):
        found = ewp.fit(X, 16, 60.0, random_state=seed, **options)
        assert found.objective <= planted.objective + 1e-9 * abs(planted.objective)


def test_the_default_ends_lower_than_twice_as_many_starts_alone():
    """Clusters that overlap: every start ends in an optimum of its own."""
    X = crowded()[0]
    found = ewp.fit(X, 16, 300.0, random_state=0, scale="standard")
    alone = ewp.fit(X, 16, 300.0, random_state=0, scale="standard", n_init=24)
    assert found.objective < alone.objective


def test_what_recombining_found_is_said_and_survives_a_file(tmp_path):
    found = ewp.fit(crowded()[0], 16, 300.0, random_state=0, scale="standard")
    assert found.starts["recombined"].tolist() == [True] + [False] * (len(found.starts) - 1)
    assert found.starts["starts"].iloc[0] == 0
    told = " ".join(str(found).split())
    assert (
        f"None of {found.n_starts} starts found the best objective: it comes from recombining "
        "their partitions. Another seed may find a lower one."
    ) in told
    found.save(tmp_path / "fit")
    loaded = EWPResults.load(tmp_path / "fit")
    assert_array_equal(loaded.starts, found.starts)
    assert str(loaded) == str(found)
    fell = found.objective_trace.query("phase == 'polish'")["f_inf"]
    assert (np.diff(fell) <= 1e-9 * np.abs(fell[:-1])).all()


def test_recombining_does_not_depend_on_the_order_of_rows_and_columns():
    X, rng = noise(), np.random.default_rng(8)
    rows, columns = rng.permutation(100), rng.permutation(6)
    one = ewp.fit(X, 9, 10.0, random_state=0)
    two = ewp.fit(X[np.ix_(rows, columns)], 9, 10.0, random_state=0)
    assert two.objective == pytest.approx(one.objective, rel=1e-9)
    assert_array_equal(two.labels, one.labels.iloc[rows])


def test_recombining_does_not_depend_on_the_number_of_processes(monkeypatch):
    monkeypatch.setattr("ewp.engine.array._WORTHWHILE", 0.0)  # processes even for small data
    one, two = (ewp.fit(noise(), 9, 10.0, random_state=0, n_jobs=jobs) for jobs in (1, 2))
    assert_identical(two, one)


def test_a_number_of_starts_asks_for_starts_alone():
    found = ewp.fit(noise(), 12, 10.0, random_state=0, n_init=12)
    assert "recombined" not in found.starts
    assert found.starts["starts"].iloc[0] >= 1
