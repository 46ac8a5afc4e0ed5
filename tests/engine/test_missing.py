"""Passes over rows with missing values against a plain transcription of the formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ewp
from ewp.data import canonical as rows_module
from ewp.engine import array as engine_module
from ewp.engine.array import ArrayEngine
from ewp.engine.base import RowMass
from ewp.solver.iterate import centroid_step
from tests.support import reference
from tests.support.results import assert_identical
from tests.support.strategies import SLOW


@st.composite
def holey(draw, most_rows=30):
    """Rows with missing values, some columns complete, one value at least in rows and columns."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(4, most_rows)), draw(st.integers(2, 6))
    X = rng.standard_normal((n, p)) * rng.uniform(0.2, 3, p) + rng.normal(0, 5, p)
    absent = rng.random((n, p)) < draw(st.sampled_from([0.05, 0.3, 0.6]))
    absent[:, rng.random(p) < 0.3] = False
    absent[np.arange(n), rng.integers(0, p, n)] = False
    absent[rng.integers(0, n, p), np.arange(p)] = False
    X[absent] = np.nan
    return X, rng


def plain_step(X, a, theta, w, s):
    """Observed shares, sums of a step, new centroids and dispersions, entry by entry."""
    seen = ~np.isnan(X)
    share = a @ seen / a.sum()
    k, p = theta.shape
    d = np.zeros((len(X), k))
    for i in range(len(X)):
        for j in range(k):
            d[i, j] = sum(
                w[m] * (X[i, m] - theta[j, m]) ** 2 / share[m] for m in range(p) if seen[i, m]
            )
    phi = np.array([reference.memberships(list(row), s) for row in d]) * a[:, None]
    new, dispersion = np.zeros((k, p)), np.zeros(p)
    for m in range(p):
        here = seen[:, m]
        for j in range(k):
            mass = phi[here, j].sum()
            mean = a[here] @ X[here, m] / a[here].sum()
            new[j, m] = phi[here, j] @ X[here, m] / mass if mass > 0 else mean
            dispersion[m] += phi[here, j] @ (X[here, m] - new[j, m]) ** 2 / share[m]
    return d, new, dispersion


@pytest.mark.parametrize("s", [-1.0, -6.3, -np.inf])
@pytest.mark.parametrize("kept", [True, False])
@given(problem=holey())
@SLOW
def test_a_step_is_that_of_the_formulas(s, kept, problem):
    """Distances over observed entries, means of these, dispersions over the observed shares."""
    X, rng = problem
    n, p = X.shape
    a = rng.uniform(0.5, 2, n)
    k = 3
    w = rng.dirichlet(np.ones(p), 2)
    with pytest.MonkeyPatch.context() as patch:
        if not kept:
            patch.setattr(engine_module, "_PREPARED_BYTES", 0)
            patch.setattr(rows_module, "_MOST_ROWS", 7)
            patch.setattr(rows_module, "_FEWEST_ROWS", 3)
        engine = ArrayEngine(X, a)
        theta = rng.standard_normal((2, k, p)) * np.nanstd(X, axis=0) + np.nanmean(X, axis=0)
        own = engine.to_engine_units(theta)
        stats = engine.statistics(own, w, np.array([s, s]))
        new, dispersion, _ = centroid_step(stats, own)
        for b in range(2):
            d, means, spread = plain_step(X, a, theta[b], w[b], s)
            np.testing.assert_allclose(engine.distances(own[b], w[b]), d, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(stats.nearest[b], a @ d.min(axis=1), rtol=1e-9, atol=1e-12)
            scale = np.nanmax(np.abs(X))
            found = engine.to_data_units(new[b])
            filled = stats.mass[b] > 0  # a centroid without rows stays where it is
            np.testing.assert_allclose(found[filled], means[filled], rtol=1e-8, atol=1e-8 * scale)
            np.testing.assert_allclose(dispersion[b], spread, rtol=1e-7, atol=1e-10 * scale**2)
        lengths = engine.lengths_of_runs(w)
        together = engine.distances_of_runs(own, w, lengths)
        for b in range(2):
            alone = engine.distances(own[b], w[b])
            np.testing.assert_allclose(together[b].T, alone, rtol=1e-8, atol=1e-10 * scale**2)


@given(problem=holey())
@SLOW
def test_weights_of_the_rows_are_copies_of_them(problem):
    """Many clusters as well: their hard memberships are a sparse matrix."""
    X, rng = problem
    copies = rng.integers(1, 4, len(X))
    one, all_rows = ArrayEngine(X, copies.astype(float)), ArrayEngine(np.repeat(X, copies, axis=0))
    np.testing.assert_allclose(one.center, all_rows.center, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.scale, all_rows.scale, rtol=1e-12)
    np.testing.assert_allclose(one.squares, all_rows.squares, rtol=1e-10)
    w = rng.dirichlet(np.ones(X.shape[1]), 1)
    for k in (2, 40):
        theta = rng.standard_normal((1, k, X.shape[1]))
        for s in (-2.0, -np.inf):
            this, other = (e.statistics(theta, w, np.array([s])) for e in (one, all_rows))
            for name in ("sums", "mass", "seen", "scatter", "power", "nearest"):
                np.testing.assert_allclose(
                    getattr(this, name), getattr(other, name), rtol=1e-9, atol=1e-9
                )


def test_runs_with_weights_of_their_own_count_observed_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[np.isnan(X).all(axis=1), 0] = 0.0
    engine = ArrayEngine(X)
    table = rng.integers(0, 3, (2, 50)).astype(float)
    theta = rng.standard_normal((2, 4, 3))
    w = np.full((2, 3), 1 / 3)
    stats = engine.statistics(theta, w, np.full(2, -np.inf), RowMass(table, np.arange(2)))
    seen = np.zeros((2, 4, 3))
    for b in range(2):
        labels = engine.distances(theta[b], w[b]).argmin(axis=1)
        np.add.at(seen[b], labels, table[b][:, None] * ~np.isnan(X))
    np.testing.assert_allclose(stats.entry_mass(), seen, rtol=1e-12)


def test_differences_to_the_centroids_are_of_observed_values():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 4))
    X[:, 1:][rng.random((60, 3)) < 0.4] = np.nan
    engine = ArrayEngine(X)
    theta, w = rng.standard_normal((3, 4)), rng.dirichlet(np.ones(4))
    found = engine.deviations(theta, w)
    labels = engine.distances(theta, w).argmin(axis=1)
    gaps = (X - engine.center) / engine.scale - theta[labels]
    np.testing.assert_allclose(found.squares, np.nansum(gaps**2, axis=0), rtol=1e-12)
    for j in range(3):
        own = labels == j
        np.testing.assert_allclose(found.sums[j], np.nansum(gaps[own], axis=0), atol=1e-12)
        np.testing.assert_array_equal(found.mass[j], (~np.isnan(X[own])).sum(axis=0))


