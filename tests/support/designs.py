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
