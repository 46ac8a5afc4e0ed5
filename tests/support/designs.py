"""Data sets whose structure is known."""

import numpy as np


def wide_design(seed, n=80, p=2000, k=4, relevant=20):
    """Few rows, many features, the relevant ones with the larger variance."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    X = rng.normal(0, 1.5, (n, p))
    centres = rng.normal(0, 2, (k, relevant))
    X[:, :relevant] = centres[labels] + rng.standard_normal((n, relevant))
    return X, labels


def thirty_rows():
    """Fifteen rows about each of two centres; the third feature does not tell them apart."""
    centres = np.repeat([[0.0, 0.0, 0.0], [6.0, 6.0, 0.0]], 15, axis=0)
    return centres + np.random.default_rng(0).standard_normal((30, 3))


def sixty_rows():
    """Thirty rows about each of two centres that differ in all four features."""
    shift = 5 * (np.arange(60) < 30)[:, None]
    return np.random.default_rng(0).standard_normal((60, 4)) + shift


def clusters(seed=0, n=60, p=12, k=3, relevant=4, shift=4.0):
    """Clusters that the first features tell apart, the others being noise; row i is in i mod k."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:, :relevant] += shift * ((np.arange(n)[:, None] + np.arange(relevant)) % k)
    return X
