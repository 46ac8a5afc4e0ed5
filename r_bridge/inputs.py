"""Data and options for R, checked before they go there.

R's own answers to bad input are opaque (a foreign-call error for a missing value), so what can be
seen beforehand is refused here as an `RInputError`, with the value and the cure in the message. The
data themselves go through the checks that `ewp.fit` makes.
"""

from __future__ import annotations

import operator
import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ewp.data.validation import check_data, check_distinct
from r_bridge.errors import RInputError, input_errors

__all__ = [
    "Data",
    "Start",
    "check_bound",
    "check_bounds",
    "check_choice",
    "check_integer",
    "check_seed",
    "check_start",
    "read",
]


class Data(NamedTuple):
    """Checked data with its names."""

    x: NDArray[np.float64]
    rows: pd.Index
    columns: pd.Index


class Start(NamedTuple):
    """A number of clusters, and starting centres where they were given."""

    k: int
    centers: NDArray[np.float64] | None


def read(X: Any, *, columns: int = 1) -> Data:
    """Check the data, of two rows and so many columns at least, and find its names.

    A DataFrame has its own; rows without names are 0, 1, ..., columns x0, x1, ...
    """
    with input_errors():
        x = check_data(X)
    n, p = x.shape
    if n < 2 or p < columns:
        raise RInputError(f"X is {n} x {p}; give 2 rows and {columns} columns or more")
    if isinstance(X, pd.DataFrame):
        return Data(x, X.index, X.columns)
    return Data(x, pd.RangeIndex(n), pd.Index([f"x{i}" for i in range(p)]))


def check_start(x: NDArray[np.float64], K: Any, centers: Any, *, least: int = 1) -> Start:
    """Check K, which is at least `least`, and the starting centres; one has to be given."""
    if K is None and centers is None:
        raise RInputError("neither K nor centers is given: give the number of clusters K")
    if centers is not None:
        with input_errors():
            centers = check_data(centers)
        if centers.shape[1] != x.shape[1]:
            raise RInputError(
                f"centers have {centers.shape[1]} columns, but X has {x.shape[1]} features"
            )
        if K is not None and len(centers) != K:
            raise RInputError(f"K={K}, but there are {len(centers)} centers: leave out K")
    k = check_integer("K", len(centers) if K is None else K, least=least)
    with input_errors():
        check_distinct(x, k)
    return Start(k, centers)


def check_bounds(wbounds: Any, name: str = "wbounds") -> NDArray[np.float64] | None:
    """Check bounds on the one-norm of the weights: above 1; None stays None."""
    if wbounds is None:
        return None
    with input_errors():
        bounds = np.atleast_1d(np.asarray(wbounds, dtype=np.float64))
    if bounds.ndim != 1 or not len(bounds):
        raise RInputError(f"{name} of shape {bounds.shape}: give a number or a list of them")
    if not (np.isfinite(bounds).all() and (bounds > 1).all()):
        raise RInputError(f"{name}={bounds.tolist()} must be finite and above 1")
    return bounds


def check_bound(wbound: Any) -> float | None:
    """Check one bound on the one-norm of the weights; None stays None.

    >>> check_bound(1.5)
    1.5
    """
    bounds = check_bounds(wbound, "wbound")
    if bounds is None:
        return None
    if len(bounds) > 1:
        raise RInputError(f"wbound={bounds.tolist()}: give one bound")
    return float(bounds[0])


def check_seed(seed: Any) -> int:
    """A seed for R from an integer, a NumPy Generator or None, which draws a new one."""
    if seed is None:
        return secrets.randbelow(2**31)
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**31))
    number = check_integer("seed", seed, least=0)
    if number >= 2**31:
        raise RInputError(f"seed={number} is too large for R; give one below 2**31")
    return number


def check_integer(name: str, value: Any, *, least: int) -> int:
    """Check an integer with a lower bound.

    >>> check_integer("nstart", 20, least=1)
    20
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise RInputError(f"{name}={value!r} must be an integer of at least {least}")
    if number < least:
        raise RInputError(f"{name}={number} must be at least {least}")
    return number


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Check an option that takes one of a few words.

    >>> check_choice("method", "single", ("average", "single"))
    'single'
    """
    if not isinstance(value, str) or value not in choices:
        offered = ", ".join(map(repr, choices))
        raise RInputError(f"{name}={value!r} is unknown; give one of {offered}")
    return value
