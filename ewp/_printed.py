"""Objects that print as their summary: in a terminal as text, in a notebook as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ewp._summary import EWPSummary

__all__ = ["Printed"]


class Printed:
    """Text and HTML of an object that has a summary."""

    def summary(self) -> EWPSummary:
        """Printed account, defined by every subclass."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.summary().as_text())

    def _repr_html_(self) -> str:
        return str(self.summary().as_html())
