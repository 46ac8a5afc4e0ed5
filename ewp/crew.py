"""Processes that share this one's memory: forked, so that data are never copied.

Threads of Python hand the interpreter over at every operation on a block, which costs most of what
a second core brings. A forked process has all data of its parent without a copy; only what to do
and what was found travel through pipes. Where processes cannot be forked there is no crew, and the
engine uses threads.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import warnings
import weakref
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["Crew", "can_fork"]

#: Seconds after which a process that waits for work looks whether its parent is still there.
_PATIENCE = 2.0


def can_fork() -> bool:
    """Whether processes can be forked safely: on Linux, outside of daemonic processes."""
    return sys.platform.startswith("linux") and not multiprocessing.current_process().daemon


def _serve(
    pipe: Connection, work: Callable[..., Any], parent: int, inherited: list[Connection]
) -> None:
    """Do what comes through the pipe until it is closed or nobody is left at its other end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # and no handler of its keeps this one from going
    for end in inherited:
        end.close()  # a pipe is closed when all copies of its end are, this one included
    with contextlib.suppress(EOFError, OSError):
        while True:
            # a crew of another thread may hold copies too, so that the pipe outlives the parent
            while not pipe.poll(_PATIENCE):
                if os.getppid() != parent:
                    return
            task = pipe.recv()
            answer: tuple[Any, Exception | None]
            try:
                answer = work(*task), None
            except Exception as error:
                answer = None, error
            pipe.send(answer)


def _dismiss(members: list[tuple[Any, Connection]]) -> None:
    for process, pipe in members:
        pipe.close()
        process.terminate()
        process.join()
    members.clear()


class Crew:
    """Forked processes that do parts of a task beside this one.

    Parameters
    ----------
    work : callable
        What is done with a task's arguments, here and in the other processes.
    size : int
        Number of processes, this one included; there are fewer if the system gives no more.
    """

    def __init__(self, work: Callable[..., Any], size: int) -> None:
        self._members: list[tuple[Any, Connection]] = []
        self.close = weakref.finalize(self, _dismiss, self._members)
        context = multiprocessing.get_context("fork")
        with warnings.catch_warnings():
            # the children call nothing but NumPy: locks of other threads do not concern them
            warnings.simplefilter("ignore", DeprecationWarning)
            for _ in range(size - 1):
                mine, yours = context.Pipe()
                inherited = [mine, *(pipe for _, pipe in self._members)]
                arguments = (yours, work, os.getpid(), inherited)
                process = context.Process(target=_serve, args=arguments, daemon=True)
                try:
                    process.start()
                except OSError:  # no memory or no processes left: those that are there do it all
                    mine.close()
                    break
                finally:
                    yours.close()
                self._members.append((process, mine))

    def run(self, work: Callable[..., Any], tasks: list[tuple[Any, ...]]) -> list[Any]:
        """Do the tasks, one a process, the first here.

        Parameters
        ----------
        work : callable
            As given at the start; it is not kept, for it may own the crew.
        tasks : list of tuple
            Arguments; not more than processes were asked for.

        Returns
        -------
        list
            What was returned, in order. A task without a process, or whose process has died, is
            done here.
        """
        if not self._members:
            return [work(*task) for task in tasks]
        first, *others = tasks
        pipes: list[Connection | None] = [pipe for _, pipe in self._members[: len(others)]]
        pipes += [None] * (len(others) - len(pipes))
        try:
            sent = [self._send(pipe, task) for pipe, task in zip(pipes, others, strict=True)]
            results = [work(*first)]
            for pipe, task, alive in zip(pipes, others, sent, strict=True):
                try:
                    answer, error = pipe.recv() if pipe and alive else (work(*task), None)
                except (EOFError, OSError):
                    answer, error = work(*task), None
                if error is not None:
                    raise error
                results.append(answer)
        except BaseException:
            self.close()  # answers may still be on their way: nobody would know to what
            raise
        return results

    @staticmethod
    def _send(pipe: Connection | None, task: tuple[Any, ...]) -> bool:
        if pipe is None:
            return False
        try:
            pipe.send(task)
        except OSError:
            return False
        return True
