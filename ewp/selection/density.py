r"""Held-out density of a partition: what rows it never saw are worth, in nats per row.

A partition of training rows is a statement on the joint density of all features: that along the
directions which tell its clusters apart the rows are a mixture, and not one elliptical cloud. So
rows that were held out are projected on these directions, and their log-density under the mixture
is compared with that under a single cloud of the same kind: both have a full covariance (a common
one within the clusters) and the tails of Student's t. What the other directions hold given these is
common to both and cancels. The score needs no labels, does not change with the units of a feature,
and puts penalties, scalings, forms and numbers of clusters on one axis. Correlation alone gains
nothing, and neither do heavy tails.

What keeps it honest when features are many:

- a feature whose means do not differ significantly between the clusters (F test, Bonferroni) has no
  part in the directions, unless rows are three times as many as coefficients (features times
  clusters less one): then directions in all features, which may cancel noise that features share,
  are taken if they tell the training rows apart better;
- directions are the discriminants for a covariance of the rows that is shrunk towards its diagonal,
  little, half, or wholly, as the training rows are told apart best;
- a training row is projected on directions that were found without it, so that its projection is
  distributed as those of new rows, however many features there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from ewp.common.types import Array
from ewp.data.decorrelation import shrinkage_intensity
from ewp.selection.t_mixture import Mixture, squared_lengths

__all__ = ["FoldDensity", "Judgement", "Projection", "renumber"]

_LEVEL = 0.05
#: Covariances of the rows shrunk by the analytic intensity, by half, and to the diagonal.
_SHRINKAGE = (None, 0.5, 1.0)
#: With so many rows a coefficient the directions may use all features.
_ROWS_A_COEFFICIENT = 3
#: With so many rows a feature the covariance is shrunk by the analytic intensity.
_FEW_FEATURES = 10
#: Covariances of more products than this are taken as diagonal.
_MOST_PRODUCTS = 5e7
#: Memberships of so many pairs of a row and a cluster are held at once.
_AT_ONCE = 2**18
#: Directions whose share of the between-cluster variance is smaller are rounding errors.
_ROUNDING = 1e-7
#: Share of a total sum of squares that is left within the clusters at least.
_LEAST_WITHIN = 1e-9


def renumber(partitions: np.ndarray) -> np.ndarray:
    """Clusters numbered as they appear: equal partitions have equal scores, to the last digit.

    >>> renumber(np.array([[4, 4, 1, 4, 2], [0, 1, 1, 1, 1]])).tolist()
    [[0, 0, 1, 0, 2], [0, 1, 1, 1, 1]]
    """
    members = partitions[:, None, :] == np.arange(partitions.max() + 1)[:, None]
    first = np.where(members.any(axis=2), members.argmax(axis=2), partitions.shape[1])
    rank = first.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    return np.take_along_axis(rank, partitions.astype(np.intp), axis=1)


class Judgement(NamedTuple):
    """What held-out rows say of a partition.

    Attributes
    ----------
    gain : ndarray of shape (m,)
        Log-density of every held-out row under the mixture minus that under one cloud.
    features : ndarray
        Columns whose means differ significantly between the clusters.
    """

    gain: Array
    features: np.ndarray


class Projection(NamedTuple):
    """Rows along the directions that tell clusters apart, and the mixture the training rows imply.

    Attributes
    ----------
    train, test : ndarray of shape (n, d), (m, d)
    labels : ndarray of shape (n,)
    mass : ndarray of shape (n,)
        Numbers of copies of the training rows.
    mixture : Mixture
    features : ndarray
        Columns whose means differ significantly between the clusters.
    gain : ndarray of shape (m,)
        Log-density of every test row under the mixture minus that under one cloud.
    """

    train: Array
    test: Array
    labels: np.ndarray
    mass: Array
    mixture: Mixture
    features: np.ndarray
    gain: Array


class _Coordinates(NamedTuple):
    """Training and test rows in coordinates where a shrunk covariance is the identity."""

    train: Array
    test: Array
    shrinkage: float


class FoldDensity:
    """Judges partitions of training rows by test rows.

    Parameters
    ----------
    train, test : ndarray
        Rows from `ewp.selection.coordinates.scoring_coordinates`.
    weight : ndarray or None
        Numbers of copies of the training rows.
    """

    def __init__(self, train: Array, test: Array, weight: Array | None) -> None:
        self.mass = np.ones(len(train)) if weight is None else weight
        self.total = float(self.mass.sum())
        center = self.mass @ train / self.total
        spread = np.sqrt(np.maximum(self.mass @ (train - center) ** 2 / self.total, 0.0))
        # by values: the mean of equal ones may differ from them in the last place
        self.columns = np.flatnonzero((np.ptp(train, axis=0) > 0) & (spread > 0))
        center, spread = center[self.columns], spread[self.columns]
        self.train = (train[:, self.columns] - center) / spread
        self.test = (test[:, self.columns] - center) / spread
        self._judged: dict[bytes, Judgement] = {}
        self._coordinates: dict[bytes, list[_Coordinates]] = {}

    def judge(self, labels: np.ndarray) -> Judgement:
        """Compare the mixture that a partition implies with one cloud, on the test rows.

        Parameters
        ----------
        labels : ndarray
            Clusters of the training rows.
        """
        return self.judge_all(labels[None])[0]

    def judge_all(self, partitions: np.ndarray) -> list[Judgement]:
        """Judge several partitions, in common passes; many penalties lead to one partition.

        Parameters
        ----------
        partitions : ndarray of shape (m, n)
            Clusters of the training rows.
        """
        found = renumber(partitions)
        keys = [one.tobytes() for one in found.astype(np.uint16)]
        new = {key: one for key, one in zip(keys, found, strict=True) if key not in self._judged}
        for key, projected in zip(new, self._project_all(list(new.values())), strict=True):
            if projected is None:
                self._judged[key] = Judgement(np.zeros(len(self.test)), self.columns[:0])
            else:
                self._judged[key] = Judgement(projected.gain, projected.features)
        return [self._judged[key] for key in keys]

    def _significant(self, mass: Array, member: Array) -> np.ndarray:
        """Which columns have means that differ significantly between clusters, (m, p)."""
        k = mass.shape[1]
        degrees = max(self.total - k, 1e-9)
        means = (member @ self.train) / mass[..., None]
        between = np.einsum("bj,bjl->bl", mass, means**2) / self.total
        between = np.minimum(between, 1.0 - _LEAST_WITHIN)
        ratio = between / (1.0 - between) * degrees / (k - 1)
        p_value = fdtrc(k - 1, degrees, ratio)
        return np.asarray(p_value * self.train.shape[1] < _LEVEL)

    def project(self, labels: np.ndarray) -> Projection | None:
        """Project the rows on the directions in which a partition's clusters differ, if any do.

        Parameters
        ----------
        labels : ndarray
            Clusters of the training rows, counted from 0 without gaps.
        """
        return self._project_all([labels])[0]

    def _project_all(self, partitions: list[np.ndarray]) -> list[Projection | None]:
        """Project the rows for several partitions; those of as many clusters are done together."""
        found: list[Projection | None] = [None] * len(partitions)
        if not len(self.columns):
            return found
        counts = np.array([int(one.max()) + 1 for one in partitions])
        for k in np.unique(counts[counts > 1]).tolist():
            which = np.flatnonzero(counts == k)
            size = max(_AT_ONCE // (k * len(self.train)), 1)
            for start in range(0, len(which), size):
                part = which[start : start + size]
                own = self._project_some(np.array([partitions[i] for i in part]), k)
                for i, one in zip(part.tolist(), own, strict=True):
                    found[i] = one
        return found

    def _project_some(self, labels: np.ndarray, k: int) -> list[Projection | None]:
        """Project the rows for some partitions of k clusters, an array (m, n)."""
        member = (labels[:, None, :] == np.arange(k)[:, None]) * self.mass
        mass = member.sum(axis=2)
        hits = self._significant(mass, member)
        tasks: list[tuple[int, _Coordinates]] = []
        for i, hit in enumerate(hits):
            if not hit.any():
                continue
            tried = self._in_coordinates(hit)
            if not hit.all() and (k - 1) * len(hit) * _ROWS_A_COEFFICIENT <= self.total:
                # others may tell what is noise in those that differ
                tried = tried + self._in_coordinates(np.ones_like(hit))
            tasks += [(i, rows) for rows in tried]
        projected = self._project_tasks(tasks, labels, mass, member)
        found: list[Projection | None] = [None] * len(labels)
        best = np.full(len(labels), -np.inf)
        groups: dict[int, list[int]] = {}
        for number, (train, _) in enumerate(projected):
            groups.setdefault(train.shape[1], []).append(number)
        told_apart = np.empty(len(tasks))
        made: dict[int, tuple[Mixture, int, Array]] = {}
        for members in groups.values():
            of = [tasks[number][0] for number in members]
            train, test = (
                np.array([projected[number][part] for number in members]) for part in (0, 1)
            )
            mixture = Mixture.estimate(train, labels[of], self.mass, mass[of])
            told_apart[members] = mixture.gain(train) @ self.mass
            gain = mixture.gain(test)
            made |= {number: (mixture, b, gain[b]) for b, number in enumerate(members)}
        for number, (i, _) in enumerate(tasks):
            if found[i] is None or told_apart[number] > best[i]:
                best[i] = told_apart[number]
                mixture, b, gain = made[number]
                features = self.columns[hits[i]]
                found[i] = Projection(
                    *projected[number], labels[i], self.mass, mixture.take(b), features, gain
                )
        return found

    def _project_tasks(
        self,
        tasks: list[tuple[int, _Coordinates]],
        labels: np.ndarray,
        mass: Array,
        member: Array,
    ) -> list[tuple[Array, Array]]:
        """Project training and test rows in some coordinates, each for one of some partitions."""
        found: dict[int, tuple[Array, Array]] = {}
        alike: dict[int, list[int]] = {}
        for number, (_, rows) in enumerate(tasks):
            alike.setdefault(id(rows), []).append(number)
        for numbers in alike.values():
            of = [tasks[number][0] for number in numbers]
            rows = tasks[numbers[0]][1]
            train, test, rank = self._project(rows, labels[of], mass[of], member[of])
            for b, number in enumerate(numbers):
                found[number] = train[b, :, : rank[b]], test[b, :, : rank[b]]
        return [found[number] for number in range(len(tasks))]

    def _in_coordinates(self, hit: np.ndarray) -> list[_Coordinates]:
        """Rows in some columns, in coordinates where their shrunk covariances are the identity."""
        key = hit.tobytes()
        if key in self._coordinates:
            return self._coordinates[key]
        train, test = self.train[:, hit], self.test[:, hit]
        n, p = train.shape
        few, many = min(n, p), max(n, p)
        found = [_Coordinates(train, test, 1.0)]
        if p > 1 and float(few) ** 2 * many <= _MOST_PRODUCTS:
            scaled = train * np.sqrt(self.mass / self.total)[:, None]
            if p <= n:
                values, axes = np.linalg.eigh(scaled.T @ scaled)
            else:
                values, left = np.linalg.eigh(scaled @ scaled.T)
                kept = values > 1e-10 * values[-1]
                values, left = values[kept], left[:, kept]
                axes = (scaled.T @ left) / np.sqrt(values)
            values = np.maximum(values, 0.0)
            along, along_test = train @ axes, test @ axes
            analytic = shrinkage_intensity(train, self.mass)
            found = []
            for given in _SHRINKAGE if p * _FEW_FEATURES > self.total else _SHRINKAGE[:1]:
                share = analytic if given is None else given
                root = np.sqrt((1.0 - share) * values + share)
                found.append(_Coordinates(along / root, along_test / root, share))
        self._coordinates[key] = found
        return found

    def _project(
        self, rows: _Coordinates, labels: np.ndarray, mass: Array, member: Array
    ) -> tuple[Array, Array, np.ndarray]:
        """Training rows on discriminants found without them, and test rows on those of all.

        Of some partitions: arrays (m, n, d) and (m, n', d), and how many of the d are more than
        rounding errors in each.
        """
        train, (count, k) = rows.train, mass.shape
        means = (member.reshape(count * k, -1) @ train).reshape(count, k, -1) / mass[..., None]
        root = np.sqrt(mass / self.total)[..., None]
        left, length, _ = np.linalg.svd(root * means, full_matrices=False)
        left, length = left[..., : k - 1], length[:, None, : k - 1]
        kept = length > _ROUNDING * length[..., :1]
        to_axes = root * left / np.where(kept, length, 1.0)
        flat = means.reshape(count * k, -1)
        product = (flat @ train.T).reshape(count, k, -1)
        lengths = squared_lengths(train)
        # without one copy of the row: its cluster's mean, and the covariance
        own, copies = labels[:, None, :], np.take_along_axis(mass, labels, axis=1)[:, None, :]
        without = copies * np.take_along_axis(product, own, axis=1) - lengths
        without /= np.maximum(copies - 1.0, 1.0)
        np.put_along_axis(product, own, np.where(copies > 1.0, without, 0.0), axis=1)
        leverage = np.minimum((1.0 - rows.shrinkage) * lengths / self.total, 0.99)
        product /= 1.0 - leverage
        of_test = (flat @ rows.test.T).reshape(count, k, -1)
        projected = (one.swapaxes(1, 2) @ to_axes for one in (product, of_test))
        return *projected, kept[:, 0].sum(axis=1)
