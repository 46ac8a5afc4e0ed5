"""The committed report is what the programs produce: a small fresh run agrees with its tables."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from validation import plan
from validation.cells import Cell
from validation.compose import compose
from validation.sections.common import scores_of

REPORT = Path(__file__).parent.parent / "validation" / "report"


class Fresh:
    """Cells that are computed when they are asked for, and kept nowhere."""

    def __init__(self, cells):
        self.kept = {str(cell): cell.compute() for cell in cells}

    def __contains__(self, cell):
        return str(cell) in self.kept

    def finished(self, cells):
        return [(cell, self.kept[str(cell)]) for cell in cells if cell in self]


@pytest.fixture(scope="module")
def fresh():
    simulated = [
        Cell(
            "simulations.trial",
            {"design": f"simulation {number}", "size": size, "seed": seed, "part": part},
        )
        for number, size, seed, part in (
            (1, 5, 0, "ewp"),
            (2, 20, 0, "ewp"),
            (2, 20, 1, "ewp"),
            (2, 20, 0, "peers"),
        )
    ]
    real = [
        cell
        for cell in plan.real()
        if cell.inputs["name"] == "wdbc" and cell.inputs["part"] in ("ewp", "peers")
    ]
    return Fresh([*simulated, *real])


@pytest.fixture(scope="module")
def committed():
    return pd.read_csv(REPORT / "tables.csv")


def agree(new, old):
    """Whether two means differ by at most four standard errors, and a little for few trials."""
    spread = old["nmi"].std() if len(old) > 1 else 0.0
    error = spread * np.sqrt(1 / len(new) + 1 / len(old))
    return abs(new["nmi"].mean() - old["nmi"].mean()) <= 4 * error + 0.02


def test_a_fresh_run_of_the_simulations_agrees(fresh, committed):
    table = scores_of(fresh, [*plan.table1(), *plan.table2()]).rename(columns={"design": "data"})
    keys = ["data", "size", "method", "scaling"]
    compared = 0
    for key, new in table.groupby(keys):
        old = committed[(committed[keys] == list(key)).all(axis=1)]
        if old.empty and new["method"].iloc[0].startswith("ewp"):
            continue  # the scaling is the package's own choice, which may differ by draw
        assert agree(new, old), key
        compared += 1
    assert compared >= 10


def test_a_fresh_run_of_a_real_set_agrees(fresh, committed):
    table = scores_of(fresh, plan.real())
    old = committed[committed["data"] == "wdbc, as it is"]
    methods = table.groupby(["method", "scaling"])
    assert {method for (method, _), _ in methods} >= {"ewp", "ewp, same rows", "kmeans", "sparse"}
    for (method, scaling), new in methods:
        same = old[(old["method"] == method) & (old["scaling"] == scaling)]
        assert agree(new, same), (method, scaling)


def test_this_packages_default_reaches_what_is_claimed(committed):
    default = committed[committed["method"] == "ewp"]
    means = default.groupby(["data", "size"])["nmi"].mean()
    assert (means["simulation 1"] >= 0.99).all()
    assert set(means["simulation 1"].index) == set(plan.NOISE)
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


def test_a_report_is_made_from_few_cells(fresh, monkeypatch):
    monkeypatch.setattr(plan, "pictures", list)
    monkeypatch.setattr(plan, "sparcl", list)
    page = compose(fresh, full=False)
    titles = [section.title for sections in page.parts.values() for section in sections]
    assert "Table 1: Simulation 1" in titles
    assert "Boxplots of the feature weights" not in titles
    assert os.environ.get("EWP_DATA") or "Table 4: the data" in titles
