"""The grid of penalties: from one feature takes all to all weights equal.

A useful range of the penalty depends on the rows' number and on the scale of every column. It is
read off the total sums of squares, which are the dispersions of the collapsed solution that every
annealing starts from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import entr, softmax

from ewp.common.checks import check_choice, check_integer
from ewp.common.parallel import one_blas_thread
from ewp.common.types import Array
from ewp.data.arguments import check_sample_weight
from ewp.data.decorrelation import given_shrinkage, is_decorrelated
from ewp.data.frames import as_frame, column_names, row_names
from ewp.data.validation import check_data, check_distinct
from ewp.engine import array_engine
from ewp.engine.columns import PLAIN, aligned_offset, check_offset, checked_families, rows_per_unit
from ewp.solver.sparse_starts import is_wide

__all__ = ["lambda_path", "penalty_grid"]

#: Weights of two features, one without dispersion within clusters and one without structure,
#: differ by a factor exp(1 / _LARGEST) at the upper end, exp(1 / _SMALLEST) at the lower.
_LARGEST = 4.0
_SMALLEST = 1 / 50
_FINE = 200
#: How much of the grid follows the effective number of features; the rest follows log(lam).
_FOLLOW = 0.5
#: Part of the sum of squares of a relevant feature that its clusters explain.
_HALF = 0.5


def penalty_grid(totals: Array, n_lams: int, *, between: bool, wide: bool = False) -> Array:
    """Increasing grid of penalties for columns with the given total sums of squares.

    Parameters
    ----------
    totals : ndarray of shape (p,)
        Positive sums of squares about the mean.
    n_lams : int
    between : bool
        Whether the weights reward the dispersion between clusters: then only the largest columns
        set the scale.
    wide : bool
        Whether features outnumber rows by far. Then the grid follows the effective number of
        features also where the clusters explain half of what the square root of their number vary:
        in between few penalties the weights pass from few features to all.
    """
    largest = _LARGEST * float(totals.max())
    smallest = _SMALLEST * float(totals.max() if between else totals.min())
    fine = np.geomspace(smallest, largest, _FINE)
    along = np.linspace(0.0, 1.0, _FINE)
    # log of the effective number of features; equal from the start in the between form
    explained = _explained(totals) if wide else 0.0
    cost = -explained if between and wide else totals - explained
    features = entr(softmax(-cost / fine[:, None], axis=1)).sum(axis=1)
    travelled = np.concatenate([[0.0], np.abs(np.diff(features)).cumsum()])
    if (wide or not between) and travelled[-1] > 0.1:
        along = _FOLLOW * travelled / travelled[-1] + (1 - _FOLLOW) * along
    wanted = np.linspace(0.0, 1.0, n_lams) if n_lams > 1 else np.array([0.5])
    grid: Array = np.exp(np.interp(wanted, along, np.log(fine)))
    return grid


def _explained(totals: Array) -> Array:
    """Half the sums of squares of a few features, small and large ones alike, 0 of the others."""
    order = np.argsort(totals, kind="stable")
    few = np.linspace(0, len(totals) - 1, round(len(totals) ** 0.5)).astype(int)
    found = np.zeros(len(totals))
    found[order[few]] = _HALF * totals[order[few]]
    return found


def lambda_path(
    X: Any,
    k: int,
    n_lams: int = 10,
    *,
    scale: str | None = None,
    dispersion: str = "within",
    sample_weight: Any = None,
    missing: str = "error",
    divergence: Any = PLAIN,
    offset: Any = None,
) -> Array:
    r"""Data-driven grid of penalties, from one feature takes all to all weights equal.

    The ends follow from the columns' total sums of squares :math:`T_l`: four times the largest
    at the top, where weights can differ by a factor of :math:`e^{1/4}` at most; a fiftieth of the
    smallest (of the largest in the between form) at the bottom. Between them the points follow
    the effective number of features at the collapsed solution,
    :math:`\exp(\text{entropy of } e^{-T_l/\lambda})`, and the logarithm of the penalty, so that
    columns whose variances differ by many orders of magnitude all get their share. Where features
    outnumber rows and are 500 or more, they follow that number also for clusters that explain half
    of the variance of some features: there few penalties lie between weights on few features and
    equal ones. At the bottom
    a fit has one feature, or few that separate its clusters equally well.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, p)
    k : int
        Number of clusters; at most the number of distinct rows.
    n_lams : int, default=10
        Length of the grid; a single penalty is the middle one.
    scale : {None, "standard", "decorrelate"}, default=None
        For raw, standardised or decorrelated features, as in `ewp.EWP`.
    dispersion : {"within", "between"}, default="within"
        Form of the weight rule.
    sample_weight : array-like of shape (n,), optional
    missing : {"error", "observed"}, default="error"
        As in `ewp.EWP`: with "observed" sums of squares stand for those of complete data.
    divergence : str, sequence of str or mapping, default="euclidean"
        As in `ewp.EWP`: the dispersions are then sums of divergences from the mean.
    offset : None, "size" or array of shape (n,), default=None
        Sizes of rows of counts, as in `ewp.EWP`.

    Returns
    -------
    ndarray of shape (n_lams,)
        Increasing penalties in the units of a sum over rows.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> lambda_path(X, 2, n_lams=5, scale="standard").round(1).tolist()
    [2.0, 7.5, 28.3, 106.4, 400.0]
    """
    check_choice("missing", missing, ("error", "observed"))
    X = as_frame(X)
    array = check_data(X, missing=missing, sparse="dense")
    weight = check_sample_weight(sample_weight, len(array), row_names(X))
    check_distinct(array, check_integer("k", k, least=1), weight)
    if is_decorrelated(scale):
        given_shrinkage(str(scale))
    else:
        check_choice("scale", scale, (None, "standard", "decorrelate"))
    check_choice("dispersion", dispersion, ("within", "between"))
    check_integer("n_lams", n_lams, least=1)
    names = checked_families(divergence, array, column_names(X))
    if names is not None and is_decorrelated(scale):
        raise ValueError(f"scale={scale!r} is for columns with squared differences")
    sizes = check_offset(aligned_offset(offset, X), names, len(array))
    array, weight, _, _ = rows_per_unit(array, weight, sizes)
    with one_blas_thread():
        engine = array_engine(array, weight, scale, names=names)
    varying = engine.varying & (engine.squares > 0)
    totals = engine.squares[varying] if varying.any() else np.ones(1)
    return penalty_grid(totals, n_lams, between=dispersion == "between", wide=is_wide(engine))
