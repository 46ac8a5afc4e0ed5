"""Files of results that were tampered with are refused in a sentence, or can be used."""

import io
import json
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import ewp

FEW = settings(max_examples=80, deadline=None)
X = np.random.default_rng(0).normal(size=(30, 3)) + np.repeat([0.0, 6.0], 15)[:, None]
FOLDER = tempfile.TemporaryDirectory()
PATH = Path(FOLDER.name) / "fit.npz"


def whole():
    found = ewp.fit(X, 2, 30.0, random_state=0)
    found.bootstrap(5, n_jackknife=3, random_state=0)
    found.save(PATH)
    return PATH.read_bytes()


WHOLE = whole()
with zipfile.ZipFile(io.BytesIO(WHOLE)) as opened:
    MEMBERS = {name: opened.read(name) for name in opened.namelist()}
HEADER = json.loads(np.load(io.BytesIO(MEMBERS["header.npy"])).tobytes())
NUMBERS = [name for name in MEMBERS if name != "header.npy"]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([10**12, -(10**12), 10**400, 1e308, {"float": "nan"}, {"float": "inf"}]),
    st.sampled_from([{"__float__": "nan"}, "", "x", "\x1b[31m", [], [1], {}, {"range": [0, 1, 0]}]),
    st.lists(st.integers(0, 9), max_size=4),
)


def refused_or_usable(content):
    """Load a file; what is loaded must describe itself and predict."""
    PATH.write_bytes(content)
    try:
        found = ewp.EWPResults.load(PATH)
    except ValueError:
        return False
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        labels = np.asarray(found.predict(X))
        assert "Entropy" in str(found.summary())
        assert repr(found)
    assert ((labels >= 0) & (labels < found.n_clusters)).all()
    return True


def packed(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def as_member(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def places(value, path=()):
    """Paths of all entries of nested lists and dicts."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in pairs:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


PLACES = list(places(HEADER))


def test_the_whole_file_is_usable():
    assert refused_or_usable(WHOLE)
    assert refused_or_usable(packed(MEMBERS))


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.binary(max_size=3)), max_size=4))
@FEW
def test_bytes_that_were_changed(changes):
    content = bytearray(WHOLE)
    for place, new in changes:
        content[place : place + max(len(new), 1)] = new
    assert refused_or_usable(bytes(content)) in (True, False)


@given(st.lists(st.tuples(st.sampled_from(PLACES), ODD), min_size=1, max_size=3), st.booleans())
@FEW
def test_a_description_that_was_changed(changes, remove):
    header = json.loads(json.dumps(HEADER))
    for (*path, last), new in changes:
        inside = header
        try:
            for key in path:
                inside = inside[key]
            if remove:
                del inside[last]
            else:
                inside[last] = new
        except (KeyError, IndexError, TypeError):  # an earlier change took it away
            continue
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    content = packed(MEMBERS | {"header.npy": as_member(text)})
    assert refused_or_usable(content) in (True, False)


@given(
    st.sampled_from(NUMBERS),
    st.sampled_from(["<f8", "<f4", "<i8", "|b1", "<U3", "<c16", "<M8[s]", "|u1"]),
    st.lists(st.integers(0, 31), max_size=3),
    st.sampled_from([0, 1, 2, -1, 1e308, np.nan]),
)
@FEW
def test_arrays_of_other_shapes_types_and_values(name, kind, shape, value):
    with np.errstate(all="ignore"):
        array = np.full(shape, value).astype(kind)
    content = packed(MEMBERS | {name: as_member(array)})
    assert refused_or_usable(content) in (True, False)
