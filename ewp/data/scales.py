"""Features of very different scale, where they are clustered as they are.

The published method takes the features as they come. Where their variances differ by orders of
magnitude, as those of lengths and incomes do, the weights then depend on the units. That is said
once, when a fit begins whose scaling nobody has stated.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ewp.common.checks import shown
from ewp.common.types import Array

__all__ = ["UNEQUAL", "ScaleWarning", "describe_scales"]

#: Factor between the largest and the smallest variance above which features are of different scale:
#: standard deviations that differ by a factor of ten.
UNEQUAL = 100.0


class ScaleWarning(UserWarning):
    """Features of very different scale are clustered as they are, because `lam` is a number.

    Attributes
    ----------
    facts, cure : str
        What was found, and which calls state the scaling.
    """

    def __init__(self, facts: str, cure: str = "") -> None:
        super().__init__(facts, cure)
        self.facts, self.cure = facts, cure

    def __str__(self) -> str:
        return f"{self.facts} {self.cure}".rstrip()


def describe_scales(variances: Array, columns: pd.Index, used: np.ndarray) -> ScaleWarning | None:
    """Say that variances differ by more than a factor of 100, if they do.

    Parameters
    ----------
    variances : ndarray of shape (p,)
    columns : Index
        Names of the features.
    used : ndarray of bool, shape (p,)
        Features that vary and are not excluded.

    Examples
    --------
    >>> names, used = pd.Index(["income", "height"]), np.array([True, True])
    >>> describe_scales(np.array([50.0, 1.0]), names, used) is None
    True
    >>> describe_scales(np.array([1e6, 1.0]), names, used).facts.partition(":")[2]
    " the largest is that of 'income', the smallest that of 'height', so that units decide."
    """
    order = [i for i in np.argsort(variances, kind="stable") if used[i] and variances[i] > 0]
    if len(order) < 2 or variances[order[-1]] <= UNEQUAL * variances[order[0]]:
        return None
    least, most = order[0], order[-1]
    factor = variances[most] / variances[least]
    return ScaleWarning(
        'with a number for lam, scale="auto" leaves the features as they are, as published, and '
        f"their variances differ by a factor of {factor:.2g}: the largest is that of "
        f"{shown(columns[most])}, the smallest that of {shown(columns[least])}, so that units "
        "decide.",
        'scale="standard" standardises the features; results.refit(lam=...) of a fit with '
        'lam="auto" keeps the scaling that was chosen there; scale=None states that raw features '
        "are meant",
    )
