"""The house: few rooms, imports that go down only, and words that name what is there."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import ewp

ROOT = Path(ewp.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path) for path in MODULES}


def imported_by(path: Path) -> set[str]:
    """Modules of the package that a module imports, for types or inside of functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (members & NAMES) or {node.module}
    return found & NAMES


def test_a_newcomer_sees_few_entries():
    entries = [path for path in ROOT.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 21
    assert len([path for path in MODULES if path.name != "__init__.py"]) <= 144


def test_no_module_imports_itself_by_a_detour():
    graph = {name_of(path): imported_by(path) for path in MODULES}
    settled: set[str] = set()
    while ready := {name for name in graph if name not in settled and graph[name] <= settled}:
        settled |= ready
    assert set(graph) - settled == set()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_that_are_named_in_docstrings_are_there(path):
    tree = ast.parse(path.read_text())
    nodes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    ]
    texts = [ast.get_docstring(node) or "" for node in nodes]
    for text in texts:
        for dotted in re.findall(r"`{1,2}~?(ewp(?:\.\w+)+)`", text):
            assert _exists(dotted), f"{dotted} in {name_of(path)}"


def _exists(dotted: str) -> bool:
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        try:
            for part in parts[cut:]:
                found = getattr(found, part)
        except AttributeError:
            return False
        return True
    return False
