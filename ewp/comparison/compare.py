"""A fair comparison of clustering methods: `compare`, and the trials it consists of.

In every trial all methods start from the same centroids on the same data. What a method has to
choose beyond that, it chooses by its own rule (`ewp.comparison.methods`), once, and never with the
classes.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ewp.common.calls import same_as, write_call
from ewp.common.checks import check_choice, check_integer, check_number
from ewp.common.parallel import one_blas_thread, run_replicates
from ewp.common.types import Array
from ewp.comparison.methods import Method, Problem, name_methods, tune_methods
from ewp.comparison.results import MEASURES, Comparison
from ewp.data.decorrelation import Decorrelation, given_shrinkage, is_decorrelated
from ewp.data.sources import ArraySource
from ewp.data.validation import (
    as_table,
    check_data,
    check_distinct,
    column_names,
    generator,
    row_and_column_names,
    stated_seed,
)
from ewp.engine.array import ArrayEngine
from ewp.fitting import check_scale, warn_of_outliers, warn_of_scales
from ewp.peers.sparse_kmeans import check_bound
from ewp.select import select_lambda
from ewp.solver.starts import choose_start

__all__ = ["compare"]


def compare(
    X: Any,
    k: int,
    y: Any = None,
    methods: Sequence[Any] = ("kmeans", "wkmeans", "power", "sparse", "ewp"),
    n_trials: int = 20,
    scale: str | None = "auto",
    init: Any = "random",
    lam: float | str = "auto",
    wbound: float | str = "gap",
    beta: float = 8.0,
    reference: str | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Compare clustering methods from the same starting centroids.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, p)
    k : int
        Number of clusters.
    y : array-like of shape (n,), optional
        Known classes. They are used to score the partitions and for nothing else; without them
        the partitions are scored by internal measures.
    methods : sequence
        Names: "kmeans", "wkmeans", "power" (from the critical exponent), "power-published" (from
        -1), "harmonic", "sparse", "sparse-annealed", "ewp" (the defaults of this package),
        "ewp-between", "ewp-published" (the paper's Algorithm 1, from the exponent -1, without
        polish) and "sparcl" (the R package itself, through `r_bridge`). Also estimators with the
        options `n_clusters` and `init` (scikit-learn's among them), objects with a `name` and
        ``fit(X, k, start, rng)`` that returns labels and weights or None, and functions with these
        arguments.
    n_trials : int, default=20
        Number of starts.
    scale : {"auto", "standard", "decorrelate", None}, default="auto"
        "standard" divides every column by its standard deviation for all methods, "decorrelate"
        makes the columns uncorrelated for all of them, as in `ewp.EWP`, None leaves the data as
        they are. "auto" lets the selection of EWP's penalty decide, for all methods alike; with a
        number for `lam` it is None.
    init : {"random", "k-means++"} or array of shape (n_trials, k, p), default="random"
        Starting centroids of the trials; "random" draws k distinct rows, as in the paper.
    lam : float or "auto", default="auto"
        Penalty of EWP. "auto" chooses it for each variant as `ewp.select_lambda` does.
    wbound : float or "gap", default="gap"
        Bound of sparse k-means. "gap" chooses it by its permutation gap, `ewp.peers.sparse_gap`.
    beta : float, default=8.0
        Exponent of WK-means, for which there is no published rule.
    reference : str, optional
        The method that the others are tested against; by default "ewp" or, without it, the first
        of its variants.
    random_state : int, Generator, RandomState or None, default=None
        Seed. The result does not depend on `n_jobs`, and that of a method not on the others.
    n_jobs : int or None, default=None
        Number of processes among which trials (and the fits of a selection) are shared.
    progress : bool or None, default=None
        Show progress bars on stderr. None shows them in a terminal or a notebook, for what takes
        more than some seconds.

    Returns
    -------
    Comparison
        Scores of all trials, a table with Wilcoxon's signed-rank test, weights, pictures. An
        interruption from the keyboard returns the trials that were finished.

    Examples
    --------
    >>> import ewp
    >>> from ewp.datasets import make_simulation2
    >>> X, y, relevant = make_simulation2(k=4, n=200, p=10, random_state=0)
    >>> found = ewp.compare(X, 4, y, ("kmeans", "ewp"), n_trials=6, lam=10.0, random_state=0)
    >>> found.table()["nmi_mark"].tolist()
    ['+', '']
    >>> bool(found.table().loc["ewp", "nmi"] > 0.99)
    True
    """
    asked = dict(locals())
    X = as_table(X)
    array = np.asarray(check_data(X), dtype=np.float64)
    k = check_integer("k", k, least=1)
    n_trials = check_integer("n_trials", n_trials, least=1)
    check_scale(scale)
    check_number("beta", beta, above=1)
    if not isinstance(lam, str):
        check_number("lam", lam, above=0)
    if isinstance(wbound, str):
        check_choice("wbound", wbound, ("gap",))
    else:
        check_bound(wbound)
    given = _given_starts(init, (n_trials, k, array.shape[1]))
    check_distinct(array, k)
    warn_of_outliers(ArraySource(X, None))
    named = name_methods(methods)
    called = _reference(reference, list(named))
    classes = _classes(y, len(array))
    stated = stated_seed(random_state)
    rng = generator(stated)
    seed, first = (int(value) for value in rng.integers(2**31, size=2))
    selection = None
    rows, columns = row_and_column_names(X, len(array), column_names(X), array.shape[1])
    if scale == "auto" and not isinstance(lam, str):
        warn_of_scales(array.var(axis=0), columns, np.ptp(array, axis=0) > 0, stacklevel=2)
    if lam == "auto" and (scale == "auto" or is_decorrelated(scale)):
        selection = select_lambda(
            array, k, scale=scale, random_state=seed, n_jobs=n_jobs, progress=progress
        )
        scale = None if selection.scaling == "none" else selection.scaling
    scaled = _Scaled.of(array, None if scale == "auto" else scale)
    array = scaled.rows
    problem = Problem(
        array,
        k,
        lam,
        wbound,
        beta,
        seed,
        n_jobs,
        progress,
        standardised=scaled.scaling != "none",
        selection=selection,
    )
    made = tune_methods(named, problem)
    if given is None:
        starts = _draw_starts(array, k, init, n_trials, first)
    else:
        starts = np.array([scaled.to_columns(theta) for theta in given])
    measures = [m.name for m in MEASURES.values() if m.labelled == (classes is not None)]
    trials, complete = run_trials(
        array, k, classes, made, starts, measures, first, n_jobs=n_jobs, progress=progress
    )
    return Comparison(
        scores=tabulate_scores(made, trials),
        weights=tabulate_weights(made, trials, columns),
        labels={
            method.name: pd.DataFrame(
                [outcomes[i].labels for outcomes in trials], columns=rows
            ).rename_axis("trial")
            for i, method in enumerate(made)
        },
        settings={method.name: dict(getattr(method, "settings", {})) for method in made},
        measures=measures,
        reference=called,
        k=k,
        scaling=scaled.scaling,
        init=init if given is None else "given",
        starts=np.array([scaled.to_data_units(theta) for theta in starts[: len(trials)]]),
        complete=complete,
        data=array,
        classes=classes,
        seed=stated,
        call=_call(asked, stated),
    )


