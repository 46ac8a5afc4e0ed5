r"""Divergences between rows and centroids that one matrix product computes.

A separable Bregman divergence with the convex potential :math:`\psi` is

.. math:: d(x, \theta) = \sum_l w_l [\psi(x_l) - x_l \psi'(\theta_l) + \psi^*(\theta_l)], \quad
    \psi^*(\theta) = \theta \psi'(\theta) - \psi(\theta),

so a block of rows meets all centroids in one product, and the best centroid is the mean whatever
the potential is. A subclass gives :math:`\psi` and :math:`\psi'` and says what may be done to the
rows before (the three flags). Squared Euclidean distance, :math:`\psi(x) = x^2`, is the only one
that fits use today.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from ewp.common.types import Array

__all__ = ["SQUARED_EUCLIDEAN", "BregmanDivergence", "SquaredEuclidean"]


class BregmanDivergence(ABC):
    """What the kernel asks of a divergence.

    Attributes
    ----------
    shift_invariant : bool
        Whether rows and centroids may be centred.
    scale_equivariant : bool
        Whether dividing a column by a constant only multiplies its part by another.
    of_differences : bool
        Whether small values can be computed from ``x - theta`` without cancellation, by `exact`.
    """

    shift_invariant: ClassVar[bool]
    scale_equivariant: ClassVar[bool]
    of_differences: ClassVar[bool]

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

    def exact(self, x: Array, theta: Array) -> Array:
        """Divergence of every entry, accurate where it is small; if `of_differences`."""
        raise AssertionError("of a divergence that is computed from differences")


class SquaredEuclidean(BregmanDivergence):
    """Squared Euclidean distance: the potential is the square."""

    shift_invariant = True
    scale_equivariant = True
    of_differences = True

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

    def exact(self, x: Array, theta: Array) -> Array:
        """Return squared differences."""
        difference = x - theta
        difference *= difference
        return difference


SQUARED_EUCLIDEAN = SquaredEuclidean()
