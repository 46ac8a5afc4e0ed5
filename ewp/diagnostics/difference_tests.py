"""Tests of the differences between clusters, for all pairs and features that are asked for.

`selective_tests` checks what is asked, does the tests of every pair with one search for rivals of
its partition, and adjusts the p-values. A single p-value is `ewp.diagnostics.selective`'s, along a
path of `ewp.diagnostics.paths`; what comes out is in `ewp.diagnostics.mean_differences`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ewp.common.checks import check_integer, check_number
from ewp.common.parallel import run_replicates
from ewp.common.types import Array, FittedResults
from ewp.data.arguments import generator
from ewp.diagnostics.feature_tests import adjusted
from ewp.diagnostics.mean_differences import ALL_FEATURES, MeanDifferences
from ewp.diagnostics.paths import Pair, Path
from ewp.diagnostics.refit import (
    check_common_weights,
    check_whole_rows,
    feature_positions,
    fitted_data,
    seed_of,
)
from ewp.diagnostics.selective import Rivals, selective_p_value
from ewp.solver.fit import FitOptions

__all__ = ["selective_tests"]

#: Tests that share what they find, one after the other; tasks do not depend on `n_jobs`.
_TOGETHER = 8


class _Outcome(NamedTuple):
    difference: float
    statistic: float
    p_value: float
    p_naive: float
    refits: int
    settled: bool
    q: int
    lower: int


_NOTHING = _Outcome(np.nan, np.nan, np.nan, np.nan, 0, True, 0, 0)


class _Test(NamedTuple):
    """Two clusters and a feature, None for all of them."""

    i: int
    j: int
    feature: int | None
    seed: int


@dataclass(frozen=True, eq=False)
class _Data:
    """What all tests need: rows, their columns that have weights, and how these were fitted."""

    X: Array
    columns: Array
    labels: np.ndarray
    options: FitOptions
    decorrelation: Any
    compared: np.ndarray
    covariance: Array | None

    def path(self, pair: Pair, feature: int | None) -> Path | None:
        """Path of one difference, in data units."""
        if feature is None:
            return pair.mean_path(self.compared, self.covariance)
        return pair.feature_path(feature, self.covariance)

    def in_columns(self, path: Path) -> Path:
        """Return the path of the columns that have weights."""
        made = self.decorrelation
        if made is None:
            return path
        moves = path.directions.reshape(-1, path.directions.shape[-1])
        turned = made.apply(made.center + moves).reshape(path.directions.shape)
        return dataclasses.replace(path, directions=turned)


def _run_tests(data: _Data, tests: list[_Test], n_refits: int) -> list[_Outcome]:
    """Do some tests of one pair of clusters; each knows the rivals that those before it found."""
    i, j = tests[0][:2]
    if not ((data.labels == i).any() and (data.labels == j).any()):
        return [_NOTHING] * len(tests)
    pair = Pair.of(data.X, data.labels, i, j)
    rivals = Rivals(data.columns, data.labels, data.options)
    rivals.search_observed(np.random.default_rng(tests[0].seed))
    means = pair.unit * (pair.contrast @ data.X)
    found = []
    for one in tests:
        path = data.path(pair, one.feature)
        if path is None:
            found.append(_NOTHING)
            continue
        rng = np.random.default_rng(one.seed)
        answer = selective_p_value(rivals, data.in_columns(path), n_refits, rng)
        difference = pair.distance(path) if one.feature is None else float(means[one.feature])
        lower = len(rivals.lower)
        numbers = (difference, path.observed, answer.p_value, path.naive)
        found.append(_Outcome(*numbers, answer.refits, answer.settled, path.law.q, lower))
    return found


def _pairs(k: int, i: Any, j: Any) -> list[tuple[int, int]]:
    """Pairs of clusters that are asked for."""
    named = {"i": i, "j": j}
    chosen = [check_integer(name, one, least=0) for name, one in named.items() if one is not None]
    for name, one in named.items():
        if one is not None and one >= k:
            raise ValueError(f"{name}={one} is no cluster; the fit has clusters 0 to {k - 1}")
    if len(chosen) == 2:
        if chosen[0] == chosen[1]:
            raise ValueError(f"i={i} and j={j} are the same cluster; name two, or none for all")
        return [(chosen[0], chosen[1])]
    if chosen:
        return [(chosen[0], other) for other in range(k) if other != chosen[0]]
    return list(combinations(range(k), 2))


def _check_covariance(covariance: Any, p: int) -> Array | None:
    """Check a known covariance matrix, or a variance that all features share."""
    if covariance is None:
        return None
    if np.ndim(covariance) == 0:
        return np.eye(p) * check_number("covariance", covariance, above=0)
    matrix = np.array(covariance, dtype=float)
    if matrix.shape != (p, p) or not np.isfinite(matrix).all():
        raise ValueError(
            f"covariance has shape {matrix.shape}; give a {p} x {p} matrix of finite numbers, or "
            "one variance that all features share"
        )
    if not np.allclose(matrix, matrix.T) or np.linalg.eigvalsh(matrix)[0] <= 0:
        raise ValueError("covariance must be symmetric and positive definite; estimate it anew")
    return matrix


def _in_chunks(tests: list[_Test]) -> Iterator[list[_Test]]:
    for start in range(0, len(tests), _TOGETHER):
        yield tests[start : start + _TOGETHER]


def selective_tests(
    results: FittedResults,
    /,
    i: int | None = None,
    j: int | None = None,
    *,
    features: Any = None,
    n_refits: int = 20,
    covariance: Any = None,
    X: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> MeanDifferences:
    """Test whether clusters differ, with p-values that allow for their having been found.

    For every pair of clusters the vectors of means are compared, and the means of every feature.
    A p-value is the probability of a difference at least as large if there were none, among the
    data sets that change in this difference alone and have the same best partition: no partition
    found has a lower objective there, at this fit's penalty, scaling and form. Searches from many
    starts along the path look for such partitions.

    The rows are taken for independent and normal, those of the two clusters with one mean under
    the null hypothesis; variances and correlations need not be known. Everything is conditional
    on the number of clusters, the penalty, the scaling and the form of the weights.

    Parameters
    ----------
    results : EWPResults
        The fit, where this is not called as a method of it.
    i, j : int, optional
        Clusters to compare. By default all pairs; with `i` alone, this one with all others.
    features : list of feature names, optional
        The features to test beside the vectors of means, by default all of them. A test takes
        the time of some fits.
    n_refits : int, default 20
        Searches in a row along a path that must find nothing lower. If a share s of what the
        p-value rests on were wrong, all of them would miss it with probability
        ``(1 - s) ** n_refits``; with too few, p-values are too small. Noise in many features
        needs the most.
    covariance : float or array-like of shape (p, p), optional
        Variance of all features, or covariance matrix of the rows of a cluster, where it is known
        from elsewhere; an estimate from these clusters is too small. By default none is needed.
    X, sample_weight : array-like, optional
        The data that were fitted, for results that do not hold them any more. Weights must be
        equal, but for zeros.
    random_state, n_jobs, progress
        As in `consistency`.

    Returns
    -------
    MeanDifferences
        Its ``table`` has p-values, also adjusted by Holm and by Benjamini and Hochberg; with
        ``significant()``, ``summary()`` and ``plot()``; kept as ``differences_``.

    References
    ----------
    Gao, L. L., Bien, J. and Witten, D. (2024). Selective inference for hierarchical clustering.
    *Journal of the American Statistical Association* 119, 332-342.

    Hivert, B., Agniel, D., Thiebaut, R. and Hejblum, B. P. (2024). Post-clustering difference
    testing. *Computational Statistics and Data Analysis* 193, 107916.

    Yun, Y. and Barber, R. F. (2023). Selective inference for clustering with unknown variance.
    *Electronic Journal of Statistics* 17, 1923-1946.

    Examples
    --------
    >>> import numpy as np, ewp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> fitted = ewp.fit(X, 2, lam=20.0, scale="standard", random_state=0)
    >>> noise = fitted.test_differences(random_state=0)
    >>> bool(noise.table["p_naive"].min() < 1e-12), bool(noise.table["p_value"].min() > 0.05)
    (True, True)
    >>> X[:30, 0] += 6.0
    >>> fitted = ewp.fit(X, 2, lam=20.0, scale="standard", random_state=0)
    >>> found = fitted.test_differences(random_state=0)
    >>> found.significant()["feature"].tolist()
    ['(all features)', 'x0']
    """
    k, p = results.n_clusters, results.n_features
    if k < 2:
        raise ValueError("there is one cluster, and nothing to compare it with: fit two or more")
    pairs = _pairs(k, i, j)
    check_integer("n_refits", n_refits, least=1)
    known = _check_covariance(covariance, p)
    positions = feature_positions(results, features)
    tested = np.arange(p) if positions is None else positions
    check_common_weights(results, "test_differences")
    source = fitted_data(results, X, sample_weight, as_given=True, squared="test_differences")
    reason = "p-values are known for fits whose rows move as a whole"
    cure = "fit the rows without missing values and test the differences of that fit"
    check_whole_rows(source, "test_differences", reason, cure)
    weight = source.weight
    if weight is not None and np.ptp(weight[source.used]) > 0:
        raise ValueError(
            "rows with different weights cannot be tested: a row that counts twice is not two "
            "independent rows; fit without sample_weight, or with weights of 0 and 1"
        )
    made = results.decorrelation
    options = source.options
    rows = np.array(source.X[source.used], dtype=float)
    if made is not None:
        init = options.init if isinstance(options.init, str) else made.apply(options.init)
        options = dataclasses.replace(options, scale=None, init=init)
    data = _Data(
        rows,
        rows if made is None else made.apply(rows),
        source.labels[source.used],
        dataclasses.replace(options, n_jobs=1, progress=False),
        made,
        np.flatnonzero(source.prior > 0),
        known,
    )
    weights = results.weights.to_numpy(dtype=float)
    rng = generator(random_state)
    heaviest = tested[np.argsort(-weights[tested], kind="stable")]
    order: list[int | None] = [None, *heaviest.tolist()]
    tests = [[_Test(a, b, g, seed_of(rng)) for g in order] for a, b in pairs]
    done, complete = run_replicates(
        _run_tests,
        ((data, chunk, n_refits) for of_pair in tests for chunk in _in_chunks(of_pair)),
        total=len(pairs) * len(order),
        what="differences",
        n_jobs=n_jobs,
        progress=progress,
    )
    asked = [one for of_pair in tests for one in of_pair]
    done += [_NOTHING] * (len(asked) - len(done))
    table = _tabulate(asked, done, results.feature_names, weights)
    dimensions, lower = max(one.q for one in done), max(one.lower for one in done)
    return MeanDifferences(table, n_refits, dimensions, lower, complete)


def _tabulate(
    asked: list[_Test], done: list[_Outcome], names: pd.Index, weights: Array
) -> pd.DataFrame:
    """Put tests and outcomes together, the vectors first, features in the order of the data."""
    named = [ALL_FEATURES if one.feature is None else str(names[one.feature]) for one in asked]
    table = pd.DataFrame(
        {
            "i": [one.i for one in asked],
            "j": [one.j for one in asked],
            "feature": named,
            "weight": [np.nan if t.feature is None else weights[t.feature] for t in asked],
            "difference": [one.difference for one in done],
            "statistic": [one.statistic for one in done],
            "p_value": [one.p_value for one in done],
        }
    )
    whole = np.array([one.feature is None for one in asked])
    p_value = table["p_value"].to_numpy()
    for column, method in (("p_holm", "holm"), ("p_bh", "fdr_bh")):
        values = np.full(len(table), np.nan)
        for family in (whole, ~whole):
            values[family] = adjusted(p_value[family], method)
        table[column] = values
    table["p_naive"] = [one.p_naive for one in done]
    table["refits"] = [one.refits for one in done]
    table["settled"] = [one.settled for one in done]
    place = np.array([-1 if one.feature is None else one.feature for one in asked])
    pair = np.arange(len(asked)) // max(len(asked) // int(whole.sum()), 1)
    return table.iloc[np.lexsort((place, pair, ~whole))].reset_index(drop=True)
