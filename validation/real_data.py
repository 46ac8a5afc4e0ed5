"""Iris, wine and WDBC through `ewp.compare`: the paper's kind of table, in one go.

Run ``python validation/real_data.py``. Twenty trials of k random rows each, the same for all
methods; scaling and tuning parameters are chosen without the classes. Writes a CSV file of all
trials, a Markdown table with Wilcoxon's marks against EWP, and the pictures of wine.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pandas as pd

import ewp
from ewp.comparison_results import Comparison
from ewp.datasets import load_dataset
from validation.feature_selection import to_markdown

NAMES = ("iris", "wine", "wdbc")
METHODS = ("kmeans", "wkmeans", "power", "sparse", "sparse-annealed", "ewp")


def run(name: str, trials: int = 20, jobs: int = 2) -> Comparison:
    """Compare the methods on one data set."""
    data = load_dataset(name)
    k = data.y.nunique()
    options = {"methods": METHODS, "n_trials": trials, "random_state": 0, "n_jobs": jobs}
    begin = time.perf_counter()
    found = ewp.compare(data.X, k, data.y, **options)
    print(f"{name}, {time.perf_counter() - begin:.0f} s\n{found}\n", flush=True)
    return found


def write(comparisons: dict[str, Comparison], out: Path) -> None:
    """Write the tables, and the pictures of wine."""
    out.mkdir(parents=True, exist_ok=True)
    scores, tables = [], []
    for name, found in comparisons.items():
        scores.append(found.scores.assign(data=name))
        table = found.table().drop(columns=["nmi_p", "ari_p"]).reset_index()
        scaling = "raw" if found.scaling == "none" else "standardised"
        table.insert(0, "data", f"{name}, {scaling}")
        tables.append(table)
    pd.concat(scores).round(6).to_csv(out / "real_data.csv", index=False)
    text = to_markdown(pd.concat(tables))
    (out / "real_data.md").write_text(text)
    print(text)
    wine = comparisons["wine"]
    wine.plot_weights()[0].figure.savefig(out / "wine_weights.png", dpi=110)
    wine.plot_clusters()[0].figure.savefig(out / "wine_clusters.png", dpi=110)


def main() -> None:
    """Run the comparisons, write tables and pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "report")
    args = parser.parse_args()
    write({name: run(name, args.trials, args.jobs) for name in NAMES}, args.out)


if __name__ == "__main__":
    main()
