"""Fits from the same rows as the peers' keep the choices of the default, its scaling too."""

from __future__ import annotations

import numpy as np
import pytest

import ewp
from validation.same_starts import default_rows


@pytest.mark.parametrize(
    ("scale", "name", "found"),
    [
        (None, "raw", False),
        ("standard", "standardised", False),
        ("decorrelate", "decorrelated", True),
    ],
)
def test_fits_from_the_same_rows_have_the_chosen_scaling(scale, name, found):
    """Two clusters that correlation hides: only decorrelated features show them."""
    rng = np.random.default_rng(3)
    y = np.arange(200) % 2
    shared = 3.0 * rng.standard_normal(200)
    X = shared[:, None] + 0.2 * rng.standard_normal((200, 2))
    X[:, 0] += 1.5 * y
    fit = ewp.fit(X, 2, 2000.0, scale=scale, random_state=0)
    choice = {"lam": 2000.0, "scale": scale, "dispersion": "within", "labels": fit.labels}
    rows = default_rows(X, y, 2, choice, seed=0, trials=3)
    assert [row["method"] for row in rows] == ["ewp"] + 3 * ["ewp, same rows"]
    assert {row["scaling"] for row in rows} == {name}
    for row in rows:
        assert row["ari"] > 0.95 if found else row["ari"] < 0.2
