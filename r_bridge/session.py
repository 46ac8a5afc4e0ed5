"""The one R of this process: started on first use, called under one lock.

Here live the lock that lets one thread at a time into R, the conversion of values between NumPy and
R, what Ctrl-C does while R computes, and what R's start must leave as it was in the process. R is
not thread-safe, and neither are rpy2's proxies of its objects: freeing one is a call into R. So a
call, the conversion of its arguments and of its value, and the end of every proxy lie inside one
lock, which is rpy2's own, so that other users of rpy2 in the process are kept out too. R's errors,
warnings and output come back as data (see ``bridge.R``) and become exceptions and warnings outside
the lock.
"""

from __future__ import annotations

import locale
import logging
import os
import signal
import sys
import threading
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from r_bridge.doctor import explain_failure, package_cure, quick_problem
from r_bridge.errors import PackageMissingError, RBridgeError, RCallError, RWarning

__all__ = ["Reply", "add_library", "call", "preserve_process_state", "require"]


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
#: Set in a process that was forked while another thread was in R.
_stranded = False


def _forked() -> None:
    """Begin anew in a forked process, which has its parent's R but only the thread that forked.

    Was another thread in R, then R stopped in the midst of its work, and the lock is held by a
    thread that is not here: waiting for it would last for ever, and opening it would lead into a
    broken interpreter. So R is given up in this process. The parent could wait for R before it
    forks, but R may compute for hours, and most forks have nothing to do with R.
    """
    global _importing, _stranded
    _importing = threading.Lock()
    openrlib = sys.modules.get("rpy2.rinterface_lib.openrlib")
    lock = getattr(openrlib, "rlock", None)
    if lock is None:
        return
    _stranded = not lock.acquire(blocking=False)
    if not _stranded:
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def add_library(path: str) -> None:
    """Let R see a library that was made after it started; one that starts later finds it itself."""
    if _session is not None:
        call("base", "add_library", {"path": path})


def require(package: str) -> None:
    """Start R and load a package of it, or raise the error that says what to do."""
    call(package, "loaded", {})


def _start() -> _Session:
    """The running session; R is started by the first caller."""
    global _session
    if _stranded:
        raise RBridgeError(
            "R was at work in another thread when this process was forked, and cannot be used here."
            "\nFork while no thread is in R, or start the process anew: with multiprocessing, by "
            'get_context("spawn").'
        )
    if _session is not None:
        return _session
    try:
        # Two locks, never one inside the other: a thread that holds rpy2's may come here as well.
        with _importing, preserve_process_state():
            rinterface, openrlib = _load()
        with openrlib.rlock:
            if _session is None:
                with preserve_process_state():
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
    sent = {key: _to_r(value, ri) for key, value in arguments.items()}
    start = ri.NULL if seed is None else _to_r(seed, ri)
    with _interruptible(session.library):
        found = session.call_quietly(package, name, start, **sent)
    answer: dict[str, Any] = _from_r(found, ri)
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
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("r_bridge"):
        frame, level = frame.f_back, level + 1
    return level


# -- values between NumPy and R, one copy each way ---------------------------------------------
#
# All of it runs inside the lock, and nothing of R leaves it: results are NumPy copies and plain
# Python objects, because R's memory may go once the lock is released. rpy2's low-level interface is
# used, which knows no conversion rules; so there are none to activate, and none to lose in another
# thread. NumPy sees R's memory through the vectors' array interface and not through their
# ``memoryview()``, which in rpy2-rinterface 3.6.5 gives back a reference to None that it does not
# hold: below Python 3.12 a few thousand of them end the process.


def _to_r(value: Any, rinterface: Any) -> Any:
    """An R object from a number, a string, a flag or an array of numbers.

    Arrays become doubles, matrices R's column-major ones; the values are written straight into
    R's memory, whatever the type and the layout of the array.
    """
    if isinstance(value, str):
        return rinterface.StrSexpVector([value])
    if isinstance(value, bool):
        return rinterface.BoolSexpVector([value])
    if isinstance(value, int):
        return rinterface.IntSexpVector([value])
    array = np.asarray(value)
    if array.ndim == 2:
        vector = rinterface.baseenv["matrix"](0.0, *array.shape)
    else:
        vector = rinterface.baseenv["numeric"](array.size)
    np.asarray(vector)[...] = array
    return vector


