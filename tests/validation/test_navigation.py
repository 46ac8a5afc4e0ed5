"""Routes through modules are counted as their definition says."""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path

import pytest

import ewp
from validation.navigation import CALLS, Route, Tree, threads_started, trace, tree

A = """
from route_modules import b

def first(x):
    return b.second([b.third(one) for one in (x, x)])

def last():
    return (lambda: 1)()
"""
B = """
def second(values):
    from route_modules import a
    return sum(values) + a.last() + third(1)

def third(x):
    return x
"""


@pytest.fixture
def package(monkeypatch, tmp_path):
    folder = tmp_path / "route_modules"
    folder.mkdir()
    for name, text in (("__init__", ""), ("a", A), ("b", B)):
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("route_modules.a"), folder
    for name in [one for one in sys.modules if one.startswith("route_modules")]:
        del sys.modules[name]


def test_functions_are_listed_when_they_are_first_entered(package):
    module, folder = package
    route = trace(lambda: module.first(2), folder)
    # first, third, second, last; neither the lambda nor the comprehension, and third but once
    assert route == Route(("a.py", "b.py", "b.py", "a.py"))
    assert (route.changes, route.distinct) == (2, 2)
    assert sys.getprofile() is None


def test_threads_are_followed_and_counted(package):
    module, folder = package

    def call():
        threads = [threading.Thread(target=module.last) for _ in range(3)]
        for thread in threads:
            thread.start()
            thread.join()

    assert trace(call, folder) == Route(("a.py",))
    assert threads_started(call) == 3
    assert threads_started(lambda: module.last()) == 0


def test_the_tree_is_measured_without_caches(package):
    _, folder = package
    (folder / "__pycache__").mkdir(exist_ok=True)
    (folder / "__pycache__" / "old.py").write_text("x = 1\n")
    (folder / "inner").mkdir()
    (folder / "inner" / "c.py").write_text("x = 1\ny = 2\n")
    lines = sorted([0, A.count("\n"), B.count("\n"), 2])
    assert tree(folder) == Tree(4, 4, (lines[1] + lines[2]) / 2)


def test_a_fit_of_the_package_is_followed():
    X = [[0.0, 1.0], [0.1, 3.0], [4.0, 2.0], [4.1, 0.0]]
    route = trace(lambda: ewp.fit(X, 2, lam=1.0), Path(ewp.__file__).parent)
    assert 1 < route.distinct <= route.changes < len(route.modules)


def test_calls_are_prepared_and_then_made(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    CALLS["ewp fit iris.csv -k 3 --report page.html"]()()
    assert (tmp_path / "page.html").exists()
