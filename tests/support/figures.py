"""A plugin of pytest: figures that a test or a doctest opens are closed after it."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _no_figures_left() -> Iterator[None]:
    """Matplotlib warns beyond 20 open figures, whichever tests they came from."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
