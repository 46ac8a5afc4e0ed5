"""Tables that would mislead: names that are marks, dates, formulas, escapes, stored indices."""

import gzip
import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import ewp
from ewp.cli import app
from ewp.cli.options import ReadOptions
from ewp.cli.output import csv_text, printable
from ewp.cli.tables import TableReader


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def write(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_rows_may_be_called_as_missing_values_are(tmp_path):
    names = ["DE", "NA", "null", "None", "n/a", "nan"]
    rows = "".join(f"{name},{i % 2 * 9 + i / 10},1\n" for i, name in enumerate(names))
    path = write(tmp_path, f"country,a,b\n{rows}")
    assert (
        run("fit", path, "-k", 2, "--lam", 5, "--id", "country", "--out", tmp_path / "o").exit_code
        == 0
    )
    kept = pd.read_csv(tmp_path / "o" / "labels.csv", keep_default_na=False)
    assert kept["country"].tolist() == names
    shown = run("predict", tmp_path / "o", path, "--id", "country", "--json")
    assert json.loads(shown.stdout)["rows"] == names


def test_a_point_is_no_decimal_sign_where_the_comma_is(tmp_path):
    path = write(tmp_path, "umsatz;quote\n2.000;0,5\n1.037;1,5\n1.500;2,5\n")
    failed = run("fit", path, "-k", 1, "--lam", 5, "--delimiter", ";", "--decimal", ",")
    assert failed.exit_code == 2
    assert "'umsatz' ('2.000' in line 2)" in failed.stderr
    assert "separates thousands" in failed.stderr
    mixed = write(tmp_path, "a;b\n1,5;0,5\n-;1,5\n2,5;2,5\n")
    table = TableReader(str(mixed), ReadOptions(delimiter=";", decimal=",", na=["-"], dropna=True))
    np.testing.assert_array_equal(table.load(), [[1.5, 0.5], [2.5, 2.5]])


def test_the_index_that_pandas_stored_is_no_feature(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    table[table.b > -0.5].to_parquet(tmp_path / "part.parquet")
    how = (tmp_path / "part.parquet", "-k", 2, "--lam", 5, "--json")
    found = run("fit", *how)
    assert list(json.loads(found.stdout)["weights"]) == ["a", "b"]
    assert "left out, for pandas stored it as the index: __index_level_0__" in found.stderr
    wanted = run("fit", *how, "--columns", "__index_level_0__,a")
    assert list(json.loads(wanted.stdout)["weights"]) == ["a", "__index_level_0__"]


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(["2020-01-01", None, "2021-01-01"]),
        pd.to_timedelta(["1h", None, "2h"]),
    ],
)
def test_dates_are_no_numbers(tmp_path, values):
    pd.DataFrame({"a": [1.0, 2.0, 3.0], "t": values}).to_parquet(tmp_path / "t.parquet")
    failed = run("fit", tmp_path / "t.parquet", "-k", 1, "--lam", 5)
    assert failed.exit_code == 2
    assert "'t'" in failed.stderr
    assert "not numeric" in failed.stderr


def test_a_header_is_read_in_time_that_grows_with_its_length(tmp_path):
    """Counting every name in a list would take minutes here."""
    width = 100_000
    path = write(
        tmp_path, ",".join(f"x{i}" for i in range(width)) + "\n" + ",".join("1" * width) + "\n"
    )
    assert len(TableReader(str(path), ReadOptions()).features) == width


def test_a_header_without_names_and_lines_without_end_are_told(tmp_path, monkeypatch):
    failed = run("fit", write(tmp_path, ",,\n1,2,3\n4,5,6\n"), "-k", 1, "--lam", 1)
    assert "the header of" in failed.stderr
    assert "has no names" in failed.stderr
    monkeypatch.setattr("ewp.cli.tables._LONGEST_LINE", 50)
    failed = run("fit", write(tmp_path, "x" * 60 + "\n1\n"), "-k", 1, "--lam", 1)
    assert "more than 50 characters" in failed.stderr


def test_long_cells_are_cut_in_messages(tmp_path):
    failed = run("fit", write(tmp_path, f"a,b\n{'x' * 9000},2\n1,2\n"), "-k", 1, "--lam", 1)
    assert len(failed.stderr) < 400


