"""The committed report is what the programs produce: a small fresh run agrees with its tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from validation.cells import Cell
from validation.compose import compose
from validation.studies import real_sets, simulations, theory
from validation.summaries import scores_of

REPORT = Path(__file__).parents[2] / "validation" / "report"


class Fresh:
    """Cells that are computed at once and kept nowhere."""

    def __init__(self, cells):
        self.kept = {str(cell): cell.compute() for cell in cells}

    def __contains__(self, cell):
        return str(cell) in self.kept

    def finished(self, cells):
        return [(cell, self.kept[str(cell)]) for cell in cells if cell in self]


@pytest.fixture
def committed():
    return pd.read_csv(REPORT / "tables.csv")


def assert_agreement(new, old):
    """Means differ by at most four standard errors, and a little for few trials."""
    spread = old["nmi"].std() if len(old) > 1 else 0.0
    error = spread * np.sqrt(1 / len(new) + 1 / len(old))
    assert abs(new["nmi"].mean() - old["nmi"].mean()) <= 4 * error + 0.02


def test_a_fresh_run_of_the_simulations_agrees(committed):
    cells = [
        Cell(
            "simulations.trial",
            {"design": f"simulation {number}", "size": size, "seed": 0, "part": part},
        )
        for number, size, part in ((1, 5, "ewp"), (2, 20, "ewp"), (2, 20, "peers"))
    ]
    table = scores_of(Fresh(cells), cells).rename(columns={"design": "data"})
    # the scaling of this package is its own choice, and no part of what is compared
    table.loc[table["method"].str.startswith("ewp"), "scaling"] = ""
    committed.loc[committed["method"].str.startswith("ewp"), "scaling"] = ""
    keys = ["data", "size", "method", "scaling"]
    groups = table.groupby(keys)
    assert len(groups) == 2 + 2 + 8
    for key, new in groups:
        assert_agreement(new, committed[(committed[keys] == list(key)).all(axis=1)])


def test_a_fresh_run_of_a_real_set_agrees(committed):
    cells = [
        cell
        for cell in real_sets.real_cells()
        if cell.inputs["name"] == "wdbc" and cell.inputs["part"] in ("ewp", "peers")
    ]
    old = committed[committed["data"] == "wdbc, as it is"]
    groups = scores_of(Fresh(cells), cells).groupby(["method", "scaling"])
    assert {method for (method, _), _ in groups} >= {"ewp", "ewp, same rows", "kmeans", "sparse"}
    for (method, scaling), new in groups:
        assert_agreement(new, old[(old["method"] == method) & (old["scaling"] == scaling)])


def test_this_packages_default_reaches_what_is_claimed(committed):
    default = committed[committed["method"] == "ewp"]
    means = default.groupby(["data", "size"])["nmi"].mean()
    assert set(means["simulation 1"].index) == set(simulations.NOISE)
    assert (means["simulation 1"] >= 0.99).all()
    assert (means["simulation 2"] >= 0.999).all()


def test_both_forms_of_the_report_have_every_picture_and_verdict():
    page, text = (REPORT / "index.html").read_text(), (REPORT / "README.md").read_text()
    pictures = sorted(path.stem for path in (REPORT / "pictures").glob("*.png"))
    assert len(pictures) >= 10
    assert page.count("<img") == len(pictures)
    assert all(f"(pictures/{name}.png)" in text for name in pictures)
    for title in ("Table 1", "Table 2", "Table 4", "Table 5", "Figure 1", "Figure 2"):
        assert f"### {title}" in text
        assert f">{title}" in page


def test_a_report_is_made_from_whatever_is_finished():
    cells = theory.theory_cells()
    page = compose(Fresh([cells[0], cells[50], cells[-1]]), full=False)
    titles = [section.title for sections in page.parts.values() for section in sections]
    assert "Theorems 1 and 2, with numbers" in titles
    assert not any(title.startswith(("Table 1", "Table 5", "Figure")) for title in titles)
    assert "3 of" in page.ending[0]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--data", "nowhere"], "there is no folder nowhere"),
        (["--jobs", "0"], "--jobs is 0"),
        (["--adopt", "0"], "--adopt is 0"),
        (["--adopt", "5", "--before", "nowhere"], "no checkout of the project"),
    ],
)
def test_wrong_options_are_told_and_no_report_is_written(options, told, tmp_path):
    done = run_program(*options, "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_sets_that_are_not_at_hand_are_named(tmp_path):
    folders = ["--data", str(tmp_path), "--out", str(tmp_path / "out"), "--cache", str(tmp_path)]
    done = run_program("--report", *folders)
    assert done.returncode == 0, done.stderr
    assert "the report leaves them out: " in done.stderr
    assert "warpPIE10P, GLIOMA;" in done.stderr


def run_program(*options):
    """Run the validation's program from the root of the project."""
    command = [sys.executable, "-m", "validation.run", *options]
    return subprocess.run(command, cwd=REPORT.parent.parent, capture_output=True, text=True)
