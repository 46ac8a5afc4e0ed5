"""What held-out rows gain from a partition: the documented density, and what gains nothing."""

import numpy as np
from scipy import stats

from ewp.selection.density import PartitionDensity, resolution


def mixture_gain_by_loops(X, labels, test, cell):
    """The documented score, written out."""
    n, p = X.shape
    groups = np.unique(labels)
    k = len(groups)
    gains = []
    columns = []
    for m in range(p):
        samples = [X[labels == g, m] for g in groups]
        result = stats.f_oneway(*samples)
        if result.pvalue * p < 0.05:
            columns.append((m, result.statistic))
    for x in test:
        cluster = []
        for g in groups:
            size = (labels == g).sum()
            value = np.log(size / n)
            for m, F in columns:
                pooled = sum(
                    ((X[labels == h, m] - X[labels == h, m].mean()) ** 2).sum() for h in groups
                ) / (n - k)
                grand = X[:, m].mean()
                mean = grand + max(0, 1 - 1 / F) * (X[labels == g, m].mean() - grand)
                sd = np.sqrt(pooled * (1 + 1 / size))
                if cell[m]:
                    value += np.log(
                        stats.norm.cdf(x[m] + cell[m] / 2, mean, sd)
                        - stats.norm.cdf(x[m] - cell[m] / 2, mean, sd)
                    )
                else:
                    value += stats.norm.logpdf(x[m], mean, sd)
            cluster.append(value)
        single = 0.0
        for m, _ in columns:
            mean, sd = X[:, m].mean(), np.sqrt(X[:, m].var(ddof=1) * (1 + 1 / n))
            if cell[m]:
                single += np.log(
                    stats.norm.cdf(x[m] + cell[m] / 2, mean, sd)
                    - stats.norm.cdf(x[m] - cell[m] / 2, mean, sd)
                )
            else:
                single += stats.norm.logpdf(x[m], mean, sd)
        gains.append(np.logaddexp.reduce(cluster) - single)
    return np.array(gains)


def test_density_gain_is_the_documented_formula():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 80)
    X = rng.standard_normal((80, 5)) + np.c_[2.0 * labels, -labels, np.zeros((80, 3))]
    X[:, 1] = X[:, 1].round()
    test = np.c_[rng.standard_normal((20, 5))]
    test[:, 1] = test[:, 1].round()
    cell = resolution(X)
    assert cell.tolist() == [0, 1, 0, 0, 0]
    density = PartitionDensity.estimate(X, labels, None, cell)
    expected = mixture_gain_by_loops(X, labels, test, cell)
    np.testing.assert_allclose(density.gain(test), expected, rtol=1e-9, atol=1e-9)


def test_density_gain_ignores_units_and_counts_weights_as_copies():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 60)
    X = rng.standard_normal((60, 4)) + 2.0 * labels[:, None] * [1, 0, 0, 1]
    cell = np.zeros(4)
    plain = PartitionDensity.estimate(X, labels, None, cell).gain(X)
    units = np.array([1e-6, 1.0, 1e3, 1e6])
    scaled = PartitionDensity.estimate(X * units, labels, None, cell).gain(X * units)
    np.testing.assert_allclose(scaled, plain, rtol=1e-9)
    count = rng.integers(1, 4, 60)
    weighted = PartitionDensity.estimate(X, labels, count.astype(float), cell)
    copies = PartitionDensity.estimate(
        np.repeat(X, count, axis=0), np.repeat(labels, count), None, cell
    )
    np.testing.assert_allclose(weighted.gain(X), copies.gain(X), rtol=1e-9)


def test_noise_and_trivial_partitions_gain_nothing():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 50))
    chance = PartitionDensity.estimate(X, rng.integers(0, 4, 200), None, np.zeros(50))
    assert np.abs(chance.gain(X).mean()) < 0.05
    one = PartitionDensity.estimate(X, np.zeros(200, dtype=int), None, np.zeros(50))
    assert (one.gain(X) == 0).all()


def test_a_binary_column_that_splits_itself_gains_almost_nothing():
    rng = np.random.default_rng(3)
    X = np.c_[rng.integers(0, 2, 400).astype(float), rng.standard_normal((400, 3))]
    split = PartitionDensity.estimate(X, X[:, 0].astype(int), None, resolution(X))
    assert abs(split.gain(X).mean()) < 0.1


def test_constant_columns_are_worth_nothing():
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    X = rng.standard_normal((90, 3)) + 3.0 * labels[:, None]
    # the mean of equal values is not exactly that value
    wider = np.c_[X, np.full(90, 0.1), np.full(90, 1e8 + 0.1)]
    assert wider[:, 3].mean() != 0.1
    plain = PartitionDensity.estimate(X, labels, None, np.zeros(3))
    padded = PartitionDensity.estimate(wider, labels, None, np.zeros(5))
    np.testing.assert_allclose(padded.gain(wider), plain.gain(X), rtol=1e-12)


def test_rounding_errors_are_no_resolution():
    X = np.random.default_rng(0).integers(0, 5, (100, 2)) * np.array([0.1, 1.0])
    X[::2, 0] = (X[::2, 0] + 0.7) - 0.7
    assert len(np.unique(X[:, 0])) > 5
    np.testing.assert_allclose(resolution(X), [0.1, 1.0], rtol=1e-12)
    np.testing.assert_allclose(resolution(X + 1e8), [0.1, 1.0], rtol=1e-6)


def test_copies_have_the_resolution_of_weights():
    X = np.random.default_rng(0).integers(0, 40, (50, 2)).astype(float)
    count = np.full(50, 3)
    copied = resolution(np.repeat(X, count, axis=0))
    np.testing.assert_array_equal(resolution(X, count.astype(float)), copied)
    assert (copied > resolution(X)).any()
