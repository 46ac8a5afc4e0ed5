r"""Has a sample more than one mode? The dip of Hartigan and Hartigan (1985).

The dip is the largest distance of the empirical distribution function from the closest one with a
single mode, which is convex before the mode and concave after it. It is found from the greatest
convex minorant and the least concave majorant of the function, on an interval that shrinks to the
one that holds the mode. Of all distributions with one mode the uniform is taken for the null
hypothesis, as the authors do: the dip of any other falls off faster. Its tail was fitted to
simulated samples of 20 to 5000 values: :math:`P(\sqrt n D > x)` is :math:`5.4 e^{-16 x^2}` to a
tenth of itself from 300 values on, and smaller for fewer.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from ewp.common.types import Array

__all__ = ["dip", "dip_test", "spread_ties"]

#: Tail of the dip of uniform values, times the root of their number.
_FACTOR, _RATE = 5.4, 16.0
_ROUNDING = 1e-12


def _envelope(x: Array, y: Array, *, convex: bool) -> Array:
    """Greatest convex minorant of points, or least concave majorant, at the points."""
    step = np.diff(x)
    slope = isotonic_regression(np.diff(y) / step, weights=step, increasing=convex).x
    return np.concatenate([[y[0]], y[0] + np.cumsum(slope * step)])


def dip(x: Array) -> float:
    """Distance of a sample's distribution function from the closest one with a single mode.

    Parameters
    ----------
    x : ndarray of shape (n,)

    Returns
    -------
    float
        At least ``1 / (2 * n)`` for n different values.
    """
    value, count = np.unique(x, return_counts=True)
    after = np.cumsum(count) / len(x)
    before = after - count / len(x)
    # twice the dip; a jump of the function cannot be met on both sides
    found = float(count.max()) / len(x)
    first, last = 0, len(value) - 1
    while last > first:
        part = slice(first, last + 1)
        low, high = before[part], after[part]
        minorant = _envelope(value[part], low, convex=True)
        majorant = _envelope(value[part], high, convex=False)
        gap = majorant - minorant
        touches_low = np.flatnonzero(low - minorant < _ROUNDING)
        touches_high = np.flatnonzero(majorant - high < _ROUNDING)
        at_low = touches_low[np.argmax(gap[touches_low])]
        at_high = touches_high[np.argmax(gap[touches_high])]
        widest = max(gap[at_low], gap[at_high])
        if widest <= found + _ROUNDING:
            break
        if gap[at_low] >= gap[at_high]:
            left, right = at_low, touches_high[np.searchsorted(touches_high, at_low)]
        else:
            place = np.searchsorted(touches_low, at_high, side="right") - 1
            left, right = touches_low[place], at_high
        outside = max(
            (high - minorant)[: left + 1].max(),
            (majorant - low)[right:].max(),
        )
        found = max(found, float(outside))
        if (left, right) == (0, last - first):
            break
        first, last = first + int(left), first + int(right)
    return 0.5 * found


def dip_test(x: Array) -> float:
    """P-value of the dip: small where the values cannot come from a density with one mode.

    Parameters
    ----------
    x : ndarray of shape (n,)

    Returns
    -------
    float
    """
    return float(min(1.0, _FACTOR * np.exp(-_RATE * len(x) * dip(x) ** 2)))


def spread_ties(x: Array, rng: np.random.Generator) -> Array:
    """Values of a discrete column, each moved at random within its step; others as they are.

    Ties are modes of their own to a density. Values moved by up to half the smallest difference
    are as if they had been rounded: two values alone become one uniform distribution.

    Parameters
    ----------
    x : ndarray of shape (n,)
    rng : Generator
    """
    value = np.unique(x)
    if len(value) in (1, len(x)):
        return x
    half = 0.5 * float(np.diff(value).min())
    return x + rng.uniform(-half, half, len(x))
