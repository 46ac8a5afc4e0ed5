"""Intervals and tests, as methods of the results object.

`Uncertainty` is a part of :class:`ewp.EWPResults`, as `ewp.diagnostics` is: each method states what
can be asked, and hands the work to the module that answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ewp.bootstrap_results import BootstrapResults
    from ewp.feature_tests import FeatureTests
    from ewp.results import EWPResults

__all__ = ["Uncertainty"]


class Uncertainty:
    """How sure a fit's weights and centroids are, and which features matter at all."""

    def bootstrap(
        self,
        n_boot: int = 200,
        *,
        n_jackknife: int = 50,
        threshold: float | None = None,
        X: Any = None,
        sample_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> BootstrapResults:
        """Put intervals on weights and centroids by resampling the rows.

        Each resample is fitted from the estimates of this fit: the limit problem is iterated to
        its fixed point and polished lightly. Afterwards ``summary()`` and ``plot_weights()`` of
        this object show the intervals. Everything is conditional on the number of clusters, the
        penalty, the scaling and the form of the weights.

        Parameters
        ----------
        n_boot : int, default 200
            Number of resamples.
        n_jackknife : int, default 50
            Number of parts of the rows that are left out in turn for the acceleration of BCa
            intervals; 0 leaves percentile intervals only.
        threshold : float, optional
            A feature with more weight than this counts as selected. By default an equal share,
            one over the number of features.
        X, sample_weight : array-like, optional
            The data that were fitted, for results that do not hold them any more. Whole numbers
            as weights are repetitions and resampled as such, other weights stay with their rows.
        random_state, n_jobs, progress
            As in `consistency`.

        Returns
        -------
        BootstrapResults
            With ``weight_intervals()``, ``centroid_intervals()``, ``log_ratios()``,
            ``selection_frequency``, ``rank_switches()``, ``summary()`` and ``plot()``; kept as
            ``bootstrap_``.

        Examples
        --------
        >>> import ewp
        >>> from ewp.datasets import make_simulation2
        >>> X = make_simulation2(3, n=300, p=6, n_relevant=2, random_state=0).X
        >>> results = ewp.fit(X, 3, lam=0.05 * len(X), random_state=0)
        >>> found = results.bootstrap(100, random_state=0)
        >>> found.selection_frequency.tolist()
        [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
        >>> table = found.weight_intervals()
        >>> bool((table["lower"] <= table["weight"]).all() and (table["upper"] < 1).all())
        True
        """
        from ewp.bootstrap import bootstrap

        results = cast("EWPResults", self)
        results.bootstrap_ = bootstrap(
            results,
            n_boot,
            n_jackknife=n_jackknife,
            threshold=threshold,
            X=X,
            sample_weight=sample_weight,
            random_state=random_state,
            n_jobs=n_jobs,
            progress=progress,
        )
        return results.bootstrap_

    def test_features(
        self,
        n_perm: int | None = None,
        *,
        n_groups: int = 20,
        X: Any = None,
        sample_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> FeatureTests:
        """Test for every feature whether it takes part in the clusters of the others.

        The clusters are found without the feature; the weight they earn it is compared with what
        they would earn it if its column were permuted. The p-value is exact for a feature that is
        independent of the others. The test is conditional on the number of clusters, the penalty,
        the scaling and the form of the weights, and blind to clusters that a feature has all to
        itself; see `ewp.feature_tests`.

        Parameters
        ----------
        n_perm : int, optional
            Number of permutations. By default 40 times the number of features, so that p-values
            can stay small after Holm's adjustment, but at least 999 and at most 20,000 or five
            times the number of features. They cost little: the fits are one for each group.
        n_groups : int, default 20
            Number of groups of features that are left out together; up to as many features are
            left out one by one.
        X, sample_weight, random_state, n_jobs, progress
            As in `consistency`.

        Returns
        -------
        FeatureTests
            Its ``table`` has p-values, also adjusted by Holm and by Benjamini and Hochberg; with
            ``significant()``, ``summary()`` and ``plot()``; kept as ``feature_tests_``.

        Examples
        --------
        >>> import ewp
        >>> from ewp.datasets import make_simulation2
        >>> X = make_simulation2(3, n=200, p=6, n_relevant=3, random_state=0).X
        >>> results = ewp.fit(X, 3, lam=0.05 * len(X), random_state=0)
        >>> results.test_features(random_state=0).significant().tolist()
        ['x0', 'x1', 'x2']
        """
        from ewp.feature_tests import permutation_tests

        results = cast("EWPResults", self)
        results.feature_tests_ = permutation_tests(
            results,
            n_perm,
            n_groups=n_groups,
            X=X,
            sample_weight=sample_weight,
            random_state=random_state,
            n_jobs=n_jobs,
            progress=progress,
        )
        return results.feature_tests_
