"""The figures on the page about single precision are those that were stored."""

from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "vignettes" / "site" / "howto" / "single_precision.md").read_text()
STORED = pd.read_csv(ROOT / "validation" / "benchmarks" / "single_precision.csv")


def cells(first):
    """Cells of the lines of tables that begin with a text, without it."""
    lines = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line[1:]] for line in lines if line[0].strip() == first]


def test_ratios_are_the_stored_ones():
    for part, count in (("passes", 4), ("fits", 3)):
        for data, rows in STORED[STORED["part"] == part].groupby("data"):
            ratios = rows[rows["figure"].str.contains("ratio")]
            told = [f"{value:.2f}" for value in ratios["value"]]
            assert len(told) == count
            assert told in cells(data)


def test_accuracy_is_the_stored_one():
    for (part, data), rows in STORED[STORED["part"].isin(["given", "chosen"])].groupby(
        ["part", "data"]
    ):
        figures = rows.set_index("figure")["value"]
        told = [
            part,
            str(rows["draws"].iloc[0]),
            f"{figures['NMI, double']:.4f}",
            f"{figures['NMI, single']:.4f}",
            f"{figures['largest relative difference of the objective']:.0e}",
        ]
        assert told in cells(data)
        assert figures["largest relative difference of the objective"] < 1e-4
