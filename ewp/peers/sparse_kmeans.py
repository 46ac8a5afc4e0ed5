"""Sparse k-means as an estimator: sparcl's way, Lloyd's, and annealed.

The alternation of sparcl and the gap that chooses its bound are in `ewp.peers.sparcl`; the other
two algorithms are the solver with the rule of thresholded weights.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from ewp.common.checks import check_choice, check_number
from ewp.common.types import Array
from ewp.data.canonical import order_clusters
from ewp.engine.array import ArrayEngine
from ewp.metrics import group_means
from ewp.peers.base import Peer, PeerFit, PeerOptions
from ewp.peers.kmeans import annealing_from
from ewp.peers.sparcl import SparseFit, SparseGap, sparse_gap, sparse_path
from ewp.solver.fit import FitOptions
from ewp.solver.schedules import Hard, Schedule
from ewp.solver.starts import choose_start
from ewp.solver.weights import Search, SparseWeights

__all__ = ["SparseKMeans", "check_bound"]

#: Steps and tolerance of sparcl's alternation, and of the solver.
_SPARCL = 6, 1e-4
_SOLVER = FitOptions.max_iter, FitOptions.tol


def check_bound(wbound: Any) -> float:
    """Check a bound on the one-norm of the weights."""
    cure = "1 leaves one feature, the square root of their number has no effect"
    bound = check_number("wbound", wbound, above=0, cure=cure)
    if bound < 1:
        raise ValueError(f"wbound={wbound!r} must be at least 1; {cure}")
    return bound


class SparseKMeans(Peer):
    r"""Sparse k-means: weights with a bound on their one-norm.

    Maximises :math:`\sum_l w_l B_l` over partitions and weights with :math:`\|w\|_2 \le 1`,
    :math:`\|w\|_1 \le b` and :math:`w_l \ge 0`, where :math:`B_l` is the sum of squares of feature
    l between the clusters.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters k, at most the number of distinct rows.
    wbound : float or "gap", default="gap"
        Bound b on the one-norm of the weights: 1 leaves one feature, the square root of the
        number of features has no effect. "gap" chooses it by the permutation gap of sparse
        k-means (`ewp.peers.sparse_gap`) with 25 permutations of the data and the same threshold.
        That takes some 500 runs of k-means, shared among `n_jobs` processes.
    algorithm : {"hartigan-wong", "lloyd", "annealed"}, default="hartigan-wong"
        "hartigan-wong" takes the steps of the R package sparcl: a whole k-means by Hartigan and
        Wong's algorithm between two updates of the weights. "lloyd" updates the weights after
        every step of Lloyd's. "annealed" does the same while the exponent of a power mean falls
        to minus infinity, as in power k-means.
    threshold : {"sparcl", "exact"}, default="sparcl"
        How the threshold of the weights is found: by sparcl's bisection or exactly. They usually
        agree to 1e-4; on data of small scale (sums of squares of 0.01 and less) the bisection
        can miss the bound widely, see `ewp.solver.weights.threshold_weights`.
    s0, eta
        First exponent and its factor for "annealed", as in `ewp.peers.PowerKMeans`.
    init, n_init, random_state, n_jobs
        As in `ewp.peers.KMeans`. "gap" uses its own random starts, 20 a data set, as sparcl does.
    max_iter : int or None, default=None
        Largest number of updates of the weights; None is sparcl's 6 for "hartigan-wong", else 500.
    tol : float or None, default=None
        For "hartigan-wong" the relative change of the weights at which to stop (None: 1e-4, as
        in sparcl), else the largest step at a fixed point (None: 1e-8).

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every row; cluster 0 is the largest.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters.
    feature_weights_, metric_ : ndarray of shape (n_features,)
        Weights; their two-norm is 1, as in sparcl. Squared differences are multiplied by them.
    objective_ : float
        The criterion :math:`\sum_l w_l B_l`, which is maximised.
    wbound_ : float
        The bound that was used.
    gap_ : SparseGap or None
        How it was chosen.
    n_iter_ : int
        Updates of the weights.
    trace_ : DataFrame
        One row per iteration, with the criterion; for the solver's algorithms also its columns.

    Notes
    -----
    Rows have no weights here: Hartigan and Wong's algorithm knows none. With it `labels_` is the
    partition found, from which the last weights follow; in their metric a row on the border may
    be nearer to another centroid, which `predict` then returns.

    From given centres the R package returns the same numbers, with one exception. Where a cluster
    loses all its rows when features drop out, sparcl goes on at random, so that its answer depends
    on R's seed; here that cluster takes the row that is farthest from its own centre.

    References
    ----------
    Witten, D. M. and Tibshirani, R. (2010). A framework for feature selection in clustering.
    *Journal of the American Statistical Association* 105, 713-726.

    Examples
    --------
    >>> import numpy as np
    >>> from ewp.peers import SparseKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> X[:30, 0] += 8.0
    >>> model = SparseKMeans(2, wbound=1.1, random_state=0).fit(X)
    >>> int(model.feature_weights_.argmax()), model.labels_[[0, 59]].tolist()
    (0, [1, 0])
    """

    _takes_sparse = False
    wbound_: float
    gap_: SparseGap | None

    def __init__(
        self,
        n_clusters: int = 2,
        wbound: float | str = "gap",
        algorithm: str = "hartigan-wong",
        threshold: str = "sparcl",
        s0: float | str = "auto",
        eta: float = FitOptions.eta,
        init: str | Array = "k-means++",
        n_init: int = 1,
        max_iter: int | None = None,
        tol: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.wbound = wbound
        self.algorithm = algorithm
        self.threshold = threshold
        self.s0 = s0
        self.eta = eta
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> SparseKMeans:
        """Cluster the rows of X and learn the weights of its columns.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        SparseKMeans
            The fitted estimator.
        """
        return self._fit(X, None)

    def _limits(self) -> tuple[Any, Any]:
        check_choice("algorithm", self.algorithm, ("hartigan-wong", "lloyd", "annealed"))
        self._search_name()
        max_iter, tol = _SPARCL if self.algorithm == "hartigan-wong" else _SOLVER
        return (
            max_iter if self.max_iter is None else self.max_iter,
            tol if self.tol is None else self.tol,
        )

    def _bound(self, X: Array, k: int, rng: np.random.Generator) -> None:
        """Settle the bound."""
        self.gap_ = None
        if isinstance(self.wbound, str):
            check_choice("wbound", self.wbound, ("gap",))
            self.wbound_ = float(X.shape[1] ** 0.5)
            if k > 1 and X.shape[1] > 1:
                self.gap_ = sparse_gap(
                    X, k, random_state=rng, threshold=self._search_name(), n_jobs=self.n_jobs
                )
                self.wbound_ = self.gap_.bestw
            return
        self.wbound_ = check_bound(self.wbound)

    def _search_name(self) -> Search:
        name: Search = check_choice("threshold", self.threshold, ("sparcl", "exact"))
        return name

    def _rule(self, engine: ArrayEngine) -> SparseWeights:
        return SparseWeights(self.wbound_, engine.squares, self._search_name())

    def _schedule(self, engine: ArrayEngine) -> Schedule:
        if self.algorithm == "annealed":
            return annealing_from(engine, np.ones(engine.p), self.s0, self.eta)
        return Hard()

    def _search(
        self, engine: ArrayEngine, options: PeerOptions, rng: np.random.Generator
    ) -> PeerFit:
        choosing, fitting = rng.spawn(2)
        k = options.n_clusters
        X = np.asarray(engine.X, dtype=np.float64)
        self._bound(X, k, choosing)
        # one cluster has nothing between clusters to alternate with
        if self.algorithm == "hartigan-wong" and k > 1:
            return self._alternate(engine, X, options, fitting)
        found = super()._search(engine, options, fitting)
        trace = found.trace.assign(criterion=-found.trace["f_inf"])
        return dataclasses.replace(found, objective=-found.objective, trace=trace)

    def _alternate(
        self, engine: ArrayEngine, X: Array, options: PeerOptions, rng: np.random.Generator
    ) -> PeerFit:
        """Take sparcl's steps from every start and keep the largest criterion."""
        k, init = options.n_clusters, options.init
        best: SparseFit | None = None
        for start in rng.spawn(options.n_init):
            centers = init
            if isinstance(centers, str):
                theta = choose_start(engine, k, centers, np.ones(engine.p), start)
                centers = engine.to_data_units(theta)
            (fit,) = sparse_path(
                X,
                centers,
                [self.wbound_],
                max_iter=options.max_iter,
                tol=options.tol,
                search=self._search_name(),
            )
            if best is None or fit.criterion[-1] > best.criterion[-1]:
                best = fit
        assert best is not None
        means, _ = group_means(X, best.labels, k)
        mass = np.bincount(best.labels, minlength=k) / len(X)
        order = order_clusters(engine.to_engine_units(means), best.weights, mass)
        trace = pd.DataFrame({"criterion": best.criterion}).rename_axis("iteration").reset_index()
        return PeerFit(
            means[order],
            best.weights,
            float(best.criterion[-1]),
            trace,
            len(trace),
            # six updates are the published method, whether or not the weights still move
            best.converged or self.max_iter is None,
            np.argsort(order)[best.labels],
        )
