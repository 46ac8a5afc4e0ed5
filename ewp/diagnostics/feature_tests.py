r"""Which features help to tell the clusters apart, given the other features.

The null hypothesis about a feature: given the other features, it scatters about a linear function
of them in the same way whatever they are, with a density that has one mode. Then it holds nothing
on the clusters that the others do not. That it is correlated with other features, also with those
that make the clusters, is part of the hypothesis: one correlated cloud without clusters has none
of these features.

The features are dealt at random into groups. The clusters of all features but one group are found
without that group; so they are a function of the other features, and under the null hypothesis they
know nothing of the errors of the feature. `ewp.diagnostics.given_others` has the three tests of
this: means, spreads and modes. The third finds clusters that a feature has alone, the second those
that two features have only together, as where three clusters lie at the corners of a triangle.

With normal errors the test of the means is an F test, exact as long as the features are fewer than
a third of the rows and at most 101. Otherwise a feature is regressed on those that it is most
correlated with, and on the linear functions that tell the clusters apart, which is enough if the
features are jointly normal. What is assumed besides: relations within one cluster are linear.
Everything is conditional on the number of clusters, the penalty, the scaling and the form of the
weights, also where these were chosen from the same data.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ewp.common.checks import check_choice, check_integer, check_number
from ewp.common.parallel import run_replicates
from ewp.common.types import Array, FittedResults
from ewp.data.arguments import generator
from ewp.data.validation import check_distinct
from ewp.diagnostics.dip import spread_ties
from ewp.diagnostics.given_others import conditional_tests, memberships
from ewp.diagnostics.refit import (
    FittedData,
    check_common_weights,
    check_whole_rows,
    fitted_data,
)
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
)
from ewp.display.formatting import SMALLEST_P, p_text, short
from ewp.display.summary import CONDITIONAL, EWPSummary, SummaryMixin, render_table
from ewp.solver.fit import FitOptions, fit_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["FeatureTests", "adjusted", "feature_tests_given_others"]

#: Shares of the level that the tests of means, spreads and modes have.
_SHARES = (0.6, 0.3, 0.1)
#: A feature is regressed on no more others than rows divided by this, and than the second number.
_ROWS_PER_COVARIATE, _MOST_COVARIATES = 3, 100
#: Adjusted p-values up to here are marked.
_LEVEL = 0.05
_NULL = (
    "Null hypothesis of each row: given the other features, this one scatters about a linear "
    "function of them in the same way whatever they are, and with one mode. A small p-value "
    "speaks against it: the feature helps to tell the clusters apart."
)


@dataclass(eq=False, repr=False)
class FeatureTests(SummaryMixin):
    """Tests whether features help to tell the clusters apart, given the other features.

    Instances come from :meth:`ewp.EWPResults.test_features`.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per feature: ``weight`` in the fit; ``partial_r2``, the share that clusters found
        without the feature explain of its variance about a linear function of the other features;
        ``p_means``, ``p_spreads`` and ``p_modes``, the p-values of the three tests of the null
        hypothesis; ``p_value``, which joins them; and the latter adjusted by Holm (``p_holm``) and
        by Benjamini and Hochberg (``p_bh``). NaN for features that cannot be tested.
    n_groups : int
        Groups of features that were left out together.
    complete : bool
        False if the tests were interrupted: some features have NaN.
    """

    table: pd.DataFrame
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
        """Draw the features' weights in the fit and, beside them, their p-values.

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
        return plot_tests(self.table, top=top, ax=ax)

    def __repr__(self) -> str:
        count, tested = len(self.significant()), int(self.table["p_value"].notna().sum())
        state = "" if self.complete else ", interrupted"
        return (
            f"FeatureTests: {count} of {tested} features tested have an adjusted p-value "
            f"(Benjamini-Hochberg) of at most 0.05{state}"
        )


class _Outcome(NamedTuple):
    features: np.ndarray
    #: Partial R2, and p-values of means, spreads and modes, a row each.
    found: Array


def _neighbours(Z: Array, column: int, most: int) -> np.ndarray:
    """Columns that a column is regressed on: all others, or those most correlated with it."""
    others = np.delete(np.arange(Z.shape[1]), column)
    if len(others) <= most:
        return others
    correlation = np.abs(Z[:, others].T @ Z[:, column])
    return np.sort(others[np.argsort(-correlation, kind="stable")[:most]])


