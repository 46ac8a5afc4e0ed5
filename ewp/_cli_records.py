"""What commands found, as plain data, and how it is printed as JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import typer

from ewp import __version__

if TYPE_CHECKING:
    from ewp._cli_tables import TableReader
    from ewp.comparison_results import Comparison
    from ewp.results import EWPResults

__all__ = [
    "assignment_record",
    "comparison_record",
    "demo_record",
    "diagnostic_tables",
    "fit_record",
    "frame_record",
    "show_json",
]


def _intervals(results: EWPResults) -> pd.DataFrame:
    """Intervals of the weights, of a fit that was bootstrapped."""
    found = results.bootstrap_
    assert found is not None
    return found.weight_intervals(0.95, found.method)


def diagnostic_tables(results: EWPResults) -> dict[str, pd.DataFrame]:
    """Tables of what was asked after a fit, by name."""
    tables = {}
    if results.bootstrap_ is not None:
        tables["weight_intervals"] = _intervals(results).rename_axis("feature")
    if results.stability_ is not None:
        tables["stability"] = results.stability_.clusters
    if results.feature_tests_ is not None:
        tables["feature_tests"] = results.feature_tests_.table.rename_axis("feature")
    if results.consistency_ is not None:
        found = results.consistency_
        tables["consistency"] = found.table
        slopes = found.slopes.assign(verdict=found.verdicts)
        tables["consistency_slopes"] = slopes.rename_axis("error")
    return tables


def show_json(record: dict[str, Any]) -> None:
    """Print a record as strict JSON; what is not a finite number becomes null."""
    typer.echo(json.dumps({"ewp": __version__, **_plain(record)}, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, pd.Series):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


def frame_record(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table as records, with the names of the rows."""
    named = frame.reset_index()
    return [dict(zip(map(str, named.columns), row, strict=True)) for row in named.to_numpy(object)]


def _data_record(table: TableReader) -> dict[str, Any]:
    return {
        "file": table.path,
        "sha256": table.sha256,
        "rows": table.n,
        "features": len(table.features),
    }


def fit_record(results: EWPResults, table: TableReader) -> dict[str, Any]:
    """A fit as plain data."""
    record = {
        "data": _data_record(table),
        "k": results.n_clusters,
        "lam": results.lam,
        "scaling": results.scaling,
        "dispersion": results.dispersion,
        "s0": results.s0,
        "critical_exponent": results.critical_exponent,
        "objective": results.objective,
        "converged": results.converged,
        "n_iter": results.n_iter,
        "effective_features": results.effective_features,
        "between_share": results.betweenss / results.totss if results.totss else math.nan,
        "options": results.options,
        "clusters": frame_record(results.clusters),
        "weights": results.weights,
        "centroids": frame_record(results.centroids),
        "labels": results.labels.to_numpy(),
    }
    tables = {name: frame_record(frame) for name, frame in diagnostic_tables(results).items()}
    return record | tables | _row_names(table)


def comparison_record(found: Comparison, table: TableReader) -> dict[str, Any]:
    """A comparison as plain data."""
    return {
        "data": _data_record(table),
        "k": found.k,
        "scaling": found.scaling,
        "n_trials": found.n_trials,
        "reference": found.reference,
        "settings": found.settings,
        "table": frame_record(found.table()),
        "scores": frame_record(found.scores.set_index("trial")),
    }


def assignment_record(
    assigned: pd.DataFrame, results: EWPResults, table: TableReader
) -> dict[str, Any]:
    """Assigned rows as plain data."""
    sizes = assigned["cluster"].value_counts().reindex(results.centroids.index, fill_value=0)
    record = {
        "data": _data_record(table),
        "k": results.n_clusters,
        "sizes": sizes,
        "labels": assigned["cluster"].to_numpy(),
        "distances": assigned["distance"].to_numpy(),
    }
    return record | _row_names(table)


def _row_names(table: TableReader) -> dict[str, Any]:
    """Names of the rows, where they are not all the rows of the file in order."""
    return {} if isinstance(table.rows, pd.RangeIndex) else {"rows": list(table.rows)}


def demo_record(table: pd.DataFrame, title: str, picture: Path) -> dict[str, Any]:
    """The table of the demonstration as plain data."""
    keys: list[Any] = list(table.columns)
    rows = [
        {"method": name}
        | {", ".join(map(str, key)): value for key, value in zip(keys, row, strict=True)}
        for name, row in zip(table.index, table.to_numpy(), strict=True)
    ]
    return {"title": title, "picture": str(picture), "table": rows}
