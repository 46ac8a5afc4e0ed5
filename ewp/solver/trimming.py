r"""Trimming: fits in which the rows farthest from all centroids have no say.

A single row far from all others can take a centroid of its own, and with it the weights. A trimmed
fit leaves out the share :math:`\alpha` of the rows (by weight) that are farthest from their nearest
centroid, and minimises the objective of the others, the core:

.. math:: \min_{H, \Theta, w} \sum_{i \in H} \min_j d_w(x_i, \theta_j)
    + \lambda \sum_l w_l \log(w_l / \pi_l), \qquad |H| = \lceil (1 - \alpha) n \rceil .

Given centroids and weights the best core is the nearest rows, given the core a fit is one like any
other, so the two in turn descend (concentration steps). The first core comes from trimmed k-means
on features divided by their interquartile ranges, from many starts on rows drawn at random: with
bounded influence from the beginning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ewp.common.types import Array
from ewp.engine.array import ArrayEngine
from ewp.engine.kernel import hard_sums
from ewp.solver.fit import Fit, FitOptions, WarmStart, fit_engine

__all__ = ["Trimmed", "first_core", "fit_trimmed", "trimming_share"]

_NAME = "trim"
#: Share of the rows that "trim" alone leaves out, and the largest: half of the rows must agree.
_SHARE, _LARGEST = 0.1, 0.5
#: Starts of the search for the first core, their steps, how many of them go on, and for how long.
_STARTS, _FEW_STEPS, _KEPT, _MOST_STEPS = 60, 3, 5, 50
#: Rows on which that search is made; a sample stands for more.
_SEARCHED = 5000
#: A step that gains less than this part of the sum of squares is the last.
_ENOUGH = 1e-9
#: Concentration steps of a fit.
_MOST_ROUNDS = 20
#: Interquartile range of a normal distribution, in standard deviations.
_QUARTILES = 1.349


class Trimmed(NamedTuple):
    """A fit to its core.

    Attributes
    ----------
    found : Fit
    kept : ndarray of bool, shape (n,)
        Rows of the core.
    distance : ndarray of shape (n,)
        Squared weighted distance of every row to its nearest centroid.
    objectives : tuple of float
        Objectives after every concentration step.
    """

    found: Fit
    kept: np.ndarray
    distance: Array
    objectives: tuple[float, ...]


def trimming_share(robust: Any) -> float | None:
    """Return the share of the rows that is trimmed, None for a fit to all rows.

    >>> trimming_share("trim"), trimming_share("trim:0.25"), trimming_share(None)
    (0.1, 0.25, None)
    """
    if robust is None:
        return None
    if robust == _NAME:
        return _SHARE
    share = math.nan
    if isinstance(robust, str) and robust.startswith(f"{_NAME}:"):
        try:
            share = float(robust.removeprefix(f"{_NAME}:"))
        except ValueError:
            share = math.nan
    if not 0.0 < share < _LARGEST:
        raise ValueError(
            f'robust={robust!r} must be None, "trim" (the farthest {100 * _SHARE:g} % of the rows '
            'are left out) or such as "trim:0.2", with a share above 0 and below 0.5'
        )
    return share


def core_of(distance: Array, mass: Array | None, share: float) -> np.ndarray:
    """Which rows are kept: the nearest, until at most a share of the weight is left.

    Parameters
    ----------
    distance : ndarray of shape (n,)
    mass : ndarray of shape (n,) or None
        Weights of the rows; those of weight zero are not kept.
    share : float
    """
    farthest = np.argsort(-distance, kind="stable")
    weight = np.ones(len(distance)) if mass is None else mass
    trimmed = np.cumsum(weight[farthest]) <= share * weight.sum() * (1.0 + 1e-12)
    kept = np.ones(len(distance), dtype=bool)
    kept[farthest[trimmed]] = False
    return kept & (weight > 0)


def _standardised(X: Array) -> Array:
    """Features about their medians in units of interquartile ranges, 0 for missing values.

    Where half of a column is one value, in units of its standard deviation.
    """
    Z = X - np.nanmedian(X, axis=0)
    Z[np.isnan(Z)] = 0.0
    low, high = np.quantile(Z, [0.25, 0.75], axis=0)
    scale = (high - low) / _QUARTILES
    scale = np.where(scale > 0, scale, Z.std(axis=0))
    Z /= np.where(scale > 0, scale, 1.0)
    return Z


def _nearest(Z: Array, theta: Array) -> tuple[np.ndarray, Array]:
    """Nearest centroid of every row, and the squared distance to it."""
    distance = -2.0 * (Z @ theta.T)
    distance += np.einsum("jl,jl->j", theta, theta)
    label = distance.argmin(axis=1)
    nearest = distance[np.arange(len(Z)), label] + np.einsum("il,il->i", Z, Z)
    return label, np.maximum(nearest, 0.0)


def _concentrate(
    Z: Array, weight: Array, theta: Array, share: float, steps: int
) -> tuple[float, Array]:
    """Steps of trimmed k-means: the sum of squares of the core, and the centroids."""
    total = math.inf
    for step in range(steps + 1):
        label, nearest = _nearest(Z, theta)
        kept = core_of(nearest, weight, share)
        before, total = total, float(weight[kept] @ nearest[kept])
        if step == steps or total >= before * (1.0 - _ENOUGH):
            break
        sums = hard_sums(label, len(theta), weight * kept, Z)
        mass = np.bincount(label, weight * kept, len(theta))[:, None]
        theta = np.divide(sums, mass, out=theta.copy(), where=mass > 0)
    return total, theta


def first_core(
    X: Array,
    mass: Array | None,
    k: int,
    share: float,
    used: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Which rows the search for a trimmed fit begins with.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        NaN for missing values, which are taken as the median.
    mass : ndarray of shape (n,) or None
    k : int
    share : float
    used : ndarray of bool, shape (p,)
        Features that count.
    rng : Generator

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    weight = np.ones(len(X)) if mass is None else mass
    counting = np.flatnonzero(weight > 0)
    Z = _standardised(X[np.ix_(counting, used)])
    weight = weight[counting]
    # in an order that does not depend on that of the rows, so that what is drawn does not either
    order = np.lexsort(Z.T[::-1])
    Z, weight, counting = Z[order], weight[order], counting[order]
    searched: np.ndarray = np.arange(len(Z))
    if len(Z) > _SEARCHED:
        searched = np.sort(rng.choice(len(Z), _SEARCHED, replace=False))
    part, of_part = Z[searched], weight[searched]
    starts = [part[rng.choice(len(part), min(k, len(part)), replace=False)] for _ in range(_STARTS)]
    begun = [_concentrate(part, of_part, theta, share, _FEW_STEPS) for theta in starts]
    begun.sort(key=lambda one: one[0])
    ended = [_concentrate(Z, weight, theta, share, _MOST_STEPS) for _, theta in begun[:_KEPT]]
    _, theta = min(ended, key=lambda one: one[0])
    kept = np.zeros(len(X), dtype=bool)
    kept[counting] = core_of(_nearest(Z, theta)[1], weight, share)
    return kept


def fit_trimmed(
    engine: ArrayEngine,
    mass: Array | None,
    share: float,
    options: FitOptions,
    rng: np.random.Generator,
    *,
    known: Sequence[WarmStart] = (),
    on_step: Callable[[int], None] | None = None,
) -> Trimmed:
    """Fit to a core and find the core of the fit, in turn, until it stays.

    Parameters
    ----------
    engine : ArrayEngine
        All rows; weights of zero for those that are not in the first core.
    mass : ndarray of shape (n,) or None
        Weights of the rows, trimmed or not.
    share : float
        Share of the weight that is trimmed.
    options, rng, known, on_step
        As in `ewp.solver.fit.fit_engine`.
    """
    assert engine.sample_weight is not None
    kept = engine.sample_weight > 0
    objectives: list[float] = []
    for _ in range(_MOST_ROUNDS):
        found = fit_engine(engine, options, rng, known=known, on_step=on_step)
        objectives.append(found.solution.objective)
        theta = engine.to_engine_units(found.centroids)
        exact = engine.in_double()
        distance = exact.assign(theta, found.weights)[1]
        nearest = core_of(distance, mass, share)
        if (nearest == kept).all() or len(objectives) == _MOST_ROUNDS:
            break
        kept = nearest
        engine = engine.reweighted(np.where(kept, 1.0 if mass is None else mass, 0.0))
        # sums of squares of the new core about the old centroids are what its weights come from
        about = engine.in_double().deviations(
            engine.to_engine_units(found.centroids), found.weights
        )
        known = [WarmStart(found.centroids, about.squares * engine.scale**2)]
    return Trimmed(found, kept, distance, tuple(objectives))
