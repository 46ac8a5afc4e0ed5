"""Programs that meet a fault, and what they leave behind."""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMAND = "from ewp.cli import main; main()"


def start(folder, *arguments, code=COMMAND):
    """Start a program in a folder, whose own temporary files go to `tmp` in it."""
    (folder / "tmp").mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TMPDIR": str(folder / "tmp"),
            "JOBLIB_TEMP_FOLDER": str(folder / "tmp"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(program):
    """Wait for a program; its exit code and what it said on stdout and stderr."""
    out, err = program.communicate(timeout=300)
    return program.returncode, out, err


def children(process):
    """Numbers of the processes that a process has started, and of theirs."""
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *children(child)]
    return found


def wait_until(what, seconds=200.0):
    """Wait for something to be true and return it."""
    end = time.monotonic() + seconds
    while not (found := what()):
        if time.monotonic() > end:
            raise AssertionError("it did not happen in time")
        time.sleep(0.05)
    return found


def snapshot(folder):
    """Files of a folder with their bytes."""
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()}