def _from_r(value: Any, rinterface: Any) -> Any:
    """A copy of an R object as arrays, lists of strings, and dicts or lists of these.

    NULL becomes None, a list a dict if it is named. Objects without a value of their own in
    Python (functions, calls, environments) become None too.
    """
    if isinstance(value, rinterface.ListSexpVector):
        items = [_from_r(item, rinterface) for item in value]
        if isinstance(value.names, rinterface.StrSexpVector):
            return dict(zip(value.names, items, strict=True))
        return items
    if isinstance(value, rinterface.StrSexpVector):
        return [str(text) for text in value]
    kinds = (rinterface.FloatSexpVector, rinterface.IntSexpVector, rinterface.BoolSexpVector)
    return np.array(value) if isinstance(value, kinds) else None


# -- Ctrl-C while R computes -------------------------------------------------------------------
#
# A signal handler of Python runs when R next looks for events, inside a callback that has nowhere
# to raise KeyboardInterrupt to. So during a call the handler only tells R, which stops at its next
# check; the exception is raised after R has cleaned up.


@contextmanager
def _interruptible(rlib: Any) -> Iterator[None]:
    """Let Ctrl-C reach R, and raise KeyboardInterrupt at the end if it came.

    Only the main thread receives signals; in others nothing changes.

    Parameters
    ----------
    rlib : object
        R's C variables, as rpy2 holds them.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    pending = "UserBreak" if os.name == "nt" else "R_interrupts_pending"
    came = False

    def tell_r(*_: object) -> None:
        nonlocal came
        came = True
        setattr(rlib, pending, 1)

    signal.signal(signal.SIGINT, tell_r)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        setattr(rlib, pending, 0)
        if came:
            raise KeyboardInterrupt


# -- the state of the process ------------------------------------------------------------------
#
# R's start sets the locale; rpy2 takes the handler of Ctrl-C, copies the environment of R's shell
# script, and warns or logs about things that need no attention. Variables that begin with ``R_``
# stay, because R reads them while it runs, and so does rpy2's mark that the process holds both
# languages.

_CATEGORIES = ("LC_COLLATE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME")


@contextmanager
def preserve_process_state() -> Iterator[None]:
    """Restore locale, environment, signal handler, warning filters and log level at the end."""
    with (
        _preserve_locale(),
        _preserve_environment(),
        _preserve_signal_handler(),
        _silence_log(),
        _silence_thread_warning(),
    ):
        yield


@contextmanager
def _preserve_locale() -> Iterator[None]:
    categories = [getattr(locale, name) for name in _CATEGORIES if hasattr(locale, name)]
    before = [(category, locale.setlocale(category)) for category in categories]
    try:
        yield
    finally:
        for category, value in before:
            locale.setlocale(category, value)


@contextmanager
def _preserve_environment() -> Iterator[None]:
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            if not name.startswith("R_") and name != "PYTHON_SESSION_INITIALIZED":
                del os.environ[name]
        os.environ.update(before)


@contextmanager
def _preserve_signal_handler() -> Iterator[None]:
    # Only the main thread may set handlers; in others rpy2 leaves them alone.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None:  # None: set by something other than Python
            signal.signal(signal.SIGINT, before)


@contextmanager
def _silence_log() -> Iterator[None]:
    # Without a compiled extension rpy2 logs a warning and takes the other way in; that is fine.
    logger = logging.getLogger("rpy2")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def _silence_thread_warning() -> Iterator[None]:
    # rpy2 warns that R took over Ctrl-C; it starts R with R's signal handlers switched off.
    if threading.current_thread() is threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="R is not initialized by the main thread")
        yield
