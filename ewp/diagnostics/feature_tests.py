r"""Which features take part in the clusters: a permutation test of every feature's weight.

The features are dealt at random into groups. The clusters of all features but one group are found
without that group, and each feature l in it is then given the weight that these clusters earn it,
:math:`w_l \propto \pi_l e^{-D_l/\lambda}`, and compared with the weights it would earn if its
column were permuted. If the feature is independent of the others, the clusters know nothing of it,
every permutation of its column is as likely as the one observed, and the p-value is exact: for any
n, any noise and any structure among the other features. A test that permuted a column and compared
with the clusters it had helped to find would reject far too often, because clusters adapt to noise.

What the test does not say: it is conditional on the number of clusters, the penalty, the scaling
and the form of the weights, also where these were chosen from the same data; and a feature with
clusters of its own, which no other feature shares, is not told from noise, since a permutation
leaves them as they are.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.special import logsumexp

from ewp.common.checks import check_choice, check_integer, check_number
from ewp.common.parallel import run_replicates
from ewp.common.types import Array, FittedResults
from ewp.data.validation import check_distinct, generator
from ewp.diagnostics.refit import FittedData, fitted_data
from ewp.display.axes import (
    GRID,
    INK,
    PALETTE,
    despine,
    heaviest_rows,
    height_of_rows,
    legend_above,
    name_rows,
    side_by_side,
    start_at_zero,
)
from ewp.display.formatting import short
from ewp.display.summary import CONDITIONAL, EWPSummary, SummaryMixin, render_table
from ewp.solver.fit import FitOptions, fit_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["FeatureTests", "permutation_tests", "permuted_dispersions"]

_ROUNDING = 1e-9
#: Default permutations: enough for Holm's adjustment to reach 0.025 as long as they are not too
#: many, enough for Benjamini and Hochberg's always.
_FEWEST, _FOR_HOLM, _MOST_FOR_HOLM, _FOR_BH = 1000, 40, 20_000, 5
#: Sums over clusters that are held at once.
_TOGETHER = 2**20
#: Level that Holm's adjustment should be able to reach.
_HOLM = 0.05
#: Adjusted p-values up to here are marked.
_LEVEL = 0.05


@dataclass(eq=False, repr=False)
class FeatureTests(SummaryMixin):
    """Permutation tests of the features' weights.

    Instances come from :meth:`ewp.EWPResults.test_features`.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per feature: ``weight`` in the fit; ``earned``, the weight that the clusters of the
        other features give it; ``permuted``, its median when the column is permuted;
        ``p_value``; and the p-values adjusted by Holm (``p_holm``) and by Benjamini and Hochberg
        (``p_bh``). NaN for features that cannot be tested.
    n_perm : int
        Permutations of every column; no p-value is below ``1 / (n_perm + 1)``.
    n_groups : int
        Groups of features that were left out together.
    complete : bool
        False if the tests were interrupted: some features have NaN.
    """

    table: pd.DataFrame
    n_perm: int
    n_groups: int
    complete: bool

    def significant(self, level: float = 0.05, adjust: str = "bh") -> pd.Index:
        """Names of the features whose adjusted p-value is at most `level`.

        Parameters
        ----------
        level : float, default 0.05
        adjust : {"bh", "holm", "none"}, default "bh"
        """
        columns = {"bh": "p_bh", "holm": "p_holm", "none": "p_value"}
        check_number("level", level, above=0, below=1)
        check_choice("adjust", adjust, tuple(columns))
        return self.table.index[(self.table[columns[adjust]] <= level).to_numpy()]

    def summary(self, top: int = 10) -> EWPSummary:
        """Table of the features with the smallest p-values, and notes in words."""
        return summarise_tests(self, top)

    def plot(self, ax: Axes | None = None, top: int = 20) -> Axes:
        """Draw the weight that each feature earns beside what it earns when permuted, and p-values.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw the p-values alone. By default a new figure with the weights beside them.
        top : int, default 20
            Number of features, heaviest first.

        Returns
        -------
        Axes
        """
        return plot_tests(self.table, self.n_perm, top=top, ax=ax)

    def __repr__(self) -> str:
        count, tested = len(self.significant()), int(self.table["p_value"].notna().sum())
        state = "" if self.complete else ", interrupted"
        return (
            f"FeatureTests: {count} of {tested} features tested have an adjusted p-value "
            f"(Benjamini-Hochberg) of at most 0.05; {self.n_perm} permutations{state}"
        )


def permuted_dispersions(
    Z: Array,
    labels: np.ndarray,
    mass: Array | None,
    n_perm: int,
    seed: int,
) -> tuple[Array, Array]:
    """Dispersions within clusters of columns as they are and with their rows permuted.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
        Columns, centred; a missing value (NaN) is permuted as others are.
    labels : ndarray of shape (n,)
    mass : ndarray of shape (n,) or None
        Weights, which stay with the labels.
    n_perm : int
    seed : int
        Of the permutations.

    Returns
    -------
    dispersion, total : ndarray of shape (1 + n_perm, q)
        Sums of squares about the clusters' means and about the mean, the data's own first. All
        columns are permuted alike, which keeps what they have in common.
    """
    n, q = Z.shape
    absent = np.isnan(Z)
    incomplete = bool(absent.any())
    if incomplete:
        marks, Z = (~absent).astype(float), np.where(absent, 0.0, Z)
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    sizes = sizes[sizes > 0]
    weight = np.ones(n) if mass is None else mass[order]
    masses = np.add.reduceat(weight, np.cumsum(sizes) - sizes)
    dispersion, total = np.empty((2, 1 + n_perm, q))
    squares = (Z**2).sum(axis=0)
    together = max(_TOGETHER // (len(sizes) * q + n), 1)
    shuffle = np.random.default_rng(seed)
    for first in range(0, 1 + n_perm, together):
        part = slice(first, min(first + together, 1 + n_perm))
        count = part.stop - part.start
        rows = np.array([shuffle.permutation(n) if first + i else order for i in range(count)])
        # one line of the matrix a cluster and permutation: the rows that fall into it
        lines = np.append(0, np.cumsum(np.tile(sizes, count)))
        chosen = csr_array((np.tile(weight, count), rows.ravel(), lines), (len(lines) - 1, n))
        sums = (chosen @ Z).reshape(count, len(sizes), q)
        if mass is not None:
            squares = (chosen @ Z**2).reshape(sums.shape).sum(axis=1)
        if incomplete:
            seen = (chosen @ marks).reshape(sums.shape)
            whole = np.maximum(seen.sum(axis=1), np.finfo(float).tiny)
            total[part] = squares - sums.sum(axis=1) ** 2 / whole
            between = np.divide(sums**2, seen, out=np.zeros_like(sums), where=seen > 0)
            dispersion[part] = squares - between.sum(axis=1)
            continue
        total[part] = squares - sums.sum(axis=1) ** 2 / masses.sum()
        sums **= 2
        dispersion[part] = squares - np.einsum("j,ijl->il", 1.0 / masses, sums)
    return np.maximum(dispersion, 0.0), np.maximum(total, 0.0)


class _Outcome(NamedTuple):
    features: np.ndarray
    earned: Array
    permuted: Array
    p_value: Array


def _test_group(
    source: FittedData, options: FitOptions, features: np.ndarray, n_perm: int, seed: int
) -> list[_Outcome]:
    """Test the features of one group against the clusters of all the others."""
    rows = source.used
    others = np.setdiff1d(np.flatnonzero(source.prior > 0), features)
    X = source.X[rows]
    mass = None if source.weight is None else source.weight[rows]
    missing = np.full(len(features), np.nan)
    # a copy that holds nothing of these features: the clusters must not depend on them
    seen = np.ascontiguousarray(X[:, others])
    try:
        check_distinct(seen, options.n_clusters)
    except ValueError:
        return [_Outcome(features, missing, missing, missing)]
    without = dataclasses.replace(options, prior=source.prior[others])
    found = fit_array(seen, mass, without, np.random.default_rng(seed))

    def exponents(columns: np.ndarray, count: int) -> Array:
        Z = (X[:, columns] - source.center[columns]) / source.scale[columns]
        within, total = permuted_dispersions(Z, found.labels, mass, count, seed)
        gain = total - within if options.between else -within
        return np.log(source.prior[columns]) + gain / options.penalty

    rest = logsumexp(exponents(others, 0)[0])
    own = exponents(features, n_perm)
    reached = own[1:] >= own[0] - _ROUNDING * np.maximum(np.abs(own[0]), 1.0)
    share = 1.0 / (1.0 + np.exp(np.clip(rest - own, -700.0, 700.0)))
    p_value = (1.0 + reached.sum(axis=0)) / (1.0 + n_perm)
    return [_Outcome(features, share[0], np.median(share[1:], axis=0), p_value)]


def _adjusted(p_value: Array, method: str) -> Array:
    from statsmodels.stats.multitest import multipletests

    adjusted = np.full(len(p_value), np.nan)
    tested = np.isfinite(p_value)
    if tested.any():
        adjusted[tested] = multipletests(p_value[tested], method=method)[1]
    return adjusted


def permutation_tests(
    results: FittedResults,
    /,
    n_perm: int | None = None,
    *,
    n_groups: int = 20,
    X: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> FeatureTests:
    """Test for every feature whether it takes part in the clusters of the others.

    The clusters are found without the feature; the weight they earn it is compared with what
    they would earn it if its column were permuted. The p-value is exact for a feature that is
    independent of the others. The test is conditional on the number of clusters, the penalty,
    the scaling and the form of the weights, and blind to clusters that a feature has all to
    itself; see `ewp.diagnostics.feature_tests`.

    Parameters
    ----------
    results : EWPResults
        The fit, where this is not called as a method of it.
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
    if n_perm is None:
        p = results.n_features
        n_perm = max(_FEWEST, min(_FOR_HOLM * p, _MOST_FOR_HOLM), _FOR_BH * p) - 1
    check_integer("n_perm", n_perm, least=1)
    check_integer("n_groups", n_groups, least=2)
    if results.n_clusters < 2:
        raise ValueError("features of a fit with one cluster cannot be tested: nothing differs")
    source = fitted_data(results, X, sample_weight)
    options = source.options
    if not isinstance(options.init, str):
        # a start that has seen the features would tell the clusters about them
        options = dataclasses.replace(options, init="k-means++")
    rng = generator(random_state)
    # one seed for all groups: the features have their permutations in common
    seed = int(rng.integers(2**63))
    included = rng.permutation(np.flatnonzero(source.prior > 0))
    if len(included) < 2:
        raise ValueError("a single feature cannot be tested: there are no others to compare with")
    groups = [np.sort(included[i::n_groups]) for i in range(min(n_groups, len(included)))]
    done, complete = run_replicates(
        _test_group,
        [(source, options, group, n_perm, seed) for group in groups],
        total=len(groups),
        what="groups of features",
        n_jobs=n_jobs,
        progress=progress,
    )
    columns = np.full((3, results.n_features), np.nan)
    for outcome in done:
        columns[:, outcome.features] = outcome.earned, outcome.permuted, outcome.p_value
    table = pd.DataFrame(
        {
            "weight": results.weights.to_numpy(dtype=float),
            "earned": columns[0],
            "permuted": columns[1],
            "p_value": columns[2],
            "p_holm": _adjusted(columns[2], "holm"),
            "p_bh": _adjusted(columns[2], "fdr_bh"),
        },
        index=results.feature_names,
    )
    return FeatureTests(table, n_perm, len(groups), complete)


