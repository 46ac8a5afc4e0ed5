"""Processes, threads and progress: how work is spread, and what survives an interruption.

`one_blas_thread` is entered at the doors of the package (fits, selections, predictions,
replicates), so that BLAS does not start threads of its own. `ForkPool` holds forked processes that
share this one's memory: threads of Python hand the interpreter over at every operation on a block,
which costs most of what a second core brings, while a forked process has all data of its parent
without a copy, and only what to do and what was found travel through pipes. `run_replicates` does
many independent tasks, shows how far it is, and keeps what is finished when the user interrupts it.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import chain, islice
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

from ewp.common.checks import check_jobs, check_progress

__all__ = [
    "ForkPool",
    "can_fork",
    "in_one_blas_thread",
    "one_blas_thread",
    "run_replicates",
    "tqdm",
    "worker_options",
]

#: Seconds after which a process that waits for work looks whether its parent is still there.
_PATIENCE = 2.0
#: Arrays larger than this are shared with the processes instead of being sent with every task.
_SHARED_BYTES = "100K"
#: Seconds after which a bar that nobody asked for appears.
_DELAY = 3.0
#: Times that the process of the same task may be killed.
_MOST_LOSSES = 3


T = TypeVar("T")


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class _Use:
    """One context in which BLAS has one thread."""


class _Limit:
    """The limit in force, shared by all fits that run at once.

    It is set and lifted in threads that live no longer than that: threadpoolctl lets no thread
    lift a limit while the one that set it is alive, and the first fit may end before the last.
    Nor can an interrupt, which comes to the main thread, stop them half-way. Users are known by
    weak references: one that an interrupt tore away before it could leave is gone at the next call.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users: weakref.WeakSet[_Use] = weakref.WeakSet()
        self.held: Any = None

    def enter(self, use: _Use) -> None:
        """Set the limit for one more user."""
        self.users.add(use)
        self._settle()

    def leave(self, use: _Use) -> None:
        """Lift the limit when the last user leaves."""
        self.users.discard(use)
        self._settle()

    def forget(self) -> None:
        """Begin anew in a forked process, where the threads that held the lock are not."""
        self.lock = threading.Lock()
        self.users.clear()
        self._settle()

    def _settle(self) -> None:
        if bool(self.users) == (self.held is not None):
            return
        # a daemon: one that an interrupt caught while it started may wait for its own lock for ever
        thread = threading.Thread(target=self._apply, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no thread to be had: this one must do
            self._apply()
            return
        thread.join()

    def _apply(self) -> None:
        """Make the limit what the users need."""
        with self.lock:
            if self.users and self.held is None:
                self.held = _controller().limit(limits=1, user_api="blas")
            elif not self.users and self.held is not None:
                self.held.restore_original_limits()
                self.held = None


_limit = _Limit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limit.forget)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context in which BLAS uses one thread.

    Blocks are too small for BLAS's own threads, and its sums depend on their number. The number
    of threads is restored when the last of several contexts, perhaps in different threads, ends.
    """
    use = _Use()
    try:
        _limit.enter(use)
        yield
    finally:
        try:
            _limit.leave(use)
        except BaseException:  # an interrupt at the wrong moment: leave all the same
            _limit.leave(use)
            raise


def in_one_blas_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function with BLAS on one thread: the door of a process that was given a task."""
    with one_blas_thread():
        return function(*arguments)


def worker_options() -> dict[str, Any]:
    """Options of joblib's `Parallel` whose processes end when this one does, even if it is killed.

    By themselves they would wait some minutes for more work.
    """
    return {"initializer": _end_with, "initargs": (os.getpid(),)}


def _end_with(parent: int) -> None:
    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PATIENCE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def can_fork() -> bool:
    """Whether processes can be forked safely: on Linux, outside of daemonic processes."""
    return sys.platform.startswith("linux") and not multiprocessing.current_process().daemon


