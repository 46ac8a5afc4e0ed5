"""Tables whose columns have divergences of their own, and these by textbook formulas."""

import numpy as np

__all__ = ["NAMES", "clusters", "counts", "draw_values", "half_deviance", "table"]

NAMES = ("euclidean", "poisson", "bernoulli", "gamma")


def draw_values(name, rng, size):
    """Values of a family; means within (0, 1), which all families can have."""
    if name == "bernoulli-mean":
        return rng.uniform(0.05, 0.95, size)
    if name == "euclidean":
        return rng.normal(0.5, 1.0, size)
    if name == "poisson":
        return rng.poisson(1.5, size).astype(float)
    if name == "bernoulli":
        return (rng.random(size) < 0.4).astype(float)
    return rng.gamma(2.0, 0.3, size) + 1e-3


def table(names, rng, n):
    """Rows whose columns are of the given families."""
    return np.column_stack([draw_values(name, rng, n) for name in names])


def _entropy(x, theta):
    return np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0) / theta), 0.0)


def half_deviance(X, theta, names):
    """Divergence of every entry, written out."""
    theta = np.broadcast_to(theta, X.shape)
    found = np.empty(X.shape)
    for column, name in enumerate(names):
        x, t = X[:, column], theta[:, column]
        if name == "euclidean":
            found[:, column] = (x - t) ** 2
        elif name == "poisson":
            t = np.maximum(t, 1e-300)
            found[:, column] = _entropy(x, t) - x + t
        elif name == "bernoulli":
            t = np.clip(t, 1e-300, 1 - 1e-16)
            found[:, column] = _entropy(x, t) + _entropy(1 - x, 1 - t)
        else:
            found[:, column] = x / t - np.log(x / t) - 1
    return found


def clusters(names, rng, n, k, apart=1.5):
    """Rows in k clusters whose means differ in all columns, with their labels."""
    labels = rng.integers(0, k, n)
    columns = []
    for name in names:
        level = rng.permutation(np.linspace(-apart, apart, k))[labels]
        if name == "euclidean":
            columns.append(rng.normal(2.0 * level, 1.0))
        elif name == "poisson":
            columns.append(rng.poisson(4.0 * np.exp(0.6 * level)).astype(float))
        elif name == "bernoulli":
            columns.append((rng.random(n) < 1 / (1 + np.exp(-2.0 * level))).astype(float))
        else:
            columns.append(rng.gamma(4.0, np.exp(level) / 4.0))
    return np.column_stack(columns), labels


def counts(rng, n=300, p=60, relevant=12, k=3, apart=0.9, sizes=10.0, extra=0.0):
    """Counts of rows of different sizes: clusters differ in some columns. Also labels, sizes."""
    labels = rng.integers(0, k, n)
    mean = np.tile(rng.lognormal(1.0, 1.0, p), (k, 1))
    mean[:, :relevant] *= np.exp(rng.normal(0.0, apart, (k, relevant)))
    size = np.exp(rng.uniform(-0.5, 0.5, n) * np.log(sizes))
    expected = size[:, None] * mean[labels]
    if extra:
        expected = expected * rng.gamma(1.0 / extra, extra, expected.shape)
    return rng.poisson(expected).astype(float), labels, size
