"""The one R of this process: started on first use, called under one lock.

R is not thread-safe, and neither are rpy2's proxies of its objects: freeing one is a call into R.
So a call, the conversion of its arguments and of its value, and the end of every proxy lie inside
one lock, which is rpy2's own, so that other users of rpy2 in the process are kept out too. R's
errors, warnings and output come back as data (see ``bridge.R``) and become exceptions and warnings
outside the lock.
"""

from __future__ import annotations

import threading
import traceback
import warnings
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from importlib import resources
from typing import Any, NamedTuple

from r_bridge.advice import package_cure
from r_bridge.conversion import from_r, to_r
from r_bridge.diagnosis import explain_failure, quick_problem
from r_bridge.errors import PackageMissingError, RBridgeError, RCallError, RWarning
from r_bridge.interrupts import interruptible
from r_bridge.surroundings import kept

__all__ = ["Reply", "add_library", "call", "require", "started"]


class Reply(NamedTuple):
    """What came back from R."""

    value: Any
    """Arrays, strings, and dicts or lists of them."""
    console: str
    """What R printed."""


class _Session(NamedTuple):
    rinterface: Any
    library: Any
    lock: AbstractContextManager[Any]
    call_quietly: Any


_session: _Session | None = None
_importing = threading.Lock()


def started() -> bool:
    """Whether R runs in this process on behalf of the bridge."""
    return _session is not None


def add_library(path: str) -> None:
    """Let the running R see a library that was made after it started."""
    call("base", "add_library", {"path": path})


def require(package: str) -> None:
    """Start R and load a package of it, or raise the error that says what to do."""
    call(package, "loaded", {})


def _start() -> _Session:
    """The running session; R is started by the first caller."""
    global _session
    if _session is not None:
        return _session
    try:
        # Two locks, never one inside the other: a thread that holds rpy2's may come here as well.
        with _importing, kept():
            rinterface, openrlib = _load()
        with openrlib.rlock:
            if _session is None:
                with kept():
                    _session = _initialise(rinterface, openrlib)
            return _session
    except RBridgeError:
        raise
    except Exception as error:
        raise explain_failure(error) from error


def _load() -> tuple[Any, Any]:
    """rpy2's low-level interface, and its module with R's library and the lock."""
    problem = quick_problem()
    if problem is not None:
        raise problem
    from rpy2 import rinterface
    from rpy2.rinterface_lib import openrlib

    return rinterface, openrlib


def _initialise(rinterface: Any, openrlib: Any) -> _Session:
    rinterface.initr()
    source = resources.files("r_bridge").joinpath("bridge.R").read_text(encoding="utf-8")
    functions = rinterface.baseenv["new.env"](parent=rinterface.baseenv)
    rinterface.evalr(source, envir=functions)
    return _Session(rinterface, openrlib.rlib, openrlib.rlock, functions["call_quietly"])


def call(package: str, name: str, arguments: Mapping[str, Any], seed: int | None = None) -> Reply:
    """Call a function of an R package.

    Parameters
    ----------
    package, name : str
        The function. R functions of the bridge's own with this name take its place.
    arguments : mapping
        R's names of the arguments to numbers, strings, flags or arrays; None leaves an argument
        at R's default.
    seed : int, optional
        Seed for R's random numbers during the call. Their state is restored afterwards.

    Returns
    -------
    Reply

    Raises
    ------
    RBridgeError
        Of the kind that says what failed: see `r_bridge.errors`.
    """
    session = _start()
    given = {key: value for key, value in arguments.items() if value is not None}
    with session.lock:
        try:
            answer = _converted_call(session, package, name, given, seed)
        except BaseException as error:
            # The frames of the traceback hold proxies of R objects: let them go in here.
            traceback.clear_frames(error.__traceback__)
            if not isinstance(error, session.rinterface.embedded.RRuntimeError):
                raise
            answer = {"failure": ["error", str(error).strip()], "warnings": [], "console": ""}
    function = f"{package}::{name}"
    for text, times in Counter(answer["warnings"]).items():
        often = f" ({times} times)" if times > 1 else ""
        warnings.warn(f"{function}: {text}{often}", RWarning, stacklevel=_outside())
    _raise_failure(function, answer["failure"], answer["console"])
    return Reply(answer["value"], answer["console"])


def _converted_call(
    session: _Session, package: str, name: str, arguments: Mapping[str, Any], seed: int | None
) -> dict[str, Any]:
    ri = session.rinterface
    sent = {key: to_r(value, ri) for key, value in arguments.items()}
    start = ri.NULL if seed is None else to_r(seed, ri)
    with interruptible(session.library):
        found = session.call_quietly(package, name, start, **sent)
    answer: dict[str, Any] = from_r(found, ri)
    answer["console"] = "\n".join(answer["console"])
    return answer


def _raise_failure(function: str, failure: list[str], console: str) -> None:
    if not failure:
        return
    kind, text = failure
    if kind == "interrupt":
        raise KeyboardInterrupt
    if kind == "missing":
        raise PackageMissingError(f"the R package {text} is not installed.\n{package_cure(text)}")
    raise RCallError(function, text, console)


def _outside() -> int:
    """The stack level, counted from the caller, of the first frame outside this package."""
    import sys

    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("r_bridge"):
        frame, level = frame.f_back, level + 1
    return level
