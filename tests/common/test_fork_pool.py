"""Forked processes beside this one: the same answers, also when one dies."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from ewp.common.parallel import ForkPool, can_fork, one_blas_thread
from tests.support.processes import gone, members

pytestmark = pytest.mark.skipif(not can_fork(), reason="processes cannot be forked here: Linux can")


def work(number):
    """Say who works on what."""
    if number < 0:
        raise ValueError(f"{number} is negative")
    return number**2, os.getpid()


def test_tasks_run_in_processes_of_their_own_and_come_back_in_order():
    pool = ForkPool(work, 3)
    for numbers in ((1, 2, 3), (4, 5)):
        found = pool.run(work, [(number,) for number in numbers])
        assert [square for square, _ in found] == [number**2 for number in numbers]
        assert found[0][1] == os.getpid()
        assert len({pid for _, pid in found}) == len(numbers)


def threads_of_blas(size):
    """How many threads BLAS may use, after a product that could have used several."""
    matrix = np.ones((size, size))
    assert (matrix @ matrix == size).all()
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.mark.parametrize("around", [None, 2], ids=["alone", "in a limit of the user's"])
def test_blas_has_one_thread_in_the_others(around):
    """Several in each of several processes wait for each other at every product."""
    with threadpool_limits(around, user_api="blas"):
        with one_blas_thread():
            pool = ForkPool(threads_of_blas, 3)
            found = pool.run(threads_of_blas, [(100,), (100,), (100,)])
        assert found[1:] == [{1}, {1}]
        assert pool.run(threads_of_blas, [(100,), (100,), (100,)])[1:] == [{1}, {1}]


def test_a_limit_can_be_set_again_in_a_process_that_was_forked_within_one():
    with one_blas_thread():
        child = os.fork()
        if child == 0:
            with one_blas_thread():
                os._exit(0 if threads_of_blas(100) == {1} else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_dead_process_is_replaced_by_this_one():
    pool = ForkPool(work, 3)
    victim = pool.run(work, [(1,), (2,), (3,)])[1][1]
    os.kill(victim, signal.SIGKILL)
    found = pool.run(work, [(1,), (2,), (3,)])
    assert [square for square, _ in found] == [1, 4, 9]
    assert found[1][1] == os.getpid() != found[2][1]


def test_processes_that_cannot_be_had_are_done_without(monkeypatch):
    fork, left = os.fork, [1]

    def scarce():
        if not left:
            raise OSError(12, "Cannot allocate memory")
        left.pop()
        return fork()

    monkeypatch.setattr(os, "fork", scarce)
    for others in (1, 0):
        pool = ForkPool(work, 4)
        found = pool.run(work, [(1,), (2,), (3,), (4,)])
        assert [square for square, _ in found] == [1, 4, 9, 16]
        assert sum(pid != os.getpid() for _, pid in found) == others


def test_a_handler_of_the_parent_does_not_run_in_the_others(capfd):
    def handler(*_):
        os.write(1, b"handled")

    before = signal.signal(signal.SIGTERM, handler)
    try:
        pool = ForkPool(time.sleep, 2)
        pid = members()[0].pid
        pool._members[0][1].send((600,))  # too busy to notice that its pipe is closed
        time.sleep(0.2)
        pool.close()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert gone([pid])
    assert capfd.readouterr().out == ""


def test_an_error_of_another_process_is_raised_here_and_ends_the_crew():
    pool = ForkPool(work, 2)
    with pytest.raises(ValueError, match="-2 is negative"):
        pool.run(work, [(1,), (-2,)])
    assert not members()
    assert pool.run(work, [(1,), (2,)]) == [(1, os.getpid()), (4, os.getpid())]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_processes_do_not_outlive_a_parent_that_is_killed(how):
    # two pools, one forked after the other: the second has copies of the pipes of the first
    code = """
import multiprocessing, time
from ewp.common.parallel import ForkPool
pools = [ForkPool(abs, 3), ForkPool(abs, 3)]
for pool in pools:
    assert pool.run(abs, [(-1,), (-2,), (-3,)]) == [1, 2, 3]
print(*(child.pid for child in multiprocessing.active_children()), flush=True)
time.sleep(600)
"""
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    children = run.stdout.readline().split()
    assert len(children) == 4
    run.send_signal(how)
    run.wait(timeout=60)
    assert gone(children)
