"""From an engine to a finished fit: starts, annealing, polish, canonical order.

`FitOptions` are the options of a fit; they travel whole from the door to the results. `solve`
serves every member of the family (a schedule and a rule for the weights); `fit_engine` is EWP's own
recipe on top of it: scaling, prior, critical exponent. Nothing here knows pandas or scikit-learn;
the estimator and the results object wrap what comes out.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from ewp.common.types import Array
from ewp.data.canonical import order_clusters
from ewp.data.decorrelation import Decorrelation, is_decorrelated
from ewp.data.validation import check_spread
from ewp.engine import array_engine
from ewp.engine.base import Engine, Partition, RowEngine
from ewp.engine.divergence import SQUARED_EUCLIDEAN, BregmanDivergence
from ewp.engine.statistics import RunStatistics
from ewp.solver.critical_exponent import engine_critical_exponent
from ewp.solver.differences import digits_are_lost, end_in_double, settle_digits
from ewp.solver.iterate import Solution, step_of_run
from ewp.solver.multistart import Multistart, StartRecord, multistart
from ewp.solver.polish import PolishEffort
from ewp.solver.schedules import Schedule, annealing
from ewp.solver.sparse_starts import SparseStarts, is_wide
from ewp.solver.weights import RelativeEntropy, WeightRule

__all__ = ["Fit", "FitOptions", "WarmStart", "fit_array", "fit_engine", "solve"]


#: Tolerance of fits that are many, and their most steps.
_COARSE, _COARSE_STEPS = 1e-3, 60
#: Standard deviations from which the rows can no longer be told apart.
_FARTHEST = 1e10
#: Partitions of sparse k-means from which a fit begins.
_SPARSE = 4


@dataclass(frozen=True, eq=False)
class FitOptions:
    """The options of a fit: their defaults stand here and nowhere else.

    The attributes are those of `ewp.EWP`, which says what they mean. As a user states them, `lam`,
    `scale`, `dispersion` and `weights` may be "auto"; `settle` puts in what was chosen. With a
    number for `lam`, "auto" means raw features, the within form and common weights. `polish` may
    be an effort between none and full.
    """

    n_clusters: int = 2
    lam: float | str = "auto"
    s0: float | str = "auto"
    eta: float = 1.05
    init: str | Array = "k-means++"
    n_init: int | str = "auto"
    scale: str | None = "auto"
    dispersion: str = "auto"
    prior: Array | None = None
    polish: bool | PolishEffort = True
    max_iter: int = 500
    tol: float = 1e-8
    random_state: Any = None
    n_jobs: int | None = None
    progress: bool | None = None
    missing: str = "error"
    robust: str | None = None
    dtype: str | None = None
    divergence: Any = "euclidean"
    offset: Any = None
    weights: str = "common"

    def settle(
        self,
        lam: float | None = None,
        *,
        scale: str | None = "auto",
        dispersion: str = "auto",
        weights: str = "auto",
    ) -> FitOptions:
        """Return the options with a penalty, a scaling and a form, by default those they have."""
        given = self.weights if weights == "auto" else weights
        scaling = self.scale if scale == "auto" else scale
        form = self.dispersion if dispersion == "auto" else dispersion
        return dataclasses.replace(
            self,
            lam=self.penalty if lam is None else lam,
            scale=None if scaling == "auto" else scaling,
            dispersion="within" if form == "auto" else form,
            weights="common" if given == "auto" else given,
        )

    @property
    def families(self) -> tuple[str, ...] | None:
        """Names of the columns' divergences, checked before; None if all are squared."""
        return None if isinstance(self.divergence, str) else self.divergence

    @property
    def penalty(self) -> float:
        """The penalty, which must be settled."""
        if isinstance(self.lam, str):
            raise ValueError(f"lam={self.lam!r} has not been chosen")
        return self.lam

    @property
    def standardise(self) -> bool:
        """Whether features are divided by their standard deviations."""
        return self.scale == "standard"

    @property
    def decorrelates(self) -> bool:
        """Whether features are decorrelated."""
        return is_decorrelated(self.scale)

    @property
    def between(self) -> bool:
        """Whether the weights have the between form."""
        return self.dispersion == "between"

    @property
    def by_cluster(self) -> bool:
        """Whether every cluster has weights of its own."""
        return self.weights == "cluster"

    @property
    def effort(self) -> PolishEffort:
        """How hard the partition is polished."""
        if isinstance(self.polish, PolishEffort):
            return self.polish
        return PolishEffort.FULL if self.polish else PolishEffort.NONE

    def begins_sparse(self, engine: Engine) -> TypeGuard[RowEngine]:
        """Whether some starts are partitions of sparse k-means.

        Where features are very many, unless a start was asked for, or the published algorithm.
        """
        asked = not isinstance(self.init, str) or self.init != "k-means++"
        return self.n_clusters > 1 and self.effort.rounds > 0 and not asked and is_wide(engine)

    def lighter(self) -> FitOptions:
        """Return the options of fits that are many and need only be good enough to be compared.

        Two steps of the exponent are taken at once, the polish is light, and fixed points are
        reached when nothing moves by more than a thousandth, or after 60 steps.
        """
        effort = PolishEffort.LIGHT if self.effort.rounds else self.effort
        return dataclasses.replace(
            self,
            eta=self.eta**2,
            polish=effort,
            tol=max(self.tol, _COARSE),
            max_iter=min(self.max_iter, _COARSE_STEPS),
        )

    @property
    def first_exponent(self) -> float | None:
        """The exponent to start from; None for the critical one."""
        return None if isinstance(self.s0, str) else self.s0


