"""The command line ``ewp``: a thin face over the package, one function per command.

Options are declared in `ewp.cli.options`, tables read by `ewp.cli.tables`, results given back by
`ewp.cli.output`.
"""

from __future__ import annotations

import dataclasses
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ewp.cli import demo as example
from ewp.cli import options as opt
from ewp.cli import output
from ewp.cli.tables import TableReader
from ewp.common import __version__
from ewp.comparison.compare import compare as compare_methods
from ewp.display.formatting import fixed
from ewp.fitting import fit_model
from ewp.results.results import EWPResults
from ewp.select import select_k, select_lambda
from ewp.selection.options import SelectionOptions
from ewp.solver.fit import FitOptions

__all__ = ["app", "main"]


app = typer.Typer(
    name="ewp",
    help="Entropy Weighted Power k-means: clustering that learns which features matter.",
    epilog="Exit codes: 0 done; 1 ewp doctor found something missing; 2 the arguments or the data "
    "cannot be used, and stderr says why; 3 done, but the fit did not converge; 130 interrupted; "
    "143 ended by SIGTERM.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"ewp {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Entropy Weighted Power k-means: clustering that learns which features matter."""


@app.command()
@opt.expand_records
def fit(
    data: opt.Data,
    k: opt.Number,
    reading: opt.ReadOptions,
    giving: opt.OutputOptions,
    lam: opt.Lam = "auto",
    scale: opt.Scaling = "auto",
    dispersion: opt.Form = opt.Dispersion.auto,
    weights: opt.OfWeights = opt.Weights.common,
    missing: opt.MissingValues = opt.Missing.error,
    robust: opt.Robust = None,
    divergence: opt.Divergence = FitOptions.divergence,
    offset: opt.Offset = None,
    starts: opt.Starts = str(FitOptions.n_init),
    max_iter: opt.Steps = FitOptions.max_iter,
    bootstrap: Annotated[
        int,
        typer.Option(
            min=0, help="Resamples for intervals of the weights, 160 or more; 0 for none."
        ),
    ] = 0,
    stability: Annotated[
        int, typer.Option(min=0, help="Resamples for the stability of the clusters; 0 for none.")
    ] = 0,
    test: Annotated[bool, typer.Option("--test", help="Test every feature.")] = False,
    consistency: Annotated[
        bool, typer.Option("--consistency", help="Fit subsamples of growing size too.")
    ] = False,
    refine: Annotated[
        bool, typer.Option("--refine", help="Refine the clusters by a mixture model.")
    ] = False,
    differences: Annotated[
        bool, typer.Option("--differences", help="Test how the clusters differ, in every feature.")
    ] = False,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
) -> None:
    """Cluster the rows of a table and learn which of its columns matter."""
    with output.handle_errors("fit"):
        output.check_targets(giving)
        options = FitOptions(
            k,
            opt.penalty(lam),
            scale=opt.scaling(scale),
            dispersion=dispersion.value,
            weights=weights.value,
            n_init=opt.number_of_starts(starts),
            max_iter=max_iter,
            random_state=seed,
            n_jobs=jobs,
            progress=giving.bars,
            missing=missing.value,
            robust=robust,
            divergence=opt.divergence(divergence),
            offset=offset,
        )
        table = TableReader(data, reading, progress=giving.bars, missing=missing.value)
        rows = table.load()
        output.print_notes("fit", table.notes)
        # an interrupted selection ends the command: it does not go on with what is finished
        results = fit_model(rows, None, options, SelectionOptions(partial=False)).results
        how: dict[str, Any] = {"random_state": seed, "n_jobs": jobs, "progress": giving.bars}
        if bootstrap:
            results.bootstrap(bootstrap, **how)
        if stability:
            results.stability(stability, **how)
        if test:
            results.test_features(**how)
        if consistency:
            results.consistency(**how)
        if refine:
            results.refine()
        if differences:
            results.test_differences(**how)
        output.write_fit("fit", results, results, table, giving)


@app.command()
@opt.expand_records
def select(
    data: opt.Data,
    k: Annotated[
        str,
        typer.Option("-k", help="Number of clusters, or numbers to choose from: 2-8 or 2,4,6."),
    ],
    reading: opt.ReadOptions,
    giving: opt.OutputOptions,
    criterion: Annotated[
        str,
        typer.Option(help="What is compared: predictive, stability, gap, strength or splitting."),
    ] = "predictive",
    rule: Annotated[
        str | None, typer.Option(help="stable, 1se or max for the penalty; 1se or max for k.")
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds or replicates.")] = 5,
    grid: Annotated[int, typer.Option(min=1, help="Number of penalties to try.")] = 10,
    scale: opt.Scaling = "auto",
    dispersion: opt.Form = opt.Dispersion.auto,
    weights: opt.OfWeights = opt.Weights.common,
    missing: opt.MissingValues = opt.Missing.error,
    robust: opt.Robust = None,
    divergence: opt.Divergence = FitOptions.divergence,
    offset: opt.Offset = None,
    starts: opt.Starts = str(FitOptions.n_init),
    max_iter: opt.Steps = FitOptions.max_iter,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
) -> None:
    """Choose the penalty, and the number of clusters if several are given, without labels."""
    with output.handle_errors("select"):
        output.check_targets(giving)
        numbers = opt.numbers_of_clusters(k)
        how: dict[str, Any] = {
            "criterion": criterion,
            "cv": folds,
            "n_lams": grid,
            "scale": opt.scaling(scale),
            "dispersion": dispersion.value,
            "weights": weights.value,
            "n_init": opt.number_of_starts(starts),
            "max_iter": max_iter,
            "random_state": seed,
            "n_jobs": jobs,
            "progress": giving.bars,
            "missing": missing.value,
            "robust": robust,
            "divergence": opt.divergence(divergence),
            "offset": offset,
        }
        if rule is not None:
            how["rule"] = rule
        table = TableReader(data, reading, progress=giving.bars, missing=missing.value)
        rows = table.load()
        output.print_notes("select", table.notes)
        found: Any = (
            select_k(rows, numbers, **how)
            if len(numbers) > 1
            else select_lambda(rows, numbers[0], **how)
        )
        output.write_fit("select", found, found.results, table, giving)


@app.command()
@opt.expand_records
def compare(
    data: opt.Data,
    k: opt.Number,
    reading: opt.ReadOptions,
    giving: opt.OutputOptions,
    truth: Annotated[
        str | None, typer.Option(help="Column of known classes, for scoring alone.")
    ] = None,
    trials: Annotated[
        int, typer.Option(min=1, help="Number of random starts, or of resamples.")
    ] = 20,
    replicates: Annotated[
        str, typer.Option(help="What a trial is: another start (starts) or a resample (bootstrap).")
    ] = "starts",
    scale: opt.Scaling = "auto",
    methods: Annotated[
        str, typer.Option(help="Names of methods, separated by commas.")
    ] = "kmeans,wkmeans,power,sparse,ewp",
    lam: opt.Lam = "auto",
    wbound: Annotated[
        float | None,
        typer.Option(help="Bound of sparse k-means; chosen by its gap if not given."),
    ] = None,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
) -> None:
    """Compare EWP with its peers on a table, all from the same starts."""
    with output.handle_errors("compare"):
        output.check_targets(giving)
        table = TableReader(data, reading, truth=truth, progress=giving.bars)
        rows = table.load(whole=True)
        output.print_notes("compare", table.notes)
        found = compare_methods(
            rows,
            k,
            table.classes or None,
            methods=[name.strip() for name in methods.split(",")],
            n_trials=trials,
            replicates=replicates,
            scale=opt.scaling(scale),
            lam=opt.penalty(lam),
            wbound="gap" if wbound is None else wbound,
            random_state=seed,
            n_jobs=jobs,
            progress=giving.bars,
        )
        output.write_comparison(found, table, giving)


@app.command()
@opt.expand_records
def predict(
    model: Annotated[
        Path, typer.Argument(help="File of a fit, or the folder that --out wrote it to.")
    ],
    data: opt.Data,
    reading: opt.ReadOptions,
    out: Annotated[
        Path | None, typer.Option(help="CSV file to write; standard output if not given.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of CSV.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bars.")] = False,
) -> None:
    """Assign the rows of a table to the clusters of a fit."""
    with output.handle_errors("predict"):
        output.check_file("--out", out)
        results = EWPResults.load(model / output.MODEL if model.is_dir() else model)
        only = [str(name) for name in results.feature_names] if results.named_features else None
        bars = sys.stderr.isatty() and not quiet
        table = TableReader(data, reading, only=only, progress=bars, missing=results.missing)
        assigned = output.assignments(results, table)
        output.print_notes("predict", table.notes)
        if json:
            output.show_json(output.assignment_record(assigned, results, table))
        if out is not None:
            output.write_csv(assigned, out)
        elif not json:
            text = output.csv_text(assigned)
            # names steer no terminal; a file or a pipe gets them as they are
            typer.echo(output.printable(text) if to_terminal() else text, nl=False)


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(help="Picture to write; the suffix chooses the format.")
    ] = Path("ewp-demo.png"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and the methods.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Run the paper's motivating example: 20 clusters, 100 features, 5 of them relevant."""
    with output.handle_errors("demo"):
        problem = example.problem_with(out)
        if problem:
            raise ValueError(f"--out {str(out)!r}: {problem}")
        title = "Simulation 2 of the paper: 2000 rows, 100 features of which 5 matter, 20 clusters."
        if not json:
            typer.echo(title)
        found = example.run(seed)
        if json:
            output.show_json(output.demo_record(found.table(), title, out))
        else:
            typer.echo(f"\n{found.results.summary()}\n")
            typer.echo("Every method from the same three random starts, means:")
            typer.echo(found.table().to_string(float_format=lambda x: fixed(x, 3), na_rep="-"))
        example.draw(found, out)
        if not json:
            typer.echo(f"\nPicture written to {out}")


@app.command()
def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Say what is there of R, rpy2 and sparcl, and what cures what is not; exit with 0 or 1."""
    with output.handle_errors("doctor"):
        import r_bridge

        found = r_bridge.check()
        if json:
            problems = [str(problem) for problem in found.problems]
            output.show_json(
                dataclasses.asdict(found) | {"ready": found.ready, "problems": problems}
            )
        else:
            typer.echo(str(found))
        raise typer.Exit(0 if found.ready else output.NOT_READY)


def to_terminal() -> bool:
    """Whether standard output goes to a terminal."""
    return sys.stdout.isatty()


def _end(number: int, frame: Any) -> None:
    """End by an exception, so that processes, shared memory and temporary files are put away."""
    raise SystemExit(128 + number)


def main() -> None:
    """Entry point of the console script."""
    signal.signal(signal.SIGTERM, _end)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # a terminal that lacks a character shows another instead of failing
            stream.reconfigure(errors="replace")
    app()
