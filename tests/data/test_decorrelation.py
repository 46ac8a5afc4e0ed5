"""Uncorrelated columns, one a feature: what the map is, and that it is the same from any source."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import inv, qr, sqrtm

from ewp.data.decorrelation import (
    Decorrelation,
    given_shrinkage,
    is_decorrelated,
    shrinkage_intensity,
)
from ewp.data.sources import decorrelated_rows, open_source
from ewp.engine import make_engine

RNG = np.random.default_rng(0)


def correlated(n, p, seed=0, rho=0.7):
    """Rows with correlations that fall with the distance of the columns, in different units."""
    rng = np.random.default_rng(seed)
    lag = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    X = rng.multivariate_normal(np.zeros(p), rho**lag, n)
    return X * 10.0 ** rng.integers(-2, 3, p) + rng.normal(0, 5, p)


def dense_formula(X, share):
    """The documented map by its formula, with all matrices."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    P = (1 - share) * np.corrcoef(X, rowvar=False) + share * np.eye(X.shape[1])
    return Z @ inv(sqrtm(P).real)


def whole_map(made):
    """The matrix by which standardised rows are multiplied."""
    p = len(made.center)
    standard = Decorrelation(np.zeros(p), np.ones(p), made.axes, made.roots, made.shrinkage)
    return standard.apply(np.eye(p))


@given(st.integers(2, 8), st.integers(0, 50))
@settings(max_examples=20, deadline=None)
def test_without_shrinkage_columns_are_white(p, seed):
    X = correlated(60, p, seed)
    Z = Decorrelation.estimate(X, shrinkage=0.0).apply(X)
    np.testing.assert_allclose(np.cov(Z, rowvar=False, ddof=0), np.eye(p), atol=1e-8)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-10)


def test_columns_are_closest_to_the_standardised_features():
    """Of all maps to uncorrelated columns of unit variance, ZCA-cor is the closest."""
    X = correlated(200, 5)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    white = Decorrelation.estimate(X, shrinkage=0.0).apply(X)
    distance = ((white - Z) ** 2).sum()
    for seed in range(20):
        rotation, _ = qr(np.random.default_rng(seed).standard_normal((5, 5)))
        assert ((white @ rotation - Z) ** 2).sum() > distance


@pytest.mark.parametrize("shape", [(80, 6), (8, 20)])
def test_map_is_the_symmetric_root_of_the_shrunk_correlation(shape):
    X = correlated(*shape)
    made = Decorrelation.estimate(X, shrinkage=0.3)
    matrix = whole_map(made)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    assert (np.linalg.eigvalsh(matrix) > 0).all()
    np.testing.assert_allclose(made.apply(X), dense_formula(X, 0.3), rtol=1e-7, atol=1e-9)


def test_many_features_need_no_matrix_of_all_pairs():
    X = correlated(10, 80)
    made = Decorrelation.estimate(X)
    assert made.axes.shape == (80, 9)
    np.testing.assert_allclose(made.apply(X), dense_formula(X, made.shrinkage), atol=1e-8)


@pytest.mark.parametrize("shape", [(50, 4), (6, 15)])
def test_there_and_back(shape):
    X = correlated(*shape)
    made = Decorrelation.estimate(X)
    new = correlated(7, shape[1], seed=9)
    np.testing.assert_allclose(made.invert(made.apply(new)), new, rtol=1e-9)
    np.testing.assert_allclose(made.apply(X.mean(axis=0)[None]), 0, atol=1e-9)


@pytest.mark.parametrize("shape", [(50, 4), (6, 15)])
def test_units_offsets_and_the_order_of_columns_do_not_matter(shape):
    X = correlated(*shape)
    Z = Decorrelation.estimate(X).apply(X)
    other = X * 10.0 ** np.linspace(-6, 6, shape[1]) - 3.0
    np.testing.assert_allclose(Decorrelation.estimate(other).apply(other), Z, atol=1e-8)
    order = RNG.permutation(shape[1])
    moved = X[:, order]
    np.testing.assert_allclose(Decorrelation.estimate(moved).apply(moved), Z[:, order], atol=1e-9)
    turned = X * np.where(np.arange(shape[1]) % 2, -1.0, 1.0)
    sign = np.sign(turned / X)[0]
    np.testing.assert_allclose(Decorrelation.estimate(turned).apply(turned), Z * sign, atol=1e-9)


@pytest.mark.parametrize("shape", [(40, 5), (9, 20)])
def test_weights_count_as_copies(shape):
    X = correlated(*shape)
    count = RNG.integers(0, 4, shape[0])
    count[:3] = 1
    copied = Decorrelation.estimate(np.repeat(X, count, axis=0))
    weighted = Decorrelation.estimate(X, count.astype(float))
    assert weighted.shrinkage == pytest.approx(copied.shrinkage, rel=1e-9)
    np.testing.assert_allclose(weighted.apply(X), copied.apply(X), atol=1e-9)
    # proportions are not numbers of copies: they stand for as many rows as there are
    shares = Decorrelation.estimate(X, np.full(shape[0], 0.01))
    np.testing.assert_allclose(shares.apply(X), Decorrelation.estimate(X).apply(X), atol=1e-9)


def test_shrinkage_is_the_formula_of_schaefer_and_strimmer():
    """Sum of the estimated variances of the correlations over the sum of their squares."""
    X = correlated(25, 4)
    n, p = X.shape
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    variance = size = 0.0
    for i in range(p):
        for j in range(p):
            if i != j:
                product = Z[:, i] * Z[:, j]
                variance += n / (n - 1) ** 3 * ((product - product.mean()) ** 2).sum()
                size += (n / (n - 1) * product.mean()) ** 2
    assert shrinkage_intensity(Z, np.ones(n)) == pytest.approx(variance / size, rel=1e-10)


