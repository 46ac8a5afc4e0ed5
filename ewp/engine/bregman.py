r"""Rows whose columns have divergences of their own: counts, shares, positive amounts.

Rows stay in data units, but for columns with squared differences, which are centred. What stands in
the place of the sum of squares of a column is its dispersion about its mean, in its own divergence;
"standard" divides that by its mean over the rows, so that every column has the same. Potentials of
rows that are kept are computed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from ewp.common.types import Array
from ewp.data.canonical import block_rows, column_means, column_squares, sample_by_hash
from ewp.engine.array import ArrayEngine, Block
from ewp.engine.base import Deviations, RowMass
from ewp.engine.divergence import ColumnDivergence
from ewp.engine.families import FAMILIES
from ewp.engine.kernel import hard_sums
from ewp.engine.statistics import StepFunction, Workspace

__all__ = ["BregmanEngine"]

#: Potentials up to this size are kept: logarithms take longer than reading them.
_POTENTIAL_BYTES = 2**28


class BregmanEngine(ArrayEngine):
    """Rows of an array, with a family of divergences for every column.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Complete rows in the domains of their columns.
    sample_weight : ndarray of shape (n,) or None
    names : tuple of str
        Names of the families, one a column.
    scale : "standard" or None
        Whether the dispersion of every column is divided by its mean over the rows.
    n_jobs : int or None
    divergence : ColumnDivergence or None
        That of other rows in whose coordinates these are; estimated from the rows if None.
    center : ndarray of shape (p,) or None
        The center that belongs to it.
    """

    X: Array
    divergence: ColumnDivergence

    def __init__(
        self,
        X: Array,
        sample_weight: Array | None = None,
        *,
        names: tuple[str, ...],
        scale: str | None = None,
        n_jobs: int | None = None,
        divergence: ColumnDivergence | None = None,
        center: Array | None = None,
    ) -> None:
        self.names = names
        squared = np.array(names) == "euclidean"
        means = column_means(X, sample_weight)
        if center is None:
            center = np.where(squared, means, 0.0)
        self._potentials: Array | None = None
        super().__init__(X, sample_weight, center=center, scale=None, n_jobs=n_jobs)
        if self.prepared is None and not center.any() and X.flags.c_contiguous:
            # the rows are what they are in the engine's coordinates
            self.prepared = X
        self._variances = column_squares(X, sample_weight, means) / self.total
        self._means = means
        if divergence is None:
            mean = np.where(squared, 0.0, means)
            light = 1.0 if sample_weight is None else sample_weight[sample_weight > 0].min()
            ends = _distances_to_ends(X, names)
            divergence = ColumnDivergence.estimate(names, mean, *ends, self.total / light)
        self.divergence = divergence
        self._sum_potentials()
        if scale is not None:
            units = np.divide(self.total, self.squares, out=np.ones(self.p), where=self.squares > 0)
            self.divergence = divergence.with_units(units)
            self._sum_potentials()

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (self.X, self.sample_weight, self.names, self.n_jobs)
        return _rebuild, (*arguments, self.divergence, self.center)

    def _sum_potentials(self) -> None:
        """Potentials of the rows, if these are kept, and their sums."""
        self.squares = np.zeros(self.p)
        mass = np.ones(self.n) if self.sample_weight is None else self.sample_weight
        small = 8 * self.n * self.p <= _POTENTIAL_BYTES
        kept = np.empty((self.n, self.p)) if small else None
        for rows in self._slices(block_rows(self.p, 1)):
            found = self.divergence.potential(self.rows(rows))
            self.squares += mass[rows] @ found
            if kept is not None:
                kept[rows] = found
        self._potentials = kept

    # -- what sums of squares are made of elsewhere --------------------------------------------

    @property
    def column_deviations(self) -> Array:
        """Standard deviations of the features in data units, 0 for constant ones."""
        found: Array = np.sqrt(self._variances)
        return found

    @property
    def means(self) -> Array:
        """Means of the features in data units."""
        return self._means

    @property
    def movement_units(self) -> Array:
        """What squared movements of centroids are multiplied by, see `Engine.movement_units`."""
        varying = self.squares > 0
        curvature = np.where(varying, self.divergence.curvature, 0.0)
        found: Array = 0.5 * curvature * self.total / np.where(varying, self.squares, 1.0)
        return found

    @property
    def dispersion_divisors(self) -> Array:
        """What dispersions are divided by, see `Engine.dispersion_divisors`."""
        found: Array = 1.0 / self.divergence.units
        return found

    def tangents(self, rows: slice) -> Array:
        """Differences from the mean, see `RowEngine.tangents`."""
        curvature = np.where(self.squares > 0, self.divergence.curvature, 0.0)
        found: Array = (self.rows(rows) - self.divergence.mean) * np.sqrt(0.5 * curvature)
        return found

    def dispersions(self, table: Array) -> Array:
        """Dispersions of the columns about their means, see `RowEngine.dispersions`."""
        sums, potentials = np.zeros((2, len(table), self.p))
        for rows in self._slices(block_rows(self.p, 1)):
            sums += table[:, rows] @ self.rows(rows)
            potentials += table[:, rows] @ self.potentials(rows)
        total = table.sum(axis=1)
        exact = self.divergence.without_search()
        means = sums / total[:, None]
        found = exact.dispersion(potentials, sums[:, None], total[:, None], means[:, None])
        return np.maximum(found, 0.0)

    def to_data_units(self, centroids: Array) -> Array:
        """Translate centroids to data units, inside of the domains also where rounding errs."""
        families = [FAMILIES[name] for name in self.names]
        lower, upper = np.array([(family.lower, family.upper) for family in families]).T
        return np.clip(super().to_data_units(centroids), lower, upper)

    def seeds(self, index: np.ndarray) -> Array:
        """Centroids to start from at some rows, inside of the domains."""
        return self.divergence.seed(self.rows(index))

    # -- passes --------------------------------------------------------------------------------

    def potentials(self, rows: slice) -> Array:
        """Divergences of some rows from the mean, entry by entry."""
        if self._potentials is not None:
            return self._potentials[rows]
        return self.divergence.potential(self.rows(rows))

    def _blocks(self, chunk: list[slice], work: Workspace, mass: RowMass | None) -> Iterator[Block]:
        for block in super()._blocks(chunk, work, mass):
            if self._potentials is None:
                yield block
            else:
                yield block._replace(potentials=self._potentials[block.rows])

    def step_function(self) -> StepFunction:
        """Return `statistics`: no step of another divergence follows from the last one."""
        return self.statistics

    def lengths_of_runs(self, weights: Array) -> Array:
        """Divergences of all rows from the mean in some runs, a (runs, n) array."""
        found = np.empty((len(weights), self.n))
        for rows in self._slices(block_rows(self.p, 1)):
            found[:, rows] = weights @ self.potentials(rows).T
        return found

    def distances_of_runs(self, theta: Array, weights: Array, lengths: Array) -> Array:
        """Divergences from a few centroids of some runs, see `RowEngine`."""
        runs, t, p = theta.shape
        product = np.empty(theta.shape)
        added = self.divergence.fold(theta, weights[:, None, :], product)
        found = np.empty((runs, t, self.n))
        for rows in self._slices(block_rows(p, 1)):
            found[:, :, rows] = (product.reshape(-1, p) @ self.rows(rows).T).reshape(runs, t, -1)
        found += lengths[:, None, :]
        found += added[:, :, None]
        return np.maximum(found, 0.0, out=found)

    def deviations(self, theta: Array, weights: Array) -> Deviations:
        """Sums over the rows of every cluster; its squares are divergences from the centroids."""
        labels, nearest = self.assign(theta, weights)
        mass = np.ones(self.n) if self.sample_weight is None else self.sample_weight
        sums, squares = np.zeros(theta.shape), np.zeros(self.p)
        for rows in self._slices(block_rows(self.p, len(theta))):
            values, own = self.rows(rows), theta[labels[rows]]
            squares += mass[rows] @ self.divergence.exact(values, own)
            sums += hard_sums(labels[rows], len(theta), mass[rows], values - own)
        weight = np.bincount(labels, mass, len(theta)).astype(np.float64)[:, None]
        return Deviations(weight, sums, squares, float(mass @ nearest))

    # -- other rows in the same coordinates ----------------------------------------------------

    def _alike(self, X: Array, sample_weight: Array | None) -> BregmanEngine:
        return BregmanEngine(
            X,
            sample_weight,
            names=self.names,
            n_jobs=self.n_jobs,
            divergence=self.divergence,
            center=self.center,
        )

    def sample(self, size: int) -> BregmanEngine:
        """Return at most `size` distinct rows in the same coordinates."""
        if size not in self._samples:
            slices = self._slices(block_rows(self.p, 1))
            blocks = ((self.X[rows], self._weight(rows)) for rows in slices)
            found = sample_by_hash(blocks, self.p, size)
            self._samples[size] = self._alike(found.rows, found.mass)
        sampled: BregmanEngine = self._samples[size]
        return sampled

    def part(self, index: np.ndarray, sample_weight: Array) -> BregmanEngine:
        """Return some of the rows, with weights of their own, in the same coordinates."""
        return self._alike(self.X[index], sample_weight)

    def with_weights(self, sample_weight: Array) -> BregmanEngine:
        """Return the same rows with other weights, in the same coordinates."""
        return self._alike(self.X, sample_weight)

    def reweighted(self, sample_weight: Array) -> BregmanEngine:
        """Return the same rows with other weights, in the same coordinates."""
        return self._alike(self.X, sample_weight)

    def in_double(self) -> Self:
        """Return the same data without the narrower ends of searches, for the last steps."""
        if self.divergence.search is None:
            return self
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__)
        prepared = self.prepared
        found._forget()
        found.prepared = prepared
        found.divergence = self.divergence.without_search()
        return found


def _distances_to_ends(X: Array, names: tuple[str, ...]) -> tuple[Array, Array]:
    """Least distances of values from the ends of their domains, but for values at the ends."""
    found = np.full((2, X.shape[1]), np.inf)
    for column, name in enumerate(names):
        family = FAMILIES[name]
        for side, end in enumerate((family.lower, family.upper)):
            if family.closed and np.isfinite(end):
                away = np.abs(X[:, column] - end)
                found[side, column] = np.min(away, where=away > 0, initial=np.inf)
    return found[0], found[1]


def _rebuild(
    X: Array,
    sample_weight: Array | None,
    names: tuple[str, ...],
    n_jobs: int,
    divergence: ColumnDivergence,
    center: Array,
) -> BregmanEngine:
    return BregmanEngine(
        X, sample_weight, names=names, n_jobs=n_jobs, divergence=divergence, center=center
    )
