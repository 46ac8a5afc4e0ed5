"""Data that are not in memory: files, blocks, and a real Dask cluster."""

import os
import signal
import sys
import threading
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import ewp
from ewp.backend import Engine
from ewp.dask_engine import DaskEngine
from ewp.datasets import make_simulation2
from ewp.engine import ArrayEngine
from ewp.inputs import remember_features
from ewp.rows import FileRows, open_rows
from ewp.sketch import sketch_block, sketch_blocks

K, LAM = 5, 75.0


@pytest.fixture(scope="module")
def data():
    return make_simulation2(K, n=1500, p=20, random_state=0)


@pytest.fixture(scope="module")
def reference(data):
    return ewp.fit(data[0], K, LAM, random_state=1)


def same(found, reference, atol=0.0):
    np.testing.assert_allclose(found.centroids, reference.centroids, rtol=0, atol=atol)
    np.testing.assert_allclose(found.weights, reference.weights, rtol=0, atol=atol)
    np.testing.assert_array_equal(found.labels, reference.labels)


# --- the sample --------------------------------------------------------------------------------


def test_a_sketch_depends_neither_on_order_nor_on_repetition_nor_on_blocks():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4))
    whole = sketch_block(X, None, 100)
    assert len(np.unique(whole.rows, axis=0)) == 100
    shuffled = rng.permutation(np.vstack([X, X]))
    parts = np.array_split(shuffled, 7)
    again = sketch_blocks(((part, None) for part in parts), 4, 100)
    np.testing.assert_array_equal(whole.rows, again.rows)
    np.testing.assert_array_equal(again.mass, 2.0)


def test_a_sketch_adds_weights_and_passes_over_zeros():
    X = np.array([[0.0], [-0.0], [1.0], [2.0]])
    found = sketch_block(X, np.array([1.0, 2.0, 0.0, 5.0]), 10)
    assert dict(zip(found.rows[:, 0], found.mass, strict=True)) == {0.0: 3.0, 2.0: 5.0}


def test_a_sketch_is_spread_over_the_data():
    X = np.random.default_rng(0).standard_normal((50_000, 3))
    rows = sketch_block(X, None, 5000).rows
    assert np.abs(rows.mean(axis=0)).max() < 5 / np.sqrt(5000)
    assert np.abs(rows.std(axis=0) - 1).max() < 5 / np.sqrt(5000)


def test_many_rows_are_fitted_from_a_sample_as_well_as_from_all(monkeypatch):
    X, _, _ = make_simulation2(K, n=4000, p=20, random_state=0)
    whole = ewp.fit(X, K, 0.05 * len(X), random_state=0)
    monkeypatch.setattr("ewp.engine._WHOLE", 100)
    monkeypatch.setattr("ewp.sketch._ROWS", 600)
    assert ArrayEngine(X).small(K).n == 600
    found = ewp.fit(X, K, 0.05 * len(X), random_state=0)
    assert found.objective == pytest.approx(whole.objective, rel=1e-10)


# --- files and blocks --------------------------------------------------------------------------


def test_a_npy_file_gives_the_answer_of_the_array(tmp_path, data, reference):
    X = data[0]
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "fortran.npy", np.asfortranarray(X))
    for source, atol in ((tmp_path / "x.npy", 0.0), (str(tmp_path / "fortran.npy"), 1e-12)):
        found = ewp.fit(source, K, LAM, random_state=1)
        same(found, reference, atol)  # a product of columns adds up in another order
        assert list(found.feature_names) == list(reference.feature_names)
    same(ewp.fit(np.load(tmp_path / "x.npy", mmap_mode="r"), K, LAM, random_state=1), reference)
    model = ewp.EWP(K, LAM, random_state=1).fit(tmp_path / "x.npy")
    np.testing.assert_array_equal(model.predict(tmp_path / "x.npy"), reference.labels)
    assert model.n_features_in_ == 20


