"""Finished cells are adopted by new code if, and only if, it finds the same values."""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter

import pytest

from validation import run
from validation.adoption import adopt, differences, draw_cells, read_packed
from validation.cells import Cell, Store
from validation.digest import source_digest

BEFORE = """
class Cell:
    def __init__(self, task, inputs, chooses):
        self.x = inputs["x"]

    def compute(self):
        return {{"square": self.x * self.x + {excess}}}
"""


@pytest.fixture
def cells(toy):
    return [Cell("toy.square", {"x": x}) for x in range(6)]


@pytest.fixture
def packed(cells, tmp_path):
    """Five finished cells under the keys of other code."""
    path = tmp_path / "cells.jsonl.gz"
    lines = [
        json.dumps([f"toy.square/old{x}.json", json.dumps(record(x, x * x))]) for x in range(5)
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
    return path


def record(x, square):
    value = {"square": square}
    return {"task": "toy.square", "inputs": {"x": x}, "seconds": x / 10, "value": value}


def test_the_same_values_are_kept_under_new_keys(toy, cells, packed, tmp_path):
    before = read_packed(packed)
    assert adopt(packed, cells, 3, Store(tmp_path / "new")) == []
    assert len(toy) == 3
    assert read_packed(packed) == before
    again = Store(tmp_path / "again")
    assert again.unpack(packed) == 5
    assert [value["square"] for _, value in again.finished(cells)] == [0, 1, 4, 9, 16]


def test_other_values_are_told_and_nothing_is_written(cells, packed, tmp_path):
    lines = gzip.decompress(packed.read_bytes()).decode().splitlines()
    lines[2] = json.dumps(["toy.square/old2.json", json.dumps(record(2, 4.5))])
    packed.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
    kept = packed.read_bytes()
    wrong = adopt(packed, cells, 5, Store(tmp_path / "new"))
    assert wrong == ["toy.square(x=2), value['square']: 4.5 was found before, 4 now"]
    assert packed.read_bytes() == kept
    assert not (tmp_path / "new").exists()


def test_cells_that_are_not_planned_are_not_lost(cells, packed, tmp_path):
    wrong = adopt(packed, cells[1:], 5, Store(tmp_path / "new"))
    assert wrong == ["toy.square(x=0) is kept, but not in the plan"]


def checkout(folder, text):
    """A folder with other code."""
    (folder / "validation").mkdir(parents=True)
    (folder / "validation" / "__init__.py").touch()
    (folder / "validation" / "cells.py").write_text(text)
    return folder


@pytest.mark.parametrize("excess", [0, 1])
def test_the_code_before_the_change_computes_what_is_compared(excess, cells, packed, tmp_path):
    before = checkout(tmp_path / "before", BEFORE.format(excess=excess))
    wrong = adopt(packed, cells, 2, Store(tmp_path / "new"), before=before)
    assert len(wrong) == 2 * excess
    assert (tmp_path / "new").exists() != bool(excess)


def test_code_that_fails_is_told(cells, packed, tmp_path):
    before = checkout(tmp_path / "before", "raise ValueError('no cells')")
    with pytest.raises(RuntimeError, match="no cells"):
        adopt(packed, cells, 2, Store(tmp_path / "new"), before=before)


def test_cells_are_drawn_from_every_task_and_quick_ones_sooner():
    cells = [
        Cell(task, {"x": x, "part": part})
        for task in ("a.one", "a.two", "b.three")
        for part in ("own", "peers")
        for x in range(10)
    ]
    seconds = {str(cell): 1000.0 if cell.inputs["x"] else 0.0 for cell in cells}
    drawn = draw_cells(cells, seconds, 6)
    assert set(Counter((cell.task, cell.inputs["part"]) for cell in drawn).values()) == {1}
    assert sum(cell.inputs["x"] == 0 for cell in drawn) >= 5
    assert draw_cells(cells, seconds, 6) == drawn
    assert draw_cells(cells, seconds, 6, seed=1) != drawn
    assert len(draw_cells(cells, seconds, 100)) == 60


def test_what_needs_sparcl_is_drawn_only_where_it_is(toy, packed, tmp_path):
    cells = [Cell("toy.square", {"x": x}, needs_sparcl=x > 0) for x in range(5)]
    assert adopt(packed, cells, 5, Store(tmp_path / "new"), has_sparcl=False) == []
    assert toy == [0]
    assert len(read_packed(packed)) == 5


def test_running_times_do_not_count_and_missing_values_are_equal():
    old = [{"seconds": 1.0, "nmi": float("nan"), "trial": 1}]
    assert list(differences(old, [{"seconds": 2.0, "nmi": float("nan"), "trial": 1}])) == []
    assert len(list(differences(old, [{"seconds": 1.0, "nmi": 0.0, "trial": True}]))) == 2
    assert len(list(differences(old, [{"seconds": 1.0, "nmi": float("nan")}]))) == 1
    assert len(list(differences(old, []))) == 1


def test_the_program_adopts_and_stamps_the_report(cells, packed, tmp_path, monkeypatch):
    row = "| hash of the modules that compute | 0123456789abcdef |\n| other | 0123456789abcdef |\n"
    for name in ("README.md", "index.html"):
        (tmp_path / name).write_text(row)
    monkeypatch.setattr("validation.plan.everything", lambda full: cells)
    folders = ["--out", str(tmp_path), "--cache", str(tmp_path / "new")]
    monkeypatch.setattr(sys, "argv", ["run", "--adopt", "2", *folders])
    run.main()
    assert Store(tmp_path / "new").get(cells[3]) == {"square": 9}
    expected = row.replace("0123456789abcdef", source_digest()[:16], 1)
    assert (tmp_path / "README.md").read_text() == expected
    assert (tmp_path / "index.html").read_text() == expected
