"""What held-out rows gain from a partition: the documented density, and what gains nothing."""

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import eigh

from ewp.engine.array import ArrayEngine
from ewp.selection.coordinates import scoring_coordinates
from ewp.selection.density import FoldDensity
from ewp.selection.t_mixture import Mixture


def grouped(n=90, p=4, seed=0, shift=2.0):
    """Three groups along the first two columns, and noise that is correlated with the second."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    X = rng.standard_normal((n, p)) + np.pad(shift * np.eye(3)[labels, :2], ((0, 0), (0, p - 2)))
    X[:, 2] += 0.8 * X[:, 1]
    return X, labels


def quadratic(X):
    """All products of two columns, the columns, and one."""
    X = np.c_[np.ones(len(X)), X]
    i, j = np.triu_indices(X.shape[1])
    return X[:, i] * X[:, j]


def t_of(log_density, dimension, seed=0):
    """Degrees of freedom, location and shape of the t distribution that a log-density is."""
    points = np.random.default_rng(seed).normal(0, 2, (60, dimension))
    found = []
    for degrees in (3, 5, 10, 30):
        # one plus a squared distance over the degrees of freedom, but for a factor
        values = np.exp(-2.0 / (degrees + dimension) * log_density(points))
        terms = quadratic(points)
        known, *_ = np.linalg.lstsq(terms, values, rcond=None)
        error = np.abs(terms @ known - values).max() / np.abs(values).max()
        found.append((error, degrees, known))
    error, degrees, known = min(found, key=lambda one: one[0])
    assert error < 1e-9
    form = np.zeros((dimension + 1, dimension + 1))
    form[np.triu_indices(dimension + 1)] = known
    form = 0.5 * (form + form.T)
    location = -np.linalg.solve(form[1:, 1:], form[1:, 0])
    least = form[0, 0] + form[0, 1:] @ location
    return stats.multivariate_t(location, np.linalg.inv(form[1:, 1:] * degrees / least), df=degrees)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_one_cloud_is_a_multivariate_t(dimension):
    """SciPy's density, with a location and a shape that are those of the rows."""
    rng = np.random.default_rng(0)
    shape = np.eye(dimension) + 0.5
    rows = stats.multivariate_t(np.ones(dimension), shape, df=5).rvs(2000, random_state=rng)
    rows = rows.reshape(-1, dimension)
    labels = (rows[:, 0] > 1).astype(int)
    mixture = Mixture.estimate(rows, labels, np.ones(2000), np.bincount(labels).astype(float))
    found = t_of(mixture.log_single, dimension)
    points = rng.normal(0, 3, (50, dimension))
    np.testing.assert_allclose(mixture.log_single(points), found.logpdf(points), rtol=1e-7)
    assert found.df == 5
    np.testing.assert_allclose(found.shape, shape, atol=0.15)
    np.testing.assert_allclose(found.loc, rows.mean(axis=0), atol=1e-6)
    # near the likeliest: no other size is better
    size = [
        stats.multivariate_t(found.loc, f * found.shape, df=5).logpdf(rows).mean()
        for f in (0.8, 1.0, 1.25)
    ]
    assert np.argmax(size) == 1