def test_a_parquet_file_keeps_its_names(tmp_path, data, reference):
    table = pd.DataFrame(data[0], columns=[f"gene {i}" for i in range(20)])
    table.to_parquet(tmp_path / "x.parquet")
    model = ewp.EWP(K, LAM, random_state=1).fit(tmp_path / "x.parquet")
    same(model.results_, reference)
    assert list(model.results_.weights.index) == list(table.columns)
    assert list(model.feature_names_in_) == list(table.columns)
    np.testing.assert_array_equal(model.predict(table), reference.labels)
    table[table.columns[::-1]].to_parquet(tmp_path / "reversed.parquet")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(tmp_path / "reversed.parquet")


def test_blocks_from_a_function(data, reference):
    def blocks():
        yield from np.array_split(data[0], 7)

    found = ewp.fit(blocks, K, LAM, random_state=1)
    same(found, reference)
    spooled = found.data.path
    assert spooled.exists()
    del found
    assert not spooled.exists()


def test_rows_of_a_file_are_read_like_those_of_an_array(tmp_path, data):
    X = data[0].astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    rows = open_rows(tmp_path / "x.npy")
    assert isinstance(rows, FileRows)
    for index in (slice(3, 90), slice(0, 50, 7), np.array([5, 1499, 5]), 17, X[:, 0] > 0.5):
        np.testing.assert_array_equal(rows[index], X[index])
    np.testing.assert_array_equal(np.vstack(list(rows.blocks())), X)
    np.testing.assert_array_equal(np.asarray(rows), X)


def test_a_file_that_is_cut_off_is_told(tmp_path, data):
    path = tmp_path / "rows.npy"
    np.save(path, data[0])
    os.truncate(path, path.stat().st_size - 80)
    with pytest.raises(OSError, match=r"rows\.npy' ends before row 1500"):
        ewp.fit(path, K, LAM, random_state=1)


def test_the_penalty_is_chosen_on_a_sample_of_a_file(tmp_path, data):
    np.save(tmp_path / "x.npy", data[0])
    found = ewp.fit(tmp_path / "x.npy", K, scale="standard", dispersion="within", random_state=0)
    assert found.weights.iloc[:5].sum() > 0.99
    assert "chosen by" in str(found)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.npy", np.arange(5.0), "rows by columns"),
        ("x.npy", np.arange(6).reshape(2, 3), "save float64"),
        ("x.npy", np.array([[1.0, np.nan], [2.0, 3.0]]), "row 0, column 1"),
        ("x.txt", None, "neither a .npy nor a .parquet"),
        ("broken.npy", None, "is not a .npy file"),
    ],
)
def test_unfit_files_are_named(tmp_path, name, content, message):
    if content is None:
        (tmp_path / name).write_text("hello, this is text")
    else:
        np.save(tmp_path / name, content)
    with pytest.raises(ValueError, match=message):
        ewp.fit(tmp_path / name, 2, 1.0)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        ewp.fit(tmp_path / "none.npy", 2, 1.0)


def test_blocks_that_do_not_fit_together_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for blocks in ([np.ones((2, 3)), np.ones((2, 4))], []):
        with pytest.raises(ValueError, match=r"other columns|no rows"):
            ewp.fit(lambda blocks=blocks: iter(blocks), 2, 1.0)
    assert not list(tmp_path.iterdir())


# --- Dask --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_dask_arrays_give_the_answer_of_the_array(client, data, reference):
    import dask.array as da

    X = data[0]
    for chunks in ((400, 20), (1500, 7), (311, 20)):
        found = ewp.fit(da.from_array(X, chunks=chunks), K, LAM, random_state=1)
        same(found, reference, atol=1e-12)


def test_blocks_that_lie_together_are_one_task(client, data):
    import dask.array as da

    engine = DaskEngine(da.from_array(data[0], chunks=(100, -1)))
    assert sorted(i for group in engine._groups for i in group) == list(range(15))
    assert len(engine._groups) <= sum(client.nthreads().values())
    theta, weights = engine.inside(data[0][:K]), np.full(20, 0.05)
    found = engine.statistics(theta, weights, -3.0)
    parts = [
        ArrayEngine(data[0][i : i + 100], center=engine.center, keep=False)
        for i in range(0, 1500, 100)
    ]
    plain = parts[0].accumulate(engine.metric(theta, weights), -3.0)
    for part in parts[1:]:
        plain += part.accumulate(engine.metric(theta, weights), -3.0)
    np.testing.assert_array_equal(found.sums, plain.sums)  # added in the order of the blocks
    assert found.power == plain.power


