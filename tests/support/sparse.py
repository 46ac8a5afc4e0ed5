"""Sparse matrices with clusters, and how far two fits are apart."""

import numpy as np
from scipy import sparse


def counts(seed, n=150, p=30, k=3, fill=0.1, offset=0.0):
    """Dense rows with many zeros, `k` clusters in which different features are frequent."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    rate = np.full((k, p), fill)
    for own in rate:
        own[rng.choice(p, max(p // 8, 1), replace=False)] = 0.7
    X = np.where(rng.random((n, p)) < rate[labels], rng.gamma(3.0, 1.0, (n, p)), 0.0)
    if offset:
        X[:, 0] = offset + labels + 0.3 * rng.standard_normal(n)
    return X, labels


def text(seed=0, n=100_000, p=20_000, k=10, fill=0.001):
    """Rows as those of a large collection of short texts, as CSR."""
    rng = np.random.default_rng(seed)
    m, words = int(n * p * fill), p // (4 * k)
    labels = rng.integers(0, k, n)
    rows = rng.integers(0, n, m)
    own = labels[rows] * words + rng.integers(0, words, m)
    columns = np.where(rng.random(m) < 0.5, own, rng.integers(0, p, m))
    found = sparse.coo_array((1.0 + rng.random(m), (rows, columns)), shape=(n, p)).tocsr()
    found.sum_duplicates()
    return found, labels


def distance(one, other):
    """Largest relative difference of objectives, weights and centroids; labels must agree."""
    assert (one.labels.to_numpy() == other.labels.to_numpy()).all()
    extent = np.abs(one.centroids.to_numpy()).max()
    return max(
        abs(one.objective - other.objective) / abs(one.objective),
        np.abs(one.weights - other.weights).max(),
        np.abs(one.centroids - other.centroids).to_numpy().max() / extent,
    )
