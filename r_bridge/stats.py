"""R's package stats: its k-means, in all its algorithms.

The function `kmeans` and its result, which prints and tidies as in R. The default algorithm is that
of Hartigan and Wong (1979), which `ewp.peers.SparseKMeans` uses too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from r_bridge.inputs import check_choice, check_integer, check_seed, check_start, read
from r_bridge.results import PrintedResult, cluster_sizes
from r_bridge.session import call

__all__ = ["KMeans", "kmeans"]

Algorithm = Literal["Hartigan-Wong", "Lloyd", "Forgy", "MacQueen"]


@dataclass(frozen=True, repr=False)
class KMeans(PrintedResult):
    """K-means by R's ``stats::kmeans``.

    Attributes
    ----------
    labels : Series
        Cluster of each row, from 0.
    centers : DataFrame
        Means of the clusters, one row each.
    withinss, size : Series
        Within-cluster sum of squares and number of rows of each cluster.
    totss, tot_withinss, betweenss : float
        Total, summed within- and between-cluster sums of squares.
    iterations : int
    ifault : int or None
        R's sign of a problem, 0 without one; only "Hartigan-Wong" has it.
    algorithm : str
    seed : int
    console : str
    """

    labels: pd.Series
    centers: pd.DataFrame
    withinss: pd.Series
    size: pd.Series
    totss: float
    tot_withinss: float
    betweenss: float
    iterations: int
    ifault: int | None
    algorithm: str
    seed: int
    console: str

    def _heading(self) -> str:
        share = self.betweenss / self.totss if self.totss > 0 else float("nan")
        ratio = f"between_SS / total_SS = {100 * share:.1f} %"
        return f"K-means by R, {self.algorithm}: {cluster_sizes(self.labels)}; {ratio}"

    def _printed_table(self) -> pd.DataFrame:
        return self.centers

    def tidy(self) -> pd.DataFrame:
        """One row per cluster: its mean, ``size``, ``withinss`` and number, as broom has them."""
        sizes = pd.DataFrame({"size": self.size, "withinss": self.withinss})
        return self.centers.join(sizes).reset_index().rename_axis(columns=None)

    def glance(self) -> pd.DataFrame:
        """One row: totss, tot.withinss, betweenss, iter, as broom has them."""
        row = {
            "totss": self.totss,
            "tot.withinss": self.tot_withinss,
            "betweenss": self.betweenss,
            "iter": self.iterations,
        }
        return pd.DataFrame([row])


def kmeans(
    X: ArrayLike | pd.DataFrame,
    K: int | None = None,
    centers: ArrayLike | None = None,
    iter_max: int = 10,
    nstart: int = 1,
    algorithm: Algorithm = "Hartigan-Wong",
    seed: int | np.random.Generator | None = None,
) -> KMeans:
    """K-means: R's ``stats::kmeans``.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, p)
        Finite numbers. A DataFrame's row and column names appear in the result.
    K : int, optional
        Number of clusters, for random starts. One of `K` and `centers` is needed.
    centers : array-like of shape (K, p), optional
        Starting centres.
    iter_max : int, default 10
        Largest number of iterations; R warns where they are not enough.
    nstart : int, default 1
        Number of starts; with `centers`, R draws those after the first from the rows.
    algorithm : {"Hartigan-Wong", "Lloyd", "Forgy", "MacQueen"}
        "Lloyd" and "Forgy" are two names of one algorithm.
    seed : int, Generator or None
        Seed of R's random numbers during the call. None draws one; it is in the result.

    Returns
    -------
    KMeans

    Raises
    ------
    RBridgeError
        If R or rpy2 is missing, the input is unfit, or R stops; the message says what to do.
    """
    data = read(X)
    start = check_start(data.x, K, centers)
    seed = check_seed(seed)
    arguments = {
        "x": data.x,
        "centers": start.k if start.centers is None else start.centers,
        "iter.max": check_integer("iter_max", iter_max, least=1),
        "nstart": check_integer("nstart", nstart, least=1),
        "algorithm": check_choice("algorithm", algorithm, get_args(Algorithm)),
    }
    reply = call("stats", "kmeans", arguments, seed)
    found = reply.value
    clusters = pd.RangeIndex(start.k, name="cluster")
    return KMeans(
        labels=pd.Series(found["cluster"].astype(np.intp) - 1, index=data.rows, name="cluster"),
        centers=pd.DataFrame(found["centers"], index=clusters, columns=data.columns),
        withinss=pd.Series(found["withinss"], index=clusters, name="withinss"),
        size=pd.Series(found["size"], index=clusters, name="size"),
        totss=float(found["totss"][0]),
        tot_withinss=float(found["tot.withinss"][0]),
        betweenss=float(found["betweenss"][0]),
        iterations=int(found["iter"][0]),
        ifault=None if found["ifault"] is None else int(found["ifault"][0]),
        algorithm=algorithm,
        seed=seed,
        console=reply.console,
    )
