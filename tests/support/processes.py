"""Which processes run beside the tests, and whether they end."""

import multiprocessing
import time


def members():
    """Crews' processes; those of joblib may be there too."""
    kind = multiprocessing.get_context("fork").Process
    return [child for child in multiprocessing.active_children() if isinstance(child, kind)]


def gone(children):
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
