"""The threads of BLAS: one during a fit, and afterwards as many as before."""

import threading

from threadpoolctl import ThreadpoolController

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
