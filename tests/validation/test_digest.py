"""Hashes of code do not depend on where it is written, and do on what it computes."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path

import pytest

import ewp
from validation import digest, plan
from validation.digest import code_digest, is_choosing, is_silent, source_digest, task_digest

ONE = """
from __future__ import annotations
import numpy as np
from ewp.engine.kernel import Array
__all__ = ["f"]
LIMIT = 3
def f(x):
    '''One.'''
    from scipy import special
    return special.expit(x)
"""


def test_comments_docstrings_and_imports_are_no_code():
    assert code_digest(ONE) == code_digest(
        'LIMIT = 3  # three\ndef f(x):\n    """Another."""\n\n    return special.expit(x)'
    )
    for old, new in (("LIMIT = 3", "LIMIT = 4"), ("expit(x)", "expit(-x)"), ("f(x)", "g(x)")):
        assert code_digest(ONE) != code_digest(ONE.replace(old, new))


def test_modules_may_be_split_and_merged():
    rest = "class C:\n    x: int = 1\n"
    assert code_digest(ONE, rest) == code_digest(rest + ONE) == code_digest(rest, ONE)
    assert code_digest(ONE, rest) != code_digest(ONE, rest, rest)


@pytest.fixture
def copy(monkeypatch, tmp_path):
    """A copy of the package's modules, whose hash is taken in place of the package's."""
    folder = tmp_path / "ewp"
    shutil.copytree(Path(ewp.__file__).parent, folder, ignore=shutil.ignore_patterns("*.pyc"))
    monkeypatch.setattr(digest.ewp, "__file__", str(folder / "__init__.py"))
    digest.source_digest.cache_clear()
    yield folder
    digest.source_digest.cache_clear()


def again(chooses=True):
    digest.source_digest.cache_clear()
    return source_digest(chooses)


def put(folder, path, text):
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).write_text(text)


def test_moving_modules_into_folders_changes_no_hash(copy):
    before = again(True), again(False)
    modules = [path for path in sorted(copy.rglob("*.py")) if path.stem != "__init__"]
    for number, path in enumerate(modules):
        inside = path.relative_to(copy)
        kind = "display" if is_silent(inside) else "selection" if is_choosing(inside) else "core"
        put(copy, f"{kind}/new{number}.py", path.read_text())
        path.unlink()
    assert len(modules) > 30
    assert (again(True), again(False)) == before


@pytest.mark.parametrize(
    ("path", "counts", "chooses"),
    [
        ("core/rates.py", True, False),
        ("selection/scores.py", True, True),
        ("display/pictures.py", False, False),
        ("report/page.py", False, False),
        ("cli/options.py", False, False),
        ("core/storage.py", False, False),
    ],
)
def test_folders_say_what_counts(copy, path, counts, chooses):
    before = again(True), again(False)
    put(copy, path, "RATE = 0.5\n")
    assert (again(True) != before[0]) == counts
    assert (again(False) != before[1]) == (counts and not chooses)


def test_a_new_version_is_no_new_code(copy):
    before = again()
    path = copy / "common" / "__init__.py"
    text = path.read_text()
    assert "__version__" in text
    path.write_text(text.replace("__version__ = ", '__version__ = "9." + '))
    assert again() == before


def test_what_prints_or_plots_does_not_count_anywhere(copy):
    text = "class Fit:\n    def {name}(self):\n        return 1\n"
    put(copy, "core/fit.py", text.format(name="plot_weights"))
    before = again()
    for name, counts in (("summary", False), ("__repr__", False), ("draw", True)):
        put(copy, "core/fit.py", text.format(name=name))
        assert (again() != before) == counts


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A package of tasks in files that a test may write."""

    def write(**files):
        shutil.rmtree(tmp_path / "trial_tasks", ignore_errors=True)
        (tmp_path / "trial_tasks").mkdir()
        for name, text in {"__init__": "", **files}.items():
            (tmp_path / "trial_tasks" / f"{name}.py").write_text(text)
        for name in [one for one in sys.modules if one.startswith("trial_tasks")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        digest.task_digest.cache_clear()
        digest._read.cache_clear()

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield write
    for name in [one for one in sys.modules if one.startswith("trial_tasks")]:
        del sys.modules[name]


TASK = "def trial(seed):\n    draws = SIZE\n    return helper(seed, draws)\n"
HELPER = "def helper(seed, n):\n    return seed + n\n"
OTHER = "def draws():\n    return 5\n"


def test_a_task_depends_on_what_it_uses_wherever_that_is(package):
    package(a=f"SIZE = 3\n{HELPER}{TASK}")
    together = task_digest("trial_tasks.a", "trial")
    package(
        a=f"from trial_tasks.b import helper as helper\nfrom trial_tasks.c import SIZE\n{TASK}",
        b=HELPER,
        c="SIZE = 3\n",
    )
    assert task_digest("trial_tasks.a", "trial") == together
    # what is not used, or is a local name only, does not count
    package(a=f"SIZE = 3\n{OTHER}{HELPER}{TASK}")
    assert task_digest("trial_tasks.a", "trial") == together
    package(a=f"SIZE = 4\n{HELPER}{TASK}")
    assert task_digest("trial_tasks.a", "trial") != together


def test_helpers_are_found_through_modules_and_names_that_are_passed_on(package):
    task = "def trial(seed):\n    return tools.helper(seed, 1)\n"
    package(
        a=f"from trial_tasks import tools\n{task}",
        tools="from trial_tasks.b import helper\n",
        b=HELPER,
    )
    before = task_digest("trial_tasks.a", "trial")
    package(
        a=f"from trial_tasks import tools\n{task}",
        tools="from trial_tasks.b import helper\n",
        b=HELPER.replace("+", "-"),
    )
    assert task_digest("trial_tasks.a", "trial") != before
    package(a=f"from trial_tasks import tools\n{task}", tools=HELPER)
    assert task_digest("trial_tasks.a", "trial") == before


def test_every_cell_has_a_key_of_its_own():
    cells = plan.everything(True)
    assert len({cell.key for cell in cells}) == len(cells)