class _Scaled(NamedTuple):
    """Rows as they are compared, and how centroids go there and back."""

    rows: Array
    scaling: str
    to_columns: Callable[[Array], Array]
    to_data_units: Callable[[Array], Array]

    @classmethod
    def of(cls, X: Array, scale: str | None) -> _Scaled:
        if is_decorrelated(scale):
            assert scale is not None
            with one_blas_thread():
                made = Decorrelation.estimate(X, None, given_shrinkage(scale))
                return cls(made.apply(X), scale, made.apply, made.invert)
        center, spread = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if scale == "standard":
            center, deviation = X.mean(axis=0), X.std(axis=0)
            spread = np.where(deviation > 0, deviation, 1.0)
        return cls(
            (X - center) / spread,
            scale or "none",
            lambda theta: (theta - center) / spread,
            lambda theta: theta * spread + center,
        )


def _call(asked: dict[str, Any], seed: int) -> str:
    """Write the call of a comparison."""
    options = {
        name: asked[name]
        for name, one in inspect.signature(compare).parameters.items()
        if one.default is not one.empty
        and name not in ("n_jobs", "progress", "random_state")
        and not same_as(asked[name], one.default)
    }
    options["random_state"] = seed
    return write_call("ewp.compare", ["X", asked["k"]], options, named=["y"])


def _classes(y: Any, n: int) -> np.ndarray | None:
    if y is None:
        return None
    classes = np.asarray(y)
    if classes.ndim == 2 and classes.shape[1] == 1:
        classes = classes[:, 0]
    if classes.shape != (n,):
        raise ValueError(f"y has shape {classes.shape}, but X has {n} rows")
    if pd.isna(classes).any():
        where = int(np.flatnonzero(pd.isna(classes))[0])
        raise ValueError(f"y has a missing value in row {where}; drop the rows without a class")
    codes: np.ndarray = np.unique(classes.astype(str), return_inverse=True)[1]
    return codes


def _reference(reference: str | None, called: list[str]) -> str | None:
    if reference is not None:
        check_choice("reference", reference, tuple(called))
        return reference
    variants = [name for name in called if name.startswith("ewp")]
    return "ewp" if "ewp" in called else variants[0] if variants else None


