"""Adoption: finished cells stay valid after a change of code that is meant to change no number.

A new name of a function is new code to the hash under which a cell is kept. Instead of computing
everything again, some cells are drawn at random and computed with the present code. If none differs
in a single bit, running times aside, all cells are kept under their new keys. Another machine may
round differently, so the values to compare with can be computed there too, by the code from before
the change.
"""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from validation.cells import Cell, Store

__all__ = ["adopt", "differences", "draw_cells", "read_packed"]

#: Entries of values that are running times.
_TIMES = ("seconds",)
#: Added to the seconds that a cell took, so that the quickest are not always drawn.
_OVERHEAD = 0.5
#: Program for the code from before the change: reads cells, writes their values.
_BEFORE = """
import json, sys, warnings
from validation.cells import Cell
warnings.simplefilter("ignore")
cells = [Cell(**one) for one in json.load(sys.stdin)]
json.dump([cell.compute() for cell in cells], sys.stdout, default=float)
"""


def read_packed(path: Path) -> dict[str, dict[str, Any]]:
    """Records of a file of packed cells, by the texts of their cells.

    Parameters
    ----------
    path : Path

    Returns
    -------
    dict
        Each record has ``task``, ``inputs``, ``seconds`` and ``value``.
    """
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    records = (json.loads(json.loads(line)[1]) for line in lines)
    return {str(Cell(one["task"], one["inputs"])): one for one in records}


def draw_cells(
    cells: Iterable[Cell], seconds: dict[str, float], count: int, seed: int = 0
) -> list[Cell]:
    """Draw cells at random, as many from each task and its parts as there are, quick ones sooner.

    Parameters
    ----------
    cells : iterable of Cell
    seconds : dict
        How long each took, by its text.
    count : int
    seed : int
    """
    rng = np.random.default_rng(seed)
    groups: dict[tuple[str, str], list[tuple[float, Cell]]] = {}
    for cell in cells:
        place = rng.exponential() * (_OVERHEAD + seconds[str(cell)])
        part = cell.task, cell.inputs.get("part", "")
        groups.setdefault(part, []).append((place, cell))
    ranked = [
        (turn, place, cell)
        for group in groups.values()
        for turn, (place, cell) in enumerate(sorted(group, key=lambda one: one[0]))
    ]
    return [cell for *_, cell in sorted(ranked, key=lambda one: one[:2])[:count]]


def differences(old: Any, new: Any, where: str = "value") -> Iterator[str]:
    """Where two values differ, running times aside.

    Parameters
    ----------
    old, new : dict, list, number or str
    where : str
        Name of the value.

    Examples
    --------
    >>> list(differences({"nmi": 0.5, "seconds": 1.0}, {"nmi": 0.25, "seconds": 2.0}))
    ["value['nmi']: 0.5 was found before, 0.25 now"]
    """
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        for name in old.keys() - set(_TIMES):
            yield from differences(old[name], new[name], f"{where}[{name!r}]")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{where}[{i}]")
    elif not _same(old, new):
        yield f"{where}: {old!r} was found before, {new!r} now"


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, float) and isinstance(new, float) and math.isnan(old):
        return math.isnan(new)
    return type(old) is type(new) and bool(old == new)


def _values(cells: Sequence[Cell], n_jobs: int | None) -> list[Any]:
    """Values of cells by the present code, as they would be read again."""
    found = Parallel(n_jobs=n_jobs)(delayed(cell.compute)() for cell in cells)
    kept: list[Any] = json.loads(json.dumps(found, default=float))
    return kept


def _values_before(cells: Sequence[Cell], folder: Path) -> list[Any]:
    """Values of cells by the code in another folder."""
    given = [{"task": cell.task, "inputs": cell.inputs, "chooses": cell.chooses} for cell in cells]
    done = subprocess.run(
        [sys.executable, "-c", _BEFORE],
        input=json.dumps(given),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the code in {folder} failed:\n{done.stderr}")
    found: list[Any] = json.loads(done.stdout)
    return found


def adopt(
    packed: Path,
    cells: Sequence[Cell],
    count: int,
    store: Store,
    *,
    before: Path | None = None,
    has_sparcl: bool = True,
    n_jobs: int | None = None,
    seed: int = 0,
) -> list[str]:
    """Keep finished cells under the keys of the present code, if it finds the same values.

    Parameters
    ----------
    packed : Path
        File of packed cells; written again if all drawn values are the same.
    cells : sequence of Cell
        The plan.
    count : int
        How many are drawn and computed.
    store : Store
        Where the cells are kept under their new keys.
    before : Path, optional
        A checkout of the code before the change, which computes the values to compare with; by
        default those that were kept.
    has_sparcl : bool
        Whether cells that need sparcl can be drawn.
    n_jobs : int, optional
        Number of processes.
    seed : int
        Seed of the draw.

    Returns
    -------
    list of str
        What differs; nothing is written if there is anything.
    """
    records = read_packed(packed)
    planned = {str(cell): cell for cell in cells}
    if unknown := [name for name in records if name not in planned]:
        return [f"{name} is kept, but not in the plan" for name in unknown]
    finished = [cell for name, cell in planned.items() if name in records]
    drawn = draw_cells(
        [cell for cell in finished if has_sparcl or not cell.needs_sparcl],
        {name: one["seconds"] for name, one in records.items()},
        count,
        seed,
    )
    old = (
        [records[str(cell)]["value"] for cell in drawn]
        if before is None
        else _values_before(drawn, before)
    )
    wrong = [
        f"{cell}, {text}"
        for cell, one, other in zip(drawn, old, _values(drawn, n_jobs), strict=True)
        for text in differences(one, other)
    ]
    if not wrong:
        for cell in finished:
            store.keep(cell, records[str(cell)])
        store.pack(finished, packed)
    return wrong
