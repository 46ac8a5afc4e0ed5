"""Data that are not in memory: files, and blocks that a function yields."""

import os
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import ewp
from ewp.data.rows import FileRows
from ewp.data.sources import open_rows
from ewp.data.validation import remember_features
from tests.support.in_memory import LAM, K, fitted, same, simulated


@pytest.fixture(scope="module")
def data():
    return simulated()


@pytest.fixture(scope="module")
def reference(data):
    return fitted(data)


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
