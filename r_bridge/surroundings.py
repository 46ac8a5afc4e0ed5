"""What starting R would change in the process, kept as it was.

R's start sets the locale; rpy2 takes the handler of Ctrl-C, copies the environment of R's shell
script, and warns or logs about things that need no attention. Variables that begin with ``R_``
stay, because R reads them while it runs, and so does rpy2's mark that the process holds both
languages.
"""

from __future__ import annotations

import locale
import logging
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

__all__ = ["kept"]

_CATEGORIES = ("LC_COLLATE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME")


@contextmanager
def kept() -> Iterator[None]:
    """Restore locale, environment, signal handler, warning filters and log level at the end."""
    with ExitStack() as stack:
        for keeper in (_locale, _environment, _interrupt, _log, _thread_warning):
            stack.enter_context(keeper())
        yield


@contextmanager
def _locale() -> Iterator[None]:
    categories = [getattr(locale, name) for name in _CATEGORIES if hasattr(locale, name)]
    before = [(category, locale.setlocale(category)) for category in categories]
    try:
        yield
    finally:
        for category, value in before:
            locale.setlocale(category, value)


@contextmanager
def _environment() -> Iterator[None]:
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            if not name.startswith("R_") and name != "PYTHON_SESSION_INITIALIZED":
                del os.environ[name]
        os.environ.update(before)


@contextmanager
def _interrupt() -> Iterator[None]:
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
def _log() -> Iterator[None]:
    # Without a compiled extension rpy2 logs a warning and takes the other way in; that is fine.
    logger = logging.getLogger("rpy2")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def _thread_warning() -> Iterator[None]:
    # rpy2 warns that R took over Ctrl-C; it starts R with R's signal handlers switched off.
    if threading.current_thread() is threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="R is not initialized by the main thread")
        yield