class WarmStart(NamedTuple):
    """A partition that was found before: means of its clusters, and dispersions about them.

    Both are in data units, the dispersions summed over all rows; of decorrelated features the
    dispersions are those of the uncorrelated columns, and where values are missing they are sums
    over the observed ones. Where every cluster has weights of its own, `variances` of shape (k, p)
    are those within the clusters.
    """

    centroids: Array
    dispersion: Array
    variances: Array | None = None


@dataclass
class Fit:
    """A finished fit in data units, clusters in canonical order.

    Attributes
    ----------
    solution : Solution
        Trace, objective, convergence; its centroids are in the engine's coordinates.
    centroids : ndarray of shape (k, p)
        In data units.
    weights : ndarray of shape (p,), or (k, p) if every cluster has its own
    partition : Partition
        Labels of the rows, and sizes, masses and sums of squares of the clusters.
    center, scale, squares : ndarray of shape (p,)
        Column means, divisors, and sums of squares after scaling.
    deviations : ndarray of shape (p,)
        Standard deviations of the columns in data units.
    decorrelation : Decorrelation or None
        How the features were decorrelated, if they were; `center` and `scale` are its own then,
        `squares` belong to the uncorrelated columns.
    total : float
        Sum of the sample weights.
    prior : ndarray of shape (p,)
        Prior on the scale on which uniform is 1, 0 for excluded features.
    s0, critical_exponent : float
    starts : StartRecord
        Where the starts ended.
    observed : ndarray of shape (p,) or None
        Share of the rows, by weight, in which every feature is observed; None if all are in all.
    within : ndarray of shape (p,) or None
        Sums of squares of the observed values about their centroids in data units, where values
        are missing: they do not follow from the centroids and the clusters' masses then. Sums of
        divergences where these are not squared differences.
    divergence : BregmanDivergence
    price : ndarray of shape (k,) or None
        What a row of every cluster pays for its weights, where every cluster has its own.
    """

    solution: Solution
    centroids: Array
    weights: Array
    partition: Partition
    center: Array
    scale: Array
    squares: Array
    deviations: Array
    decorrelation: Decorrelation | None
    total: float
    prior: Array
    s0: float
    critical_exponent: float
    starts: StartRecord
    observed: Array | None
    within: Array | None
    divergence: BregmanDivergence = SQUARED_EUCLIDEAN
    price: Array | None = None

    @property
    def labels(self) -> np.ndarray:
        """Labels of the rows."""
        return self.partition.labels


def _canonical(engine: Engine, solution: Solution, metric: Array) -> RunStatistics:
    """Put the clusters into their canonical order and return the statistics of the last step."""
    statistics = engine.step_function()
    for _ in range(len(solution.theta)):
        # as they will be in data units, where the last digit decides between equal centroids
        theta = engine.to_engine_units(engine.to_data_units(solution.theta))
        found = step_of_run(statistics, theta, metric, -math.inf)
        order = order_clusters(theta, metric, found.mass / engine.total)
        # rows between equal centroids go to the first, which changes when these are sorted
        if (order == np.arange(len(order))).all():
            break
        solution.theta = solution.theta[order]
    return found


def _check_reach(engine: Engine, init: Array) -> None:
    """Check that starting centroids are not so far away that the data are one point from there."""
    spread = math.sqrt(float(engine.squares.sum()) / engine.total)
    away = np.abs(engine.to_engine_units(init))
    j, column = np.unravel_index(int(np.argmax(away)), away.shape)
    if away[j, column] > _FARTHEST * spread > 0.0:
        raise ValueError(
            f"init: centroid {j} is {init[j, column]:.3g} in column {column}, "
            f"{away[j, column] / spread:.0e} standard deviations from the data; give centroids "
            "among them"
        )


