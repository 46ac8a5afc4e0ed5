"""What a study of consistency compares: the sizes of the subsamples, and what they should reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ewp.checks import check_integer
from ewp.inputs import aligned, check_prior
from ewp.kernel import Array
from ewp.refitting import Source

__all__ = ["choose_reference", "choose_sizes"]

#: Default sizes: how many at most, and by which factors they grow.
_MOST_SIZES = 6
_SMALLEST_STEP, _LARGEST_STEP = 1.4, 2.0
#: Rows a cluster in the smallest subsample, and where there are few rows.
_ROWS_A_CLUSTER = (4, 2)


def choose_sizes(sizes: Sequence[int] | None, n: int, k: int, population: bool) -> list[int]:
    """Check the user's sizes, or choose some that grow by equal factors."""
    largest = n if population else n - 1
    if sizes is None:
        high = n if population else max(n // 2, 1)
        for rows_a_cluster in _ROWS_A_CLUSTER:
            low = rows_a_cluster * max(k, 4)
            span = np.log(high / low)
            count = min(int(span / np.log(_SMALLEST_STEP)), _MOST_SIZES - 1)
            if count >= 2:
                break
        else:
            raise ValueError(
                f"{n} rows are too few for subsamples of three sizes with {k} clusters; "
                "give sizes of your own"
            )
        step = min(span / count, np.log(_LARGEST_STEP))
        return [round(high * float(np.exp(-i * step))) for i in range(count, -1, -1)]
    if isinstance(sizes, str) or not np.iterable(sizes):
        raise ValueError(f"sizes={sizes!r} must be numbers of rows, such as [100, 200, 400]")
    chosen = sorted({check_integer("sizes", size, least=k) for size in sizes})
    if len(chosen) < 2 or chosen[-1] > largest:
        what = f"at most {n}" if population else f"less than the {n} of the full fit"
        raise ValueError(f"sizes={chosen} must be two or more numbers of rows, {what}")
    return chosen


def choose_reference(
    reference: Any, source: Source, columns: pd.Index | None
) -> tuple[Array, Array]:
    """Centroids and weights of a population, features matched by name where there are names."""
    if hasattr(reference, "centroids") and hasattr(reference, "weights"):
        pair = [reference.centroids, reference.weights]
        if not reference.options.get("named_features", True):
            pair = [part.to_numpy() for part in pair]
    elif isinstance(reference, tuple | list) and len(reference) == 2:
        pair = list(reference)
    else:
        raise ValueError(
            f"the reference is a {type(reference).__name__}; give the results of another fit, or "
            "a pair (centroids, weights)"
        )
    theta, weights = (
        np.asarray(aligned(name, part, columns), dtype=float)
        for name, part in zip(("reference centroids", "reference weights"), pair, strict=True)
    )
    if theta.shape != source.centroids.shape or weights.shape != source.weights.shape:
        raise ValueError(
            f"the reference has centroids of shape {theta.shape} and weights of shape "
            f"{weights.shape}, the fit {source.centroids.shape} and {source.weights.shape}"
        )
    if not np.isfinite(theta).all():
        raise ValueError("the centroids of the reference must be finite")
    share = check_prior(weights, len(weights), "the reference's weights")
    assert share is not None
    return theta, share / share.sum()
