"""Options, checked: every message names the option, its value and what would do instead."""

from __future__ import annotations

import math
import numbers
import os
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "check_choice",
    "check_flag",
    "check_integer",
    "check_jobs",
    "check_number",
    "listing",
    "problem_with_file",
    "shown",
]

#: Counts beyond this are mistakes, and no array can have them.
_LARGEST_INTEGER = 2**53


def shown(value: Any, most: int = 60) -> str:
    """The beginning of a value as Python shows it."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def check_number(
    name: str, value: Any, *, above: float = -math.inf, below: float = math.inf, cure: str = ""
) -> float:
    """Check a real option strictly between two bounds.

    >>> check_number("eta", 1.05, above=1)
    1.05
    """
    hint = f"; {cure}" if cure else ""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError(f"{name}={shown(value)} is not a number{hint}")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} is too large for a floating-point number{hint}") from None
    if math.isnan(number):
        raise ValueError(f"{name}={shown(value)} is not a number{hint}")
    if not above < number < below:
        if math.isinf(above):
            wanted = f"below {below:g}"
        elif math.isinf(below):
            wanted = f"finite and above {above:g}"
        else:
            wanted = f"between {above:g} and {below:g}"
        raise ValueError(f"{name}={shown(value)} must be {wanted}{hint}")
    return number


def check_integer(name: str, value: Any, *, least: int) -> int:
    """Check an integer option with a lower bound."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ValueError(f"{name}={shown(value)} must be an integer of at least {least}")
    if value < least:
        raise ValueError(f"{name}={shown(value)} must be at least {least}")
    number = int(value)
    if number > _LARGEST_INTEGER:
        raise ValueError(f"{name} is larger than {_LARGEST_INTEGER}; give a smaller number")
    return number


def check_flag(name: str, value: Any) -> bool:
    """Check an option that is on or off."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={shown(value)} must be True or False")
    return bool(value)


def check_progress(progress: Any) -> None:
    """Check whether to show progress: yes, no, or None to decide."""
    if progress is not None and not isinstance(progress, bool | np.bool_):
        raise ValueError(f"progress={progress!r} must be True, False or None")


def check_jobs(n_jobs: Any) -> int | None:
    """Check a number of jobs as joblib understands it."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(
            f"n_jobs={n_jobs!r} must be None, a positive number, or -1 for all processors"
        )
    return int(n_jobs)


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """Check an option that takes one of a few values."""
    text = isinstance(value, str)
    if not any(value is choice or (text and value == choice) for choice in choices):
        raise ValueError(f"{name}={shown(value)} is unknown; give one of {listing(list(choices))}")
    return value


def listing(items: list[Any], most: int = 10) -> str:
    """Show the first of some items in a message."""
    first = ", ".join(shown(item) for item in items[:most])
    return first if len(items) <= most else f"{first} and {len(items) - most} more"


def problem_with_file(path: Path) -> str | None:
    """Why a file cannot be written; None if it can, as far as one sees beforehand."""
    if path.is_dir():
        return "this is a folder; give the name of a file"
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist; make it first"
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        return "it may not be written; choose another folder"
    return None
