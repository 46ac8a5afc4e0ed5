"""The consistency theorem on simulated data: errors that fall like n^(-1/2), and some that do not.

Run ``python validation/consistency.py``. Simulation 2 with k = 5 and p = 20 is fitted at n = 250 to
16,000 and compared with its population: the true centroids, and the weights of a fit to a million
rows. Then come fresh data sets, to count how often the interval of the slope contains -1/2; and the
same data fitted with two clusters more than they have, where no solution is unique.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

import ewp
from ewp.consistency import ConsistencyResults
from ewp.datasets import Simulation, make_simulation2
from validation.replication import replicate
from validation.table_text import to_markdown

SIZES = [250, 500, 1000, 2000, 4000, 8000, 16000]
PENALTY = 0.05


def draw(seed: int, n: int) -> Simulation:
    """Data of the design; the same seed has the same centroids for every n."""
    return make_simulation2(5, n=n, p=20, random_state=seed)


def population(seed: int, n: int = 1_000_000) -> tuple[np.ndarray, np.ndarray]:
    """True centroids and the weights of a very large sample."""
    big = draw(seed, n)
    results = ewp.fit(big.X, 5, lam=PENALTY * n, random_state=0, init=big.centers)
    return big.centers, results.weights.to_numpy()


def against_population(seed: int, n_rep: int, n_jobs: int | None) -> ConsistencyResults:
    """One data set of 16,000 rows and its subsamples against the population."""
    data = draw(seed, SIZES[-1])
    results = ewp.fit(data.X, 5, lam=PENALTY * len(data.X), random_state=0)
    return results.consistency(
        SIZES, n_rep, reference=population(seed), random_state=seed, n_jobs=n_jobs
    )


def too_many_clusters(n_rep: int, n_jobs: int | None) -> ConsistencyResults:
    """Five clusters fitted with seven."""
    data = draw(0, 8000)
    results = ewp.fit(data.X, 7, lam=PENALTY * len(data.X), random_state=0)
    return results.consistency([250, 500, 1000, 2000, 4000], n_rep, random_state=0, n_jobs=n_jobs)


def by_size(found: ConsistencyResults, case: str) -> pd.DataFrame:
    """The table of a report with the case in front."""
    table = found.table.reset_index()
    table.insert(0, "case", case)
    return table


def fresh_data_set(n_rep: int, seed: int) -> pd.DataFrame:
    """Slopes of another data set, and whether their intervals contain -1/2."""
    slopes = against_population(seed + 1, n_rep, None).slopes.loc[["weights", "centroids"]]
    inside = (slopes["lower"] <= -0.5) & (slopes["upper"] >= -0.5)
    return pd.DataFrame({"error": slopes.index, "slope": slopes["slope"], "inside": inside})


def many_data_sets(count: int, n_rep: int, keep: Path | None, n_jobs: int | None) -> str:
    """Table of the slopes of fresh data sets."""
    found = replicate(partial(fresh_data_set, n_rep), count, keep=keep, n_jobs=n_jobs)
    table = found.groupby("error", sort=False).agg(
        **{
            "slope, mean": ("slope", "mean"),
            "sd between data sets": ("slope", "std"),
            "-1/2 in the 95 % interval, share": ("inside", "mean"),
        }
    )
    return f"The same on {count} fresh data sets\n\n{to_markdown(table.reset_index())}\n"


def main() -> None:
    """Run the designs; write the reports, the tables and the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--data-sets", type=int, default=20)
    parser.add_argument("--n-jobs", type=int, default=None)
    parser.add_argument("--keep", type=Path, help="folder for finished data sets, to go on later")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "report")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    mpl.use("Agg")

    found = against_population(0, options.replicates, options.n_jobs)
    flat = too_many_clusters(options.replicates, options.n_jobs)
    for name, picture in (
        ("consistency", found.plot()),
        ("consistency_along_s", found.plot_along_s()),
        ("consistency_two_too_many", flat.plot()),
    ):
        picture.figure.savefig(options.out / f"{name}.png", dpi=90)
    sizes = pd.concat([by_size(found, "population"), by_size(flat, "two clusters too many")])
    sizes.to_csv(options.out / "consistency.csv", index=False, float_format="%.6g")
    count, file = options.data_sets, options.keep and options.keep / "consistency.csv"
    fresh = many_data_sets(count, options.replicates, file, options.n_jobs) if count else ""
    text = (
        "Simulation 2, k = 5, p = 20, n = 250 to 16,000, against the population\n\n"
        f"```text\n{found}\n```\n\n"
        f"{fresh}"
        "Fitted with seven clusters, two more than there are\n\n"
        f"```text\n{flat}\n```\n"
    )
    (options.out / "consistency.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
