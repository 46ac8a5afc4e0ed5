r"""Divergences between rows and centroids that one matrix product computes.

A separable Bregman divergence with the convex potential :math:`\psi` is

.. math:: d(x, \theta) = \sum_l w_l [\psi(x_l) - x_l \psi'(\theta_l) + \psi^*(\theta_l)], \quad
    \psi^*(\theta) = \theta \psi'(\theta) - \psi(\theta),

so a block of rows meets all centroids in one product, and the best centroid is the mean whatever
the potential is. Squared Euclidean distance, :math:`\psi(x) = x^2`, is that of centred rows.
`ColumnDivergence` has a family of `ewp.engine.families` for every column. Its potential is the
divergence from the mean, :math:`\psi(x) = d(x, \mu)`, which differs from any other by what is
linear in x and so gives the same divergence: that is what centring is to squared distances, and the
sum of potentials is the total dispersion, as the sum of squares is there.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ewp.common.types import Array
from ewp.engine.families import FAMILIES, Family

__all__ = ["SQUARED_EUCLIDEAN", "BregmanDivergence", "ColumnDivergence", "SquaredEuclidean"]


class BregmanDivergence(ABC):
    """What the kernel asks of a divergence.

    Attributes
    ----------
    shift_invariant : bool
        Whether rows and centroids may be centred.
    scale_equivariant : bool
        Whether dividing a column by a constant only multiplies its part by another.
    of_differences : bool
        Whether small values can be computed entry by entry without cancellation, by `exact`.
    bounded : bool
        Whether no divergence exceeds four times the largest ones from the mean and to it.
    """

    shift_invariant: ClassVar[bool]
    scale_equivariant: ClassVar[bool]
    of_differences: ClassVar[bool]
    bounded: ClassVar[bool] = False

    @abstractmethod
    def potential(self, x: Array, out: Array | None = None) -> Array:
        """Return the potential of every entry, in `out` if it is given."""

    @abstractmethod
    def derivative(self, theta: Array) -> Array:
        """Return the derivative of the potential at every entry."""

    def conjugate(self, theta: Array) -> Array:
        """Return ``theta * derivative - potential`` at every entry."""
        return theta * self.derivative(theta) - self.potential(theta)

    def fold(self, theta: Array, weights: Array, product: Array) -> Array:
        """Fold weights into centroids: what rows are multiplied by, and what is added to it.

        Parameters
        ----------
        theta : ndarray of shape (..., k, p)
        weights : ndarray of shape (..., 1, p)
        product : ndarray of shape (..., k, p)
            Becomes ``-weights * derivative(theta)``.

        Returns
        -------
        ndarray of shape (..., k)
            ``sum_l weights_l conjugate(theta)_l``.
        """
        np.multiply(self.derivative(theta), weights, out=product)
        np.negative(product, out=product)
        return np.sum(weights * self.conjugate(theta), axis=-1)

    def dispersion(self, scatter: Array, sums: Array, mass: Array, theta: Array) -> Array:
        """Dispersions of the columns about centroids, from the sums of a step.

        Parameters
        ----------
        scatter : ndarray of shape (..., p)
            Sums of the rows' potentials.
        sums : ndarray of shape (..., k, p)
        mass : ndarray of shape (..., k)
        theta : ndarray of shape (..., k, p)
            The means, ``sums / mass`` where there is any.
        """
        across = sums * self.derivative(theta) - mass[..., None] * self.conjugate(theta)
        found: Array = scatter - across.sum(axis=-2)
        return found

    def exact(self, x: Array, theta: Array) -> Array:
        """Divergence of every entry, accurate where it is small; if `of_differences`."""
        raise AssertionError("of a divergence that is computed entry by entry")


class SquaredEuclidean(BregmanDivergence):
    """Squared Euclidean distance: the potential is the square."""

    shift_invariant = True
    scale_equivariant = True
    of_differences = True
    bounded = True

    def potential(self, x: Array, out: Array | None = None) -> Array:
        """Return squares."""
        return np.multiply(x, x, out=out)

    def derivative(self, theta: Array) -> Array:
        """Return twice the centroids."""
        return 2.0 * theta

    def fold(self, theta: Array, weights: Array, product: Array) -> Array:
        """Fold weights into centroids, with one product less than for any divergence."""
        folded = theta * weights  # contiguous, which the product need not be
        length: Array = np.einsum("...jl,...jl->...j", theta, folded)
        np.multiply(folded, -2.0, out=product)
        return length

    def dispersion(self, scatter: Array, sums: Array, mass: Array, theta: Array) -> Array:
        """Return sums of squares about the means, where all is observed or not."""
        found: Array = scatter - np.einsum("...jl,...jl->...l", theta, sums)
        return found

    def exact(self, x: Array, theta: Array) -> Array:
        """Return squared differences."""
        difference = x - theta
        difference *= difference
        return difference


SQUARED_EUCLIDEAN = SquaredEuclidean()


@dataclass(frozen=True)
class ColumnDivergence(BregmanDivergence):
    """A family for every column, with the mean from which its potential is counted.

    Attributes
    ----------
    names : tuple of str
        Names of the families, one a column.
    mean : ndarray of shape (p,)
        In the coordinates of the rows: 0 for columns that are centred.
    units : ndarray of shape (p,)
        What the columns' divergences are multiplied by.
    lowest, highest : ndarray of shape (p,)
        Centroids count as if they lay in between: at the end of its domain a divergence is infinite
        for all rows but those that are there too, for which it is 0 all the same.
    search : tuple of ndarray or None
        Narrower ends for searches. A centroid at the end of a domain cannot take in any row that is
        not there; between these ends it costs such a row about what the row would change by
        joining. Means of hard clusters are at the end of the domain or between these ends, so that
        partitions which are fixed points with them are fixed points without.
    """

    names: tuple[str, ...]
    mean: Array
    units: Array
    lowest: Array
    highest: Array
    search: tuple[Array, Array] | None = None

    shift_invariant: ClassVar[bool] = False
    scale_equivariant: ClassVar[bool] = False
    of_differences: ClassVar[bool] = True

    @classmethod
    def estimate(
        cls, names: tuple[str, ...], mean: Array, smallest: Array, gap: Array, total: float
    ) -> ColumnDivergence:
        """Build the divergence from what is known of the columns.

        Parameters
        ----------
        names : tuple of str
        mean : ndarray of shape (p,)
        smallest, gap : ndarray of shape (p,)
            How far the values that are not at the lower and at the upper end of the domain are
            from it, at least; ``inf`` where there are none or no end.
        total : float
            How many times the weight of any row that of all rows may be.
        """
        found = cls(names, mean, np.ones(len(mean)), *_ends(names, mean, smallest, gap, _TINY))
        return dataclasses.replace(found, search=_ends(names, mean, smallest, gap, 1.0 / total))

    def _parts(self, x: Array) -> Iterator[tuple[Family, slice | np.ndarray]]:
        """Yield families and their columns, which is a slice where there is one family."""
        for name in dict.fromkeys(self.names):
            which = np.flatnonzero(np.array(self.names) == name)
            yield FAMILIES[name], slice(None) if len(which) == len(self.names) else which

    def _within(self, theta: Array) -> Array:
        lowest, highest = (self.lowest, self.highest) if self.search is None else self.search
        return np.clip(theta, lowest, highest)

    def with_units(self, units: Array) -> ColumnDivergence:
        """Return the divergence with other units."""
        return dataclasses.replace(self, units=units)

    def without_search(self) -> ColumnDivergence:
        """Return the divergence itself, without the narrower ends of searches."""
        return dataclasses.replace(self, search=None)

    @property
    def squared(self) -> np.ndarray:
        """Which columns have squared differences, and are centred."""
        return np.array(self.names) == "euclidean"

    @property
    def curvature(self) -> Array:
        """Second derivatives of the potentials at the means."""
        found = np.empty(len(self.mean))
        mean = np.clip(self.mean, self.lowest, self.highest)
        for family, columns in self._parts(found):
            found[columns] = family.curvature(mean[columns])
        return found * self.units

    def potential(self, x: Array, out: Array | None = None) -> Array:
        """Return divergences from the mean."""
        inside = np.clip(self.mean, self.lowest, self.highest)
        return self._from(x, self.mean, inside, np.empty(x.shape) if out is None else out)

    def derivative(self, theta: Array) -> Array:
        """Return derivatives, 0 at the mean."""
        theta, mean = self._within(theta), self._within(self.mean)
        found = np.empty(theta.shape)
        for family, columns in self._parts(theta):
            found[..., columns] = family.slope(theta[..., columns], mean[columns])
        found *= self.units
        return found

    def conjugate(self, theta: Array) -> Array:
        """Return ``theta * derivative - potential``, 0 at the mean."""
        inside, mean = self._within(theta), self._within(self.mean)
        found = np.empty(theta.shape)
        for family, columns in self._parts(theta):
            near, middle = inside[..., columns], mean[columns]
            conjugate = family.conjugate(near, middle)
            for end, there in _at_ends(family, theta[..., columns]):
                # rows at the end themselves are at no distance
                at_end = end * family.slope(near, middle) - family.divergence(end, middle)
                conjugate = np.where(there, at_end, conjugate)
            found[..., columns] = conjugate
        found *= self.units
        return found

    def exact(self, x: Array, theta: Array) -> Array:
        """Return the divergence of every entry."""
        shape = np.broadcast_shapes(x.shape, theta.shape)
        return self._from(x, theta, self._within(theta), np.empty(shape))

    def _from(self, x: Array, theta: Array, inside: Array, found: Array) -> Array:
        """Divergence of every entry from centroids that count as if they lay inside."""
        for family, columns in self._parts(x):
            near = inside[..., columns]
            divergence = family.divergence(x[..., columns], near)
            for end, there in _at_ends(family, theta[..., columns]):
                divergence = divergence - np.where(there, family.divergence(end, near), 0.0)
            found[..., columns] = np.maximum(divergence, 0.0)
        found *= self.units
        return found

    def seed(self, rows: Array) -> Array:
        """Centroids to start from at single rows: halfway to the mean, inside of the domain."""
        found = rows.copy()
        for family, columns in self._parts(rows):
            if family.has_ends:
                found[..., columns] += self.mean[columns]
                found[..., columns] *= 0.5
        return found


#: How near to the end of its domain a centroid counts, as a share of the nearest value.
_TINY = 1e-10
#: What stands for a mean of 0 where nothing is above: values by it do not overflow.
_NOTHING = 1e-100
#: Share of the end by which means of values that are all there may be off, as rounding errors.
_ROUNDING = 1e-15


def _at_ends(family: Family, theta: Array) -> Iterator[tuple[float, np.ndarray]]:
    """Yield ends of the domain with which centroids are there, if any are."""
    for end in (family.lower, family.upper):
        if np.isfinite(end) and (there := np.abs(theta - end) <= _ROUNDING * abs(end)).any():
            yield end, there


def _ends(
    names: tuple[str, ...], mean: Array, smallest: Array, gap: Array, share: float
) -> tuple[Array, Array]:
    """Ends between which centroids count, columns that do not vary included."""
    lower = np.array([FAMILIES[name].lower for name in names])
    upper = np.array([FAMILIES[name].upper for name in names])
    lowest, highest = lower.copy(), upper.copy()
    lowest[np.isfinite(smallest)] += share * smallest[np.isfinite(smallest)]
    highest[np.isfinite(gap)] -= share * gap[np.isfinite(gap)]
    # a column all of whose values are at an end of the domain
    lowest = np.where(mean <= lower, lower + _NOTHING, lowest)
    highest = np.where(mean >= upper, upper - np.finfo(float).eps, highest)
    return lowest, highest
