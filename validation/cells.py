"""Cells: pieces of a long computation, each kept in a file as soon as it is finished.

A cell is a function of one of `validation.studies` and its inputs. The name of its file is a hash
of these and of the code (`validation.digest`): what is on disk is what the code at hand would find.
A cell in which nothing is chosen automatically does not depend on the code that chooses, and may
not call it. Nor does one of other packages' methods depend on the code of `ewp`, in which it may
fit nothing. An interruption loses the cell under way.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from joblib import Parallel, delayed

from ewp.common.parallel import tqdm
from r_bridge import check
from validation.digest import source_digest, task_digest

__all__ = ["Cell", "Store", "has_sparcl"]

#: The function through which all choices go, where the estimator finds it.
_GATE = "ewp.fitting.select_candidate"
#: What every method of `ewp` makes of its rows before all else.
_ENGINE = "ewp.engine.array.ArrayEngine.__init__"


@cache
def has_sparcl() -> bool:
    """Whether sparcl can be called."""
    found = check()
    return not found.problems and found.sparcl is not None


@dataclass(frozen=True)
class Cell:
    """One piece of work.

    Attributes
    ----------
    task : str
        Module of `validation.studies` and function, as in ``"simulations.trial"``.
    inputs : dict
        Arguments of the function: numbers, texts, lists of these.
    rank : int
        Cells of a lower rank are computed first; it is no part of the key.
    chooses : bool
        Whether penalties may be chosen in it.
    foreign : bool
        Whether other packages' methods compute it, so that the code of `ewp` is no part of the key.
    needs_sparcl : bool
        Whether it calls R's sparcl, so that it is computed only where there is one; no part of
        the key.
    """

    task: str
    inputs: dict[str, Any] = field(default_factory=dict)
    rank: int = 1
    chooses: bool = True
    foreign: bool = False
    needs_sparcl: bool = False

    @property
    def _place(self) -> tuple[str, str]:
        """Module and name of the function."""
        module, _, function = self.task.rpartition(".")
        return f"validation.studies.{module}", function

    @property
    def key(self) -> str:
        """Name of the file that keeps the cell."""
        parts = [
            self.task,
            json.dumps(self.inputs, sort_keys=True),
            task_digest(*self._place),
            "" if self.foreign else source_digest(self.chooses),
        ]
        return hashlib.sha256("|".join(parts).encode()).hexdigest()[:24]

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.inputs.items())
        return f"{self.task}({given})"

    def compute(self) -> Any:
        """Call the function."""
        module, name = self._place
        function = getattr(import_module(module), name)
        if self.foreign:
            gate, sworn = _ENGINE, "to be of other packages"
        elif not self.chooses:
            gate, sworn = _GATE, "to choose nothing"
        else:
            return function(**self.inputs)
        with patch(gate, side_effect=RuntimeError(f"{self} was declared {sworn}")):
            return function(**self.inputs)


@dataclass
class Store:
    """A folder of finished cells.

    Attributes
    ----------
    folder : Path
    """

    folder: Path

    def _path(self, cell: Cell) -> Path:
        return self.folder / cell.task / f"{cell.key}.json"

    def __contains__(self, cell: Cell) -> bool:
        return self._path(cell).exists()

    def get(self, cell: Cell) -> Any:
        """Value of a cell; None if it is not finished."""
        path = self._path(cell)
        return json.loads(path.read_text())["value"] if path.exists() else None

    def finished(self, cells: Iterable[Cell]) -> list[tuple[Cell, Any]]:
        """Those cells that are finished, with their values."""
        return [(cell, self.get(cell)) for cell in cells if cell in self]

    def lines(self, cells: Iterable[Cell]) -> list[str]:
        """Finished cells as lines of a packed file: path and text of each."""
        return [
            json.dumps(
                [str(self._path(cell).relative_to(self.folder)), self._path(cell).read_text()]
            )
            for cell in cells
            if cell in self
        ]

    def pack(self, cells: Iterable[Cell], path: Path) -> int:
        """Write finished cells into one compressed file, a line each; return their number."""
        lines = self.lines(cells)
        path.parent.mkdir(parents=True, exist_ok=True)
        # no time stamp: the same cells are the same file
        path.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
        return len(lines)

    def unpack(self, path: Path) -> int:
        """Take cells from such a file; those of other code are never asked for. Return how many."""
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        for line in lines:
            name, text = json.loads(line)
            target = self.folder / name
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
        return len(lines)

    def _fill(self, cell: Cell) -> str | None:
        """Compute a cell and keep it; return what went wrong."""
        begin = time.perf_counter()
        try:
            value = cell.compute()
        except Exception:
            return f"{cell}\n{traceback.format_exc()}"
        seconds = round(time.perf_counter() - begin, 2)
        self.keep(cell, {"seconds": seconds, "value": value})
        return None

    def keep(self, cell: Cell, record: dict[str, Any]) -> None:
        """Write the record of a finished cell: its value, and the seconds that it took."""
        kept = {"task": cell.task, "inputs": cell.inputs, **record}
        path = self._path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(kept, default=float))
        partial.replace(path)

    def fill(
        self,
        cells: Iterable[Cell],
        *,
        n_jobs: int | None = None,
        minutes: float | None = None,
        progress: bool = False,
    ) -> list[str]:
        """Compute the cells that are not finished, in their order.

        If one of several processes is killed, as the system does when memory runs out, the cells
        that were under way are computed once more after all others, one at a time.

        Parameters
        ----------
        cells : iterable of Cell
        n_jobs : int, optional
            Number of processes.
        minutes : float, optional
            No cell is begun after this time; the others are left for another run.
        progress : bool, default False
            Show a progress bar on stderr.

        Returns
        -------
        list of str
            What went wrong, a text for each cell that failed.
        """
        wanted = {str(cell): cell for cell in cells}
        missing = [cell for cell in wanted.values() if cell not in self]
        end = None if minutes is None else time.monotonic() + 60 * minutes

        def due(cells: Iterable[Cell]) -> Iterator[Cell]:
            for cell in cells:
                if end is not None and time.monotonic() > end:
                    return
                yield cell

        queue = due(missing)
        killed: list[Cell] = []
        failures: list[str] = []
        with tqdm(
            total=len(wanted), initial=len(wanted) - len(missing), unit="cell", progress=progress
        ) as bar:
            while (lost := self._run(queue, n_jobs, failures, bar)) is not None:
                killed += lost
            for cell in due(killed):
                if cell not in self:
                    failures += self._fill_alone(cell)
                bar.update()
        return failures

    def _run(
        self, queue: Iterator[Cell], n_jobs: int | None, failures: list[str], bar: Any
    ) -> list[Cell] | None:
        """Compute cells until none is left, or until a process is killed: return those in work."""
        begun: list[Cell] = []

        def tasks() -> Iterator[Any]:
            for cell in queue:
                begun.append(cell)
                yield delayed(self._fill)(cell)

        settled = 0
        try:
            pool = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="n_jobs")
            for failure in pool(tasks()):
                settled += 1
                bar.update()
                if failure is not None:
                    failures.append(failure)
        except BrokenProcessPool:
            return begun[settled:]
        return None

    def _fill_alone(self, cell: Cell) -> list[str]:
        """Compute a cell whose process was killed again, with all memory to itself."""
        try:
            (failure,) = Parallel(n_jobs=2, backend="loky")([delayed(self._fill)(cell)])
        except BrokenProcessPool as error:
            return [f"{cell}\nits process was killed, maybe for want of memory: {error}"]
        return [] if failure is None else [failure]
