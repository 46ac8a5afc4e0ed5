r"""Rows with missing values: which are missing together, and their moments given the others.

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

__all__ = ["Patterns"]

#: Numbers that what is computed of some patterns together may take.
_ENTRIES = 2**22


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
