"""Calls as text: what has to be typed to have a result again.

A call is one line of Python that calls the data X. Values are written out where they are short;
what is long, or has no text of its own, goes by the name of its option, and a comment at the end
of the line says what it is. So a call can be read, stored in a file and run.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import numbers
import platform
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd

from ewp.common import __version__

__all__ = ["chain_call", "same_as", "versions", "write_call"]

_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn")
#: Characters up to which the entries of an option are written out.
_LONGEST = 200
#: Digits of a hash that tell arrays apart.
_DIGITS = 12
_COMMENT = "  # "


def versions() -> dict[str, str]:
    """Versions of the package, of Python and of what the numbers rest on."""
    return dict(_versions())


@functools.cache
def _versions() -> dict[str, str]:
    found = {"ewp": __version__, "Python": platform.python_version()}
    return found | {name: metadata.version(name) for name in _PACKAGES}


def same_as(value: Any, default: Any) -> bool:
    """Whether an option has its default value, which a call need not state."""
    simple = value is None or isinstance(value, str | bool | np.bool_ | numbers.Number)
    return value is default or (simple and type(value) is type(default) and value == default)


def write_call(
    function: str,
    given: Iterable[Any],
    options: Mapping[str, Any],
    *,
    named: Iterable[str] = (),
    attribute: str = "",
) -> str:
    """Write a call as one line of Python.

    Parameters
    ----------
    function : str
    given : iterable
        Arguments without names; a text stands for a variable.
    options : mapping of str to object
        Arguments with names.
    named : iterable of str
        Options that go by their name whatever they hold.
    attribute : str
        What is taken of the outcome, such as ``.results``.

    Examples
    --------
    >>> write_call("ewp.fit", ["X", 3], {"lam": 2.5, "s0": -math.inf, "random_state": 0})
    'ewp.fit(X, 3, lam=2.5, s0=float("-inf"), random_state=0)'
    >>> write_call("ewp.fit", ["X", 2], {"init": np.arange(400.0).reshape(2, 200)})
    'ewp.fit(X, 2, init=init)  # init: 2 x 200 array, sha256 3cb75b4e1ca3'
    """
    listed, notes = [str(value) for value in given], []
    by_name = set(named)
    for name, value in options.items():
        text = None if name in by_name else _literal(value)
        listed.append(f"{name}={name if text is None else text}")
        if text is None and name != "X":
            notes.append(f"{name}: {_described(value)}")
    body = f"{function}({', '.join(listed)}){attribute}"
    return body + (_COMMENT + "; ".join(notes) if notes else "")


def chain_call(first: str, method: str) -> str:
    """Write a call of a method of what another call gives.

    >>> chain_call("ewp.fit(X, 3, init=init)  # init: 3 x 9 array", ".refit(lam=2.0)")
    'ewp.fit(X, 3, init=init).refit(lam=2.0)  # init: 3 x 9 array'
    """
    bodies, notes = zip(*(part.partition(_COMMENT)[::2] for part in (first, method)), strict=True)
    told = "; ".join(note for note in notes if note)
    return "".join(bodies) + (_COMMENT + told if told else "")


def _literal(value: Any) -> str | None:
    """Text that Python reads as this value, None where there is none or it is long."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if value is None or isinstance(value, bool | int | range):
        return repr(value)
    if isinstance(value, np.generic):
        return _literal(value.item())
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.size <= _LONGEST and value.dtype != object else None
    if isinstance(value, dict):
        keys, held = _literal(list(value)), _literal(list(value.values()))
        pairs = [f"{_literal(key)}: {_literal(one)}" for key, one in value.items()]
        text = ", ".join(pairs)
        return None if keys is None or held is None or len(text) > _LONGEST else f"{{{text}}}"
    if not isinstance(value, list | tuple):
        return None
    entries = [_literal(entry) for entry in value]
    text = ", ".join(entry for entry in entries if entry is not None)
    if None in entries or len(text) > _LONGEST:
        return None
    if isinstance(value, list):
        return f"[{text}]"
    return f"({text},)" if len(value) == 1 else f"({text})"


def _described(value: Any) -> str:
    """What a value is, in a few words."""
    if isinstance(value, np.ndarray | pd.Series | pd.DataFrame):
        array = np.asarray(value)
        size = " x ".join(str(length) for length in array.shape)
        text = f"{size} array" if array.ndim > 1 else f"{size} values"
        if array.dtype.kind in "biuf":
            text += f", sha256 {_digest(array)}"
        return text
    if callable(value) and hasattr(value, "__name__"):
        return f"the function {value.__name__}"
    text = " ".join(repr(value).split())
    plain = len(text) <= _LONGEST and " at 0x" not in text and "\n" not in repr(value)
    return text if plain else f"of type {type(value).__name__}"


def _digest(array: np.ndarray) -> str:
    """Beginning of the SHA-256 of numbers as 64-bit floats (little-endian), row by row."""
    values = np.ascontiguousarray(array, dtype="<f8")
    return hashlib.sha256(values.tobytes()).hexdigest()[:_DIGITS]
