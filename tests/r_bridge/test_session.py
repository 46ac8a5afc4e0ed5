"""The running R: values, warnings, output, random numbers, the process, threads, memory."""

from __future__ import annotations

import os
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from r_bridge import RWarning, session, stats
from r_bridge.errors import RCallError
from tests.support.r import clusters, require_r, run_python

ALGORITHMS = ("Hartigan-Wong", "Lloyd", "Forgy", "MacQueen")


@pytest.fixture(autouse=True)
def _r():
    require_r()


# -- values -------------------------------------------------------------------------------------


def test_values_come_back_with_their_kinds():
    value = session.call("base", "list", {"x": 1.5, "n": 2, "flag": True, "text": "ä"}).value
    assert {name: type(item) for name, item in value.items()} == {
        "x": np.ndarray,
        "n": np.ndarray,
        "flag": np.ndarray,
        "text": list,
    }
    assert value["text"] == ["ä"]
    matrix = np.arange(6.0).reshape(2, 3)
    back = session.call("base", "t", {"x": matrix}).value
    np.testing.assert_array_equal(back, matrix.T)
    assert session.call("base", "numeric", {"length": 0}).value.shape == (0,)
    assert session.call("base", "invisible", {}).value is None


def test_arguments_may_have_any_name():
    value = session.call("base", "list", {"package": 1, "name": 2, "seed": 3, "p": 4}).value
    assert list(value) == ["package", "name", "seed", "p"]


# -- what R says --------------------------------------------------------------------------------


def test_warnings_of_r_become_warnings_here():
    X = np.random.default_rng(0).normal(size=(300, 10))
    with pytest.warns(RWarning, match=r"stats::kmeans: did not converge in 1 iteration") as caught:
        stats.kmeans(X, 8, iter_max=1, algorithm="Lloyd", seed=1)
    assert caught[0].filename == __file__


def test_repeated_warnings_are_counted():
    X = np.random.default_rng(0).normal(size=(300, 10))
    with pytest.warns(RWarning) as caught:
        stats.kmeans(X, 8, iter_max=1, nstart=4, algorithm="Lloyd", seed=1)
    assert len(caught) == 1
    assert "(4 times)" in str(caught[0].message)


def test_output_and_messages_are_captured(capfd):
    shown = session.call("base", "print", {"x": "hello"})
    told = session.call("base", "message", {"a": "grüße"})
    assert shown.console == '[1] "hello"'
    assert told.console == "grüße"
    assert capfd.readouterr() == ("", "")


def test_errors_of_r_keep_the_session_usable(capfd):
    for _ in range(3):
        with pytest.raises(RCallError, match="base::stop stopped in R: no way") as caught:
            session.call("base", "stop", {"a": "no way"})
        assert caught.value.r_message == "no way"
    assert stats.kmeans(clusters(), 3, seed=1).size.tolist() == [20, 20, 20]
    assert capfd.readouterr() == ("", "")


# -- random numbers and other state -------------------------------------------------------------

STATE = """
import locale, os, signal, sys, threading, time, warnings
import numpy as np, pandas, sklearn
import r_bridge

def state():
    kinds = ("LC_COLLATE", "LC_TIME", "LC_MONETARY", "LC_NUMERIC")
    categories = [getattr(locale, name) for name in kinds]
    names = ("PYTHON_SESSION_INITIALIZED",)
    variables = {k: v for k, v in os.environ.items() if k[:2] != "R_" and k not in names}
    return (
        variables, [locale.setlocale(c) for c in categories], signal.getsignal(signal.SIGINT),
        list(warnings.filters), sys.stdout, os.getcwd(), np.random.get_state()[1].tolist(),
    )

def handler(*_): pass
signal.signal(signal.SIGINT, handler)
before = state()
work = lambda: r_bridge.stats.kmeans(np.arange(20.0).reshape(10, 2), 2)
if THREAD:
    one = threading.Thread(target=work); one.start(); one.join()
else:
    work()
assert state() == before, [(a, b) for a, b in zip(before, state()) if a != b]
print("same")
"""


@pytest.mark.parametrize("thread", [False, True])
def test_starting_r_leaves_the_process_as_it_was(thread):
    code = STATE.replace("THREAD", str(thread))
    done = run_python(code, LANG="C.UTF-8", LC_ALL=None, R_PROFILE_USER="")
    assert (done.stdout, done.stderr) == ("same\n", "")


def draws(**options: int) -> list[float]:
    return session.call("stats", "rnorm", {"n": 3}, **options).value.tolist()


def test_a_seed_gives_the_numbers_that_r_gives():
    # set.seed(1); rnorm(3) with R's default generators since 3.6.0
    expected = [-0.6264538107423324, 0.18364332422208224, -0.8356286124100471]
    assert draws(seed=1) == pytest.approx(expected, rel=1e-14)
    assert draws(seed=1) == draws(seed=1)


