"""Tables as the command line reads them: complaints name what is wrong and what would help."""

import gzip
import hashlib
import io
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from ewp.cli import tables as _cli_tables
from ewp.cli.options import ReadOptions
from ewp.cli.streams import InputError
from ewp.cli.tables import TableReader
from ewp.data.rows import FileRows


def read(path, only=None, truth=None, **options):
    table = TableReader(str(path), ReadOptions(**options), only=only, truth=truth)
    return table, table.load(whole=True)


def write(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(40, 3)).round(4), columns=["a", "b", "c, long"])


@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "parquet", "bom", "utf-16", "comma"])
def test_every_format_gives_the_same_table(tmp_path, frame, kind):
    path, options = tmp_path / f"data.{kind}", {}
    if kind == "parquet":
        frame.to_parquet(path)
    elif kind == "tsv":
        frame.to_csv(path, sep="\t", index=False)
    elif kind in ("bom", "utf-16"):
        frame.to_csv(path, index=False, encoding="utf-8-sig" if kind == "bom" else kind)
        options = {"encoding": kind} if kind == "utf-16" else {}
    elif kind == "comma":
        frame.to_csv(path, index=False, sep=";", decimal=",")
        options = {"delimiter": ";", "decimal": ","}
    else:
        frame.to_csv(path, index=False)
    table, found = read(path, **options)
    np.testing.assert_array_equal(found.to_numpy(), frame.to_numpy())
    assert list(found.columns) == list(frame.columns)
    assert table.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_what_a_file_is_shows_in_its_bytes_not_in_its_name(tmp_path, frame):
    packed = write(tmp_path, gzip.compress(frame.to_csv(index=False).encode()), "packed.csv")
    assert len(read(packed)[1]) == 40
    parquet = tmp_path / "table.csv"
    frame.to_parquet(parquet)
    assert len(read(parquet)[1]) == 40


def test_columns_are_chosen_by_name(tmp_path, frame):
    frame["class"], frame["name"] = ["one", "two"] * 20, [f"00{i}" for i in range(40)]
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    table, found = read(path, drop=["b"], id="name", truth="class")
    assert list(found.columns) == ["a", "c, long"]
    assert list(found.index[:2]) == ["000", "001"]
    assert table.classes == ["one", "two"] * 20
    assert list(read(path, columns=["b,a"])[1].columns) == ["a", "b"]
    assert list(read(path, columns=["c, long", "a"])[1].columns) == ["a", "c, long"]
    assert list(read(path, only=["b", "a"])[1].columns) == ["b", "a"]


def test_a_first_column_without_a_name_has_the_row_names(tmp_path, frame):
    path = tmp_path / "data.csv"
    frame.set_axis([f"r{i}" for i in range(40)]).to_csv(path)
    table, found = read(path)
    assert list(found.columns) == list(frame.columns)
    assert found.index[3] == "r3"
    assert "taken for row names" in table.notes[0]


def test_files_without_a_header_and_headers_that_look_like_data(tmp_path):
    path = write(tmp_path, "5.1,3.5\n4.9,3.0\n6.2,2.2\n")
    table, found = read(path)
    assert len(found) == 2
    assert "--no-header" in table.notes[0]
    table, found = read(path, header=False)
    assert found.to_numpy().tolist() == [[5.1, 3.5], [4.9, 3.0], [6.2, 2.2]]
    assert list(found.columns) == ["x0", "x1"]
    assert not table.notes


def test_rows_with_missing_values_are_left_out_when_asked(tmp_path):
    path = write(tmp_path, "a,b\n1,2\n,3\n4,NA\n5,?\n6,7\n")
    table, found = read(path, dropna=True, na=["?"])
    assert found.to_numpy().tolist() == [[1, 2], [6, 7]]
    assert list(table.rows) == [0, 4]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", {}, ["is empty", "header"]),
        ("\n\n", {}, ["is empty"]),
        ("a,b\n", {}, ["has a header, but no rows"]),
        ("a,b,a\n1,2,3\n", {}, ["several columns called 'a'", "--drop a"]),
        ("a;b\n1;2\n", {}, ["one column only", "--delimiter ';'"]),
        ("a\tb\n1\t2\n", {}, ["--delimiter '\\t'"]),
        (
            "a,who,b\n1,x,2\n3,y,4\n",
            {},
            ["1 column", "'who' ('x' in line 2)", "--drop who", "--id who"],
        ),
        ("a;b\n1,5;2,5\n", {"delimiter": ";"}, ["--decimal ,"]),
        ("a;b;c\n1,5;2,5;x\n", {"delimiter": ";"}, ["--decimal , and --drop c"]),
        ("a,b\n1,2\n3,?\n5,6\n", {}, ["'b' ('?' in line 3)", "--na '?'"]),
        (
            "a,b\n1,2\n,3\n4,\n5,\n",
            {},
            ["3 missing value(s), in 3 of 4 rows", "'b' 2, 'a' 1", "--dropna", "--drop b,a"],
        ),
        ("a,b\n,2\n3,\n", {"dropna": True}, ["every row"]),
        ("a,b\n1,inf\n2,3\n", {}, ["infinite values in 'b'"]),
        ("a,b\n1,2\n3,4,5\n", {}, ["line 3", "3 fields, the header 2"]),
        ("a,b\n1,2,3\n3,4,5\n", {}, ["first row", "more fields than the header"]),
        ('a,b\n1,"2\n3,4\n', {}, ["quotation mark in line 2", "never closed"]),
        (b"stra\xdfe,b\n1,2\n", {}, ["not text in UTF-8", "--encoding latin-1"]),
        ("a,b\n1,2\n".encode("utf-16"), {}, ["--encoding utf-16"]),
        ("a,b\n1,2\n", {"encoding": "klingon"}, ["'klingon' is unknown"]),
        ("a,b\n1,2\n", {"delimiter": "::"}, ["must be one character"]),
        (bytes(range(256)) * 40, {}, ["not a text file"]),
        (b"PK\x03\x04 and more", {}, ["zip archive", "CSV"]),
        (b"\x1f\x8b\x08\x00 nonsense", {}, ["damaged"]),
        (gzip.compress(b"a,b\n" + b"1,2\n" * 9, mtime=0)[:-12], {}, ["damaged"]),
        (b"PAR1 nonsense", {}, ["cannot be read"]),
        ("aa,b\n1,2\n", {"drop": ["a"]}, ["no column 'a'", "did you mean 'aa'"]),
        ("a,b\n1,2\n", {"columns": ["a,z"]}, ["--columns", "no column 'z'", "has a, b"]),
        ("a,b\n1,2\n", {"drop": ["a,b"]}, ["no columns", "are left"]),
        ("a,b\n1,2\n", {"id": "z"}, ["--id", "no column 'z'"]),
        ("a,b\n1,2\n", {"only": ["b", "z"]}, ["lacks 1 feature(s) of the model: 'z'"]),
        ("a,b\n1,\n", {"truth": "b"}, ["classes 'b'", "missing"]),
    ],
)
def test_complaints_name_the_trouble_and_the_cure(tmp_path, text, options, words):
    with pytest.raises(InputError) as caught:
        read(write(tmp_path, text), **options)
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_folders_and_rights_are_told_apart(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read(tmp_path / "no.csv")
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path)


