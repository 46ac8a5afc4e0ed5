"""The arguments and options that commands share, with their help, and how their texts are read.

Options that belong together are a dataclass; `expand_records` makes a command that takes such a
record show its fields as options of its own.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ewp.cli.streams import InputError
from ewp.data.decorrelation import given_shrinkage, is_decorrelated

__all__ = [
    "Data",
    "Dispersion",
    "Form",
    "Jobs",
    "Lam",
    "Missing",
    "MissingValues",
    "Number",
    "OutputOptions",
    "ReadOptions",
    "Scaling",
    "Seed",
    "Starts",
    "Steps",
    "expand_records",
    "number_of_starts",
    "numbers_of_clusters",
    "penalty",
    "scaling",
]

#: Numbers of clusters that a range may hold.
_MOST_NUMBERS = 1000
_READ_PANEL, _OUTPUT_PANEL = "Reading the table", "What is given back"


class Weights(StrEnum):
    """Whose feature weights are."""

    common = "common"
    cluster = "cluster"
    auto = "auto"


class Dispersion(StrEnum):
    """Forms of the weights on the command line."""

    auto = "auto"
    within = "within"
    between = "between"


class Missing(StrEnum):
    """What is done with missing values, on the command line."""

    error = "error"
    observed = "observed"


Data = Annotated[
    str,
    typer.Argument(
        help="Table with a header and one row per observation: CSV, TSV or Parquet, gzipped or "
        "not; - is standard input.",
        show_default=False,
    ),
]


Number = Annotated[int, typer.Option("-k", min=1, help="Number of clusters.")]


Lam = Annotated[
    str, typer.Option("--lam", help="Penalty: a number, or auto to have it chosen without labels.")
]


Scaling = Annotated[
    str,
    typer.Option(
        "--scale",
        help="What is done to the features: auto, standard, decorrelate (decorrelate:0.25 shrinks "
        "correlations by that share) or none.",
    ),
]


OfWeights = Annotated[
    Weights,
    typer.Option(
        "--weights",
        help="One set of feature weights (common), one for every cluster, or auto to have it "
        "chosen with the penalty.",
    ),
]


Form = Annotated[Dispersion, typer.Option("--dispersion", help="Form of the weights.")]


MissingValues = Annotated[
    Missing,
    typer.Option(
        "--missing", help="Missing values: an error, or observed to fit to the others of a row."
    ),
]


Robust = Annotated[
    str | None,
    typer.Option(
        "--robust",
        help="trim leaves the farthest 10 % of the rows without influence, trim:0.2 the farthest "
        "20 %.",
    ),
]


Divergence = Annotated[
    str,
    typer.Option(
        "--divergence",
        help="euclidean, poisson (counts), bernoulli (0 or 1) or gamma (positive amounts), for all "
        "columns; or for some, as in visits=poisson,smoker=bernoulli.",
    ),
]


Offset = Annotated[
    str | None,
    typer.Option("--offset", help="size compares counts of a row relative to the row's total."),
]


Starts = Annotated[
    str, typer.Option("--starts", help="Number of starts of a fit, or auto: until several agree.")
]


Steps = Annotated[int, typer.Option("--max-iter", min=1, help="Largest number of steps of a fit.")]


Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of all that is drawn.")]


Jobs = Annotated[int, typer.Option("--jobs", help="Number of cores; -1 for all.")]


@dataclass(frozen=True)
class ReadOptions:
    """How a table is read. One text may name several columns, separated by commas."""

    columns: Annotated[
        list[str] | None,
        typer.Option(help="Columns to use, with commas between; all if not given."),
    ] = None
    drop: Annotated[
        list[str] | None, typer.Option(help="Columns to leave out, with commas between.")
    ] = None
    id: Annotated[str | None, typer.Option(help="Column of row names.")] = None
    dropna: Annotated[
        bool, typer.Option("--dropna", help="Leave out rows with missing values.")
    ] = False
    na: Annotated[list[str] | None, typer.Option(help="Text that means a missing value.")] = None
    delimiter: Annotated[
        str | None,
        typer.Option(help="What separates columns: a comma if not given, a tab in .tsv files."),
    ] = None
    decimal: Annotated[str, typer.Option(help="Decimal sign.")] = "."
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of the text; UTF-8 if not given.")
    ] = None
    header: Annotated[
        bool, typer.Option("--header/--no-header", help="Whether the first line has the names.")
    ] = True


@dataclass(frozen=True)
class OutputOptions:
    """What is given back, and how."""

    out: Annotated[Path | None, typer.Option(help="Folder for tables and the model.")] = None
    report: Annotated[Path | None, typer.Option(help="HTML page to write.")] = None
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bars.")] = False

    @property
    def bars(self) -> bool:
        """Whether to show progress bars."""
        return sys.stderr.isatty() and not self.quiet


_PANELS: dict[Any, str] = {ReadOptions: _READ_PANEL, OutputOptions: _OUTPUT_PANEL}


def expand_records(command: Callable[..., None]) -> Callable[..., None]:
    """Make the fields of a command's records options of the command.

    >>> def show(name: str, reading: ReadOptions) -> None: ...
    >>> list(inspect.signature(expand_records(show)).parameters)[:3]
    ['name', 'columns', 'drop']
    """
    hints = get_type_hints(command, include_extras=True)
    plain: list[inspect.Parameter] = []
    records: dict[str, Any] = {}
    added: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if kind not in _PANELS:
            plain.append(parameter.replace(annotation=kind))
            continue
        records[name] = kind
        types = get_type_hints(kind, include_extras=True)
        for field in dataclasses.fields(kind):
            (info,) = types[field.name].__metadata__
            info.rich_help_panel = _PANELS[kind]
            added.append(
                inspect.Parameter(
                    field.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=field.default,
                    annotation=types[field.name],
                )
            )

    @functools.wraps(command)
    def wrapper(**given: Any) -> None:
        for name, kind in records.items():
            fields = [field.name for field in dataclasses.fields(kind)]
            given[name] = kind(**{field: given.pop(field) for field in fields})
        command(**given)

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in plain] + added
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapper


def divergence(text: str) -> str | dict[str, str]:
    """Read divergences: one name, or names of columns with theirs.

    >>> divergence("poisson"), divergence("visits=poisson, smoker=bernoulli")
    ('poisson', {'visits': 'poisson', 'smoker': 'bernoulli'})
    """
    if "=" not in text:
        return text
    pairs = (part.rpartition("=") for part in text.split(","))
    return {name.strip(): family.strip() for name, _, family in pairs}


def penalty(text: str) -> float | str:
    """Read the option --lam.

    >>> penalty("auto"), penalty("60")
    ('auto', 60.0)
    """
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--lam {text!r} is neither a number nor auto") from None


def scaling(text: str) -> str | None:
    """Read the option --scale.

    >>> scaling("none"), scaling("decorrelate:0.25")
    (None, 'decorrelate:0.25')
    """
    if text == "none":
        return None
    if is_decorrelated(text):
        given_shrinkage(text)
    elif text not in ("auto", "standard"):
        raise InputError(f"--scale {text!r} is none of auto, standard, decorrelate and none")
    return text


def number_of_starts(text: str) -> int | str:
    """Read the option --starts.

    >>> number_of_starts("auto"), number_of_starts("20")
    ('auto', 20)
    """
    if text == "auto":
        return text
    if not text.isdecimal() or not int(text[:12]):
        raise InputError(f"--starts {text!r} is neither a positive whole number nor auto")
    return int(text)


def numbers_of_clusters(text: str) -> list[int]:
    """Read numbers of clusters: one, several with commas, or a range.

    >>> numbers_of_clusters("3"), numbers_of_clusters("2,4"), numbers_of_clusters("2-5")
    ([3], [2, 4], [2, 3, 4, 5])
    """
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:[-:]\s*(\d+)\s*)?", part)
        if not match:
            raise InputError(f"-k {text!r} is no number; write 3, or 2-8, or 2,4,6")
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last:
            raise InputError(f"-k {text!r}: numbers of clusters go from 1 up, as in 2-8")
        if last - first >= _MOST_NUMBERS:
            raise InputError(
                f"-k {text!r} asks for {last - first + 1} numbers of clusters; give a range of "
                f"{_MOST_NUMBERS} at most"
            )
        found.update(range(first, last + 1))
    return sorted(found)
