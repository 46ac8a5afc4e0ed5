"""EWP, native sparse k-means and R's sparcl on the same data, from the same centroids.

The method for `ewp.compare`, which repeats a comparison over many starts, is in `r_bridge.method`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.cluster import kmeans_plusplus

from ewp.checks import check_number
from ewp.kernel import Array
from ewp.model import EWP
from ewp.sparse import sparse_path
from r_bridge import sparcl
from r_bridge._printed import Printed
from r_bridge.agreement import agreement_table, matched, normalised
from r_bridge.errors import input_errors
from r_bridge.inputs import Data, check_seed, check_start, read
from r_bridge.method import SparclMethod

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SparclComparison", "SparclMethod", "compare_with_sparcl"]


@dataclass(frozen=True, repr=False)
class SparclComparison(Printed):
    """Three methods on one data set; see :func:`compare_with_sparcl`.

    Attributes
    ----------
    table : DataFrame
        One row a method (``sparcl``, ``native``, ``EWP``): number of selected ``features``,
        ``ARI`` with sparcl's partition, correlation ``weight r`` with its weights, ``overlap`` of
        the selected features (shared by both among chosen by either), ``ARI truth`` if the groups
        are known.
    weights : DataFrame
        Weights, one column a method, each summing to 1.
    labels : DataFrame
        Clusters, one column a method, numbered as sparcl's as far as they match.
    centers : DataFrame
        Centroids from which all three started.
    wbound, lam : float
        Bound of the two sparse methods and penalty of EWP that were used.
    """

    table: pd.DataFrame
    weights: pd.DataFrame
    labels: pd.DataFrame
    centers: pd.DataFrame
    wbound: float
    lam: float

    def _heading(self) -> str:
        n, p = len(self.labels), len(self.weights)
        head = f"{n} rows, {p} features, {len(self.centers)} clusters; "
        return f"{head}wbound {self.wbound:.4g}, lambda {self.lam:.4g}"

    def _shown(self) -> pd.DataFrame:
        return self.table

    def plot(self, top: int = 15) -> Figure:
        """Draw weights and partitions beside each other; see `r_bridge.pictures`."""
        from r_bridge.pictures import plot_comparison

        return plot_comparison(self.weights, self.labels, top=top)


def compare_with_sparcl(
    X: ArrayLike | pd.DataFrame,
    k: int | None = None,
    *,
    y: ArrayLike | None = None,
    centers: ArrayLike | None = None,
    wbound: float | None = None,
    lam: float | str = "auto",
    tol: float = 1e-4,
    nperms: int = 25,
    seed: int | np.random.Generator | None = 0,
    **options: Any,
) -> SparclComparison:
    """Run EWP, native sparse k-means and sparcl from the same centroids.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, p)
        Data, used by all three as it is: standardise it beforehand where that is wanted.
    k : int, optional
        Number of clusters; may be left out if `centers` are given.
    y : array-like of shape (n,), optional
        Known groups, for an additional column of the table.
    centers : array-like of shape (k, p), optional
        Starting centroids. By default rows drawn by k-means++.
    wbound : float, optional
        Bound on the one-norm of the weights of sparse k-means. By default the one that sparcl's
        permutation gap prefers.
    lam : float or "auto", default "auto"
        Penalty of EWP.
    tol : float, default 1e-4
        Weights below this share of a method's largest count as zero.
    nperms : int, default 25
        Permutations for the choice of `wbound`.
    seed : int, Generator or None, default 0
        Seed of the centroids, of the permutations and of EWP.
    **options
        More options of :class:`ewp.EWP`; `scale` is None unless given.

    Returns
    -------
    SparclComparison
        Print it for the table, ``plot()`` it for the picture.

    Raises
    ------
    RBridgeError
        If R, rpy2 or sparcl is missing, the input is unfit, or sparcl stops.
    """
    data = read(X, columns=2)
    start = check_start(data.x, k, centers, least=2)
    with input_errors():
        check_number("tol", tol, above=0, below=1)
        if wbound is not None:
            check_number("wbound", wbound, above=1)
        if y is not None and np.shape(y) != (len(data.x),):
            raise ValueError(f"y has shape {np.shape(y)}, but X has {len(data.x)} rows")
    seed = check_seed(seed)
    theta = start.centers
    if theta is None:
        theta, _ = kmeans_plusplus(data.x, start.k, random_state=seed)
    if wbound is None:
        wbound = sparcl.permute(data.x, K=start.k, nperms=nperms, seed=seed).bestw
    live = sparcl.kmeans_sparse_cluster(data.x, centers=theta, wbounds=wbound, seed=seed)[0]
    (native,) = sparse_path(data.x.astype(np.float64), theta.astype(np.float64), [wbound])
    options = {"scale": None, "random_state": seed, **options}
    with input_errors():
        model = EWP(start.k, lam=lam, init=theta, **options).fit(data.x)
    found = {
        "sparcl": (live.labels.to_numpy(), live.weights.to_numpy()),
        "native": (native.labels, native.weights),
        "EWP": (model.labels_, model.feature_weights_),
    }
    labels, weights = _side_by_side(found, data)
    truth = None if y is None else pd.Series(np.asarray(y), index=data.rows)
    return SparclComparison(
        table=agreement_table(labels, weights, "sparcl", truth, tol),
        weights=weights,
        labels=labels,
        centers=pd.DataFrame(theta, columns=data.columns),
        wbound=float(wbound),
        lam=float(model.lam_),
    )


def _side_by_side(
    found: dict[str, tuple[np.ndarray, Array]], data: Data
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Matched labels and normalised weights, one column a method."""
    reference = pd.Series(found["sparcl"][0], index=data.rows)
    labels = pd.DataFrame(
        {name: matched(pd.Series(x, index=data.rows), reference) for name, (x, _) in found.items()}
    )
    weights = pd.DataFrame(
        {name: normalised(pd.Series(w, index=data.columns)) for name, (_, w) in found.items()}
    )
    return labels, weights
