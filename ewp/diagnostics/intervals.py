"""Bootstrap intervals for many quantities at once: percentile and BCa.

Both follow Efron (1987). Resamples are along the first axis of the arrays, quantities along the
others. Where resamples come from, and on which scale the quantities are, is the caller's business:
both kinds of interval are equivariant under increasing transformations, up to interpolation.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from ewp.common.types import Array

__all__ = ["bca_interval", "logistic", "logit", "percentile_interval"]

_SMALLEST = 1e-300
#: Distance from one half of the share of resamples below the estimate.
_ONE_SIDED = 0.4


def logit(w: Array) -> Array:
    """Log-ratio of shares to the rest of the whole; shares of 0 and 1 stay finite.

    >>> logit(np.array([0.5, 0.8])).round(3)
    array([0.   , 1.386])
    """
    w = np.clip(w, _SMALLEST, 1 - np.finfo(float).eps / 2)
    return np.log(w) - np.log1p(-w)


def logistic(x: Array) -> Array:
    """Inverse of `logit`."""
    positive = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, positive) / (1.0 + positive)


def _quantiles(ordered: Array, probability: Array) -> Array:
    """Quantiles at a probability for every quantity: order statistic number (B + 1) p."""
    count = len(ordered)
    position = np.clip((count + 1) * probability - 1.0, 0.0, count - 1.0)
    below = np.floor(position).astype(np.intp)
    above = np.minimum(below + 1, count - 1)
    low = np.take_along_axis(ordered, below[None], axis=0)[0]
    high = np.take_along_axis(ordered, above[None], axis=0)[0]
    quantiles: Array = low + (position - below) * (high - low)
    return quantiles


def percentile_interval(draws: Array, level: float) -> tuple[Array, Array]:
    """Percentile interval of every quantity.

    Parameters
    ----------
    draws : ndarray of shape (B, ...)
        Values in the resamples.
    level : float
        Coverage aimed at, such as 0.95.

    Returns
    -------
    lower, upper : ndarray of shape (...)

    Examples
    --------
    >>> low, high = percentile_interval(np.arange(99.0)[:, None], 0.9)
    >>> low.round(6).tolist(), high.round(6).tolist()
    ([4.0], [94.0])
    """
    ordered = np.sort(draws, axis=0)
    tail = np.full(draws.shape[1:], (1.0 - level) / 2)
    return _quantiles(ordered, tail), _quantiles(ordered, 1.0 - tail)


def bca_interval(
    draws: Array, estimate: Array, jackknife: Array, level: float
) -> tuple[Array, Array]:
    r"""Bias-corrected and accelerated interval of every quantity.

    The percentile interval with its two probabilities moved to
    :math:`\Phi(z_0 + (z_0 + z)/(1 - a (z_0 + z)))`, where :math:`\Phi(z_0)` is the share of
    resamples below the estimate and the acceleration

    .. math:: a = \sum_i d_i^3 \Big/ 6 \Big(\sum_i d_i^2\Big)^{3/2}

    comes from the deviations of jackknife values from their mean. Leaving out groups of rows
    estimates the same acceleration as leaving out single rows: second and third cumulants add up
    within groups.

    A bias so large that more than nine tenths of the resamples are on one side of the estimate
    moves the probabilities off the range that the resamples cover. There the interval is the
    basic one, the percentile interval reflected at the estimate, which corrects for the same bias.

    Parameters
    ----------
    draws : ndarray of shape (B, ...)
        Values in the resamples.
    estimate : ndarray of shape (...)
        Values in the data.
    jackknife : ndarray of shape (g, ...)
        Values with a part of the data left out.
    level : float

    Returns
    -------
    lower, upper : ndarray of shape (...)

    References
    ----------
    Efron, B. (1987). Better bootstrap confidence intervals. *Journal of the American Statistical
    Association* 82, 171-185.
    """
    count = len(draws)
    below = (draws < estimate).sum(axis=0) + 0.5 * (draws == estimate).sum(axis=0)
    one_sided = np.abs(below / count - 0.5) > _ONE_SIDED
    z0 = ndtri(np.where(one_sided, 0.5, below / count))
    deviation = jackknife.mean(axis=0) - jackknife
    # the acceleration has no unit: cubes of small numbers would vanish
    largest = np.abs(deviation).max(axis=0, initial=0.0)
    deviation = np.divide(deviation, largest, out=np.zeros_like(deviation), where=largest > 0)
    second = (deviation**2).sum(axis=0)
    third = (deviation**3).sum(axis=0)
    power = 6.0 * second**1.5
    a = np.divide(third, power, out=np.zeros_like(power), where=power > 0)
    ordered = np.sort(draws, axis=0)
    tail = ndtri((1.0 - level) / 2)

    def end(z: float) -> Array:
        shifted = z0 + z
        return _quantiles(ordered, ndtr(z0 + shifted / np.maximum(1.0 - a * shifted, 0.1)))

    low, high = percentile_interval(draws, level)
    lower = np.where(one_sided, 2.0 * estimate - high, end(tail))
    upper = np.where(one_sided, 2.0 * estimate - low, end(-tail))
    return lower, upper
