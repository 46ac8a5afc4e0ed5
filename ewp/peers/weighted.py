"""WK-means: k-means with feature weights that follow from the dispersions by a power law."""

from __future__ import annotations

from typing import Any

from ewp.checks import check_number
from ewp.engine import ArrayEngine
from ewp.kernel import Array
from ewp.peers.base import WeightedPeer
from ewp.rules import PowerWeights, WeightRule
from ewp.schedules import Hard, Schedule

__all__ = ["WKMeans"]


class WKMeans(WeightedPeer):
    r"""WK-means: k-means with automatically weighted features.

    Minimises :math:`\sum_i \min_j \sum_l w_l^\beta (x_{il} - \theta_{jl})^2` over centroids and
    weights on the simplex by Lloyd's steps with :math:`w_l \propto D_l^{-1/(\beta-1)}` after each,
    where :math:`D_l` is the sum of squares of feature l within the clusters.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters k, at most the number of distinct rows.
    beta : float, default=8.0
        Exponent of the weights, above 1. The metric is proportional to
        :math:`D_l^{-\beta/(\beta-1)}`: near 1 one feature takes all the weight, and large values
        go towards :math:`D_l^{-1}`. There is no published rule for choosing it.
    init, n_init, max_iter, random_state, n_jobs
        As in `ewp.peers.KMeans`.
    tol : float, default=1e-8
        Largest step at a fixed point: in standard deviations for the centroids, in total
        variation for the weights.

    Attributes
    ----------
    labels_, cluster_centers_, n_iter_, trace_
        As in `ewp.peers.KMeans`.
    feature_weights_ : ndarray of shape (n_features,)
        Weights w, summing to 1.
    metric_ : ndarray of shape (n_features,)
        Their power :math:`w^\beta`, by which squared differences are multiplied.
    objective_ : float
        The weighted sum of squares within the clusters.

    Notes
    -----
    A feature that does not vary within any cluster takes all the weight, since the objective is
    then zero: two-valued columns attract this method.

    References
    ----------
    Huang, J. Z., Ng, M. K., Rong, H. and Li, Z. (2005). Automated variable weighting in k-means
    type clustering. *IEEE Transactions on Pattern Analysis and Machine Intelligence* 27, 657-668.

    Examples
    --------
    >>> from ewp.datasets import make_simulation2
    >>> from ewp.peers import WKMeans
    >>> X, labels, relevant = make_simulation2(k=3, n=150, p=6, n_relevant=2, random_state=0)
    >>> model = WKMeans(3, beta=2, n_init=5, random_state=0).fit(X)
    >>> bool(model.feature_weights_[relevant].sum() > 0.9)
    True
    """

    def __init__(
        self,
        n_clusters: int = 2,
        beta: float = 8.0,
        init: str | Array = "k-means++",
        n_init: int = 1,
        max_iter: int = 500,
        tol: float = 1e-8,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.beta = beta
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _rule(self, engine: ArrayEngine) -> WeightRule:
        return PowerWeights(check_number("beta", self.beta, above=1), engine.squares)

    def _schedule(self, engine: ArrayEngine) -> Schedule:
        return Hard()
