"""How far a call wanders through the modules of `ewp`: ``python -m validation.navigation``.

Four calls on iris are traced, each in a process of its own. The functions of the package are listed
in the order in which they are first entered, in threads too; lambdas, comprehensions and bodies of
modules are no functions. Along that list it is counted how often the module changes, and how many
modules there are; the order of threads may move it by one or two. Beside it stand the threads that
one fit starts, whose number varies a little too, and the size of the tree.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

import pandas as pd
from sklearn.datasets import load_iris

import ewp
from ewp import fit  # noqa: F401  -- the package loads its modules with its first name, not in a call
from validation.table_text import markdown_table

__all__ = ["CALLS", "Route", "Tree", "main", "threads_started", "trace", "tree"]


@dataclass(frozen=True)
class Route:
    """Modules in the order in which a call first enters their functions, one entry a function.

    Attributes
    ----------
    modules : tuple of str
        Paths below the folder of the package.
    """

    modules: tuple[str, ...]

    @property
    def changes(self) -> int:
        """How often the module changes along the route."""
        return sum(one != other for one, other in zip(self.modules, self.modules[1:], strict=False))

    @property
    def distinct(self) -> int:
        """Number of modules."""
        return len(set(self.modules))


@dataclass(frozen=True)
class Tree:
    """Size of a package: entries of its folder, modules below it, and their median of lines."""

    entries: int
    modules: int
    lines: float


def trace(call: Callable[[], Any], folder: Path) -> Route:
    """Follow a call through the functions that are written in a folder.

    Parameters
    ----------
    call : callable
        Called without arguments.
    folder : Path
        Functions of other files are not followed.

    Examples
    --------
    >>> trace(lambda: ewp.critical_exponent([[0.0], [1.0]]), Path(ewp.__file__).parent).changes > 0
    True
    """
    entered: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            entered.setdefault(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    files = (Path(one.co_filename) for one in entered if not one.co_name.startswith("<"))
    return Route(
        tuple(str(path.relative_to(folder)) for path in files if path.is_relative_to(folder))
    )


def threads_started(call: Callable[[], Any]) -> int:
    """Count the threads that a call starts."""
    start, count = threading.Thread.start, 0

    def counted(thread: threading.Thread) -> None:
        nonlocal count
        count += 1
        start(thread)

    with patch.object(threading.Thread, "start", counted):
        call()
    return count


def tree(folder: Path) -> Tree:
    """Measure the tree of a package, caches aside."""
    modules = [path for path in folder.rglob("*.py") if "__pycache__" not in path.parts]
    lines = [len(path.read_text().splitlines()) for path in modules]
    entries = sum(path.name != "__pycache__" for path in folder.iterdir())
    return Tree(entries, len(modules), statistics.median(lines))


def _iris() -> pd.DataFrame:
    data: pd.DataFrame = load_iris(as_frame=True).data
    return data


def _fit() -> Callable[[], Any]:
    X = _iris()
    return lambda: ewp.fit(X, 3)


def _compare() -> Callable[[], Any]:
    X = _iris()
    return lambda: ewp.compare(X, 3, n_trials=2)


def _bootstrap() -> Callable[[], Any]:
    return ewp.fit(_iris(), 3).bootstrap


def _command() -> Callable[[], Any]:
    _iris().to_csv("iris.csv", index=False)

    def call() -> None:
        from ewp.cli import main

        arguments = ["ewp", "fit", "iris.csv", "-k", "3", "--report", "page.html"]
        said = StringIO()
        with patch.object(sys, "argv", arguments), redirect_stdout(said), redirect_stderr(said):
            try:
                main()
            except SystemExit as end:
                if end.code:
                    raise RuntimeError(f"the command failed: {said.getvalue()}") from end

    return call


#: Calls by their texts; each entry prepares one, in a folder that may be written.
CALLS: dict[str, Callable[[], Callable[[], Any]]] = {
    "ewp.fit(iris, 3)": _fit,
    "ewp.compare(iris, 3, n_trials=2)": _compare,
    "results.bootstrap()": _bootstrap,
    "ewp fit iris.csv -k 3 --report page.html": _command,
}


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Work in a folder that is removed afterwards."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)


def _package() -> Path:
    return Path(ewp.__file__).parent


def _route(name: str) -> Route:
    with _elsewhere():
        return trace(CALLS[name](), _package())


def _threads() -> int:
    return threads_started(_fit())


def main() -> None:
    """Trace all calls and print a table."""
    # a call that comes after others finds modules imported and results kept
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as fresh:
        routes = {name: fresh.submit(_route, name) for name in CALLS}
        threads = fresh.submit(_threads)
        rows = [
            (f"`{name}`", f"{route.result().changes} over {route.result().distinct} modules")
            for name, route in routes.items()
        ]
        rows.append(("threads started by `ewp.fit(iris, 3)`", f"{threads.result():,}"))
    found = tree(_package())
    rows += [
        ("entries at the top of `ewp/`", str(found.entries)),
        ("modules", str(found.modules)),
        ("median lines of a module", f"{found.lines:g}"),
    ]
    print(markdown_table(pd.DataFrame(rows, columns=["changes of module", ""])))


if __name__ == "__main__":
    main()
