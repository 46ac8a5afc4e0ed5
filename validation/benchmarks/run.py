"""All benchmarks in one run, written as one page of tables.

Run ``make bench`` or ``python validation/benchmarks/run.py``. Every table is written to
``results.md`` beside this file, and kept as CSV, as soon as it is finished, with the load of the
machine before and after; ``--only`` measures one of them again and leaves the others as they are.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable
from pathlib import Path

import bootstrap
import default_fits
import iteration
import numpy as np
import pandas as pd
import scaling
import search
import whole_fits

from validation.table_text import markdown_table

HERE = Path(__file__).parent

TITLES = {
    "iteration": "One iteration beside one Lloyd iteration of scikit-learn and beside the limit",
    "whole_fits": "Fits with a given penalty beside k-means, sparse k-means and sparcl",
    "default_fits": "Fits with everything automatic beside k-means, mclust and sparcl",
    "search": "How often a fit finds the best objective known",
    "bootstrap": "Two hundred bootstrap fits beside one fit",
    "one_machine": "Cores, memory, growth",
    "file": "Data in a file",
    "dask": "Data on a Dask cluster",
}


def load() -> str:
    """Load of the machine over the last minute."""
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def text(value: object) -> str:
    """A cell: numbers with three digits."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def write() -> None:
    """Put the tables that are there on one page."""
    lines = ["# Benchmarks", "", "Ratios, measured in turns within one run; see the scripts.", ""]
    for name, title in TITLES.items():
        path = HERE / f"{name}.csv"
        if not path.exists():
            continue
        note, _, rest = path.read_text().partition("\n")
        table = pd.read_csv(path, comment="#").astype(object)
        lines += [f"## {title}", "", markdown_table(table, text), ""]
        lines += [f"{note.lstrip('# ')}.", ""] if rest else []
    (HERE / "results.md").write_text("\n".join(lines))


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(TITLES), help="measure one table")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--largest", type=float, default=np.inf, help="skip larger n*p*k")
    parser.add_argument("--slow", type=float, default=5e7, help="largest n*p*k for sparcl's fit")
    parser.add_argument("--gap", type=float, default=5e6, help="largest n*p*k for sparcl's gap")
    parser.add_argument("--seeds", type=int, default=20, help="fits of each kind in a search")
    parser.add_argument("--starts", type=int, default=500, help="of the fit that searches hardest")
    parser.add_argument("--gigabytes", type=float, default=10.0, help="size of the file")
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows on the cluster")
    options = parser.parse_args()
    measures: dict[str, Callable[[], pd.DataFrame]] = {
        "iteration": lambda: iteration.table(options.turns, options.largest),
        "whole_fits": lambda: whole_fits.table(options.turns, options.slow),
        "default_fits": lambda: default_fits.table(options.turns, options.gap),
        "search": lambda: search.table(options.seeds, options.starts),
        "bootstrap": lambda: bootstrap.table(options.turns),
        "one_machine": lambda: scaling.one_machine(options.turns),
        "file": lambda: scaling.file(options.gigabytes),
        "dask": lambda: scaling.cluster(options.rows, options.turns),
    }
    for name, measure in measures.items():
        if options.only in (None, name):
            before = load()
            found = measure().to_csv(index=False, float_format="%.4g")
            note = f"# Load before {before}, after {load()}; Python {platform.python_version()}"
            (HERE / f"{name}.csv").write_text(f"{note}, NumPy {np.__version__}\n{found}")
            write()
            print(f"{TITLES[name]}\n{found}", flush=True)


if __name__ == "__main__":
    main()
