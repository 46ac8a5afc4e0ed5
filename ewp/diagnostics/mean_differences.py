r"""Which clusters differ, and in which features: tests that allow for the clusters' being found.

A t test between two clusters of the same data rejects nearly always, for clusters are made to
differ. Here the p-value is taken given that the partition of the fit is the best one, learned
weights included (`ewp.diagnostics.selective`), along paths on which one difference alone changes
(`ewp.diagnostics.paths`). The null hypothesis is that the rows of the two clusters have one mean,
in a feature or in all of them; the rows are taken for independent and normal, with one covariance
matrix, about which nothing is assumed. The tests are conditional on the number of clusters, the
penalty, the scaling and the form of the weights, also where these were chosen from the same data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ewp.common.checks import check_choice, check_integer, check_number
from ewp.common.parallel import run_replicates
from ewp.common.types import Array, FittedResults
from ewp.data.arguments import generator
from ewp.diagnostics.feature_tests import adjusted
from ewp.diagnostics.paths import Pair, Path
from ewp.diagnostics.refit import (
    check_common_weights,
    check_whole_rows,
    feature_positions,
    fitted_data,
    seed_of,
)
from ewp.diagnostics.selective import Rivals, selective_p_value
from ewp.display.axes import (
    INK,
    PALETTE,
    heaviest_rows,
    height_of_rows,
    legend_above,
    name_rows,
    new_axes,
)
from ewp.display.formatting import counted, one_line, short
from ewp.display.summary import CONDITIONAL, EWPSummary, SummaryMixin, shown_cells
from ewp.solver.fit import FitOptions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ALL_FEATURES", "MeanDifferences", "selective_tests"]

#: What stands for a feature where the vectors of means are compared.
ALL_FEATURES = "(all features)"
#: Tests that share what they find, one after the other; tasks do not depend on `n_jobs`.
_TOGETHER = 8
#: Pairs that have a colour each, and the smallest p-value that is drawn.
_COLOURS, _SMALLEST = len(PALETTE), 1e-16
_ADJUSTED = {"bh": "p_bh", "holm": "p_holm", "none": "p_value"}


@dataclass(eq=False, repr=False)
class MeanDifferences(SummaryMixin):
    """Tests of the differences between clusters that were found in the same data.

    Instances come from :meth:`ewp.EWPResults.test_differences`.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per pair of clusters ``i``, ``j`` and ``feature``, the vectors of means first, as
        ``"(all features)"``. ``weight`` is the feature's in the fit; ``difference`` that of the
        means, in data units, for the vectors their Mahalanobis distance about the common mean;
        ``statistic`` Student's t, for the vectors the root of q times Hotelling's F in q
        dimensions (with a known covariance matrix, lengths in standard deviations); ``p_value``
        allows for the clusters' being found; ``p_holm`` and ``p_bh`` are adjusted, for the
        vectors among the pairs, for the features among all pairs and features; ``p_naive`` would
        be the p-value if the clusters had been known beforehand, which they were not. ``refits``
        counts searches along the path, ``settled`` says whether the last of them found nothing
        lower.
        NaN where nothing can be tested.
    n_refits : int
        Searches in a row that had to find nothing lower.
    dimensions : int
        Dimensions in which the vectors of means were compared, at most.
    lower : int
        Partitions with a lower objective than the fit's that were found on its own data, at least.
    complete : bool
        False if the tests were interrupted: some have NaN.
    """

    table: pd.DataFrame
    n_refits: int
    dimensions: int
    lower: int
    complete: bool

    def significant(self, level: float = 0.05, adjust: str = "holm") -> pd.DataFrame:
        """Rows of the table whose adjusted p-value is at most `level`.

        Parameters
        ----------
        level : float, default 0.05
        adjust : {"holm", "bh", "none"}, default "holm"
        """
        check_number("level", level, above=0, below=1)
        check_choice("adjust", adjust, tuple(_ADJUSTED))
        return self.table[(self.table[_ADJUSTED[adjust]] <= level).to_numpy()]

    def summary(self, top: int = 10) -> EWPSummary:
        """Tables of the pairs and of the features with the smallest p-values, and notes."""
        return summarise_differences(self, top)

    def plot(self, ax: Axes | None = None, top: int = 20) -> Axes:
        """Draw the p-values of the features, heaviest first, one colour per pair of clusters.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw. By default a new figure.
        top : int, default 20
            Number of features.

        Returns
        -------
        Axes
        """
        return plot_differences(self.table, top=top, ax=ax)

    def __repr__(self) -> str:
        means = self.table["feature"] == ALL_FEATURES
        found = self.significant()["feature"] == ALL_FEATURES
        state = "" if self.complete else ", interrupted"
        return (
            f"MeanDifferences: {found.sum()} of {means.sum()} pairs of clusters and "
            f"{(~found).sum()} of {(~means).sum()} differences in features have an adjusted "
            f"p-value (Holm) of at most 0.05{state}"
        )


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


def summarise_differences(found: MeanDifferences, top: int) -> EWPSummary:
    """Pairs of clusters, then the differences in features with the smallest p-values."""
    check_integer("top", top, least=1)
    table = found.table
    whole = (table["feature"] == ALL_FEATURES).to_numpy()
    order = np.lexsort((-table["weight"].to_numpy(), table["p_value"].fillna(2.0).to_numpy()))
    parts = [order[whole[order]][:top], order[~whole[order]][:top]]
    summary = EWPSummary("Differences between clusters that were found in the same data")
    for part in parts:
        if len(part):
            summary.add_df(_cells(table.iloc[part]))
    for name, family, shown in (("pairs", whole, parts[0]), ("differences", ~whole, parts[1])):
        if family.sum() > len(shown):
            summary.add_text(f"... and {family.sum() - len(shown)} more {name}.")
    hits = found.significant()["feature"] == ALL_FEATURES
    notes = [
        f"{hits.sum()} of {whole.sum()} pairs of clusters and {(~hits).sum()} of {(~whole).sum()} "
        "differences in features have a p-value of at most 0.05 after Holm.",
        "Null hypothesis: the rows of both clusters have one mean, in the feature or in all.",
        "p-value: the probability of a difference as large if there were none, among data on "
        "which no other partition has a lower objective; naive: if the clusters had been known "
        "beforehand, which they were not.",
        f"(all features): difference in standard deviations, in {found.dimensions} dimensions.",
        f"Along every path, {found.n_refits} searches in a row had to find no lower partition.",
        CONDITIONAL,
    ]
    unsettled = int((~table["settled"].astype(bool)).sum())
    if unsettled:
        notes.append(
            f"NOT SETTLED: in {counted(unsettled, 'test')} searches still found lower partitions; "
            "the p-values are rough. n_refits asks for more."
        )
    if found.lower:
        notes.append(
            f"MISSED: {counted(found.lower, 'partition')} with a lower objective than this fit's "
            "on the same data: fit again with a larger n_init; the p-values are rough, and mostly "
            "too large."
        )
    if not found.complete:
        notes.append("INTERRUPTED: differences without a p-value were not tested.")
    for note in notes:
        summary.add_text(note)
    return summary


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return lines of the table as they are printed."""
    names = [
        f"{i} - {j} {one_line(g)}"
        for i, j, g in zip(*(table[c] for c in ("i", "j", "feature")), strict=True)
    ]
    columns = {"difference": table["difference"].to_numpy()}
    for heading, name in (
        ("p-value", "p_value"),
        ("p (Holm)", "p_holm"),
        ("p (BH)", "p_bh"),
        ("naive", "p_naive"),
    ):
        columns[heading] = np.array(["--" if np.isnan(p) else short(p, 2) for p in table[name]])
    return shown_cells(pd.DataFrame(columns, index=names))


