"""Moves of single rows: where they end no move helps, and nothing depends on what runs beside."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ewp.engine.array import ArrayEngine
from ewp.solver.row_moves import RowMoves, rows_can_move
from ewp.solver.weights import RelativeEntropy


def begun(X, k, lam, runs=3, seed=0, sample_weight=None):
    """Rows that can move, and centroids and weights to begin from."""
    engine = ArrayEngine(X, sample_weight)
    rule = RelativeEntropy.make(lam, engine.squares)
    rng = np.random.default_rng(seed)
    theta = np.array([engine.rows(rng.choice(len(X), k, replace=False)) for _ in range(runs)])
    weights = rng.dirichlet(np.ones(engine.p), runs)
    return RowMoves(engine, rule), rule, theta, weights


def sum_of_squares(X, labels, k, weights, mass):
    """Weighted sum of squares within clusters."""
    total = 0.0
    for j in range(k):
        inside = labels == j
        if inside.any():
            mean = np.average(X[inside], axis=0, weights=mass[inside])
            total += mass[inside] @ (X[inside] - mean) ** 2 @ weights
    return total


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.sampled_from([0.3, 5.0, 1e6]))
@settings(max_examples=10, deadline=None)
def test_where_rows_come_to_rest_no_move_of_one_helps(seed, k, lam):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((24, 3))
    moves, _, theta, weights = begun(X, k, lam, seed=seed)
    found = moves.descend(theta, weights)
    for b in range(len(theta)):
        labels = moves.distances(found.theta, found.weights)[b].argmin(axis=0)
        least = sum_of_squares(moves.X, labels, k, found.weights[b], moves.mass)
        for i in range(len(X)):
            for j in range(k):
                moved = labels.copy()
                moved[i] = j
                other = sum_of_squares(moves.X, moved, k, found.weights[b], moves.mass)
                assert other >= least * (1 - 1e-8) - 1e-9


@given(st.integers(0, 2**32 - 1), st.integers(0, 3))
@settings(max_examples=25, deadline=None)
def test_the_objective_falls_and_belongs_to_what_is_returned(seed, steps):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 4))
    moves, rule, theta, weights = begun(X, 5, 8.0, seed=seed)
    found = moves.descend(theta, weights, steps=steps)
    nearest = moves.distances(found.theta, found.weights).min(axis=1)
    assert_allclose(found.objective, nearest @ moves.mass + rule.penalty(found.weights), rtol=1e-9)
    before = moves.distances(theta, weights).min(axis=1) @ moves.mass + rule.penalty(weights)
    assert (found.objective <= before + 1e-9 * np.abs(before)).all()


def test_a_row_moves_where_its_centroid_is_the_nearest():
    """Lloyd's iteration leaves 2 with 0, whose mean it pulls; with 3.1 it would fit better."""
    X = np.array([[0.0], [2.0], [3.1]])
    engine = ArrayEngine(X)
    moves = RowMoves(engine, RelativeEntropy.make(1.0, engine.squares))
    theta = (np.array([[[1.0], [3.1]]]) - engine.center) / engine.scale
    found = moves.descend(theta, np.ones((1, 1)))
    assert_allclose(np.sort(found.theta.ravel()) + engine.center, [0.0, 2.55])


def test_a_row_of_weight_two_is_that_row_twice():
    rng = np.random.default_rng(5)
    X = np.round(rng.standard_normal((40, 3)), 2)
    weight = rng.integers(0, 3, 40).astype(float)
    one, _, theta, weights = begun(X, 4, 6.0, sample_weight=weight)
    two = RowMoves(*_engine_and_rule(np.repeat(X, weight.astype(int), axis=0), 6.0))
    assert_allclose(two.X, one.X, atol=1e-12)
    assert_array_equal(two.mass, one.mass)
    found, same = one.descend(theta, weights), two.descend(theta, weights)
    assert_allclose(same.objective, found.objective, rtol=1e-12)
    assert_allclose(same.theta, found.theta, atol=1e-9)


def _engine_and_rule(X, lam):
    engine = ArrayEngine(X)
    return engine, RelativeEntropy.make(lam, engine.squares)


def test_runs_do_not_depend_on_those_beside_them(monkeypatch):
    X = np.random.default_rng(2).standard_normal((120, 5))
    moves, _, theta, weights = begun(X, 6, 20.0, runs=7)
    together = moves.descend(theta, weights, steps=1)
    monkeypatch.setattr("ewp.solver.row_moves._PAIRS_AT_ONCE", 1)
    assert_allclose(moves.descend(theta, weights, steps=1).objective, together.objective, rtol=1e-9)


def test_random_weights_belong_to_the_features_and_not_to_their_places():
    X = np.random.default_rng(3).standard_normal((50, 6))
    order = np.random.default_rng(4).permutation(6)
    one, two = (RowMoves(*_engine_and_rule(part, 5.0)) for part in (X, X[:, order]))
    drawn = one.random_weights(3, np.random.default_rng(0))
    assert_allclose(drawn.sum(axis=1), 1.0)
    again = two.random_weights(3, np.random.default_rng(0))
    assert_allclose(again, drawn[:, order], rtol=1e-12)


@pytest.mark.parametrize(("shape", "can"), [((50, 3), True), ((3000, 1000), False)])
def test_rows_move_where_they_are_few_enough_to_be_copied(shape, can):
    assert rows_can_move(ArrayEngine(np.zeros(shape)), 3) == can
    assert not rows_can_move(ArrayEngine(np.zeros(shape)), 1)


def test_rows_with_missing_values_stay():
    X = np.random.default_rng(0).standard_normal((30, 3))
    X[4, 1] = np.nan
    assert not rows_can_move(ArrayEngine(X), 3)
