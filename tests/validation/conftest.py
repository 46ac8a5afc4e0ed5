"""A small module of tasks, whose cells take no time."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from validation import digest

TOY = '''"""Toy."""
CALLS = []


def square(x):
    CALLS.append(x)
    return {"square": x * x}


def fail(x):
    raise ValueError(f"no root of {x}")


def stop(x):
    raise KeyboardInterrupt
'''


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """A module of tasks; the calls that it counts."""
    path = tmp_path / "toy.py"
    path.write_text(TOY)
    spec = importlib.util.spec_from_file_location("validation.studies.toy", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "validation.studies.toy", module)
    yield module.CALLS
    digest.task_digest.cache_clear()
    digest._read.cache_clear()
