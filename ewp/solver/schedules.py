"""Schedules of the exponent s: hard, fixed, annealed.

A schedule says where the exponent starts, what follows a given exponent, and which exponent is
the last, at which the solver iterates to a fixed point. With a weight rule (`ewp.solver.weights`)
it names a method: hard with uniform weights is k-means, fixed at -1 is k-harmonic means, annealed
is power k-means, annealed with entropy weights is EWP. Exponents are arrays, one a run: every run
has its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ewp.common.types import Array

__all__ = ["Annealed", "Fixed", "Hard", "Schedule", "annealing", "every_second_hard"]

#: Softness at which memberships are hard to the last digit.
_HARD = 1e-12


class Schedule(Protocol):
    """What the solver asks of a schedule."""

    @property
    def start(self) -> Any:
        """The first exponent, the same for all runs or one for each."""

    def next_exponent(self, s: Array, softness: Array) -> Array:
        """Return the exponents after `s`.

        `softness` is the mean share of membership that is not with the nearest centroid.
        """

    def is_final(self, s: Array) -> np.ndarray:
        """Whether the solver iterates at `s` until nothing moves."""

    def take(self, runs: np.ndarray) -> Schedule:
        """Return the schedule of some of the runs."""


@dataclass(frozen=True)
class Fixed:
    """The same exponent throughout; -inf is Lloyd's iteration, see `Hard`."""

    s: float

    @property
    def start(self) -> float:
        """The first exponent."""
        return self.s

    def next_exponent(self, s: Array, softness: Array) -> Array:
        """Return the fixed exponent."""
        return s

    def is_final(self, s: Array) -> np.ndarray:
        """Every exponent is final."""
        return np.ones(len(s), dtype=bool)

    def take(self, runs: np.ndarray) -> Fixed:
        """Return the schedule itself."""
        return self


def Hard() -> Fixed:
    """Return the limit s = -inf from the first step on: Lloyd's iteration."""
    return Fixed(-math.inf)


@dataclass(frozen=True)
class Annealed:
    """Multiply s by eta every step until memberships are hard, then go to -inf.

    Parameters
    ----------
    s0 : float or ndarray of shape (runs,)
        First exponent, negative; runs that start at -inf are hard throughout.
    eta : float
        Factor of a step, above 1 (the paper: 1.05).
    softness : float
        Memberships count as hard when less than this share of them is not with the nearest
        centroid. On Simulation 2 of the paper going to the limit at a fifth gives better
        partitions than annealing on, in fewer steps.
    span : float
        Exponents beyond this multiple of the first count as -inf. At -10,000 two distances that
        differ by 0.1 % have memberships that differ by a factor of 20,000; what is still soft
        there are ties.
    quarters : bool
        Round exponents down to multiples of 1/4, whose powers are cheap.
    """

    s0: Any
    eta: float
    softness: float = 0.2
    span: float = 1e4
    quarters: bool = False

    @property
    def start(self) -> Any:
        """The first exponent."""
        return self._allowed(self.s0)

    def next_exponent(self, s: Array, softness: Array) -> Array:
        """Return ``eta * s``, or -inf once memberships are hard."""
        done = (softness <= self.softness) | (s * self.eta < self.span * np.asarray(self.s0))
        return np.where(done, -math.inf, self._allowed(s * self.eta))

    def _allowed(self, s: Any) -> Any:
        return np.floor(4.0 * s) / 4.0 if self.quarters else s

    def is_final(self, s: Array) -> np.ndarray:
        """Only the limit is final."""
        return np.isinf(s)

    def take(self, runs: np.ndarray) -> Annealed:
        """Return the schedule of some of the runs."""
        one = np.ndim(self.s0) == 0
        return self if one else replace(self, s0=self.s0[runs])


def every_second_hard(schedule: Annealed, runs: int, first: int = 0) -> Annealed:
    """Return the schedule of some runs, of which every second one begins at the limit.

    Parameters
    ----------
    schedule : Annealed
    runs : int
    first : int
        Number of the first run.
    """
    hard = np.arange(first, first + runs) % 2 == 1
    return replace(schedule, s0=np.where(hard, -math.inf, schedule.s0))


def annealing(s0: float | None, eta: float, critical: Any) -> Annealed | Fixed:
    """Schedule from a user's exponent, or from the critical one.

    Parameters
    ----------
    s0 : float or None
        An exponent of the user's own asks for the published annealing, to its very end; None is
        automatic; -inf is the limit problem from the first step on.
    eta : float
    critical : float or ndarray of shape (runs,)
        The critical exponent, of all runs or of every one.
    """
    if s0 is None:
        first = np.minimum(-1.0, critical)
        if np.isinf(first).all():
            return Hard()
        return Annealed(first if first.ndim else float(first), eta, quarters=True)
    return Hard() if math.isinf(s0) else Annealed(s0, eta, _HARD)
