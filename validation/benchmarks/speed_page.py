"""The tables of the page on speed, made from the measured ones.

Run ``python validation/benchmarks/speed_page.py`` after measuring. It replaces the rows of the
tables below the headings of ``vignettes/site/explanation/speed.md``; what stands around them,
single figures included, is written by hand, and a test compares all of it with the files.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "vignettes" / "site" / "explanation" / "speed.md"


def measured(name: str) -> pd.DataFrame:
    """A table that was measured."""
    return pd.read_csv(HERE / f"{name}.csv", comment="#")


def key(row: pd.Series) -> str:
    """First cell of a row: rows, features and clusters, and the data where there are several."""
    sizes = ", ".join(f"{int(row[name]):,}" for name in ("n", "p", "k"))
    data = str(row.get("data", "Simulation 2")).split(",")[0]
    return sizes if data == "Simulation 2" else f"{sizes} ({data})"


def figure(value: float, digits: int) -> str:
    """A number with so many digits after the point, a dash for none."""
    return "–" if pd.isna(value) else f"{value:.{digits}f}"


def ratio(value: float) -> str:
    """A ratio, the smaller the more digits after the point."""
    return figure(value, 0 if value >= 10 else 1 if value >= 2 else 2)


def rows(table: pd.DataFrame, columns: list[str], show: Callable[[Any], str]) -> list[list[str]]:
    """Cells of the rows of a table."""
    return [[key(row), *(show(row[name]) for name in columns)] for _, row in table.iterrows()]


def iterations() -> list[list[str]]:
    """One iteration."""
    table = measured("iteration")
    return rows(table, list(table.columns[3:]), lambda value: figure(value, 1))


def whole_fits() -> list[list[str]]:
    """Fits with a given penalty."""
    columns = ["EWP / k-means", "EWP / intelex", "EWP / faiss", "sparcl / EWP"]
    columns += ["NMI ewp", "NMI k-means"]
    return rows(measured("whole_fits"), columns, ratio)


def default_fits() -> list[list[str]]:
    """Fits with everything automatic."""
    columns = ["EWP, s", "EWP / k-means", "mclust / EWP", "sparcl / EWP"]
    return rows(measured("default_fits"), columns, ratio)


def search() -> list[list[str]]:
    """Shares of fits that find the best objective known, in percent, for every penalty."""
    found = []
    table = measured("search").iloc[:-1]
    for _, group in table.groupby(["data", "n"], sort=False):
        cells = [key(group.iloc[0])]
        for column in ("default reaches 500 starts", "default finds it", "one start finds it"):
            cells += [figure(100 * share, 0) for share in group.sort_values("penalty")[column]]
        found.append(cells)
    return found


TABLES: dict[str, Callable[[], list[list[str]]]] = {
    "One iteration": iterations,
    "A whole fit": whole_fits,
    "Everything automatic": default_fits,
    "The best objective known": search,
}


def replace_rows(text: str, heading: str, cells: list[list[str]]) -> str:
    """Replace the rows of the first table below a heading."""
    before, rest = text.split(f"## {heading}\n")
    above, line, below = rest.partition("\n|---")
    columns, _, tail = below.partition("\n")
    kept = tail.splitlines(keepends=True)
    while kept and kept[0].startswith("|"):
        del kept[0]
    table = "".join(f"| {' | '.join(row)} |\n" for row in cells)
    return f"{before}## {heading}\n{above}{line}{columns}\n{table}{''.join(kept)}"


def main() -> None:
    """Write the page."""
    text = PAGE.read_text()
    for heading, make in TABLES.items():
        text = replace_rows(text, heading, make())
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
