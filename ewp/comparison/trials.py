"""The trials of a comparison: their resamples and starts, the fits, and their tables.

In every trial all methods get the same rows, the same starting centroids and the same random
numbers. Which methods, and with what tuning parameters, is settled before, in
`ewp.comparison.compare`.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ewp.common.parallel import one_blas_thread, run_replicates
from ewp.common.types import Array
from ewp.comparison.methods import Method
from ewp.comparison.results import MEASURES
from ewp.data.canonical import distinct_groups
from ewp.data.splits import draw_with_k_distinct
from ewp.engine.array import ArrayEngine
from ewp.solver.starts import choose_start

__all__ = [
    "NOT_DRAWN",
    "Outcome",
    "draw_resamples",
    "draw_starts",
    "run_trials",
    "tabulate_scores",
    "tabulate_weights",
]

#: Label of rows that a resample does not hold.
NOT_DRAWN = -1


def draw_resamples(X: Array, k: int, n_trials: int, seed: int) -> np.ndarray:
    """Draw row numbers with replacement, as many as there are rows, for every trial."""
    group, _ = distinct_groups(X, None)
    n = len(X)
    sources = (np.random.default_rng([seed, trial, 2]) for trial in range(n_trials))
    return np.array(
        [draw_with_k_distinct(lambda rng: rng.choice(n, n), group, k, source) for source in sources]
    )


def draw_starts(
    X: Array, k: int, init: str, resamples: np.ndarray | None, n_trials: int, seed: int
) -> Array:
    """Draw starting centroids of every trial, from its own rows."""
    with one_blas_thread():
        whole = ArrayEngine(X)
        ones = np.ones(whole.p)
        starts = []
        for trial in range(n_trials):
            engine = whole if resamples is None else ArrayEngine(X[resamples[trial]])
            source = np.random.default_rng([seed, trial])
            theta = choose_start(engine, k, init, ones, source)
            starts.append(engine.to_data_units(theta))
        return np.array(starts)


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
    resamples: np.ndarray | None = None,
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
    resamples : ndarray of shape (n_trials, n), optional
        Row numbers that every trial sees. By default all rows, once.
    n_jobs : int or None
    progress : bool or None

    Returns
    -------
    trials : list of list of Outcome
        One list a finished trial, in the order of the methods.
    complete : bool
        False if the user interrupted the trials.
    """
    drawn = [None] * len(starts) if resamples is None else list(resamples)
    tasks = (
        (X, k, y, methods, start, measures, seed, trial, rows)
        for trial, (start, rows) in enumerate(zip(starts, drawn, strict=True))
    )
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
    drawn: np.ndarray | None,
) -> list[list[Outcome]]:
    outcomes = []
    n = len(X)
    if drawn is not None:
        X, y = X[drawn], None if y is None else y[drawn]
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
        if drawn is not None:
            everywhere = np.full(n, NOT_DRAWN)
            everywhere[drawn] = labels
            labels = everywhere
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
