"""Data and options to results: the one orchestration of a fit.

`fit_model` opens the data, checks the options, settles what is automatic, fits, and dresses the
outcome in the data's own names. The estimator, `select_lambda`, `select_k` and the command line all
call it; nothing else does what it does. `refit` is the same for results that are there already.
"""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from ewp.common.calls import chain_call, same_as, write_call
from ewp.common.checks import check_choice
from ewp.common.parallel import one_blas_thread, tqdm
from ewp.common.types import Array
from ewp.data.arguments import generator, stated_seed
from ewp.data.outliers import OutlierWarning, describe_outliers
from ewp.data.scales import describe_scales
from ewp.data.sources import ArraySource, DaskSource, open_source
from ewp.data.sparse import dense_rows, has_sparse_rows
from ewp.display.evidence import NoClustersWarning
from ewp.display.fit_summary import is_weighted
from ewp.engine import make_engine, rows_for_selection
from ewp.engine.array import ArrayEngine
from ewp.engine.base import Engine
from ewp.engine.columns import check_domains, rows_per_unit
from ewp.engine.precision import DOUBLE
from ewp.results.estimates import to_results
from ewp.results.partition import dispersions_within
from ewp.results.results import EWPResults
from ewp.selection.decision import SelectionOutcome, select_candidate
from ewp.selection.options import SelectionOptions
from ewp.solver.cluster_fit import fit_clusters
from ewp.solver.fit import Fit, FitOptions, WarmStart, fit_engine
from ewp.solver.options import align_options, check_options
from ewp.solver.trimming import Trimmed, first_core, fit_trimmed, trimming_share

__all__ = ["FittedModel", "fit_model", "refit", "state_options", "warn_of_outliers"]

#: Options on which no figure depends, and those that a call states otherwise.
_WITHOUT_EFFECT = ("n_jobs", "progress")
_UNSTATED = ("n_clusters", "random_state", *_WITHOUT_EFFECT)
#: What a selection asks for itself.
_OWN = ("partial", "separation")


class FittedModel(NamedTuple):
    """What a fit made: results, their arrays and, if the penalty was chosen, how that was done."""

    results: EWPResults
    found: Fit
    outcome: SelectionOutcome | None


def state_options(
    selection: SelectionOptions, options: FitOptions, weight: Any = None
) -> dict[str, Any]:
    """Options that a call has to state: all that differ from the defaults, and the seed.

    Parameters
    ----------
    selection : SelectionOptions
        As the user stated them.
    options : FitOptions
        As the user stated them, with a seed.
    weight : array-like or None
        Sample weights.
    """
    stated = {
        one.name: value
        for given in (selection, options)
        for one in dataclasses.fields(given)
        if one.name not in (*_UNSTATED, *_OWN)
        and not same_as(value := getattr(given, one.name), one.default)
    }
    if weight is not None:
        stated["sample_weight"] = weight
    return stated | {"random_state": options.random_state}


def write_fit_call(options: FitOptions, selection: SelectionOptions, weight: Any) -> str:
    """Write the call of a fit, by the door at which its options can be stated."""
    plain = SelectionOptions()
    if options.lam == "auto":
        stated = state_options(selection, options, weight)
        if stated.keys() - state_options(plain, options, weight).keys():
            asked = ["X", options.n_clusters]
            return write_call("ewp.select_lambda", asked, stated, attribute=".results")
    return write_call("ewp.fit", ["X", options.n_clusters], state_options(plain, options, weight))


def warn_of_scales(
    variances: np.ndarray, columns: pd.Index, used: np.ndarray, *, stacklevel: int
) -> None:
    """Warn of features of very different scale that are left as they are."""
    told = describe_scales(variances, columns, used)
    if told is not None:
        warnings.warn(told, stacklevel=stacklevel + 1)


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
        reach = np.sqrt(engine.n) * engine.column_deviations
        sample, made = engine.sample_for_starts(2).X, engine.decorrelation
        rows = sample if made is None else made.invert(sample)
        told = describe_outliers(source, rows, (engine.means - reach, engine.means + reach))
    if told is not None:
        warnings.warn(told, OutlierWarning, stacklevel=5)


