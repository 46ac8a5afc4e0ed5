"""Runs that share a pass: the sums of every run are those of the definitions, whatever beside it.

Runs differ in centroids, weights, exponents and in the weights of the rows; few pairs of a row and
a centroid or many, few clusters or many take different ways through the kernel.
"""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ewp.engine import array as array_module
from ewp.engine import kernel
from ewp.engine.array import ArrayEngine
from ewp.engine.base import RowMass
from ewp.engine.precision import DOUBLE, PRECISION
from ewp.engine.statistics import Statistics
from tests.support import reference

EXPONENTS = (-0.3, -1.0, -2.25, -9.7, -130.0, -np.inf)
FIELDS = [one.name for one in dataclasses.fields(Statistics) if one.name != "columns"]
BOUNDED = settings(max_examples=25, deadline=None)


@st.composite
def passes(draw, max_k=5):
    """An engine, centroids, weights and exponents of some runs, and weights of the rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    runs, k = draw(st.integers(1, 5)), draw(st.integers(1, max_k))
    n, p = draw(st.integers(2, 14)), draw(st.integers(1, 4))
    X = rng.standard_normal((n, p)) + draw(st.sampled_from([0.0, 4.0]))
    engine = ArrayEngine(X)
    theta = rng.standard_normal((runs, k, p))
    s = rng.choice(EXPONENTS, runs)
    table = rng.uniform(0.2, 2.0, (3, n)) * (rng.random((3, n)) < 0.8)
    table[:, 0] = 1.0
    mass = RowMass(table, rng.integers(0, 3, runs))
    return engine, theta, rng.dirichlet(np.ones(p), runs), s, mass


def assert_as_defined(case, rtol=1e-9):
    engine, theta, weights, s, mass = case
    found = engine.statistics(theta, weights, s, mass)
    rows = engine.rows(slice(None)).tolist()
    for b in range(len(s)):
        own = mass.table[mass.index[b]]
        wanted = reference.statistics(
            rows, own.tolist(), theta[b].tolist(), weights[b].tolist(), s[b]
        )
        for name, value in wanted.items():
            np.testing.assert_allclose(getattr(found.run(b), name), value, rtol=rtol, atol=1e-10)
    hard = np.isinf(s)
    np.testing.assert_array_equal(found.softness[hard], 0.0)
    assert (found.softness >= -1e-12).all()
    assert (found.softness <= mass.totals * (1 - 1 / theta.shape[1]) + 1e-9).all()


@pytest.mark.parametrize("few_pairs", [0, kernel._FEW_PAIRS])
@pytest.mark.parametrize("many", [1, PRECISION[DOUBLE].many])
@given(passes())
@BOUNDED
def test_sums_are_those_of_the_definition_in_every_run(few_pairs, many, case):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_FEW_PAIRS", few_pairs)
        precision = PRECISION[DOUBLE]._replace(many=many)
        patch.setitem(PRECISION, DOUBLE, precision)
        assert_as_defined(case)


@given(passes(max_k=3), st.integers(0, 2**32 - 1))
@BOUNDED
def test_rows_on_centroids_of_some_runs_are_measured_exactly(case, seed):
    """Their distances are recomputed from differences: those of other runs stay as they are."""
    engine, theta, weights, s, mass = case
    rng = np.random.default_rng(seed)
    rows = engine.rows(slice(None))
    # near enough to cancel, far enough to tell the rounding errors from the distance
    on = rng.integers(0, len(rows), theta.shape[:2])
    near = rng.random(theta.shape[:2]) < 0.5
    theta = np.where(near[..., None], rows[on] + 1e-5 * rng.standard_normal(theta.shape), theta)
    assert_as_defined((engine, theta, weights, s, mass), rtol=1e-6)


@given(passes())
@BOUNDED
def test_weights_of_the_rows_are_those_of_an_engine_that_has_them(case):
    engine, theta, weights, s, mass = case
    found = engine.statistics(theta, weights, s, mass)
    for b in range(len(s)):
        own = mass.table[mass.index[b]]
        weighted = ArrayEngine(engine.X, own, center=engine.center)
        alone = weighted.statistics(theta[b : b + 1], weights[b : b + 1], s[b : b + 1])
        for name in FIELDS:
            np.testing.assert_allclose(
                getattr(found, name)[b], getattr(alone, name)[0], rtol=1e-10, atol=1e-10
            )


@pytest.mark.parametrize("k", [3, 40])
@pytest.mark.parametrize("n", [60, 700])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_number_of_runs_of_a_pass_changes_last_digits_only(weighted, n, k, monkeypatch):
    rng = np.random.default_rng(0)
    runs, p = 9, 5
    engine = ArrayEngine(rng.standard_normal((n, p)))
    theta = rng.standard_normal((runs, k, p))
    weights = rng.dirichlet(np.ones(p), runs)
    s = np.where(np.arange(runs) % 2, -np.inf, -2.0 - np.arange(runs))
    mass = RowMass(rng.integers(0, 3, (4, n)).astype(float), np.arange(runs) % 4)
    mass = mass if weighted else None
    together = engine.statistics(theta, weights, s, mass)
    monkeypatch.setattr(array_module, "_RUN_BYTES", 24 * k * n * 2)
    assert engine._runs_at_once(k) == 2
    apart = engine.statistics(theta, weights, s, mass)
    for name in FIELDS:
        np.testing.assert_allclose(
            getattr(apart, name), getattr(together, name), rtol=1e-12, atol=1e-12
        )


def test_totals_and_parts_of_row_masses_are_those_of_their_tables():
    table = np.arange(12.0).reshape(3, 4)
    mass = RowMass(table, np.array([2, 0, 2, 1]))
    np.testing.assert_array_equal(mass.totals, [38.0, 6.0, 38.0, 22.0])
    np.testing.assert_array_equal(mass.of_rows(slice(1, 3)), table[[2, 0, 2, 1], 1:3])
    np.testing.assert_array_equal(mass.take(slice(1, 3)).totals, [6.0, 38.0])
    np.testing.assert_array_equal(mass.take(np.array([3])).totals, [22.0])


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 5), st.booleans())
@BOUNDED
def test_distances_of_searches_are_those_of_differences(seed, runs, t, kept):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 3)) * [1.0, 5.0, 0.1] + 2.0
    engine = ArrayEngine(X, keep=kept)
    rows = engine.rows(slice(None))
    theta = rng.standard_normal((runs, t, 3))
    theta[:, 0] = rows[rng.integers(0, 20, runs)]
    weights = rng.dirichlet(np.ones(3), runs)
    lengths = engine.lengths_of_runs(weights)
    np.testing.assert_allclose(lengths, weights @ (rows**2).T, rtol=1e-12)
    exact = np.einsum("btnl,bl->btn", (rows - theta[:, :, None]) ** 2, weights)
    found = engine.distances_of_runs(theta, weights, lengths)
    slack = 1e-13 * (lengths[:, None] + np.einsum("btl,bl->bt", theta**2, weights)[..., None])
    assert (np.abs(found - exact) <= slack).all()
    assert (found >= 0).all()
