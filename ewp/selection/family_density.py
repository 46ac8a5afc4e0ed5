r"""Held-out density of a partition where columns have families of their own, in nats per row.

The clusters of training rows imply a mixture in which every column has the distribution of its
family: counts are negative binomial about size times mean (Poisson where they vary no more than
that), yes or no is Bernoulli, positive amounts are gamma, and columns with squared differences have
Student's t. Given the cluster, columns are independent. Rows that were held out are scored by their
log-density under the mixture minus that under a single cluster of the same families, whose spread
is estimated for itself: what varies more than its family says gains nothing by that. A column whose
means do not differ significantly between the clusters (likelihood ratio, Bonferroni) is the same in
all of them and in the single one, and cancels. Means are shrunk towards that of all rows as if one
more row lay there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc, gammaln, logsumexp

from ewp.common.types import Array
from ewp.engine.columns import PLAIN
from ewp.selection.coordinates import resolution
from ewp.selection.density import Judgement, renumber

__all__ = ["Counted", "FamilyDensity"]

_LEVEL = 0.05
#: Rows of mean size at the mean of all that are added to every cluster.
_ADDED = 1.0
#: Least extra variance of counts, as a share of the squared mean, and of amounts; least variance
#: of other columns, as a share of the total.
_LEAST_EXTRA, _LEAST_VARIANCE = 1e-4, 1e-4
#: Degrees of freedom of Student's t.
_TAILS = 5.0


class Counted(NamedTuple):
    """Names of the columns' families, rows in data units, and their sizes."""

    names: tuple[str, ...]
    values: Array
    sizes: Array


@dataclass(frozen=True)
class _Rows:
    """Values of some columns, sizes of the rows, and numbers of copies."""

    values: Array
    sizes: Array
    copies: Array

    def take(self, columns: np.ndarray) -> _Rows:
        return _Rows(self.values[:, columns], self.sizes, self.copies)


class _Model(ABC):
    """The distribution of a family: spread about means, likelihood ratios, log-densities."""

    def __init__(self, rows: _Rows) -> None:
        self.least = np.zeros(rows.values.shape[1])

    @abstractmethod
    def spread(self, rows: _Rows, mean: Array, degrees: float) -> Array:
        """Spread of every column about the means of the rows, (n, p), with degrees of freedom."""

    @abstractmethod
    def kernel(self, rows: _Rows, mean: Array, spread: Array) -> Array:
        """Log-density of every entry, but for what does not depend on the mean.

        `mean` may have further axes in front.
        """

    @abstractmethod
    def base(self, rows: _Rows, spread: Array) -> Array:
        """What the kernel leaves out, but for what does not depend on the spread."""


class _Counts(_Model):
    """Negative binomial counts; the spread is what the variance has beyond the mean."""

    def spread(self, rows: _Rows, mean: Array, degrees: float) -> Array:
        expected = rows.sizes[:, None] * mean
        total = float(rows.copies.sum())
        beyond = (rows.values - expected) ** 2 * (total / degrees) - expected
        square = rows.copies @ expected**2
        found = np.divide(rows.copies @ beyond, square, out=np.zeros_like(square), where=square > 0)
        return np.maximum(found, _LEAST_EXTRA)

    def kernel(self, rows: _Rows, mean: Array, spread: Array) -> Array:
        scaled = rows.sizes[:, None] * mean * spread
        logs = np.log1p(scaled)
        return rows.values * (np.log(scaled) - logs) - logs / spread

    def base(self, rows: _Rows, spread: Array) -> Array:
        found: Array = gammaln(rows.values + 1.0 / spread) - gammaln(1.0 / spread)
        return found


class _YesOrNo(_Model):
    """Bernoulli: nothing but the mean."""

    def spread(self, rows: _Rows, mean: Array, degrees: float) -> Array:
        return np.ones(rows.values.shape[1])

    def kernel(self, rows: _Rows, mean: Array, spread: Array) -> Array:
        return rows.values * np.log(mean) + (1.0 - rows.values) * np.log1p(-mean)

    def base(self, rows: _Rows, spread: Array) -> Array:
        return np.zeros(rows.values.shape)


class _Amounts(_Model):
    """Gamma; the spread is the squared coefficient of variation."""

    def spread(self, rows: _Rows, mean: Array, degrees: float) -> Array:
        found = rows.copies @ (rows.values / mean - 1.0) ** 2 / degrees
        return np.maximum(found, _LEAST_EXTRA)

    def kernel(self, rows: _Rows, mean: Array, spread: Array) -> Array:
        return -(np.log(mean) + rows.values / mean) / spread

    def base(self, rows: _Rows, spread: Array) -> Array:
        shape = 1.0 / spread
        found: Array = shape * np.log(shape) + shape * np.log(rows.values) - gammaln(shape)
        return found


class _Measurements(_Model):
    """Student's t; the spread is the variance, at least that of the column's resolution."""

    def __init__(self, rows: _Rows) -> None:
        gap = resolution(rows.values, rows.copies)
        self.least = np.maximum(gap**2 / 12.0, _LEAST_VARIANCE * rows.values.var(axis=0))

    def spread(self, rows: _Rows, mean: Array, degrees: float) -> Array:
        return np.maximum(rows.copies @ (rows.values - mean) ** 2 / degrees, self.least)

    def kernel(self, rows: _Rows, mean: Array, spread: Array) -> Array:
        scale = (_TAILS - 2.0) * spread
        return -0.5 * (_TAILS + 1.0) * np.log1p((rows.values - mean) ** 2 / scale)

    def base(self, rows: _Rows, spread: Array) -> Array:
        return np.broadcast_to(-0.5 * np.log(spread), rows.values.shape)


