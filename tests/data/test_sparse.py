"""Rows of a sparse matrix: moments, extremes, order and hashes are those of the dense rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ewp.data.canonical import (
    column_means,
    column_squares,
    hash_sample_block,
    order_by_value,
    varying_columns,
)
from ewp.data.outliers import describe_outliers
from ewp.data.sources import ArraySource
from ewp.data.sparse import SparseRows, dense_rows
from ewp.data.sparse_order import hash_rows, hash_sample, order_sparse


@st.composite
def tables(draw):
    """Rows with zeros, repetitions, constant and empty columns, and perhaps weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(2, 40)), draw(st.integers(1, 12))
    X = np.where(rng.random((n, p)) < draw(st.sampled_from([0.05, 0.4, 1.0])), 1.0, 0.0)
    X *= rng.normal(2.0, 1.0, (n, p)).round(draw(st.sampled_from([0, 6])))
    X[:, rng.integers(p)] = draw(st.sampled_from([0.0, 7.0, 1e8]))
    X[rng.integers(n, size=3)] = X[rng.integers(n, size=3)]
    weight = rng.integers(0, 3, n).astype(float) if draw(st.booleans()) else None
    if weight is not None:
        weight[rng.integers(n)] = 1.5
    return X, weight


@settings(max_examples=100, deadline=None)
@given(tables())
def test_moments_and_extremes(table):
    X, weight = table
    rows = SparseRows(sparse.csr_array(X))
    mean = column_means(X, weight)
    np.testing.assert_allclose(column_means(rows, weight), mean, rtol=1e-13, atol=1e-13)
    squares = column_squares(X, weight, mean)
    np.testing.assert_allclose(column_squares(rows, weight, mean), squares, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(varying_columns(rows, weight), varying_columns(X, weight))
    np.testing.assert_array_equal(rows.ends(), (X.min(axis=0), X.max(axis=0)))
    constant = ~varying_columns(X, weight)
    assert not column_squares(rows, weight, column_means(rows, weight))[constant].any()


@settings(max_examples=100, deadline=None)
@given(tables(), st.integers(1, 20))
def test_order_hashes_and_samples(table, size):
    X, weight = table
    rows = SparseRows(sparse.csr_array(X))
    center = column_means(X, None)
    squares = column_squares(X, None, center)
    order, distinct = order_by_value(iter([X - center]), squares, float(len(X)))
    found = order_sparse(rows, center, squares, float(len(X)))
    np.testing.assert_array_equal(X[found[0]], X[order])
    np.testing.assert_array_equal(found[1], distinct)
    expected = hash_sample_block(X, weight, size)
    sample, mass = hash_sample(rows, hash_rows(rows), weight, size)
    np.testing.assert_array_equal(sample[:], expected.rows)
    np.testing.assert_allclose(mass, expected.mass, rtol=1e-15)


def test_rows_are_asked_for_as_of_an_array():
    X = np.arange(12.0).reshape(4, 3) % 5
    rows = SparseRows(sparse.coo_array(X))
    assert len(rows) == 4
    for index in (slice(1, 3), np.array([2, 0]), X[:, 0] > 1, 2, -1):
        np.testing.assert_array_equal(rows[index], X[index])
    np.testing.assert_array_equal(rows.take(slice(None), np.array([2, 1]))[:], X[:, [2, 1]])
    np.testing.assert_array_equal(np.vstack([rows[part] for part, _ in rows.blocks(2)]), X)
    with pytest.raises(TypeError, match="not made dense unasked"):
        np.asarray(rows)
    with pytest.raises(ValueError, match=r"this needs dense rows.*give fewer"):
        dense_rows(SparseRows(sparse.csr_array((10_000, 10_000))), "this", "give fewer")


@pytest.mark.parametrize("fill", [0.1, 0.9])
def test_far_values_are_told_as_in_dense_rows(fill):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((600, 6)) < fill, rng.gamma(3.0, 1.0, (600, 6)), 0.0)
    X[5, 2], X[[9, 17], 4] = 9.97e36, -9999.0
    told = describe_outliers(ArraySource(X, None))
    assert "2 values of -9999" in told
    assert describe_outliers(ArraySource(sparse.csr_array(X), None)) == told
    assert describe_outliers(ArraySource(sparse.csr_array(X[:, [0, 1, 3]]), None)) is None
