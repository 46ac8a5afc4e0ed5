"""What every fit owes: its own objective and fixed point, and the same answer by every road."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ewp
from tests.support.invariants import assert_fit
from tests.support.results import assert_identical

FEW = settings(max_examples=25, deadline=None)
FEWER = settings(max_examples=6, deadline=None)


@st.composite
def fits(draw):
    """Rows, number of clusters, penalty and options, the data now and then at the edges."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k, p = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    n = draw(st.integers(max(4 * k, 8), 60))
    X = rng.standard_normal((n, p)) * rng.uniform(0.2, 2, p)
    X[:, : (p + 1) // 2] += rng.normal(0, 4, (k, (p + 1) // 2))[rng.integers(0, k, n)]
    unit = 2.0 ** draw(st.integers(-40, 40))
    X = (X + draw(st.sampled_from([0.0, 100.0]))) * unit
    options = {
        "dispersion": draw(st.sampled_from(["within", "between"])),
        "scale": draw(st.sampled_from([None, "standard"])),
        "random_state": draw(st.integers(0, 999)),
        "polish": draw(st.booleans()),
    }
    if draw(st.booleans()):
        options["sample_weight"] = rng.uniform(0.2, 3, n)
    if draw(st.booleans()):
        options["prior"] = rng.uniform(0.2, 3, p)
    size = n * (1.0 if options["scale"] else unit**2)
    lam = draw(st.sampled_from([0.05, 0.5, 5.0])) * size
    return X, k, lam, options


def fit(problem, X=None, **more):
    data, k, lam, options = problem
    return ewp.fit(data if X is None else X, k, lam, **options, **more)


@given(fits())
@FEW
def test_objective_nearest_centroids_and_fixed_points_hold(problem):
    assert_fit(problem[0], fit(problem), problem[3].get("sample_weight"))


@pytest.mark.filterwarnings("ignore::ewp.OutlierWarning")
@given(fits(), st.sampled_from([1e5, 1e7, 1e8, 3e9]))
@FEW
def test_they_hold_where_clusters_lie_very_far_apart(problem, distance):
    X, k, lam, options = problem
    spread = X.std(axis=0).max()
    far = X + distance * spread * (np.arange(len(X)) % 2)[:, None]
    options = options | {"scale": None, "dispersion": "within"}
    found = ewp.fit(far, k + 1, 0.5 * len(X) * spread**2, **options)
    assert found.converged
    assert_fit(far, found, options.get("sample_weight"))
    assert lam > 0


@given(fits(), st.integers(-30, 30))
@FEW
def test_units_that_are_powers_of_two_change_no_digit(problem, power):
    X, k, lam, options = problem
    factor = 2.0**power
    there = ewp.fit(X * factor, k, lam * (1 if options["scale"] else factor**2), **options)
    here = fit(problem)
    np.testing.assert_array_equal(there.labels, here.labels)
    np.testing.assert_array_equal(there.weights, here.weights)
    np.testing.assert_array_equal(there.centroids, here.centroids * factor)


@given(fits())
@FEW
def test_every_layout_and_type_of_the_same_numbers_gives_the_same_fit(problem):
    X = problem[0].astype(np.float32).astype(np.float64)
    here = fit(problem, X)
    single = X.astype(np.float32)
    for same in (np.asfortranarray(X), X[:, ::-1][:, ::-1]):
        assert_identical(fit(problem, same), here)
    for same in (single, np.asfortranarray(single)):
        assert_identical(fit(problem, same, dtype="float64"), here)
    assert_identical(fit(problem, np.asfortranarray(single)), fit(problem, single))


@given(fits())
@FEW
def test_files_and_blocks_give_the_same_fit(problem):
    X, here = problem[0], fit(problem)
    cut = len(X) // 3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npy"
        np.save(path, X)
        assert_identical(fit(problem, path), here)
    assert_identical(fit(problem, lambda: iter([X[:cut], X[cut:]])), here)


@given(fits())
@FEWER
def test_rows_of_dask_give_the_same_partition(problem):
    da = pytest.importorskip("dask.array")
    X, k, lam, options = problem
    # one start from the same rows: samples for starts may differ where rows are in pieces
    start = X[np.linspace(0, len(X) - 1, k).astype(int)]
    options = options | {"init": start, "polish": False}
    here = ewp.fit(X, k, lam, **options)
    there = ewp.fit(da.from_array(X, chunks=(7, X.shape[1])), k, lam, **options)
    assert there.objective == pytest.approx(here.objective, rel=1e-8, abs=1e-8 * lam)
    np.testing.assert_array_equal(there.labels, here.labels)
    np.testing.assert_allclose(there.weights, here.weights, atol=1e-8)


@given(fits(), st.sampled_from([0.0, 1e3, 1e18, -3.4e38, 9.97e36]))
@FEW
def test_a_batch_is_its_rows_one_by_one(problem, far):
    found = fit(problem)
    rows = np.vstack([problem[0], np.full(problem[0].shape[1], far), found.centroids])
    together = found.predict(rows)
    np.testing.assert_array_equal(together, np.concatenate([found.predict(r[None]) for r in rows]))
    np.testing.assert_array_equal(together[: len(problem[0])], found.labels)
    distances = np.vstack([found.transform(row[None]) for row in rows])
    np.testing.assert_allclose(found.transform(rows), distances, rtol=1e-6, atol=1e-300)


@given(fits())
@FEW
def test_a_file_brings_back_the_fit(problem):
    found = fit(problem)
    with tempfile.TemporaryDirectory() as folder:
        found.save(Path(folder) / "fit")
        loaded = ewp.EWPResults.load(Path(folder) / "fit")
    assert_identical(loaded, found)
    assert str(loaded.summary()) == str(found.summary())
    np.testing.assert_array_equal(loaded.predict(problem[0]), found.labels)
