"""What the command line gives back: files, JSON, sentences on stderr and exit codes."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import typer

from ewp.common import __version__
from ewp.common.calls import versions
from ewp.common.files import problem_with_target, written_aside, written_together
from ewp.common.parallel import one_blas_thread
from ewp.data.scales import ScaleWarning
from ewp.diagnostics import RECORDS
from ewp.display.formatting import no_formula
from ewp.results.storage import dump

if TYPE_CHECKING:
    from ewp.cli.options import OutputOptions
    from ewp.cli.tables import TableReader
    from ewp.comparison.results import Comparison
    from ewp.results.results import EWPResults

__all__ = [
    "BAD_INPUT",
    "INTERRUPTED",
    "MODEL",
    "NOT_CONVERGED",
    "NOT_READY",
    "assignment_record",
    "assignments",
    "check_file",
    "check_targets",
    "comparison_record",
    "csv_text",
    "demo_record",
    "diagnostic_tables",
    "fit_record",
    "frame_record",
    "handle_errors",
    "print_notes",
    "printable",
    "show_json",
    "write_comparison",
    "write_csv",
    "write_fit",
]

#: How the scaling of the features is stated here.
_STATE_SCALE = (
    "--scale standard standardises the features, as a choice of the penalty may do; --scale none "
    "states that raw features are meant"
)
NOT_READY, BAD_INPUT, NOT_CONVERGED, INTERRUPTED = 1, 2, 3, 130
MODEL = "model.npz"


def printable(text: str) -> str:
    r"""Show control characters, which could steer a terminal, as their escapes.

    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return "".join(
        character
        if character in "\n\t" or character.isprintable() or character == " "
        else character.encode("unicode_escape").decode()
        for character in text
    )


def _print_note(command: str, message: object) -> None:
    """Say something on stderr."""
    typer.echo(printable(f"ewp {command}: {message}"), err=True)


@contextmanager
def handle_errors(command: str) -> Iterator[None]:
    """Turn errors, warnings and Ctrl-C into sentences on stderr and exit codes.

    Parameters
    ----------
    command : str
        As the sentences begin.
    """

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, ScaleWarning):
            _print_note(command, f"{message.facts} {_STATE_SCALE}")
        elif issubclass(category, UserWarning):
            _print_note(command, message)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        try:
            yield
        except (typer.Exit, BrokenPipeError):
            raise  # a RuntimeError with a code; and typer leaves quietly when nobody reads on
        except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:
            if (ending := _ending(error)) is not None:
                raise ending from error
            _print_note(command, error)
            raise typer.Exit(BAD_INPUT) from error
        except MemoryError as error:
            _print_note(command, "there is not enough memory for this; take fewer rows or columns")
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt as error:
            if sys.stderr.isatty():
                typer.echo(err=True)  # a bar may stand in the line
            _print_note(command, "interrupted; nothing more was written")
            raise typer.Exit(INTERRUPTED) from error


def _ending(error: BaseException) -> SystemExit | None:
    """Return the end that was asked for, if putting things away failed with this error."""
    context = error.__context__
    while context is not None and not isinstance(context, SystemExit):
        context = context.__context__
    return context


def print_notes(command: str, notes: list[str]) -> None:
    """Say on stderr how a table was understood."""
    for text in notes:
        _print_note(command, text)


def check_file(option: str, path: Path | None) -> None:
    """Complain about a file that cannot be written, before anything is computed."""
    problem = None if path is None else problem_with_target(path)
    if problem:
        raise ValueError(f"{option} {str(path)!r}: {problem}")


def check_targets(giving: OutputOptions) -> None:
    """Complain about places that cannot be written to, and make the folder."""
    check_file("--report", giving.report)
    out = giving.out
    if out is not None:
        if out.exists() and not out.is_dir():
            raise ValueError(f"--out {str(out)!r} is a file; give the name of a folder")
        out.mkdir(parents=True, exist_ok=True)
        if not os.access(out, os.W_OK):
            raise ValueError(f"--out {str(out)!r} may not be written; choose another folder")


