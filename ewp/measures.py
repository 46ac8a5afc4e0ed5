"""How good a partition is: against known classes, or by what it does to the data.

Every measure is a function of the data, the labels and (some of them) the classes; larger is
better in all of them. The test by which two methods are compared over trials is here too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import (
    adjusted_rand_score,
    normalized_mutual_info_score,
    silhouette_score,
)

from ewp.kernel import Array
from ewp.sparse import feature_sums

__all__ = ["MEASURES", "Measure", "signed_rank"]

#: Silhouettes are of all pairs of rows; more rows than this are sampled.
_MOST_ROWS = 2000


@dataclass(frozen=True)
class Measure:
    """A measure of a partition.

    Attributes
    ----------
    name, label, title : str
        In tables, in pictures, in full.
    value : callable
        ``value(X, labels, y) -> float``.
    labelled : bool
        Whether it needs the classes.
    """

    name: str
    label: str
    title: str
    value: Callable[[Array, np.ndarray, Any], float]
    labelled: bool


def _nmi(X: Array, labels: np.ndarray, y: Any) -> float:
    return float(normalized_mutual_info_score(y, labels))


def _ari(X: Array, labels: np.ndarray, y: Any) -> float:
    return float(adjusted_rand_score(y, labels))


def _silhouette(X: Array, labels: np.ndarray, y: Any) -> float:
    if len(X) > _MOST_ROWS:
        rows = np.random.default_rng(0).choice(len(X), _MOST_ROWS, replace=False)
        X, labels = X[rows], labels[rows]
    if not 1 < len(np.unique(labels)) < len(X):
        return float("nan")
    return float(silhouette_score(X, labels))


def _between(X: Array, labels: np.ndarray, y: Any) -> float:
    _, codes = np.unique(labels, return_inverse=True)
    within, between = (float(part.sum()) for part in feature_sums(X, codes, int(codes.max()) + 1))
    return between / (within + between) if within + between > 0 else float("nan")


MEASURES = {
    measure.name: measure
    for measure in (
        Measure("nmi", "NMI", "normalised mutual information", _nmi, True),
        Measure("ari", "ARI", "adjusted Rand index", _ari, True),
        Measure("silhouette", "silhouette", "mean silhouette", _silhouette, False),
        Measure(
            "between",
            "share between",
            "share of the sum of squares between clusters",
            _between,
            False,
        ),
    )
}


def signed_rank(one: Array, other: Array) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test on paired values.

    Pairs without a difference are left out; when there are no others, the p-value is 1.

    Examples
    --------
    >>> signed_rank(np.arange(1.0, 7.0), np.zeros(6))
    0.03125
    >>> signed_rank(np.ones(6), np.ones(6))
    1.0
    """
    difference = np.asarray(one) - np.asarray(other)
    # what rounding makes of equal scores is no difference
    difference = difference[np.isfinite(difference) & (np.abs(difference) > 1e-12)]
    if not len(difference):
        return 1.0
    from scipy.stats import wilcoxon

    with warnings.catch_warnings():
        # few values with ties: the normal approximation is poor, and there is no better one
        warnings.simplefilter("ignore")
        return float(wilcoxon(difference).pvalue)
