"""The level of the permutation test of the features, and its power.

Run ``python validation/level.py``. Features that are pure noise should be rejected at 5 % in 5 % of
the cases, both beside real clusters and where nothing clusters at all; relevant features should be
rejected nearly always. Beside it stands what a careless test does: permute a column and compare
with the clusters it helped to find.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ewp
from ewp.datasets import make_simulation2
from ewp.feature_tests import permuted_dispersions
from validation.replication import replicate
from validation.table_text import to_markdown


def with_clusters(rng: np.random.Generator) -> np.ndarray:
    """Simulation 2: three clusters in three features of ten."""
    return make_simulation2(3, n=150, p=10, n_relevant=3, random_state=rng).X


def overlapping(rng: np.random.Generator) -> np.ndarray:
    """Three clusters that overlap, in three features of ten."""
    X = rng.standard_normal((150, 10))
    X[:, :3] += 2.5 * np.eye(3)[rng.integers(3, size=150)]
    return X


def without_clusters(rng: np.random.Generator) -> np.ndarray:
    """Ten features of noise, three of them skewed, with heavy tails, or discrete."""
    X = rng.standard_normal((150, 10))
    X[:, 0] = rng.exponential(size=150)
    X[:, 1] = rng.standard_t(3, size=150)
    X[:, 2] = rng.integers(4, size=150)
    return X


DESIGNS: list[tuple[str, Callable[[np.random.Generator], np.ndarray], int, float, dict[str, Any]]]
DESIGNS = [
    ("Simulation 2, raw", with_clusters, 3, 0.05, {}),
    ("overlapping, standardised", overlapping, 3, 0.3, {"scale": "standard"}),
    ("overlapping, between form", overlapping, 3, 0.5, {"dispersion": "between"}),
    ("no clusters, standardised", without_clusters, 0, 0.3, {"scale": "standard"}),
]


def careless(results: ewp.EWPResults, X: np.ndarray, n_perm: int, seed: int) -> np.ndarray:
    """P-values against the clusters of all features, the tested one included."""
    Z = X - X.mean(axis=0)
    within, _ = permuted_dispersions(Z, results.labels.to_numpy(), None, n_perm, seed)
    return (1 + (within[1:] <= within[0]).sum(axis=0)) / (n_perm + 1)


def one_data_set(
    draw: Callable[[np.random.Generator], np.ndarray],
    penalty: float,
    options: dict[str, Any],
    n_perm: int,
    seed: int,
) -> pd.DataFrame:
    """P-values of all features, by the package's test and by the careless one."""
    X = draw(np.random.default_rng([seed, 2]))
    results = ewp.fit(X, 3, lam=penalty * len(X), random_state=0, **options)
    tests = results.test_features(n_perm, random_state=seed)
    return pd.DataFrame(
        {
            "feature": np.arange(X.shape[1]),
            "p_value": tests.table["p_value"].to_numpy(),
            "careless": careless(results, X, n_perm, seed),
        }
    )


def main() -> None:
    """Print a table of rejection rates at 5 % and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=200)
    parser.add_argument("--n-perm", type=int, default=199)
    parser.add_argument("--n-jobs", type=int, default=None)
    parser.add_argument("--keep", type=Path, help="folder for finished data sets, to go on later")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "report")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for i, (name, draw, relevant, penalty, how) in enumerate(DESIGNS):
        task = partial(one_data_set, draw, penalty, how, options.n_perm)
        file = options.keep and options.keep / f"level_{i}.csv"
        found = replicate(task, options.data_sets, keep=file, n_jobs=options.n_jobs)
        noise = found["feature"] >= relevant
        rejected = 100 * (found[["p_value", "careless"]] <= 0.05)
        rows.append(
            {
                "design": name,
                "noise, % rejected": rejected.loc[noise, "p_value"].mean(),
                "relevant, % rejected": rejected.loc[~noise, "p_value"].mean(),
                "careless test, noise": rejected.loc[noise, "careless"].mean(),
            }
        )
    table = pd.DataFrame(rows)
    table.to_csv(options.out / "level.csv", index=False, float_format="%.6g")
    shown = table.map(lambda x: f"{x:.1f}" if isinstance(x, float) and x == x else x)
    text = (
        f"{options.data_sets} data sets, {options.n_perm} permutations, tests at 5 %\n\n"
        f"{to_markdown(shown)}"
    )
    (options.out / "level.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
