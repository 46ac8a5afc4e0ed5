"""K-means on inner products: sums of squares fall, and no single row can move to lower them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ewp.metrics import rand_index
from ewp.solver.gram_kmeans import move_rows, seeded
from ewp.solver.starts import seed_numbers


def within(X, mass, labels):
    """Sum of squares within the clusters, by its definition."""
    total = 0.0
    for j in np.unique(labels):
        own = labels == j
        mean = np.average(X[own], axis=0, weights=mass[own])
        total += float(mass[own] @ ((X[own] - mean) ** 2).sum(axis=1))
    return total


def drawn(seed, n, p, k, weighted):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.normal(0, 0.5, (k, p))[np.arange(n) % k]
    mass = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    return X, mass, rng


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 4), weighted=st.booleans())
def test_no_single_row_can_move_to_lower_the_sum_of_squares(seed, k, weighted):
    X, mass, rng = drawn(seed, 14, 30, k, weighted)
    begun = seeded(X @ X.T, mass, k, seed_numbers(rng, 3, k))
    found = move_rows((X @ X.T)[None], mass, begun, k)
    for first, last in zip(begun, found, strict=True):
        reached = within(X, mass, last)
        assert reached <= within(X, mass, first) * (1 + 1e-12)
        assert len(np.unique(last)) == k
        for i in range(len(X)):
            for j in range(k):
                moved = last.copy()
                moved[i] = j
                if len(np.unique(moved)) == k:
                    assert within(X, mass, moved) >= reached * (1 - 1e-8)


def test_partitions_do_not_depend_on_those_beside_them():
    X, mass, rng = drawn(1, 40, 200, 3, weighted=True)
    inner = X @ X.T
    begun = seeded(inner, mass, 3, seed_numbers(rng, 6, 3))
    together = move_rows(inner[None], mass, begun, 3)
    alone = [move_rows(inner[None], mass, one[None], 3)[0] for one in begun]
    np.testing.assert_array_equal(together, alone)


def test_metrics_may_differ_between_partitions():
    X, mass, rng = drawn(2, 30, 50, 3, weighted=False)
    metrics = [X[:, :20] @ X[:, :20].T, X[:, 20:] @ X[:, 20:].T]
    begun = rng.integers(3, size=(2, 30))
    together = move_rows(np.array(metrics), mass, begun, 3)
    for inner, one, found in zip(metrics, begun, together, strict=True):
        np.testing.assert_array_equal(move_rows(inner[None], mass, one[None], 3)[0], found)


@pytest.mark.parametrize("p", [3, 2000])
def test_clear_clusters_are_found(p):
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 3
    X = rng.standard_normal((60, p))
    X[:, :3] += 60.0 * np.eye(3)[truth]
    begun = rng.integers(3, size=(1, 60))
    (found,) = move_rows((X @ X.T)[None], np.ones(60), begun, 3)
    assert rand_index(truth, found) == 1.0