def test_gain_is_that_of_a_mixture_of_t_distributions():
    """Shares times predictive densities, over that of one cloud: clusters far apart show them."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [30, 60])
    rows = rng.standard_normal((90, 2)) + 1e4 * labels[:, None]
    mixture = Mixture.estimate(rows, labels, np.ones(90), np.array([30.0, 60.0]))

    def near(j):
        middle = rows[labels == j].mean(axis=0)
        size = (30, 60)[j]
        return t_of(
            lambda X: (
                (mixture.gain(X + middle) + mixture.log_single(X + middle)) - np.log(size / 90)
            ),
            2,
        )

    one, other = near(0), near(1)
    np.testing.assert_allclose(one.loc, 0, atol=1e-4)
    # one scatter for both, wider where the mean rests on fewer rows
    np.testing.assert_allclose(one.shape / (1 + 1 / 30), other.shape / (1 + 1 / 60), rtol=1e-4)
    assert one.df == other.df


def test_gain_ignores_units_and_offsets():
    X, labels = grouped(shift=5.0)
    train, test = X[:60], X[60:]
    gain = FoldDensity(train, test, None).judge(labels[:60]).gain
    units = np.array([1e-6, 1.0, 1e3, 1e6])
    moved = FoldDensity(train * units + 3.0, test * units + 3.0, None).judge(labels[:60]).gain
    np.testing.assert_allclose(moved, gain, rtol=1e-5, atol=1e-5)
    assert gain.mean() > 0.1


def test_gain_ignores_names_of_clusters_and_any_linear_map_of_the_features():
    """With many rows the covariance is all but unshrunk, and the discriminants are canonical."""
    X, labels = grouped(3000, 3)
    train, test, own = X[:2000], X[2000:], labels[:2000]
    judged = FoldDensity(train, test, None).judge(own)
    renamed = FoldDensity(train, test, None).judge((own + 5) % 7)
    np.testing.assert_array_equal(renamed.gain, judged.gain)
    A = np.array([[1.0, 0.3, 0.0], [0.2, 1.0, 0.1], [0.0, 0.4, 1.0]])
    mapped = FoldDensity(train @ A, test @ A, None).judge(own)
    assert mapped.gain.mean() == pytest.approx(judged.gain.mean(), abs=0.01)


@pytest.mark.parametrize("shape", [(60, 4), (40, 60)])
def test_weights_count_as_copies(shape):
    X, labels = grouped(*shape, shift=4.0)
    count = np.random.default_rng(1).integers(1, 4, shape[0])
    weighted = FoldDensity(X, X, count.astype(float)).judge(labels)
    copies = FoldDensity(np.repeat(X, count, axis=0), X, None).judge(np.repeat(labels, count))
    np.testing.assert_allclose(weighted.gain, copies.gain, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(weighted.features, copies.features)


@pytest.mark.parametrize("shape", [(30, 3), (24, 40)])
def test_training_rows_are_projected_as_if_they_had_been_left_out(shape):
    """In the products from which projections are made: by leaving every row out in turn."""
    n, p = shape
    X, labels = grouped(n, p, shift=6.0)
    density = FoldDensity(X, X, None)
    (rows,) = [
        one for one in density._in_coordinates(np.ones(p, dtype=bool)) if one.shrinkage < 1.0
    ][:1]
    mass = np.bincount(labels).astype(float)
    member = (labels == np.arange(3)[:, None]).astype(float)
    projected, _, rank = density._project(rows, labels[None], mass[None], member[None])
    assert rank.tolist() == [2]
    train = projected[0]
    # back from discriminants to products with the means
    means = (member @ rows.train) / mass[:, None]
    root = np.sqrt(mass / n)
    left, length, _ = np.linalg.svd(root[:, None] * means, full_matrices=False)
    to_axes = (root[:, None] * left[:, :2]) / length[:2]
    Z = density.train
    whole = (1 - rows.shrinkage) * Z.T @ Z / n + rows.shrinkage * np.eye(p)
    expected = np.empty((n, 3))
    for i in range(n):
        # one row less: the covariance loses its product, its own cluster's mean the row
        covariance = whole - (1 - rows.shrinkage) * np.outer(Z[i], Z[i]) / n
        others = np.arange(n) != i
        mean = np.array([Z[(labels == j) & others].mean(axis=0) for j in range(3)])
        expected[i] = mean @ np.linalg.solve(covariance, Z[i])
    np.testing.assert_allclose(train, expected @ to_axes, rtol=1e-5, atol=1e-7)


def test_directions_are_fishers_discriminants():
    X, labels = grouped(400, 3)
    projected = FoldDensity(X, X, None).project(labels)
    within = sum(np.cov(X[labels == j].T, bias=True) * (labels == j).sum() for j in range(3))
    _, axes = eigh(np.cov(X.T, bias=True) * len(X), within)
    fisher = (X - X.mean(axis=0)) @ axes[:, ::-1][:, :2]
    # the same plane: regressions of one on the other leave nothing
    residual = projected.test - fisher @ np.linalg.lstsq(fisher, projected.test, rcond=None)[0]
    assert residual.var() < 1e-3 * projected.test.var()


def held_out(X, labels_of, parts=5):
    """Mean gain of rows that are held out, partitions made of training rows alone."""
    fold = np.arange(len(X)) % parts
    described = scoring_coordinates(X, None, ArrayEngine(X).canonical)
    gains = []
    for j in range(parts):
        train = fold != j
        density = FoldDensity(described[train], described[~train], None)
        gains.append(density.judge(labels_of(X[train])).gain.mean())
    return float(np.mean(gains))


def halves(X):
    """Split along the first principal component, as k-means does without clusters."""
    centred = X - X.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    along = centred @ axes[0]
    return (along > np.median(along)).astype(int)


NULLS = {
    "correlation": lambda rng: rng.multivariate_normal(
        np.zeros(5), 0.9 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5))), 250
    ),
    "heavy tails": lambda rng: (
        rng.standard_normal((250, 5)) / np.sqrt(rng.chisquare(3, (250, 1)) / 3)
    ),
    "skewness": lambda rng: rng.exponential(size=(250, 5)),
    "noise": lambda rng: rng.standard_normal((250, 5)),
    "coarse": lambda rng: np.round(rng.standard_normal((250, 5))),
}


@pytest.mark.parametrize("name", NULLS)
def test_one_cloud_gains_nothing_on_average(name):
    rng = np.random.default_rng(0)
    gains = [held_out(NULLS[name](rng), halves) for _ in range(6)]
    # one power cannot make every skewed margin that of a t distribution
    assert np.mean(gains) <= (0.05 if name == "skewness" else 0.0)


def test_groups_gain_with_and_without_correlated_noise():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 125)
    noise = NULLS["correlation"](rng)
    for X in (rng.standard_normal((250, 5)), noise):
        X[:, 0] += 5.0 * labels
        assert held_out(X, lambda rows: (rows[:, 0] > 2.5).astype(int)) > 0.2


def test_noise_and_trivial_partitions_gain_nothing():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 50))
    chance = FoldDensity(X, X, None).judge(rng.integers(0, 4, 200))
    assert np.abs(chance.gain.mean()) < 0.05
    one = FoldDensity(X, X, None).judge(np.zeros(200, dtype=int))
    assert (one.gain == 0).all()
    assert not len(one.features)


def test_a_binary_column_that_splits_itself_gains_little():
    """Two values are no clusters: spread over their cells they are one flat cloud."""
    rng = np.random.default_rng(3)
    X = np.c_[rng.integers(0, 2, 400).astype(float), rng.standard_normal((400, 3))]
    gain = held_out(X, lambda rows: rows[:, 0].astype(int))
    assert abs(gain) < 0.2


def test_constant_columns_are_worth_nothing():
    X, labels = grouped()
    # the mean of equal values is not exactly that value
    wider = np.c_[X, np.full(90, 0.1), np.full(90, 1e8 + 0.1)]
    assert wider[:, 4].mean() != 0.1
    plain = FoldDensity(X, X, None).judge(labels)
    padded = FoldDensity(wider, wider, None).judge(labels)
    np.testing.assert_allclose(padded.gain, plain.gain, rtol=1e-9)
    np.testing.assert_array_equal(padded.features, plain.features)


def test_many_more_features_than_rows_are_survived():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 2
    X = rng.standard_normal((60, 1500))
    noise = held_out(X, halves)
    X[:, :30] += 2.0 * labels[:, None]
    assert noise < 0.1
    assert held_out(X, lambda rows: (rows[:, :30].mean(axis=1) > 1.0).astype(int)) > 0.3


@pytest.mark.parametrize("shape", [(90, 4), (60, 40), (40, 90)])
def test_partitions_are_judged_together_as_alone(shape):
    """Numbers of clusters, directions and significant features differ among them."""
    rng = np.random.default_rng(0)
    X, labels = grouped(*shape, shift=4.0)
    merged, split = np.minimum(labels, 1), labels + 3 * (X[:, 3] > 1.0)
    chance, one = rng.integers(0, 3, shape[0]), np.zeros(shape[0], dtype=int)
    partitions = np.array([labels, merged, split, chance, one, 2 - labels])
    together = FoldDensity(X, X, None).judge_all(partitions)
    for judged, partition in zip(together, partitions, strict=True):
        alone = FoldDensity(X, X, None).judge(partition)
        np.testing.assert_allclose(judged.gain, alone.gain, rtol=1e-8, atol=1e-9)
        np.testing.assert_array_equal(judged.features, alone.features)
    assert together[0] is together[-1]  # the same clusters by other names
    # chance finds no significant column, and gains as little as one cluster
    assert len({judged.gain.sum() for judged in together}) == 4


def test_a_column_is_significant_at_the_level_of_the_f_test():
    """SciPy's one-way analysis of variance, corrected for the number of columns."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 60)
    X = rng.standard_normal((60, 40)) + np.linspace(0, 1.5, 40) * (labels == 1)[:, None]
    p_value = stats.f_oneway(*(X[labels == j] for j in range(3))).pvalue
    found = FoldDensity(X, X, None).judge(labels).features
    np.testing.assert_array_equal(found, np.flatnonzero(40 * p_value < 0.05))
    assert 0 < len(found) < 40
