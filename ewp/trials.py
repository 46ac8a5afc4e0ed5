"""Trials of a comparison: every method from the same start, scored, timed, put into tables."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ewp.blas import one_blas_thread
from ewp.kernel import Array
from ewp.measures import MEASURES
from ewp.methods import Method
from ewp.resampling import run

__all__ = ["Outcome", "run_trials", "tabulate_scores", "tabulate_weights"]


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
    progress: bool = False,
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
        Names from `ewp.measures.MEASURES`.
    seed : int
        With the number of a trial it seeds the random numbers of every method.
    n_jobs : int or None
    progress : bool

    Returns
    -------
    trials : list of list of Outcome
        One list a finished trial, in the order of the methods.
    complete : bool
        False if the user interrupted the trials.
    """
    tasks = ((X, k, y, methods, start, measures, seed, trial) for trial, start in enumerate(starts))
    return run(_trial, tasks, total=len(starts), what="trials", n_jobs=n_jobs, progress=progress)


def _trial(
    X: Array,
    k: int,
    y: np.ndarray | None,
    methods: list[Method],
    start: Array,
    measures: list[str],
    seed: int,
    trial: int,
) -> list[Outcome]:
    outcomes = []
    for method in methods:
        # every method has the same random numbers, whoever else is compared
        rng = np.random.default_rng([seed, trial, 1])
        begin = time.perf_counter()
        try:
            with one_blas_thread():
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
    return outcomes


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
    """One row a trial and method: the scores and the seconds."""
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
    """One row a weighting method and trial, one column a feature; rows sum to 1."""
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
