"""What a pass over the data computes, one function a kind of pass.

A pass runs over a chunk of blocks and returns what it found there. The functions write nowhere
but into the buffers they are given, so a chunk can be passed in this process or in another one;
`ewp.engine` puts the results of the chunks together, in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ewp.kernel import (
    Array,
    Metric,
    Statistics,
    Workspace,
    block_distances,
    block_lengths,
    block_statistics,
)

__all__ = ["Block", "accumulate", "lengths", "measure", "partition", "rank"]


class Block(NamedTuple):
    """Which rows, their centred values and their weights."""

    rows: slice
    values: Array
    weight: Array | None


def accumulate(blocks: Iterator[Block], work: Workspace, metric: Metric, s: float) -> Statistics:
    """Sufficient statistics of one MM step."""
    sums = Statistics.zeros(*metric.theta.shape)
    for block in blocks:
        block_statistics(block.values, block.weight, metric, s, work, sums)
    return sums


def partition(
    blocks: Iterator[Block], work: Workspace, metric: Metric
) -> tuple[np.ndarray, tuple[Array, Array, Array]]:
    """Nearest centroid of every row; number, weight and sum of squares of every cluster's rows."""
    k = len(metric.theta)
    small = np.min_scalar_type(k - 1)  # labels of all rows are held twice for a moment
    labels = []
    sums = np.zeros((3, k))
    for block in blocks:
        distance, least = block_distances(block.values, metric, work)
        labels.append(distance.argmin(axis=0).astype(small))
        mass = np.ones(len(least)) if block.weight is None else block.weight
        sums += [np.bincount(labels[-1], w, k) for w in (None, mass, mass * least)]
    return np.concatenate(labels), (sums[0], sums[1], sums[2])


def rank(
    blocks: Iterator[Block], work: Workspace, metric: Metric, count: int
) -> tuple[np.ndarray, Array]:
    """Nearest centroid of every row, and the distances to the `count` (1 or 2) nearest."""
    labels, nearest = [], []
    for block in blocks:
        distance, least = block_distances(block.values, metric, work)
        first = distance.argmin(axis=0)
        found = [least]
        if count == 2:
            distance[first, np.arange(len(first))] = np.inf
            found.append(distance.min(axis=0))
        labels.append(first)
        nearest.append(np.stack(found))
    return np.concatenate(labels), np.concatenate(nearest, axis=1)


def measure(
    blocks: Iterator[Block], work: Workspace, metric: Metric, lengths: Array | None
) -> Array:
    """Squared distances of every row to every centroid; `lengths` of all rows if they are known."""
    found = []
    for block in blocks:
        known = None if lengths is None else lengths[block.rows]
        distance, _ = block_distances(block.values, metric, work, known)
        found.append(distance.T.copy())  # the buffer is used again for the next block
    return np.concatenate(found)


def lengths(blocks: Iterator[Block], work: Workspace, metric: Metric) -> Array:
    """Squared length of every row."""
    return np.concatenate([block_lengths(block.values, metric, work).copy() for block in blocks])
