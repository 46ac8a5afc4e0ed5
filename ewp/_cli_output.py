"""What the command line gives back: files, JSON, sentences on stderr and exit codes."""

from __future__ import annotations

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

from ewp import _cli_records as records
from ewp.checks import problem_with_file

if TYPE_CHECKING:
    from ewp._cli_options import Giving
    from ewp._cli_tables import TableReader
    from ewp.comparison_results import Comparison
    from ewp.results import EWPResults

__all__ = [
    "BAD_INPUT",
    "INTERRUPTED",
    "MODEL",
    "NOT_CONVERGED",
    "NOT_READY",
    "assignments",
    "check_file",
    "check_targets",
    "deliver_comparison",
    "deliver_fit",
    "guarded",
    "tell",
]

NOT_READY, BAD_INPUT, NOT_CONVERGED, INTERRUPTED = 1, 2, 3, 130
MODEL = "model.npz"


def _note(command: str, message: object) -> None:
    """Say something on stderr."""
    typer.echo(f"ewp {command}: {message}", err=True)


@contextmanager
def guarded(command: str) -> Iterator[None]:
    """Turn errors, warnings and Ctrl-C into sentences on stderr and exit codes.

    Parameters
    ----------
    command : str
        As the sentences begin.
    """

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, UserWarning):
            _note(command, message)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        try:
            yield
        except (typer.Exit, BrokenPipeError):
            raise  # a RuntimeError with a code; and typer leaves quietly when nobody reads on
        except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:
            _note(command, error)
            raise typer.Exit(BAD_INPUT) from error
        except MemoryError as error:
            _note(command, "there is not enough memory for this; take fewer rows or columns")
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt as error:
            if sys.stderr.isatty():
                typer.echo(err=True)  # a bar may stand in the line
            _note(command, "interrupted; nothing more was written")
            raise typer.Exit(INTERRUPTED) from error


def tell(command: str, notes: list[str]) -> None:
    """Say on stderr how a table was understood."""
    for text in notes:
        _note(command, text)


def check_file(option: str, path: Path | None) -> None:
    """Complain about a file that cannot be written, before anything is computed."""
    problem = None if path is None else problem_with_file(path)
    if problem:
        raise ValueError(f"{option} {str(path)!r}: {problem}")


def check_targets(giving: Giving) -> None:
    """Complain about places that cannot be written to, and make the folder."""
    check_file("--report", giving.report)
    out = giving.out
    if out is not None:
        if out.exists() and not out.is_dir():
            raise ValueError(f"--out {str(out)!r} is a file; give the name of a folder")
        out.mkdir(parents=True, exist_ok=True)
        if not os.access(out, os.W_OK):
            raise ValueError(f"--out {str(out)!r} may not be written; choose another folder")


def deliver_fit(
    command: str, found: Any, results: EWPResults, table: TableReader, giving: Giving
) -> None:
    """Give back a fit or a selection with its fit, and leave with the exit code it deserves.

    Parameters
    ----------
    command : str
    found : object
        What is printed: the results or a selection.
    results : EWPResults
    table : TableReader
    giving : Giving
    """
    if giving.out is not None:
        _put_fit(results, table, giving.out)
    if giving.report is not None:
        results.report(giving.report, details=_details(table))
    if giving.json:
        record = records.fit_record(results, table)
        if found is not results:
            record["candidates"] = records.frame_record(found.table)
        records.show_json(record)
    else:
        typer.echo(str(found))
        for answer in (results.stability_, results.consistency_):  # the others are in the summary
            if answer is not None:
                typer.echo(f"\n{answer}")
    _tell_written(command, giving)
    asked = (results.bootstrap_, results.stability_, results.feature_tests_, results.consistency_)
    if not all(getattr(answer, "complete", True) for answer in (found, *asked)):
        _note(command, "interrupted; what is shown rests on what was finished")
        raise typer.Exit(INTERRUPTED)
    if not results.converged:
        raise typer.Exit(NOT_CONVERGED)


def deliver_comparison(found: Comparison, table: TableReader, giving: Giving) -> None:
    """Give back a comparison, and leave with the exit code it deserves."""
    if giving.out is not None:
        _put_comparison(found, giving.out)
    if giving.report is not None:
        found.report(giving.report, details=_details(table))
    if giving.json:
        records.show_json(records.comparison_record(found, table))
    else:
        typer.echo(str(found))
    _tell_written("compare", giving)
    if not found.complete:
        _note("compare", "interrupted; what is shown rests on the trials that were finished")
        raise typer.Exit(INTERRUPTED)


def _tell_written(command: str, giving: Giving) -> None:
    for path in (giving.out, giving.report):
        if path is not None:
            _note(command, f"written: {path}")


def assignments(results: EWPResults, table: TableReader) -> pd.DataFrame:
    """Clusters and weighted distances of the rows of a table, block by block."""
    from ewp.assigning import assign

    parts = [assign(results._check(block), *results._metric()) for block in table.blocks()]
    cluster = np.concatenate([nearest for nearest, _ in parts])
    squared = np.concatenate([square for _, square in parts])
    columns = {"cluster": cluster, "distance": np.sqrt(np.maximum(squared, 0.0))}
    return pd.DataFrame(columns, index=table.rows)


def _details(table: TableReader) -> dict[str, str]:
    """Lines of a report that only the command line knows."""
    return {
        "File": "standard input" if table.path == "-" else table.path,
        "SHA-256 of the file": table.sha256,
        "Command": shlex.join(["ewp", *sys.argv[1:]]),
    }


def _put_fit(results: EWPResults, table: TableReader, out: Path) -> list[str]:
    """Write a fit into a folder and return the names of the files."""
    labels = results.labels.set_axis(table.rows)
    found = records.diagnostic_tables(results)
    weights = found.pop("weight_intervals", results.weights.to_frame())
    frames = {
        "labels.csv": labels.to_frame(),
        "weights.csv": weights.rename_axis("feature"),
        "centroids.csv": results.centroids,
        "clusters.csv": results.clusters,
        **{f"{name}.csv": frame for name, frame in found.items()},
    }
    for name, frame in frames.items():
        frame.to_csv(out / name)
    results.save(out / MODEL)
    return [*frames, MODEL]


def _put_comparison(found: Comparison, out: Path) -> list[str]:
    """Write a comparison into a folder and return the names of the files."""
    found.table().to_csv(out / "table.csv")
    found.scores.to_csv(out / "scores.csv", index=False)
    found.weights.to_csv(out / "weights.csv")
    return ["table.csv", "scores.csv", "weights.csv"]