def test_parquet_without_pyarrow_names_the_package(tmp_path, frame, monkeypatch):
    frame.to_parquet(tmp_path / "data.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match="needs pyarrow: pip install pyarrow"):
        read(tmp_path / "data.parquet")


def test_standard_input_is_read_as_it_comes(tmp_path, frame, monkeypatch):
    for content in (frame.to_csv(index=False).encode(), frame.to_parquet()):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        table, found = read("-")
        np.testing.assert_array_equal(found.to_numpy(), frame.to_numpy())
        assert table.sha256 == hashlib.sha256(content).hexdigest()


def test_large_tables_go_through_a_file_in_blocks(tmp_path, frame, monkeypatch):
    monkeypatch.setattr(_cli_tables, "MOST_ROWS", 10)
    monkeypatch.setattr(_cli_tables, "_BLOCK_CELLS", 24)
    frame["name"] = [f"r{i}" for i in range(40)]
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    table = TableReader(str(path), ReadOptions(id="name"))
    rows = table.load()
    assert isinstance(rows, FileRows)
    np.testing.assert_array_equal(rows[:], frame.drop(columns="name").to_numpy())
    assert list(rows.columns) == ["a", "b", "c, long"]
    assert list(table.rows) == list(frame["name"])
    assert table.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_trouble_late_in_a_large_table_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(_cli_tables, "MOST_ROWS", 10)
    monkeypatch.setattr(_cli_tables, "_BLOCK_CELLS", 24)
    lines = ["1,2"] * 60
    lines[20], lines[50] = "1,", "1,"
    with pytest.raises(InputError, match=r"2 missing value\(s\), in 2 of 60 rows"):
        TableReader(str(write(tmp_path, "a,b\n" + "\n".join(lines))), ReadOptions()).load()
    lines[50] = "1,x"
    with pytest.raises(InputError, match=r"'b' \('x' in line 52\)"):
        TableReader(str(write(tmp_path, "a,b\n" + "\n".join(lines))), ReadOptions()).load()


def test_a_pipe_that_closes_early_is_no_error(tmp_path, frame):
    path = tmp_path / "data.csv"
    pd.concat([frame] * 50).to_csv(path, index=False)
    program = [sys.executable, "-c", "from ewp.cli import main; main()"]
    fit = [*program, "fit", str(path), "-k", "2", "--lam", "100", "--out", str(tmp_path / "out")]
    assert subprocess.run(fit, capture_output=True, check=False).returncode == 0
    predict = [*program, "predict", str(tmp_path / "out"), str(path)]
    with subprocess.Popen(predict, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"row,cluster,distance\n"
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


def test_parquet_files_of_all_types_of_numbers(tmp_path, frame):
    odd = frame.assign(
        flag=pd.Series([None, *[True, False] * 19, True], dtype="boolean"),
        whole=pd.Series([None, *range(39)], dtype="Int64"),
        price=pd.Series([None, *map(Decimal, range(39))], dtype=object),
    )
    odd.to_parquet(tmp_path / "data.parquet")
    path = str(tmp_path / "data.parquet")
    found = TableReader(path, ReadOptions(), missing="observed").load(whole=True)
    there = odd.assign(price=odd["price"].astype(float)).to_numpy(float, na_value=np.nan)
    np.testing.assert_array_equal(found, there)
    with pytest.raises(InputError, match=r"has 3 missing value\(s\)"):
        read(tmp_path / "data.parquet")
    odd.assign(kind=pd.Categorical(["u", "v"] * 20)).to_parquet(tmp_path / "data.parquet")
    with pytest.raises(InputError, match=r"is not numeric: 'kind'.*--drop kind"):
        read(tmp_path / "data.parquet")
