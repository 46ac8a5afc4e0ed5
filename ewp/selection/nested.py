"""Nested cross-validation: scores of a choice, by rows that had no part in it.

The best of many candidates looks better than it is, because it was chosen by the very rows that
score it. Here every part of the rows is scored by the candidate that the rest of them chooses.
What is compared over numbers of clusters, or with a single cluster, are these scores.
"""

from __future__ import annotations

import numpy as np

from ewp.selection.base import Score
from ewp.selection.search import Candidate, mean_and_error, rows_of_replicates

__all__ = ["corrected_mean", "nested_scores", "overlap_factor"]


def nested_scores(entries: list[Candidate]) -> list[Score]:
    """Score every replicate by the candidate that the others choose.

    Parameters
    ----------
    entries : list of Candidate
        With as many scores each.

    Returns
    -------
    list of Score
        One per replicate. Where rows have values, the choice is made by the rows that the
        replicate does not hold out.
    """
    replicates = len(entries[0].scores)
    if any(score.rows is None for entry in entries for score in entry.scores):
        values = np.array([entry.values for entry in entries])
        kept = ~np.eye(replicates, dtype=bool) if replicates > 1 else np.ones((1, 1), dtype=bool)
        return [
            entries[int(np.argmax(values[:, others].mean(axis=1)))].scores[i]
            for i, others in enumerate(kept)
        ]
    found = [entry.rows for entry in entries]
    gain = np.array([rows for rows, _ in found])
    seen, copies = found[0][1], entries[0].scores[0].copies
    mass = np.where(seen, 1.0 if copies is None else copies, 0.0)
    values_of_rows = np.array([score.rows for score in entries[0].scores], dtype=float)
    if replicates > 1 and np.isfinite(values_of_rows).all():
        # every replicate has values of all rows: the others choose by theirs
        values = np.array([entry.values for entry in entries])
        others = (values.sum(axis=1, keepdims=True) - values).argmax(axis=0)
        return [entries[best].scores[i] for i, best in enumerate(others.tolist())]
    chosen = []
    for i in range(replicates):
        rows = entries[0].scores[i].rows
        assert rows is not None
        others = np.where(np.isfinite(rows), 0.0, mass)
        # a single split has no others
        weight = others if others.any() else mass
        chosen.append(entries[int(np.argmax(gain @ weight))].scores[i])
    return chosen


def overlap_factor(scores: list[Score]) -> float:
    """Factor of standard errors over rows for what the replicates share.

    Rows that are held out of different replicates are scored by fits to much the same rows, and
    vary together. The variance of their mean is therefore multiplied by one plus the number of
    rows over those that were fitted, as Nadeau and Bengio (2003) propose for a difference.
    """
    copies = scores[0].copies
    kept_out = np.isfinite([score.rows for score in scores if score.rows is not None])
    mass = np.ones(kept_out.shape[1]) if copies is None else copies
    # where all rows are held out it is with one half of their counts
    held_out = kept_out @ mass / mass.sum()
    held_out = np.where(kept_out.all(axis=1), 0.5, held_out)
    return float(np.sqrt(1.0 + np.mean(1.0 / (1.0 - held_out))))


def corrected_mean(scores: list[Score]) -> tuple[float, float]:
    """Mean value of rows and its standard error, corrected for what the replicates share."""
    values, seen = rows_of_replicates(scores)
    copies = scores[0].copies
    mean, error = mean_and_error(values[seen], None if copies is None else copies[seen])
    return mean, error * overlap_factor(scores)