def _given_starts(init: Any, wanted: tuple[int, int, int]) -> Array | None:
    """Check the option `init`; return the user's starting centroids, None if they are drawn."""
    if isinstance(init, str):
        check_choice("init", init, ("random", "k-means++"))
        return None
    given = np.asarray(init, dtype=np.float64)
    if given.shape != wanted:
        raise ValueError(f"init has shape {given.shape}, but n_trials, k, p are {wanted}")
    if not np.isfinite(given).all():
        raise ValueError("init contains NaN or infinity; centroids must be finite")
    return given


def _draw_starts(X: Array, k: int, init: str, n_trials: int, seed: int) -> Array:
    """Draw starting centroids of every trial."""
    with one_blas_thread():
        engine = ArrayEngine(X)
        ones = np.ones(engine.p)
        sources = (np.random.default_rng([seed, trial]) for trial in range(n_trials))
        thetas = [choose_start(engine, k, init, ones, source) for source in sources]
        return np.array([engine.to_data_units(theta) for theta in thetas])


class Outcome(NamedTuple):
    """What one method made of one start."""

    labels: np.ndarray
    weights: Array | None
    scores: dict[str, float]
    seconds: float


def run_trials(
    X: Array,
    k: int,
    y: np.ndarray | None,
    methods: list[Method],
    starts: Array,
    measures: list[str],
    seed: int,
    *,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> tuple[list[list[Outcome]], bool]:
    """Run the trials.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    k : int
    y : ndarray of shape (n,) or None
        Classes, for the measures that need them.
    methods : list of Method
    starts : ndarray of shape (n_trials, k, p)
    measures : list of str
        Names from `ewp.comparison.results.MEASURES`.
    seed : int
        With the number of a trial it seeds the random numbers of every method.
    n_jobs : int or None
    progress : bool or None

    Returns
    -------
    trials : list of list of Outcome
        One list a finished trial, in the order of the methods.
    complete : bool
        False if the user interrupted the trials.
    """
    tasks = ((X, k, y, methods, start, measures, seed, trial) for trial, start in enumerate(starts))
    return run_replicates(
        _trial, tasks, total=len(starts), what="trials", n_jobs=n_jobs, progress=progress
    )


def _trial(
    X: Array,
    k: int,
    y: np.ndarray | None,
    methods: list[Method],
    start: Array,
    measures: list[str],
    seed: int,
    trial: int,
) -> list[list[Outcome]]:
    outcomes = []
    for method in methods:
        # every method has the same random numbers, whoever else is compared
        rng = np.random.default_rng([seed, trial, 1])
        begin = time.perf_counter()
        try:
            labels, weights = method.fit(X, k, start.copy(), rng)
        except Exception as error:
            error.add_note(f"method {method.name!r} in trial {trial} of the comparison")
            raise
        seconds = time.perf_counter() - begin
        labels = np.asarray(labels)
        if labels.shape != (len(X),):
            raise ValueError(
                f"method {method.name!r} returned labels of shape {labels.shape} for {len(X)} rows"
            )
        scores = {name: MEASURES[name].value(X, labels, y) for name in measures}
        outcomes.append(Outcome(labels, _on_simplex(weights, X, method.name), scores, seconds))
    return [outcomes]


def _on_simplex(weights: Any, X: Array, name: str) -> Array | None:
    if weights is None:
        return None
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (X.shape[1],) or not array.sum() > 0:
        raise ValueError(
            f"method {name!r} returned weights of shape {array.shape} and sum {array.sum():g} for "
            f"{X.shape[1]} features"
        )
    return array / array.sum()


def tabulate_scores(methods: list[Method], trials: list[list[Outcome]]) -> pd.DataFrame:
    """One row per trial and method: the scores and the seconds."""
    return pd.DataFrame(
        [
            {"trial": t, "method": method.name, **outcome.scores, "seconds": outcome.seconds}
            for t, outcomes in enumerate(trials)
            for method, outcome in zip(methods, outcomes, strict=True)
        ]
    )


def tabulate_weights(
    methods: list[Method], trials: list[list[Outcome]], columns: pd.Index
) -> pd.DataFrame:
    """One row per weighting method and trial, one column per feature; rows sum to 1."""
    found = {
        (method.name, t): outcomes[i].weights
        for i, method in enumerate(methods)
        for t, outcomes in enumerate(trials)
        if outcomes[i].weights is not None
    }
    called, numbers = [name for name, _ in found], [t for _, t in found]
    index = pd.MultiIndex.from_arrays([called, numbers], names=["method", "trial"])
    values = np.array(list(found.values())).reshape(len(found), len(columns))
    return pd.DataFrame(values, index=index, columns=columns)
