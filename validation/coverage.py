"""How often bootstrap intervals cover the weights of the population.

Run ``python validation/coverage.py``. The population's weights are those of a fit to a very large
sample. Two designs: Simulation 2, whose relevant features are all alike, and clusters that overlap
and differ more in some features than in others, so that the weights differ too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ewp
from ewp.datasets import make_simulation2
from validation.replication import replicate
from validation.table_text import to_markdown

METHODS = ("bca", "percentile")


@dataclass(frozen=True)
class Design:
    """A way to draw data, and how to fit them."""

    name: str
    draw: Callable[[int, np.random.Generator], np.ndarray]
    k: int
    n: int
    penalty: float
    relevant: int
    options: dict[str, Any]

    def fit(self, n: int, rng: np.random.Generator) -> ewp.EWPResults:
        """Draw n rows and fit them, with the penalty in proportion."""
        X = self.draw(n, rng)
        return ewp.fit(X, self.k, lam=self.penalty * n, random_state=0, **self.options)


def simulation2(n: int, rng: np.random.Generator) -> np.ndarray:
    """Simulation 2 about the same five centroids in every draw."""
    centers = make_simulation2(5, p=20, random_state=0).centers
    X = rng.standard_normal((n, 20))
    X[:, :5] = centers[rng.integers(5, size=n), :5] + 0.015 * X[:, :5]
    return X


def overlapping(n: int, rng: np.random.Generator) -> np.ndarray:
    """Three clusters that overlap, in four features of different strength among ten."""
    corners = np.array([[1.0, 1.0, -1.0, -1.0], [-1.0, 1.0, 1.0, 0.0], [0.0, -1.0, 0.0, 1.0]])
    X = rng.standard_normal((n, 10))
    X[:, :4] += (corners * [3.0, 2.5, 2.0, 1.6])[rng.integers(3, size=n)]
    return X


DESIGNS = [
    Design("Simulation 2, k = 5, p = 20", simulation2, 5, 500, 0.05, 5, {}),
    Design("overlapping, k = 3, p = 10", overlapping, 3, 400, 0.2, 4, {"scale": "standard"}),
]


def one_data_set(design: Design, truth: np.ndarray, n_boot: int, seed: int) -> pd.DataFrame:
    """For both methods and every relevant feature, whether its weight is covered."""
    results = design.fit(design.n, np.random.default_rng([seed, 1]))
    found = results.bootstrap(n_boot, random_state=seed)
    parts = []
    for method in METHODS:
        table = found.weight_intervals(0.95, method).iloc[: design.relevant]
        part = pd.DataFrame({"feature": table.index, "population weight": truth})
        part["covered"] = ((table["lower"] <= truth) & (truth <= table["upper"])).to_numpy()
        part["width"] = (table["upper"] - table["lower"]).to_numpy()
        part.insert(0, "method", method)
        parts.append(part)
    return pd.concat(parts)


def main() -> None:
    """Print a table of coverages and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=200)
    parser.add_argument("--n-boot", type=int, default=200)
    parser.add_argument("--n-jobs", type=int, default=None)
    parser.add_argument("--keep", type=Path, help="folder for finished data sets, to go on later")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "report")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    parts = []
    for design in DESIGNS:
        large = design.fit(500_000, np.random.default_rng(0))
        truth = large.weights.to_numpy()[: design.relevant]
        task = partial(one_data_set, design, truth, options.n_boot)
        file = options.keep and options.keep / f"coverage_{design.relevant}_of_{design.k}.csv"
        part = replicate(task, options.data_sets, keep=file, n_jobs=options.n_jobs)
        part.insert(0, "design", f"{design.name}, n = {design.n}")
        parts.append(part)
    keys = ["design", "method", "feature", "population weight"]
    grouped = pd.concat(parts).groupby(keys, sort=False)
    table = grouped.agg(
        **{"coverage, %": ("covered", lambda c: 100 * c.mean()), "mean width": ("width", "mean")}
    ).reset_index()
    table.to_csv(options.out / "coverage.csv", index=False, float_format="%.6g")
    overall = table.groupby(["design", "method"], sort=False)["coverage, %"]
    summary = overall.agg(["mean", "min", "max"]).round(1).astype(str).reset_index()
    summary.columns = ["design", "method", "coverage, %", "lowest of a feature", "highest"]
    text = (
        f"{options.data_sets} data sets, {options.n_boot} resamples each; nominal coverage of the "
        f"population weights of relevant features: 95 %\n\n{to_markdown(summary)}"
    )
    (options.out / "coverage.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
