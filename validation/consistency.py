"""The consistency theorem on simulated data: errors that fall like n^(-1/2), and some that do not.

Run ``python validation/consistency.py``. Simulation 2 with k = 5 and p = 20 is fitted at n = 250 to
16,000 and compared with its population: the true centroids, and the weights of a fit to a million
rows. Then come fresh data sets, to count how often the interval of the slope contains -1/2; and the
same data fitted with two clusters more than they have, where no solution is unique.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

import ewp
from ewp.consistency import ConsistencyResults
from ewp.datasets import Simulation, make_simulation2

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


def main() -> None:
    """Print the reports and save the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--data-sets", type=int, default=20)
    parser.add_argument("--n-jobs", type=int, default=None)
    parser.add_argument("--pictures", type=Path, default=None, help="folder for PNG files")
    options = parser.parse_args()
    mpl.use("Agg")

    found = against_population(0, options.replicates, options.n_jobs)
    print(found)
    flat = too_many_clusters(options.replicates, options.n_jobs)
    print(flat)
    if options.pictures is not None:
        found.plot().figure.savefig(options.pictures / "consistency.png", dpi=110)
        found.plot_along_s().figure.savefig(options.pictures / "along_s.png", dpi=110)
        flat.plot().figure.savefig(options.pictures / "not_identifiable.png", dpi=110)

    rows = []
    for seed in range(1, options.data_sets + 1):
        slopes = against_population(seed, options.replicates, options.n_jobs).slopes
        for name in ("weights", "centroids"):
            slope = slopes.loc[name]
            inside = slope["lower"] <= -0.5 <= slope["upper"]
            rows.append({"error": name, "slope": slope["slope"], "-1/2 inside": inside})
    table = (
        pd.DataFrame(rows)
        .groupby("error")
        .agg(slope=("slope", "mean"), sd=("slope", "std"), covered=("-1/2 inside", "mean"))
    )
    print(f"\n{options.data_sets} data sets: slopes, and how often -1/2 is in the 95 % interval")
    print(table.to_string(float_format="%.3f"))


if __name__ == "__main__":
    main()
