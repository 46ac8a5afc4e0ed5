"""What is found for a row does not depend on the rows beside it."""

import numpy as np
import pytest

import ewp
from ewp.datasets import make_simulation2


@pytest.fixture(scope="module")
def fitted():
    X = make_simulation2(4, n=200, p=5, n_relevant=3, random_state=0).X
    return X, ewp.fit(X, 4, 20.0, random_state=0)


@pytest.mark.parametrize("far", [1e18, 9.97e36, -3.4e38, 1e90])
def test_a_fill_value_moves_no_other_row(fitted, far):
    X, results = fitted
    batch = np.vstack([X, np.full(5, far)])
    np.testing.assert_array_equal(results.predict(batch)[:-1], results.labels)
    np.testing.assert_allclose(results.transform(batch)[:-1], results.transform(X), rtol=1e-6)
    rows = np.concatenate([results.predict(row[None]) for row in batch])
    np.testing.assert_array_equal(results.predict(batch), rows)
