"""The partition of a fit as sums of squares: what is known of it without the data.

Sizes and means of the clusters with the deviations of the columns give the dispersions within the
clusters, and with them the mixture of Gaussians that a partition implies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ewp.common.types import Array, FittedResults
from ewp.display.fit_summary import column_deviations

__all__ = ["dispersions_within", "partition_mixture"]

#: Smallest variance within clusters, as a share of the total: a column that is constant in every
#: cluster would have an infinite density.
_FLOOR = 1e-4


class _Columns(NamedTuple):
    """Centroids, mean and variances of the columns that have weights."""

    centroids: Array
    center: Array
    variance: Array


def _columns(results: FittedResults) -> _Columns | None:
    centroids = results.centroids.to_numpy(dtype=float)
    made = results.decorrelation
    if made is not None:
        return _Columns(made.apply(centroids), np.zeros(len(made.center)), made.variances)
    spread = column_deviations(results)
    return None if spread is None else _Columns(centroids, results.center, spread**2)


def dispersions_within(results: FittedResults) -> Array | None:
    """Sums of squares about the means of the clusters, None if they are not known.

    They are in data units, those of decorrelated features belong to the uncorrelated columns.

    Of observed values, where some are missing.

    Parameters
    ----------
    results : EWPResults
    """
    if results.within is not None:
        return results.within
    columns = _columns(results)
    if columns is None:
        return None
    mass = results.clusters["mass"].to_numpy(dtype=float)
    between = mass @ (columns.centroids - columns.center) ** 2
    within: Array = np.maximum(mass.sum() * columns.variance - between, 0.0)
    return within


def partition_mixture(results: FittedResults) -> tuple[Array, Array, Array, Array, Array]:
    """Means, mean, variances within, variances and masses, for `ewp.metrics.mixture_gain`.

    They describe the columns that `EWPResults.to_columns` returns.

    Parameters
    ----------
    results : EWPResults
    """
    squares, columns = dispersions_within(results), _columns(results)
    if squares is None or columns is None:
        raise ValueError("the deviations of the columns are not held here: fit again")
    mass = results.clusters["mass"].to_numpy(dtype=float)
    total, k = float(mass.sum()), np.count_nonzero(mass)
    # degrees of freedom; weights that are proportions have none to spare
    variance = columns.variance * total / (total - 1.0 if total > k else total)
    if results.observed is not None:
        squares = squares / results.observed
    within = np.maximum(squares / (total - k if total > k else total), _FLOOR * variance)
    return columns.centroids, columns.center, within, variance, mass