@one_blas_thread()
def fit_model(
    X: Any,
    sample_weight: Any,
    options: FitOptions,
    selection: SelectionOptions,
    known: Sequence[WarmStart] = (),
) -> FittedModel:
    """Fit EWP to whatever holds the data.

    Parameters
    ----------
    X : array-like, table, path, function, dask array or DataFrame
    sample_weight : array-like of shape (n,), dask array or None
    options : FitOptions
        As the user stated them.
    selection : SelectionOptions
        How to choose the penalty if it is "auto".
    known : sequence of WarmStart
        Partitions found before, which are tried too.
    """
    check_choice("missing", options.missing, ("error", "observed"))
    source = open_source(X, sample_weight, options.missing)
    stated = align_options(options, source.columns, source.data)
    options = check_options(stated, source.names[1], source.n)
    k = options.n_clusters
    source.check_clusters(k)
    options = _with_possible_weights(options, source)
    share = trimming_share(options.robust)
    if isinstance(source, ArraySource) and share is None:
        warn_of_outliers(source)
    # what is stated is drawn from: a generator, or chance, could not be had again
    stated = dataclasses.replace(
        stated, n_clusters=k, random_state=stated_seed(options.random_state)
    )
    options = dataclasses.replace(options, random_state=stated.random_state)
    fitting = generator(options.random_state)
    outcome, warm_starts, mass = None, [*known], source.weight
    given, families = source, None
    if options.families is not None:
        source, families = _per_unit(source, options)
        source.check_clusters(k)
    if share is not None:
        source = _first_core(source, options, share)
    if options.lam == "auto":
        rows, weight, factor, sizes = rows_for_selection(
            source, k, whole=selection.needs_all_rows, sizes=families and families[1]
        )
        if share is not None and not selection.needs_all_rows:
            assert weight is not None
            rows, weight = rows[weight > 0], weight[weight > 0]
        outcome = select_candidate(rows, weight, options, selection, sizes)
        # a single start may fail where those of the folds did not
        options = outcome.apply(options, factor)
        warm_starts += outcome.warm_starts(factor)
    with tqdm(desc="EWP", unit=" steps", progress=options.progress) as bar:
        engine = make_engine(
            source,
            k,
            scale=options.scale,
            prior=options.prior,
            n_jobs=options.n_jobs,
            dtype=options.dtype,
            names=options.families,
        )
        if engine.dtype != DOUBLE or options.dtype is not None:
            options = dataclasses.replace(options, dtype=engine.dtype.name)
        if isinstance(source, DaskSource):
            warn_of_outliers(source, engine)
        if stated.scale == "auto" and outcome is None and families is None:
            used = engine.varying if options.prior is None else options.prior > 0
            warn_of_scales(
                engine.squares / engine.total, source.names[1], used & engine.varying, stacklevel=4
            )
        trimmed = None
        if options.by_cluster:
            assert isinstance(engine, ArrayEngine)
            found = fit_clusters(engine, options, fitting, known=warm_starts, on_step=bar.update)
        elif share is None:
            found = fit_engine(engine, options, fitting, known=warm_starts, on_step=bar.update)
        else:
            assert isinstance(engine, ArrayEngine)
            trimmed = fit_trimmed(
                engine, mass, share, options, fitting, known=warm_starts, on_step=bar.update
            )
            found = trimmed.found
    if not found.solution.converged:
        warnings.warn(
            f"no fixed point after max_iter={options.max_iter} steps; increase max_iter",
            ConvergenceWarning,
            stacklevel=4,
        )
    evidence = None if outcome is None else outcome.evidence
    if k > 1 and evidence is not None and not evidence.clear:
        warnings.warn(evidence.words(), NoClustersWarning, stacklevel=4)
    results = to_results(found, options, given, outcome, families)
    weight = getattr(source, "sample_weight", mass)
    if trimmed is not None:
        results.outliers = _tabulate_outliers(trimmed, mass, results.labels.index)
        results.sample_weight = trimmed.kept * (1.0 if mass is None else mass)
    results.call = write_fit_call(stated, selection, weight)
    return FittedModel(results, found, outcome)


def refit(
    results: EWPResults, *, X: Any = None, sample_weight: Any = None, **options: Any
) -> EWPResults:
    """Fit the data of results again, see `EWPResults.refit`."""
    rows, held = results.rows_of(X)
    if held and sample_weight is not None:
        raise ValueError(
            "sample_weight belongs to X: these results hold their data and weights themselves"
        )
    weight = results.sample_weight if held else sample_weight
    if results.outliers is not None and sample_weight is None:
        # those before anything was trimmed
        weight = results.outliers["mass"].to_numpy()
        weight = None if (weight == 1.0).all() else weight
    elif weight is None and is_weighted(results):
        raise ValueError(
            "the fit had sample weights, which these results do not hold: pass X and sample_weight"
        )
    names = {one.name for one in dataclasses.fields(FitOptions)}
    for name in options:
        if name not in names:
            raise TypeError(
                f"refit() got an unexpected keyword argument {name!r}; it is no option of EWP"
            )
    asked = dataclasses.replace(results.fit_options, **options)
    if "offset" not in options and isinstance(asked.offset, np.ndarray):
        n = open_source(rows).n
        if n != results.n_obs:
            raise ValueError(
                f"X has {n} rows, but the fit had sizes of its {results.n_obs} "
                "(offset): give those of X too, as in refit(X=..., offset=...)"
            )
        # other data may have the same rows in another order
        sizes = pd.Series(asked.offset, index=results.labels.index)
        asked = dataclasses.replace(asked, offset=sizes)
    dispersion = dispersions_within(results)
    known = []
    own = results.fit_options
    alike = asked.scale == own.scale or not (asked.decorrelates or own.decorrelates)
    if alike and asked.n_clusters == results.n_clusters and asked.polish and dispersion is not None:
        known = [WarmStart(results.centroids.to_numpy(dtype=float), dispersion)]
    again = fit_model(rows, weight, asked, SelectionOptions(), known).results
    if results.call:
        stated = {name: value for name, value in options.items() if name not in _WITHOUT_EFFECT}
        if "random_state" in stated:
            stated["random_state"] = again.fit_options.random_state
        again.call = chain_call(results.call, write_call(".refit", [], stated))
    else:
        again.call = ""
    return again


