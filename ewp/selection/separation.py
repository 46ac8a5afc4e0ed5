"""Whether clusters are separated, two by two, on rows that were held out.

More clusters often describe the rows better without being more groups: a cluster whose shape is not
the common one is described by several that have it (Hennig 2010; Baudry and others 2010). A number
of clusters is therefore asked for more than its density: its clusters have to be better described
as two than as one cloud in their place, every one and the one next to it. That is the question
whether there is more than one cluster, put to the rows of two of them alone, so that their
covariance is their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from ewp.common.types import Array
from ewp.data.splits import Fold
from ewp.display.evidence import Separation
from ewp.metrics import match_labels, rand_index
from ewp.selection.base import Score
from ewp.selection.criteria import HeldOut
from ewp.selection.density import FoldDensity
from ewp.selection.search import mean_and_error

__all__ = ["least_separated"]


def least_separated(replicates: list[HeldOut], scores: list[Score]) -> Separation:
    """Find the two clusters that held-out rows separate least.

    They may be others in every replicate, the two that its training rows tell apart least, or the
    same ones: then clusters are matched by the rows that they share, and two of them that are
    next to each other in half of the replicates count. The smaller gain is returned.

    Parameters
    ----------
    replicates : list of HeldOut
    scores : list of Score
        One for each of the first replicates, with its partition of all rows.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((120, 2))
    >>> labels = np.repeat([0, 1, 2], 40)
    >>> rows[:, 0] += 6.0 * (labels > 0)  # the last two are one
    >>> fold = HeldOut(Fold(np.arange(0, 120, 2), np.arange(1, 120, 2)), rows, None)
    >>> score = Score(0.0, 2.0, labels=labels)
    >>> least_separated([fold], [score]).clear
    False
    >>> rows[:, 1] += 6.0 * (labels > 1)
    >>> least_separated([fold], [score]).clear
    True
    """
    copies = replicates[0].copies
    matched = _match([score.labels for score in scores if score.labels is not None], copies)
    asked = [_ask(*pair) for pair in zip(replicates, matched, strict=False)]
    worst = [min(pairs.values(), key=lambda one: one.told_apart) for pairs in asked if pairs]
    found = [_summarise(worst, copies)]
    for key in sorted({key for pairs in asked for key in pairs}):
        own = [pairs[key] for pairs in asked if key in pairs]
        if 2 * len(own) >= len(asked):
            found.append(_summarise(own, copies))
    return min(found, key=lambda one: one.gain)


def _match(partitions: list[np.ndarray], copies: Array | None) -> list[np.ndarray]:
    """Number the clusters of all partitions like those of the one that agrees best with all."""
    labels = [np.unique(one, return_inverse=True)[1] for one in partitions]
    agreement = [sum(rand_index(one, other, copies) for other in labels) for one in labels]
    reference = labels[int(np.argmax(agreement))]
    k = int(reference.max()) + 1
    return [match_labels(one, reference, k)[one] for one in labels]


class _Pair(NamedTuple):
    """Two clusters of a replicate: what the training rows and the held-out ones gain from both."""

    told_apart: float
    rows: np.ndarray
    gain: Array


def _ask(replicate: HeldOut, labels: np.ndarray) -> dict[tuple[int, int], _Pair]:
    """Ask of every cluster and the one next to it whether they are two."""
    train, test = replicate.fold
    numbers, inner = np.unique(labels[train], return_inverse=True)
    found = {}
    for i, j in _neighbours(replicate.density(), inner):
        one, two = int(numbers[i]), int(numbers[j])
        own = Fold(*(part[np.isin(labels[part], (one, two))] for part in (train, test)))
        if replicate.counted is not None:
            found[one, two] = _ask_families(replicate, own, labels == two)
            continue
        projected = replicate._replace(fold=own).density().project(1 * (labels[own.train] == two))
        told_apart, gain = 0.0, np.zeros(len(own.test))
        if projected is not None:
            gain = projected.mixture.gain(projected.test)
            told_apart = float(
                np.average(projected.mixture.gain(projected.train), weights=projected.mass)
            )
        found[one, two] = _Pair(told_apart, own.test, gain)
    return found


def _ask_families(replicate: HeldOut, own: Fold, second: np.ndarray) -> _Pair:
    """Ask two clusters whose columns have families of their own."""
    halves = 1 * second[None, own.train]
    (seen,) = replicate._replace(fold=Fold(own.train, own.train)).judge_all(halves)
    (held_out,) = replicate._replace(fold=own).judge_all(halves)
    copies = None if replicate.copies is None else replicate.copies[own.train]
    return _Pair(float(np.average(seen.gain, weights=copies)), own.test, held_out.gain)


def _neighbours(density: FoldDensity, labels: np.ndarray) -> list[tuple[int, int]]:
    """Every cluster with the one next to it, in units of the scatter within clusters."""
    projected = density.project(labels)
    if projected is None:
        return [(i, j) for j in range(int(labels.max()) + 1) for i in range(j)]
    placed = projected.mixture.means @ projected.mixture.within.root.T
    gaps = cdist(placed, placed)
    np.fill_diagonal(gaps, np.inf)
    return sorted({(min(i, j), max(i, j)) for i, j in enumerate(gaps.argmin(axis=1).tolist())})


def _summarise(pairs: list[_Pair], copies: Array | None) -> Separation:
    """Mean gain of the held-out rows; where there are none, none is found."""
    if not sum(len(pair.rows) for pair in pairs):
        return Separation(0.0, 0.0)
    rows = np.concatenate([pair.rows for pair in pairs])
    gain = np.concatenate([pair.gain for pair in pairs])
    seen, place, times = np.unique(rows, return_inverse=True, return_counts=True)
    values = np.bincount(place, gain) / times
    return Separation(*mean_and_error(values, None if copies is None else copies[seen]))