def test_a_column_is_constant_if_its_observed_values_are():
    X = np.array([[np.nan, 1.0, np.nan], [2.0, 1.0, 0.1], [2.0, np.nan, 0.1], [2.0, 1.0, 0.3]])
    np.testing.assert_array_equal(ArrayEngine(X).varying, [False, False, True])
    weighted = ArrayEngine(X, np.array([1.0, 1.0, 1.0, 0.0]))
    np.testing.assert_array_equal(weighted.varying, [False, False, False])


def test_moments_are_those_of_the_observed_values():
    """Exact for constant columns, and for large offsets."""
    rng = np.random.default_rng(2)
    X = np.column_stack([np.full(400, 0.1), 1e9 + rng.standard_normal(400)])
    X[rng.random(X.shape) < 0.25] = np.nan
    engine = ArrayEngine(X)
    assert engine.center[0] == 0.1
    assert engine.squares[0] == 0.0
    variance = engine.squares[1] / engine.total
    assert variance == pytest.approx(np.nanvar(X[:, 1] - 1e9), rel=1e-6)
    np.testing.assert_allclose(engine.scale, np.sqrt((~np.isnan(X)).mean(axis=0)))


def test_a_part_and_a_sample_keep_the_coordinates():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 3))
    X[:, 0][rng.random(300) < 0.5] = np.nan
    engine = ArrayEngine(X, scale="standard")
    part = engine.part(np.arange(50), np.ones(50))
    np.testing.assert_array_equal(part.rows(slice(0, 50)), engine.rows(slice(0, 50)))
    sample = engine.sample(80)
    assert sample.n == 80
    np.testing.assert_array_equal(sample.scale, engine.scale)
    whole = {row.tobytes() for row in np.nan_to_num(X, nan=99.0)}
    assert {row.tobytes() for row in np.nan_to_num(sample.X, nan=99.0)} <= whole


def test_equal_rows_are_equal_where_values_are_missing_too():
    nan = np.nan
    X = np.array([[1.0, nan], [nan, 1.0], [1.0, nan], [1.0, 1.0], [nan, 1.0]])
    group, count = rows_module.distinct_groups(X, None)
    assert count == 3
    assert group[0] == group[2]
    assert group[1] == group[4]
    # the mean itself is another value than a missing one
    filled = X.copy()
    filled[0, 1] = 1.0
    assert rows_module.distinct_groups(filled, None)[1] == 3
    _, first = ArrayEngine(X).canonical
    assert first.sum() == 3


def test_processes_agree_to_the_last_bit():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(0, 3, (6, 5)), 2000, axis=0) + rng.standard_normal((12000, 5))
    X[:, 1:][rng.random((12000, 4)) < 0.2] = np.nan
    fits = [
        ewp.fit(X, 6, 3000.0, n_init=1, random_state=0, n_jobs=jobs, missing="observed")
        for jobs in (1, 2)
    ]
    assert_identical(*fits)
