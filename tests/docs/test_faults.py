"""Every row of the table of faults is brought about and looked at."""

import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import ewp
from tests.support.faults import children, finish, snapshot, start, wait_until
from tests.support.processes import gone

PAGE = Path(__file__).parents[2] / "vignettes" / "site" / "howto" / "faults.md"
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="faults are Linux's")
QUICK = ("-k", "2", "--lam", "200", "-q")
LONG = ("--bootstrap", "100000", "--jobs", "2")


@pytest.fixture
def folder(tmp_path):
    """A table, and a fit of another table that was written before."""
    X = np.random.default_rng(0).normal(size=(400, 3)).round(3)
    X[:200] += 6
    for name, rows in (("table.csv", X), ("before.csv", X[::2])):
        np.savetxt(tmp_path / name, rows, delimiter=",", header="a,b,c", comments="", fmt="%.3f")
    ewp.fit(X[::2], 2, 100.0, random_state=0).save(tmp_path / "model.npz")
    return tmp_path


def old_fit(folder):
    """A folder of results as a fit before wrote it."""
    out = folder / "out"
    out.mkdir()
    for name in ("labels.csv", "weights.csv", "centroids.csv", "clusters.csv", "model.npz"):
        (out / name).write_bytes(b"as it was")
    return out, snapshot(out)


def fault_names():
    rows = re.findall(r"^\| (.+?) \|", PAGE.read_text(), re.MULTILINE)
    return [name for name in rows if name not in ("fault",) and not name.startswith("--")]


FULL = """
import resource, sys
import ewp.cli.commands
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
from ewp.cli import main
main()
"""


def check_full_disk(folder):
    out, before = old_fit(folder)
    # the first file does not fit, or the last one
    for room in (100, 3000):
        code, _, told = finish(
            start(folder, room, "fit", "table.csv", *QUICK, "--out", out, code=FULL)
        )
        assert code == 2
        assert "File too large" in told
        assert snapshot(out) == before
    report = folder / "page.html"
    report.write_text("as it was")
    code, _, _ = finish(
        start(folder, 3000, "fit", "table.csv", *QUICK, "--report", report, code=FULL)
    )
    assert code == 2
    assert report.read_text() == "as it was"
    assert not list(folder.rglob("*.partial"))


def stopped(folder, by):
    """Send a signal to a command that has processes at work; its exit code and its processes."""
    program = start(folder, "fit", "table.csv", *QUICK, *LONG, "--out", "new")
    # two workers and what keeps their books
    wait_until(lambda: len(children(program.pid)) >= 3)
    workers = children(program.pid)
    program.send_signal(by)
    code, _, told = finish(program)
    assert gone(workers)
    return code, told


def check_interrupt(folder):
    code, told = stopped(folder, signal.SIGINT)
    assert code == 130, told
    assert "interrupted" in told
    assert snapshot(folder / "tmp") == {}


def check_terminate(folder):
    code, told = stopped(folder, signal.SIGTERM)
    assert code == 143
    assert "Traceback" not in told
    assert list((folder / "tmp").iterdir()) == []
    assert snapshot(folder / "new") == {}


def check_kill(folder):
    out, before = old_fit(folder)
    program = start(folder, "fit", "table.csv", *QUICK, *LONG, "--out", out)
    wait_until(lambda: len(children(program.pid)) >= 3)
    workers = children(program.pid)
    program.kill()
    assert finish(program)[0] == -signal.SIGKILL
    assert gone(workers)
    assert snapshot(out) == before


KILLED = """
import os, signal, threading, warnings
import numpy as np, ewp
from tests.support.faults import children, wait_until
warnings.simplefilter("error")
results = ewp.fit("rows.npy", 2, 200.0, random_state=0)
def kill():
    # the processes that compute, not the one that keeps their books
    def works(child):
        with open(f"/proc/{child}/cmdline", "rb") as file:
            return b"--process-name" in file.read().split(b"\\0")
    def working():
        return [child for child in children(os.getpid()) if works(child)]
    os.kill(wait_until(working)[-1], signal.SIGKILL)
threading.Thread(target=kill).start()
found = results.bootstrap(80, random_state=1, n_jobs=2)
alone = results.bootstrap(80, random_state=1)
print(found.complete, np.array_equal(found.weight_draws, alone.weight_draws))
"""


