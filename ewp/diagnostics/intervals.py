"""Bootstrap intervals for many quantities at once: percentile and BCa, and which of them holds.

Both follow Efron (1987). Resamples are along the first axis of the arrays, quantities along the
others. Where resamples come from, and on which scale the quantities are, is the caller's business:
both kinds of interval are equivariant under increasing transformations, up to interpolation.
`choose_interval` takes BCa where what it assumes can be seen to hold, and says why where not.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from ewp.common.types import Array
from ewp.display.formatting import counted, short, whole_percent

__all__ = [
    "LEVEL",
    "Interval",
    "bca_interval",
    "choose_interval",
    "enough_resamples",
    "fewest_resamples",
    "kinds_in_words",
    "logistic",
    "logit",
    "percentile_interval",
    "resamples_in_words",
    "warn_of_few",
]

#: Level of the intervals that summaries and pictures show.
LEVEL = 0.95

_SMALLEST = 1e-300
#: Ratio of the resamples' standard deviation to the jackknife's up to which they are the same.
_SAME_SPREAD = 2.0
#: Relative standard error of a tail's share up to which the end of an interval is not rough.
_ROUGH = 0.5
_BCA, _UNKNOWN, _JUMPS, _BEYOND, _FLAT, _SPREAD = range(6)
#: Why an interval is a percentile interval, by the number in `Interval.reason`; 0 is BCa.
_REASONS = {
    _UNKNOWN: "without a jackknife there is no acceleration",
    _JUMPS: "clusters are other ones in more resamples than lie beyond an end",
    _BEYOND: "the bias is so large for so many resamples that BCa's ends lie beyond them",
    _FLAT: "the jackknife's values do not differ",
    _SPREAD: "resamples spread otherwise than the jackknife, by a factor above 2",
}


class Interval(NamedTuple):
    """Ends of the intervals, and for each 0 if it is BCa, else the number of the reason."""

    lower: Array
    upper: Array
    reason: np.ndarray


def fewest_resamples(level: float) -> int:
    r"""Fewest resamples with which a percentile interval has its level.

    The ends are the order statistics number :math:`(B + 1) \alpha / 2` from either side; for
    :math:`B < 2 / \alpha - 1` there is none, and even all resamples together cover less.

    >>> fewest_resamples(0.95), fewest_resamples(0.9)
    (39, 19)
    """
    return math.ceil(round(2.0 / (1.0 - level) - 1.0, 6))


def enough_resamples(level: float) -> int:
    r"""Resamples from which the ends of an interval are known well.

    Beyond an end lies a share of resamples that is :math:`\alpha / 2` on average with a relative
    standard error of about :math:`(B \alpha / 2)^{-1/2}`; it is at most one half from
    :math:`8 / \alpha` resamples on.

    >>> enough_resamples(0.95), enough_resamples(0.9)
    (160, 80)
    """
    return math.ceil(round(2.0 / ((1.0 - level) * _ROUGH**2), 6))


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
    within groups. Ends beyond the resamples are the outermost of them.

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
    ordered = np.sort(draws, axis=0)
    low, high = _bca_probabilities(draws, estimate, jackknife, level)
    return _quantiles(ordered, low), _quantiles(ordered, high)


def _bca_probabilities(
    draws: Array, estimate: Array, jackknife: Array, level: float
) -> tuple[Array, Array]:
    """Probabilities of the ends of BCa intervals."""
    count = len(draws)
    below = (draws < estimate).sum(axis=0) + 0.5 * (draws == estimate).sum(axis=0)
    # half a resample at least is on either side: the bias stays finite
    z0 = ndtri(np.clip(below, 0.5, count - 0.5) / count)
    deviation = jackknife.mean(axis=0) - jackknife
    # the acceleration has no unit: cubes of small numbers would vanish
    largest = np.abs(deviation).max(axis=0, initial=0.0)
    deviation = np.divide(deviation, largest, out=np.zeros_like(deviation), where=largest > 0)
    second = (deviation**2).sum(axis=0)
    third = (deviation**3).sum(axis=0)
    power = 6.0 * second**1.5
    a = np.divide(third, power, out=np.zeros_like(power), where=power > 0)

    def moved(z: float) -> Array:
        shifted = z0 + z
        probability: Array = ndtr(z0 + shifted / np.maximum(1.0 - a * shifted, 0.1))
        return probability

    tail = float(ndtri((1.0 - level) / 2))
    return moved(tail), moved(-tail)


def choose_interval(
    draws: Array, estimate: Array, jackknife: Array, level: float, jumps: Any = False
) -> Interval:
    r"""BCa interval of every quantity for which it may be taken, and percentile for the others.

    BCa assumes that resamples of some increasing function of the quantity are normal, with a bias
    and a standard deviation that changes slowly. It is not taken

    - without a jackknife, or where its values do not differ: there is no acceleration;
    - where resamples jump between different solutions, which the caller knows;
    - where an end would lie beyond the resamples, that is, where the bias :math:`z_0` is too large
      for their number;
    - where the standard deviation of the resamples is more than twice, or less than half, that of
      the jackknife: what the jackknife sees, small changes, is not what resamples do.

    Parameters
    ----------
    draws, estimate, jackknife, level
        As in `bca_interval`; the jackknife may be empty.
    jumps : bool or ndarray of bool, shape (...)
        Where resamples are known to jump.

    Returns
    -------
    Interval
    """
    lower, upper = percentile_interval(draws, level)
    shape = draws.shape[1:]
    if len(jackknife) < 2:
        return Interval(lower, upper, np.full(shape, _UNKNOWN))
    count, parts = len(draws), len(jackknife)
    low, high = _bca_probabilities(draws, estimate, jackknife, level)
    reached = ((count + 1) * low >= 1.0) & ((count + 1) * high <= count)
    spread = draws.std(axis=0)
    own = np.sqrt(parts - 1.0) * jackknife.std(axis=0)
    same = (spread <= _SAME_SPREAD * own) & (own <= _SAME_SPREAD * spread)
    reason = np.select(
        [own == 0.0, np.broadcast_to(jumps, shape), ~same, ~reached],
        [_FLAT, _JUMPS, _SPREAD, _BEYOND],
        _BCA,
    )
    ordered, holds = np.sort(draws, axis=0), reason == _BCA
    return Interval(
        np.where(holds, _quantiles(ordered, low), lower),
        np.where(holds, _quantiles(ordered, high), upper),
        reason,
    )


def kinds_in_words(found: Interval, noun: str) -> list[str]:
    """Sentences on which intervals are BCa intervals, which are not, and why; points do not count.

    >>> ends = np.zeros(3), np.ones(3)
    >>> kinds_in_words(Interval(*ends, np.array([0, 0, 4])), "weight")
    ["Percentile interval of 1 weight, because the jackknife's values do not differ; else BCa."]
    """
    why = found.reason[found.lower < found.upper]
    if len(why) and not why.any():
        return [f"All intervals of {noun}s are BCa intervals."]
    parts = []
    for number, words in _REASONS.items():
        count = int((why == number).sum())
        if count:
            these = f"all {noun}s" if count == len(why) else counted(count, noun)
            parts.append(f"of {these}, because {words}")
    if not parts:
        return []
    kind = "interval" if int((why > 0).sum()) == 1 else "intervals"
    rest = "" if (why > 0).all() else "; else BCa"
    return [f"Percentile {kind} {'; '.join(parts)}{rest}."]


def resamples_in_words(n_boot: int, level: float) -> list[str]:
    """A sentence on the number of resamples where it is too small for the level, or nearly so."""
    fewest, enough = fewest_resamples(level), enough_resamples(level)
    if n_boot < fewest:
        missed = whole_percent(2.0 / (n_boot + 1))
        return [
            f"{n_boot} resamples are too few for {short(100 * level)} % intervals: {missed} of all "
            "resamples would lie below the least or above the largest of so many. At least "
            f"{fewest} are needed, {enough} give steady ends."
        ]
    if n_boot < enough:
        beyond = short(n_boot * (1.0 - level) / 2, 2)
        return [
            f"The ends of the intervals are rough: about {beyond} of the {n_boot} resamples lie "
            f"beyond each; {enough} resamples give steady ends."
        ]
    return []


def warn_of_few(n_boot: int, level: float = LEVEL) -> None:
    """Warn where resamples are too few for a level."""
    if n_boot < fewest_resamples(level):
        warnings.warn(resamples_in_words(n_boot, level)[0], UserWarning, stacklevel=4)