def plot_differences(table: pd.DataFrame, *, top: int = 20, ax: Axes | None = None) -> Axes:
    """Draw p-values by feature, the vectors of means on top, and where Holm's reach 0.05.

    Parameters
    ----------
    table : DataFrame
        `MeanDifferences.table`.
    top : int, default 20
        Number of features, heaviest first.
    ax : Axes, optional
    """
    each = table.drop_duplicates("feature")
    shown = heaviest_rows(each, each["weight"].fillna(np.inf).to_numpy(), top + 1)["feature"]
    if ax is None:
        ax = new_axes((5.6, height_of_rows(len(shown), 1.3)))[0]
    pairs = list(dict.fromkeys(zip(table["i"], table["j"], strict=True)))
    row = pd.Series(np.arange(len(shown)), index=shown)
    least = 1.0
    for place, (i, j) in enumerate(pairs):
        part = table[(table["i"] == i) & (table["j"] == j) & table["feature"].isin(shown)]
        offset = 0.5 * ((place + 0.5) / len(pairs) - 0.5)
        y = row[part["feature"]].to_numpy() + offset
        p = np.maximum(part["p_value"].to_numpy(), _SMALLEST)
        hit = (part["p_holm"] <= 0.05).to_numpy()
        least = min(least, float(np.nanmin(p, initial=1.0)))
        colour = PALETTE[place] if len(pairs) <= _COLOURS else "#777777"
        label = f"{i} - {j}" if len(pairs) <= _COLOURS else None
        ax.plot(p[hit], y[hit], "o", color=colour, ms=5.5, zorder=3, label=label)
        ax.plot(p[~hit], y[~hit], "o", color=colour, ms=5.5, mfc="white", zorder=3)
    ax.axvline(0.05, color=INK, linewidth=1, linestyle=":", zorder=1)
    ax.set_xscale("log")
    ax.set_xlim(2.0, min(0.5 * least, 0.005))
    name_rows(ax, pd.Index(shown))
    rest = len(each) - len(shown)
    note = f"\n{rest} more features" if rest else ""
    ax.set_xlabel(f"p-value; filled: at most 0.05 after Holm{note}")
    if len(pairs) <= _COLOURS:
        legend_above(ax)
    return ax