def _serve_tasks(
    pipe: Connection, work: Callable[..., Any], parent: int, inherited: list[Connection]
) -> None:
    """Do what comes through the pipe until it is closed or nobody is left at its other end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # and no handler of its keeps this one from going
    for end in inherited:
        end.close()  # a pipe is closed when all copies of its end are, this one included
    # the limit in force does not outlive the fork; there is one thread here, which sets its own
    with _controller().limit(limits=1, user_api="blas"), contextlib.suppress(EOFError, OSError):
        while True:
            # a pool of another thread may hold copies too, so that the pipe outlives the parent
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


def _terminate(members: list[tuple[Any, Connection]]) -> None:
    for process, pipe in members:
        pipe.close()
        process.terminate()
        process.join()
    members.clear()


class ForkPool:
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
        self.close = weakref.finalize(self, _terminate, self._members)
        context = multiprocessing.get_context("fork")
        with warnings.catch_warnings():
            # the children call nothing but NumPy: locks of other threads do not concern them
            warnings.simplefilter("ignore", DeprecationWarning)
            for _ in range(size - 1):
                mine, yours = context.Pipe()
                inherited = [mine, *(pipe for _, pipe in self._members)]
                arguments = (yours, work, os.getpid(), inherited)
                process = context.Process(target=_serve_tasks, args=arguments, daemon=True)
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
            As given at the start; it is not kept, for it may own the pool.
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


def tqdm(*arguments: Any, progress: bool | None = None, **options: Any) -> Any:
    """Return tqdm's bar; one that is not shown only counts and passes on what it iterates over.

    Parameters
    ----------
    *arguments, **options
        As tqdm takes them.
    progress : bool or None, default None
        Whether to show it; None shows it in a terminal or a notebook, after some seconds.
    """
    shown = _is_watched() if progress is None else progress
    # a bar that notebooks draw needs widgets, and warns without them
    if shown and find_spec("ipywidgets") is not None:
        from tqdm.auto import tqdm as bar
    else:
        from tqdm import tqdm as bar
    if not shown:
        return bar(*arguments, disable=True, **options)
    return bar(*arguments, delay=_DELAY if progress is None else 0, **options)


def _is_watched() -> bool:
    """Whether somebody may be looking: errors go to a terminal, or this is a notebook."""
    stream = sys.stderr
    if stream is not None and stream.isatty():
        return True
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def run_replicates(
    function: Callable[..., list[T]],
    tasks: Iterable[tuple[Any, ...]],
    *,
    total: int,
    what: str,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> tuple[list[T], bool]:
    """Call a function for every task; an interruption keeps what is finished.

    A task whose process is killed, as the system does when memory runs out, is done again, in the
    end alone with all memory to itself. If it is killed even then, what is finished is kept.

    Parameters
    ----------
    function : callable
        It returns a list: a task may be several replicates.
    tasks : iterable of tuple
        Its arguments.
    total : int
        Number of replicates.
    what : str
        What they are, for the progress bar and the warning.
    n_jobs : int or None
        Number of processes, as in joblib.
    progress : bool or None

    Returns
    -------
    results : list
        In the order of the tasks.
    complete : bool
        False if the user or the system interrupted it.

    Raises
    ------
    RuntimeError
        If processes are killed before anything is finished.
    """
    check_jobs(n_jobs)
    check_progress(progress)
    queue = _Queue(function, iter(tasks))
    done: list[T] = []
    losses = 0  # in a row, without anything finished in between
    with tqdm(total=total, desc=what, progress=progress) as bar, one_blas_thread():
        while True:
            # a task alone still gets a process of its own
            alone = losses > 1
            jobs = 2 if alone else n_jobs
            try:
                with Parallel(
                    n_jobs=jobs,
                    return_as="generator",
                    max_nbytes=_SHARED_BYTES,
                    **worker_options(),
                ) as pool:
                    for results in pool(queue.calls(1 if alone else None)):
                        queue.open.popleft()
                        done += results
                        losses = 0
                        bar.update(len(results))
            except BrokenProcessPool as error:
                losses += 1
                if losses <= _MOST_LOSSES:
                    continue
                if not done:
                    raise RuntimeError(
                        f"the system killed the processes that computed the {what}, probably for "
                        "want of memory; give n_jobs=1, or fewer rows"
                    ) from error
                how = "a process was killed again and again, probably for lack of memory"
            except (KeyboardInterrupt, RuntimeError) as error:
                # one that caught a thread while it started ends in an error of whoever joins that
                plain = isinstance(error, KeyboardInterrupt)
                if not _is_interrupt(error) or (plain and not done):
                    raise
                if not done:
                    raise KeyboardInterrupt from error
                how = "interrupted"
            else:
                if not alone:
                    return done, True
                continue
            warnings.warn(
                f"{how}: {len(done)} of {total} {what} are finished and kept",
                UserWarning,
                stacklevel=4,
            )
            return done, False


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is an interrupt, or was raised while one was being handled."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


class _Queue:
    """Tasks to be done, and those that were given away and have not come back.

    Parameters
    ----------
    function : callable
    tasks : iterator of tuple
    """

    def __init__(self, function: Callable[..., Any], tasks: Iterator[tuple[Any, ...]]) -> None:
        self._function = function
        self._tasks = tasks
        self.open: deque[tuple[Any, ...]] = deque()

    def calls(self, most: int | None) -> Iterator[Any]:
        """Give away at most so many tasks, first those that did not come back."""
        self._tasks = chain(list(self.open), self._tasks)
        self.open.clear()
        for task in islice(self._tasks, most):
            self.open.append(task)
            yield delayed(in_one_blas_thread)(self._function, *task)
