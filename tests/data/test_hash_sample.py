"""A sample of rows by their values: the same in any order, fit to stand for all of them."""

import numpy as np
import pytest

import ewp
from ewp.data.canonical import hash_sample_block, sample_by_hash
from ewp.datasets import make_simulation2
from ewp.engine.array import ArrayEngine


def test_a_sketch_depends_neither_on_order_nor_on_repetition_nor_on_blocks():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4))
    whole = hash_sample_block(X, None, 100)
    assert len(np.unique(whole.rows, axis=0)) == 100
    shuffled = rng.permutation(np.vstack([X, X]))
    parts = np.array_split(shuffled, 7)
    again = sample_by_hash(((part, None) for part in parts), 4, 100)
    np.testing.assert_array_equal(whole.rows, again.rows)
    np.testing.assert_array_equal(again.mass, 2.0)


def test_a_sketch_adds_weights_and_passes_over_zeros():
    X = np.array([[0.0], [-0.0], [1.0], [2.0]])
    found = hash_sample_block(X, np.array([1.0, 2.0, 0.0, 5.0]), 10)
    assert dict(zip(found.rows[:, 0], found.mass, strict=True)) == {0.0: 3.0, 2.0: 5.0}


def test_a_sketch_is_spread_over_the_data():
    X = np.random.default_rng(0).standard_normal((50_000, 3))
    rows = hash_sample_block(X, None, 5000).rows
    assert np.abs(rows.mean(axis=0)).max() < 5 / np.sqrt(5000)
    assert np.abs(rows.std(axis=0) - 1).max() < 5 / np.sqrt(5000)


def test_many_rows_are_fitted_from_a_sample_as_well_as_from_all(monkeypatch):
    k = 5
    X, _, _ = make_simulation2(k, n=4000, p=20, random_state=0)
    whole = ewp.fit(X, k, 0.05 * len(X), random_state=0)
    monkeypatch.setattr("ewp.engine.array._WHOLE", 100)
    monkeypatch.setattr("ewp.data.canonical._SAMPLE_ROWS", 600)
    assert ArrayEngine(X).sample_for_starts(k).n == 600
    found = ewp.fit(X, k, 0.05 * len(X), random_state=0)
    assert found.objective == pytest.approx(whole.objective, rel=1e-10)
