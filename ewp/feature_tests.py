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

from ewp._printed import Printed
from ewp.checks import check_choice, check_integer, check_number
from ewp.fitting import Recipe, fit_array
from ewp.inputs import check_distinct, generator
from ewp.kernel import Array
from ewp.refitting import Source, source_of
from ewp.resampling import run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ewp._summary import EWPSummary
    from ewp.results import EWPResults

__all__ = ["FeatureTests", "permutation_tests", "permuted_dispersions"]

_ROUNDING = 1e-9
#: Default permutations: enough for Holm's adjustment to reach 0.025 as long as they are not too
#: many, enough for Benjamini and Hochberg's always.
_FEWEST, _FOR_HOLM, _MOST_FOR_HOLM, _FOR_BH = 1000, 40, 20_000, 5
#: Sums over clusters that are held at once.
_TOGETHER = 2**20


@dataclass(eq=False, repr=False)
class FeatureTests(Printed):
    """Permutation tests of the features' weights.

    Instances come from :meth:`ewp.EWPResults.test_features`.

    Attributes
    ----------
    table : pandas.DataFrame
        One row a feature: ``weight`` in the fit; ``earned``, the weight that the clusters of the
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
        from ewp._diagnostic_text import summarise_tests

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
        from ewp.diagnostic_plots import plot_tests

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
        Columns, centred.
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
    source: Source, recipe: Recipe, features: np.ndarray, n_perm: int, seed: int
) -> _Outcome:
    """Test the features of one group against the clusters of all the others."""
    rows = source.used
    others = np.setdiff1d(np.flatnonzero(source.prior > 0), features)
    X = source.X[rows]
    mass = None if source.weight is None else source.weight[rows]
    missing = np.full(len(features), np.nan)
    # a copy that holds nothing of these features: the clusters must not depend on them
    seen = np.ascontiguousarray(X[:, others])
    try:
        check_distinct(seen, recipe.n_clusters)
    except ValueError:
        return _Outcome(features, missing, missing, missing)
    without = dataclasses.replace(recipe, prior=source.prior[others])
    found = fit_array(seen, mass, without, np.random.default_rng(seed))

    def exponents(columns: np.ndarray, count: int) -> Array:
        Z = (X[:, columns] - source.center[columns]) / source.scale[columns]
        within, total = permuted_dispersions(Z, found.labels, mass, count, seed)
        gain = total - within if recipe.between else -within
        return np.log(source.prior[columns]) + gain / recipe.lam

    rest = logsumexp(exponents(others, 0)[0])
    own = exponents(features, n_perm)
    reached = own[1:] >= own[0] - _ROUNDING * np.maximum(np.abs(own[0]), 1.0)
    share = 1.0 / (1.0 + np.exp(np.clip(rest - own, -700.0, 700.0)))
    p_value = (1.0 + reached.sum(axis=0)) / (1.0 + n_perm)
    return _Outcome(features, share[0], np.median(share[1:], axis=0), p_value)


def _adjusted(p_value: Array, method: str) -> Array:
    from statsmodels.stats.multitest import multipletests

    adjusted = np.full(len(p_value), np.nan)
    tested = np.isfinite(p_value)
    if tested.any():
        adjusted[tested] = multipletests(p_value[tested], method=method)[1]
    return adjusted


def permutation_tests(
    results: EWPResults,
    n_perm: int | None = None,
    *,
    n_groups: int = 20,
    X: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> FeatureTests:
    """Test every feature; see :meth:`ewp.EWPResults.test_features` for the arguments."""
    if n_perm is None:
        p = results.n_features
        n_perm = max(_FEWEST, min(_FOR_HOLM * p, _MOST_FOR_HOLM), _FOR_BH * p) - 1
    check_integer("n_perm", n_perm, least=1)
    check_integer("n_groups", n_groups, least=2)
    if results.n_clusters < 2:
        raise ValueError("features of a fit with one cluster cannot be tested: nothing differs")
    source = source_of(results, X, sample_weight)
    recipe = source.recipe
    if not isinstance(recipe.init, str):
        # a start that has seen the features would tell the clusters about them
        recipe = dataclasses.replace(recipe, init="k-means++")
    rng = generator(random_state)
    # one seed for all groups: the features have their permutations in common
    seed = int(rng.integers(2**63))
    included = rng.permutation(np.flatnonzero(source.prior > 0))
    if len(included) < 2:
        raise ValueError("a single feature cannot be tested: there are no others to compare with")
    groups = [np.sort(included[i::n_groups]) for i in range(min(n_groups, len(included)))]
    done, complete = run(
        _test_group,
        [(source, recipe, group, n_perm, seed) for group in groups],
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
