"""Passes over the data in forked processes: the same answers, and nothing left behind."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import ewp
from ewp.common.parallel import can_fork
from ewp.data.sources import open_rows
from ewp.engine import array as engine_module
from ewp.engine.array import ArrayEngine
from ewp.solver.iterate import step_of_run
from tests.support.processes import gone, members
from tests.support.results import assert_identical

pytestmark = pytest.mark.skipif(not can_fork(), reason="processes cannot be forked here: Linux can")


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
        assert_identical(other, one)
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
    before = step_of_run(engine.statistics, theta, w, -3.0)
    assert engine._pool is not None
    engine._pool.close()
    # by this process alone, from the same file
    after = step_of_run(engine.statistics, theta, w, -3.0)
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
from ewp.engine.array import ArrayEngine
from ewp.solver.fit import FitOptions, fit_engine
X = np.random.default_rng(0).standard_normal((200_000, 10))
def say(row):
    print(*(child.pid for child in multiprocessing.active_children()), flush=True)
fit_engine(
    ArrayEngine(X, n_jobs=2), FitOptions(20, 2e4), np.random.default_rng(0), on_step=say
)
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
    assert gone(children)
