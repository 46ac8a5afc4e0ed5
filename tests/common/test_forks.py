"""A forked process does not inherit a lock that nobody there can open, nor a limit on BLAS."""

import os
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from ewp.common import parallel


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_forked_while_the_lock_is_held_goes_on():
    before = [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]
    with parallel.one_blas_thread():
        parallel._limit.lock.acquire()
        child = os.fork()
        if child == 0:  # no test runner here: leave by the exit code alone
            code = 1
            try:
                after = [i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"]
                with parallel.one_blas_thread():
                    code = 0 if np.isfinite(np.eye(3) @ np.ones(3)).all() and after == before else 2
            finally:
                os._exit(code)
        parallel._limit.lock.release()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, sys.platform


def test_without_a_thread_to_be_had_the_limit_is_set_all_the_same(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(parallel.threading.Thread, "start", refuse)
    with parallel.one_blas_thread():
        found = [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]
        assert found == [1] * len(found)
