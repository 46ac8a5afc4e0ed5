"""Fits to sparse matrices: those to the same dense rows, and refusals where they cannot be."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import ewp
from ewp.data.sparse import SparseRows
from ewp.peers import KHarmonicMeans, KMeans, PowerKMeans, SparseKMeans, WKMeans
from tests.support.sparse import counts, distance, text

FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr")


@pytest.fixture(scope="module")
def rows():
    return counts(0)[0]


@pytest.fixture(scope="module")
def fits(rows):
    options = {"lam": 50.0, "random_state": 0}
    return ewp.fit(rows, 3, **options), ewp.fit(sparse.csr_array(rows), 3, **options)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    scale=st.sampled_from([None, "standard"]),
    k=st.sampled_from([1, 3, 8]),
    fill=st.sampled_from([0.01, 0.1, 0.6]),
    offset=st.sampled_from([0.0, 1e4]),
    weighted=st.booleans(),
)
def test_fits_equal_those_to_dense_rows(seed, scale, k, fill, offset, weighted):
    X, _ = counts(seed, n=120, fill=fill, offset=offset)
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, len(X)).astype(float) if weighted else None
    options = {"lam": 0.3 * len(X), "scale": scale, "random_state": 0, "n_init": 3}
    dense = ewp.fit(X, k, sample_weight=weight, **options)
    found = ewp.fit(sparse.csr_array(X), k, sample_weight=weight, **options)
    assert distance(dense, found) < 1e-10


def test_more_features_than_are_eigendecomposed():
    X, _ = counts(3, n=300, p=400, k=4, fill=0.03)
    for scale in (None, "standard"):
        options = {"lam": 90.0, "scale": scale, "random_state": 1, "n_init": 2}
        dense, found = ewp.fit(X, 4, **options), ewp.fit(sparse.csr_array(X), 4, **options)
        assert distance(dense, found) < 1e-10
        assert found.s0 == pytest.approx(dense.s0, rel=1e-8)


def test_everything_follows_a_choice_of_lambda(rows):
    dense = ewp.fit(rows, 3, random_state=0)
    found = ewp.fit(sparse.csc_matrix(rows), 3, random_state=0)
    assert found.lam == pytest.approx(dense.lam, rel=1e-12)
    assert distance(dense, found) < 1e-10
    assert str(found.summary()) == str(dense.summary())
    assert found.call == dense.call
    assert found.data_sha256 == dense.data_sha256


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array])
def test_formats_and_types_of_numbers(rows, fits, kind, make):
    whole = np.round(rows).astype(int)
    for X in (rows, whole, whole > 2):
        given = getattr(make(X), f"to{kind}")()
        before = given.toarray()
        found = ewp.fit(given, 3, lam=50.0, random_state=0, n_init=2)
        dense = ewp.fit(X.astype(float), 3, lam=50.0, random_state=0, n_init=2)
        np.testing.assert_allclose(found.center, dense.center, rtol=1e-12)
        np.testing.assert_array_equal(found.predict(given), found.labels)
        if X.dtype != bool:  # rows of zeros and ones have ties, and rounding errors break them
            assert distance(dense, found) < 1e-10
        np.testing.assert_array_equal(given.toarray(), before)


def test_the_matrix_of_the_user_is_not_changed(rows):
    plain = sparse.csr_array(rows)
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(plain.indptr)])
    # unsorted, with every entry in two halves and a stored zero
    twice = sparse.coo_array(
        (
            np.concatenate([plain.data[order] / 2, plain.data / 2, [0.0]]),
            (
                np.concatenate([plain.tocoo().coords[0]] * 2 + [[0]]),
                np.concatenate([plain.indices[order], plain.indices, [1]]),
            ),
        ),
        shape=plain.shape,
    )
    given = sparse.csr_array((plain.data[order], plain.indices[order], plain.indptr), plain.shape)
    kept = given.data.copy(), given.indices.copy()
    dense = ewp.fit(rows, 3, lam=50.0, random_state=0, n_init=2)
    for X in (given, twice):
        found = ewp.fit(X, 3, lam=50.0, random_state=0, n_init=2)
        assert distance(dense, found) < 1e-10
    np.testing.assert_array_equal(given.data, kept[0])
    np.testing.assert_array_equal(given.indices, kept[1])
    assert twice.nnz == 2 * plain.nnz + 1
    # an array that may not be written to
    plain.data.flags.writeable = False
    assert distance(dense, ewp.fit(plain, 3, lam=50.0, random_state=0, n_init=2)) < 1e-10


def test_predictions_and_what_results_do(rows, fits, tmp_path):
    dense, found = fits
    S = sparse.csr_array(rows)
    np.testing.assert_array_equal(found.predict(S), dense.labels)
    np.testing.assert_array_equal(dense.predict(S), dense.labels)
    np.testing.assert_allclose(found.transform(S), dense.transform(rows), rtol=1e-10)
    np.testing.assert_allclose(found.augment(), dense.augment(), rtol=1e-10, atol=1e-10)
    again = found.refit(lam=30.0), dense.refit(lam=30.0)
    assert distance(*again) < 1e-10
    found.save(tmp_path / "fit.npz")
    loaded = ewp.EWPResults.load(tmp_path / "fit.npz")
    with pytest.warns(UserWarning, match="too few"):
        tables = [
            one.bootstrap(10, random_state=0, **given).weight_intervals()[["lower", "upper"]]
            for one, given in ((dense, {}), (found, {}), (loaded, {"X": S}))
        ]
    np.testing.assert_allclose(*tables[:2], rtol=1e-8, atol=1e-10)
    assert tables[1].equals(tables[2])
    model = ewp.EWP(3, lam=50.0, random_state=0)
    scores = [clone(model).fit(X).score(X) for X in (rows, S)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-10)
    assert found.plot_clusters() is not None
    found.report(tmp_path / "page.html")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_same_answer_for_any_number_of_processes():
    X, _ = text(1, n=6000, p=1500, k=4, fill=0.01)
    options = {"lam": 6000.0, "random_state": 0, "max_iter": 8, "n_init": 1}
    one, two = (ewp.fit(X, 4, n_jobs=jobs, **options) for jobs in (1, 2))
    assert one.objective == two.objective
    assert one.centroids.equals(two.centroids)


def test_names_beside_a_sparse_matrix(rows):
    names = [f"gene{i}" for i in range(rows.shape[1])]
    index = pd.Index([f"cell{i}" for i in range(len(rows))])
    given = SparseRows(sparse.csr_array(rows), pd.Index(names), index)
    found = ewp.fit(given, 3, lam=50.0, random_state=0)
    assert list(found.weights.index) == names
    assert found.labels.index.equals(index)
    other = SparseRows(sparse.csr_array(rows[:, ::-1]), pd.Index(names[::-1]))
    np.testing.assert_array_equal(found.predict(other), found.labels)


def test_missing_and_infinite_entries(rows):
    holes = rows.copy()
    holes[[3, 7, 7], [4, 4, 5]] = np.nan
    with pytest.raises(ValueError, match="3 missing values, in 2 of 150 rows and 2 of 30 columns"):
        ewp.fit(sparse.csr_array(holes), 3, lam=50.0)
    options = {"lam": 50.0, "missing": "observed", "random_state": 0, "n_init": 2}
    dense = ewp.fit(holes, 3, **options)
    assert distance(dense, ewp.fit(sparse.csr_array(holes), 3, **options)) < 1e-10
    holes[2, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity .* in row 2, column 1"):
        ewp.fit(sparse.csr_array(holes), 3, lam=50.0)
    with pytest.raises(ValueError, match="complex"):
        ewp.fit(sparse.csr_array(rows * 1j), 3, lam=50.0)
    with pytest.raises(ValueError, match=r"k=3 exceeds the 2 distinct rows"):
        ewp.fit(sparse.csr_array(np.repeat(rows[:2], 4, axis=0)), 3, lam=50.0)


def test_trimmed_fits_and_decorrelated_ones_of_small_matrices(rows):
    for options in ({"robust": "trim"}, {"scale": "decorrelate"}):
        options |= {"lam": 50.0, "random_state": 0, "n_init": 2}
        one, two = (ewp.fit(X, 3, **options) for X in (rows, sparse.csr_array(rows)))
        assert distance(one, two) < 1e-10
        np.testing.assert_array_equal(two.predict(sparse.csr_array(rows)), one.predict(rows))


def test_large_ones_are_refused_where_dense_rows_are_needed():
    X, _ = text(2, n=1500, p=20_000, k=3, fill=0.001)
    with pytest.raises(ValueError, match=r"1000 x 20000 .* 160 MB.* give a number for lam"):
        ewp.fit(X, 3)
    with pytest.raises(ValueError, match=r"scale='decorrelate' needs dense rows.*another scale"):
        ewp.fit(X, 3, lam=1.0, scale="decorrelate")
    found = ewp.fit(X, 3, lam=1500.0, random_state=0, max_iter=30, n_init=1)
    with pytest.raises(ValueError, match=r"1500 x 20000 sparse ones.*fewer rows or columns"):
        found.bootstrap(2)
    assert found.plot_clusters() is not None
    assert "cluster" in str(found.summary()).lower()


@pytest.mark.parametrize("method", [KMeans, KHarmonicMeans, PowerKMeans, WKMeans])
def test_peers_take_sparse_rows(rows, method):
    S = sparse.csr_array(rows)
    dense, found = (method(3, random_state=0).fit(X) for X in (rows, S))
    assert found.objective_ == pytest.approx(dense.objective_, rel=1e-10)
    np.testing.assert_array_equal(found.predict(S), dense.labels_)
    assert found.score(S) == pytest.approx(dense.score(rows), rel=1e-10)


def test_sparse_k_means_wants_dense_rows(rows):
    with pytest.raises(TypeError, match=r"dense data is required; give X\.toarray\(\)"):
        SparseKMeans(3, random_state=0).fit(sparse.csr_array(rows))


def test_comparisons_and_paths_of_small_matrices(rows):
    S = sparse.csr_array(rows)
    options = {"methods": ("kmeans", "ewp"), "n_trials": 2, "lam": 50.0, "random_state": 0}
    one, two = (ewp.compare(X, 3, **options).table() for X in (rows, S))
    assert one.drop(columns="seconds").equals(two.drop(columns="seconds"))
    np.testing.assert_allclose(ewp.lambda_path(S, 3), ewp.lambda_path(rows, 3))
    assert ewp.critical_exponent(S) == pytest.approx(ewp.critical_exponent(rows), rel=1e-10)


def test_a_large_matrix_takes_less_than_twice_its_memory():
    X, _ = text()
    own = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    ewp.fit(X[:200, :40], 2, lam=10.0, random_state=0)  # what is imported late
    tracemalloc.start()
    try:
        found = ewp.fit(X, 10, lam=100_000.0, scale="standard", random_state=0, max_iter=5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * own + found.centroids.to_numpy().nbytes
