r"""Scatter matrices of a mixture's components, and how they are estimated.

Four models: spherical, diagonal, tied (one matrix for all clusters) and full. Each is shrunk, as if
some more rows had been seen: those of a cluster lie about its mean as the rows of all clusters do,
and features of a tied matrix are uncorrelated in them. So clusters of few rows, and more features
than rows, have scatter matrices that can be inverted, and the likelihood has no poles.

A value of a coarse column stands for the cell around it. Squared distances are expected ones over
the cell, and the variance of a uniform distribution in it is a part of every variance, so that
neither a binary nor a rounded column has a density that could be anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ewp.common.types import Array
from ewp.data.decorrelation import shrinkage_intensity

__all__ = [
    "COVARIANCES",
    "FLOOR",
    "MOST_SHRINKAGE",
    "STEPS",
    "Anchor",
    "MatrixScatter",
    "Scatter",
    "VarianceScatter",
    "count_parameters",
    "estimate_scatter",
    "scatter_of_products",
    "scatter_of_squares",
    "scatter_penalty",
]

#: Models of the covariances, from few parameters to many.
COVARIANCES = ("spherical", "diagonal", "tied", "full")
#: Rows that the common variances count in a cluster's own.
_ROWS = 3.0
#: Rows beyond the features that the pooled matrix counts in a cluster's own.
_MORE_ROWS = 2.0
#: Least variance within clusters, as a share of the total.
FLOOR = 1e-4
#: Largest share of the diagonal in a pooled matrix.
MOST_SHRINKAGE = 0.99
#: Steps in which common variances under t tails are found.
STEPS = 6


class Anchor(NamedTuple):
    """What scatter matrices are shrunk to, estimated from a partition.

    Attributes
    ----------
    cell : ndarray of shape (p,)
        Variances of uniform distributions in the cells of the columns, 0 for continuous ones.
    variance : ndarray of shape (p,)
        Common variances within the clusters.
    rows : float
        Number of rows without correlations that a pooled matrix counts besides those seen.
    pooled : ndarray of shape (p, p)
        Pooled scatter matrix, shrunk to its diagonal; empty where it is not needed.
    """

    cell: Array
    variance: Array
    rows: float = 0.0
    pooled: Array = np.empty((0, 0))

    @classmethod
    def estimate(
        cls,
        rows: Array,
        mass: Array,
        labels: np.ndarray,
        k: int,
        cell: Array,
        tails: float,
        *,
        pool: bool,
    ) -> Anchor:
        """Estimate from a partition.

        Parameters
        ----------
        rows : ndarray of shape (n, p)
            Standardised.
        mass : ndarray of shape (n,)
            Numbers of copies.
        labels : ndarray of shape (n,)
        k : int
        cell : ndarray of shape (p,)
        tails : float
            Degrees of freedom of the components, infinite for normal ones.
        pool : bool
            Whether the pooled matrix is needed.
        """
        p, total = rows.shape[1], float(mass.sum())
        member = np.zeros((k, len(rows)))
        trust = np.ones(len(rows))
        for _ in range(STEPS if np.isfinite(tails) else 1):
            member[labels, np.arange(len(rows))] = mass * trust
            weight = member.sum(axis=1)
            means = (member @ rows) / np.maximum(weight, np.finfo(float).tiny)[:, None]
            residual = rows - means[labels]
            counted = mass * trust
            variance = (counted @ residual**2 + counted.sum() * cell) / total
            variance = np.maximum(variance, FLOOR)
            if np.isfinite(tails):
                squared = residual**2 @ (1.0 / variance) + float((cell / variance).sum())
                trust = (tails + p) / (tails + squared)
        if not pool:
            return cls(cell, variance)
        residual *= np.sqrt(counted / mass)[:, None]
        share = min(shrinkage_intensity(residual / np.sqrt(variance), mass), MOST_SHRINKAGE)
        pooled = (residual.T * mass) @ residual * ((1.0 - share) / total)
        np.fill_diagonal(pooled, variance)
        return cls(cell, variance, total * share / (1.0 - share), pooled)


@dataclass(frozen=True)
class VarianceScatter:
    """Components whose features are uncorrelated.

    Attributes
    ----------
    variance : ndarray of shape (k, p)
    """

    variance: Array

    @property
    def log_det(self) -> Array:
        """Log-determinants, one a component."""
        found: Array = np.log(self.variance).sum(axis=1)
        return found

    def squared(self, rows: Array, means: Array, cell: Array) -> Array:
        """Squared Mahalanobis distances of rows to means, expected over the cells.

        Returns
        -------
        ndarray of shape (k, n)
        """
        found = np.empty((len(means), len(rows)))
        for out, mean, variance in zip(found, means, self.variance, strict=True):
            out[:] = (rows - mean) ** 2 @ (1.0 / variance)
        found += (1.0 / self.variance) @ cell[:, None]
        return found


class MatrixScatter:
    """Components with correlated features.

    Parameters
    ----------
    matrix : ndarray of shape (k, p, p), or (1, p, p) if all components have the same
    """

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix
        lower = np.linalg.cholesky(matrix)
        diagonal = np.diagonal(lower, axis1=1, axis2=2)
        #: Log-determinants, one a component or one for all.
        self.log_det: Array = 2.0 * np.log(diagonal).sum(axis=1)
        #: Inverses of the Cholesky factors.
        self.root = np.linalg.inv(lower)

    @property
    def precision(self) -> Array:
        """Inverses of the matrices."""
        found: Array = self.root.swapaxes(1, 2) @ self.root
        return found

    def squared(self, rows: Array, means: Array, cell: Array) -> Array:
        """Squared Mahalanobis distances of rows to means, expected over the cells.

        Returns
        -------
        ndarray of shape (k, n)
        """
        found = np.empty((len(means), len(rows)))
        tied = len(self.root) == 1
        placed = rows @ self.root[0].T if tied else rows
        for j, (out, mean) in enumerate(zip(found, means, strict=True)):
            away = placed - self.root[0] @ mean if tied else (rows - mean) @ self.root[j].T
            np.einsum("ij,ij->i", away, away, out=out)
        found += np.einsum("jlm,m->j", self.root**2, cell)[:, None]
        return found


Scatter = VarianceScatter | MatrixScatter


def estimate_scatter(
    covariance: str,
    rows: Array,
    weight: Array,
    count: Array,
    means: Array,
    anchor: Anchor,
) -> Scatter:
    """Scatter matrices that maximise the penalised likelihood at given memberships.

    Parameters
    ----------
    covariance : {"spherical", "diagonal", "tied", "full"}
    rows : ndarray of shape (n, p)
    weight : ndarray of shape (k, n)
        Memberships times copies times what tails leave of a row.
    count : ndarray of shape (k,)
        Rows of the components: memberships times copies, summed.
    means : ndarray of shape (k, p)
    anchor : Anchor
    """
    k, p = means.shape
    of_cells = weight.sum(axis=1)[:, None] * anchor.cell
    if covariance in ("spherical", "diagonal"):
        squares = np.empty((k, p))
        for out, share, mean in zip(squares, weight, means, strict=True):
            out[:] = share @ (rows - mean) ** 2
        squares += of_cells
        return scatter_of_squares(covariance, squares, count[:, None], anchor)
    products = np.empty((k, p, p))
    for out, share, mean in zip(products, weight, means, strict=True):
        away = rows - mean
        np.matmul((away * share[:, None]).T, away, out=out)
    diagonal = np.arange(p)
    products[:, diagonal, diagonal] += of_cells
    return scatter_of_products(covariance, products, count, anchor)


def scatter_of_squares(
    covariance: str, squares: Array, count: Array, anchor: Anchor
) -> VarianceScatter:
    """Scatter matrices of uncorrelated features.

    Parameters
    ----------
    covariance : {"spherical", "diagonal"}
    squares : ndarray of shape (k, p)
        Sums of squares about the means.
    count : ndarray of shape (k, p) or (k, 1)
        Rows of which they are.
    anchor : Anchor
    """
    target = anchor.variance
    if covariance == "spherical":
        squares = np.broadcast_to(squares.mean(axis=1, keepdims=True), squares.shape)
        count = count.mean(axis=1, keepdims=True)
        target = np.full(len(target), target.mean())
    return VarianceScatter((squares + _ROWS * target) / (count + _ROWS))


def scatter_of_products(
    covariance: str, products: Array, count: Array, anchor: Anchor
) -> MatrixScatter:
    """Scatter matrices of correlated features.

    Parameters
    ----------
    covariance : {"tied", "full"}
    products : ndarray of shape (k, p, p)
        Sums of products about the means, overwritten.
    count : ndarray of shape (k,)
        Rows of the components.
    anchor : Anchor
    """
    p = products.shape[1]
    diagonal = np.arange(p)
    if covariance == "tied":
        pooled = products.sum(axis=0)
        pooled[diagonal, diagonal] += anchor.rows * anchor.variance
        return MatrixScatter(pooled[None] / (count.sum() + anchor.rows))
    more = p + _MORE_ROWS
    products += more * anchor.pooled
    return MatrixScatter(products / (count + more)[:, None, None])


def scatter_penalty(covariance: str, scatter: Scatter, anchor: Anchor) -> float:
    """What the rows that are counted besides those seen add to the log-likelihood."""
    if isinstance(scatter, VarianceScatter):
        target = anchor.variance
        if covariance == "spherical":
            target = np.full(len(target), target.mean())
        return -0.5 * _ROWS * float((scatter.log_det + (target / scatter.variance).sum(1)).sum())
    tied = covariance == "tied"
    target = np.diag(anchor.variance) if tied else anchor.pooled
    of_target = np.einsum("jlm,jlm->j", scatter.root @ target, scatter.root)
    rows = anchor.rows if tied else anchor.pooled.shape[0] + _MORE_ROWS
    return -0.5 * rows * float((scatter.log_det + of_target).sum())


def count_parameters(covariance: str, k: int, p: int) -> int:
    """Number of free parameters of the scatter matrices.

    >>> [count_parameters(covariance, 3, 4) for covariance in COVARIANCES]
    [3, 12, 10, 30]
    """
    matrix = p * (p + 1) // 2
    return {"spherical": k, "diagonal": k * p, "tied": matrix, "full": k * matrix}[covariance]
