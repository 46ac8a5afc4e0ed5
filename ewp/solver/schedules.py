"""Schedules of the exponent s: hard, fixed, annealed.

A schedule says where the exponent starts, what follows a given exponent, and which exponent is
the last, at which the solver iterates to a fixed point. With a weight rule (`ewp.solver.weights`)
it names a method: hard with uniform weights is k-means, fixed at -1 is k-harmonic means, annealed
is power k-means, annealed with entropy weights is EWP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Annealed", "Fixed", "Hard", "Schedule", "annealing"]

#: Softness at which memberships are hard to the last digit.
_HARD = 1e-12


class Schedule(Protocol):
    """What the solver asks of a schedule."""

    @property
    def start(self) -> float:
        """The first exponent."""

    def next_exponent(self, s: float, softness: float) -> float:
        """Return the exponent after `s`.

        `softness` is the mean share of membership that is not with the nearest centroid.
        """

    def is_final(self, s: float) -> bool:
        """Whether the solver iterates at `s` until nothing moves."""


@dataclass(frozen=True)
class Hard:
    """The limit s = -inf from the first step on: Lloyd's iteration."""

    @property
    def start(self) -> float:
        """The first exponent."""
        return -math.inf

    def next_exponent(self, s: float, softness: float) -> float:
        """Return -inf."""
        return -math.inf

    def is_final(self, s: float) -> bool:
        """Every exponent is final."""
        return True


@dataclass(frozen=True)
class Fixed:
    """The same exponent throughout."""

    s: float

    @property
    def start(self) -> float:
        """The first exponent."""
        return self.s

    def next_exponent(self, s: float, softness: float) -> float:
        """Return the fixed exponent."""
        return self.s

    def is_final(self, s: float) -> bool:
        """Every exponent is final."""
        return True


@dataclass(frozen=True)
class Annealed:
    """Multiply s by eta every step until memberships are hard, then go to -inf.

    Parameters
    ----------
    s0 : float
        First exponent, negative.
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

    s0: float
    eta: float
    softness: float = 0.2
    span: float = 1e4
    quarters: bool = False

    @property
    def start(self) -> float:
        """The first exponent."""
        return self._allowed(self.s0)

    def next_exponent(self, s: float, softness: float) -> float:
        """Return ``eta * s``, or -inf once memberships are hard."""
        if softness <= self.softness or s * self.eta < self.span * self.s0:
            return -math.inf
        return self._allowed(s * self.eta)

    def _allowed(self, s: float) -> float:
        return math.floor(4.0 * s) / 4.0 if self.quarters else s

    def is_final(self, s: float) -> bool:
        """Only the limit is final."""
        return math.isinf(s)


def annealing(s0: float | None, eta: float, critical: float) -> Annealed | Hard:
    """Schedule from a user's exponent, or from the critical one.

    Parameters
    ----------
    s0 : float or None
        An exponent of the user's own asks for the published annealing, to its very end; None is
        automatic; -inf is the limit problem from the first step on.
    eta : float
    critical : float
        The critical exponent.
    """
    if s0 is None:
        s0 = min(-1.0, critical)
        return Hard() if math.isinf(s0) else Annealed(s0, eta, quarters=True)
    return Hard() if math.isinf(s0) else Annealed(s0, eta, _HARD)