def write_fit(
    command: str, found: Any, results: EWPResults, table: TableReader, giving: OutputOptions
) -> None:
    """Give back a fit or a selection with its fit, and leave with the exit code it deserves.

    Parameters
    ----------
    command : str
    found : object
        What is printed: the results or a selection.
    results : EWPResults
    table : TableReader
    giving : OutputOptions
    """
    if giving.out is not None:
        _write_fit_tables(results, table, giving.out)
    if giving.report is not None:
        results.report(giving.report, details=_details(table))
    if giving.json:
        record = fit_record(results, table)
        if found is not results:
            record["candidates"] = frame_record(found.table)
        show_json(record)
    else:
        typer.echo(printable(str(found)))
        # the others are in the summary
        others = (results.stability_, results.consistency_, results.refinement_)
        for answer in (*others, results.differences_):
            if answer is not None:
                typer.echo(printable(f"\n{answer}"))
    _print_written(command, giving)
    asked = [getattr(results, name) for name in RECORDS]
    if not all(getattr(answer, "complete", True) for answer in (found, *asked)):
        _print_note(command, "interrupted; what is shown rests on what was finished")
        raise typer.Exit(INTERRUPTED)
    if not results.converged:
        raise typer.Exit(NOT_CONVERGED)


def write_comparison(found: Comparison, table: TableReader, giving: OutputOptions) -> None:
    """Give back a comparison, and leave with the exit code it deserves."""
    if giving.out is not None:
        _write_comparison_tables(found, giving.out)
    if giving.report is not None:
        found.report(giving.report, details=_details(table))
    if giving.json:
        show_json(comparison_record(found, table))
    else:
        typer.echo(printable(str(found)))
    _print_written("compare", giving)
    if not found.complete:
        _print_note("compare", "interrupted; what is shown rests on the trials that were finished")
        raise typer.Exit(INTERRUPTED)


def _print_written(command: str, giving: OutputOptions) -> None:
    for path in (giving.out, giving.report):
        if path is not None:
            _print_note(command, f"written: {path}")


@one_blas_thread()
def assignments(results: EWPResults, table: TableReader) -> pd.DataFrame:
    """Clusters and weighted distances of the rows of a table, block by block."""
    parts = [results.nearest(results.checked(block)) for block in table.blocks()]
    cluster = np.concatenate([nearest for nearest, _ in parts])
    squared = np.concatenate([square for _, square in parts])
    columns = {"cluster": cluster, "distance": np.sqrt(np.maximum(squared, 0.0))}
    return pd.DataFrame(columns, index=table.rows)


def csv_text(frame: pd.DataFrame, *, index: bool = True) -> str:
    """A table as CSV; names that a spreadsheet would take for formulas begin with an apostrophe."""
    shown = frame.copy()
    shown.columns = _no_formulas(frame.columns)
    if index:
        shown.index = _no_formulas(frame.index)
    return str(shown.to_csv(index=index))


