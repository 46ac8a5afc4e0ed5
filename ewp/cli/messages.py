"""What is wrong with a table, in words: the columns by name, an example, and what would help."""

from __future__ import annotations

import csv
import difflib
import re
import shlex
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from ewp.cli.streams import InputError
from ewp.common.checks import listing

__all__ = [
    "TextColumn",
    "explain_read_errors",
    "infinite_values",
    "listed",
    "missing_values",
    "not_numeric",
    "not_of_the_model",
    "position",
    "repeated_columns",
    "resolve",
    "wrong_delimiter",
]

_MARKS = {";": "';'", "\t": "'\\t'", "|": "'|'", ",": "','"}
_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[-+]?\d{1,3}(\.\d{3})+(,\d+)?\s*")
_OPEN_QUOTE = re.compile(r"EOF inside string starting at row (\d+)")
_RAGGED = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")


class ReadTable(Protocol):
    """What messages say about a table that is read."""

    name: str
    of_model: bool
    #: What is done with missing values; None where that cannot be said.
    missing: str | None
    #: Names of the columns that count.
    features: list[str]
    #: Number of the line that has the first row.
    first_line: int
    #: The decimal sign.
    decimal: str


@dataclass(frozen=True)
class TextColumn:
    """What a column has that is no number.

    Attributes
    ----------
    values : list of str
        Different ones, in order of appearance.
    line : int
        Line of the file with the first.
    some_numbers : bool
        Whether the column has numbers too.
    """

    values: list[str]
    line: int
    some_numbers: bool


def listed(names: list[str]) -> str:
    """Some names in a message, without quotes.

    >>> listed(["a", "b"])
    'a, b'
    """
    most = 12
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def position(table: ReadTable, option: str, wanted: str, named: list[str]) -> int:
    """Number of the column that an option names."""
    if wanted not in named:
        raise _no_column(table, option, wanted, named)
    return named.index(wanted)


def _no_column(table: ReadTable, option: str, wanted: str, named: list[str]) -> InputError:
    close = difflib.get_close_matches(wanted, named, 1)
    hint = f"did you mean {close[0]!r}? It" if close else "it"
    return InputError(
        f"{option}: {table.name} has no column {wanted!r}; {hint} has {listed(named)}"
    )


def resolve(table: ReadTable, option: str, given: list[str], named: list[str]) -> set[str]:
    """Names of columns that an option means; one text may hold several."""
    found: set[str] = set()
    there = set(named)
    for text in given:
        parts = [text] if text in there else [part.strip() for part in text.split(",")]
        for part in parts:
            if part not in there:
                raise _no_column(table, option, part, named)
            found.add(part)
    return found


def repeated_columns(table: ReadTable, names: list[str]) -> InputError:
    """Complain about columns with one name."""
    out = "" if table.of_model else f", or leave them out: {_option('--drop', names)}"
    return InputError(
        f"{table.name} has several columns called {listing(names)}; rename them in the header{out}"
    )


def not_of_the_model(table: ReadTable, absent: list[str], named: list[str]) -> InputError:
    """Complain about features of a model that a table does not have."""
    return InputError(
        f"{table.name} lacks {len(absent)} feature(s) of the model: {listing(absent)}; it has "
        f"{listed(named)}"
    )


def needed_by_the_model(lost: list[str]) -> InputError:
    """Complain about features of a model that options leave out."""
    return InputError(
        f"the model needs {listing(lost)}, which --columns or --drop leaves out; the columns of a "
        "model are found by their names, so neither option is needed"
    )


def wrong_delimiter(table: ReadTable, header: str, used: str) -> None:
    """Complain about a single column whose name looks like several."""
    for mark, shown in _MARKS.items():
        if mark != used and mark in header:
            raise InputError(
                f"{table.name} has one column only, called {header[:60]!r}; are its columns "
                f"separated by {shown}? Then give --delimiter {shown}"
            )


