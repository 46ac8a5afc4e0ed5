"""The results object and the file it is saved in."""

from ewp.results.results import EWPResults

__all__ = ["EWPResults"]
