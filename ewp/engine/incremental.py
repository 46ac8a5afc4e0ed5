"""Hard steps of one run, each from what the step before has left.

At s = -inf an MM step needs the nearest centroid of every row and the sums of the rows of every
cluster. With a small penalty most features hardly count: distances in the few that do tell the
nearest centroid of nearly every row, and a bound on the rest tells which rows have to be measured
in all features. From one step to the next few rows change their cluster, and only those change the
sums. So a step costs what has changed, and finds the labels that a pass over everything finds, but
for rows between centroids that only rounding errors tell apart. The working set of features is
chosen anew in every step, and nothing is ever out of date.
"""

from __future__ import annotations

import math

import numpy as np

from ewp.common.types import Array
from ewp.data.canonical import block_rows
from ewp.engine.base import RowEngine, RowMass
from ewp.engine.kernel import block_distances, hard_sums
from ewp.engine.precision import PRECISION
from ewp.engine.statistics import Metric, Statistics, StepFunction, Workspace

__all__ = ["IncrementalHardStep"]

#: Features with less than this share of the metric's spread are left out of the distances.
_NEGLIGIBLE = 1e-7
#: Features are left out if no more than this share of them is left.
_WORTHWHILE = 0.25
#: A pass over everything is as fast when more rows than this share must be measured.
_FEW_UNCLEAR = 0.5
#: The sums are made anew when more rows than this share have changed.
_FEW_CHANGED = 0.2


class IncrementalHardStep:
    """Statistics of the steps of one run on data in memory.

    Parameters
    ----------
    engine : RowEngine
        With a centred copy of its data, none of which is missing.
    every : callable, optional
        Statistics of all other steps, the engine's own if not given.
    """

    def __init__(self, engine: RowEngine, every: StepFunction | None = None) -> None:
        assert engine.prepared is not None
        self._engine, self._every = engine, every or engine.statistics
        self._rows = engine.prepared
        self._mass = np.ones(engine.n) if engine.sample_weight is None else engine.sample_weight
        self._used = np.zeros(engine.p, dtype=bool)
        self._narrow: RowEngine | None = None
        self._labels: np.ndarray | None = None
        self._sums: Array | None = None

    def statistics(
        self, theta: Array, weights: Array, s: Array, mass: RowMass | None = None
    ) -> Statistics:
        """Sufficient statistics of one MM step, see `ewp.engine.base.Engine.statistics`."""
        engine = self._engine
        if len(s) == 1 and mass is None and math.isinf(s[0]):
            share = engine.squares * weights[0]
            used = share > _NEGLIGIBLE * share.sum()
            if 0 < np.count_nonzero(used) <= _WORTHWHILE * engine.p:
                found = self._hard(theta[0], weights[0], used)
                if found is not None:
                    return found
        return self._every(theta, weights, s, mass)

    def _hard(self, theta: Array, weights: Array, used: np.ndarray) -> Statistics | None:
        """Statistics of a hard step; None if a pass over everything is as fast."""
        engine = self._engine
        if self._narrow is None or (used & ~self._used).any():
            self._used = used
            self._narrow = engine.with_columns(np.flatnonzero(used))
        used, narrow = self._used, self._narrow
        metric = narrow.metric(theta[None, :, used], weights[None, used])
        labels, nearest, gap = narrow.two_nearest(metric.theta[0], metric.weights[0])
        gap -= nearest
        # what cannot be compared is unclear too
        unclear = np.flatnonzero(~(gap > self._slack(theta, weights, metric)))
        if len(unclear) > _FEW_UNCLEAR * engine.n:
            return None
        if len(unclear):
            whole = engine.metric(theta[None], weights[None])
            self._measure(unclear, labels, nearest, whole, metric)
        k = len(theta)
        sums = self._update_sums(labels, k)
        mass = np.bincount(labels, self._mass, k).astype(float)
        sums[mass == 0.0] = 0.0  # not what rounding has left there
        # the objective's share of the features left out, from the sums
        outside = engine.squares - 2.0 * np.einsum("jl,jl->l", theta, sums) + mass @ theta**2
        outside[used] = 0.0
        power = float(self._mass @ nearest) + float(np.maximum(outside, 0.0) @ weights)
        return Statistics(
            sums[None],
            mass[None],
            engine.squares[None].copy(),
            np.array([power]),
            np.array([power]),
            np.zeros(1),
            np.zeros((1, k, 0)),
        )

    def _slack(self, theta: Array, weights: Array, metric: Metric) -> Array:
        """How much the features left out can change between two centroids, for every row.

        By the inequality of Cauchy and Schwarz, from the largest centroid and from the rows'
        lengths in units of the columns' standard deviations; and rounding errors.
        """
        engine = self._engine
        rest = np.where(self._used, 0.0, weights)
        length = float((theta**2 @ rest).max())
        heaviest = float((rest * engine.squares).max()) / engine.total
        # roots before products, which might vanish or overflow
        slack = np.sqrt(engine.row_lengths) * (4.0 * np.sqrt(heaviest) * np.sqrt(length)) + length
        assert self._narrow is not None
        lengths = self._narrow.lengths(metric.weights[0])
        slack += PRECISION[engine.dtype].slack * (lengths + metric.longest[0])
        return slack

    def _measure(
        self, rows: np.ndarray, labels: np.ndarray, nearest: Array, whole: Metric, part: Metric
    ) -> None:
        """Find the nearest centroids of some rows in all features, in place."""
        engine, narrow = self._engine, self._narrow
        assert narrow is not None
        k = whole.k
        size = block_rows(engine.p, k)
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            block = self._rows[some]
            work = Workspace(len(block), engine.p, k, dtype=engine.dtype)
            (distance,), _ = block_distances(block, whole, work)
            labels[some] = distance.argmin(axis=0)
            block = narrow.rows(some).astype(narrow.dtype, copy=False)
            work = Workspace(len(block), narrow.p, k, dtype=narrow.dtype)
            (distance,), _ = block_distances(block, part, work)
            nearest[some] = distance[labels[some], np.arange(len(some))]

    def _update_sums(self, labels: np.ndarray, k: int) -> Array:
        """Sums of the rows of every cluster, from those of the step before."""
        before, self._labels = self._labels, labels
        changed = None if before is None else np.flatnonzero(labels != before)
        if changed is None or len(changed) > _FEW_CHANGED * len(labels):
            self._sums = hard_sums(labels, k, self._mass, self._rows)
        elif len(changed):
            assert before is not None
            assert self._sums is not None
            rows, mass = self._rows[changed], self._mass[changed]
            joined = hard_sums(labels[changed], k, mass, rows)
            self._sums = self._sums + (joined - hard_sums(before[changed], k, mass, rows))
        assert self._sums is not None
        return self._sums
