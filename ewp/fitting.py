"""Data and options to results: the one orchestration of a fit.

`fit_model` opens the data, checks the options, settles what is automatic, fits, and dresses the
outcome in the data's own names. The estimator, `select_lambda`, `select_k` and the command line all
call it; nothing else does what it does.
"""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from ewp.common.checks import (
    check_choice,
    check_flag,
    check_integer,
    check_jobs,
    check_number,
    check_progress,
)
from ewp.common.parallel import one_blas_thread, tqdm
from ewp.data.decorrelation import given_shrinkage, is_decorrelated
from ewp.data.outliers import OutlierWarning, describe_outliers
from ewp.data.sources import ArraySource, DaskSource, DataSource, open_source
from ewp.data.validation import align_to_columns, check_init, check_prior, generator
from ewp.engine import make_engine, rows_for_selection
from ewp.engine.base import Engine
from ewp.results.results import EWPResults
from ewp.selection.decision import SelectionOptions, SelectionOutcome, select_candidate
from ewp.solver.critical_exponent import check_exponent
from ewp.solver.fit import Fit, FitOptions, fit_engine

__all__ = [
    "FittedModel",
    "fit_model",
    "warn_of_outliers",
]


class FittedModel(NamedTuple):
    """What a fit made: results, their arrays and, if the penalty was chosen, how that was done."""

    results: EWPResults
    found: Fit
    outcome: SelectionOutcome | None


def check_options(options: FitOptions, p: int, columns: pd.Index | None = None) -> FitOptions:
    """Check the options of a fit to data with p features, perhaps with names.

    Parameters
    ----------
    options : FitOptions
        As the user stated them.
    p : int
    columns : Index or None
        Names by which the entries of `init` and `prior` are found.

    Returns
    -------
    FitOptions
        Checked, with arrays for `init` and `prior` in the order of the columns, and settled if
        `lam` is a number.
    """
    k = check_integer("n_clusters", options.n_clusters, least=1)
    check_scale(options.scale)
    check_choice("dispersion", options.dispersion, ("auto", "within", "between"))
    lam = options.lam
    if isinstance(lam, str):
        check_choice("lam", lam, ("auto",))
    else:
        lam = check_number("lam", lam, above=0)
    check_jobs(options.n_jobs)
    check_progress(options.progress)
    checked = dataclasses.replace(
        options,
        n_clusters=k,
        lam=lam,
        eta=check_number("eta", options.eta, above=1),
        n_init=check_starts(options.n_init),
        polish=check_flag("polish", options.polish),
        max_iter=check_integer("max_iter", options.max_iter, least=1),
        tol=check_number("tol", options.tol, above=0),
        s0="auto" if (first := check_exponent(options.s0)) is None else first,
        init=check_init(align_to_columns("init", options.init, columns), k, p),
        prior=check_prior(align_to_columns("prior", options.prior, columns), p),
    )
    return checked if isinstance(lam, str) else checked.settle()


def check_scale(scale: Any) -> None:
    """Check a scaling of the features."""
    if is_decorrelated(scale):
        given_shrinkage(scale)
    else:
        check_choice("scale", scale, ("auto", "standard", None, "decorrelate"))


def check_starts(n_init: Any) -> int | str:
    """Check a number of starts, which may be "auto"."""
    if isinstance(n_init, str):
        if n_init != "auto":
            raise ValueError(f'n_init={n_init!r} must be a positive whole number or "auto"')
        return n_init
    return check_integer("n_init", n_init, least=1)


def warn_of_outliers(source: ArraySource | DaskSource, engine: Engine | None = None) -> None:
    """Warn of values many orders beyond the rest of their column.

    Parameters
    ----------
    source : ArraySource or DaskSource
    engine : Engine or None
        The engine of rows that are not at hand: it knows their sums of squares, which bound how
        far from the mean they reach, and a sample of them.
    """
    if isinstance(source, ArraySource):
        told = describe_outliers(source)
    else:
        assert engine is not None
        reach = np.sqrt(engine.squares * engine.n / engine.total) * engine.scale
        sample = engine.sample_for_starts(2).X
        told = describe_outliers(source, sample, (engine.center - reach, engine.center + reach))
    if told is not None:
        warnings.warn(told, OutlierWarning, stacklevel=5)


