"""Cells of the validation: kept on disk, found again, and computed in spite of failures."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
from pathlib import Path

import pytest

import ewp
from validation import digest, plan
from validation.cells import Cell, Store, has_sparcl


def test_a_finished_cell_is_not_computed_again(toy, tmp_path):
    store = Store(tmp_path / "cells")
    cells = [Cell("toy.square", {"x": x}) for x in (2, 3)]
    assert store.fill(cells) == []
    assert store.fill(cells) == []
    assert toy == [2, 3]
    assert [value for _, value in store.finished(cells)] == [{"square": 4}, {"square": 9}]


def test_other_inputs_are_other_cells_and_the_rank_is_no_input(toy):
    assert Cell("toy.square", {"x": 2}).key != Cell("toy.square", {"x": 3}).key
    assert Cell("toy.square", {"x": 2}).key == Cell("toy.square", {"x": 2}, rank=7).key


def test_an_unfinished_cell_has_no_value(toy, tmp_path):
    store = Store(tmp_path)
    assert store.get(Cell("toy.square", {"x": 2})) is None
    assert store.finished([Cell("toy.square", {"x": 2})]) == []


def test_a_failure_is_told_and_the_others_are_computed(toy, tmp_path):
    store = Store(tmp_path)
    failures = store.fill([Cell("toy.fail", {"x": -1}), Cell("toy.square", {"x": 2})])
    assert len(failures) == 1
    assert "no root of -1" in failures[0]
    assert store.get(Cell("toy.square", {"x": 2})) == {"square": 4}


def test_an_interruption_keeps_what_is_finished(toy, tmp_path):
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        store.fill([Cell("toy.square", {"x": 2}), Cell("toy.stop", {"x": 0})])
    assert Cell("toy.square", {"x": 2}) in store
    assert Cell("toy.stop", {"x": 0}) not in store


class Fragile(Store):
    """A store whose process is killed by one cell, always or while another is computed."""

    def _fill(self, cell):
        assert os.getpid() != self.owner, "cells are computed in processes of their own"
        mark = self.folder / "killed"
        if cell.inputs["seed"] == 1 and not (cell.inputs["once"] and mark.exists()):
            self.folder.mkdir(exist_ok=True)
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        path = self._path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"value": cell.inputs["seed"]}))


@pytest.mark.parametrize("once", [True, False])
def test_a_process_that_is_killed_takes_no_other_cell_along(once, tmp_path):
    cells = [Cell("theory.descent", {"seed": seed, "once": once}) for seed in range(6)]
    store = Fragile(tmp_path / "cells")
    store.owner = os.getpid()
    failures = store.fill(cells, n_jobs=2)
    rest = {0, 2, 3, 4, 5}
    assert {value for _, value in store.finished(cells)} == (rest | {1} if once else rest)
    assert len(failures) == (0 if once else 1)
    assert once or ("seed=1" in failures[0] and "was killed" in failures[0])


def test_no_cell_is_begun_after_the_time(toy, tmp_path):
    assert Store(tmp_path).fill([Cell("toy.square", {"x": 2})], minutes=-1.0) == []
    assert toy == []


def test_files_hold_the_cell_and_its_value(toy, tmp_path):
    Store(tmp_path).fill([Cell("toy.square", {"x": 2})])
    (path,) = (tmp_path / "toy.square").iterdir()
    kept = json.loads(path.read_text())
    assert (kept["task"], kept["inputs"]) == ("toy.square", {"x": 2})
    assert kept["value"] == {"square": 4}


def test_cells_go_to_another_machine_in_one_file(toy, tmp_path):
    cells = [Cell("toy.square", {"x": x}) for x in (2, 3, 4)]
    store, other = Store(tmp_path / "one"), Store(tmp_path / "two")
    store.fill(cells[:2])
    assert store.pack(cells, tmp_path / "cells.gz") == 2
    first = (tmp_path / "cells.gz").read_bytes()
    store.pack(cells, tmp_path / "cells.gz")
    assert (tmp_path / "cells.gz").read_bytes() == first
    assert other.unpack(tmp_path / "cells.gz") == 2
    other.fill(cells)
    assert toy == [2, 3, 4]  # what had come along was not computed again
    assert [value["square"] for _, value in other.finished(cells)] == [4, 9, 16]


def test_a_cell_without_a_choice_outlives_a_change_of_the_choice(monkeypatch):
    inputs = {"seed": 0, "scaling": "raw", "part": "native"}
    sworn, free = (Cell("figures.boxes", inputs, chooses=chooses) for chooses in (False, True))
    with pytest.raises(RuntimeError, match=r"figures.boxes\(seed=0.*declared to choose nothing"):
        sworn.compute()
    before = sworn.key, free.key
    read, root = Path.read_text, Path(ewp.__file__).parent

    def changed(path):
        inside = path.is_relative_to(root) and digest.is_choosing(path.relative_to(root))
        return read(path) + "\nEQUAL = 2.0\n" * inside

    monkeypatch.setattr(Path, "read_text", changed)
    digest.source_digest.cache_clear()
    after = sworn.key, free.key
    monkeypatch.undo()
    digest.source_digest.cache_clear()
    assert after[0] == before[0]
    assert after[1] != before[1]


@pytest.fixture
def entered():
    """Files of `ewp`, by their paths in it, whose functions are entered during a test."""
    root = Path(ewp.__file__).parent
    files = set()
    sys.setprofile(lambda frame, event, _: files.add(frame.f_code.co_filename))
    yield lambda: {Path(f).relative_to(root) for f in files if Path(f).is_relative_to(root)}
    sys.setprofile(None)


@pytest.mark.filterwarnings("ignore:no fixed point")
def test_what_is_declared_to_choose_nothing_chooses_nothing(entered):
    cells = [
        cell
        for cell in plan.everything(False)
        if not cell.chooses and (has_sparcl() or not cell.needs_sparcl)
    ]
    firsts = {(cell.task, cell.inputs.get("part")): cell for cell in reversed(cells)}
    slow = (
        "simulations.trial",
        "real_sets.trials",
        "hindsight.best",
        "sparcl.live",
        "sparse.annealed",
    )
    less = {
        "lams": 2,
        "tries": 1,
        "count": 1,
        "n_boot": 20,
        "n_perm": 19,
        "replicates": 2,
        "n_refits": 1,
    }
    for (task, _), cell in firsts.items():
        if task not in slow:
            small = {name: less.get(name, value) for name, value in cell.inputs.items()}
            assert dataclasses.replace(cell, inputs=small).compute() is not None
    assert len(entered()) > 10
    assert [path for path in entered() if digest.is_choosing(path)] == []
