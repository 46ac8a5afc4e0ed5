"""Hashes of code: what a finished cell depends on, wherever in the tree it is written.

Code is hashed by its definitions, the functions, classes and constants at the top of modules, in
an order of their own. Moving them to another file, or merging, splitting and renaming modules,
changes no hash; nor do comments, layout, docstrings and imports. A cell depends on the definitions
of `ewp` that compute, all of them, and on those of `validation` that its function uses.
"""

from __future__ import annotations

import ast
import hashlib
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ewp

__all__ = ["code_digest", "is_choosing", "is_silent", "source_digest", "task_digest"]

#: Folders and files of `ewp` that print, draw or store: a change in them changes no number.
SILENT_FOLDERS = ("display", "report", "cli")
SILENT_FILES = ("storage.py", "files.py")
#: The folder that scores and chooses penalties.
CHOOSING_FOLDERS = ("selection",)
#: A file in it that those use too who choose nothing: the grid of penalties.
GRID_FILE = "grid.py"
#: Functions and methods of `ewp` that print or draw begin like this, in all modules.
SILENT_NAMES = ("plot", "summar", "_repr", "__repr__", "__str__")

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_silent(path: Path) -> bool:
    """Whether a file, by its path below `ewp`, prints, draws or stores and does not compute.

    Examples
    --------
    >>> is_silent(Path("display/plots.py")), is_silent(Path("solver/iterate.py"))
    (True, False)
    """
    return path.name in SILENT_FILES or _belongs(path, SILENT_FOLDERS)


def is_choosing(path: Path) -> bool:
    """Whether a file, by its path below `ewp`, scores and chooses penalties.

    Examples
    --------
    >>> is_choosing(Path("selection/search.py")), is_choosing(Path("solver/iterate.py"))
    (True, False)
    """
    return _belongs(path, CHOOSING_FOLDERS) and path.name != GRID_FILE


def _belongs(path: Path, folders: tuple[str, ...]) -> bool:
    return any(part in folders for part in path.parts[:-1])


def _is_text(node: ast.AST) -> bool:
    """Whether a statement is a mere text, as docstrings are."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_idle(node: ast.AST) -> bool:
    """Whether a statement computes nothing: a text, an import, what is public, the version."""
    if isinstance(node, ast.Import | ast.ImportFrom) or _is_text(node):
        return True
    if isinstance(node, ast.If):
        names = {one.id for one in ast.walk(node.test) if isinstance(one, ast.Name)}
        return bool(names & {"TYPE_CHECKING", "__name__"})
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return bool({"__all__", "__version__"} & set(_targets(node)))
    return False


def _targets(node: ast.stmt) -> list[str]:
    """Names that a statement at the top of a module binds."""
    if isinstance(node, _Function | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        found = (one for target in targets for one in ast.walk(target))
        return [one.id for one in found if isinstance(one, ast.Name)]
    return []


def _text(node: Any, quiet: tuple[str, ...] = ()) -> str:
    """Code as a text that is the same under all versions of Python, without what is idle.

    Parameters
    ----------
    node : AST, list or constant
    quiet : tuple of str
        Beginnings of the names of functions that are left out.
    """
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if name != "kind")
        parts = (
            f"{name}={_text(value, quiet)}" for name, value in fields if value not in (None, [])
        )
        return f"{type(node).__name__}({', '.join(parts)})"
    if isinstance(node, list):
        kept = (one for one in node if not _is_idle(one) and not _is_quiet(one, quiet))
        return f"[{', '.join(_text(one, quiet) for one in kept)}]"
    return repr(node)


def _is_quiet(node: ast.AST, quiet: tuple[str, ...]) -> bool:
    return bool(quiet) and isinstance(node, _Function) and node.name.startswith(quiet)


def _hash(texts: list[str]) -> str:
    return hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()


def _definitions(text: str, quiet: tuple[str, ...] = ()) -> list[str]:
    """Texts of all definitions of a module."""
    kept = (one for one in ast.parse(text).body if not _is_idle(one) and not _is_quiet(one, quiet))
    return [_text(one, quiet) for one in kept]


def code_digest(*texts: str) -> str:
    """Hash of the definitions of some modules, given as texts.

    Examples
    --------
    >>> code_digest("x = 1  # one") == code_digest("x=1")
    True
    >>> code_digest("x = 1") == code_digest("x = 2")
    False
    >>> code_digest("x = 1", "y = 2") == code_digest("from a import b; y = 2; x = 1")
    True
    """
    return _hash([one for text in texts for one in _definitions(text)])


@cache
def source_digest(chooses: bool = True) -> str:
    """Hash of the definitions of `ewp` that compute, with or without those that choose penalties.

    Parameters
    ----------
    chooses : bool
        Whether what chooses penalties counts.
    """
    folder = Path(ewp.__file__).parent
    found: list[str] = []
    for path in folder.rglob("*.py"):
        inside = path.relative_to(folder)
        if not is_silent(inside) and (chooses or not is_choosing(inside)):
            found += _definitions(path.read_text(), SILENT_NAMES)
    return _hash(found)


@dataclass(frozen=True)
class _Module:
    """Definitions of a module by the names they bind, and what it imports from its package."""

    definitions: dict[str, list[ast.stmt]]
    imports: dict[str, tuple[str, str]]


@cache
def _read(name: str) -> _Module:
    module = import_module(name)
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text())
    definitions: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for target in () if _is_idle(node) else _targets(node):
            definitions.setdefault(target, []).append(node)
    package = name.partition(".")[0]
    imports = {
        one.asname or one.name: (node.module, one.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for one in node.names
        if node.module.partition(".")[0] == package
    }
    return _Module(definitions, imports)


def _used(node: ast.stmt) -> set[str]:
    """Names of the module that a definition uses; those that are local to it are not among them."""

    def names(table: symtable.SymbolTable) -> Iterator[str]:
        for symbol in table.get_symbols():
            if symbol.is_global() or (table.get_type() == "module" and symbol.is_referenced()):
                yield symbol.get_name()
        for child in table.get_children():
            yield from names(child)

    return set(names(symtable.symtable(ast.unparse(node), "<definition>", "exec")))


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is no package
        return False


def _needs(name: str, node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Where a definition's names come from: modules of its own package and names in them."""
    module = _read(name)
    for used in _used(node):
        if used in module.definitions:
            yield name, used
        elif used in module.imports:
            source = ".".join(module.imports[used])
            if not _is_module(source):
                yield module.imports[used]
                continue
            for one in ast.walk(node):
                if isinstance(one, ast.Attribute) and getattr(one.value, "id", None) == used:
                    yield source, one.attr


@cache
def task_digest(module: str, function: str) -> str:
    """Hash of a function and of all definitions of its package that it uses, directly or not.

    Parameters
    ----------
    module : str
        Full name of the module in which the function is found.
    function : str
    """
    waiting = [(module, function)]
    seen: set[tuple[str, str]] = set()
    found: set[str] = set()
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        name, wanted = place
        if wanted not in _read(name).definitions:
            # a name that a module passes on; a name from elsewhere has no definition here
            waiting += [_read(name).imports[wanted]] if wanted in _read(name).imports else []
            continue
        for node in _read(name).definitions[wanted]:
            found.add(_text(node))
            waiting += _needs(name, node)
    return _hash(list(found))
