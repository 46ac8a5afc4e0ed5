"""p-values that allow for clusters having been found in the same data.

The p-value of a statistic is taken in its law given that the partition of the fit is still the best
one: among the data sets of a path (`ewp.diagnostics.paths`), those on which no other partition has
a lower objective. The objective of a partition, at the weights and centroids that are best for it,
has a closed form there, since dispersions are quadratic in the steps of a path. So the set where
the partition of the fit wins against rivals that are known is found to the last digit, and searches
are needed only to find rivals. They are made at values drawn from the law given the set, many in
one pass (`ewp.solver.small_sets`), until several in a row find nothing lower.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from ewp.common.types import Array
from ewp.diagnostics.paths import Path
from ewp.engine import array_engine
from ewp.solver.fit import FitOptions
from ewp.solver.small_sets import lower_partitions
from ewp.solver.starts import choose_starts, seed_numbers
from ewp.solver.weights import RelativeEntropy

__all__ = ["Rivals", "SelectivePValue", "selective_p_value"]

#: Objectives that differ by less than this part of the sums of squares are the same.
_EQUAL = 1e-10
#: How far beyond the observed value statistics are looked at, in how large steps and how many.
_REACH, _STEP, _MOST_STEPS = 8.0, 0.1, 600
#: Distances from the observed value that are looked at besides, where the set may be narrow.
_NEAREST, _NEAR = 1e-6, 25
#: Halvings by which an end of the set is found.
_HALVINGS = 40
#: Searches of one test at most, in multiples of those that must find nothing.
_PATIENCE = 10
#: Of so many searches one is made where the statistic is at least as far from zero as observed.
_EVERY = 3
#: Data sets of a path that are searched in one pass, and entries that may be held for them.
_TOGETHER, _ENTRIES = 10, 2**22
#: Starts of a search, of which the products with the rows may be so many; rivals from which a
#: search begins too, and of those found in it how many are kept.
_STARTS, _PRODUCTS, _KNOWN, _KEPT = 8, 2e6, 3, 3
#: Starts on the observed data, in multiples of those of a search.
_THOROUGH = 10
#: Coefficients of partitions that are evaluated at once.
_AT_ONCE = 2**20


class _Partition(NamedTuple):
    """Labels in order of appearance, sizes and sums of the clusters, dispersions of the columns."""

    labels: np.ndarray
    size: Array
    sums: Array
    dispersion: Array


@dataclass(eq=False)
class Rivals:
    """The partition of a fit, and others that may have a lower objective on other data.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        The columns that have weights.
    labels : ndarray of shape (n,)
        The partition of the fit.
    options : FitOptions
        Settled.

    Attributes
    ----------
    known : list
        The partition of the fit and, in the order in which they were found, its rivals.
    lower : set of bytes
        Labels of partitions that have a lower objective on the observed data: the fit missed them.
    rounding : float
        Objectives that differ by less are the same.
    """

    X: Array
    labels: np.ndarray
    options: FitOptions
    known: list[_Partition] = field(default_factory=list, init=False)
    lower: set[bytes] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        prior = np.ones(self.X.shape[1]) if self.options.prior is None else self.options.prior
        self._included = np.flatnonzero(prior > 0)
        self._prior = prior[self._included] / prior.sum()
        self.X = self.X - self.X.mean(axis=0)
        scale = "standard" if self.options.standardise else None
        self._engine = array_engine(self.X[:, self._included], None, scale)
        self._seen: set[bytes] = set()
        self._whole = self._describe(np.zeros(len(self.X), dtype=np.intp))
        squares = self._whole.dispersion
        self.rounding = _EQUAL * (len(self.X) if self.options.standardise else squares.max())
        self.add(self.labels)

    def _describe(self, labels: np.ndarray) -> _Partition:
        size = np.bincount(labels).astype(float)
        sums = (labels == np.arange(len(size))[:, None]) @ self.X
        dispersion = ((self.X - (sums / size[:, None])[labels]) ** 2).sum(axis=0)
        return _Partition(labels, size, sums, dispersion)

    def add(self, labels: np.ndarray) -> _Partition | None:
        """Add a partition; None if it is known."""
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        canonical = np.argsort(np.argsort(first))[inverse].astype(np.intp)
        key = canonical.tobytes()
        if key in self._seen:
            return None
        self._seen.add(key)
        self.known.append(self._describe(canonical))
        return self.known[-1]

    def along(self, one: _Partition | None, path: Path) -> Array:
        """Dispersions of a partition along a path; None stands for all rows in one cluster.

        Returns
        -------
        ndarray of shape (6, p)
            Coefficients of 1, of the steps a and c, and of their products aa, ac and cc.
        """
        one = self._whole if one is None else one
        member = one.labels == np.arange(len(one.size))[:, None]
        ways = np.array([path.contrast, path.residual])
        sums = ways @ member.T
        cross = ways @ self.X - (sums / one.size) @ one.sums
        products = ways @ ways.T - (sums / one.size) @ sums.T
        moves = path.directions
        linear = 2 * np.einsum("wl,wsl->sl", cross, moves)
        aa, ac, _, cc = np.einsum("wx,wsl,xtl->stl", products, moves, moves).reshape(4, -1)
        return np.array([one.dispersion, *linear, aa, 2 * ac, cc])

    def objectives(self, curves: Array, whole: Array, steps: tuple[Array, Array]) -> Array:
        """Objectives of partitions at their best weights, up to what all partitions share.

        Parameters
        ----------
        curves : ndarray of shape (partitions, 6, p)
            Dispersions of the partitions along a path.
        whole : ndarray of shape (6, p)
            The same of all rows in one cluster.
        steps : (ndarray, ndarray)

        Returns
        -------
        ndarray of shape (partitions, steps)
        """
        options, lam = self.options, self.options.penalty
        a, c = steps
        terms = np.column_stack([np.ones_like(a), a, c, a * a, a * c, c * c])
        total = np.maximum(terms @ whole[:, self._included], 0.0)
        unit = np.ones_like(total)
        if options.standardise:
            np.divide(len(self.X), total, out=unit, where=total > 0)
        found = np.empty((len(curves), len(a)))
        size = max(_AT_ONCE // total.size, 1)
        for start in range(0, len(curves), size):
            part = slice(start, start + size)
            cost = np.maximum(terms @ curves[part][:, :, self._included], 0.0)
            if options.between:
                cost -= total
            cost *= unit
            least = cost.min(axis=-1)
            # to the last digit also where the penalty is so large that all weights are equal
            with np.errstate(over="ignore"):
                rest = np.expm1((least[..., None] - cost) / lam) @ self._prior
            found[part] = least - lam * np.log1p(rest)
        return found

    def search_observed(self, rng: np.random.Generator) -> None:
        """Look for other partitions of the observed data."""
        self._search(self.X[None], [[]], rng, _THOROUGH)

    def search(
        self, path: Path, tau: Array, near: list[list[_Partition]], rng: np.random.Generator
    ) -> list[_Partition]:
        """Look for lower partitions of the data at some values of the statistic.

        Parameters
        ----------
        path : Path
        tau : ndarray
        near : list
            Partitions for every value from which the search begins too, beside that of the fit.
        rng : Generator

        Returns
        -------
        list
            Those that were not known.
        """
        return self._search(np.array([path.data(self.X, one) for one in tau]), near, rng, 1)

    def _search(
        self, rows: Array, near: list[list[_Partition]], rng: np.random.Generator, effort: int
    ) -> list[_Partition]:
        """Look for lower partitions of some data sets, from `effort` times the usual starts."""
        count = len(rows)
        Y = rows[:, :, self._included]
        Y = Y - Y.mean(axis=1, keepdims=True)
        squares = (Y**2).sum(axis=1)
        if self.options.standardise:
            scale = np.sqrt(squares / len(self.X))
            Y /= np.where(scale > 0, scale, 1.0)[:, None]
            squares = np.where(squares > 0, float(len(self.X)), 0.0)
        between = self.options.between
        rule = RelativeEntropy(
            self.options.penalty,
            np.log(self._prior),
            squares[:, None] if between else np.zeros(Y.shape[2]),
        )
        begun = [[self.known[0], *some] for some in near]
        most = max(len(some) for some in begun)
        labels = np.array(
            [[one.labels for one in (some * most)[:most]] for some in begun], dtype=np.intp
        )
        found = lower_partitions(Y, labels, self._starts(count, effort, rng), rule)
        objective = rule.least(found.dispersion)
        new = []
        for t in range(count):
            order = np.argsort(objective[t], kind="stable")[:_KEPT]
            added = (self.add(found.labels[t, i]) for i in order)
            new += [one for one in added if one is not None]
        return new

    @property
    def most_together(self) -> int:
        """Data sets that are searched in one pass, as many as lie in memory."""
        n, p = self.X.shape
        each = n * (p + (_STARTS + _KNOWN + 1) * self.options.n_clusters)
        return int(np.clip(_ENTRIES // each, 1, _TOGETHER))

    def _starts(self, count: int, effort: int, rng: np.random.Generator) -> Array:
        """Starting centroids of some data sets, (count, starts, k, p)."""
        n, p, k = len(self.X), len(self._included), self.options.n_clusters
        each = effort * int(np.clip(_PRODUCTS // (n * p * k), 1, _STARTS))
        metric = np.full((count * each, p), 1.0 / p)
        numbers = seed_numbers(rng, count * each, k)
        theta = choose_starts(self._engine, k, "k-means++", metric, numbers)
        return theta.reshape(count, each, k, p)


class SelectivePValue(NamedTuple):
    """A p-value and what it rests on.

    Attributes
    ----------
    p_value : float
    refits : int
        Data sets along the path that were searched.
    settled : bool
        Whether nothing lower was in the last of them, as many as were asked for.
    """

    p_value: float
    refits: int
    settled: bool


class _Winning:
    """Where on a path the partition of the fit wins against its known rivals."""

    def __init__(self, rivals: Rivals, path: Path) -> None:
        self._rivals, self._path = rivals, path
        self._whole = rivals.along(None, path)
        self._curves = rivals.along(rivals.known[0], path)[None]
        observed = path.observed
        reach = abs(observed) + _REACH + 2.0 * math.sqrt(path.law.q)
        count = min(math.ceil(reach / _STEP), _MOST_STEPS)
        side = np.linspace(0.0, reach, count + 1)
        near = np.geomspace(_NEAREST, 1.0, _NEAR) * max(1.0, abs(observed) / 4)
        tau = [side, observed + near, observed - near, np.array([-observed, observed])]
        if path.law.signed:
            tau.append(-side)
        values = np.unique(np.concatenate(tau))
        self.tau = values if path.law.signed else values[values >= 0.0]
        self._own = self._objectives(self._curves, self.tau)[0]
        self._lead = np.full(len(self.tau), np.inf)
        self._taken: list[_Partition] = []
        self.take(rivals.known[1:])

    def _objectives(self, curves: Array, tau: Array) -> Array:
        return self._rivals.objectives(curves, self._whole, self._path.steps(tau))

    def _leads(self, curves: Array, tau: Array) -> Array:
        """By how much objectives of rivals exceed that of the fit's partition; ties are leads."""
        found = self._objectives(np.concatenate([self._curves[:1], curves]), tau)
        return np.asarray(found[1:] - found[0] + self._rivals.rounding)

    def take(self, partitions: list[_Partition]) -> None:
        """Take in rivals that win anywhere.

        One that is lower on the observed data is counted and left out: there the fit missed it.
        """
        if not partitions:
            return
        curves = np.array([self._rivals.along(one, self._path) for one in partitions])
        here = self._leads(curves, np.array([self._path.observed]))[:, 0]
        for one, curve, lead in zip(partitions, curves, here, strict=True):
            if lead < 0:
                self._rivals.lower.add(one.labels.tobytes())
                continue
            along = self._objectives(curve[None], self.tau)[0] - self._own + self._rivals.rounding
            if along.min() < 0:
                np.minimum(self._lead, along, out=self._lead)
                self._taken.append(one)
                self._curves = np.concatenate([self._curves, curve[None]])

    def lost(self, tau: Array) -> np.ndarray:
        """At which values a rival wins."""
        if not self._taken:
            return np.zeros(len(tau), dtype=bool)
        return self._leads(self._curves[1:], tau).min(axis=0) < 0

    def nearest(self, tau: Array) -> list[list[_Partition]]:
        """Rivals that come closest at some values."""
        if not self._taken:
            return [[] for _ in tau]
        order = np.argsort(self._leads(self._curves[1:], tau), axis=0, kind="stable")[:_KNOWN]
        return [[self._taken[i] for i in column] for column in order.T]

    def pieces(self) -> tuple[Array, Array]:
        """Begins and ends of short intervals that make up the set."""
        wins = self._lead >= 0
        change = np.flatnonzero(wins[:-1] != wins[1:])
        low, high, first = self.tau[change], self.tau[change + 1], wins[change]
        for _ in range(_HALVINGS if len(change) else 0):
            middle = 0.5 * (low + high)
            same = ~self.lost(middle) == first
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        ends = 0.5 * (low + high)
        start, stop = self.tau[:-1].copy(), self.tau[1:].copy()
        start[change[~first]], stop[change[first]] = ends[~first], ends[first]
        kept = wins[:-1] | wins[1:]
        return start[kept], stop[kept]