def test_a_range_of_too_many_numbers_is_refused(tmp_path):
    path = write(tmp_path, "a,b\n1,2\n3,4\n5,6\n")
    failed = run("select", path, "-k", "2-300000000")
    assert failed.exit_code == 2
    assert "299999999 numbers of clusters" in failed.stderr


def test_names_are_no_formulas_in_files_and_steer_no_terminal(tmp_path):
    path = write(tmp_path, "=1+1,b\x1b[31m\n1,2\n4,5\n")
    found = run("fit", path, "-k", 1, "--lam", 1, "--out", tmp_path / "o")
    assert "\x1b" not in found.stdout
    assert r"b\x1b[31m" in found.stdout
    assert "'=1+1" in (tmp_path / "o" / "weights.csv").read_text()
    assert printable("a\tb\n ü") == "a\tb\n ü"
    frame = pd.DataFrame({"x": [1]}, index=pd.Index(["-5"]))
    assert csv_text(frame) == ",x\n-5,1\n"


def test_a_file_that_unpacks_to_gigabytes_is_not_unpacked(tmp_path):
    import zipfile

    from ewp import EWPResults
    from tests.support.results import make_results

    make_results().save(tmp_path / "fit.npz")
    with (
        zipfile.ZipFile(tmp_path / "fit.npz", "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("zz.npy", "w", force_zip64=True) as member,
    ):
        for _ in range(64):
            member.write(b"\0" * 2**20)
    assert EWPResults.load(tmp_path / "fit.npz").n_obs == 60


def test_a_model_whose_columns_are_numbers_finds_them_in_a_table(tmp_path):
    """Pandas' default names are integers, those of a file are text."""
    X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([0.0, 8.0], 20)[:, None]
    found = ewp.fit(pd.DataFrame(X), 2, 40.0, random_state=0)
    found.save(tmp_path / "fit.npz")
    path = write(tmp_path, pd.DataFrame(X).to_csv(index=False))
    shown = run("predict", tmp_path / "fit.npz", path, "--json")
    assert json.loads(shown.stdout)["labels"] == found.labels.tolist()


def test_a_line_without_end_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("ewp.cli.tables._LONGEST_LINE", 2**20)
    path = tmp_path / "table.csv.gz"
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write("a,b\n1,2\n3,")
        for _ in range(64):
            file.write("1" * 2**20)
    tracemalloc.start()
    try:
        failed = run("fit", path, "-k", 1, "--lam", 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert failed.exit_code == 2
    assert "a line of" in failed.stderr
    assert peak < 32 * 2**20


def test_names_of_rows_steer_no_terminal_and_start_no_formula(tmp_path, monkeypatch):
    path = write(tmp_path, "=cmd(),a,b\n\x1b[31mred,1,2\n=1+1,4,5\n")
    assert run("fit", path, "-k", 1, "--lam", 1, "--id", "=cmd()", "--out", tmp_path).exit_code == 0
    assert (tmp_path / "labels.csv").read_text().startswith("'=cmd(),cluster\n")
    how = ("predict", tmp_path, path, "--id", "=cmd()")
    run(*how, "--out", tmp_path / "piped.csv")
    piped = (tmp_path / "piped.csv").read_text()
    assert "\x1b[31mred," in piped
    assert "'=1+1," in piped
    monkeypatch.setattr("ewp.cli.commands.to_terminal", lambda: True)
    assert r"\x1b[31mred," in run(*how).stdout


def test_numbers_of_starts_that_no_machine_has_are_told(tmp_path):
    path = write(tmp_path, "a,b\n1,2\n3,4\n5,6\n")
    for text in ("1e20", "1" + "0" * 30):
        failed = run("fit", path, "-k", 2, "--lam", 1, "--starts", text)
        assert failed.exit_code == 2
        assert "Traceback" not in failed.stderr


def test_a_hundred_thousand_columns_are_predicted_too(tmp_path):
    """Looking up every name in a list would take minutes here."""
    names = [f"x{i}" for i in range(100_000)]
    rows = "\n".join(",".join([str(i)] * len(names)) for i in range(2))
    path = write(tmp_path, ",".join(names) + f"\n{rows}\n")
    reader = TableReader(str(path), ReadOptions(drop=names[:500]), only=names[500:])
    assert reader.load().shape == (2, 99_500)
