"""Progress bars: none where nobody is looking, one in a terminal when it takes a while."""

import io
import os
import struct
import sys
from contextlib import redirect_stderr

import pytest

import ewp
from ewp.common import parallel
from ewp.common.parallel import run_replicates, tqdm
from tests.support.designs import sixty_rows

pty, fcntl, termios = (
    pytest.importorskip(name, reason="pseudo-terminals are there on Unix only")
    for name in ("pty", "fcntl", "termios")
)


class Terminal:
    """A pseudo-terminal in the place of standard error."""

    def __init__(self):
        self.main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.stream = os.fdopen(side, "w")

    def shows(self, function, *arguments, **options):
        """What a call writes to it."""
        with redirect_stderr(self.stream):
            function(*arguments, **options)
        self.stream.flush()
        os.set_blocking(self.main, False)
        found = b""
        while True:
            try:
                found += os.read(self.main, 4096)
            except BlockingIOError:
                return found.decode()

    def close(self):
        self.stream.close()
        os.close(self.main)


@pytest.fixture
def terminal():
    made = Terminal()
    yield made
    made.close()


def doubled(value):
    return [2 * value, 2 * value + 1]


def work(progress):
    """Ten replicates in five tasks."""
    tasks = ((i,) for i in range(5))
    return run_replicates(doubled, tasks, total=10, what="replicates", progress=progress)


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_shown_where_nobody_looks(progress, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(parallel, "_DELAY", 0.0)
    assert work(progress) == (list(range(10)), True)
    assert stream.getvalue() == ""


def test_a_bar_that_was_asked_for_is_shown_anywhere(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    work(True)
    assert "replicates" in stream.getvalue()
    assert "10/10" in stream.getvalue()


def test_a_terminal_shows_a_bar_after_the_delay(terminal, monkeypatch):
    monkeypatch.setattr(parallel, "_DELAY", 0.0)
    shown = terminal.shows(work, None)
    assert "replicates" in shown
    assert "10/10" in shown


def test_what_is_over_before_the_delay_leaves_a_terminal_alone(terminal, monkeypatch):
    monkeypatch.setattr(parallel, "_DELAY", 1e6)
    assert terminal.shows(work, None) == ""


def test_a_bar_that_was_refused_is_not_shown_in_a_terminal(terminal, monkeypatch):
    monkeypatch.setattr(parallel, "_DELAY", 0.0)
    assert terminal.shows(work, False) == ""


def test_a_fit_and_a_selection_show_their_bars_in_a_terminal(terminal, monkeypatch):
    monkeypatch.setattr(parallel, "_DELAY", 0.0)
    X = sixty_rows()
    assert "EWP" in terminal.shows(ewp.fit, X, 2, 10.0, random_state=0)
    assert "predictive" in terminal.shows(ewp.select_lambda, X, 2, n_lams=2, cv=3)


def test_no_standard_error_is_no_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert list(tqdm(range(3), progress=None)) == [0, 1, 2]


@pytest.mark.parametrize(("shell", "watched"), [("ZMQInteractiveShell", True), ("Other", False)])
def test_a_notebook_is_looked_at(shell, watched, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    running = type(shell, (), {})()
    monkeypatch.setitem(
        sys.modules, "IPython", type("IPython", (), {"get_ipython": lambda: running})
    )
    assert parallel._is_watched() is watched
