r"""Is there more than one cluster? Held-out rows against a single mode.

A cloud without clusters can be cut into parts whose mixture describes it better than an ellipsoid
with the tails of t does: a cube, or a cloud with one hard edge, is no ellipsoid. So the parts are
held against every density with a single mode. Held-out rows are projected on one direction, found
on the training rows: of the discriminants, and of the directions that tell one cluster from all
others, the one in which the training rows speak most against a single mode. There the mixture that
the partition implies is compared with the better of a t distribution and a unimodal density, which
is the step function of largest likelihood (Grenander 1956) on intervals of equally many rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import isotonic_regression

from ewp.common.types import Array
from ewp.selection.density import Mixture, Projection, Scatter, log_t

__all__ = ["gain_over_one_mode", "unimodal_density"]

#: Intervals of the step function, as a multiple of the cubic root of the rows, and their bounds.
_INTERVALS, _FEWEST, _MOST = 2.5, 6, 40
#: Share of the rows whose shortest interval holds the mode.
_CORE = 0.25
#: What a t distribution has of the density beside the steps, at least, as rows outside the range
#: may come.
_TAILS = 0.02
#: Discriminants that are looked at.
_DISCRIMINANTS = 3
#: Variance added within the clusters, as a share of the total.
_RIDGE = 1e-6

LogDensity = Callable[[Array], Array]


def unimodal_density(x: Array, mass: Array) -> LogDensity | None:
    """Logarithm of a density with one mode, estimated from weighted values.

    Parameters
    ----------
    x, mass : ndarray of shape (n,)

    Returns
    -------
    callable or None
        None where there are too few different values.
    """
    order = np.argsort(x, kind="stable")
    x, mass = x[order], mass[order]
    total = float(mass.sum())
    count = int(np.clip(round(_INTERVALS * total ** (1 / 3)), _FEWEST, _MOST))
    below = (np.cumsum(mass) - 0.5 * mass) / total
    edges = np.unique(np.interp(np.linspace(0.0, 1.0, count + 1), below, x))
    if len(edges) <= _FEWEST // 2:
        return None
    inside = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    held = np.bincount(inside, mass, len(edges) - 1)
    width = np.diff(edges)
    height = held / total / width
    steps = max(
        (_steps_about(height, width, mode) for mode in _modes(below, x, edges)),
        key=lambda found: float(held @ np.log(np.maximum(found, np.finfo(float).tiny))),
    )
    center = mass @ x / total
    cloud = Scatter(np.sqrt(np.atleast_2d(mass @ (x - center) ** 2 / total)))
    tails = max(_TAILS, total**-0.5)

    def density(values: Array) -> Array:
        at = np.searchsorted(edges, values, side="right") - 1
        within = (at >= 0) & (at < len(steps))
        found = np.where(within, steps[np.clip(at, 0, len(steps) - 1)], 0.0)
        wide = np.exp(log_t(cloud.squared((values - center)[:, None]), cloud.log_det, 1))
        logs: Array = np.log((1.0 - tails) * found + tails * wide)
        return logs

    return density


def _modes(below: Array, x: Array, edges: Array) -> set[int]:
    """Intervals at and beside the middle of the shortest one that holds a quarter of the rows."""
    ends = np.interp(below + _CORE, below, x, right=np.inf) - x
    first = int(np.argmin(ends))
    middle = float(np.interp(below[first] + 0.5 * _CORE, below, x))
    at = int(np.clip(np.searchsorted(edges, middle, side="right") - 1, 0, len(edges) - 2))
    return {max(at - 1, 0), at, min(at + 1, len(edges) - 2)}


def _steps_about(height: Array, width: Array, mode: int) -> Array:
    """Heights that rise up to an interval and fall after it, and are closest to the given ones."""
    rising = isotonic_regression(height[: mode + 1], weights=width[: mode + 1]).x
    falling = isotonic_regression(height[mode:], weights=width[mode:], increasing=False).x
    top = max(rising[-1], falling[0])
    steps = np.concatenate([rising[:-1], [top], falling[1:]])
    return steps / float(steps @ width)


class _Axis(NamedTuple):
    """A direction, with the mixture along it and the best single cluster."""

    direction: Array
    mixture: Mixture
    single: LogDensity | None

    def gain(self, rows: Array) -> Array:
        """Log-density of rows under the mixture minus that under one cluster."""
        along = rows @ self.direction
        over_t = self.mixture.gain(along[:, None])
        if self.single is None:
            return over_t
        return over_t + self.mixture.log_single(along[:, None]) - self.single(along)


def gain_over_one_mode(projected: Projection) -> Array:
    """Held-out gains of single rows over one cluster, in the most telling direction.

    Parameters
    ----------
    projected : Projection
        Of the partition, from `ewp.selection.density.FoldDensity.project`.

    Returns
    -------
    ndarray of shape (m,)
    """
    train, labels, mass = projected.train, projected.labels, projected.mass
    best: tuple[float, _Axis | None] = (-np.inf, None)
    for direction in _directions(train, labels, mass):
        along = train @ direction
        size = np.bincount(labels, mass)
        mixture = Mixture.estimate(along[:, None], labels, mass, size)
        over_t = float(mass @ mixture.gain(along[:, None]))
        single = unimodal_density(along, mass)
        over_single = np.inf
        if single is not None:
            likelihood = mixture.log_single(along[:, None]) - single(along)
            # what the steps gain by their number, as in Akaike's criterion
            over_single = over_t + float(mass @ likelihood) + _FEWEST
        axis = _Axis(direction, mixture, single if over_single < over_t else None)
        told = min(over_t, over_single)
        if told > best[0]:
            best = told, axis
    if best[1] is None:
        return np.zeros(len(projected.test))
    return best[1].gain(projected.test)


def _directions(train: Array, labels: np.ndarray, mass: Array) -> list[Array]:
    """Discriminants, and directions that tell one cluster from all others, of unit deviation."""
    size = np.bincount(labels, mass)
    total, k = float(mass.sum()), len(size)
    member = np.zeros((k, len(labels)))
    member[labels, np.arange(len(labels))] = mass
    center = mass @ train / total
    means = (member @ train) / size[:, None] - center
    centred = train - center
    whole = (centred.T * mass) @ centred / total
    within = whole - (means.T * size) @ means / total
    within += _RIDGE * np.diag(np.maximum(np.diag(whole), np.finfo(float).tiny))
    found = []
    values, vectors = eigh(within)
    if values[0] > 0:
        _, axes = eigh(whole, within)
        found += list(axes.T[::-1][:_DISCRIMINANTS])
        if k > 2:
            found += list(np.linalg.solve(within, means.T).T)
    else:
        found.append(vectors[:, -1])
    scaled = []
    for one in found:
        deviation = float(np.sqrt(mass @ (centred @ one) ** 2 / total))
        if np.isfinite(deviation) and deviation > 0:
            scaled.append(one / deviation)
    return scaled
