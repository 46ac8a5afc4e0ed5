"""p-values that allow for clusters having been found in the same data.

The p-value of a statistic is taken in its law given that the partition of the fit is still the best
one: among the data sets of a path (`ewp.diagnostics.paths`), those on which no other partition has
a lower objective. The objective of a partition, at the weights and centroids that are best for it,
has a closed form there, since dispersions are quadratic in the steps of a path. So the set where
the partition of the fit wins against rivals that are known is found to the last digit, and fits
are needed only to find rivals. They are made from scratch at values drawn from the law given the
set, until several in a row find nothing lower.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from ewp.common.types import Array
from ewp.diagnostics.paths import Path
from ewp.engine import array_engine
from ewp.solver.fit import FitOptions, WarmStart, fit_engine

__all__ = ["Rivals", "SelectivePValue", "selective_p_value"]

#: Objectives that differ by less than this part of the sums of squares are the same.
_EQUAL = 1e-10
#: How far beyond the observed value statistics are looked at, in how large steps and how many.
_REACH, _STEP, _MOST_STEPS = 8.0, 0.1, 600
#: Distances from the observed value that are looked at besides, where the set may be narrow.
_NEAREST, _NEAR = 1e-6, 25
#: Halvings by which an end of the set is found.
_HALVINGS = 40
#: Fits of one test at most, in multiples of those that must find nothing.
_PATIENCE = 10
#: Rivals from which a fit begins too.
_KNOWN = 3
#: Of so many fits one is made where the statistic is at least as far from zero as observed.
_EVERY = 3


class _Partition(NamedTuple):
    """Labels in order of appearance, sizes and sums of the clusters, dispersions of the columns."""

    labels: np.ndarray
    size: Array
    sums: Array
    dispersion: Array


class _Dispersions(NamedTuple):
    """Dispersions of a partition along a path, as coefficients of the two steps."""

    constant: Array
    linear: tuple[Array, Array]
    quadratic: tuple[Array, Array, Array]

    def at(self, steps: tuple[Array, Array]) -> Array:
        """Return the dispersions, an array (steps, p)."""
        a, c = steps
        found = self.constant + np.outer(a, self.linear[0]) + np.outer(c, self.linear[1])
        for square, coefficient in zip((a * a, a * c, c * c), self.quadratic, strict=True):
            found += np.outer(square, coefficient)
        return np.maximum(found, 0.0, out=found)


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
        Settled; a start that is given is in the units of these columns.

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
        center = self.X.mean(axis=0)
        self.X = self.X - center
        if not isinstance(self.options.init, str):
            self.options = dataclasses.replace(self.options, init=self.options.init - center)
        prior = np.ones(self.X.shape[1]) if self.options.prior is None else self.options.prior
        self._included = np.flatnonzero(prior > 0)
        self._prior = prior[self._included] / prior.sum()
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

    def along(self, one: _Partition | None, path: Path) -> _Dispersions:
        """Dispersions of a partition along a path; None stands for all rows in one cluster."""
        one = self._whole if one is None else one
        member = one.labels == np.arange(len(one.size))[:, None]
        ways = (path.contrast, path.residual)
        sums = [member @ way for way in ways]
        cross = [
            way @ self.X - (of / one.size) @ one.sums for way, of in zip(ways, sums, strict=True)
        ]
        products = np.array(
            [[ways[i] @ ways[j] - (sums[i] / one.size) @ sums[j] for j in (0, 1)] for i in (0, 1)]
        )
        moves = path.directions
        linear = 2 * np.einsum("wl,wsl->sl", cross, moves)
        aa, ac, _, cc = np.einsum("wx,wsl,xtl->stl", products, moves, moves).reshape(4, -1)
        return _Dispersions(one.dispersion, (linear[0], linear[1]), (aa, 2 * ac, cc))

    def objectives(
        self, curves: list[_Dispersions], whole: _Dispersions, steps: tuple[Array, Array]
    ) -> Array:
        """Objectives of partitions at their best weights, up to what all partitions share.

        Parameters
        ----------
        curves : list
            Dispersions of the partitions along a path.
        whole : _Dispersions
            The same of all rows in one cluster.
        steps : (ndarray, ndarray)

        Returns
        -------
        ndarray of shape (partitions, steps)
        """
        options, lam = self.options, self.options.penalty
        total: Array | None = None
        if options.between or options.standardise:
            total = whole.at(steps)[:, self._included]
        found = np.empty((len(curves), len(steps[0])))
        for line, curve in zip(found, curves, strict=True):
            cost = curve.at(steps)[:, self._included]
            if total is not None:
                if options.between:
                    cost -= total
                if options.standardise:
                    cost *= np.divide(len(self.X), total, out=np.ones_like(total), where=total > 0)
            least = cost.min(axis=1)
            # to the last digit also where the penalty is so large that all weights are equal
            with np.errstate(over="ignore"):
                rest = np.expm1((least[:, None] - cost) / lam) @ self._prior
            line[:] = least - lam * np.log1p(rest)
        return found

    def fit(
        self, path: Path, tau: float, near: list[_Partition], rng: np.random.Generator
    ) -> _Partition | None:
        """Fit the data at a value of the statistic; the partition found, if it is new.

        Parameters
        ----------
        path : Path
        tau : float
        near : list
            Partitions that are tried beside the starts.
        rng : Generator
        """
        X = path.data(self.X, tau)
        steps = path.steps(np.array([tau]))
        starts = []
        for one in (self.known[0], *near):
            means = (one.labels == np.arange(len(one.size))[:, None]) @ X / one.size[:, None]
            starts.append(WarmStart(means, self.along(one, path).at(steps)[0]))
        return self._fit(X, starts, rng)

    def search(self, n_fits: int, rng: np.random.Generator) -> None:
        """Look for other partitions of the observed data as hard as along the paths."""
        for _ in range(n_fits):
            self._fit(self.X, [], rng)

    def _fit(
        self, X: Array, starts: list[WarmStart], rng: np.random.Generator
    ) -> _Partition | None:
        engine = array_engine(X, None, self.options.scale)
        return self.add(fit_engine(engine, self.options, rng, known=starts).labels)


class SelectivePValue(NamedTuple):
    """A p-value and what it rests on.

    Attributes
    ----------
    p_value : float
    refits : int
        Fits along the path.
    settled : bool
        Whether the last of them, as many as were asked for, found nothing lower.
    """

    p_value: float
    refits: int
    settled: bool


class _Winning:
    """Where on a path the partition of the fit wins against its known rivals."""

    def __init__(self, rivals: Rivals, path: Path) -> None:
        self._rivals, self._path = rivals, path
        self._whole = rivals.along(None, path)
        self._own = rivals.along(rivals.known[0], path)
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
        self._lead = np.full(len(self.tau), np.inf)
        self._taken: list[_Partition] = []
        self._curves: list[_Dispersions] = []
        for one in rivals.known[1:]:
            self.take(one)

    def _leads(self, curves: list[_Dispersions], tau: Array) -> Array:
        """By how much objectives of rivals exceed that of the fit's partition; ties are leads."""
        steps = self._path.steps(tau)
        found = self._rivals.objectives([self._own, *curves], self._whole, steps)
        return np.asarray(found[1:] - found[0] + self._rivals.rounding)

    def take(self, one: _Partition, at: float | None = None) -> bool:
        """Take in a rival; whether it wins at a value.

        One that is lower on the observed data is counted and left out: there the fit missed it.
        """
        curve = self._rivals.along(one, self._path)
        if self._leads([curve], np.array([self._path.observed]))[0, 0] < 0:
            self._rivals.lower.add(one.labels.tobytes())
            return False
        np.minimum(self._lead, self._leads([curve], self.tau)[0], out=self._lead)
        self._taken.append(one)
        self._curves.append(curve)
        return at is not None and bool(self._leads([curve], np.array([at]))[0, 0] < 0)

    def nearest(self, tau: float) -> list[_Partition]:
        """Rivals that come closest at a value."""
        lead = self._leads(self._curves, np.array([tau]))[:, 0]
        return [self._taken[i] for i in np.argsort(lead, kind="stable")[:_KNOWN]]

    def pieces(self) -> tuple[Array, Array]:
        """Begins and ends of short intervals that make up the set."""
        wins = self._lead >= 0
        change = np.flatnonzero(wins[:-1] != wins[1:])
        low, high, first = self.tau[change], self.tau[change + 1], wins[change]
        for _ in range(_HALVINGS if len(change) else 0):
            middle = 0.5 * (low + high)
            same = (self._leads(self._curves, middle).min(axis=0) >= 0) == first
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
        They grow by what fits find.
    path : Path
    n_refits : int
        Fits in a row that must find nothing lower.
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
        wins = False
        while not wins and passed < n_refits:
            drawn = np.where(extreme, mass, -np.inf) if done % _EVERY == _EVERY - 1 else mass
            piece = rng.choice(len(drawn), p=np.exp(drawn - logsumexp(drawn)))
            tau = float(rng.uniform(start[piece], stop[piece]))
            new = rivals.fit(path, tau, winning.nearest(tau), rng)
            wins = new is not None and winning.take(new, tau)
            done += 1
            passed = 0 if wins else passed + 1
