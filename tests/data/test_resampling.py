"""Resamples of rows: what is drawn, and what is left out."""

import numpy as np
import pytest

from ewp.data.splits import Resampler
from ewp.datasets import make_simulation2


@pytest.fixture(scope="module")
def data():
    return make_simulation2(3, n=160, p=6, n_relevant=3, random_state=1).X


def test_other_weights_stay_with_their_rows(data):
    weight = np.random.default_rng(0).uniform(0.5, 1.5, len(data))
    weight[:10] = 0.0
    resampler = Resampler.of(data, weight, 3)
    rows, drawn = resampler.draw(np.random.default_rng(0))
    assert rows.min() >= 10
    counts = drawn / weight[rows]
    np.testing.assert_allclose(counts, counts.round(), atol=1e-9)
    assert round(counts.sum()) == 150


def test_parts_left_out_share_the_rows(data):
    resampler = Resampler.of(data, None, 3)
    parts = resampler.leave_out(7, np.random.default_rng(0))
    left_out = [np.setdiff1d(resampler.rows, rows) for rows, _ in parts]
    np.testing.assert_array_equal(np.sort(np.concatenate(left_out)), np.arange(160))
