"""The command line ``ewp``: a thin face over the package, one function a command."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ewp import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    name="ewp",
    help="Entropy Weighted Power k-means: clustering that learns which features matter.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Scale(StrEnum):
    """Scalings on the command line."""

    auto = "auto"
    standard = "standard"
    none = "none"


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


def _fail(command: str, message: object) -> typer.Exit:
    """Say what was wrong on stderr; the caller raises the exit code that is returned."""
    typer.echo(f"ewp {command}: {message}", err=True)
    return typer.Exit(2)


@app.command()
def compare(
    data: Annotated[Path, typer.Argument(help="CSV file with a header, one row a point.")],
    k: Annotated[int, typer.Option("-k", min=1, help="Number of clusters.")],
    truth: Annotated[
        str | None, typer.Option(help="Column of known classes, for scoring alone.")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Number of random starts.")] = 20,
    scale: Annotated[
        Scale, typer.Option(help="What is done to the features, for all methods alike.")
    ] = Scale.auto,
    methods: Annotated[
        str, typer.Option(help="Names of methods, separated by commas.")
    ] = "kmeans,wkmeans,power,sparse,ewp",
    lam: Annotated[
        float | None, typer.Option(help="Penalty of EWP; chosen by its selection if not given.")
    ] = None,
    wbound: Annotated[
        float | None,
        typer.Option(help="Bound of sparse k-means; chosen by its gap if not given."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the starts and choices.")] = 0,
    jobs: Annotated[int, typer.Option(help="Number of processes; -1 for all cores.")] = 1,
) -> None:
    """Compare EWP with its peers on a table, all from the same starts."""
    import pandas as pd

    from ewp.comparison import compare as run

    try:
        table = pd.read_csv(data)
        classes = None
        if truth is not None:
            if truth not in table:
                raise ValueError(
                    f"{data} has no column {truth!r}; it has {', '.join(map(str, table.columns))}"
                )
            classes = table.pop(truth)
        found = run(
            table,
            k,
            classes,
            methods=[name.strip() for name in methods.split(",")],
            n_trials=trials,
            scale=None if scale is Scale.none else scale.value,
            lam="auto" if lam is None else lam,
            wbound="gap" if wbound is None else wbound,
            random_state=seed,
            n_jobs=jobs,
            progress=sys.stderr.isatty(),
        )
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise _fail("compare", error) from error
    typer.echo(str(found))


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(help="Picture to write; the suffix chooses the format.")
    ] = Path("ewp-demo.png"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and the methods.")] = 0,
) -> None:
    """Run the paper's motivating example: 20 clusters, 100 features, 5 of them relevant."""
    from ewp import demo as example

    problem = example.problem_with(out)
    if problem:
        raise _fail("demo", f"--out {str(out)!r}: {problem}")
    typer.echo("Simulation 2 of the paper: 2000 rows, 100 features of which 5 matter, 20 clusters.")
    found = example.run(seed)
    typer.echo(f"\n{found.results.summary()}\n")
    typer.echo("Every method from the same three random starts, means:")
    typer.echo(found.table().to_string(float_format="{:.3f}".format, na_rep="-"))
    example.draw(found, out)
    typer.echo(f"\nPicture written to {out}")


@app.command()
def doctor() -> None:
    """Say what is there of R, rpy2 and sparcl, and what cures what is not; exit with 0 or 1."""
    import r_bridge

    found = r_bridge.check()
    typer.echo(str(found))
    raise typer.Exit(0 if found.ready else 1)


def main() -> None:
    """Entry point of the console script."""
    app()