def _with_possible_weights(options: FitOptions, source: ArraySource | DaskSource) -> FitOptions:
    """Return the options without weights for every cluster where there can be none, if not asked.

    Raises
    ------
    ValueError
        If they were asked for.
    """
    if options.weights == "common":
        return options
    reason = None
    if not isinstance(source, ArraySource):
        reason, cure = "needs rows in memory", "compute the Dask collection"
    elif has_sparse_rows(source.array):
        reason, cure = "needs dense rows", "give X.toarray()"
    elif not source.in_memory:
        reason, cure = "needs rows in memory", "give an array or a DataFrame"
    elif options.families is not None or options.offset is not None:
        reason, cure = "needs squared differences", "give neither divergence nor offset"
    elif options.robust is not None:
        reason, cure = f"is not possible with robust={options.robust!r}", "give robust=None"
    elif options.missing == "observed" and np.isnan(source.array).any():
        reason, cure = "needs all values of a row, but X has missing ones", "fill or drop them"
    if reason is None:
        return options
    if options.by_cluster:
        raise ValueError(f'weights="cluster" {reason}; {cure}, or give weights="common"')
    return dataclasses.replace(options, weights="common")


def _first_core(source: ArraySource | DaskSource, options: FitOptions, share: float) -> ArraySource:
    """Return the source with weights of zero for the rows that a trimmed fit begins without."""
    if isinstance(source, ArraySource) and has_sparse_rows(source.array):
        source = copy.copy(source)
        cure = "give fewer rows or columns"
        source.array = dense_rows(source.array, f"robust={options.robust!r}", cure)
        source.in_memory = True
    if not isinstance(source, ArraySource) or not source.in_memory:
        raise ValueError(
            f"robust={options.robust!r} needs rows in memory, to see which are farthest; give an "
            "array or a DataFrame"
        )
    k = options.n_clusters
    used = np.ones(source.p, dtype=bool) if options.prior is None else options.prior > 0
    rng = np.random.default_rng(options.random_state)
    kept = first_core(source.array, source.weight, k, share, used, rng)
    core = copy.copy(source)
    core.weight = kept * (1.0 if source.weight is None else source.weight)
    core.check_clusters(k)
    return core


def _tabulate_outliers(trimmed: Trimmed, mass: np.ndarray | None, rows: pd.Index) -> pd.DataFrame:
    """One row per row of the data: weight, distance, how far out it is, whether it was trimmed."""
    distance = np.sqrt(np.maximum(trimmed.distance, 0.0))
    edge = float(distance[trimmed.kept].max(initial=0.0))
    counted = np.ones(len(distance)) if mass is None else mass
    return pd.DataFrame(
        {
            "mass": counted,
            "distance": distance,
            "outlyingness": distance / edge if edge > 0 else np.where(distance > 0, np.inf, 0.0),
            "trimmed": ~trimmed.kept & (counted > 0),
        },
        index=rows,
    )


def _per_unit(
    source: ArraySource | DaskSource, options: FitOptions
) -> tuple[ArraySource, tuple[float | None, Array | None]]:
    """Return rows per unit of their size, which weigh as much as they are large, and the sizes."""
    names = options.families
    assert names is not None
    if isinstance(source, ArraySource) and has_sparse_rows(source.array):
        source = copy.copy(source)
        source.array = dense_rows(source.array, "divergence", "give fewer rows or columns")
        source.in_memory = True
    if not isinstance(source, ArraySource) or not source.in_memory:
        raise ValueError(
            "divergence: rows have to be in memory unless all columns have squared differences; "
            "give an array or a DataFrame"
        )
    made = copy.copy(source)
    made.array = np.ascontiguousarray(source.array, dtype=np.float64)
    check_domains(made.array, names, source.names[1])
    found = rows_per_unit(made.array, source.weight, options.offset)
    made.array, made.weight, reference, sizes = found
    return made, (reference, sizes)
