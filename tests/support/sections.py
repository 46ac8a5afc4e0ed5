"""Sections of the validation's report from values that a test makes up."""

from __future__ import annotations

__all__ = ["Given", "frame"]


class Given:
    """A store whose values are a function of the cells."""

    def __init__(self, value):
        self.value = value

    def finished(self, cells):
        found = ((cell, self.value(cell)) for cell in cells)
        return [(cell, value) for cell, value in found if value is not None]


def frame(section, number=0):
    """One of the tables of a section."""
    return [item for item in section.items if hasattr(item, "frame")][number].frame