def _test_group(
    source: FittedData, options: FitOptions, features: np.ndarray, seed: int
) -> list[_Outcome]:
    """Test the features of one group against the clusters of all the others."""
    included = np.flatnonzero(source.prior > 0)
    others = np.setdiff1d(included, features)
    rows = source.used
    X = source.X[rows]
    mass = None if source.weight is None else source.weight[rows]
    # a copy that holds nothing of these features: the clusters must not depend on them
    seen = np.ascontiguousarray(X[:, others])
    try:
        check_distinct(seen, options.n_clusters)
    except ValueError:
        return [_Outcome(features, np.full((4, len(features)), np.nan))]
    without = dataclasses.replace(options, prior=source.prior[others])
    fit = fit_array(seen, mass, without, np.random.default_rng(seed))
    clusters = memberships(seen, fit.labels, mass)

    Z = X[:, included] - X[:, included].mean(axis=0)
    Z /= np.maximum(np.linalg.norm(Z, axis=0), np.finfo(float).tiny)
    most = min(len(rows) // _ROWS_PER_COVARIATE, _MOST_COVARIATES)
    found = np.empty((4, len(features)))
    for i, feature in enumerate(features):
        near = _neighbours(Z, int(np.searchsorted(included, feature)), most)
        beside = Z[:, near]
        if len(near) < len(included) - 1:
            beside = np.hstack([beside, clusters.scores])
        rng = np.random.default_rng([seed, int(feature)])
        broken = spread_ties(X[:, feature], rng)
        found[:, i] = conditional_tests(
            X[:, feature], beside, clusters.probability, broken, clusters.discriminant
        )
    return [_Outcome(features, found)]


def _together(means: Array, spreads: Array, modes: Array) -> Array:
    """Bonferroni's p-value of three tests among which the level is divided."""
    shares = zip((means, spreads, modes), _SHARES, strict=True)
    joint: Array = np.minimum.reduce([p / share for p, share in shares])
    return np.minimum(joint, 1.0)


def adjusted(p_value: Array, method: str) -> Array:
    """Adjust p-values by Holm ("holm") or by Benjamini and Hochberg ("fdr_bh"); NaN stay."""
    found = np.full(len(p_value), np.nan)
    tested = np.flatnonzero(np.isfinite(p_value))
    order = tested[np.argsort(p_value[tested], kind="stable")]
    count = len(order)
    if method == "holm":
        running = np.maximum.accumulate(p_value[order] * np.arange(count, 0, -1))
    else:
        shares = p_value[order] * count / np.arange(1, count + 1)
        running = np.minimum.accumulate(shares[::-1])[::-1]
    found[order] = np.minimum(running, 1.0)
    return found


def feature_tests_given_others(
    results: FittedResults,
    /,
    *,
    n_groups: int = 50,
    X: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> FeatureTests:
    """Test for every feature whether it helps to tell the clusters apart, given the others.

    The null hypothesis: given the other features, the feature scatters about a linear function of
    them in the same way whatever they are, and with one mode. It holds for noise, for noise that
    is correlated with other features, and for all features of a cloud without clusters. The
    clusters are found without the feature, so p-values are valid although clusters and tests
    come from the same rows. They are conditional on the number of clusters, the penalty, the
    scaling and the form of the weights; see `ewp.diagnostics.feature_tests`.

    A large p-value does not say that a feature is noise. It may matter on its own and add nothing
    to the others: of many features that all say the same, none may be significant. And power is
    lost where the clusters are others without it.

    Parameters
    ----------
    results : EWPResults
        The fit, where this is not called as a method of it.
    n_groups : int, default 50
        Number of groups of features that are left out together, with a fit for each; up to as
        many features are left out one by one. Clusters that only features of one group show are
        missed, which is less likely with more groups.
    X, sample_weight, random_state, n_jobs, progress
        As in `consistency`. Weights of the rows count in the fits; the tests themselves count
        each row once whose weight is not zero.

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
    check_integer("n_groups", n_groups, least=2)
    if results.n_clusters < 2:
        raise ValueError("features of a fit with one cluster cannot be tested: nothing differs")
    check_common_weights(results, "test_features")
    source = fitted_data(results, X, sample_weight, squared="test_features")
    reason = "what a regression on the other features would fill in has other errors"
    cure = "fit the rows without missing values and test the features of that fit"
    check_whole_rows(source, "test_features", reason, cure)
    options = source.options
    if not isinstance(options.init, str):
        # a start that has seen the features would tell the clusters about them
        options = dataclasses.replace(options, init="k-means++")
    rng = generator(random_state)
    seed = int(rng.integers(2**63))
    included = rng.permutation(np.flatnonzero(source.prior > 0))
    if len(included) < 2:
        raise ValueError("a single feature cannot be tested: there are no others to compare with")
    groups = [np.sort(included[i::n_groups]) for i in range(min(n_groups, len(included)))]
    done, complete = run_replicates(
        _test_group,
        [(source, options, group, seed) for group in groups],
        total=len(groups),
        what="groups of features",
        n_jobs=n_jobs,
        progress=progress,
    )
    columns = np.full((4, results.n_features), np.nan)
    for outcome in done:
        columns[:, outcome.features] = outcome.found
    p_value = _together(*columns[1:])
    table = pd.DataFrame(
        {
            "weight": results.weights.to_numpy(dtype=float),
            "partial_r2": columns[0],
            "p_means": columns[1],
            "p_spreads": columns[2],
            "p_modes": columns[3],
            "p_value": p_value,
            "p_holm": adjusted(p_value, "holm"),
            "p_bh": adjusted(p_value, "fdr_bh"),
        },
        index=results.feature_names,
    )
    return FeatureTests(table, len(groups), complete)


def summarise_tests(found: FeatureTests, top: int) -> EWPSummary:
    """Features by p-value, heaviest first among equals."""
    check_integer("top", top, least=1)
    table = found.table
    order = np.lexsort((-table["weight"].to_numpy(), table["p_value"].fillna(2.0).to_numpy()))
    tested = int(table["p_value"].notna().sum())
    notes = [
        _NULL,
        "partial_r2: share of the variance about that function which clusters found without the "
        "feature explain. p_means, p_spreads, p_modes: whether its mean or its spread, given the "
        "others, differs between these clusters, and whether it has more than one mode; p_value "
        f"joins them (Bonferroni, with shares {_SHARES[0]}, {_SHARES[1]} and {_SHARES[2]} of the "
        "level).",
        f"{len(found.significant())} of {tested} tested features have a p-value of at most 0.05 "
        f"after Benjamini and Hochberg, {len(found.significant(adjust='holm'))} after Holm.",
        CONDITIONAL,
    ]
    shown = table.iloc[order[:top]].map(lambda value: short(value, 3))
    for column in shown.columns[shown.columns.str.startswith("p_")]:
        shown[column] = [p_text(p) for p in table[column].iloc[order[:top]]]
    if len(table) > top:
        notes.insert(0, f"... and {len(table) - top} more features.")
    if not found.complete:
        notes.append("INTERRUPTED: features without a p-value were not tested.")
    return render_table(
        "Does the feature help to tell the clusters apart, given the others?",
        shown,
        notes,
    )


def plot_tests(table: pd.DataFrame, *, top: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the weights of features and, beside them, their p-values.

    Parameters
    ----------
    table : DataFrame
        `FeatureTests.table`.
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
        [ax] if ax is not None else side_by_side((7.2, height_of_rows(len(shown), 1.6)), (2, 3))
    )
    for left in panels[:-1]:
        left.barh(rows, shown["weight"], height=0.6, color=PALETTE[0], zorder=2)
        left.set_xlabel("weight in the fit")
    last = panels[-1]
    hit = (shown["p_bh"] <= _LEVEL).to_numpy()
    counts = [int((table["p_bh"] <= _LEVEL).sum()), int(table["p_value"].notna().sum())]
    p_value = shown["p_value"].clip(lower=SMALLEST_P).to_numpy()
    for chosen, colour, words in (
        (hit, PALETTE[3], f"BH ≤ {_LEVEL}"),
        (~hit, "#999999", "above"),
    ):
        last.plot(p_value[chosen], rows[chosen], "o", color=colour, ms=5.5, label=words, zorder=3)
    last.axvline(_LEVEL, color=INK, linewidth=1, linestyle=":", zorder=1)
    last.set_xscale("log")
    least = float(np.nanmin(p_value, initial=_LEVEL))
    last.set_xlim(2.0, 0.3 * least)
    rest = len(table) - len(shown)
    note = f"\n{rest} more features" if rest else ""
    last.set_xlabel(
        f"p-value, given the other features\n{counts[0]} of {counts[1]} significant{note}"
    )
    name_rows(panels[0], shown.index)
    for panel in panels[1:]:
        panel.tick_params(axis="y", length=0)
        panel.grid(axis="x", **GRID)
        despine(panel)
    legend_above(last)
    return last
