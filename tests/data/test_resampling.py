"""Resamples of the rows of a fit: what is drawn, and what is left out."""

import numpy as np
import pytest

import ewp
from ewp.datasets import make_simulation2
from ewp.refitting import source_of
from ewp.resampling import Resampler


@pytest.fixture(scope="module")
def data():
    return make_simulation2(3, n=160, p=6, n_relevant=3, random_state=1).X


def test_other_weights_stay_with_their_rows(data):
    weight = np.random.default_rng(0).uniform(0.5, 1.5, len(data))
    weight[:10] = 0.0
    results = ewp.fit(data, 3, lam=8.0, sample_weight=weight, random_state=0)
    resampler = Resampler.of(source_of(results))
    rows, drawn = resampler.draw(np.random.default_rng(0))
    assert rows.min() >= 10
    counts = drawn / weight[rows]
    np.testing.assert_allclose(counts, counts.round(), atol=1e-9)
    assert round(counts.sum()) == 150


def test_parts_left_out_share_the_rows(data):
    results = ewp.fit(data, 3, lam=8.0, random_state=0)
    resampler = Resampler.of(source_of(results))
    parts = resampler.leave_out(7, np.random.default_rng(0))
    left_out = [np.setdiff1d(resampler.rows, rows) for rows, _ in parts]
    np.testing.assert_array_equal(np.sort(np.concatenate(left_out)), np.arange(160))