def _no_formulas(names: pd.Index) -> pd.Index:
    """Names of which none begins like a formula; numbers stay as they are."""
    if isinstance(names, pd.MultiIndex):
        levels = [_no_formulas(names.get_level_values(i)) for i in range(names.nlevels)]
        return pd.MultiIndex.from_arrays(levels, names=[no_formula(n) for n in names.names])
    if pd.api.types.is_numeric_dtype(names):
        return names.rename(no_formula(names.name))
    return pd.Index([no_formula(name) for name in names], name=no_formula(names.name))


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table to a file, which is replaced when all is written."""
    with written_aside(path, "w") as file:
        file.write(csv_text(frame))


def _details(table: TableReader) -> dict[str, str]:
    """Lines of a report that only the command line knows."""
    return {
        "File": "standard input" if table.path == "-" else table.path,
        "SHA-256 of the file": table.sha256,
        "Command": shlex.join(["ewp", *sys.argv[1:]]),
    }


def _weights_by_feature(results: EWPResults) -> pd.DataFrame:
    """One row per feature; where every cluster has weights of its own, one column per cluster."""
    weights = results.weights
    if isinstance(weights, pd.DataFrame):
        return weights.T.add_prefix("cluster ")
    return weights.to_frame()


def _write_fit_tables(results: EWPResults, table: TableReader, out: Path) -> list[str]:
    """Write a fit into a folder and return the names of the files."""
    labels = results.labels.set_axis(table.rows)
    found = diagnostic_tables(results) | _refined_rows(results, table)
    weights = _weights_by_feature(results)
    if not results.by_cluster:  # else intervals are a file of their own: a row is no feature
        weights = found.pop("weight_intervals", weights)
    frames = {
        "labels.csv": labels.to_frame(),
        "weights.csv": weights.rename_axis("feature"),
        "centroids.csv": results.centroids,
        "clusters.csv": results.clusters,
        **{f"{name}.csv": frame for name, frame in found.items()},
    }
    with written_together() as new:
        for name, frame in frames.items():
            new(out / name, "w").write(csv_text(frame))
        dump(results, new(out / MODEL))
    return [*frames, MODEL]


def _write_comparison_tables(found: Comparison, out: Path) -> list[str]:
    """Write a comparison into a folder and return the names of the files."""
    with written_together() as new:
        new(out / "table.csv", "w").write(csv_text(found.table()))
        new(out / "scores.csv", "w").write(csv_text(found.scores, index=False))
        new(out / "weights.csv", "w").write(csv_text(found.weights))
    return ["table.csv", "scores.csv", "weights.csv"]


def diagnostic_tables(results: EWPResults) -> dict[str, pd.DataFrame]:
    """Tables of what was asked after a fit, by name."""
    tables = {}
    if results.bootstrap_ is not None:
        ends = results.bootstrap_.weight_intervals()
        tables["weight_intervals"] = ends if results.by_cluster else ends.rename_axis("feature")
        if results.bootstrap_.similarity is not None:
            tables["bootstrap_clusters"] = results.bootstrap_.clusters
    if results.stability_ is not None:
        tables["stability"] = results.stability_.clusters
    if results.feature_tests_ is not None:
        tables["feature_tests"] = results.feature_tests_.table.rename_axis("feature")
    if results.differences_ is not None:
        tables["differences"] = results.differences_.table.rename_axis("test")
    if results.consistency_ is not None:
        found = results.consistency_
        tables["consistency"] = found.table
        slopes = found.slopes.assign(verdict=found.verdicts)
        tables["consistency_slopes"] = slopes.rename_axis("error")
    return tables


def _refined_rows(results: EWPResults, table: TableReader) -> dict[str, pd.DataFrame]:
    """Refined clusters of the rows and their probabilities, where they were asked for."""
    found = results.refinement_
    if found is None:
        return {}
    rows = found.probabilities.add_prefix("cluster ").set_axis(table.rows)
    rows.insert(0, "refined", found.labels.to_numpy())
    return {"refinement": rows}


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


def _origin(call: str, seed: int | None) -> dict[str, Any]:
    """How to have a result again: the command, the call on the table as X, seed and versions."""
    return {
        "command": shlex.join(["ewp", *sys.argv[1:]]),
        "call": call,
        "seed": seed,
        "versions": versions(),
    }


def fit_record(results: EWPResults, table: TableReader) -> dict[str, Any]:
    """A fit as plain data."""
    own = results.weights
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
        **_origin(results.call, results.fit_options.random_state),
        "recipe": results.recipe,
        "clusters": frame_record(results.clusters),
        "weights": frame_record(own) if isinstance(own, pd.DataFrame) else own,
        "centroids": frame_record(results.centroids),
        "labels": results.labels.to_numpy(),
    }
    found = diagnostic_tables(results) | _refined_rows(results, table)
    tables = {name: frame_record(frame) for name, frame in found.items()}
    return record | tables | _row_names(table)


def comparison_record(found: Comparison, table: TableReader) -> dict[str, Any]:
    """A comparison as plain data."""
    return {
        "data": _data_record(table),
        "k": found.k,
        "scaling": found.scaling,
        "n_trials": found.n_trials,
        "replicates": found.replicates,
        "reference": found.reference,
        "settings": found.settings,
        **_origin(found.call, found.seed),
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
