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


def bootstrap(sizes, column):
    """A figure of the bootstrap with standardised features."""
    table = measured("bootstrap").set_index(["n, p, k", "features"])
    return table.loc[(sizes, "standardised"), column]


def searches():
    """The last row of the table of searches: all of them."""
    return measured("search").iloc[-1]


def rows(heading):
    """Rows of the table below a heading, by their first cell."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    cells = [
        [c.strip() for c in line.strip("|").split("|")]
        for line in section.splitlines()
        if re.match(r"\| [\d,]+, ", line)
    ]
    found = {row[0]: row[1:] for row in cells}
    assert len(found) == len(cells)
    return found


def agrees(shown, value):
    """Whether a figure is the value, rounded to the digits that are shown."""
    if shown == "–" or pd.isna(value):
        return shown == "–" and pd.isna(value)
    unit = 10.0 ** -len(shown.partition(".")[2])
    return abs(float(shown) - value) <= 0.51 * unit


def first_cell(row):
    """Rows, features and clusters, and the data where they are not those of Simulation 2."""
    sizes = f"{int(row.n):,}, {int(row.p):,}, {int(row.k):,}"
    data = getattr(row, "data", "Simulation 2").split(",")[0]
    return sizes if data == "Simulation 2" else f"{sizes} ({data})"


@pytest.mark.parametrize(
    ("heading", "name", "columns"),
    [
        (
            "One iteration",
            "iteration",
            ["s = -5 / Lloyd", "s = -inf / Lloyd", "limit / Lloyd", "s = -5 / limit"],
        ),
        (
            "A whole fit",
            "whole_fits",
            [
                *("EWP / k-means", "EWP / intelex", "EWP / faiss", "sparcl / EWP"),
                *("NMI ewp", "NMI k-means"),
            ],
        ),
        (
            "Everything automatic",
            "default_fits",
            ["EWP, s", "EWP / k-means", "mclust / EWP", "sparcl / EWP"],
        ),
    ],
)
def test_tables(heading, name, columns):
    shown = rows(heading)
    table = measured(name)
    assert len(shown) == len(table)
    for row, values in zip(table.itertuples(), table[columns].to_numpy(), strict=True):
        assert list(map(agrees, shown[first_cell(row)], values)) == [True] * len(columns)


def test_searches():
    shown = rows("The best objective known")
    table = measured("search").iloc[:-1]
    assert 3 * len(shown) == len(table)
    for _, three in table.groupby(["data", "n"]):
        assert three["penalty"].tolist() == [0.05, 0.3, 1.5]
        columns = ["default reaches 500 starts", "default finds it", "one start finds it"]
        values = 100 * three[columns].to_numpy().T.ravel()
        cells = shown[first_cell(next(three.itertuples()))]
        assert list(map(agrees, cells, values)) == [True] * 9


def test_best_objectives_are_those_of_the_problems():
    table = measured("search").iloc[:-1]
    best = pd.read_csv(MEASURED / "search_best.csv")
    problems = set(zip(table["data"], table["penalty"], strict=True))
    assert problems == set(zip(best["problem"], best["penalty"], strict=True))
    assert len(best) == len(problems) >= 24


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (r"time of ([\d.]+) fits\s+at", bootstrap("1,000, 100, 20", "200 resamples / fit, CPU")),
        (r"of ([\d.]+) fits of\s+iris", bootstrap("150, 4, 3", "200 resamples / fit, CPU")),
        (r"fit of iris takes ([\d.]+)\s+ms", bootstrap("150, 4, 3", "fit, ms")),
        (r"of 500 starts in ([\d.]+) % of", 100 * searches()["default reaches 500 starts"]),
        (r"known in ([\d.]+) % of", 100 * searches()["default finds it"]),
        (r"single start in ([\d.]+) %", 100 * searches()["one start finds it"]),
        (r"cost is\s+([\d.]+) and", searches()["default / k-means"]),
        (r"and ([\d.]+) times that of `KMeans", searches()["one start / k-means"]),
        (r"200,000 rows was ([\d.]+)\s+times", figure("one_machine", "one core / two, s = -5")),
        (r"per row, ([\d.]+) times", figure("file", "file of 10 GB")),
        (r"with ([\d.]+) GB\s+resident", figure("file", "file: resident") / 1000),
        (r"processes took ([\d.]+) times", figure("dask", "Dask, two processes")),
    ],
)
def test_single_figures(pattern, value):
    (shown,) = re.findall(pattern, PAGE)
    assert agrees(shown, value)
