r"""Mixtures of rows with missing values: densities of what is observed, and the steps of EM.

Rows count with the density of their observed values (Ghahramani and Jordan 1994; for t
distributions Liu 1995). Where features are uncorrelated the M step takes sums over observed values;
matrices are estimated from the rows' expected products, given what is observed of them and the
estimates of the step before. The penalised likelihood of the observed values never falls. Values
must be missing at random: whether one is may depend on what is observed of the row, and on nothing
else.

Of a normal or t distribution with mean :math:`\mu` and precision matrix :math:`\Omega` the missing
part m of a row has, given the observed part o, the mean :math:`\mu_m - \Omega_{mm}^{-1} \Omega_{mo}
(x_o - \mu_o)` and the scatter :math:`\Omega_{mm}^{-1}`, and the observed part has the density with
the scatter :math:`\Sigma_{oo}`, whose inverse and determinant follow from :math:`\Omega` too. So
only matrices of the size of what is missing are inverted, one for every pattern of missing values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ewp.common.types import Array
from ewp.data.decorrelation import shrinkage_intensity
from ewp.refinement.scatter import (
    FLOOR,
    MOST_SHRINKAGE,
    STEPS,
    Anchor,
    MatrixScatter,
    Scatter,
    VarianceScatter,
    scatter_of_products,
    scatter_of_squares,
)

__all__ = ["Patterns", "estimate_anchor", "first_guess", "maximise", "observed_distances"]

#: Numbers that what is computed of some patterns together may take.
_ENTRIES = 2**22
_TINY = np.finfo(float).tiny
#: Steps of EM in which correlations that matrices are shrunk to are found, and the largest change
#: of a variance or covariance, as a share of the largest variance, at which they end.
_POOLING_STEPS, _SETTLED = 100, 1e-6


class _Group(NamedTuple):
    """Patterns with equally many missing values.

    Attributes
    ----------
    rows : ndarray of shape (r,)
        Numbers of the rows that have one of them.
    which : ndarray of shape (r,)
        Which one.
    absent : ndarray of shape (q, m)
        Positions of the missing values.
    """

    rows: np.ndarray
    which: np.ndarray
    absent: np.ndarray


class _Given(NamedTuple):
    """Missing values given the observed ones, for every pattern of a group.

    Attributes
    ----------
    scatter : ndarray of shape (q, m, m)
        Conditional scatter matrices.
    log_det : ndarray of shape (q,)
        Log-determinants of their inverses.
    slope : ndarray of shape (q, m, p)
        Coefficients of all columns, those of missing ones are an identity.
    diagonal : ndarray of shape (q, p)
        Diagonal of the precision matrix of the observed columns, 0 for missing ones.
    """

    scatter: Array
    log_det: Array
    slope: Array
    diagonal: Array


@dataclass(frozen=True, eq=False)
class Patterns:
    """Rows of which some values are missing.

    Attributes
    ----------
    values : ndarray of shape (n, p)
        The rows, with 0 in the place of missing values.
    seen : ndarray of shape (n, p)
        1 where a value is observed, 0 where it is missing.
    groups : tuple
        Patterns by the number of missing values, without that of complete rows.
    """

    values: Array
    seen: Array
    groups: tuple[_Group, ...]

    @classmethod
    def of(cls, rows: Array) -> Patterns | None:
        """Return the patterns of rows, None where nothing is missing.

        Parameters
        ----------
        rows : ndarray of shape (n, p)
            With NaN for missing values.
        """
        absent = np.isnan(rows)
        if not absent.any():
            return None
        p = rows.shape[1]
        packed = np.packbits(absent, axis=1)
        _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        which, missing = which.ravel(), absent[first].sum(axis=1)
        groups = []
        for m in np.unique(missing[missing > 0]):
            known = np.flatnonzero(missing == m)
            size = max(_ENTRIES // (int(m) * p), 1)
            for start in range(0, len(known), size):
                part = known[start : start + size]
                place = np.full(len(first), -1)
                place[part] = np.arange(len(part))
                own = np.flatnonzero(place[which] >= 0)
                columns = np.nonzero(absent[first[part]])[1].reshape(len(part), int(m))
                groups.append(_Group(own, place[which[own]], columns))
        return cls(np.where(absent, 0.0, rows), (~absent).astype(float), tuple(groups))

    @property
    def counts(self) -> Array:
        """Number of observed values of every row."""
        found: Array = self.seen.sum(axis=1)
        return found

    def distances(self, means: Array, precision: Array, cell: Array) -> tuple[Array, Array]:
        """Squared Mahalanobis distances of the observed parts, expected over the cells.

        Parameters
        ----------
        means : ndarray of shape (k, p)
        precision : ndarray of shape (k, p, p), or (1, p, p) if all components have the same
        cell : ndarray of shape (p,)

        Returns
        -------
        squared : ndarray of shape (k, n)
        log_det : ndarray of shape (k, n)
            What is to be added to the log-determinant of the whole scatter matrix.
        """
        squared = np.empty((len(means), len(self.values)))
        log_det = np.zeros(squared.shape)
        for j, mean in enumerate(means):
            omega = precision[min(j, len(precision) - 1)]
            away = (self.values - mean) * self.seen
            squared[j] = np.einsum("il,il->i", away @ omega, away) + np.diag(omega) @ cell
        for components, omega, group, given in self._conditionals(precision, len(means)):
            log_det[components[:, None], group.rows] = given.log_det[group.which]
            of_cells = np.diag(omega) @ cell - given.diagonal @ cell
            for j in components:
                away = ((self.values - means[j]) * self.seen)[group.rows]
                pull = np.take_along_axis(away @ omega, group.absent[group.which], axis=1)
                less = np.einsum("ia,iab,ib->i", pull, given.scatter[group.which], pull)
                squared[j, group.rows] -= less + of_cells[group.which]
        return squared, log_det

    def expected(
        self, share: Array, weight: Array, means: Array, precision: Array, cell: Array
    ) -> Iterator[tuple[int, Array, Array]]:
        """Expected rows, and what their missing values and cells add to sums of products.

        Parameters
        ----------
        share : ndarray of shape (k, n)
            Memberships times copies.
        weight : ndarray of shape (k, n)
            The same times what tails leave of a row.
        means, precision, cell
            As in `distances`: those under which expectations are.

        Yields
        ------
        component : int
        rows : ndarray of shape (n, p)
            With conditional means in the place of missing values.
        more : ndarray of shape (p, p)
        """
        k, p = means.shape
        coarse = bool(cell.any())
        completed = [np.where(self.seen > 0, self.values, mean) for mean in means]
        more = np.zeros((k, p, p))
        diagonal = np.arange(p)
        more[:, diagonal, diagonal] = (weight @ self.seen) * cell
        for components, _, group, given in self._conditionals(precision, k):
            one, other = group.absent[:, :, None], group.absent[:, None, :]
            observed = np.ones((len(group.absent), p))
            np.put_along_axis(observed, group.absent, 0.0, axis=1)
            slope = -given.slope * observed[:, None, :]
            for j in components:
                away = ((self.values - means[j]) * self.seen)[group.rows]
                found = np.einsum("iml,il->im", slope[group.which], away)
                columns = group.absent[group.which]
                completed[j][group.rows[:, None], columns] += found
                of_pattern = np.bincount(group.which, share[j, group.rows], len(group.absent))
                np.add.at(more[j], (one, other), of_pattern[:, None, None] * given.scatter)
                if coarse:
                    trusted = np.bincount(group.which, weight[j, group.rows], len(group.absent))
                    spread = trusted[:, None, None] * slope * cell
                    np.add.at(more[j], (one, other), spread @ slope.swapaxes(1, 2))
                    across = np.zeros((p, p))
                    np.add.at(across, group.absent.ravel(), spread.reshape(-1, p))
                    more[j] += across + across.T
        for j in range(k):
            yield j, completed[j], more[j]

    def _conditionals(
        self, precision: Array, k: int
    ) -> Iterator[tuple[np.ndarray, Array, _Group, _Given]]:
        """What is missing given what is not, for every matrix and the components that have it."""
        for group in self.groups:
            for j, omega in enumerate(precision):
                components = np.arange(k) if len(precision) < k else np.array([j])
                yield components, omega, group, _condition(omega, group.absent)


def _condition(omega: Array, absent: np.ndarray) -> _Given:
    """Moments of missing values given the others."""
    own = omega[absent[:, :, None], absent[:, None, :]]
    lower = np.linalg.cholesky(own)
    log_det = 2.0 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    scatter = np.linalg.inv(own)
    scatter = 0.5 * (scatter + scatter.swapaxes(1, 2))
    cross = omega[absent]
    slope = scatter @ cross
    diagonal = np.diag(omega) - np.einsum("qml,qml->ql", cross, slope)
    np.put_along_axis(diagonal, absent, 0.0, axis=1)
    return _Given(scatter, log_det, slope, diagonal)


def observed_distances(
    patterns: Patterns, scatter: Scatter, means: Array, cell: Array
) -> tuple[Array, Array]:
    """Squared Mahalanobis distances of what is observed, and log-determinants of its scatter.

    Returns
    -------
    squared, log_det : ndarray of shape (k, n)
    """
    if isinstance(scatter, MatrixScatter):
        squared, more = patterns.distances(means, scatter.precision, cell)
        return squared, more + scatter.log_det[:, None]
    squared = np.empty((len(means), len(patterns.values)))
    for out, mean, variance in zip(squared, means, scatter.variance, strict=True):
        away = patterns.seen * ((patterns.values - mean) ** 2 + cell)
        out[:] = away @ (1.0 / variance)
    return squared, np.log(scatter.variance) @ patterns.seen.T


def _observed_means(patterns: Patterns, weight: Array, otherwise: Array) -> Array:
    """Weighted means of observed values, of shape (k, p); others where there are none."""
    mass = weight @ patterns.seen
    found: Array = np.divide(weight @ patterns.values, mass, out=otherwise.copy(), where=mass > 0)
    return found


def first_guess(
    patterns: Patterns, weight: Array, covariance: str, anchor: Anchor
) -> tuple[Array, Scatter]:
    """Means and scatter matrices by which the missing values of a partition are first expected."""
    k, p = len(weight), patterns.values.shape[1]
    means = _observed_means(patterns, weight, np.zeros((k, p)))
    if covariance in ("tied", "full"):
        return means, MatrixScatter(anchor.pooled[None])
    return means, VarianceScatter(np.tile(anchor.variance, (k, 1)))


def maximise(
    patterns: Patterns,
    share: Array,
    weight: Array,
    means: Array,
    scatter: Scatter,
    covariance: str,
    anchor: Anchor,
) -> tuple[Array, Scatter]:
    """M step: means and scatter matrices.

    Parameters
    ----------
    patterns : Patterns
    share : ndarray of shape (k, n)
        Memberships times copies.
    weight : ndarray of shape (k, n)
        The same times what tails leave of a row.
    means, scatter
        Estimates of the step before.
    covariance : {"spherical", "diagonal", "tied", "full"}
    anchor : Anchor
    """
    if not isinstance(scatter, MatrixScatter):
        new = _observed_means(patterns, weight, means)
        squares = (weight @ patterns.seen) * anchor.cell
        for out, own, mean in zip(squares, weight, new, strict=True):
            out += own @ (patterns.seen * (patterns.values - mean) ** 2)
        count = share @ patterns.seen
        return new, scatter_of_squares(covariance, squares, count, anchor)
    new = np.empty(means.shape)
    products = np.empty((*means.shape, means.shape[1]))
    for j, rows, more in patterns.expected(share, weight, means, scatter.precision, anchor.cell):
        new[j] = weight[j] @ rows / max(float(weight[j].sum()), _TINY)
        away = rows - new[j]
        products[j] = (away * weight[j][:, None]).T @ away + more
    count = np.maximum(share.sum(axis=1), _TINY)
    return new, scatter_of_products(covariance, products, count, anchor)


def estimate_anchor(
    rows: Array,
    mass: Array,
    labels: np.ndarray,
    k: int,
    cell: Array,
    tails: float,
    *,
    pool: bool,
) -> Anchor:
    """Estimate what scatter matrices are shrunk to, as `Anchor.estimate` does of complete rows.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        Standardised, with NaN.
    mass, labels, k, cell, tails, pool
        As there.
    """
    patterns = Patterns.of(rows)
    if patterns is None:
        return Anchor.estimate(rows, mass, labels, k, cell, tails, pool=pool)
    member = np.zeros((k, len(rows)))
    member[labels, np.arange(len(rows))] = mass
    seen_mass = np.maximum(mass @ patterns.seen, _TINY)
    trust = np.ones(len(rows))
    for _ in range(STEPS if np.isfinite(tails) else 1):
        means = _observed_means(patterns, member * trust, np.zeros((k, rows.shape[1])))
        residual = (patterns.values - means[labels]) * patterns.seen
        counted = mass * trust
        variance = (counted @ residual**2 + (counted @ patterns.seen) * cell) / seen_mass
        variance = np.maximum(variance, FLOOR)
        if np.isfinite(tails):
            squared = (residual**2 + patterns.seen * cell) @ (1.0 / variance)
            trust = (tails + patterns.counts) / (tails + squared)
    if not pool:
        return Anchor(cell, variance)
    trusted = residual * np.sqrt(counted / mass)[:, None]
    share = min(shrinkage_intensity(trusted / np.sqrt(variance), mass), MOST_SHRINKAGE)
    alone = Anchor(cell, variance, float(mass.sum()) * share / (1.0 - share))
    return alone._replace(pooled=_pool(patterns, residual, mass, counted, alone))


def _pool(
    patterns: Patterns, residual: Array, mass: Array, counted: Array, anchor: Anchor
) -> Array:
    """Common matrix of the residuals of a partition, by EM; its diagonal is the variances."""
    about = Patterns(residual, patterns.seen, patterns.groups)
    nowhere = np.zeros((1, len(anchor.variance)))
    root = np.sqrt(anchor.variance)
    pooled = np.diag(anchor.variance)
    for _ in range(_POOLING_STEPS):
        precision = MatrixScatter(pooled[None]).precision
        (_, rows, more), *_ = about.expected(
            mass[None], counted[None], nowhere, precision, anchor.cell
        )
        products = (rows * counted[:, None]).T @ rows + more
        products[np.diag_indices_from(products)] += anchor.rows * anchor.variance
        before, pooled = pooled, products / (float(mass.sum()) + anchor.rows)
        # the variances stay those of the observed values
        scale = root / np.sqrt(np.diag(pooled))
        pooled *= np.outer(scale, scale)
        if np.abs(pooled - before).max() < _SETTLED * anchor.variance.max():
            break
    return pooled
