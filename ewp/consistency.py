"""Consistency on one's own data: how estimates settle as rows are added, and along s.

The paper's theorem says that centroids and weights converge to the population's as n grows and s
falls. :func:`consistency` fits nested random subsamples of growing size, with the penalty in
proportion, and measures how far they are from the full fit or from a population that is known. The
errors of a consistent estimator fall like :math:`n^{-1/2}`; slopes and their intervals are in
``ewp.rates``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import entr
from sklearn.metrics import adjusted_rand_score

from ewp._printed import Printed
from ewp.checks import check_integer, check_number
from ewp.consistency_design import choose_reference, choose_sizes
from ewp.folds import distinct_groups
from ewp.inputs import generator
from ewp.kernel import Array
from ewp.matching import centroid_order
from ewp.rates import along_s, effective_size, rate
from ewp.refitting import Source, fit_rows, source_of
from ewp.resampling import enough, run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ewp._summary import EWPSummary
    from ewp.results import EWPResults

__all__ = ["ConsistencyResults", "consistency"]

#: Measures of error whose slopes are estimated, and those that decide the verdict.
ERRORS = ("weights", "effective_features", "centroids")
DECISIVE = ("weights", "centroids")
#: Half-way between no convergence and the rate of the theorem, on the log-log scale.
_HALF_WAY = -0.25


@dataclass(eq=False, repr=False)
class ConsistencyResults(Printed):
    """How fits to subsamples approach a reference.

    Instances come from :meth:`ewp.EWPResults.consistency`.

    Attributes
    ----------
    replicates : pandas.DataFrame
        One row a fit: ``replicate``, ``n``, the errors ``weights`` (l1 distance),
        ``effective_features`` (difference of the exponentials of the entropies) and ``centroids``
        (root mean square over matched clusters, in the reference's w-norm), ``objective_per_row``,
        ``ari`` (with the full fit, on the rows of the subsample), ``converged``.
    slopes : pandas.DataFrame
        One row an error: ``slope`` of its logarithm in log n, ``lower``, ``upper``, ``se``.
    along_s : pandas.DataFrame
        The annealing of the full fit against its limit, see :func:`ewp.rates.along_s`.
    reference : {"full fit", "population"}
    n_obs : int
        Rows of the full fit.
    level : float
        Of the intervals of the slopes.
    complete : bool
        False if the replicates were interrupted.
    """

    replicates: pd.DataFrame
    slopes: pd.DataFrame
    along_s: pd.DataFrame
    reference: str
    n_obs: int
    level: float
    complete: bool

    @property
    def table(self) -> pd.DataFrame:
        """One row a size: mean and, as ``*_sd``, standard deviation of every measure."""
        measures = [*ERRORS, "objective_per_row", "ari"]
        grouped = self.replicates.groupby("n")[measures]
        mean, spread = grouped.mean(), grouped.std()
        columns = {}
        for name in measures:
            columns[name] = mean[name]
            columns[f"{name}_sd"] = spread[name]
        return pd.DataFrame(columns)

    @property
    def effective_n(self) -> pd.Series:
        """Size that sets the error of each subsample, by its number of rows.

        Against a population it is n itself. A subsample of m of the N rows of the full fit
        differs from it as a sample of 1/(1/m - 1/N) rows differs from a population.
        """
        sizes = np.sort(self.replicates["n"].unique())
        scale = effective_size(sizes, self.n_obs, self.reference == "population")
        return pd.Series(scale, index=pd.Index(sizes, name="n"), name="effective_n")

    @property
    def verdicts(self) -> pd.Series:
        """What the slope says of each error: "seen", "not seen", "undecided" or "exact".

        Convergence is seen if the whole interval is steeper than -1/4, half-way between no
        convergence and the theorem's rate, and not seen if the whole interval is flatter.
        """
        ends = self.slopes[["slope", "lower", "upper"]].to_numpy(dtype=float)
        return pd.Series([_judge(*row) for row in ends], index=self.slopes.index, name="verdict")

    @property
    def verdict(self) -> str:
        """The verdict on weights and centroids together: the less favourable of the two."""
        found = set(self.verdicts[list(DECISIVE)])
        for worst in ("not seen", "undecided", "seen"):
            if worst in found:
                return worst
        return "exact"

    def summary(self) -> EWPSummary:
        """Table by size, with slopes and the verdict in words."""
        from ewp._consistency_text import summarise_consistency

        return summarise_consistency(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the errors of weights and centroids against n on a log-log scale.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw the errors alone. By default a new figure with the agreement of the
            partitions below.

        Returns
        -------
        Axes
        """
        from ewp.consistency_plots import plot_consistency

        return plot_consistency(self, ax=ax)

    def plot_along_s(self, ax: Axes | None = None) -> Axes:
        """Draw how the annealing approaches its limit as s falls.

        An automatic start goes to the limit as soon as the clusters are told apart; a fit with a
        number for `s0` anneals to the end and shows all of the approach.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        Axes
        """
        from ewp.consistency_plots import plot_along_s

        return plot_along_s(self.along_s, ax=ax)

    def __repr__(self) -> str:
        slopes = ", ".join(f"{name} {self.slopes['slope'][name]:.2f}" for name in DECISIVE)
        state = "" if self.complete else ", interrupted"
        return f"ConsistencyResults: {self.verdict} (log-log slopes: {slopes}){state}"


def _judge(slope: float, lower: float, upper: float) -> str:
    if slope == -np.inf:
        return "exact"
    if upper < _HALF_WAY:
        return "seen"
    return "not seen" if lower > _HALF_WAY else "undecided"


def _replicate(
    source: Source,
    theta: Array,
    weights: Array,
    sizes: list[int],
    order: np.ndarray,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    """Fit nested subsamples of one random order of the rows and measure their errors."""
    metric = weights / source.scale**2
    measured = []
    for n, seed in zip(sizes, rng.spawn(len(sizes)), strict=True):
        rows = order[:n]
        found = fit_rows(source, rows, source.recipe, seed)
        gap = found.centroids[centroid_order(found.centroids, theta, metric)] - theta
        features = [np.exp(entr(w).sum()) for w in (found.weights, weights)]
        measured.append(
            {
                "n": n,
                "weights": float(np.abs(found.weights - weights).sum()),
                "effective_features": abs(float(features[0] - features[1])),
                "centroids": float(np.sqrt((gap**2 @ metric).mean())),
                "objective_per_row": found.solution.objective / found.total,
                "ari": float(adjusted_rand_score(source.labels[rows], found.labels)),
                "converged": found.solution.converged,
            }
        )
    return measured


def consistency(
    results: EWPResults,
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
    """Fit growing subsamples; see :meth:`ewp.EWPResults.consistency` for the arguments."""
    check_integer("n_rep", n_rep, least=1)
    check_number("level", level, above=0, below=1)
    source = source_of(results, X, sample_weight)
    population = reference is not None
    theta, weights = source.centroids, source.weights
    if population:
        named = results.options.get("named_features", True)
        theta, weights = choose_reference(
            reference, source, results.feature_names if named else None
        )
    n_obs = len(source.used)
    chosen = choose_sizes(sizes, n_obs, results.n_clusters, population)
    group, _ = distinct_groups(source.X, source.weight)

    def order(rng: np.random.Generator) -> np.ndarray:
        return enough(
            lambda rng: rng.permutation(source.used), group, results.n_clusters, rng, chosen[0]
        )

    rngs = generator(random_state).spawn(n_rep)
    done, complete = run(
        _replicate,
        ((source, theta, weights, chosen, order(rng), rng) for rng in rngs),
        total=n_rep,
        what="replicates",
        n_jobs=n_jobs,
        progress=progress,
    )
    replicates = pd.DataFrame([row for measured in done for row in measured])
    replicates.insert(0, "replicate", np.repeat(np.arange(len(done)), len(chosen)))
    slopes = {}
    for name in ERRORS:
        errors = replicates[name].to_numpy(dtype=float).reshape(len(done), len(chosen))
        slopes[name] = rate(chosen, errors, n_obs, population=population, level=level)
    return ConsistencyResults(
        replicates=replicates,
        slopes=pd.DataFrame(slopes, index=["slope", "lower", "upper", "se"]).T,
        along_s=along_s(results),
        reference="population" if population else "full fit",
        n_obs=n_obs,
        level=level,
        complete=complete,
    )
