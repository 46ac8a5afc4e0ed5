"""How far several clusterings of the same data agree: partitions, weights, selected features."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from ewp.matching import match_labels

__all__ = ["agreement_table", "matched", "normalised", "selected"]


def normalised(weights: pd.Series) -> pd.Series:
    """Weights on the scale common to all methods: they sum to 1."""
    return weights / weights.sum()


def selected(weights: pd.Series, tol: float = 1e-4) -> pd.Index:
    """Names of the features whose weight exceeds `tol` times the largest.

    >>> list(selected(pd.Series({"a": 0.7, "b": 1e-11, "c": 0.3})))
    ['a', 'c']
    """
    return weights.index[weights > tol * weights.max()]


def matched(labels: pd.Series, reference: pd.Series) -> pd.Series:
    """The same partition, numbered so that it shares as many labels as possible with another.

    >>> reference = pd.Series([0, 0, 1, 1, 2])
    >>> matched(pd.Series([2, 2, 0, 0, 1]), reference).tolist()
    [0, 0, 1, 1, 2]
    """
    k = int(reference.max()) + 1
    numbers = match_labels(labels.to_numpy(), reference.to_numpy(), k)
    return pd.Series(numbers[labels], index=labels.index, name=labels.name)


def agreement_table(
    labels: pd.DataFrame,
    weights: pd.DataFrame,
    reference: str,
    y: pd.Series | None = None,
    tol: float = 1e-4,
) -> pd.DataFrame:
    """One row a method: what it selected, and how far it agrees with the reference.

    Parameters
    ----------
    labels, weights : DataFrame
        One column a method.
    reference : str
        Method the others are compared with.
    y : Series, optional
        Known groups; adds the column ``ARI truth``.
    tol : float, default 1e-4
        Weights below this share of a method's largest count as zero.

    Returns
    -------
    DataFrame
        ``features``, number selected; ``ARI``, adjusted Rand index of the partitions;
        ``weight r``, correlation of the weights (missing where one of them is constant);
        ``overlap``, features selected by both among those selected by either.
    """
    chosen = {name: set(selected(weights[name], tol)) for name in weights}
    rows = {}
    for name in labels:
        both = chosen[name] & chosen[reference]
        either = chosen[name] | chosen[reference]
        rows[name] = {
            "features": len(chosen[name]),
            "ARI": adjusted_rand_score(labels[reference], labels[name]),
            "weight r": _correlation(weights[name], weights[reference]),
            "overlap": len(both) / len(either),
        }
        if y is not None:
            rows[name]["ARI truth"] = adjusted_rand_score(y, labels[name])
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")
    return table.astype({"features": int})


def _correlation(a: pd.Series, b: pd.Series) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])
