"""Stores seen in other ways: with the cells of a report's file, and watched by what they are asked.

An `Archive` has the cells of a store and, where one is missing, what the report's file has for the
same function and inputs, whatever code computed it: so a page can be written before all cells are
made anew, and says how many are of earlier code. A `Watch` notes whose cells a section asks for.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from validation.cells import Cell, Store

__all__ = ["Archive", "Watch", "is_earlier"]


class Archive(Store):
    """A store, and the cells of earlier code that a file has.

    Parameters
    ----------
    store : Store
        Cells of the code at hand.
    packed : Path
        File of packed cells; none are taken from one that is missing.
    """

    def __init__(self, store: Store, packed: Path) -> None:
        super().__init__(store.folder)
        text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else ""
        self._kept: dict[str, tuple[str, str]] = {}
        for line in text.splitlines():
            name, kept = json.loads(line)
            record = json.loads(kept)
            self._kept[str(Cell(record["task"], record["inputs"]))] = name, kept

    def __contains__(self, cell: Cell) -> bool:
        return super().__contains__(cell) or str(cell) in self._kept

    def get(self, cell: Cell) -> Any:
        """Value of a cell, of the code at hand if there is one."""
        if super().__contains__(cell) or str(cell) not in self._kept:
            return super().get(cell)
        return json.loads(self._kept[str(cell)][1])["value"]

    def earlier(self, cell: Cell) -> bool:
        """Whether what is known of a cell is of earlier code."""
        return str(cell) in self._kept and not super().__contains__(cell)

    def lines(self, cells: Iterable[Cell]) -> list[str]:
        """Lines of a packed file, those of earlier code as they were."""
        given = list(cells)
        old = [json.dumps(list(self._kept[str(one)])) for one in given if self.earlier(one)]
        return [*super().lines(one for one in given if not self.earlier(one)), *old]


def is_earlier(store: Any, cell: Cell) -> bool:
    """Whether a store of any kind has a cell of earlier code only."""
    return isinstance(store, Archive) and store.earlier(cell)


class Watch:
    """A store that counts which tasks' finished cells are asked for.

    Attributes
    ----------
    counts, earlier : Counter
        Cells by task, and those of earlier code among them.
    """

    def __init__(self, store: Any) -> None:
        self._store = store
        self._seen: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.earlier: Counter[str] = Counter()

    def __contains__(self, cell: Cell) -> bool:
        return cell in self._store

    def _note(self, cell: Cell) -> None:
        if str(cell) not in self._seen:
            self._seen.add(str(cell))
            self.counts[cell.task] += 1
            self.earlier[cell.task] += is_earlier(self._store, cell)

    def get(self, cell: Cell) -> Any:
        """Value of a cell; None if it is not finished."""
        if cell in self._store:
            self._note(cell)
        return self._store.get(cell)

    def finished(self, cells: Iterable[Cell]) -> list[tuple[Cell, Any]]:
        """Those cells that are finished, with their values."""
        found: list[tuple[Cell, Any]] = self._store.finished(cells)
        for cell, _ in found:
            self._note(cell)
        return found
