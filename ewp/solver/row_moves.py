"""Moves of single rows between clusters, in some runs at once.

Where no row is nearer to another centroid than to its own, moving one may still lower the
objective: the row pulls the mean of its own cluster towards itself, and would pull that of another
one too (Hartigan and Wong's criterion). The more features there are a row and the fewer rows a
cluster, the more such moves are left where Lloyd's iteration ends. Weights follow after every pass.
"""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

import numpy as np

from ewp.common.types import Array
from ewp.engine.base import Engine, RowEngine
from ewp.engine.divergence import SQUARED_EUCLIDEAN
from ewp.solver.polish import distinct_rows
from ewp.solver.weights import WeightRule

__all__ = ["Ends", "RowMoves", "rows_can_move"]

#: Largest copy of the rows.
_MOST_BYTES = 16 * 2**20
#: Distances of so many pairs of a row and a centroid are held at once.
_PAIRS_AT_ONCE = 2**20
#: Part of the weighted sum of squares a row by which a move must help.
_HELPS = 1e-10
#: Shape of the gamma distribution of random weights.
_SHAPE = 0.3
#: Passes over the rows.
_PASSES = 60


class Ends(NamedTuple):
    """Where some runs ended: centroids (runs, k, p), weights (runs, p) and objectives (runs,)."""

    theta: Array
    weights: Array
    objective: Array

    def take(self, runs: np.ndarray) -> Ends:
        """Return some of the runs."""
        return Ends(*(part[runs] for part in self))

    def join(self, others: Ends) -> Ends:
        """Return these runs and others after them."""
        return Ends(*(np.concatenate(both) for both in zip(self, others, strict=True)))


class _State(NamedTuple):
    """Labels of the rows in some runs, sums and weights of the clusters, and what follows."""

    labels: np.ndarray
    size: Array
    sums: Array
    weights: Array
    objective: Array

    def take(self, runs: np.ndarray) -> _State:
        """Return some of the runs."""
        return _State(*(part[runs] for part in self))

    def replace(self, runs: np.ndarray, others: _State) -> None:
        for part, other in zip(self, others, strict=True):
            part[runs] = other

    @property
    def theta(self) -> Array:
        size = np.where(self.size > 0.0, self.size, 1.0)
        found: Array = self.sums / size[..., None]
        return found


def rows_can_move(engine: Engine, k: int) -> TypeGuard[RowEngine]:
    """Whether the rows are in memory, complete and few enough to be copied."""
    return (
        k > 1
        and isinstance(engine, RowEngine)
        and engine.sample_for_starts(k) is engine
        and engine.divergence is SQUARED_EUCLIDEAN
        and not engine.missingness
        and 8 * engine.n * engine.p <= _MOST_BYTES
    )


