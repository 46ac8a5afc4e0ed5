"""What can go wrong between Python and R: one family, and every message ends with the cure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "InstallationError",
    "PackageMissingError",
    "RBridgeError",
    "RCallError",
    "RInputError",
    "RNotFoundError",
    "RWarning",
    "Rpy2Error",
    "input_errors",
]


class RBridgeError(RuntimeError):
    """Anything that keeps Python from getting an answer from R."""


class RNotFoundError(RBridgeError):
    """There is no R, or R_HOME does not lead to it."""


class Rpy2Error(RBridgeError):
    """rpy2 is missing, or it cannot start the R that is there."""


class PackageMissingError(RBridgeError):
    """R works, but a package of R is not installed."""


class InstallationError(RBridgeError):
    """An R package could not be installed."""


class RInputError(RBridgeError, ValueError):
    """Data or options that R would refuse, or answer with something opaque."""


class RCallError(RBridgeError):
    """R stopped with an error inside a call.

    Attributes
    ----------
    function : str
        The R function that was called.
    r_message : str
        R's own message.
    console : str
        What R had printed before it stopped.
    """

    def __init__(self, function: str, r_message: str, console: str = "") -> None:
        self.function = function
        self.r_message = r_message
        self.console = console
        super().__init__(function, r_message, console)

    def __str__(self) -> str:
        text = f"{self.function} stopped in R: {self.r_message}"
        cures = [cure for part, cure in _CURES.items() if part in self.r_message]
        return f"{text}\n{cures[0]}" if cures else text


class RWarning(UserWarning):
    """A warning that R gave during a call."""


#: What to do about messages of R and sparcl that do not say it themselves.
_CURES = {
    "empty cluster": (
        "One of the starting centers is nearest to no row: give other centers, for instance rows "
        "of the data, or give K and let R draw them."
    ),
    "'dims' cannot be of length 0": (
        "Only one feature kept a weight, and sparcl cannot go on with one: give a larger bound."
    ),
    "more cluster centers than distinct": (
        "Ask for fewer clusters, or remove repeated starting centers."
    ),
    "initial centers are not distinct": "Remove the repeated rows of the starting centers.",
    "Cannot have wbound <= 1": "sparcl's own choice is too small for so few features: give wbound.",
    "cannot allocate": "R ran out of memory: use fewer rows, or a machine with more memory.",
}


@contextmanager
def input_errors() -> Iterator[None]:
    """Turn the errors of ewp's own checks into the bridge's.

    >>> with input_errors():
    ...     raise ValueError("K=12 exceeds the 10 rows of X")
    Traceback (most recent call last):
    r_bridge.errors.RInputError: K=12 exceeds the 10 rows of X
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        raise RInputError(str(error)) from error