def check_worker(folder):
    np.save(folder / "rows.npy", np.loadtxt(folder / "table.csv", delimiter=",", skiprows=1))
    code, out, told = finish(start(folder, code=KILLED))
    assert (code, out.split()) == (0, ["True", "True"]), told


FORKED = """
import os, threading
import numpy as np, ewp
results = ewp.EWPResults.load("model.npz")
rows = np.loadtxt("table.csv", delimiter=",", skiprows=1)
wanted, stop = results.predict(rows), threading.Event()
def loop():
    while not stop.is_set():
        results.predict(rows[:5])
thread = threading.Thread(target=loop)
thread.start()
codes = []
for _ in range(30):
    child = os.fork()
    if child == 0:
        import signal
        signal.alarm(20)
        os._exit(0 if (results.predict(rows) == wanted).all() else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
thread.join()
print(set(codes))
"""


def check_fork(folder):
    code, out, told = finish(start(folder, code=FORKED))
    assert (code, out.strip()) == (0, "{0}"), told


THREADLESS = """
import threading
import numpy as np, ewp
rows = np.loadtxt("table.csv", delimiter=",", skiprows=1)
wanted = ewp.fit(rows, 2, 200.0, random_state=0)
threading.stack_size(2**46)  # no thread gets so much
try:
    threading.Thread(target=print).start()
except RuntimeError as error:
    print(error)
found = ewp.fit(rows, 2, 200.0, random_state=0, n_jobs=2)
print(found.objective == wanted.objective, (found.predict(rows) == wanted.labels).all())
"""


def check_no_threads(folder):
    code, out, told = finish(start(folder, code=THREADLESS))
    assert code == 0, told
    assert out.splitlines() == ["can't start new thread", "True True"]


LIMITED = """
import resource, sys
import ewp.cli.commands
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**25,) * 2)
from ewp.cli import main
main()
"""


def check_memory(folder):
    out, before = old_fit(folder)
    wide = np.random.default_rng(0).normal(size=(400, 20_000))
    header = ",".join(f"x{i}" for i in range(20_000))
    np.savetxt(folder / "wide.csv", wide, delimiter=",", header=header, comments="", fmt="%.1f")
    code, _, told = finish(start(folder, "fit", "wide.csv", *QUICK, "--out", out, code=LIMITED))
    assert code == 2
    assert "memory" in told
    assert "Traceback" not in told
    assert snapshot(out) == before


CHECKS = {
    "the disk is full": check_full_disk,
    "Ctrl-C (SIGINT)": check_interrupt,
    "SIGTERM": check_terminate,
    "SIGKILL": check_kill,
    "a worker is killed": check_worker,
    "the program forks while another thread fits": check_fork,
    "no thread can be started": check_no_threads,
    "the memory limit is reached": check_memory,
}


def test_the_table_has_the_faults_that_are_checked():
    assert fault_names() == list(CHECKS)


@LINUX
@pytest.mark.parametrize("fault", CHECKS)
def test_what_the_table_says_of_a_fault_is_what_happens(folder, fault):
    before = snapshot(folder)
    CHECKS[fault](folder)
    # nothing that was there has changed
    assert before.items() <= snapshot(folder).items()


@LINUX
def test_an_interrupt_while_modules_load_ends_in_words(folder):
    code = (
        "import builtins, sys, os, signal\n"
        "load = builtins.__import__\n"
        "def slow(name, *rest):\n"
        "    if name == 'ewp.cli.commands':\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return load(name, *rest)\n"
        "builtins.__import__ = slow\n"
        "from ewp.cli import main; main()"
    )
    number, _, told = finish(start(folder, "fit", "table.csv", *QUICK, code=code))
    assert (number, told) == (130, "ewp: interrupted; nothing was written\n")
