"""K-means, k-harmonic means, power k-means and WK-means.

The first three have no feature weights and differ in the schedule of the exponent alone: at minus
infinity from the first step, at -1 throughout, annealed. WK-means has weights that follow from the
dispersions by a power law. Squared distances are Euclidean.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ewp.common.checks import check_number
from ewp.common.types import Array
from ewp.engine.array import ArrayEngine
from ewp.peers.base import SampleWeightPeer
from ewp.solver.critical_exponent import check_exponent, engine_critical_exponent
from ewp.solver.fit import FitOptions
from ewp.solver.schedules import Fixed, Hard, Schedule, annealing
from ewp.solver.weights import FixedWeights, PowerWeights, WeightRule

__all__ = ["KHarmonicMeans", "KMeans", "PowerKMeans", "WKMeans", "annealing_from"]


class _Unweighted(SampleWeightPeer):
    learns_weights = False

    def _rule(self, engine: ArrayEngine) -> WeightRule:
        return FixedWeights(np.ones(engine.p))


class KMeans(_Unweighted):
    r"""K-means by Lloyd's algorithm.

    Minimises :math:`\sum_i \min_j \|x_i - \theta_j\|^2`. From the same centres it ends where
    scikit-learn's ``KMeans`` ends.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters k, at most the number of distinct rows.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        Starting centroids.
    n_init : int, default=1
        Number of starts; the one with the lowest objective is kept.
    max_iter : int, default=500
        Largest number of steps of a start.
    tol : float, default=1e-8
        Largest step of the centroids at a fixed point, in standard deviations.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the starts. The same seed gives the same answer for any `n_jobs` and any order
        of the rows.
    n_jobs : int or None, default=None
        Number of processes, as in joblib.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every row; cluster 0 is the largest.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    feature_weights_, metric_ : ndarray of shape (n_features,)
        Ones: distances are Euclidean.
    objective_ : float
        The within-cluster sum of squares.
    n_iter_ : int
        Number of steps.
    trace_ : DataFrame
        One row per iteration: phase, exponent, objective at it and in the limit, step sizes.

    References
    ----------
    Lloyd, S. P. (1982). Least squares quantization in PCM. *IEEE Transactions on Information
    Theory* 28, 129-137.

    Examples
    --------
    >>> import numpy as np
    >>> from ewp.peers import KMeans
    >>> model = KMeans(2, random_state=0).fit(np.array([[0.0], [1.0], [10.0], [11.0], [12.0]]))
    >>> model.labels_.tolist(), round(model.objective_, 6)
    ([1, 1, 0, 0, 0], 2.5)
    """

    def __init__(
        self,
        n_clusters: int = 2,
        init: str | Array = "k-means++",
        n_init: int = 1,
        max_iter: int = FitOptions.max_iter,
        tol: float = FitOptions.tol,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _schedule(self, engine: ArrayEngine) -> Schedule:
        return Hard()


class KHarmonicMeans(_Unweighted):
    r"""K-harmonic means: power means with the exponent -1 throughout.

    Minimises :math:`\sum_i k / \sum_j \|x_i - \theta_j\|^{-2}`. It depends little on the start,
    but in more than a few dimensions its centroids collapse into the mean of the data, see
    `ewp.critical_exponent`.

    Parameters
    ----------
    n_clusters, init, n_init, tol, random_state, n_jobs
        As in `KMeans`.
    max_iter : int, default=2000
        Largest number of steps of a start; near the critical exponent they are small.

    Attributes
    ----------
    labels_, cluster_centers_, feature_weights_, metric_, n_iter_, trace_
        As in `KMeans`.
    objective_ : float
        The sum of harmonic means.

    References
    ----------
    Zhang, B., Hsu, M. and Dayal, U. (1999). K-harmonic means: a data clustering algorithm.
    Technical report HPL-1999-124, Hewlett-Packard Laboratories.

    Examples
    --------
    >>> import numpy as np
    >>> from ewp.peers import KHarmonicMeans
    >>> X = np.array([[0.0], [1.0], [4.0], [11.0], [12.0]])
    >>> model = KHarmonicMeans(2, random_state=0).fit(X)
    >>> model.labels_.tolist(), model.cluster_centers_.round(1).ravel().tolist()
    ([0, 0, 0, 1, 1], [1.5, 11.5])
    """

    _last_exponent: ClassVar[float] = -1.0

    def __init__(
        self,
        n_clusters: int = 2,
        init: str | Array = "k-means++",
        n_init: int = 1,
        max_iter: int = 2000,
        tol: float = FitOptions.tol,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _schedule(self, engine: ArrayEngine) -> Schedule:
        return Fixed(self._last_exponent)


class PowerKMeans(_Unweighted):
    r"""Power k-means: k-means reached through power means whose exponent falls to minus infinity.

    Minimises :math:`\sum_i M_s(\|x_i - \theta_1\|^2, \dots, \|x_i - \theta_k\|^2)` while s is
    annealed, then the limit, which is the objective of k-means. It is EWP with an infinite
    penalty, that is, with equal weights, from the same exponent and without polish. It is annealed
    until the memberships are hard, as published.

    Parameters
    ----------
    n_clusters, init, n_init, max_iter, tol, random_state, n_jobs
        As in `KMeans`.
    s0 : float or "auto", default="auto"
        First exponent. "auto" is ``min(-1, s_c)`` with the critical exponent s_c at which
        centroids that collapsed into the mean can leave it, see `ewp.critical_exponent`; the
        usual published choice, -1, collapses in more than a few dimensions.
    eta : float, default=1.05
        Factor by which the exponent moves every step, above 1.

    Attributes
    ----------
    labels_, cluster_centers_, feature_weights_, metric_, n_iter_, trace_
        As in `KMeans`.
    objective_ : float
        The limit: the within-cluster sum of squares.

    References
    ----------
    Xu, J. and Lange, K. (2019). Power k-means clustering. Proceedings of ICML, PMLR 97, 6921-6931.

    Examples
    --------
    >>> import numpy as np
    >>> from ewp.peers import PowerKMeans
    >>> model = PowerKMeans(2, random_state=0).fit(np.array([[0.0], [1.0], [10.0], [11.0], [12.0]]))
    >>> model.labels_.tolist(), round(model.objective_, 6)
    ([1, 1, 0, 0, 0], 2.5)
    """

    def __init__(
        self,
        n_clusters: int = 2,
        s0: float | str = "auto",
        eta: float = FitOptions.eta,
        init: str | Array = "k-means++",
        n_init: int = 1,
        max_iter: int = FitOptions.max_iter,
        tol: float = FitOptions.tol,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.s0 = s0
        self.eta = eta
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _schedule(self, engine: ArrayEngine) -> Schedule:
        return annealing_from(engine, np.ones(engine.p), self.s0, self.eta)


def annealing_from(engine: ArrayEngine, metric: Array, s0: Any, eta: Any) -> Schedule:
    """Annealing from a given or from the critical exponent, to its very end as published.

    Parameters
    ----------
    engine : ArrayEngine
    metric : ndarray of shape (p,)
        The metric at the start, in which the centroids would collapse.
    s0 : float or "auto"
    eta : float
    """
    critical = engine_critical_exponent(engine, metric)
    first = check_exponent(s0)
    first = min(-1.0, critical) if first is None else first
    return annealing(first, check_number("eta", eta, above=1), critical)


class WKMeans(SampleWeightPeer):
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
        max_iter: int = FitOptions.max_iter,
        tol: float = FitOptions.tol,
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
