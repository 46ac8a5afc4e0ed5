"""The questions that come after a fit, as methods of the results object.

`Diagnostics` is a part of :class:`ewp.EWPResults`: each method here states what can be asked, and
hands the work to the module that answers; intervals and tests are in ``_uncertainty``. What was
computed is kept on the results object (``bootstrap_`` and so on), is used by its summary and
pictures, and is saved with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from ewp._uncertainty import Uncertainty

if TYPE_CHECKING:
    from ewp.agreement import Agreement
    from ewp.consistency import ConsistencyResults
    from ewp.results import EWPResults
    from ewp.stability import StabilityResults

__all__ = ["Diagnostics"]


class Diagnostics(Uncertainty):
    """Consistency, uncertainty, stability, significance and comparison of a fit."""

    def consistency(
        self,
        sizes: Sequence[int] | None = None,
        n_rep: int = 20,
        *,
        reference: Any = None,
        level: float = 0.95,
        X: Any = None,
        sample_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> ConsistencyResults:
        r"""See whether the estimates settle as rows are added.

        Nested random subsamples of growing size are fitted from scratch, with the options of this
        fit and the penalty in proportion to the rows. Their clusters are matched to the
        reference's by the Hungarian method. Errors of a consistent estimator fall like
        :math:`n^{-1/2}`, a slope of -1/2 on a log-log scale.

        Parameters
        ----------
        sizes : sequence of int, optional
            Numbers of rows. By default three to six that grow by equal factors, at most 2, up to
            half of the rows (up to all of them with a `reference`).
        n_rep : int, default 20
            Number of random orders of the rows, each of which gives one subsample of every size.
        reference : EWPResults or pair (centroids, weights), optional
            The population: true centroids, or those of a very large sample, of shape (k, p) in
            data units, and weights of shape (p,). By default the reference is this fit; slopes
            are then in ``1/(1/n - 1/N)``, which allows for the rows that a subsample shares with
            the N of the fit.
        level : float, default 0.95
            Of the intervals of the slopes.
        X, sample_weight : array-like, optional
            The data that were fitted, for results that do not hold them any more.
        random_state : int, Generator, RandomState or None
            Seed; the outcome does not depend on `n_jobs`.
        n_jobs : int, optional
            Number of processes, as in joblib.
        progress : bool, default False
            Show a progress bar. An interruption keeps the replicates that are finished.

        Returns
        -------
        ConsistencyResults
            With ``summary()``, ``plot()`` and ``plot_along_s()``; kept as ``consistency_``.

        Examples
        --------
        >>> import ewp
        >>> from ewp.datasets import make_simulation2
        >>> X = make_simulation2(3, n=2000, p=6, random_state=0).X
        >>> results = ewp.fit(X, 3, lam=0.05 * len(X), random_state=0)
        >>> found = results.consistency([30, 60, 120, 240, 480, 960], random_state=0)
        >>> found.verdict
        'seen'
        >>> bool(found.slopes.loc["centroids", "upper"] < -0.25)
        True
        """
        from ewp.consistency import consistency

        results = cast("EWPResults", self)
        results.consistency_ = consistency(
            results,
            sizes,
            n_rep,
            reference=reference,
            level=level,
            X=X,
            sample_weight=sample_weight,
            random_state=random_state,
            n_jobs=n_jobs,
            progress=progress,
        )
        return results.consistency_

    def stability(
        self,
        n_boot: int = 100,
        *,
        scheme: str = "bootstrap",
        share: float = 0.5,
        X: Any = None,
        sample_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> StabilityResults:
        """See which clusters, and which rows in them, survive resampling.

        Resamples are clustered from scratch, with the penalty in proportion to their rows. A
        cluster's similarity to a resample is its Jaccard similarity to the most similar cluster
        there, over the rows that are in the resample (Hennig 2007, as ``fpc::clusterboot`` in R
        reports it). By Hennig's rule of thumb means of 0.75 and more are stable clusters, and
        below 0.6 they should not be trusted.

        Parameters
        ----------
        n_boot : int, default 100
            Number of resamples.
        scheme : {"bootstrap", "subset"}, default "bootstrap"
            "bootstrap" takes the rows that a draw with replacement hits, each once, as fpc does;
            "subset" draws a part of the rows.
        share : float, default 0.5
            Size of that part.
        X, sample_weight, random_state, n_jobs, progress
            As in `consistency`.

        Returns
        -------
        StabilityResults
            With ``clusters``, ``points`` (how often each row stays, and its silhouette in the
            weighted metric), ``co_membership()``, ``summary()`` and ``plot()``; kept as
            ``stability_``.

        References
        ----------
        Hennig, C. (2007). Cluster-wise assessment of cluster stability. *Computational Statistics
        and Data Analysis* 52, 258-271.

        Examples
        --------
        >>> import ewp
        >>> from ewp.datasets import make_simulation2
        >>> X = make_simulation2(3, n=150, p=5, random_state=0).X
        >>> results = ewp.fit(X, 3, lam=0.05 * len(X), random_state=0)
        >>> found = results.stability(20, random_state=0)
        >>> found.clusters["jaccard"].round(2).tolist()
        [1.0, 1.0, 1.0]
        >>> bool(found.points["silhouette"].mean() > 0.8)
        True
        """
        from ewp.stability import stability

        results = cast("EWPResults", self)
        results.stability_ = stability(
            results,
            n_boot,
            scheme=scheme,
            share=share,
            X=X,
            sample_weight=sample_weight,
            random_state=random_state,
            n_jobs=n_jobs,
            progress=progress,
        )
        return results.stability_

    def compare_to(
        self, other: Any, weights: Any = None, *, names: tuple[str, str] = ("this", "other")
    ) -> Agreement:
        """Compare with another clustering of the same rows.

        Parameters
        ----------
        other : EWPResults, fitted estimator or array-like of labels
            Another fit, one of sparcl's included; an estimator with ``labels_`` (and perhaps
            ``feature_weights_`` and ``cluster_centers_``); or labels of any type. A Series is
            matched by the names of its rows.
        weights : array-like, pandas.Series or dict of p weights, optional
            Weights of the features in the other clustering, if `other` does not hold them; on any
            scale, they are divided by their sum.
        names : pair of str, default ("this", "other")
            What to call the two.

        Returns
        -------
        Agreement
            With ``ari``, ``nmi``, matched ``labels``, ``clusters``, ``weights``, ``summary()`` and
            ``plot()``; kept as ``agreement_``.

        Examples
        --------
        >>> import ewp
        >>> from ewp.datasets import make_simulation2
        >>> X, y, _ = make_simulation2(3, n=150, p=5, random_state=0)
        >>> results = ewp.fit(X, 3, lam=0.05 * len(X), random_state=0)
        >>> results.compare_to(y)
        Agreement: ARI 1.000, NMI 1.000 on 150 rows, 100.0 % in matched clusters
        """
        from ewp.agreement import compare_to

        results = cast("EWPResults", self)
        results.agreement_ = compare_to(results, other, weights, names=names)
        return results.agreement_
