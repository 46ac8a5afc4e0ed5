r"""How well two halves of the rows agree on which rows belong together: prediction strength.

Tibshirani and Walther (2005). The rows are split in halves, and both are clustered. In every
cluster of the one half, the pairs of rows are counted that the centroids of the other half put
into one cluster too; the strength is the share in the worst cluster,

.. math:: ps(k) = \min_j \frac{1}{n_j (n_j - 1)} \sum_{i \ne i' \in A_j} 1[\text{together}].

It is 1 for a single cluster, and falls where clusters are cut at random. Their rule takes the
largest number of clusters whose strength is at least 0.8. How a criterion is used is in
`ewp.selection.criteria`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ewp.common.types import Array
from ewp.data.canonical import distinct_groups
from ewp.display.formatting import short

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["THRESHOLD", "halves", "largest_strong", "strength"]

#: Strength from which a number of clusters is supported.
THRESHOLD = 0.8


def halves(
    X: Array, weight: Array | None, count: int, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Split the distinct rows in two random halves, several times.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    weight : ndarray of shape (n,) or None
    count : int
        Number of splits.
    rng : Generator
    """
    group, distinct = distinct_groups(X, weight)
    found = []
    for _ in range(count):
        side = np.full(distinct + 1, -1)  # the last one is of rows of weight zero
        side[:distinct] = rng.permutation(distinct) % 2
        of_row = side[group]
        found.append((np.flatnonzero(of_row == 0), np.flatnonzero(of_row == 1)))
    return found


def strength(own: np.ndarray, other: np.ndarray, copies: Array | None = None) -> float:
    """Share of pairs of a cluster that another partition keeps together, in the worst cluster.

    Parameters
    ----------
    own, other : ndarray of int of shape (n,)
        Clusters of the same rows, from 0 on.
    copies : ndarray of shape (n,) or None
        How many rows every row stands for.

    Returns
    -------
    float
        A cluster of one row has no pairs, and none that could be parted: it counts as 1.

    Examples
    --------
    >>> own = np.array([0, 0, 0, 1, 1])
    >>> strength(own, np.array([2, 2, 0, 1, 1])), strength(own, own)
    (0.3333333333333333, 1.0)
    """
    shape = int(own.max()) + 1, int(other.max()) + 1
    cells = np.zeros(shape)
    np.add.at(cells, (own, other), 1.0 if copies is None else copies)
    size = cells.sum(axis=1)
    pairs = size * (size - 1.0)
    together = np.maximum(cells * (cells - 1.0), 0.0).sum(axis=1)
    kept = np.divide(together, pairs, out=np.ones_like(size), where=pairs > 0)
    return float(np.minimum(kept, 1.0).min())


def largest_strong(table: pd.DataFrame) -> tuple[int, str]:
    """Return the largest number of clusters that is supported, and the rule in words.

    Parameters
    ----------
    table : DataFrame
        With the columns ``k`` and ``mean``.
    """
    scored = table.dropna(subset=["mean"])
    reached = scored["mean"] >= THRESHOLD
    rule = f"whose prediction strength is at least {short(THRESHOLD)}"
    if reached.any():
        return int(scored.loc[reached, "k"].max()), f"the largest {rule}"
    best: Any = scored["k"].to_numpy()[int(scored["mean"].to_numpy().argmax())]
    return int(best), f"the strongest, as there is none {rule}"
