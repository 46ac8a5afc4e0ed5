"""The grid of penalties."""

import numpy as np
import pytest

import ewp


def test_path_goes_from_one_feature_to_all():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 12)) * 10.0 ** np.linspace(-5, 5, 12)
    path = ewp.lambda_path(X, 3, n_lams=15)
    total = ((X - X.mean(axis=0)) ** 2).sum(axis=0)
    weights = np.exp(-(total - total.min()) / path[:, None])
    weights /= weights.sum(axis=1, keepdims=True)
    features = np.exp(-(weights * np.log(np.maximum(weights, 1e-300))).sum(axis=1))
    assert features[0] < 1.01
    assert features[-1] > 11
    assert (np.diff(path) > 0).all()
    # every order of magnitude gets its share: no step jumps over more than two features
    assert np.diff(features).max() < 2.5


def test_path_of_standardised_features_does_not_depend_on_units():
    X = np.random.default_rng(0).standard_normal((50, 4))
    one = ewp.lambda_path(X, 2, scale="standard")
    other = ewp.lambda_path(X * [1, 10, 1e6, 1e-6], 2, scale="standard")
    np.testing.assert_allclose(one, other, rtol=1e-9)
    np.testing.assert_allclose(one[-1] / one[0], 200)


@pytest.mark.parametrize("dispersion", ["within", "between"])
def test_among_many_features_half_the_path_lies_where_weights_pass_from_few_to_all(dispersion):
    X = np.random.default_rng(0).standard_normal((40, 900))
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    path = ewp.lambda_path(X, 2, 20, dispersion=dispersion) / len(X)
    np.testing.assert_allclose(path[[0, -1]], [1 / 50, 4.0])
    assert (np.diff(path) > 0).all()
    # thirty features half of which is explained weigh as much as all others at 0.5 / log(30)
    assert ((path > 0.07) & (path < 0.3)).sum() >= 9
    fewer = ewp.lambda_path(X[:, :400], 2, 20, dispersion=dispersion) / len(X)
    np.testing.assert_allclose(fewer, np.geomspace(1 / 50, 4.0, 20), rtol=1e-6)


def test_path_scales_with_the_rows():
    X = np.random.default_rng(0).standard_normal((50, 4))
    once, twice = ewp.lambda_path(X, 2), ewp.lambda_path(np.vstack([X, X]), 2)
    weighted = ewp.lambda_path(X, 2, sample_weight=np.full(50, 2.0))
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-9)
    np.testing.assert_allclose(weighted, twice, rtol=1e-9)


def test_path_survives_constant_columns():
    X = np.c_[np.random.default_rng(0).standard_normal((30, 2)), np.ones(30)]
    assert np.isfinite(ewp.lambda_path(X, 2)).all()
    assert len(ewp.lambda_path(np.ones((5, 2)), 1)) == 10


@pytest.mark.parametrize("dispersion", ["within", "between"])
@pytest.mark.parametrize("scale", [None, "standard", "decorrelate"])
@pytest.mark.parametrize("units", [np.ones(6), 10.0 ** np.linspace(-8, 8, 6)])
def test_fits_at_the_ends_have_one_feature_and_all(scale, dispersion, units):
    X = 1e8 * units.min() + np.random.default_rng(1).standard_normal((120, 6)) * units
    path = ewp.lambda_path(X, 3, scale=scale, dispersion=dispersion)
    first, last = (
        ewp.fit(X, 3, lam, scale=scale, dispersion=dispersion, random_state=0)
        for lam in (path[0], path[-1])
    )
    assert first.weights.max() > 0.99
    assert last.effective_features > 0.95 * 6


def test_a_single_penalty_is_from_the_middle():
    X = np.random.default_rng(0).standard_normal((50, 4))
    few, one = ewp.lambda_path(X, 2, n_lams=3), ewp.lambda_path(X, 2, n_lams=1)
    np.testing.assert_allclose(one, few[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_lams": 0}, "n_lams=0 must be at least 1"),
        ({"k": 31}, "k=31 exceeds the 30 distinct rows"),
        ({"scale": "auto"}, "scale='auto' is unknown"),
        ({"dispersion": "auto"}, "dispersion='auto' is unknown"),
        ({"sample_weight": [1.0]}, "sample_weight has shape"),
    ],
)
def test_bad_options_of_the_path_are_named(options, message):
    X = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.raises(ValueError, match=message):
        ewp.lambda_path(X, **({"k": 2} | options))
