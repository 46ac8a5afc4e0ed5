"""From a validated array to a finished fit: starts, annealing, polish, canonical order.

`solve` serves every member of the family (a schedule and a rule for the weights); `fit_array` is
EWP's own recipe on top of it: scaling, prior, critical exponent. Nothing here knows pandas or
scikit-learn; the estimator and the results object wrap what comes out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ewp.backend import Engine, Partition
from ewp.blas import one_blas_thread
from ewp.engine import ArrayEngine
from ewp.exponent import engine_critical_exponent
from ewp.inputs import check_distinct, check_spread
from ewp.kernel import Array
from ewp.ordering import order_clusters
from ewp.polish import FULL, Effort, polish
from ewp.rules import RelativeEntropy, WeightRule
from ewp.schedules import Annealed, Hard, Schedule
from ewp.solver import Solution, TraceRow, iterate
from ewp.starts import choose_start

__all__ = [
    "Fit",
    "Known",
    "Recipe",
    "annealing",
    "default_prior",
    "fit_array",
    "fit_engine",
    "solve",
]


#: Softness at which memberships are hard to the last digit.
_HARD = 1e-12


@dataclass(frozen=True)
class Recipe:
    """The checked options of one EWP fit.

    Attributes are those of `ewp.EWP`, with everything automatic settled except `s0`, which is
    None for the critical exponent.
    """

    n_clusters: int
    lam: float
    s0: float | None = None
    eta: float = 1.05
    init: str | Array = "k-means++"
    n_init: int = 1
    standardise: bool = False
    between: bool = False
    prior: Array | None = None
    polish: Effort = FULL
    max_iter: int = 500
    tol: float = 1e-8


class Known(NamedTuple):
    """A partition that was found before: means of its clusters, and dispersions about them.

    Both are in data units, the dispersions summed over all rows.
    """

    centroids: Array
    dispersion: Array


@dataclass
class Fit:
    """A finished fit in data units, clusters in canonical order.

    Attributes
    ----------
    solution : Solution
        Trace, objective, convergence; its centroids are in the engine's coordinates.
    centroids : ndarray of shape (k, p)
        In data units.
    weights : ndarray of shape (p,)
    partition : Partition
        Labels of the rows, and sizes, masses and sums of squares of the clusters.
    center, scale, squares : ndarray of shape (p,)
        Column means, divisors, and sums of squares after scaling.
    total : float
        Sum of the sample weights.
    prior : ndarray of shape (p,)
        Prior on the scale on which uniform is 1, 0 for excluded features.
    s0, critical_exponent : float
    """

    solution: Solution
    centroids: Array
    weights: Array
    partition: Partition
    center: Array
    scale: Array
    squares: Array
    total: float
    prior: Array
    s0: float
    critical_exponent: float

    @property
    def labels(self) -> np.ndarray:
        """Labels of the rows."""
        return self.partition.labels


def _canonical(engine: Engine, solution: Solution, metric: Array) -> Solution:
    """Put the clusters into their canonical order."""
    statistics = engine.follow()
    for _ in range(len(solution.theta)):
        # as they will be in data units, where the last digit decides between equal centroids
        theta = engine.inside(engine.outside(solution.theta))
        mass = statistics(theta, metric, -math.inf).mass / engine.total
        order = order_clusters(theta, metric, mass)
        # rows between equal centroids go to the first, which changes when these are sorted
        if (order == np.arange(len(order))).all():
            break
        solution.theta = solution.theta[order]
    return solution


def solve(
    engine: Engine,
    k: int,
    rule: WeightRule,
    schedule: Schedule,
    *,
    init: str | Array,
    n_init: int,
    effort: Effort,
    max_iter: int,
    tol: float,
    rng: np.random.Generator,
    known: Sequence[tuple[Array, Array]] = (),
    on_step: Callable[[TraceRow], None] | None = None,
) -> Solution:
    """Run from `n_init` starts, keep the lowest objective, polish it, order its clusters.

    Parameters
    ----------
    engine : Engine
    k : int
    rule : WeightRule
    schedule : Schedule
    init : {"k-means++", "random"} or ndarray of shape (k, p)
    n_init : int
    effort : Effort
        How hard the best solution is polished; none for a schedule that does not end at -inf.
    max_iter, tol
        As in `ewp.solver.iterate`.
    rng : Generator
    known : sequence of (centroids, weights)
        What the polish tries first, in the engine's coordinates.
    on_step : callable, optional
        Called with every row of the trace as it is made.
    """
    weights = rule.start()
    # from given centroids every start is the same
    *starts, finisher = rng.spawn((n_init if isinstance(init, str) else 1) + 1)
    best: Solution | None = None
    for start in starts:
        theta = choose_start(engine.small(k), k, init, rule.metric(weights), start)
        found = iterate(
            engine, theta, weights, rule, schedule, max_iter=max_iter, tol=tol, on_step=on_step
        )
        if best is None or found.objective < best.objective:
            best = found
    assert best is not None
    if effort.rounds and best.converged:
        best = polish(
            engine, best, rule, finisher, effort=effort, known=known, max_iter=max_iter, tol=tol
        )
    return _canonical(engine, best, rule.metric(best.weights))


def annealing(s0: float | None, eta: float, critical: float) -> Annealed | Hard:
    """Schedule from a user's exponent, or from the critical one.

    Parameters
    ----------
    s0 : float or None
        An exponent of the user's own asks for the published annealing, to its very end; None is
        automatic; -inf is the limit problem from the first step on.
    eta : float
    critical : float
        The critical exponent.
    """
    if s0 is None:
        s0 = min(-1.0, critical)
        return Hard() if math.isinf(s0) else Annealed(s0, eta, quarters=True)
    return Hard() if math.isinf(s0) else Annealed(s0, eta, _HARD)


def default_prior(varying: np.ndarray) -> Array:
    """Ones, with zeros for columns that never vary: they hold no information on clusters."""
    return varying.astype(float) if varying.any() else np.ones(len(varying))


def fit_array(
    X: Array,
    sample_weight: Array | None,
    recipe: Recipe,
    rng: np.random.Generator,
    *,
    n_jobs: int | None = None,
    known: Sequence[Known] = (),
    on_step: Callable[[TraceRow], None] | None = None,
) -> Fit:
    """Fit EWP to a validated array.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    sample_weight : ndarray of shape (n,) or None
        Rows of weight zero have no influence and get a label all the same.
    recipe : Recipe
    rng : Generator
    n_jobs : int or None
    known : sequence of Known
    on_step : callable, optional

    Returns
    -------
    Fit
    """
    check_distinct(X, recipe.n_clusters, sample_weight)
    with one_blas_thread():
        engine = ArrayEngine(
            X, sample_weight, scale="standard" if recipe.standardise else None, n_jobs=n_jobs
        )
        return fit_engine(engine, recipe, rng, known=known, on_step=on_step)


def fit_engine(
    engine: Engine,
    recipe: Recipe,
    rng: np.random.Generator,
    *,
    known: Sequence[Known] = (),
    on_step: Callable[[TraceRow], None] | None = None,
) -> Fit:
    """Fit EWP to the data of an engine, which scales them as the recipe says.

    Parameters
    ----------
    engine : Engine
    recipe : Recipe
    rng : Generator
    known : sequence of Known
        Partitions found before, which the polish tries first.
    on_step : callable, optional

    Returns
    -------
    Fit
    """
    k = recipe.n_clusters
    check_spread(engine.squares, k)
    prior = default_prior(engine.varying) if recipe.prior is None else recipe.prior
    rule = RelativeEntropy.make(recipe.lam, engine.squares, prior, between=recipe.between)
    critical = engine_critical_exponent(engine.small(k), rule.update(engine.squares))
    schedule = annealing(recipe.s0, recipe.eta, critical)
    solution = solve(
        engine,
        k,
        rule,
        schedule,
        init=recipe.init,
        n_init=recipe.n_init,
        effort=recipe.polish,
        max_iter=recipe.max_iter,
        tol=recipe.tol,
        rng=rng,
        known=[
            (engine.inside(one.centroids), rule.update(one.dispersion / engine.scale**2))
            for one in known
        ],
        on_step=on_step,
    )
    centroids = engine.outside(solution.theta)
    return Fit(
        solution,
        centroids,
        solution.weights,
        # from the centroids in data units, as predictions are made
        engine.label(engine.inside(centroids), solution.weights),
        engine.center,
        engine.scale,
        engine.squares,
        engine.total,
        prior,
        schedule.start,
        critical,
    )