def summarise_tests(found: FeatureTests, top: int) -> EWPSummary:
    """Features by p-value, heaviest first among equals."""
    check_integer("top", top, least=1)
    table = found.table
    order = np.lexsort((-table["weight"].to_numpy(), table["p_value"].fillna(2.0).to_numpy()))
    tested = int(table["p_value"].notna().sum())
    notes = [
        "earned: the weight that clusters found without the feature give it; permuted: the "
        "median of the same when the column is permuted.",
        f"{len(found.significant())} of {tested} tested features have a p-value of at most 0.05 "
        "after Benjamini and Hochberg, "
        f"{len(found.significant(adjust='holm'))} after Holm. The smallest possible p-value is "
        f"{short(1 / (found.n_perm + 1), 2)}.",
        "Null hypothesis: the feature is independent of all the others. A feature with clusters "
        "that no other feature shares cannot be told from noise.",
        CONDITIONAL,
    ]
    if tested > _HOLM * (found.n_perm + 1):
        notes.insert(
            2,
            f"Holm's adjustment cannot reach {_HOLM} with so few permutations; "
            f"n_perm={round(2 * tested / _HOLM) - 1} would let it.",
        )
    if len(table) > top:
        notes.insert(0, f"... and {len(table) - top} more features.")
    if not found.complete:
        notes.append("INTERRUPTED: features without a p-value were not tested.")
    return render_table(
        f"Permutation tests of the weights, {found.n_perm} permutations",
        table.iloc[order[:top]],
        notes,
    )


