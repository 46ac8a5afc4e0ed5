"""Rows and clusters have an order of their own, whatever the order in which they come."""

import numpy as np

import ewp
from ewp.engine.array import ArrayEngine


def test_an_outlier_does_not_blur_the_canonical_order():
    rng = np.random.default_rng(0)
    data = np.vstack([rng.standard_normal((200, 3)), np.full((1, 3), 1e9)])
    order, distinct = ArrayEngine(data).canonical
    assert distinct.all()
    shuffled = rng.permutation(201)
    again = ArrayEngine(data[shuffled]).order
    np.testing.assert_array_equal(data[order], data[shuffled][again])


def test_equal_rows_are_known_as_such():
    data = np.repeat(np.random.default_rng(0).integers(0, 2, (40, 6)), 3, axis=0).astype(float)
    _, distinct = ArrayEngine(data).canonical
    assert distinct.sum() == len(np.unique(data, axis=0))


def test_cluster_zero_is_the_largest_also_beside_empty_ones():
    for seed in range(20):
        data = np.random.default_rng(seed).integers(0, 2, (60, 3)).astype(float)
        sizes = ewp.fit(data, 4, 1e-3, random_state=seed).clusters["size"]
        assert sizes.is_monotonic_decreasing
