"""What this machine has for the validation: real data, and R's sparcl."""

from __future__ import annotations

from functools import cache

from ewp.datasets import DATASETS
from r_bridge import check
from validation.tasks.real import digest

__all__ = ["available", "has_sparcl"]


@cache
def has_sparcl() -> bool:
    """Whether sparcl can be called."""
    found = check()
    return not found.problems and found.sparcl is not None


@cache
def available() -> dict[str, str]:
    """Real sets that can be loaded, with the hashes of their data."""
    found = {}
    for name in DATASETS:
        try:
            found[name] = digest(name)
        except FileNotFoundError:
            continue
    return found
