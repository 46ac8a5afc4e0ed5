"""Runs that are fitted in common passes: what each of them is, its rule for the weights, its end.

Runs differ in the penalty, the scaling and form of the weights, and in which rows count. Their rule
is made of the sums of squares and of the prior of their own rows. How they are fitted is in
`ewp.solver.batch`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ewp.common.types import Array
from ewp.data.canonical import block_rows
from ewp.engine.base import RowEngine, RowMass
from ewp.engine.bregman import BregmanEngine
from ewp.solver.weights import RelativeEntropy

__all__ = ["FittedRuns", "Runs", "make_rule"]

#: Columns that vary in a part of the rows by less than this share of what they do in all may not
#: vary there at all.
_SUSPICIOUS = 1e-6
#: Distances of so many pairs of a row and a centroid are held at once.
_PAIRS_AT_ONCE = 2**20


@dataclass(frozen=True)
class Runs:
    """What is fitted: one entry per run.

    Attributes
    ----------
    lam : ndarray of shape (runs,)
        Penalty for the rows of the run.
    standardise, between : ndarray of bool, shape (runs,)
        Scaling and form.
    critical : ndarray of shape (runs,)
        Critical exponents, from which runs begin unless the options say otherwise.
    seed : ndarray of int, shape (runs,)
        Runs of one seed have the same random numbers.
    group : ndarray of int, shape (runs,)
        Runs of one group, next to each other, differ in the penalty only.
    mass : RowMass
        Weights of the rows.
    """

    lam: Array
    standardise: np.ndarray
    between: np.ndarray
    critical: Array
    seed: np.ndarray
    group: np.ndarray
    mass: RowMass

    def __len__(self) -> int:
        return len(self.lam)

    def take(self, which: np.ndarray) -> Runs:
        """Return some of the runs."""
        return Runs(
            self.lam[which],
            self.standardise[which],
            self.between[which],
            self.critical[which],
            self.seed[which],
            self.group[which],
            self.mass.take(which),
        )


@dataclass(frozen=True)
class FittedRuns:
    """Where runs ended, in the engine's coordinates.

    Attributes
    ----------
    theta : ndarray of shape (runs, k, p)
    weights : ndarray of shape (runs, p)
    metric : ndarray of shape (runs, p)
        Diagonals of the metrics: the weights in the run's own scaling of the features.
    objective : ndarray of shape (runs,)
    converged : ndarray of bool, shape (runs,)
    """

    theta: Array
    weights: Array
    metric: Array
    objective: Array
    converged: np.ndarray

    @property
    def mean_weights(self) -> Array:
        """Weights, (runs, p), on average where every cluster has its own."""
        return self.weights

    def labels(self, engine: RowEngine) -> np.ndarray:
        """Nearest centroids of all rows in every run, a (runs, n) array."""
        runs, k, _ = self.theta.shape
        found = np.empty((runs, engine.n), dtype=np.min_scalar_type(k - 1))
        lengths = engine.lengths_of_runs(self.metric)
        size = max(_PAIRS_AT_ONCE // (k * engine.n), 1)
        for start in range(0, runs, size):
            part = slice(start, start + size)
            distance = engine.distances_of_runs(self.theta[part], self.metric[part], lengths[part])
            found[part] = distance.argmin(axis=1)
        return found


def _squares(engine: RowEngine, table: Array) -> Array:
    """Dispersions of the columns about their means, under some weights of the rows.

    Sums of squares, or of divergences. Of observed values where some are missing, as shares of the
    rows in which these are, in all.
    """
    if isinstance(engine, BregmanEngine):
        return engine.dispersions(table)
    sums, squares = np.zeros((2, len(table), engine.p))
    size = block_rows(engine.p, 1)
    for start in range(0, engine.n, size):
        rows = slice(start, min(start + size, engine.n))
        block = engine.rows(rows)
        sums += table[:, rows] @ block
        block *= block
        squares += table[:, rows] @ block
    seen = _observed(engine, table)
    squares -= np.divide(sums**2, seen, out=np.zeros_like(sums), where=seen > 0)
    return np.maximum(squares, 0.0, out=squares)


def _observed(engine: RowEngine, table: Array) -> Array:
    """Weight of the rows in which columns are observed, (m, p), or (m, 1) if all is."""
    total = table.sum(axis=1)[:, None]
    if not engine.missingness:
        return total
    columns = engine.missingness.columns
    seen = np.repeat(total, engine.p, axis=1)
    seen[:, columns] = 0.0
    size = block_rows(engine.p, 1)
    for start in range(0, engine.n, size):
        rows = slice(start, min(start + size, engine.n))
        seen[:, columns] += table[:, rows] @ engine.marked_rows(rows)[:, engine.p :]
    return seen


def _prior(engine: RowEngine, table: Array, squares: Array, prior: Array | None) -> Array:
    """Prior of every row weighting: without the columns that do not vary there."""
    given = np.where(engine.varying, 1.0, 0.0) if prior is None else prior
    if not given.any():
        given = np.ones(engine.p)
    found = np.tile(given, (len(table), 1))
    share = (table.sum(axis=1) / engine.total)[:, None]
    suspicious = engine.varying & (squares <= _SUSPICIOUS * share * engine.squares)
    for m, column in zip(*np.nonzero(suspicious), strict=True):
        values = engine.X[table[m] > 0, column]
        values = values[~np.isnan(values)]
        if (values == values[:1]).all():
            found[m, column] = 0.0
    nothing = ~found.any(axis=1)
    found[nothing] = given
    return found


def make_rule(engine: RowEngine, runs: Runs, prior: Array | None) -> RelativeEntropy:
    """Return the rule of some runs, whose options have this prior."""
    table, index = runs.mass.table, runs.mass.index
    squares = _squares(engine, table)
    found = _prior(engine, table, squares, prior)
    units = None
    if runs.standardise.any() or engine.missingness:
        total = table.sum(axis=1)[:, None]
        own = np.divide(total, squares, out=np.ones_like(squares), where=squares > 0)
        raw = np.ones_like(squares)
        if engine.missingness:
            # the shares that are observed in these rows, in the place of those in all
            seen = _observed(engine, table)
            share = total * engine.missingness.share
            np.divide(share, seen, out=raw, where=seen > 0)
        units = np.where(runs.standardise[:, None], own[index], raw[index])
    return RelativeEntropy.of_runs(runs.lam, squares[index], found[index], runs.between, units)
