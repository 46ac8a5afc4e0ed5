"""How fast estimates converge: slopes over growing samples, distances along the annealing.

Nothing here fits anything: `rate` regresses errors that were measured, `along_s` reads the trace of
a fit that is finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from ewp.kernel import Array

if TYPE_CHECKING:
    from ewp.results import EWPResults

__all__ = ["along_s", "effective_size", "rate", "typical_errors"]

_SMALLEST = float(np.finfo(float).eps)


def effective_size(sizes: Any, n_obs: int, population: bool) -> Array:
    """Sizes that set the errors: n itself, or 1/(1/n - 1/N) against the fit of all N rows."""
    sizes = np.asarray(sizes, dtype=float)
    return sizes if population else 1.0 / (1.0 / sizes - 1.0 / n_obs)


def along_s(results: EWPResults) -> pd.DataFrame:
    r"""The annealing of a fit against its limit, from the trace alone.

    Parameters
    ----------
    results : EWPResults

    Returns
    -------
    pandas.DataFrame
        One row an iteration up to the fixed point of the limit problem: ``s``; ``gap``,
        :math:`f_s - f_{-\infty}` at the parameters of the iteration; ``gap_bound``,
        :math:`(k^{-1/s} - 1) \sum_i \min_j d_{ij}`, which no gap exceeds whatever the parameters
        (the uniform convergence of the paper's Theorem 2; known from the trace for the paper's
        own penalty only, else NaN); ``excess``, :math:`f_s` minus the limit's final value;
        ``effective_features`` minus the limit's; and bounds ``weights`` (l1) and ``centroids``
        (standard deviations of the features, root mean square) on the distance to the limit: the
        length of the path that is still to go, which the distance cannot exceed.
    """
    trace = results.objective_trace
    trace = trace[trace["phase"] != "polish"]
    s = trace["s"].to_numpy(dtype=float)
    value = trace["f_inf"].to_numpy(dtype=float)
    features = trace["effective_features"].to_numpy(dtype=float)
    uniform = np.ptp(results.prior[results.prior > 0]) == 0 and results.dispersion == "within"
    offset = np.log(results.prior[results.prior > 0][0])
    nearest = value + results.lam * (trace["entropy"].to_numpy(dtype=float) + offset)
    factor = np.expm1(-np.log(results.n_clusters) / s)
    return pd.DataFrame(
        {
            "iteration": trace["iteration"].to_numpy(),
            "s": s,
            "gap": trace["f_s"].to_numpy(dtype=float) - value,
            "gap_bound": factor * nearest if uniform else np.full(len(s), np.nan),
            "excess": trace["f_s"].to_numpy(dtype=float) - value[-1],
            "effective_features": features - features[-1],
            "weights": 2.0 * _still_to_go(trace["delta_weights"]),
            "centroids": _still_to_go(trace["delta_centroids"]),
        }
    )


def _still_to_go(steps: pd.Series) -> Array:
    """Length of the path from each iteration to the last; the last step is not taken."""
    lengths = np.append(steps.to_numpy(dtype=float)[:-1], 0.0)
    return np.cumsum(lengths[::-1])[::-1]


def typical_errors(errors: Array, population: bool) -> Array:
    """Logarithms of the typical errors by size, through which the line of the slope goes.

    Against the full fit they are root mean squares: a replicate that happens to find the full
    fit's own solution does not hide that others do not. Against a population the replicates of
    the largest sizes are nearly one sample, and means of the logarithms have the better intervals.

    Parameters
    ----------
    errors : ndarray of shape (replicates, sizes)
    population : bool
    """
    errors = np.maximum(errors, _SMALLEST)
    squares: Array = errors**2
    return 0.5 * (np.log(squares).mean(axis=0) if population else np.log(squares.mean(axis=0)))


def rate(
    sizes: Sequence[float] | Array, errors: Array, n_obs: int, *, population: bool, level: float
) -> tuple[float, float, float, float]:
    r"""Slope of log error in log n over nested subsamples, with an interval.

    The least-squares slope of `typical_errors`, with a standard error from the replicates' shares
    in it. Against the full fit the replicates are independent given the data. Against a population
    they share rows, and two errors of size m and m' have, for estimators that are sums over rows,
    correlation :math:`\sqrt{m m'}/N` between replicates and :math:`\sqrt{\min/\max}` within;
    correlations of log-errors are about their squares. The variance between replicates is inflated
    accordingly.

    Parameters
    ----------
    sizes : sequence of float
        Increasing numbers of rows.
    errors : ndarray of shape (replicates, sizes)
    n_obs : int
        Rows from which the subsamples were drawn.
    population : bool
        Whether errors are distances to a population instead of the full fit.
    level : float

    Returns
    -------
    slope, lower, upper, se : float
        ``-inf`` and NaN if all errors are zero.
    """
    m = np.asarray(sizes, dtype=float)
    if not (errors > _SMALLEST).any():
        return -np.inf, np.nan, np.nan, np.nan
    x = np.log(effective_size(m, n_obs, population))
    x = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    typical = typical_errors(errors, population)
    slope, count = float(typical @ x), len(errors)
    if count < 2:
        return slope, np.nan, np.nan, np.nan
    shares = np.log(np.maximum(errors, _SMALLEST)) - typical
    inflation = 1.0 / count
    if population:
        within = x @ (np.minimum.outer(m, m) / np.maximum.outer(m, m)) @ x
        between = (x @ m / n_obs) ** 2
        shared = within / count + (1.0 - 1.0 / count) * between
        inflation = shared / (within - between)
    else:
        shares = 0.5 * np.expm1(2.0 * shares)
    se = float(np.sqrt((shares @ x).var(ddof=1) * inflation))
    half = float(student.ppf((1.0 + level) / 2, count - 1)) * se
    return slope, slope - half, slope + half, se