def test_shrinkage_falls_with_the_rows_and_is_large_for_noise():
    found = [Decorrelation.estimate(correlated(n, 5)).shrinkage for n in (20, 200, 2000)]
    assert found[0] > found[1] > found[2] > 0
    noise = np.random.default_rng(0).standard_normal((30, 10))
    assert Decorrelation.estimate(noise).shrinkage > 0.5


@pytest.mark.parametrize("shape", [(40, 5), (9, 20)])
def test_constant_and_unused_features_stay_by_themselves(shape):
    X = correlated(*shape)
    X[:, 1] = 0.1
    used = np.arange(shape[1]) != 3
    made = Decorrelation.estimate(X, used=used)
    Z = made.apply(X)
    assert (Z[:, 1] == 0).all()
    assert np.flatnonzero(made.alone).tolist() == [1, 3]
    np.testing.assert_allclose(Z[:, 3], (X[:, 3] - X[:, 3].mean()) / X[:, 3].std(), rtol=1e-9)
    others = np.delete(X, [1, 3], axis=1)
    alone = Decorrelation.estimate(others).apply(others)
    np.testing.assert_allclose(np.delete(Z, [1, 3], axis=1), alone, atol=1e-9)
    np.testing.assert_allclose(made.invert(Z), X, rtol=1e-9)


def test_a_few_used_features_of_many_are_decorrelated_as_if_alone():
    X = correlated(15, 40)
    used = np.arange(40) < 6
    Z = Decorrelation.estimate(X, used=used).apply(X)
    np.testing.assert_allclose(Z[:, :6], Decorrelation.estimate(X[:, :6]).apply(X[:, :6]))


def test_columns_that_repeat_each_other_survive():
    X = np.repeat(correlated(50, 3), 2, axis=1)
    made = Decorrelation.estimate(X)
    Z = made.apply(X)
    assert np.isfinite(Z).all()
    np.testing.assert_allclose(Z[:, ::2], Z[:, 1::2], atol=1e-9)
    np.testing.assert_allclose(made.invert(Z), X, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("share", [1.0, 0.3, None])
def test_variances_are_those_of_the_columns(share):
    for shape in ((60, 5), (8, 20)):
        X = correlated(*shape)
        made = Decorrelation.estimate(X, shrinkage=share)
        np.testing.assert_allclose(made.variances, made.apply(X).var(axis=0), rtol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
def test_files_and_clusters_of_machines_have_the_map_of_memory(tmp_path, weighted):
    import dask.array as da

    X = correlated(500, 6) + 1e4
    X[:, 2] = 0.1
    weight = RNG.integers(0, 4, 500).astype(float) if weighted else None
    prior = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    in_memory = Decorrelation.estimate(X, weight, used=prior > 0)
    np.save(tmp_path / "rows.npy", X)
    of_file, rows = decorrelated_rows(
        open_source(tmp_path / "rows.npy", weight), None, used=prior > 0
    )
    source = open_source(da.from_array(X, chunks=(120, 6)), weight)
    engine = make_engine(source, 2, scale="decorrelate", prior=prior)
    for made in (of_file, engine.decorrelation):
        assert made.shrinkage == pytest.approx(in_memory.shrinkage, rel=1e-9)
        np.testing.assert_allclose(made.apply(X), in_memory.apply(X), atol=1e-9)
    np.testing.assert_allclose(rows[:], in_memory.apply(X), atol=1e-9)
    expected = make_engine(open_source(X, weight), 2, scale="decorrelate", prior=prior)
    np.testing.assert_allclose(engine.squares, expected.squares, rtol=1e-9)
    assert engine.varying.tolist() == expected.varying.tolist()


def test_one_feature_two_rows_and_no_variance_are_standardised():
    for X in (np.arange(5.0)[:, None], np.array([[0.0, 1.0], [2.0, 5.0]]), np.ones((4, 3))):
        made = Decorrelation.estimate(X)
        assert made.shrinkage == 1.0
        deviation = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        np.testing.assert_allclose(made.apply(X), (X - X.mean(axis=0)) / deviation, atol=1e-12)


def test_rows_of_many_blocks_are_summed_exactly():
    X = correlated(9000, 3).astype(np.float32)
    weight = np.ones(9000)
    weight[4000:8500] = 0.0
    kept = X[weight > 0].astype(float)
    made = Decorrelation.estimate(X, weight, shrinkage=0.2)
    np.testing.assert_allclose(made.apply(kept), dense_formula(kept, 0.2), rtol=1e-5, atol=1e-5)


def test_too_many_columns_of_a_file_are_refused(tmp_path):
    np.save(tmp_path / "wide.npy", np.zeros((3, 4097)))
    with pytest.raises(ValueError, match="4097 columns of rows that are not in memory"):
        decorrelated_rows(open_source(tmp_path / "wide.npy"), None)


def test_the_name_may_have_a_share():
    assert is_decorrelated("decorrelate:0.5")
    assert given_shrinkage("decorrelate:0.5") == 0.5
    assert given_shrinkage("decorrelate") is None
    assert not is_decorrelated("decorrelated")
    for wrong in ("0", "1.5", "-1", "nan", "much", ""):
        with pytest.raises(ValueError, match="no share by which correlations are shrunk"):
            given_shrinkage(f"decorrelate:{wrong}")
