"""A fit of rows in memory, which the same rows from anywhere else have to give too."""

import numpy as np

import ewp
from ewp.datasets import make_simulation2

K, LAM = 5, 75.0


def simulated():
    return make_simulation2(K, n=1500, p=20, random_state=0)


def fitted(data):
    return ewp.fit(data[0], K, LAM, random_state=1)


def same(found, reference, atol=0.0):
    np.testing.assert_allclose(found.centroids, reference.centroids, rtol=0, atol=atol)
    np.testing.assert_allclose(found.weights, reference.weights, rtol=0, atol=atol)
    np.testing.assert_array_equal(found.labels, reference.labels)
