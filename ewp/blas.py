"""BLAS on one thread while fits run, whatever other threads of the program do."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class _Limit:
    """The limit in force, shared by all fits that run at once.

    It is set and lifted in threads that live no longer than that: threadpoolctl lets no thread
    lift a limit while the one that set it is alive, and the first fit may end before the last.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.held: Any = None

    def _set(self) -> None:
        self.held = _controller().limit(limits=1, user_api="blas")

    def _lift(self) -> None:
        self.held.restore_original_limits()

    def _in_a_thread(self, function: Callable[[], None]) -> None:
        thread = threading.Thread(target=function)
        thread.start()
        thread.join()

    def enter(self) -> None:
        with self.lock:
            if self.users == 0:
                self._in_a_thread(self._set)
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self._in_a_thread(self._lift)


_limit = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context in which BLAS uses one thread.

    Blocks are too small for BLAS's own threads, and its sums depend on their number. The number
    of threads is restored when the last of several contexts, perhaps in different threads, ends.
    """
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()