@one_blas_thread()
def fit_model(
    X: Any, sample_weight: Any, options: FitOptions, selection: SelectionOptions
) -> FittedModel:
    """Fit EWP to whatever holds the data.

    Parameters
    ----------
    X : array-like, DataFrame, path, function, dask array or DataFrame
    sample_weight : array-like of shape (n,), dask array or None
    options : FitOptions
        As the user stated them.
    selection : SelectionOptions
        How to choose the penalty if it is "auto".
    """
    source = open_source(X, sample_weight)
    options = check_options(options, source.p, source.columns)
    k = options.n_clusters
    source.check_clusters(k)
    if isinstance(source, ArraySource):
        warn_of_outliers(source)
    fitting = generator(options.random_state)
    outcome, warm_starts = None, []
    if options.lam == "auto":
        rows, weight, factor = rows_for_selection(source, k, whole=selection.needs_all_rows)
        outcome = select_candidate(rows, weight, options, selection)
        # a single start may fail where those of the folds did not
        options, warm_starts = outcome.apply(options, factor), outcome.warm_starts(factor)
    with tqdm(desc="EWP", unit=" steps", progress=options.progress) as bar:
        engine = make_engine(source, k, scale=options.scale, n_jobs=options.n_jobs)
        if isinstance(source, DaskSource):
            warn_of_outliers(source, engine)
        found = fit_engine(engine, options, fitting, known=warm_starts, on_step=bar.update)
    if not found.solution.converged:
        warnings.warn(
            f"no fixed point after max_iter={options.max_iter} steps; increase max_iter",
            ConvergenceWarning,
            stacklevel=4,
        )
    return FittedModel(to_results(found, options, source, outcome), found, outcome)


def to_results(
    found: Fit,
    options: FitOptions,
    source: DataSource,
    outcome: SelectionOutcome | None = None,
) -> EWPResults:
    """Dress a fit in the data's own names.

    Parameters
    ----------
    found : Fit
    options : FitOptions
        With what was chosen in the place of "auto".
    source : DataSource
        The data as the user gave them, kept by reference, with their names.
    outcome : SelectionOutcome or None
        How the penalty was chosen, if it was.
    """
    rows, columns = source.names
    seed = options.random_state
    plain = int(seed) if isinstance(seed, int | np.integer) else None
    clusters = pd.RangeIndex(options.n_clusters, name="cluster")
    trace = pd.DataFrame([dataclasses.asdict(row) for row in found.solution.trace])
    trace.insert(0, "iteration", range(len(trace)))
    return EWPResults(
        weights=pd.Series(found.weights, index=columns, name="weight"),
        centroids=pd.DataFrame(found.centroids, index=clusters, columns=columns),
        labels=pd.Series(found.labels, index=rows, name="cluster", copy=False),
        objective=found.solution.objective,
        objective_trace=trace,
        s0=found.s0,
        converged=found.solution.converged,
        n_iter=found.solution.n_iter,
        clusters=pd.DataFrame(
            {
                "size": found.partition.size,
                "mass": found.partition.mass,
                "withinss": found.partition.within,
            },
            index=clusters,
        ),
        totss=float(found.squares @ found.weights),
        center=found.center,
        scale=found.scale,
        prior=found.prior,
        critical_exponent=found.critical_exponent,
        # a generator would go on, and could not always be pickled
        fit_options=dataclasses.replace(options, random_state=plain),
        named_features=source.columns is not None,
        selection=None if outcome is None else outcome.record(),
        starts=_tabulate_starts(found),
        n_starts=len(found.starts.objective),
        data=source.data,
        sample_weight=source.weight,
        spread=found.deviations,
        decorrelation=found.decorrelation,
    )


def _tabulate_starts(found: Fit) -> pd.DataFrame:
    """One row a distinct optimum, the lowest first."""
    starts = found.starts
    return pd.DataFrame(
        {
            "objective": starts.optima,
            "gap_per_row": (starts.optima - starts.optima[0]) / found.total,
            "starts": starts.counts,
            "ari": starts.agreement,
        }
    )
