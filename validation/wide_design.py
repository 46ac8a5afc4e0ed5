"""Many features, few rows, relevant features of large variance: sparse k-means' home ground.

Run ``python validation/wide_design.py``. Each of several draws (80 rows, 2000 features, of which 20
carry 4 clusters and vary more than the noise) goes through `ewp.compare`: sparse k-means with the
bound of its permutation gap, EWP as published and in the between form with penalties by their own
selection, none of which sees the classes. Writes a CSV file and a Markdown table.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

import ewp
from validation.designs import wide
from validation.table_text import to_markdown

TITLES = {
    "kmeans": "k-means",
    "power": "power k-means",
    "wkmeans": "WK-means",
    "sparse": "sparse k-means",
    "sparse-annealed": "annealed sparse k-means",
    "ewp-published": "EWP as published",
    "ewp-between": "EWP, between form",
}
K, RELEVANT = 4, 20


def draw(seed: int, scale: str | None, n_trials: int, jobs: int) -> pd.DataFrame:
    """Scores of all methods on one draw, all trials."""
    X, labels = wide(seed)
    found = ewp.compare(
        X,
        K,
        labels,
        methods=tuple(TITLES),
        n_trials=n_trials,
        scale=scale,
        reference="ewp-between",
        random_state=seed,
        n_jobs=jobs,
    )
    print(f"draw {seed}\n{found}", flush=True)
    scores = found.scores.set_index(["method", "trial"])
    scores["relevant"] = found.weights.iloc[:, :RELEVANT].sum(axis=1)
    scores.insert(0, "features", "raw" if scale is None else "standardised")
    scores.insert(1, "draw", seed)
    return scores.reset_index()


def summarise(scores: pd.DataFrame) -> pd.DataFrame:
    """Means over trials and draws, and the spread between draws."""
    draws = scores.groupby(["features", "method", "draw"], sort=False)
    means = draws[["nmi", "ari", "relevant", "seconds"]].mean()
    groups = means.groupby(["features", "method"], sort=False)
    return pd.DataFrame(
        {
            "NMI": groups["nmi"].mean(),
            "sd between draws": groups["nmi"].std(),
            "worst draw": groups["nmi"].min(),
            "ARI": groups["ari"].mean(),
            "weight on relevant": groups["relevant"].mean(),
            "seconds": groups["seconds"].mean(),
        }
    ).reset_index()


def main() -> None:
    """Run the draws, write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "report")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    parts = []
    for scale in (None, "standard"):
        for seed in range(args.draws):
            parts.append(draw(seed, scale, args.trials, args.jobs))
            scores = pd.concat(parts, ignore_index=True)
            scores.round(6).to_csv(args.out / "wide_design.csv", index=False)
    table = summarise(scores)
    text = to_markdown(table.assign(method=table["method"].map(TITLES)))
    (args.out / "wide_design.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