def test_a_fit_within_a_task_does_not_wait_for_itself(data):
    import dask.array as da
    from distributed import Client, LocalCluster

    def job(X):
        return ewp.fit(da.from_array(X, chunks=(500, -1)), K, LAM, random_state=1).objective

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        Client(cluster) as only,
    ):
        found = only.submit(job, data[0]).result(timeout=120)
    assert np.isfinite(found)


def test_dask_without_distributed(data, reference, monkeypatch):
    import dask
    import dask.array as da

    monkeypatch.setitem(sys.modules, "distributed", None)
    with dask.config.set(scheduler="threads"):
        found = ewp.fit(da.from_array(data[0], chunks=(500, -1)), K, LAM, random_state=1)
    same(found, reference, atol=1e-9)


def test_dask_weights_and_standardised_features(client, data):
    import dask.array as da

    X = data[0]
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    options = {"scale": "standard", "random_state": 1}
    reference = ewp.fit(X, K, 200.0, sample_weight=weight, **options)
    lazy = da.from_array(X, chunks=(500, 20))
    for given in (weight, da.from_array(weight, chunks=333)):
        same(ewp.fit(lazy, K, 200.0, sample_weight=given, **options), reference, atol=1e-12)


def test_dask_tables_keep_names_and_predict_lazily(client, data, reference):
    import dask.dataframe as dd

    table = pd.DataFrame(data[0], columns=[f"gene {i}" for i in range(20)])
    lazy = dd.from_pandas(table, npartitions=4)
    model = ewp.EWP(K, LAM, random_state=1).fit(lazy)
    same(model.results_, reference, atol=1e-12)
    assert list(model.results_.weights.index) == list(table.columns)
    predicted = model.predict(lazy)
    assert hasattr(predicted, "dask")
    np.testing.assert_array_equal(predicted.compute(), reference.labels)


def test_dask_data_are_checked(client):
    import dask.array as da
    import dask.dataframe as dd

    bad = np.ones((40, 3))
    bad[25, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        ewp.fit(da.from_array(bad, chunks=(10, 3)), 2, 1.0)
    with pytest.raises(ValueError, match="k=2 exceeds the 1 distinct rows"):
        ewp.fit(da.ones((40, 3), chunks=(10, 3)), 2, 1.0)
    text = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), npartitions=1)
    with pytest.raises(ValueError, match=r"not numeric: \['b'\]"):
        ewp.fit(text, 2, 1.0)


def test_a_lost_worker_does_not_lose_the_fit(client, data, reference):
    import dask.array as da

    lazy = da.from_array(data[0], chunks=(100, 20))
    victims = list(client.run(os.getpid).values())
    steps = []

    def kill_once(row):
        steps.append(row)
        if len(steps) == 3:
            os.kill(victims[0], signal.SIGKILL)

    from ewp.blas import one_blas_thread
    from ewp.fitting import Recipe, fit_engine
    from ewp.sources import open_source

    engine = open_source(lazy).engine(standardise=False, k=K)
    assert isinstance(engine, Engine)
    rng = np.random.default_rng(1)
    with one_blas_thread():
        found = fit_engine(engine, Recipe(K, LAM), rng, on_step=kill_once)
    assert len(steps) > 3
    assert found.solution.objective == pytest.approx(reference.objective, rel=1e-9)


def test_threads_of_dask_without_a_cluster(data, reference):
    import dask
    import dask.array as da

    with dask.config.set(scheduler="threads"):
        found = ewp.fit(da.from_array(data[0], chunks=(500, 20)), K, LAM, random_state=1)
    same(found, reference, atol=1e-12)
    assert threading.active_count() < 50


def test_a_file_is_never_allocated_whole(tmp_path):
    # 8 GB of zeros that take no space on the disk; nothing but the shape is looked at
    path = tmp_path / "rows.npy"
    rows = np.lib.format.open_memmap(path, "w+", np.float64, (10**8, 10))
    del rows
    model = ewp.EWP(2, lam=1.0)
    tracemalloc.start()
    try:
        remember_features(model, open_rows(path), reset=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.n_features_in_ == 10
    assert peak < 1e6
