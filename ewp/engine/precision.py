"""Double and single precision: what the arithmetic of a pass depends on beside its rows.

Rows are held and multiplied as float64 or as float32. Half the bytes take half the time, and leave
seven digits: enough for distances between centred rows and centroids, whose errors average out over
the rows, but thresholds that tell rounding errors from values are others. Sums over blocks of rows,
weights, penalties and objectives are float64 throughout, and a fit in single precision ends with
steps in double precision (`ewp.solver.differences`). Data whose squares float32 cannot hold are
computed as float64 whatever is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dgemm, sgemm

from ewp.common.types import Array

__all__ = ["DOUBLE", "PRECISION", "SINGLE", "Precision", "fits_single", "precision_for"]

DOUBLE: np.dtype[Any] = np.dtype(np.float64)
SINGLE: np.dtype[Any] = np.dtype(np.float32)
#: Weighted squares of centred values between which float32 holds sums over a block.
_LARGEST, _SMALLEST = 1e33, 1e-24


class Precision(NamedTuple):
    """Thresholds of one kind of floating point.

    Attributes
    ----------
    small : float
        Squared distances below this share of the row's squared length have lost digits to
        cancellation (the centroid is then about as long as the row) and are recomputed from
        differences.
    lowest_exponent : float
        Powers of 2 below this are not worth their time: subnormal numbers slow exp and GEMM by
        factors.
    floor : float
        Squared distances are floored at this share of the data's scale: smaller ones are rounding
        errors of the coordinates themselves.
    tiny : float
        Smallest normal number.
    cancelled : float
        Squared distances below this part of a row's squared length are rounding errors.
    slack : float
        Rounding errors of distances, as a share of the rows' and the centroids' squared lengths.
    objective : float
        Objectives that differ by less than this share are equal.
    most_quarters : int
        Beyond this many quarters a power takes longer by products than by log and exp.
    many : int
        From this many clusters on hard memberships are a sparse matrix: a dense one has too many
        zeros.
    gemm : callable
        Matrix product of BLAS.
    """

    small: float
    lowest_exponent: float
    floor: float
    tiny: float
    cancelled: float
    slack: float
    objective: float
    most_quarters: int
    many: int
    gemm: Callable[..., Any]


def _squared_eps(kind: type) -> float:
    return float(np.finfo(kind).eps) ** 2


PRECISION = {
    DOUBLE: Precision(
        small=4e-6,
        lowest_exponent=-900.0,
        floor=_squared_eps(np.float64),
        tiny=float(np.finfo(np.float64).tiny),
        cancelled=1e-14,
        slack=1e-12,
        objective=1e-13,
        most_quarters=2**12,
        many=32,
        gemm=dgemm,
    ),
    SINGLE: Precision(
        small=1e-5,
        lowest_exponent=-100.0,
        floor=_squared_eps(np.float32),
        tiny=float(np.finfo(np.float32).tiny),
        cancelled=1e-6,
        slack=1e-5,
        objective=1e-6,
        most_quarters=8,
        many=64,
        gemm=sgemm,
    ),
}


def precision_for(rows: Any, asked: str | None) -> np.dtype[Any]:
    """Return the type in which rows are computed: the one that is asked for, else their own.

    >>> precision_for(np.zeros((2, 2), dtype=np.float32), None)
    dtype('float32')
    >>> precision_for(np.zeros((2, 2)), None), precision_for(np.zeros((2, 2)), "float32")
    (dtype('float64'), dtype('float32'))
    """
    if asked is not None:
        return np.dtype(asked)
    kinds = rows.dtypes if hasattr(rows, "columns") and hasattr(rows, "dtypes") else [rows.dtype]
    return SINGLE if all(kind in (SINGLE, np.float16) for kind in kinds) else DOUBLE


def fits_single(squares: Array, total: float, largest: float, heaviest: float = 1.0) -> bool:
    """Whether float32 holds the weighted squares of centred rows, and sums of them.

    Parameters
    ----------
    squares : ndarray of shape (p,)
        Sums of squares of the columns.
    total : float
        Weight of all rows.
    largest : float
        Largest absolute value.
    heaviest : float
        Largest weight of a row.

    Examples
    --------
    >>> fits_single(np.array([100.0]), 100.0, 5.0), fits_single(np.array([1e40]), 100.0, 1e20)
    (True, False)
    """
    variance = squares[squares > 0] / total
    least = float(variance.min()) if len(variance) else 1.0
    return largest**2 * max(heaviest, 1.0) < _LARGEST and least * min(heaviest, 1.0) > _SMALLEST
