"""Forked processes beside this one: the same answers, also when one dies."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import ewp
from ewp import engine as engine_module
from ewp.crew import Crew, can_fork
from ewp.engine import ArrayEngine
from ewp.rows import open_rows

pytestmark = pytest.mark.skipif(not can_fork(), reason="processes cannot be forked here: Linux can")


def members():
    """Crews' processes; those of joblib may be there too."""
    kind = multiprocessing.get_context("fork").Process
    return [child for child in multiprocessing.active_children() if isinstance(child, kind)]


def work(number):
    """Say who works on what."""
    if number < 0:
        raise ValueError(f"{number} is negative")
    return number**2, os.getpid()


def _gone(children):
    """Whether processes end within a time that is ample."""
    for _ in range(200):
        if not any(_runs(child) for child in children):
            return True
        time.sleep(0.1)
    return False


def _runs(child):
    try:
        with open(f"/proc/{child}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"  # nobody may have fetched it yet
    except OSError:
        return False


def test_tasks_run_in_processes_of_their_own_and_come_back_in_order():
    crew = Crew(work, 3)
    for numbers in ((1, 2, 3), (4, 5)):
        found = crew.run(work, [(number,) for number in numbers])
        assert [square for square, _ in found] == [number**2 for number in numbers]
        assert found[0][1] == os.getpid()
        assert len({pid for _, pid in found}) == len(numbers)


def test_a_dead_process_is_replaced_by_this_one():
    crew = Crew(work, 3)
    victim = crew.run(work, [(1,), (2,), (3,)])[1][1]
    os.kill(victim, signal.SIGKILL)
    found = crew.run(work, [(1,), (2,), (3,)])
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
        crew = Crew(work, 4)
        found = crew.run(work, [(1,), (2,), (3,), (4,)])
        assert [square for square, _ in found] == [1, 4, 9, 16]
        assert sum(pid != os.getpid() for _, pid in found) == others


def test_a_handler_of_the_parent_does_not_run_in_the_others(capfd):
    def handler(*_):
        os.write(1, b"handled")

    before = signal.signal(signal.SIGTERM, handler)
    try:
        crew = Crew(time.sleep, 2)
        pid = members()[0].pid
        crew._members[0][1].send((600,))  # too busy to notice that its pipe is closed
        time.sleep(0.2)
        crew.close()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert _gone([pid])
    assert capfd.readouterr().out == ""


def test_an_error_of_another_process_is_raised_here_and_ends_the_crew():
    crew = Crew(work, 2)
    with pytest.raises(ValueError, match="-2 is negative"):
        crew.run(work, [(1,), (-2,)])
    assert not members()
    assert crew.run(work, [(1,), (2,)]) == [(1, os.getpid()), (4, os.getpid())]


@pytest.mark.parametrize("forked", [False, True])
def test_processes_and_threads_agree_to_the_last_bit(monkeypatch, forked):
    monkeypatch.setattr(engine_module, "_WORTHWHILE", 0.0)
    monkeypatch.setattr(engine_module, "can_fork", lambda: forked)
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(0, 3, (6, 5)), 2000, axis=0) + rng.standard_normal((12000, 5))
    weight = rng.uniform(0, 2, len(X))
    one, *others = (
        ewp.fit(X, 6, 3000.0, sample_weight=weight, random_state=0, n_jobs=jobs)
        for jobs in (1, 2, 3)
    )
    for other in others:
        assert other.objective == one.objective
        np.testing.assert_array_equal(other.weights, one.weights)
        np.testing.assert_array_equal(other.centroids, one.centroids)
        np.testing.assert_array_equal(other.labels, one.labels)
    assert not members()


def test_every_kind_of_pass_runs_in_processes(monkeypatch):
    monkeypatch.setattr(engine_module, "_WORTHWHILE", 0.0)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((12_000, 4))
    theta, w = rng.standard_normal((5, 4)), np.full(4, 0.25)
    one, two = ArrayEngine(X), ArrayEngine(X, n_jobs=2)
    for name in ("assign", "two_nearest", "label"):
        for a, b in zip(getattr(one, name)(theta, w), getattr(two, name)(theta, w), strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.distances(theta, w), two.distances(theta, w))
    assert members()


def test_processes_leave_a_temporary_file_to_its_owner(monkeypatch):
    monkeypatch.setattr(engine_module, "_WORTHWHILE", 0.0)
    blocks = np.random.default_rng(2).standard_normal((4, 5000, 3))
    rows = open_rows(lambda: iter(blocks))
    engine = ArrayEngine(rows, n_jobs=2, keep=False)
    theta, w = blocks[0][:4], np.full(3, 1 / 3)
    before = engine.statistics(theta, w, -3.0)
    assert engine._crew is not None
    engine._crew.close()
    after = engine.statistics(theta, w, -3.0)  # by this process alone, from the same file
    np.testing.assert_array_equal(before.sums, after.sums)
    path = rows.path
    assert path.exists()
    del engine, rows
    assert not path.exists()


def test_an_interrupt_ends_the_processes_too():
    code = """
import multiprocessing, signal
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored from the start
import ewp
from ewp.fitting import Recipe, fit_array
X = np.random.default_rng(0).standard_normal((200_000, 10))
def say(row):
    print(*(child.pid for child in multiprocessing.active_children()), flush=True)
fit_array(X, None, Recipe(20, 2e4), np.random.default_rng(0), n_jobs=2, on_step=say)
"""
    run = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert run.stdout is not None
    children = run.stdout.readline().split()
    assert children
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to the parent and to the child
    _, errors = run.communicate(timeout=60)
    assert errors.strip().endswith("KeyboardInterrupt")
    assert errors.count("Traceback") == 1
    assert _gone(children)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_processes_do_not_outlive_a_parent_that_is_killed(how):
    # two crews, one forked after the other: the second has copies of the pipes of the first
    code = """
import multiprocessing, time
from ewp.crew import Crew
crews = [Crew(abs, 3), Crew(abs, 3)]
for crew in crews:
    assert crew.run(abs, [(-1,), (-2,), (-3,)]) == [1, 2, 3]
print(*(child.pid for child in multiprocessing.active_children()), flush=True)
time.sleep(600)
"""
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    children = run.stdout.readline().split()
    assert len(children) == 4
    run.send_signal(how)
    run.wait(timeout=60)
    assert _gone(children)
