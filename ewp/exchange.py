"""What a pass over rows is given and gives back: metric, sums, buffers, sizes of blocks.

`ewp.kernel` computes with these; engines carry them between the solver and the blocks of rows, to
other processes and to the workers of a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Metric", "Statistics", "Workspace", "block_rows"]

Array = NDArray[np.float64]

#: A block and its buffers: not much more than a core's cache, and so many rows that the time goes
#: into arithmetic, not into calls.
_BLOCK_BYTES = 2**22
#: Products of up to so many multiplications are done without packing by OpenBLAS, which is faster
#: where few centroids meet many features.
_UNPACKED, _FEW = 1_000_000, 32
_FEWEST_ROWS, _MOST_ROWS = 32, 5000
#: Up to so many features the centroids are multiplied column by column.
_TRANSPOSED = 1024
#: Squared distances are floored at this share of the data's scale: smaller ones are rounding errors
#: of the coordinates themselves.
_FLOOR = float(np.finfo(np.float64).eps) ** 2
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Metric:
    """Centroids and the diagonal of the metric, prepared for the matrix product.

    Attributes
    ----------
    theta : ndarray of shape (k, p)
        Centroids in the coordinates of the blocks.
    weights : ndarray of shape (p,)
        Diagonal of the metric, ``d_ij = sum_l weights_l (x_il - theta_jl)**2``.
    product : ndarray of shape (k, p)
        ``-2 theta * weights``.
    length : ndarray of shape (k,)
        ``sum_l weights_l theta_l**2``.
    longest : float
        Largest of these.
    floor : float
        Least squared distance.
    """

    theta: Array
    weights: Array
    product: Array
    length: Array
    longest: float
    floor: float

    @classmethod
    def prepare(cls, theta: Array, weights: Array, spread: float) -> Metric:
        """Fold the weights into the centroids; `spread` is the mean squared distance to 0."""
        k, p = theta.shape
        # the layout that the matrix product reads fastest
        product = np.empty((p, k)).T if p <= _TRANSPOSED else np.empty((k, p))
        np.multiply(theta, weights, out=product)
        length = np.einsum("jl,jl->j", theta, product)
        product *= -2.0
        longest = float(length.max())
        floor = max(_FLOOR * (spread + longest), _TINY)
        return cls(theta, weights, product, length, longest, floor)


@dataclass
class Statistics:
    """Sufficient statistics of an MM step, additive over blocks of rows.

    Attributes
    ----------
    sums : ndarray of shape (k, p)
        ``sum_i a_i phi_ij x_i``.
    mass : ndarray of shape (k,)
        ``sum_i a_i phi_ij``.
    scatter : ndarray of shape (p,)
        ``sum_ij a_i phi_ij x_il**2``.
    power : float
        ``sum_i a_i M_s(d_i)``.
    nearest : float
        ``sum_i a_i min_j d_ij``.
    softness : float
        ``sum_i a_i (1 - 1 / sum_j (d_ij / min d_i)**(s - 1))``: the membership mass that is not
        with the nearest centroid; 0 when every membership is hard.
    """

    sums: Array
    mass: Array
    scatter: Array
    power: float = 0.0
    nearest: float = 0.0
    softness: float = 0.0

    @classmethod
    def zeros(cls, k: int, p: int) -> Statistics:
        """Return statistics of no rows."""
        return cls(np.zeros((k, p)), np.zeros(k), np.zeros(p))

    def __iadd__(self, other: Statistics) -> Statistics:
        self.sums += other.sums
        self.mass += other.mass
        self.scatter += other.scatter
        self.power += other.power
        self.nearest += other.nearest
        self.softness += other.softness
        return self


def block_rows(p: int, k: int) -> int:
    """Return the number of rows of a block with p features for k centroids."""
    rows = _BLOCK_BYTES // (8 * (2 * p + 3 * k))
    if k <= _FEW:
        rows = min(rows, _UNPACKED // (p * k))
    return min(max(rows, _FEWEST_ROWS), _MOST_ROWS)


class Workspace:
    """Buffers for blocks of at most `rows` rows, allocated once for a whole fit."""

    def __init__(self, rows: int, p: int, k: int) -> None:
        self.k, self.p = k, p
        self._rows = np.empty((2, rows * p))
        self._pairs = np.empty((3, k * rows))
        self._vectors = np.empty((5, rows))
        self.sums = np.empty((k, p))
        self.ones = np.ones(max(rows, k))

    def rows(self, i: int, count: int) -> Array:
        """Return the i-th of two buffers for `count` rows, contiguous."""
        return self._rows[i, : count * self.p].reshape(count, self.p)

    def vector(self, i: int, count: int) -> Array:
        """Return the i-th of five buffers for a number a row."""
        return self._vectors[i, :count]

    def pairs(self, i: int, count: int) -> Array:
        """Return the i-th of three buffers of shape (k, `count`), contiguous."""
        return self._pairs[i, : self.k * count].reshape(self.k, count)
