"""CPU time of calls, which is what the benchmarks of whole fits compare."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["cpu"]


def cpu(run: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, and what it returns."""
    begin = time.process_time()
    found = run()
    return time.process_time() - begin, found
