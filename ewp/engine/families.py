r"""Families of divergences for single columns: counts, shares and yes or no, positive amounts.

Each is the Bregman divergence that belongs to an exponential family of distributions (Banerjee and
others 2005): minus the logarithm of its density, but for what does not depend on the mean. Half the
deviance of generalised linear models is the same thing. Functions take values and means of any
shape, one entry beside the other; means lie inside of the domain.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from scipy.special import kl_div, logit, rel_entr

from ewp.common.types import Array

__all__ = ["FAMILIES", "Family", "stabilised"]


class Family(ABC):
    r"""One divergence :math:`d(x, \theta)`, its potential counted from a mean.

    With the potential :math:`\psi(x) = d(x, \mu)`, `slope` is :math:`\psi'(\theta)`, `conjugate`
    is :math:`\theta \psi'(\theta) - \psi(\theta)`, and `curvature` is :math:`\psi''(\mu)`.

    Attributes
    ----------
    name : str
    lower, upper : float
        Ends of the domain of values; centroids lie inside.
    closed : bool
        Whether values may lie at the ends.
    domain : str
        The domain in words, as the end of "has values that are not ...".
    has_sizes : bool
        Whether rows can have sizes, :math:`d(x, s \theta) = s d(x / s, \theta)`.
    """

    name: ClassVar[str]
    lower: ClassVar[float] = -np.inf
    upper: ClassVar[float] = np.inf
    closed: ClassVar[bool] = True
    domain: ClassVar[str]
    has_sizes: ClassVar[bool] = False

    @property
    def has_ends(self) -> bool:
        """Whether the domain has an end."""
        return bool(np.isfinite(self.lower) or np.isfinite(self.upper))

    def outside(self, values: Array) -> np.ndarray:
        """Which values are not in the domain."""
        if self.closed:
            return (values < self.lower) | (values > self.upper)
        return (values <= self.lower) | (values >= self.upper)

    @abstractmethod
    def divergence(self, x: Array | float, theta: Array) -> Array:
        """Return the divergence of every entry."""

    @abstractmethod
    def slope(self, theta: Array, mean: Array) -> Array:
        """Return the derivative of the potential."""

    @abstractmethod
    def conjugate(self, theta: Array, mean: Array) -> Array:
        """Return ``theta * slope - potential``."""

    @abstractmethod
    def curvature(self, mean: Array) -> Array:
        """Return the second derivative of the potential at the mean."""

    @abstractmethod
    def stabilised(self, values: Array) -> Array:
        """Return values on a scale on which their variance depends little on their mean."""


class Euclidean(Family):
    r"""Squared differences, :math:`(x - \theta)^2`: the normal distribution."""

    name = "euclidean"
    domain = "numbers"

    def divergence(self, x: Array | float, theta: Array) -> Array:
        """Return squared differences."""
        return (x - theta) ** 2

    def slope(self, theta: Array, mean: Array) -> Array:
        """Return twice the differences from the mean."""
        return 2.0 * (theta - mean)

    def conjugate(self, theta: Array, mean: Array) -> Array:
        """Return the difference of the squares."""
        return (theta - mean) * (theta + mean)

    def curvature(self, mean: Array) -> Array:
        """Return 2."""
        return np.full(np.shape(mean), 2.0)

    def stabilised(self, values: Array) -> Array:
        """Return the values."""
        return values


class Poisson(Family):
    r"""Counts and amounts from 0: :math:`x \log(x / \theta) - x + \theta`."""

    name = "poisson"
    lower = 0.0
    domain = "0 or more"
    has_sizes = True

    def divergence(self, x: Array | float, theta: Array) -> Array:
        """Return half the Poisson deviance."""
        found: Array = kl_div(x, theta)
        return found

    def slope(self, theta: Array, mean: Array) -> Array:
        """Return the logarithm of the ratio to the mean."""
        return np.log(theta / mean)

    def conjugate(self, theta: Array, mean: Array) -> Array:
        """Return the difference from the mean."""
        return theta - mean

    def curvature(self, mean: Array) -> Array:
        """Return the inverse of the mean."""
        return 1.0 / mean

    def stabilised(self, values: Array) -> Array:
        """Return logarithms of the values and one."""
        return np.log1p(values)


class Bernoulli(Family):
    r"""Yes or no, and shares: :math:`x \log(x/\theta) + (1-x) \log((1-x)/(1-\theta))`."""

    name = "bernoulli"
    lower, upper = 0.0, 1.0
    domain = "from 0 to 1"

    def divergence(self, x: Array | float, theta: Array) -> Array:
        """Return half the binomial deviance."""
        found: Array = rel_entr(x, theta) + rel_entr(1.0 - x, 1.0 - theta)
        return found

    def slope(self, theta: Array, mean: Array) -> Array:
        """Return the logarithm of the odds ratio."""
        found: Array = logit(theta) - logit(mean)
        return found

    def conjugate(self, theta: Array, mean: Array) -> Array:
        """Return the logarithm of the ratio of what is left to one."""
        return np.log1p(-mean) - np.log1p(-theta)

    def curvature(self, mean: Array) -> Array:
        """Return the inverse of the variance."""
        return 1.0 / (mean * (1.0 - mean))

    def stabilised(self, values: Array) -> Array:
        """Return the values."""
        return values


class Gamma(Family):
    r"""Amounts whose deviation grows with their mean: :math:`x/\theta - \log(x/\theta) - 1`."""

    name = "gamma"
    lower = 0.0
    closed = False
    domain = "above 0"

    def divergence(self, x: Array | float, theta: Array) -> Array:
        """Return half the gamma deviance."""
        ratio = (x - theta) / theta
        return ratio - np.log1p(ratio)

    def slope(self, theta: Array, mean: Array) -> Array:
        """Return the difference of the inverses."""
        return (theta - mean) / (theta * mean)

    def conjugate(self, theta: Array, mean: Array) -> Array:
        """Return the logarithm of the ratio to the mean."""
        return np.log(theta / mean)

    def curvature(self, mean: Array) -> Array:
        """Return the inverse of the squared mean."""
        return mean**-2.0

    def stabilised(self, values: Array) -> Array:
        """Return logarithms."""
        return np.log(values)


FAMILIES: dict[str, Family] = {
    one.name: one for one in (Euclidean(), Poisson(), Bernoulli(), Gamma())
}


def stabilised(X: Array, names: tuple[str, ...]) -> Array:
    """Return rows on scales on which the variance of every column depends little on its mean.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    names : tuple of str
        Names of the columns' families.
    """
    found = np.array(X)
    for name in dict.fromkeys(names):
        columns = np.array(names) == name
        found[:, columns] = FAMILIES[name].stabilised(found[:, columns])
    return found
