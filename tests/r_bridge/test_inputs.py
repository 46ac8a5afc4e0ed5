"""Data and options are checked before they go to R, which is not needed here."""

from __future__ import annotations

import numpy as np
import pytest

from r_bridge.errors import RInputError
from r_bridge.inputs import (
    check_bound,
    check_bounds,
    check_choice,
    check_integer,
    check_seed,
    check_start,
    read,
)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, np.nan], [2.0, 3.0]], "contains NaN"),
        ([["a", "b"], ["c", "d"]], "could not convert|not numeric"),
        ([[1.0, 2.0]], "X is 1 x 2"),
    ],
)
def test_unfit_data_are_refused(X, message):
    with pytest.raises(RInputError, match=message):
        read(X, columns=2)


@pytest.mark.parametrize(
    ("K", "centers", "message"),
    [
        (None, None, "neither K nor centers"),
        (1, None, "K=1 must be at least 2"),
        (9, None, "k=9 exceeds the 5 distinct rows"),
        (None, [[0.0, 1.0, 2.0]], "centers have 3 columns, but X has 2"),
        (3, [[0.0, 1.0], [2.0, 3.0]], "K=3, but there are 2 centers"),
        (None, [[0.0, np.inf], [2.0, 3.0]], "infinity"),
    ],
)
def test_unfit_starts_are_refused(K, centers, message):
    X = np.arange(10.0).reshape(5, 2)
    with pytest.raises(RInputError, match=message):
        check_start(X, K, centers, least=2)


@pytest.mark.parametrize("bounds", [1.0, [1.5, 0.5], [], [[1.5]], "wide", np.nan])
def test_unfit_bounds_are_refused(bounds):
    with pytest.raises(RInputError):
        check_bounds(bounds)


def test_seeds_are_checked_or_drawn():
    assert check_seed(7) == 7
    assert check_seed(np.random.default_rng(1)) == check_seed(np.random.default_rng(1))
    assert check_seed(None) != check_seed(None)
    for wrong in (-1, 2**31, 1.5, "one"):
        with pytest.raises(RInputError, match="seed="):
            check_seed(wrong)


@pytest.mark.parametrize("value", [0, -3, 1.0, "2", True, None, [2]])
def test_unfit_counts_are_refused(value):
    with pytest.raises(RInputError, match=r"nstart=.* at least 1"):
        check_integer("nstart", value, least=1)


def test_counts_may_be_of_numpy():
    found = check_integer("nstart", np.int64(3), least=1)
    assert (found, type(found)) == (3, int)


@pytest.mark.parametrize("value", ["ward", None, 1, ["single"]])
def test_unknown_choices_are_refused(value):
    with pytest.raises(RInputError, match=r"method=.* give one of 'average', 'single'"):
        check_choice("method", value, ("average", "single"))


def test_one_bound_is_one_number():
    assert check_bound(None) is None
    assert check_bound([1.5]) == 1.5
    with pytest.raises(RInputError, match=r"wbound=\[1.5, 2.0\]: give one bound"):
        check_bound([1.5, 2.0])
    with pytest.raises(RInputError, match=r"wbound=\[1.0\] must be finite and above 1"):
        check_bound(1.0)
