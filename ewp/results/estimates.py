"""Estimates of a fit as results: pandas objects under the data's own row and column names.

The solver returns arrays in the order of the data; here they get names, tables of the clusters, the
steps and the starts, and what the results know of their data and of the versions they come from.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ewp.common.calls import versions
from ewp.common.types import Array
from ewp.data.sources import ArraySource, DataSource
from ewp.data.sparse import has_sparse_rows
from ewp.engine.columns import FittedFamilies
from ewp.engine.divergence import ColumnDivergence
from ewp.report.page import data_hash
from ewp.results.results import EWPResults
from ewp.selection.decision import SelectionOutcome
from ewp.solver.fit import Fit, FitOptions

__all__ = ["to_results"]

#: Data up to this size are hashed.
_HASHED_BYTES = 2**28


def to_results(
    found: Fit,
    options: FitOptions,
    source: DataSource,
    outcome: SelectionOutcome | None = None,
    families: tuple[float | None, Array | None] | None = None,
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
    families : tuple or None
        Total of a row of size one, and sizes of the rows, where columns have divergences of their
        own.
    """
    rows, columns = source.names
    mass, made = found.partition.mass, None
    if families is not None:
        assert isinstance(found.divergence, ColumnDivergence)
        exact = found.divergence.without_search()
        made = FittedFamilies(exact, found.squares / exact.units, *families)
        if made.sizes is not None:
            mass = np.bincount(found.labels, source.weight, options.n_clusters).astype(float)
    hashed = 8 * source.n * source.p <= _HASHED_BYTES
    here = None
    if isinstance(source, ArraySource) and (source.in_memory or has_sparse_rows(source.array)):
        here = source.array
    clusters = pd.RangeIndex(options.n_clusters, name="cluster")
    steps = found.solution.trace
    trace = pd.DataFrame(
        {"iteration": range(len(steps))}
        | {name: [getattr(row, name) for row in steps] for name in vars(steps[0])}
    )
    table = {
        "size": found.partition.size,
        "mass": mass,
        "withinss": found.partition.within,
    }
    weights: pd.Series | pd.DataFrame
    if found.price is None:
        weights = pd.Series(found.weights, index=columns, name="weight")
        totss = float(found.squares @ found.weights)
    else:
        weights = pd.DataFrame(found.weights, index=clusters, columns=columns)
        table["price"] = found.price
        away = (found.weights * found.solution.theta**2).sum(axis=1)
        totss = float(found.partition.within.sum() + found.partition.mass @ away)
    return EWPResults(
        weights=weights,
        centroids=pd.DataFrame(found.centroids, index=clusters, columns=columns),
        labels=pd.Series(found.labels, index=rows, name="cluster", copy=False),
        objective=found.solution.objective,
        objective_trace=trace,
        s0=found.s0,
        converged=found.solution.converged,
        n_iter=found.solution.n_iter,
        clusters=pd.DataFrame(table, index=clusters),
        totss=totss,
        center=found.center,
        scale=found.scale,
        prior=found.prior,
        critical_exponent=found.critical_exponent,
        fit_options=options,
        named_features=source.columns is not None,
        selection=None if outcome is None else outcome.record(),
        starts=_tabulate_starts(found),
        n_starts=len(found.starts.objective),
        data=source.data,
        sample_weight=source.weight,
        spread=found.deviations,
        observed=found.observed,
        within=found.within,
        decorrelation=found.decorrelation,
        families=made,
        versions=versions(),
        data_sha256=data_hash(here) if hashed else None,
    )


def _tabulate_starts(found: Fit) -> pd.DataFrame:
    """One row per distinct optimum, the lowest first."""
    starts = found.starts
    table = pd.DataFrame(
        {
            "objective": starts.optima,
            "gap_per_row": (starts.optima - starts.optima[0]) / found.total,
            "starts": starts.counts,
            "ari": starts.agreement,
        }
    )
    if starts.sparse:
        table.insert(3, "sparse", starts.sparse_counts)
    if starts.recombined.any():
        table["recombined"] = starts.recombined
    return table
