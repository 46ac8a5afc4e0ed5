"""Missing values: which columns have some, how much of them is observed, and moments of that.

A missing value is NaN. What is computed of a column is computed of its observed values: mean, sum
of squares, whether it varies. Rows become values and marks: 0 where a centred value is missing, and
for every column with missing values one more that tells where it is observed. With these both
distances over observed entries and sums of observed entries are matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ewp.common.types import Array
from ewp.data.canonical import observed_mass

__all__ = ["Missingness"]


@dataclass(frozen=True, eq=False)
class Missingness:
    """Which columns have missing values.

    Attributes
    ----------
    columns : ndarray of int, shape (h,)
        Their numbers, increasing.
    share : ndarray of shape (p,)
        Share of the rows, by weight, in which every column is observed; 1 as well for columns
        that are observed nowhere, of which there is nothing to scale.
    """

    columns: np.ndarray
    share: Array

    @classmethod
    def none(cls, p: int) -> Missingness:
        """Return that of complete data."""
        return cls(np.empty(0, dtype=np.intp), np.ones(p))

    @classmethod
    def of_mass(cls, columns: np.ndarray, mass: Array, total: float) -> Missingness:
        """Return that of columns by the weight of the rows in which they are observed.

        Parameters
        ----------
        columns : ndarray of shape (h,)
        mass : ndarray of shape (p,)
        total : float
            Weight of all rows.
        """
        share = np.ones(len(mass))
        share[columns] = np.where(mass[columns] > 0, mass[columns] / total, 1.0)
        return cls(columns, share)

    @classmethod
    def of_rows(cls, X: Array, sample_weight: Array | None, columns: np.ndarray) -> Missingness:
        """Return that of rows, of whose columns some are known to have missing values."""
        total = float(len(X) if sample_weight is None else sample_weight.sum())
        mass = np.full(X.shape[1], total)
        mass[columns] = observed_mass(X, sample_weight, columns)
        return cls.of_mass(columns, mass, total)

    def __bool__(self) -> bool:
        return len(self.columns) > 0

    def mark(self, block: Array) -> None:
        """Put 0 in the place of missing values, and the marks behind the columns, in place.

        Parameters
        ----------
        block : ndarray of shape (b, p + h)
            Centred rows with NaN, and room for the marks: 1 for observed, 0 for missing.
        """
        p = len(self.share)
        values = block[:, self.columns]
        absent = np.isnan(values)
        values[absent] = 0.0
        block[:, self.columns] = values
        np.logical_not(absent, out=block[:, p:])