class RowMoves:
    """Distinct rows in canonical order, equal ones moving as one.

    Parameters
    ----------
    engine : RowEngine
        For which `rows_can_move`.
    rule : WeightRule
        The same in all runs.
    """

    def __init__(self, engine: RowEngine, rule: WeightRule) -> None:
        rows, mass = distinct_rows(engine)
        self.X = engine.rows(rows).astype(float, copy=False)
        self.mass = np.ones(len(rows)) if mass is None else mass
        self._rule = rule
        self._squares = self.mass @ self.X**2
        self._squared = self.X**2
        self._order = np.argsort(self.mass @ np.abs(self.X) ** 3, kind="stable")

    def random_weights(self, runs: int, rng: np.random.Generator) -> Array:
        """Weights on the features most of which are small: gamma numbers, normalised.

        They are drawn in an order of the features that depends on their values only.
        """
        weights = np.zeros((runs, self.X.shape[1]))
        weights[:, self._order] = rng.gamma(_SHAPE, size=weights.shape)
        weights *= self._rule.start()
        total = weights.sum(axis=1, keepdims=True)
        return np.where(
            total > 0.0, weights / np.where(total > 0.0, total, 1.0), self._rule.start()
        )

    def distances(self, theta: Array, metric: Array) -> Array:
        """Squared distances of all rows to the centroids of some runs, (runs, k, rows)."""
        runs, k, p = theta.shape
        folded = theta * metric[:, None, :]
        found: Array = (folded.reshape(-1, p) @ self.X.T).reshape(runs, k, -1)
        found *= -2.0
        found += np.einsum("bjl,bjl->bj", folded, theta)[..., None]
        found += (metric @ self._squared.T)[:, None, :]
        return np.maximum(found, 0.0, out=found)

    def descend(self, theta: Array, weights: Array, *, steps: int = 0) -> Ends:
        """Move rows as long as the objective falls.

        Parameters
        ----------
        theta : ndarray of shape (runs, k, p)
        weights : ndarray of shape (runs, p)
        steps : int
            Passes in which all rows go to their nearest centroids, before single rows are weighed.
        """
        at_once = max(_PAIRS_AT_ONCE // (theta.shape[1] * len(self.X)), 1)
        parts = [
            self._descend(theta[start : start + at_once], weights[start : start + at_once], steps)
            for start in range(0, len(theta), at_once)
        ]
        return Ends(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _descend(self, theta: Array, weights: Array, steps: int) -> Ends:
        runs, k, _ = theta.shape
        labels = self.distances(theta, self._rule.metric(weights)).argmin(axis=1)
        ended = self._summed(labels, k)
        state, alive = ended.take(np.arange(runs)), np.arange(runs)
        careful = np.zeros(runs, dtype=bool)
        for step in range(steps + _PASSES):
            gain, to = self._gains(state, single=step >= steps)
            least = _HELPS * (self._rule.metric(state.weights) @ self._squares) / self.mass.sum()
            gain[gain <= least[:, None] * self.mass] = 0.0
            going = np.any(gain > 0.0, axis=1) | np.full(len(gain), step < steps)
            ended.replace(alive[~going], state.take(~going))
            if not going.any():
                return Ends(ended.theta, ended.weights, ended.objective)
            state, alive, careful = state.take(going), alive[going], careful[going]
            gain, to = gain[going], to[going]
            moved = gain > 0.0
            for b in np.flatnonzero(careful):
                moved[b] = _apart(gain[b], state.labels[b], to[b], k)
            if step < steps:
                state = self._summed(np.where(moved, to, state.labels), k)
                continue
            new = self._moved(state, moved, to)
            # together they may undo one another: then one a cluster, from here on
            for b in np.flatnonzero(~careful & (new.objective >= state.objective)):
                careful[b] = True
                moved[b] = _apart(gain[b], state.labels[b], to[b], k)
                one = np.array([b])
                new.replace(one, self._moved(state.take(one), moved[one], to[one]))
            state = new
        ended.replace(alive, state)
        return Ends(ended.theta, ended.weights, ended.objective)

    def _gains(self, state: _State, *, single: bool) -> tuple[Array, np.ndarray]:
        """What a move of every row to the best other cluster gains, and that cluster.

        The row's part in the means counts if rows move singly.
        """
        distance = self.distances(state.theta, self._rule.metric(state.weights))
        labels = state.labels
        own = np.take_along_axis(distance, labels[:, None, :], 1)[:, 0]
        if single:
            size = np.take_along_axis(state.size, labels, 1)
            rest = size - self.mass
            # a row that is alone in its cluster stays
            alone = rest <= _HELPS * size
            own *= np.where(alone, 0.0, size / np.where(alone, 1.0, rest))
            distance *= state.size[..., None] / (state.size[..., None] + self.mass)
        np.put_along_axis(distance, labels[:, None, :], np.inf, 1)
        own -= distance.min(axis=1)
        own *= self.mass
        return own, distance.argmin(axis=1)

    def _summed(self, labels: np.ndarray, k: int) -> _State:
        """Sums over the clusters of partitions, weights and objectives."""
        member = (labels[:, None, :] == np.arange(k)[:, None]) * self.mass
        sums = (member.reshape(-1, len(self.X)) @ self.X).reshape(len(labels), k, -1)
        return self._weighed(labels, member.sum(axis=2), sums)

    def _moved(self, state: _State, moved: np.ndarray, to: np.ndarray) -> _State:
        """The state after some rows have moved."""
        labels = np.where(moved, to, state.labels)
        size, sums = state.size.copy(), state.sums.copy()
        run, row = np.nonzero(moved)
        mass = self.mass[row]
        rows = self.X[row] * mass[:, None]
        before, after = (run, state.labels[run, row]), (run, to[run, row])
        np.subtract.at(size, before, mass)
        np.add.at(size, after, mass)
        np.subtract.at(sums, before, rows)
        np.add.at(sums, after, rows)
        return self._weighed(labels, size, sums)

    def _weighed(self, labels: np.ndarray, size: Array, sums: Array) -> _State:
        """Weights that are best at partitions, and the objectives there."""
        each = np.where(size > 0.0, size, 1.0)
        dispersion = self._squares - np.einsum("bjl,bjl,bj->bl", sums, sums, 1.0 / each)
        np.maximum(dispersion, 0.0, out=dispersion)
        weights = self._rule.update(dispersion.copy())
        fitted = np.einsum("bl,bl->b", self._rule.metric(weights), dispersion)
        return _State(labels, size, sums, weights, fitted + self._rule.penalty(weights))


def _apart(gain: Array, labels: np.ndarray, to: np.ndarray, k: int) -> np.ndarray:
    """Which rows move if every cluster loses or gets one row at most, the most useful first."""
    moved = np.zeros(len(gain), dtype=bool)
    touched = np.zeros(k, dtype=bool)
    useful = np.flatnonzero(gain > 0.0)
    for i in useful[np.argsort(-gain[useful], kind="stable")]:
        if not (touched[labels[i]] or touched[to[i]]):
            touched[[labels[i], to[i]]] = moved[i] = True
    return moved
