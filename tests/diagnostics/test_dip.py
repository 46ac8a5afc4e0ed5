"""The dip: the distance from distributions with one mode, and its p-value."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ewp.diagnostics.dip import dip, dip_test, spread_ties


def distance_from_one_mode(x):
    """The dip by linear programs, one for each value at which the mode may lie.

    Unknown are the closest function at the values, its limit before the mode, and the distance.
    """
    x, n = np.sort(x), len(x)
    after = np.arange(1, n + 1) / n
    best = 1.0
    for mode in range(n):
        rows, bounds = [], []

        def at_most(bound, rows=rows, bounds=bounds, **terms):
            row = np.zeros(n + 2)
            for name, factor in terms.items():
                row[int(name[1:])] += factor
            rows.append(row)
            bounds.append(bound)

        for i in range(n):
            right = n if i == mode else i
            for place, value in ((i, after[i] - 1 / n), (right, after[i])):
                at_most(value, **{f"g{place}": 1.0, f"g{n + 1}": -1.0})
                at_most(-value, **{f"g{place}": -1.0, f"g{n + 1}": -1.0})
        rise = [(x[i], i) for i in range(mode + 1)]
        fall = [(x[mode], n), *((x[i], i) for i in range(mode + 1, n))]
        for points, sign in ((rise, 1.0), (fall, -1.0)):
            for (_, a), (_, b) in itertools.pairwise(points):
                at_most(0.0, **{f"g{a}": 1.0, f"g{b}": -1.0})
            for (x0, a), (x1, b), (x2, c) in zip(points, points[1:], points[2:], strict=False):
                t = (x1 - x0) / (x2 - x0)
                at_most(0.0, **{f"g{a}": -sign * (1 - t), f"g{b}": sign, f"g{c}": -sign * t})
        at_most(0.0, **{f"g{mode}": 1.0, f"g{n}": -1.0})
        cost = np.r_[np.zeros(n + 1), 1.0]
        limits = [(0, 1)] * (n + 1) + [(0, None)]
        found = linprog(cost, A_ub=np.array(rows), b_ub=bounds, bounds=limits)
        best = min(best, found.fun)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_the_dip_is_the_distance_from_the_closest_distribution_with_one_mode(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 13))
    x = rng.normal(size=n) + (seed % 2) * 6 * rng.integers(2, size=n)
    assert dip(x) == pytest.approx(distance_from_one_mode(x), abs=1e-8)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(-40, 40), min_size=2, max_size=30),
    st.floats(0.1, 9.0),
    st.floats(-5.0, 5.0),
)
def test_the_dip_does_not_depend_on_unit_origin_and_direction(values, unit, origin):
    x = np.array(values, dtype=float)
    found = dip(x)
    assert 0.5 / len(x) <= found <= 0.5
    assert dip(-unit * x + origin) == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize(("n", "least"), [(40, 0.01), (400, 0.03)])
def test_the_p_value_of_uniform_values_is_uniform_or_larger(n, least):
    rng = np.random.default_rng(n)
    p = np.array([dip_test(rng.uniform(size=n)) for _ in range(800)])
    assert least <= np.mean(p <= 0.05) <= 0.07
    assert np.mean(p <= 0.01) <= 0.02


def test_two_modes_are_found_and_one_is_not():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    assert dip_test(x) > 0.5
    assert dip_test(x + 5.0 * (rng.random(200) < 0.4)) < 0.005


def test_rounding_makes_no_modes():
    rng = np.random.default_rng(0)
    for x in (rng.integers(2, size=300), rng.integers(5, size=300), np.round(rng.normal(size=300))):
        assert dip_test(x.astype(float)) < 0.01
        assert dip_test(spread_ties(x.astype(float), rng)) > 0.05
    likert = np.r_[np.full(150, 1.0), np.full(150, 5.0), np.arange(1.0, 6.0)]
    assert dip_test(spread_ties(likert, rng)) < 1e-6
    different = rng.normal(size=30)
    np.testing.assert_array_equal(spread_ties(different, rng), different)
