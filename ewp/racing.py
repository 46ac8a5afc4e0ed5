"""Candidates beside each other: by how much one leads, and which are out of the race."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ewp.candidates import Candidate

__all__ = ["EQUAL", "NOTHING", "compare", "hopeful", "is_close"]

#: A lead of less than this part of the best score is none, however small its standard error:
#: with many rows the error of a difference vanishes, and what is best by a hair may lie next to
#: where the solution collapses.
EQUAL = 1e-4
#: Differences of the criterion that are rounding errors.
NOTHING = 1e-9
#: A candidate is hopeless if it is so many standard errors below the best, after one replicate
#: (which may be a bad fit) and after more, judged by at least so many rows.
_HOPELESS = (10.0, 4.0)
_FEWEST_ROWS = 50


def compare(one: Candidate, other: Candidate) -> tuple[float, float]:
    """Mean of ``one - other`` and its standard error.

    Both are over rows where rows have values (averaged over the replicates that held them out, a
    row of weight 2 twice), over replicates otherwise.
    """
    pairs = list(zip(one.scores, other.scores, strict=True))
    rows = [a.rows - b.rows for a, b in pairs if a.rows is not None and b.rows is not None]
    copies = None
    if rows:
        held_out = np.isfinite(rows)
        counted = held_out.any(axis=0)
        difference = np.where(held_out, rows, 0.0).sum(axis=0)[counted]
        difference /= held_out.sum(axis=0)[counted]
        copies = one.scores[0].copies
        copies = None if copies is None else copies[counted]
    else:
        difference = np.array([a.value - b.value for a, b in pairs])
    count = len(difference) if copies is None else float(copies.sum())
    mean = np.average(difference, weights=copies)
    square = np.average((difference - mean) ** 2, weights=copies)
    error = np.sqrt(square / (count - 1)) if count > 1 else 0.0
    return float(mean), float(error)


def is_close(one: Candidate, best: Candidate, slack: float, equal: float = EQUAL) -> bool:
    """Whether a candidate is as good as the best.

    Parameters
    ----------
    one, best : Candidate
    slack : float
        Standard errors of the difference by which it may fall short.
    equal : float
        Part of the best score by which it may fall short in any case.
    """
    lead, error = compare(best, one)
    return lead <= max(slack * error, equal * abs(best.mean)) + NOTHING


def hopeful(alive: list[Candidate]) -> list[Candidate]:
    """Leave out what is far below the best, as far as rows can tell."""
    best = max(alive, key=lambda entry: entry.mean)
    rows = [score.rows for score in best.scores if score.rows is not None]
    copies = best.scores[0].copies
    seen = np.isfinite(rows) * (1.0 if copies is None else copies)
    if seen.sum() < _FEWEST_ROWS:
        return alive
    margin = _HOPELESS[min(len(rows), len(_HOPELESS)) - 1]
    return [entry for entry in alive if is_close(entry, best, margin)]