_MODELS: dict[str, type[_Model]] = {
    "poisson": _Counts,
    "bernoulli": _YesOrNo,
    "gamma": _Amounts,
    PLAIN: _Measurements,
}


class _Part:
    """The columns of one family in the training and the test rows of a fold."""

    def __init__(self, name: str, columns: np.ndarray, train: _Rows, test: _Rows) -> None:
        self.columns, self.train, self.test = columns, train.take(columns), test.take(columns)
        self.model = _MODELS[name](self.train)
        weight = self.train.copies * self.train.sizes
        self.mean = self.train.copies @ self.train.values / weight.sum()
        degrees = max(float(self.train.copies.sum()) - 1.0, 1.0)
        everywhere = np.broadcast_to(self.mean, self.train.values.shape)
        self.alone = self.model.spread(self.train, everywhere, degrees)
        kernel = self.model.kernel(self.test, self.mean, self.alone)
        #: log-densities of the test rows' entries under a single cluster
        self.single = kernel + self.model.base(self.test, self.alone)

    def compare(
        self, member: Array, labels: np.ndarray, level: float
    ) -> tuple[np.ndarray, Array | None, Array]:
        """Columns that differ; log-densities of test rows in every cluster, and in a single one."""
        k, total = len(member), float(self.train.copies.sum())
        weight = member @ self.train.sizes
        added = _ADDED * float(weight.sum()) / total
        shrunk = (member @ self.train.values + added * self.mean) / (weight[:, None] + added)
        of_rows = shrunk[labels]
        degrees = max(total - k, 1.0)
        spread = self.model.spread(self.train, of_rows, degrees)
        apart = self.model.kernel(self.train, of_rows, spread)
        apart = apart - self.model.kernel(self.train, self.mean, spread)
        ratio = 2.0 * np.maximum(self.train.copies @ apart, 0.0) / (k - 1)
        differ = fdtrc(k - 1, degrees, ratio) < level
        if not differ.any():
            return self.columns[:0], None, np.zeros(len(self.test.values))
        test, own = self.test.take(differ), spread[differ]
        base = self.model.base(test, own).sum(axis=1)
        found = np.empty((k, len(test.values)))
        for j in range(k):
            found[j] = self.model.kernel(test, shrunk[j, differ], own).sum(axis=1) + base
        return self.columns[differ], found, self.single[:, differ].sum(axis=1)


class FamilyDensity:
    """Judges partitions of training rows by test rows whose columns have families of their own.

    Parameters
    ----------
    rows : Counted
    train, test : ndarray
        Row numbers.
    copies : ndarray of shape (n,) or None
        Numbers of copies of the rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1], 40)
    >>> counts = rng.poisson(np.where(labels[:, None] > 0, 9.0, 2.0), (80, 3)).astype(float)
    >>> train, test = np.arange(0, 80, 2), np.arange(1, 80, 2)
    >>> judge = FamilyDensity(Counted(("poisson",) * 3, counts, np.ones(80)), train, test, None)
    >>> found = judge.judge_all(labels[None, train])[0]
    >>> bool(found.gain.mean() > 0.5), found.features.tolist()
    (True, [0, 1, 2])
    """

    def __init__(
        self,
        rows: Counted,
        train: np.ndarray,
        test: np.ndarray,
        copies: Array | None,
    ) -> None:
        names, values, sizes = rows
        mass = np.ones(len(values)) if copies is None else copies
        varying = np.ptp(values[train], axis=0) > 0
        self.count = int(np.count_nonzero(varying))
        self._copies = mass[train]
        self._tests = len(test)
        parts = [_Rows(values[part], sizes[part], mass[part]) for part in (train, test)]
        self._parts = []
        for name in dict.fromkeys(names):
            columns = np.flatnonzero((np.array(names) == name) & varying)
            if len(columns):
                self._parts.append(_Part(name, columns, *parts))
        self._judged: dict[bytes, Judgement] = {}

    def judge_all(self, partitions: np.ndarray) -> list[Judgement]:
        """Compare the mixtures that partitions imply with one cluster, on the test rows.

        Parameters
        ----------
        partitions : ndarray of shape (m, n)
            Clusters of the training rows.
        """
        found = []
        for labels in renumber(partitions):
            key = labels.astype(np.uint16).tobytes()
            if key not in self._judged:
                self._judged[key] = self._judge(labels)
            found.append(self._judged[key])
        return found

    def _judge(self, labels: np.ndarray) -> Judgement:
        k = int(labels.max()) + 1
        differing = []
        single = np.zeros(self._tests)
        member = (labels == np.arange(k)[:, None]) * self._copies
        share = member.sum(axis=1) / self._copies.sum()
        mixed = np.repeat(np.log(share)[:, None], self._tests, axis=1)
        if k > 1:
            for part in self._parts:
                columns, densities, alone = part.compare(member, labels, _LEVEL / self.count)
                differing.append(columns)
                if densities is not None:
                    mixed += densities
                    single += alone
        columns = np.concatenate(differing) if differing else np.empty(0, dtype=int)
        if not len(columns):
            return Judgement(single, columns)
        return Judgement(logsumexp(mixed, axis=0) - single, np.sort(columns))
