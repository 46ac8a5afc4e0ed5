"""Data and options for R, checked before they go there.

R's own answers to bad input are opaque (a foreign-call error for a missing value), so what can be
seen beforehand is refused here, with the value and the cure in the message.
"""

from __future__ import annotations

import secrets
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ewp.checks import check_integer
from ewp.inputs import check_data, check_distinct, names
from ewp.kernel import Array
from r_bridge.errors import input_errors

__all__ = ["Data", "Start", "check_bounds", "check_seed", "check_start", "read"]


class Data(NamedTuple):
    """Checked data with its names."""

    x: Array
    rows: pd.Index
    columns: pd.Index


class Start(NamedTuple):
    """A number of clusters, and starting centres where they were given."""

    k: int
    centers: Array | None


def read(X: Any, *, columns: int = 1) -> Data:
    """Check the data, of two rows and so many columns at least, and find its names."""
    with input_errors():
        x = check_data(X)
        if x.shape[0] < 2 or x.shape[1] < columns:
            raise ValueError(
                f"X is {x.shape[0]} x {x.shape[1]}; give 2 rows and {columns} columns or more"
            )
    return Data(x, *names(X, x))


def check_start(x: Array, K: Any, centers: Any, *, least: int = 1) -> Start:
    """Check K, which is at least `least`, and the starting centres; one has to be given."""
    with input_errors():
        if K is None and centers is None:
            raise ValueError("neither K nor centers is given: give the number of clusters K")
        if centers is not None:
            centers = check_data(centers)
            if centers.shape[1] != x.shape[1]:
                raise ValueError(
                    f"centers have {centers.shape[1]} columns, but X has {x.shape[1]} features"
                )
            if K is not None and len(centers) != K:
                raise ValueError(f"K={K}, but there are {len(centers)} centers: leave out K")
        k = check_integer("K", len(centers) if K is None else K, least=least)
        check_distinct(x, k)
    return Start(k, centers)


def check_bounds(wbounds: Any) -> Array | None:
    """Check bounds on the one-norm of the weights: above 1; None stays None."""
    if wbounds is None:
        return None
    with input_errors():
        bounds = np.atleast_1d(np.asarray(wbounds, dtype=np.float64))
        if bounds.ndim != 1 or not len(bounds):
            raise ValueError(f"wbounds of shape {bounds.shape}: give a number or a list of them")
        if not (np.isfinite(bounds).all() and (bounds > 1).all()):
            raise ValueError(f"wbounds={bounds.tolist()} must be finite and above 1")
    return bounds


def check_seed(seed: Any) -> int:
    """A seed for R from an integer, a NumPy Generator or None, which draws a new one."""
    if seed is None:
        return secrets.randbelow(2**31)
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**31))
    with input_errors():
        number = check_integer("seed", seed, least=0)
        if number >= 2**31:
            raise ValueError(f"seed={number} is too large for R; give one below 2**31")
    return number
