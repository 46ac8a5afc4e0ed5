"""Ctrl-C while R computes.

A signal handler of Python runs when R next looks for events, inside a callback that has nowhere to
raise KeyboardInterrupt to. So during a call the handler only tells R, which stops at its next
check; the exception is raised after R has cleaned up.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["interruptible"]


@contextmanager
def interruptible(rlib: Any) -> Iterator[None]:
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