def selective_p_value(
    rivals: Rivals, path: Path, n_refits: int, rng: np.random.Generator
) -> SelectivePValue:
    """p-value of a statistic given that the partition of the fit has the lowest objective.

    Parameters
    ----------
    rivals : Rivals
        They grow by what searches find.
    path : Path
    n_refits : int
        Data sets in a row in which nothing lower may be found.
    rng : Generator

    Returns
    -------
    SelectivePValue
    """
    winning = _Winning(rivals, path)
    passed = done = 0
    while True:
        start, stop = winning.pieces()
        mass = path.law.log_mass(start, stop)
        extreme = np.minimum(np.abs(start), np.abs(stop)) >= abs(path.observed)
        p_value = float(np.exp(logsumexp(mass[extreme]) - logsumexp(mass)))
        if passed >= n_refits or done >= _PATIENCE * n_refits:
            return SelectivePValue(p_value, done, passed >= n_refits)
        count = min(n_refits - passed, rivals.most_together)
        tau = np.empty(count)
        for i in range(count):
            far = (done + i) % _EVERY == _EVERY - 1
            drawn = np.where(extreme, mass, -np.inf) if far else mass
            piece = rng.choice(len(drawn), p=np.exp(drawn - logsumexp(drawn)))
            tau[i] = rng.uniform(start[piece], stop[piece])
        winning.take(rivals.search(path, tau, winning.nearest(tau), rng))
        done += count
        passed = 0 if winning.lost(tau).any() else passed + count
