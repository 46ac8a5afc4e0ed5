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
from feature_selection import to_markdown

import ewp
from ewp.datasets import load_dataset

METHODS = ("kmeans", "wkmeans", "power", "sparse", "sparse-annealed", "ewp")


def main() -> None:
    """Run the comparisons, write tables and pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "report")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    scores, tables = [], []
    begin = time.perf_counter()
    for name in ("iris", "wine", "wdbc"):
        data = load_dataset(name)
        found = ewp.compare(
            data.X,
            data.y.nunique(),
            data.y,
            methods=METHODS,
            n_trials=args.trials,
            random_state=0,
            n_jobs=args.jobs,
        )
        print(f"{name}, {time.perf_counter() - begin:.0f} s so far\n{found}\n", flush=True)
        scores.append(found.scores.assign(data=name))
        table = found.table().drop(columns=["nmi_p", "ari_p"]).reset_index()
        table.insert(0, "data", f"{name}, {'standardised' if found.scaling != 'none' else 'raw'}")
        tables.append(table)
        if name == "wine":
            found.plot_weights()[0].figure.savefig(args.out / "wine_weights.png", dpi=110)
            found.plot_clusters()[0].figure.savefig(args.out / "wine_clusters.png", dpi=110)
    pd.concat(scores).round(6).to_csv(args.out / "real_data.csv", index=False)
    text = to_markdown(pd.concat(tables))
    (args.out / "real_data.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
