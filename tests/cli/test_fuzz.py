"""Any text at all is read as a table of finite numbers, or refused in a sentence."""

import gzip
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from ewp.cli.options import ReadOptions
from ewp.cli.streams import InputError
from ewp.cli.tables import TableReader

FEW = settings(max_examples=250, deadline=None)
FOLDER = tempfile.TemporaryDirectory()
PATH = Path(FOLDER.name) / "table.csv"
CELLS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, width=32).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(
        ["", "NA", "nan", "-", '"', '"a,b"', "1,5", "2.000", "=1+1", "\x1b[31m", "1e999"]
    ),
    st.text(alphabet='ab019.,;"\t -+eE\n\r\x00é=\ufeff', max_size=6),
)
LINES = st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=6)
OPTIONS = st.builds(
    ReadOptions,
    delimiter=st.sampled_from([None, ",", ";", "\\t"]),
    decimal=st.sampled_from([".", ","]),
    header=st.booleans(),
    dropna=st.booleans(),
    id=st.sampled_from([None, "a", "x0"]),
)


def read(content, options):
    PATH.write_bytes(content)
    try:
        reader = TableReader(str(PATH), options)
        table = reader.load()
    except InputError:
        return None
    assert isinstance(table, pd.DataFrame)
    assert table.shape == (reader.n, len(reader.features))
    assert np.isfinite(table.to_numpy(dtype=float)).all()
    return table


@given(LINES, st.sampled_from([",", ";", "\t"]), st.sampled_from(["\n", "\r\n", "\r"]), OPTIONS)
@FEW
def test_cells_of_all_kinds(lines, mark, end, options):
    text = end.join(mark.join(cells) for cells in lines)
    table = read(text.encode(), options)
    assert table is None or len(table) <= text.count("\n") + text.count("\r") + 1


@given(st.binary(max_size=80), st.booleans(), OPTIONS)
@FEW
def test_bytes_of_all_kinds(content, packed, options):
    table = read(gzip.compress(content) if packed else content, options)
    assert table is None or table.shape[1] > 0


@given(st.lists(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=2), min_size=1, max_size=9))
@FEW
def test_numbers_come_back_as_they_were_written(rows):
    wanted = pd.DataFrame(rows, columns=["a", "b"])
    table = read(wanted.to_csv(index=False).encode(), ReadOptions())
    np.testing.assert_allclose(table.to_numpy(), wanted.to_numpy(), rtol=1e-14)
