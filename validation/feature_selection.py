"""The paper's study of feature selection, through `ewp.compare`.

Run ``python validation/feature_selection.py``. Each replicate draws 1000 rows in 20 features, of
which the first 5 carry 10 clusters, and every method starts from the same random rows, on raw and
on standardised features. Writes a CSV file, a Markdown table and the boxplots of the weights. With
``--lam auto`` EWP chooses its penalty (for each replicate, without labels), which takes longer.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed
from tqdm import tqdm

import ewp
from ewp.comparison_plots import plot_weight_boxes
from ewp.datasets import make_feature_selection
from validation.table_text import markdown_table

TITLES = {
    "kmeans": "k-means",
    "power": "power k-means",
    "wkmeans": "WK-means",
    "sparse": "sparse k-means",
    "sparse-annealed": "annealed sparse k-means",
    "ewp-published": "EWP as published",
    "ewp": "EWP",
}
#: EWP's penalty a row.
PENALTIES = {"raw": 0.05, "standardised": 0.15}
K = 10


def replicate(seed: int, scaling: str, automatic: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores and weights of all methods on one draw."""
    X, labels, relevant = make_feature_selection(k=K, random_state=seed)
    found = ewp.compare(
        X,
        K,
        labels,
        methods=("ewp",) if automatic else tuple(TITLES),
        n_trials=1,
        scale="standard" if scaling == "standardised" else None,
        lam="auto" if automatic else PENALTIES[scaling] * len(X),
        # the largest one-norm that the relevant features alone can use
        wbound=len(relevant) ** 0.5,
        random_state=seed,
    )
    weights = found.weights.droplevel("trial")
    scores = found.scores.set_index("method")[["nmi", "ari", "seconds"]]
    scores["relevant"] = weights.iloc[:, relevant].sum(axis=1)
    scores.insert(0, "features", scaling)
    scores.insert(1, "replicate", seed)
    return scores.reset_index(), weights


def summarise(scores: pd.DataFrame) -> pd.DataFrame:
    """One row a scaling and method."""
    groups = scores.groupby(["features", "method"], sort=False)
    return pd.DataFrame(
        {
            "NMI": groups["nmi"].mean(),
            "sd": groups["nmi"].std(),
            "weight on relevant, mean": groups["relevant"].mean(),
            "least": groups["relevant"].min(),
            "replicates with 0.99": groups["relevant"].apply(lambda w: int((w >= 0.99).sum())),
            "seconds": groups["seconds"].mean(),
        }
    ).reset_index()


def to_markdown(table: pd.DataFrame) -> str:
    """Format a table, numbers with four decimals."""

    def text(value: Any) -> str:
        return "–" if pd.isna(value) else f"{value:.4f}" if isinstance(value, float) else str(value)

    return markdown_table(table, text) + "\n"


def main() -> None:
    """Run the replicates, write tables and pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--lam", choices=["given", "auto"], default="given")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "report")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    tasks = [(seed, scaling) for scaling in PENALTIES for seed in range(args.replicates)]
    runs = Parallel(n_jobs=args.jobs, return_as="generator")(
        delayed(replicate)(seed, scaling, args.lam == "auto") for seed, scaling in tasks
    )
    found = list(tqdm(runs, total=len(tasks), unit=" replicates"))
    scores = pd.concat([part for part, _ in found], ignore_index=True)
    name = "feature_selection" if args.lam == "given" else "feature_selection_auto"
    scores.round(6).to_csv(args.out / f"{name}.csv", index=False)
    table = summarise(scores)
    text = to_markdown(table.assign(method=table["method"].map(TITLES)))
    (args.out / f"{name}.md").write_text(text)
    print(text)
    for scaling in PENALTIES:
        parts = zip(tasks, found, strict=True)
        weights = pd.concat([part for (_, kind), (_, part) in parts if kind == scaling])
        boxes = {TITLES[method]: weights.loc[[method]] for method in weights.index.unique()}
        figure = plot_weight_boxes(boxes)[0].figure
        figure.suptitle(f"{scaling} features, {args.replicates} replicates; x0 to x4 are relevant")
        figure.savefig(args.out / f"{name}_{scaling}.png", dpi=110)


if __name__ == "__main__":
    main()
