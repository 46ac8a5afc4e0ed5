"""Weights of sparse k-means: soft-thresholded between-cluster sums of squares.

Given what each feature contributes to the separation of the clusters, Witten and Tibshirani's rule
finds the weights that maximise the weighted sum under a bound on the one-norm. Only this rule and
the two ways to search its threshold live here; the alternation with k-means is in `ewp.sparse`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ewp.kernel import Array

__all__ = ["Search", "threshold_weights"]

Search = Literal["sparcl", "exact"]


def threshold_weights(between: Array, bound: float, search: Search = "sparcl") -> Array:
    r"""Weights that maximise the weighted between-cluster sum of squares under a one-norm bound.

    .. math:: \max_w \sum_l w_l a_l
        \quad\text{subject to}\quad \|w\|_2 \le 1,\; \|w\|_1 \le b,\; w_l \ge 0 .

    With :math:`S(a, \Delta) = \max(a - \Delta, 0)` the solution is

    .. math:: w = S(a_+, \Delta) / \|S(a_+, \Delta)\|_2 ,

    where :math:`\Delta = 0` if that meets the bound and otherwise is the threshold at which
    :math:`\|w\|_1 = b`.

    Parameters
    ----------
    between : ndarray of shape (p,)
        Between-cluster sum of squares of each feature, :math:`a`.
    bound : float
        Bound :math:`b \ge 1`; at :math:`\sqrt p` and above it has no effect.
    search : {"sparcl", "exact"}, default "sparcl"
        How to find the threshold. "sparcl" bisects between 0 and :math:`\max a - 10^{-5}`, at most
        15 times and until the interval is no longer than :math:`10^{-4}`: the weights of the R
        package sparcl. "exact" solves the quadratic equation of the right number of features.

    Returns
    -------
    ndarray of shape (p,)
        Weights; with "exact" they meet the bound to rounding.

    Raises
    ------
    ValueError
        When `bound` is below 1, or no feature differs between the clusters at all.

    Notes
    -----
    The tolerances of the bisection are absolute. Where the sums :math:`a` are large it stops after
    15 halvings, at :math:`2^{-15}` of their maximum; where they are small it hardly starts. So the
    two searches usually agree to 1e-4 or better, but differ by more when several features are
    close to the threshold, and on data of small scale (sums of squares of 0.01 and less) the
    bisection can miss the bound widely. Then use "exact", or rescale the data.

    When :math:`r > b^2` features share the largest sum exactly, no threshold meets the bound, and
    any weights on them with one-norm :math:`b` are optimal; "exact" gives each :math:`b / r`.

    References
    ----------
    Witten, D. M. and Tibshirani, R. (2010). A framework for feature selection in clustering.
    *Journal of the American Statistical Association* 105, 713-726.

    Examples
    --------
    >>> between = np.array([9.0, 8.0, 2.0, 0.5])
    >>> threshold_weights(between, bound=1.4, search="exact").round(4)
    array([0.8, 0.6, 0. , 0. ])
    >>> threshold_weights(between, bound=1.4, search="sparcl").round(4)
    array([0.8, 0.6, 0. , 0. ])
    """
    if not bound >= 1.0:
        raise ValueError(f"bound={bound} is below 1, which unit-length weights cannot meet")
    if search not in ("sparcl", "exact"):
        raise ValueError(f"search={search!r} is unknown; give 'sparcl' or 'exact'")
    a = np.maximum(np.asarray(between, dtype=np.float64), 0.0)
    length = float(np.linalg.norm(a))
    if length == 0.0:
        raise ValueError("no feature differs between the clusters; their weights are undefined")
    if float(np.sum(a / length)) <= bound:
        return a / length
    if search == "sparcl":
        return _soft(a, _bisect(a, bound))
    return _solve(a, bound)


def _soft(a: Array, threshold: float) -> Array:
    # Only positive sums can gain a weight, even if the threshold is negative.
    kept = np.where(a > 0.0, np.maximum(a - threshold, 0.0), 0.0)
    return kept / np.linalg.norm(kept)


def _bisect(a: Array, bound: float) -> float:
    low, high = 0.0, float(a.max()) - 1e-5
    for _ in range(15):
        if high - low <= 1e-4:
            break
        middle = (low + high) / 2.0
        if float(_soft(a, middle).sum()) < bound:
            high = middle
        else:
            low = middle
    return (low + high) / 2.0


def _solve(a: Array, bound: float) -> Array:
    r"""Weights with one-norm `bound`, from the quadratic equation of the m largest sums.

    With distances :math:`e_i = \max a - a_i` below the maximum, m features kept, mean
    :math:`\bar e` and :math:`V = \sum (e_i - \bar e)^2`, the kept parts :math:`a_i - \Delta` have
    mean t and squared length :math:`V + m t^2`, so that

    .. math:: m t = b \sqrt{V + m t^2} \iff t = b \sqrt{V / (m (m - b^2))} .
    """
    below = np.sort(a.max() - a)
    tied = int(np.count_nonzero(below == 0.0))
    if tied >= bound**2:
        return np.where(a == a.max(), bound / tied, 0.0)
    count = np.arange(1.0, len(a) + 1.0)
    mean = np.cumsum(below) / count
    spread = np.maximum(np.cumsum(below**2) - count * mean**2, 0.0)
    # The ratio of the norms with the threshold at the next sum grows with the number kept: the
    # first number at which it reaches the bound is the right one, and there is one.
    part = np.append(below[1:], a.max()) - mean
    reached = count * part >= bound * np.sqrt(spread + count * part**2)
    reached[: tied - 1], reached[-1] = False, True
    kept = int(np.argmax(reached)) + 1
    deviation = below[:kept] - below[:kept].mean()
    t = bound * np.sqrt(deviation @ deviation / (kept * (kept - bound**2)))
    weights = np.maximum(below[:kept].mean() + t - (a.max() - a), 0.0)
    return weights / np.linalg.norm(weights)
