"""The engine of sparse rows gives the statistics that the one of dense rows gives."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ewp.data.sparse import SparseRows
from ewp.engine.array import ArrayEngine
from ewp.engine.base import RowMass
from ewp.engine.sparse import SparseEngine
from tests.support.sparse import counts


def engines(X, weight=None, scale=None):
    return (
        ArrayEngine(X, weight, scale=scale),
        SparseEngine(SparseRows(sparse.csr_array(X)), weight, scale=scale),
    )


def assert_close(one, other, scale=None):
    scale = np.abs(one).max(initial=1e-300) if scale is None else scale
    np.testing.assert_allclose(np.asarray(other) / scale, np.asarray(one) / scale, atol=1e-11)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([None, "standard"]),
    k=st.sampled_from([1, 4, 40]),
    offset=st.sampled_from([0.0, 1e6]),
    weighted=st.booleans(),
    of_runs=st.booleans(),
)
def test_statistics_of_a_step(seed, scale, k, offset, weighted, of_runs):
    X, _ = counts(seed, n=90, p=20, offset=offset)
    rng = np.random.default_rng(seed)
    weight = rng.random(90) if weighted else None
    dense, found = engines(X, weight, scale)
    # centroids on rows as well, where distances vanish
    theta = np.stack([dense.rows(rng.choice(90, k)) for _ in range(3)])
    theta[1] += 0.1 * rng.standard_normal(theta[1].shape)
    weights = rng.dirichlet(np.full(20, 0.3), 3)
    s = np.array([-2.0, -np.inf, -7.3])
    mass = RowMass(rng.integers(0, 3, (2, 90)).astype(float), np.array([0, 1, 1]))
    given_mass = mass if of_runs else None
    one, other = (e.statistics(theta, weights, s, given_mass) for e in (dense, found))
    extent = np.abs(dense.rows(slice(None))).max()
    assert_close(one.sums, other.sums, 90 * extent)
    for name in ("mass", "scatter", "power", "nearest", "softness"):
        assert_close(getattr(one, name), getattr(other, name), 90 * max(extent, 1.0) ** 2)


@pytest.mark.parametrize("scale", [None, "standard"])
def test_rows_distances_and_deviations(scale):
    X, _ = counts(4, n=80, p=12, offset=50.0)
    weight = np.random.default_rng(0).random(80)
    dense, found = engines(X, weight, scale)
    rng = np.random.default_rng(1)
    theta, weights = rng.standard_normal((2, 3, 12)), rng.dirichlet(np.ones(12), 2)
    index, columns = np.array([7, 3, 60]), np.array([11, 0, 4])
    assert_close(dense.rows(index), found.rows(index))
    assert_close(dense.take(index, columns), found.take(index, columns))
    assert_close(dense.lengths(weights[0]), found.lengths(weights[0]))
    assert_close(dense.row_lengths, found.row_lengths)
    assert_close(dense.distances(theta[0], weights[0]), found.distances(theta[0], weights[0]))
    lengths = [e.lengths_of_runs(weights) for e in (dense, found)]
    assert_close(*lengths)
    assert_close(
        dense.distances_of_runs(theta, weights, lengths[0]),
        found.distances_of_runs(theta, weights, lengths[1]),
    )
    for one, other in zip(
        dense.deviations(theta[0], weights[0]), found.deviations(theta[0], weights[0]), strict=True
    ):
        assert_close(one, other)
    assert_close(dense.rows(slice(None)) @ weights.T, found.dot(weights.T))
    v = rng.standard_normal((80, 2))
    assert_close(dense.rows(slice(None)).T @ v, found.transposed_dot(v))
    part, columns = np.arange(5, 40), np.array([1, 6])
    assert_close(dense.part(part, weight[part]).squares, found.part(part, weight[part]).squares)
    assert_close(dense.with_columns(columns).rows(index), found.with_columns(columns).rows(index))
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.lengths(weights[0]), found.lengths(weights[0]))
    one, other = dense.sample(20), found.sample(20)
    assert_close(one.rows(slice(None)), other.rows(slice(None)))
    assert_close(one.sample_weight, other.sample_weight)


def test_centroids_on_repeated_rows_are_at_no_distance():
    X = np.repeat(counts(2, n=10, p=15)[0], 30, axis=0)
    dense, found = engines(X)
    theta = dense.rows(np.array([0, 95, 180]))
    weights = np.full(15, 1 / 15)
    one, other = (e.assign(theta, weights) for e in (dense, found))
    np.testing.assert_array_equal(one[0], other[0])
    assert other[1][:30].max() < 1e-12
    np.testing.assert_array_equal(found.equal_rows(31), (X[31] == X).all(axis=1))
