r"""Conditional means of missing values, for the scoring of partitions and for nothing else.

The density that judges a partition needs whole rows. A missing value gets its mean given the
observed values of its row, under one cloud: a normal distribution with the correlations of the
pairs in which both values are observed, shrunk towards none. The cloud knows no partition, so what
is filled in speaks for none.

With the precision matrix :math:`\Omega` the conditional mean of the missing part m of a row given
the observed part o solves :math:`\Omega_{mm} x_m = -\Omega_{mo} x_o`. All rows are solved together
by conjugate gradients, whose products are with the whole matrix.
"""

from __future__ import annotations

import numpy as np

from ewp.common.types import Array
from ewp.data.decorrelation import shrinkage_intensity

__all__ = ["fill_conditional_means"]

#: Of more columns than this missing values get the mean: correlations would take too long.
_MOST_COLUMNS = 1500
#: Eigenvalues of the correlations are this at least: those of pairs may be negative.
_LEAST_EIGENVALUE = 0.05
#: Steps of the conjugate gradients, and the residual at which they end, as a share of the first.
_STEPS, _ACCURATE = 50, 1e-4


def fill_conditional_means(X: Array, mass: Array, absent: np.ndarray) -> Array:
    """Put conditional means in the place of missing values.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Whatever is in the place of missing values does not matter.
    mass : ndarray of shape (n,)
        Numbers of copies of the rows.
    absent : ndarray of bool, shape (n, p)
        Which values are missing.

    Returns
    -------
    ndarray of shape (n, p)

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 101)
    >>> X = np.column_stack([x, x])
    >>> absent = np.zeros(X.shape, dtype=bool)
    >>> absent[75, 1] = True
    >>> bool(0.4 < fill_conditional_means(X, np.ones(101), absent)[75, 1] < 0.6)
    True
    """
    marks = (~absent).astype(float)
    seen = np.maximum(mass @ marks, np.finfo(float).tiny)
    center = mass @ np.where(absent, 0.0, X) / seen
    Z = np.where(absent, 0.0, X - center)
    spread = np.sqrt(mass @ Z**2 / seen)
    spread[spread == 0.0] = 1.0
    Z /= spread
    if X.shape[1] <= _MOST_COLUMNS:
        Z += _solve(Z, _precision(Z, mass, marks), absent)
    return np.where(absent, center + spread * Z, X)


def _precision(Z: Array, mass: Array, marks: Array) -> Array:
    """Inverse of the shrunk correlations of pairs of observed values."""
    weighted = Z * mass[:, None]
    together = (marks * mass[:, None]).T @ marks
    correlation = np.divide(weighted.T @ Z, together, out=np.eye(Z.shape[1]), where=together > 0)
    share = shrinkage_intensity(Z, mass)
    correlation *= 1.0 - share
    correlation[np.diag_indices_from(correlation)] = 1.0
    values, axes = np.linalg.eigh(correlation)
    inverse: Array = (axes / np.maximum(values, _LEAST_EIGENVALUE)) @ axes.T
    return inverse


def _solve(Z: Array, precision: Array, absent: np.ndarray) -> Array:
    """Solve for the missing values of all rows: 0 where there is something observed."""
    scale = np.diag(precision)
    found = np.zeros_like(Z)
    residual = np.where(absent, -(Z @ precision), 0.0)
    direction = residual / scale
    length = np.einsum("il,il->i", residual, direction)
    first = length.copy()
    for _ in range(_STEPS):
        left = length > _ACCURATE**2 * first
        if not left.any():
            break
        product = np.where(absent, direction @ precision, 0.0)
        curve = np.einsum("il,il->i", direction, product)
        step = np.divide(length, curve, out=np.zeros_like(length), where=left & (curve > 0))
        found += step[:, None] * direction
        residual -= step[:, None] * product
        conditioned = residual / scale
        new = np.einsum("il,il->i", residual, conditioned)
        ratio = np.divide(new, length, out=np.zeros_like(length), where=left & (length > 0))
        direction = conditioned + ratio[:, None] * direction
        length = np.where(left, new, length)
    return found
