"""The command line ``ewp``: a thin face over the package, one function a command."""

from __future__ import annotations

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
def demo(
    out: Annotated[
        Path, typer.Option(help="Picture to write; the suffix chooses the format.")
    ] = Path("ewp-demo.png"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and the methods.")] = 0,
) -> None:
    """Run the paper's motivating example: 20 clusters, 100 features, 5 of them relevant."""
    from ewp import demo as example

    if not out.parent.is_dir():
        typer.echo(f"ewp demo: the folder {out.parent} of --out does not exist", err=True)
        raise typer.Exit(2)
    typer.echo("Simulation 2 of the paper: 2000 rows, 100 features of which 5 matter, 20 clusters.")
    found = example.run(seed)
    typer.echo(f"\n{found.standardised.summary()}\n")
    typer.echo("Agreement with the true clusters:")
    typer.echo(found.table().to_string(float_format="{:.3f}".format, na_rep="-"))
    example.draw(found, out)
    typer.echo(f"\nPicture written to {out}")


def main() -> None:
    """Entry point of the console script."""
    app()