RANDOM = """
import numpy as np
from rpy2 import rinterface
from r_bridge import session, stats
session.call("base", "date", {})
run = rinterface.evalr
X = np.random.default_rng(0).normal(size=(30, 2))

assert ".Random.seed" not in run("ls(globalenv(), all.names = TRUE)")
stats.kmeans(X, 3)
stats.kmeans(X, 3, seed=1)
assert ".Random.seed" not in run("ls(globalenv(), all.names = TRUE)")

run('suppressWarnings(RNGkind("Wichmann-Hill", "Box-Muller", "Rounding")); set.seed(5)')
wanted = list(run("c(runif(2), rnorm(1), sample(9))"))
run("set.seed(5)")
stats.kmeans(X, 3)
stats.kmeans(X, 3, seed=1)
assert list(run("RNGkind()")) == ["Wichmann-Hill", "Box-Muller", "Rounding"]
assert list(run("c(runif(2), rnorm(1), sample(9))")) == wanted
print(list(run("ls(globalenv())")))
"""


def test_the_random_numbers_of_the_session_go_on_as_if_nothing_was_called():
    done = run_python(RANDOM)
    assert done.stdout == "[]\n", done.stderr


# -- threads, interruption, memory --------------------------------------------------------------


def test_a_thousand_calls_from_eight_threads_are_right():
    data = [clusters(seed, n=30 + seed, p=2 + seed % 4) for seed in range(10)]

    def answer(i: int) -> tuple[list[int], list[float]]:
        X = data[i % 10]
        if i % 2:
            found = stats.kmeans(X, 3, seed=i % 7)
        else:
            found = stats.kmeans(X, centers=X[:3], algorithm=ALGORITHMS[i % 4])
        return found.labels.tolist(), found.withinss.tolist()

    wanted = {i: answer(i) for i in range(140)}
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(answer, range(1000)))
    assert all(found[i] == wanted[i % 140] for i in range(1000))


FORK = """
import os, threading, time
from r_bridge import RBridgeError, session
session.call("base", "nchar", {"x": "start"})
WORK
child = os.fork()
if child == 0:
    try:
        print("child:", session.call("base", "nchar", {"x": "four"}).value, flush=True)
    except RBridgeError as error:
        print("child:", error, flush=True)
    os._exit(0)
for _ in range(150):
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        break
    time.sleep(0.1)
else:
    os.kill(child, 9)
    os.waitpid(child, 0)
    print("child: hangs")
print("parent:", session.call("base", "nchar", {"x": "three"}).value)
"""
BUSY = """
worker = threading.Thread(target=lambda: session.call("base", "Sys.sleep", {"time": 2.0}))
worker.start()
time.sleep(0.5)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize(
    ("work", "answer"),
    [(BUSY, "child: R was at work in another thread"), ("", "child: [4]")],
)
def test_a_child_forked_while_a_thread_is_in_r_is_told_and_does_not_wait(work, answer):
    done = run_python(FORK.replace("WORK", work))
    assert answer in done.stdout, done.stderr
    assert "parent: [5]" in done.stdout


def test_warnings_and_errors_find_their_own_thread():
    X = np.random.default_rng(0).normal(size=(40, 3))

    def call(i: int) -> str:
        try:
            return str(session.call("base", "stop", {"a": f"number {i}"}))
        except RCallError as error:
            return error.r_message

    with ThreadPoolExecutor(8) as pool:
        fits = [pool.submit(stats.kmeans, X, 2, seed=1) for _ in range(50)]
        errors = list(pool.map(call, range(200)))
    assert errors == [f"number {i}" for i in range(200)]
    assert len({tuple(fit.result().labels) for fit in fits}) == 1


INTERRUPT = """
import os, signal, threading, time
import numpy as np
from r_bridge import session, stats
X = np.random.default_rng(0).normal(size=(30, 3))
stats.kmeans(X, 2)
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored from the start
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    session.call("base", "Sys.sleep", {"time": 60})
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - begin < 30)
print(int(stats.kmeans(X, 2).size.sum()))
"""


def test_ctrl_c_stops_r_and_nothing_else():
    done = run_python(INTERRUPT)
    assert (done.stdout, done.stderr) == ("interrupted True\n30\n", "")


def test_a_call_holds_no_second_copy_of_the_data():
    X = np.random.default_rng(0).normal(size=(2000, 500))
    stats.kmeans(X[:10], 2, seed=1)
    tracemalloc.start()
    stats.kmeans(X, centers=X[:2], algorithm="Lloyd", iter_max=200)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * X.nbytes


def test_results_do_not_share_the_memory_of_r():
    X = clusters()
    first = stats.kmeans(X, 3, seed=1)
    kept = first.centers.copy()
    threads = [threading.Thread(target=stats.kmeans, args=(X[::-1], 3)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session.call("base", "gc", {})
    pd.testing.assert_frame_equal(first.centers, kept)


def test_many_calls_leak_no_references():
    import sys

    X = clusters()
    stats.kmeans(X, 3, seed=1)
    before = sys.getrefcount(None)
    for _ in range(50):
        stats.kmeans(X, 3, seed=1)
    assert abs(sys.getrefcount(None) - before) < 50
