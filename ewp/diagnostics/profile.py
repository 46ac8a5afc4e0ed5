"""A profile of the clusters: the first table of a paper, feature by feature.

Sizes, means with standard deviations, or counts of values, in every cluster and in all rows, beside
them how far clusters differ and what the feature weighs. It describes; the clusters were made to
differ, so no difference here is a test. Selective p-values, which allow for that, stand in a column
of their own where they were asked for before (`selective_p`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ewp.common.checks import listing
from ewp.common.parallel import one_blas_thread
from ewp.common.types import Array, FittedResults
from ewp.diagnostics.profile_table import Profile
from ewp.diagnostics.refit import fitted_data
from ewp.refinement.coordinates import as_copies

__all__ = ["profile", "selective_p"]

#: Values of a feature that are counted, at most.
_MOST_VALUES = 20


@one_blas_thread()
def profile(
    results: FittedResults,
    /,
    *,
    counted: Any = None,
    X: Any = None,
    sample_weight: Any = None,
) -> Profile:
    r"""Describe the clusters feature by feature: the first table of a paper.

    Features with two different values are counted: the number of rows that have the larger one, and
    their share. All others have their mean and standard deviation. The standardised difference of
    two clusters is :math:`|m_i - m_j| / \sqrt{(s_i^2 + s_j^2)/2}`, as in the literature on balance
    between groups; that of the two clusters that differ most is given.

    Parameters
    ----------
    results : EWPResults
        The fit, where this is not called as a method of it.
    counted : list of feature names, optional
        Features whose values are counted instead, one row per value, such as codes of categories.
        At most 20 values. By default the features with two values.
    X, sample_weight : array-like, optional
        The data that were fitted, for results that do not hold them any more. Weights count as
        numbers of copies. Dask collections are read into memory.

    Returns
    -------
    Profile
        With ``table``, ``summary()`` (text, HTML, LaTeX), ``great_table()`` and ``plot()``; kept as
        ``profile_``.

    Notes
    -----
    Standard deviations have the divisor n - 1; those of clusters of one row are missing. Where
    values are missing, all figures are of the observed ones, whose numbers are in the table. The
    clusters were found in the same data and made to differ, so an ordinary test of these
    differences is not valid.

    References
    ----------
    Austin, P. C. (2009). Balance diagnostics for comparing the distribution of baseline covariates
    between treatment groups in propensity-score matched samples. *Statistics in Medicine* 28,
    3083-3107.

    Examples
    --------
    >>> import ewp
    >>> from ewp.datasets import make_simulation2
    >>> X = make_simulation2(3, n=150, p=5, random_state=0).X
    >>> results = ewp.fit(X, 3, lam=0.05 * len(X), random_state=0)
    >>> results.profile().clusters["size"].tolist()
    [56, 52, 42]
    """
    source = fitted_data(results, X, sample_weight, as_given=True)
    names, used = results.feature_names, source.used
    rows, labels = source.X[used], source.labels[used]
    weight = np.ones(len(used)) if source.weight is None else source.weight[used]
    chosen = _counted(rows, names, counted)
    groups = _Groups.of(labels, as_copies(weight), results.n_clusters)
    heaviest = np.argsort(-results.mean_weights.to_numpy(dtype=float), kind="stable")
    clusters = list(results.centroids.index)
    kept = [(i, value) for i in heaviest for value in chosen.get(int(i), [np.nan])]
    values = np.array([value for _, value in kept])
    columns = [i for i, _ in kept]
    given = rows[:, columns]
    known = np.isnan(values) | np.isnan(given)
    described = np.where(known, given, given == values)
    table = groups.describe(described, clusters)
    table.insert(0, "statistic", np.where(np.isnan(values), "mean", "count"))
    table.insert(1, "value", values)
    seen = ~np.isnan(given)
    places = ["", *(f"_{name}" for name in clusters)]
    masses = groups.masses(weight, seen)
    for place, mass in zip(places, masses, strict=True):
        table[f"count{place}"] = np.where(np.isnan(values), np.nan, mass * table[f"mean{place}"])
    if not seen.all():
        for place, mass in zip(places, masses, strict=True):
            table[f"observed{place}"] = mass
    table["weight"] = results.mean_weights.to_numpy(dtype=float)[columns]
    table.index = pd.Index([names[i] for i in columns], name=names.name)
    if (p := selective_p(results)) is not None:
        table["p_value"] = p.to_numpy(dtype=float)[columns]
    sizes = results.clusters[["size", "mass"]]
    return Profile(
        table,
        sizes.assign(share=sizes["mass"] / sizes["mass"].sum()),
        results.scaling,
        not np.allclose(weight, 1.0),
        results.families is not None and results.families.sizes is not None,
    )


def selective_p(results: FittedResults) -> pd.Series | None:
    """p-value of every feature by `test_differences`, over all pairs of clusters; None if unasked.

    The smallest of the pairs that were tested, times their number (Bonferroni).

    Parameters
    ----------
    results : EWPResults
        Its ``differences_`` have a table with one row per pair of clusters and feature, in the
        columns ``feature`` and ``p_value``.
    """
    found = getattr(results, "differences_", None)
    if found is None:
        return None
    # a file keeps names such as dates as text
    by_feature = found.table["p_value"].groupby(found.table["feature"].astype(str))
    smallest = (by_feature.min() * by_feature.count()).clip(upper=1.0)
    names = results.feature_names
    return pd.Series(smallest.reindex(names.astype(str)).to_numpy(dtype=float), index=names)


def _counted(rows: Array, names: pd.Index, asked: Any) -> dict[int, list[float]]:
    """Values that are counted, by the position of the feature."""
    if asked is None:
        seen = ~np.isnan(rows)
        low = rows.min(axis=0, initial=np.inf, where=seen)
        high = rows.max(axis=0, initial=-np.inf, where=seen)
        two = (low < high) & ((rows == low) | (rows == high) | ~seen).all(axis=0)
        return {int(i): [float(high[i])] for i in np.flatnonzero(two)}
    wanted = [asked] if isinstance(asked, str) or not isinstance(asked, Sequence) else list(asked)
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise ValueError(
            f"counted: {listing(unknown)} given, but the fit has {listing(list(names))}"
        )
    found = {}
    for i in np.flatnonzero(names.isin(wanted)):
        values = np.unique(rows[~np.isnan(rows[:, i]), i])
        if len(values) > _MOST_VALUES:
            raise ValueError(
                f"counted: feature {names[int(i)]!r} has {len(values)} values, and at most "
                f"{_MOST_VALUES} are counted; leave it out, and it has its mean"
            )
        found[int(i)] = [float(value) for value in values]
    return found


class _Groups(NamedTuple):
    """Rows by cluster, with their numbers of copies."""

    members: list[np.ndarray]
    copies: Array

    @classmethod
    def of(cls, labels: np.ndarray, copies: Array, k: int) -> _Groups:
        return cls([np.flatnonzero(labels == j) for j in range(k)], copies)

    def moments(self, values: Array, rows: np.ndarray) -> tuple[Array, Array]:
        """Means and standard deviations of the observed values of columns over some rows."""
        copies, own = self.copies[rows], values[rows]
        seen = ~np.isnan(own)
        total = copies @ seen
        mean, variance = np.full((2, values.shape[1]), np.nan)
        np.divide(copies @ np.where(seen, own, 0.0), total, out=mean, where=total > 0)
        squares = copies @ np.where(seen, own - mean, 0.0) ** 2
        np.divide(squares, total - 1.0, out=variance, where=total > 1.0)
        return mean, np.sqrt(variance)

    def masses(self, weight: Array, seen: np.ndarray) -> list[Array]:
        """Weights of the rows in which columns are observed: of all rows, and by cluster."""
        return [weight @ seen, *(weight[rows] @ seen[rows] for rows in self.members)]

    def describe(self, values: Array, names: list[Any]) -> pd.DataFrame:
        """Moments of all rows and by cluster, and the largest standardised difference."""
        values = values.astype(float)
        mean, sd = self.moments(values, np.arange(len(values)))
        table = {"mean": mean, "sd": sd}
        means, sds = [], []
        for name, rows in zip(names, self.members, strict=True):
            mean, sd = self.moments(values, rows)
            means.append(mean)
            sds.append(sd)
            table |= {f"mean_{name}": mean, f"sd_{name}": sd}
        largest, which = _largest_difference(np.array(means), np.array(sds))
        pairs = list(combinations(names, 2))
        between = ["" if i < 0 else f"{pairs[i][0]}, {pairs[i][1]}" for i in which]
        return pd.DataFrame({**table, "difference": largest, "between": between})


def _largest_difference(means: Array, sds: Array) -> tuple[Array, np.ndarray]:
    """Largest standardised difference over pairs of clusters, and which pair; -1 for none.

    >>> largest, which = _largest_difference(np.array([[0.0], [1.0], [3.0]]), np.ones((3, 1)))
    >>> largest.tolist(), which.tolist()
    ([3.0], [1])
    """
    k, p = means.shape
    largest, which = np.full(p, np.nan), np.full(p, -1)
    for place, (i, j) in enumerate(combinations(range(k), 2)):
        gap = np.abs(means[i] - means[j])
        pooled = np.sqrt((sds[i] ** 2 + sds[j] ** 2) / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            # clusters that do not vary differ without bounds, or not at all
            difference = np.where(gap == 0, np.where(np.isnan(pooled), np.nan, 0.0), gap / pooled)
        better = np.isfinite(difference) | np.isinf(difference)
        better &= np.isnan(largest) | (difference > largest)
        largest[better], which[better] = difference[better], place
    return largest, which