def plot_tests(table: pd.DataFrame, n_perm: int, *, top: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the weights that features earn, as they are and permuted, and the p-values beside them.

    Parameters
    ----------
    table : DataFrame
        `FeatureTests.table`.
    n_perm : int
        Number of permutations, which bounds the p-values from below.
    top : int, default 20
        Number of features, heaviest first.
    ax : Axes, optional
        Where to draw the p-values alone.

    Returns
    -------
    Axes
        That of the p-values.
    """
    shown = heaviest_rows(table, table["weight"].to_numpy(), top)
    rows = np.arange(len(shown))
    panels = (
        [ax] if ax is not None else side_by_side((7.2, height_of_rows(len(shown), 1.6)), (3, 2))
    )
    for left in panels[:-1]:
        ends = shown[["earned", "permuted"]]
        left.hlines(rows, ends.min(axis=1), ends.max(axis=1), color="#BBBBBB", lw=2, zorder=2)
        left.plot(shown["permuted"], rows, "|", color=INK, ms=9, mew=1.8, label="permuted")
        left.plot(shown["earned"], rows, "o", color=PALETTE[0], ms=5.5, label="earned", zorder=3)
        start_at_zero(left, ends.to_numpy())
        left.set_xlabel("weight given by the clusters\nof the other features")
        legend_above(left)
    last = panels[-1]
    hit = (shown["p_bh"] <= _LEVEL).to_numpy()
    counts = [int((table["p_bh"] <= _LEVEL).sum()), int(table["p_value"].notna().sum())]
    for chosen, colour, words in (
        (hit, PALETTE[3], f"BH ≤ {_LEVEL}"),
        (~hit, "#999999", "above"),
    ):
        drawn = shown["p_value"].to_numpy()[chosen]
        last.plot(drawn, rows[chosen], "o", color=colour, ms=5.5, label=words, zorder=3)
    last.axvline(1 / (n_perm + 1), color=INK, linewidth=1, linestyle=":", zorder=1)
    last.set_xscale("log")
    last.set_xlim(2.0, 0.5 / (n_perm + 1))
    last.xaxis.set_major_formatter("{x:g}")
    rest = len(table) - len(shown)
    note = f"\n{rest} more features" if rest else ""
    last.set_xlabel(f"p-value\n{counts[0]} of {counts[1]} significant{note}")
    name_rows(panels[0], shown.index)
    for panel in panels[1:]:
        panel.tick_params(axis="y", length=0)
        panel.grid(axis="x", **GRID)
        despine(panel)
    legend_above(last)
    return last
