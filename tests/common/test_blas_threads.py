"""The threads of BLAS: one during a fit, and afterwards as many as before."""

import signal
import threading
import time

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

from ewp.common.parallel import one_blas_thread


def test_threads_of_blas_are_restored_after_overlapping_fits():
    def threads():
        return [library["num_threads"] for library in ThreadpoolController().info()]

    before = threads()
    inside, done = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            done.wait()

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        inside.wait()
    blas = [info for info in ThreadpoolController().info() if info["user_api"] == "blas"]
    assert all(info["num_threads"] == 1 for info in blas)
    done.set()
    thread.join()
    assert threads() == before


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such alarm")
def test_interrupts_leave_no_limit_behind():
    def interrupt(number, frame):
        raise KeyboardInterrupt

    def blas():
        return [i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"]

    before = blas()
    told = signal.signal(signal.SIGALRM, interrupt)
    rng, hits = np.random.default_rng(0), 0
    try:
        for _ in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 5e-4))
                with one_blas_thread():
                    np.ones(9).sum()
                time.sleep(0.01)
            except KeyboardInterrupt:
                hits += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, told)
    assert hits > 200
    with one_blas_thread():
        assert blas() == [1] * len(before)
    assert blas() == before
