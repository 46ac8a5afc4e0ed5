"""The figures on the page of speeds are those that `make bench` measured."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "vignettes" / "site" / "explanation" / "speed.md").read_text()
MEASURED = ROOT / "validation" / "benchmarks"


def measured(name):
    return pd.read_csv(MEASURED / f"{name}.csv", comment="#")


def figure(name, begins):
    """One figure of a table of figures."""
    table = measured(name).set_index("figure")["value"]
    (found,) = table[table.index.str.startswith(begins)]
    return found


def rows(heading):
    """Rows of the table below a heading, by their first cell."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    cells = [
        [c.strip() for c in line.strip("|").split("|")]
        for line in section.splitlines()
        if re.match(r"\| [\d,]+, ", line)
    ]
    return {row[0]: row[1:] for row in cells}


def agrees(shown, value):
    """Whether a figure is the value, rounded to the digits that are shown."""
    unit = 10.0 ** -len(shown.partition(".")[2])
    return abs(float(shown) - value) <= 0.51 * unit


def sizes(row):
    return f"{row.n:,}, {row.p:,}, {row.k:,}"


def test_iterations():
    shown = rows("One iteration")
    table = measured("iteration")
    assert len(shown) == len(table)
    for row, values in zip(table.itertuples(), table.iloc[:, 3:].to_numpy(), strict=True):
        assert all(map(agrees, shown[sizes(row)], values))


def test_whole_fits():
    shown = rows("A whole fit")
    table = measured("whole_fits")
    columns = ["EWP / k-means", "sparcl / EWP", "NMI ewp", "NMI k-means"]
    assert len(shown) == len(table)
    for row, values in zip(table.itertuples(), table[columns].to_numpy(), strict=True):
        for text, value in zip(shown[sizes(row)], values, strict=True):
            assert pd.isna(value) if text == "–" else agrees(text, value)


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (r"time of ([\d.]+) fits", measured("bootstrap").iloc[0, 2]),
        (r"fits, ([\d.]+) with the\s+acceleration", measured("bootstrap").iloc[0, 3]),
        (r"200,000 rows was ([\d.]+)\s+times", figure("one_machine", "one core / two, s = -5")),
        (r"per row, ([\d.]+) times", figure("file", "file of 10 GB")),
        (r"with ([\d.]+) GB\s+resident", figure("file", "file: resident") / 1000),
        (r"processes took ([\d.]+) times", figure("dask", "Dask, two processes")),
    ],
)
def test_single_figures(pattern, value):
    (shown,) = re.findall(pattern, PAGE)
    assert agrees(shown, value)
