"""Weights of clusters that lie far apart are those of their dispersions, at any distance."""

import numpy as np
import pytest

import ewp
from ewp.peers import WKMeans
from tests.support.invariants import exact_weights


def two_groups(distance):
    X = np.random.default_rng(1).normal(size=(300, 4)) * [1, 1, 2, 2]
    X[:150] += distance
    return X


@pytest.mark.parametrize("dispersion", ["within", "between"])
@pytest.mark.parametrize("distance", [1e4, 1e7, 1e8, 3e8, 1e9])
def test_weights_are_right_where_groups_lie_far_apart(distance, dispersion):
    X = two_groups(distance)
    found = ewp.fit(X, 2, 150.0, dispersion=dispersion, random_state=0)
    assert found.converged
    assert found.clusters["size"].tolist() == [150, 150]
    np.testing.assert_allclose(found.weights, exact_weights(X, found), atol=1e-6)
    trace = found.objective_trace
    assert trace["f_inf"].iloc[-1] == found.objective
    assert trace["iteration"].tolist() == list(range(len(trace)))


@pytest.mark.parametrize("far", [1e7, 3e8, 1e10, 1e12])
def test_weights_are_right_beside_a_row_that_lies_far_away(far):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 4))[np.arange(300) % 3] * [6, 6, 0, 0] + rng.normal(size=(300, 4))
    X[0] = far
    mass = np.r_[1.0, rng.uniform(0.5, 1.5, 299)]
    found = ewp.fit(X, 4, 150.0, sample_weight=mass, random_state=0)
    assert found.converged
    np.testing.assert_allclose(found.weights, exact_weights(X, found, mass), atol=1e-6)


def test_rows_on_a_cluster_have_the_weights_of_rows_in_memory():
    da = pytest.importorskip("dask.array")
    X = two_groups(1e9)
    here, there = (ewp.fit(one, 2, 150.0, random_state=0) for one in (X, da.from_array(X, (80, 4))))
    np.testing.assert_allclose(there.weights, here.weights, atol=1e-9)
    np.testing.assert_array_equal(there.labels, here.labels)


def test_other_rules_for_the_weights_keep_their_digits_too():
    near, far = (
        WKMeans(2, random_state=0).fit(two_groups(distance)).feature_weights_
        for distance in (1e3, 1e6)
    )
    np.testing.assert_allclose(far, near, atol=1e-6)
