"""What is given beside the data, checked: weights of rows, prior, centroids to start from, seeds.

Past this module weights and priors are finite, not negative and in range, and nothing is checked
again. The data themselves are checked in `ewp.data.validation`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from ewp.common.types import Array
from ewp.data.frames import align_to_rows
from ewp.data.sparse import LARGEST
from ewp.data.validation import as_floats

__all__ = [
    "check_init",
    "check_prior",
    "check_sample_weight",
    "check_weight_values",
    "generator",
    "stated_seed",
]

#: One row of so many times the weight of all others leaves these without influence.
_OVERWHELMING = 1e15


def generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy Generator from a seed, a Generator, a RandomState or None."""
    if random_state is np.random:
        random_state = check_random_state(None)
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if isinstance(random_state, np.random.SeedSequence):
        # a copy: the caller's would remember the generators spawned from it
        random_state = np.random.SeedSequence(
            random_state.entropy,
            spawn_key=random_state.spawn_key,
            pool_size=random_state.pool_size,
            n_children_spawned=random_state.n_children_spawned,
        )
    if isinstance(random_state, np.random.Generator) and not hasattr(
        random_state.bit_generator.seed_seq, "spawn"
    ):
        # a bit generator seeded in NumPy's legacy way cannot spawn
        return np.random.default_rng(random_state.integers(0, 2**31 - 1, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state={random_state!r} is no seed; give a non-negative integer, "
            "a numpy Generator or None"
        ) from error


def stated_seed(random_state: Any) -> int:
    """Return a seed that can be written down: an integer as it is, all else draws one.

    >>> stated_seed(7), stated_seed(np.random.default_rng(0)) == stated_seed(
    ...     np.random.default_rng(0)
    ... )
    (7, True)
    """
    rng = generator(random_state)
    plain = isinstance(random_state, int | np.integer)
    return int(random_state if plain else rng.integers(2**31))


def check_sample_weight(sample_weight: Any, n: int, rows: pd.Index | None = None) -> Array | None:
    """Check row weights: finite, not negative, not all zero; None stays None.

    Parameters
    ----------
    sample_weight : array-like of shape (n,) or None
        A Series is matched with the rows by name.
    n : int
    rows : Index, optional
        Names of the rows, if they have any.
    """
    if sample_weight is None:
        return None
    weight = as_floats("sample_weight", align_to_rows("sample_weight", sample_weight, rows))
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}, but X has {n} rows: sample_weight.shape "
            f"must be ({n},)"
        )
    weight = check_weight_values(weight)
    if not (weight > 0).any():
        raise ValueError("all of sample_weight is zero; at least one row needs a positive weight")
    largest = int(np.argmax(weight))
    others = float(weight[:largest].sum() + weight[largest + 1 :].sum())
    if 0 < others * _OVERWHELMING < weight[largest]:
        raise ValueError(
            f"sample_weight: row {largest} has {weight[largest]:.3g}, all others have {others:.3g} "
            "together and would not count; check that weight, or give the others weight 0"
        )
    return weight


def check_weight_values(weight: Any, *, first_row: int = 0) -> Array:
    """Check that weights of rows are finite, not negative, and not too large to be squared.

    Parameters
    ----------
    weight : array-like
    first_row : int, default 0
        Number of the first row, where these are a part of more rows.
    """
    weight = np.asarray(weight, dtype=np.float64)
    if not np.isfinite(weight).all():
        where = int(np.flatnonzero(~np.isfinite(weight))[0])
        raise ValueError(
            f"sample_weight has {weight[where]} (NaN or inf) in row {first_row + where}"
        )
    if (weight < 0).any():
        where = int(np.flatnonzero(weight < 0)[0])
        raise ValueError(
            f"sample_weight is negative in row {first_row + where} ({weight[where]:g}); "
            "weights must be at least 0"
        )
    if weight.max(initial=0.0) > LARGEST:
        raise ValueError(
            f"sample_weight is as large as {weight.max():.3g}; divide the weights by a constant"
        )
    return weight


def check_prior(prior: Any, p: int, name: str = "prior") -> Array | None:
    """Check a prior on the weights and bring it to a mean of 1; None stays None."""
    if prior is None:
        return None
    array = as_floats(name, prior)
    if array.shape != (p,):
        raise ValueError(f"{name} has shape {array.shape}, but X has {p} features")
    if not np.isfinite(array).all() or (array < 0).any() or not (array > 0).any():
        raise ValueError(
            f"{name} must be finite and not negative, with at least one positive entry; "
            f"it ranges from {array.min():g} to {array.max():g}"
        )
    array = array / array.max()
    return array * (p / array.sum())


def check_init(init: Any, k: int, p: int) -> str | Array:
    """Check the option `init`: "k-means++", "random" or an array of shape (k, p)."""
    if isinstance(init, str):
        if init not in ("k-means++", "random"):
            raise ValueError(
                f"init={init!r} is unknown; give 'k-means++', 'random' or an array of {k} x {p}"
            )
        return init
    array = as_floats("init", init)
    if array.shape != (k, p):
        raise ValueError(
            f"init has shape {array.shape}, but k={k} centroids in {p} features need ({k}, {p})"
        )
    if not np.isfinite(array).all():
        raise ValueError("init contains NaN or infinity; centroids must be finite")
    if np.abs(array).max(initial=0.0) > LARGEST:
        raise ValueError("init has values above 1e100, whose squares overflow")
    return array