def solve(
    engine: Engine,
    k: int,
    rule: WeightRule,
    schedule: Schedule,
    *,
    init: str | Array,
    n_init: int | str,
    effort: PolishEffort,
    max_iter: int,
    tol: float,
    rng: np.random.Generator,
    known: Sequence[tuple[Array, Array]] = (),
    sparse: Sequence[tuple[Array, Array]] = (),
    on_step: Callable[[int], None] | None = None,
) -> Multistart:
    """Run from `n_init` starts, polish, keep the lowest objective, order its clusters.

    Parameters
    ----------
    engine : Engine
    k : int
    rule : WeightRule
    schedule : Schedule
    init : {"k-means++", "random"} or ndarray of shape (k, p)
    n_init : int
    effort : PolishEffort
        How hard the best solution is polished; none for a schedule that does not end at -inf.
    max_iter, tol
        As in `ewp.solver.iterate`.
    rng : Generator
    known : sequence of (centroids, weights)
        What was found before, in the engine's coordinates; it is tried too.
    on_step : callable, optional
        Called at every step with the number of runs that take it.
    """
    plain = engine.divergence is SQUARED_EUCLIDEAN
    if plain and not isinstance(init, str):
        _check_reach(engine, init)
    best, starts = multistart(
        engine,
        k,
        rule,
        schedule,
        init=init,
        n_init=n_init,
        effort=effort,
        max_iter=max_iter,
        tol=tol,
        rng=rng,
        known=known,
        sparse=sparse,
        on_step=on_step,
    )
    exact = engine.in_double()
    if exact is not engine and math.isinf(best.trace[-1].s):
        best = end_in_double(exact, best, rule, max_iter=max_iter, tol=tol)
    engine = exact
    stats = _canonical(engine, best, rule.metric(best.weights))
    if plain and math.isinf(best.trace[-1].s) and digits_are_lost(stats, best, rule):
        best = settle_digits(engine, best, rule, max_iter=max_iter, tol=tol)
        _canonical(engine, best, rule.metric(best.weights))
    return Multistart(best, starts)


def _sparse_starts(
    engine: Engine, options: FitOptions, rule: RelativeEntropy
) -> list[tuple[Array, Array]]:
    """Centroids and weights of partitions of sparse k-means, where these are among the starts."""
    if not options.begins_sparse(engine):
        return []
    included = np.isfinite(rule.log_prior)
    found = SparseStarts(engine, options.n_clusters, engine.sample_weight, included)
    unitless = options.standardise or options.decorrelates
    return list(zip(*found.lowest(rule, _SPARSE, standardise=unitless), strict=True))


def default_prior(varying: np.ndarray) -> Array:
    """Ones, with zeros for columns that never vary: they hold no information on clusters."""
    return varying.astype(float) if varying.any() else np.ones(len(varying))


def fit_array(
    X: Array,
    sample_weight: Array | None,
    options: FitOptions,
    rng: np.random.Generator,
) -> Fit:
    """Fit EWP to a validated array with at least as many distinct rows as clusters.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    sample_weight : ndarray of shape (n,) or None
        Rows of weight zero have no influence and get a label all the same.
    options : FitOptions
        Settled, that is, with a number for the penalty.
    rng : Generator

    Returns
    -------
    Fit
    """
    engine = array_engine(X, sample_weight, options.scale, options.prior, options.families)
    return fit_engine(engine, options, rng)


def fit_engine(
    engine: Engine,
    options: FitOptions,
    rng: np.random.Generator,
    *,
    known: Sequence[WarmStart] = (),
    on_step: Callable[[int], None] | None = None,
) -> Fit:
    """Fit EWP to the data of an engine, which scales them as the options say.

    Parameters
    ----------
    engine : Engine
    options : FitOptions
        Settled, that is, with a number for the penalty.
    rng : Generator
    known : sequence of WarmStart
        Partitions found before, which the polish tries first.
    on_step : callable, optional

    Returns
    -------
    Fit
    """
    k = options.n_clusters
    if k > 1 and engine.missingness and not engine.varying.any():
        raise ValueError(
            "every column of X has one value wherever it is observed, and nothing tells rows "
            "apart; ask for one cluster"
        )
    check_spread(engine.squares, k)
    prior = default_prior(engine.varying) if options.prior is None else options.prior
    rule = RelativeEntropy.make(options.penalty, engine.squares, prior, between=options.between)
    collapsed = rule.update(engine.squares)
    critical = engine_critical_exponent(engine.sample_for_starts(k), collapsed)
    schedule = annealing(options.first_exponent, options.eta, critical)
    solution, starts = solve(
        engine,
        k,
        rule,
        schedule,
        init=options.init,
        n_init=options.n_init,
        effort=options.effort,
        max_iter=options.max_iter,
        tol=options.tol,
        rng=rng,
        known=[
            (
                engine.to_engine_units(one.centroids),
                rule.update(one.dispersion / engine.dispersion_divisors),
            )
            for one in known
        ],
        sparse=_sparse_starts(engine, options, rule),
        on_step=on_step,
    )
    engine = engine.in_double()
    centroids = engine.to_data_units(solution.theta)
    made = engine.decorrelation
    within = None
    if engine.missingness or engine.divergence is not SQUARED_EUCLIDEAN:
        about = engine.deviations(engine.to_engine_units(centroids), solution.weights)
        within = about.squares * engine.dispersion_divisors
    return Fit(
        solution,
        centroids,
        solution.weights,
        # from the centroids in data units, as predictions are made
        engine.label(engine.to_engine_units(centroids), solution.weights),
        engine.means,
        engine.divisors if made is None else made.scale,
        engine.squares,
        engine.column_deviations,
        made,
        engine.total,
        prior,
        schedule.start,
        critical,
        starts,
        engine.missingness.share if engine.missingness else None,
        within,
        engine.divergence,
    )
