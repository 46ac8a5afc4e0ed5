"""The command line as a new user types it."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ewp import __version__
from ewp.cli import app, output
from ewp.datasets import make_simulation2


def test_demo_prints_the_comparison_and_writes_the_picture(tmp_path):
    picture = tmp_path / "demo.png"
    result = CliRunner().invoke(app, ["demo", "--out", str(picture)])
    assert result.exit_code == 0
    assert "Entropy Weighted Power k-means" in result.output
    lines = result.output.splitlines()
    table = lines[next(i for i, line in enumerate(lines) if "weight on relevant" in line) :]
    kmeans, sparse, ewp = (
        [float(cell) for cell in line.removeprefix(name).split() if cell != "-"]
        for name in ("k-means", "sparse k-means", "EWP")
        for line in table
        if line.startswith(name)
    )
    assert max(kmeans) < 0.5
    assert min(sparse[:2]) < 0.5 < max(sparse[:2])
    assert min(ewp[:2]) > 0.99
    assert min(ewp[2:]) > 0.95
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_missing_folder_is_named(tmp_path):
    for wrong in (tmp_path, tmp_path / "demo", tmp_path / "demo.xyz"):
        result = CliRunner().invoke(app, ["demo", "--out", str(wrong)])
        assert result.exit_code == 2
        assert "Traceback" not in result.output
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "no" / "demo.png")])
    assert result.exit_code == 2
    assert str(tmp_path / "no") in result.output


@pytest.fixture
def table(tmp_path):
    X, labels, _ = make_simulation2(3, n=60, p=5, n_relevant=2, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["species"] = np.array(["one", "two", "three"])[labels]
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


def test_compare_prints_the_table_against_the_classes(table):
    options = ["-k", "3", "--truth", "species", "--trials", "6", "--scale", "standard"]
    methods = ["--methods", "kmeans, wkmeans,power"]
    result = CliRunner().invoke(app, ["compare", str(table), *options, *methods])
    assert result.exit_code == 0
    assert "n = 60, p = 5 (standardised), k = 3" in result.output
    assert "6 starts on one data set" in result.output
    for name in ("kmeans", "wkmeans", "power"):
        row = next(line for line in result.output.splitlines() if line.startswith(name))
        assert 0 <= float(row.split()[1]) <= 1


def test_compare_resamples_the_rows_when_asked(table):
    options = ["-k", "3", "--trials", "2", "--methods", "kmeans,agglomerative", "--scale", "none"]
    command = ["compare", str(table), "--drop", "species", *options, "--replicates"]
    result = CliRunner().invoke(app, [*command, "bootstrap", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["replicates"] == "bootstrap"
    text = CliRunner().invoke(app, [*command, "bootstrap"]).output
    assert "2 bootstrap resamples of the rows" in " ".join(text.split())
    wrong = CliRunner().invoke(app, [*command, "folds"])
    assert wrong.exit_code == 2
    assert "replicates='folds'" in wrong.output


def test_compare_takes_tuning_parameters(table):
    options = ["-k", "3", "--truth", "species", "--trials", "2", "--methods", "sparse,ewp"]
    given = ["--lam", "4", "--wbound", "1.3"]
    result = CliRunner().invoke(app, ["compare", str(table), *options, *given])
    assert result.exit_code == 0
    words = " ".join(result.output.split())
    assert "sparse: wbound 1.3; ewp: lam 4, form within" in words


def test_compare_scores_without_classes_too(table):
    frame = pd.read_csv(table).drop(columns="species")
    frame.to_csv(table, index=False)
    options = ["-k", "3", "--trials", "2", "--scale", "none", "--methods", "kmeans"]
    result = CliRunner().invoke(app, ["compare", str(table), *options])
    assert result.exit_code == 0
    assert "silhouette" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "3", "--truth", "genus"], "no column 'genus'; it has a, b, c, d, e, species"),
        (["-k", "3"], "not numeric: 'species'"),
        (["-k", "61", "--truth", "species"], "k=61 exceeds the 60 distinct rows"),
        (["-k", "3", "--truth", "species", "--methods", "dbscan"], "'dbscan' is unknown"),
        (["-k", "3", "--truth", "species", "--lam", "-1"], "lam=-1.0 must be finite and above 0"),
        (["-k", "3", "--truth", "species", "--wbound", "0.5"], "wbound=0.5 must be at least 1"),
    ],
)
def test_compare_says_what_is_wrong_without_a_traceback(table, arguments, message):
    result = CliRunner().invoke(app, ["compare", str(table), *arguments])
    assert result.exit_code == 2
    assert result.output.startswith("ewp compare: ")
    assert message in result.output
    assert "Traceback" not in result.output


def test_compare_names_a_missing_or_empty_file(tmp_path):
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    for path in (tmp_path / "no.csv", empty):
        result = CliRunner().invoke(app, ["compare", str(path), "-k", "2"])
        assert result.exit_code == 2
        assert result.output.startswith("ewp compare: ")


def test_version():
    result = CliRunner().invoke(app, ["--version"])
    assert result.output.strip() == f"ewp {__version__}"
    module = subprocess.run(
        [sys.executable, "-m", "ewp", "--version"], capture_output=True, text=True, check=True
    )
    assert module.stdout == result.output


def end_and_fail():
    try:
        raise SystemExit(143)
    finally:
        raise RuntimeError("cannot join thread before it is started")


def test_an_end_that_was_asked_for_is_not_hidden_by_what_fails_on_the_way(capsys):
    failing = output.handle_errors("fit")(end_and_fail)
    with pytest.raises(SystemExit) as ended:
        failing()
    assert ended.value.code == 143
    assert capsys.readouterr().err == ""
