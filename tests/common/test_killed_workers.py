"""A process that the system kills costs nothing but the time of its own task."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ewp.common.parallel import run_replicates


def task(number, folder, killer, times):
    """Square a number; the process of one of them is killed a few times."""
    if number == killer:
        seen = len(list(Path(folder).iterdir()))
        if seen < times:
            (Path(folder) / str(seen)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return [number**2]


def squares(folder, killer, times, count=12):
    tasks = ((i, str(folder), killer, times) for i in range(count))
    return run_replicates(task, tasks, total=count, what="squares", n_jobs=2)


@pytest.mark.parametrize(("killer", "times"), [(0, 1), (7, 3)])
def test_the_task_of_a_killed_process_is_done_again(tmp_path, killer, times):
    done, complete = squares(tmp_path, killer, times)
    assert complete
    assert done == [i**2 for i in range(12)]


def test_a_task_that_is_killed_every_time_keeps_what_is_finished(tmp_path):
    with pytest.warns(UserWarning, match="killed again and again.*: 6 of 12 squares"):
        done, complete = squares(tmp_path, 6, 50)
    assert not complete
    assert done == [i**2 for i in range(6)]
    with pytest.raises(
        RuntimeError, match=r"killed the processes that computed the squares.*n_jobs"
    ):
        squares(tmp_path, 0, 99)


#: The thread that looks after the processes is caught while it starts, and cannot be joined.
CAUGHT = """
from joblib.externals.loky import process_executor
def start(thread):
    raise KeyboardInterrupt
process_executor._ExecutorManagerThread.start = start
from ewp.common.parallel import run_replicates
try:
    run_replicates(list, (([i],) for i in range(9)), total=9, what="lists", n_jobs=2)
except KeyboardInterrupt:
    raise SystemExit(130)
"""


def test_an_interrupt_while_processes_are_started_is_an_interrupt():
    done = subprocess.run([sys.executable, "-c", CAUGHT], capture_output=True, text=True)
    assert done.returncode == 130, done.stderr