def not_numeric(table: ReadTable, found: dict[str, TextColumn]) -> InputError:
    """Complain about columns that are not numbers."""
    names = list(found)
    examples = [f"{name!r} ({_cut(x.values[0])!r} in line {x.line})" for name, x in found.items()]
    more = f" and {len(examples) - 6} more" if len(examples) > 6 else ""
    commas = [name for name, what in found.items() if all(map(_COMMA.fullmatch, what.values))]
    others = [name for name in names if name not in commas]
    values = list(dict.fromkeys(value for what in found.values() for value in what.values))
    it, one = ("it", "it") if len(names) == 1 else ("them", "one")
    cures = [
        f"leave {it} out with {_option('--drop', names)}",
        f"use {one} as row names with {_option('--id', names[:1])}",
    ]
    if table.of_model:
        cures = ["the model needs numbers there"]
    if table.decimal != "." and all(map(_THOUSANDS.fullmatch, values)):
        cures = ["if the point separates thousands, remove it from the file first"]
    elif commas:
        cures = ["if the comma is the decimal sign, give --decimal ,"]
        if others and not table.of_model:
            cures[0] += f" and {_option('--drop', others)}"
    elif all(what.some_numbers for what in found.values()) and _are_marks(values):
        marks = " ".join(f"--na {shlex.quote(value)}" for value in values)
        cures.insert(0, f"if this means a missing value, give {marks}")
    is_, columns = ("is", "column") if len(names) == 1 else ("are", "columns")
    return InputError(
        f"{len(names)} {columns} of {table.name} {is_} not numeric: {', '.join(examples[:6])}"
        f"{more}; {'; or '.join(cures)}"
    )


def _are_marks(values: list[str]) -> bool:
    """Whether texts may be marks of missing values: few and short."""
    return len(values) <= 2 and max(map(len, values)) <= 40


def _cut(text: str, most: int = 40) -> str:
    """The beginning of a long text."""
    return text if len(text) <= most else f"{text[:most]}..."


def missing_values(table: ReadTable, counts: np.ndarray, rows: int, total: int) -> InputError:
    """Complain about missing values."""
    order = [i for i in np.argsort(-counts, kind="stable") if counts[i]]
    names = [table.features[i] for i in order]
    shown = ", ".join(f"{table.features[i]!r} {counts[i]}" for i in order[:8])
    more = f" and {len(order) - 8} more columns" if len(order) > 8 else ""
    columns = "" if table.of_model else f" or these columns with {_option('--drop', names)},"
    asked = table.missing is not None and not table.of_model
    others = " fit to the others of a row with --missing observed," if asked else ""
    return InputError(
        f"{table.name} has {counts.sum()} missing value(s), in {rows} of {total} rows: {shown}"
        f"{more};{others} leave out these rows with --dropna,{columns} or fill them in first"
    )


def infinite_values(table: ReadTable, block: np.ndarray) -> InputError:
    """Complain about values that are not finite."""
    names = [table.features[i] for i in np.flatnonzero(np.isinf(block).any(axis=0))]
    out = "" if table.of_model else f", or leave the columns out with {_option('--drop', names)}"
    return InputError(f"{table.name} has infinite values in {listing(names)}; correct them{out}")


def _option(option: str, names: list[str]) -> str:
    """An option with names as one would type it."""
    if len(names) > 6:
        return f"{option} NAME,NAME,..."
    if any("," in name for name in names):
        return " ".join(f"{option} {shlex.quote(name)}" for name in names)
    return f"{option} {shlex.quote(','.join(names))}"


@contextmanager
def explain_read_errors(table: ReadTable) -> Iterator[None]:
    """Turn what the readers of files raise into complaints about the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(
            f"{table.name} is not text in {error.encoding.upper()} (byte "
            f"0x{error.object[error.start]:02x}); if it is a table in an older encoding, give "
            "--encoding latin-1"
        ) from error
    except pd.errors.ParserWarning as error:
        raise InputError(
            f"the first row of {table.name} has more fields than the header; if the first field "
            "of the rows is their name, give it a name in the header too"
        ) from error
    except pd.errors.ParserError as error:
        raise InputError(_unparsed(table, str(error))) from error
    except InputError:
        raise
    except (OSError, EOFError, ValueError, csv.Error, zlib.error) as error:
        # pyarrow's own errors are among these
        raise InputError(f"{table.name} cannot be read: {str(error).splitlines()[0]}") from error


def _unparsed(table: ReadTable, message: str) -> str:
    quote, found = _OPEN_QUOTE.search(message), _RAGGED.search(message)
    if quote:
        line = int(quote[1]) + table.first_line
        return f"a quotation mark in line {line} of {table.name} is never closed; correct the line"
    if not found:
        return f"{table.name} cannot be read: {message}"
    expected, line, saw = (int(number) for number in found.groups())
    return (
        f"line {line + table.first_line - 1} of {table.name} has {saw} fields, the header "
        f"{expected}; correct the line, or name the separator with --delimiter"
    )
