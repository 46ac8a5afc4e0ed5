"""How often a fit finds the best objective known, and what that costs.

Run ``python validation/benchmarks/search.py``. A problem is a data set, standardised, with a number
of clusters and a penalty of 0.05, 0.3 or 1.5 a row: few features, some, or most of them matter. In
every problem each of twenty seeds makes a fit with default starts and one with a single start; the
share of the seeds that end within 1e-4 a row of the best objective known is what is reported, and
the CPU time on one thread in units of ten starts of k-means, all three in turns.

The best of 500 starts is the lowest that starts alone have found: a fit with 500 of them, which
polishes only the lowest, and ten fits with 50 and other seeds, which polish more. The best
objective known is the lowest that anything has found, the fits that are judged among it, some of
which recombine the partitions of their starts. Both are kept in ``search_best.csv`` beside this
file, with what found the latter: another run can only lower them. A problem whose data are not
those of the last run begins anew.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from clock import cpu
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_digits
from threadpoolctl import threadpool_limits

import ewp
from ewp.datasets import load_dataset, make_simulation1, make_simulation2

__all__ = ["Problem", "problems", "table"]

BEST = Path(__file__).parent / "search_best.csv"

#: Penalties a row: a data set is three problems.
PENALTIES = (0.05, 0.3, 1.5)
#: A fit has found the best objective if it is above it by no more than this a row.
CLOSE = 1e-4
#: Differences a row that are rounding errors.
ROUNDING = 1e-9
#: Fits that look for the best objective beside the one with most starts, and their starts.
OTHERS, STARTS_OF_OTHERS = 10, 50
#: First seed of those fits, far from the seeds that are judged.
FIRST_SEED = 1_000_000


@dataclass(frozen=True)
class Problem:
    """One data set with a penalty.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n, p)
        Standardised.
    k : int
    penalty : float
        A row.
    """

    name: str
    X: np.ndarray
    k: int
    penalty: float

    def fit(self, n_init: int | str, seed: int) -> Any:
        """Results of a fit from some starts."""
        lam = self.penalty * len(self.X)
        return ewp.fit(self.X, self.k, lam, scale=None, n_init=n_init, random_state=seed)

    @property
    def fingerprint(self) -> str:
        """A number that other data would not have."""
        return f"{self.k} {self.X.shape} {np.sum(np.abs(self.X) ** 3):.6g}"


def gaussians(k: int, p: int, n: int, distance: float, noise: int, seed: int) -> np.ndarray:
    """Gaussian clusters about centres from N(0, distance²), and features that are only noise."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(0, distance, (k, p))
    X = centers[rng.integers(k, size=n)] + rng.standard_normal((n, p))
    return np.hstack([X, rng.standard_normal((n, noise))])


def data_sets() -> Iterator[tuple[str, np.ndarray, int]]:
    """Names, features and numbers of clusters."""
    for name in ("iris", "wine", "wdbc"):
        found = load_dataset(name)
        yield name, found.X.to_numpy(), found.k
    yield "diabetes", load_diabetes().data, 4
    yield "digits, 500 rows", load_digits().data[:500], 10
    yield "noise", np.random.default_rng(6).standard_normal((300, 6)), 3
    for k, p, n, distance, noise in [
        (3, 5, 100, 1.0, 0),
        (3, 10, 300, 0.7, 5),
        (5, 20, 500, 0.8, 0),
        (10, 8, 600, 2.0, 4),
        (20, 10, 1000, 2.0, 10),
        (50, 10, 1500, 2.5, 5),
    ]:
        X = gaussians(k, p, n, distance, noise, seed=k + noise)
        yield f"Gaussians, k = {k}, p = {X.shape[1]}", X, k
    grid = make_simulation1(20, random_state=0)
    yield "Simulation 1, half the grid", grid.X[grid.labels < 50], 50
    yield "Simulation 2, k = 5", make_simulation2(5, n=500, p=20, random_state=0).X, 5
    yield "Simulation 2, k = 20", make_simulation2(20, n=1000, random_state=0).X, 20


def problems() -> Iterator[Problem]:
    """All problems, three a data set."""
    for name, raw, k in data_sets():
        X = raw[:, raw.std(axis=0) > 0]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        for penalty in PENALTIES:
            yield Problem(name, X, k, penalty)


class BestKnown:
    """The lowest objectives that anything has found, kept in a file.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[tuple[str, float], dict[str, Any]] = {}
        if path.exists():
            for row in pd.read_csv(path).to_dict("records"):
                self._rows[row["problem"], row["penalty"]] = row

    def objective(self, problem: Problem) -> float:
        """The best objective known; infinity where none is."""
        row = self._rows.get((problem.name, problem.penalty))
        if row is None or row["fingerprint"] != problem.fingerprint:
            return math.inf
        return float(row["objective"])

    def of_starts(self, problem: Problem) -> float:
        """The best objective that starts alone have found; infinity where none is known."""
        if math.isinf(self.objective(problem)):
            return math.inf
        return float(self._rows[problem.name, problem.penalty]["of_starts"])

    def found_by(self, problem: Problem) -> str:
        """What found it."""
        return str(self._rows[problem.name, problem.penalty]["found_by"])

    def offer(
        self, problem: Problem, objective: float, found_by: str, *, of_starts: bool = False
    ) -> None:
        """Keep an objective if it is lower than what is known, of starts alone or of anything."""
        at = problem.name, problem.penalty
        alone = min(self.of_starts(problem), objective if of_starts else math.inf)
        if self.objective(problem) - objective > ROUNDING * len(problem.X):
            self._rows[at] = {
                "problem": problem.name,
                "penalty": problem.penalty,
                "objective": float(objective),
                "found_by": found_by,
                "fingerprint": problem.fingerprint,
            }
        self._rows[at]["of_starts"] = alone

    def write(self) -> None:
        """Keep them for the next run."""
        pd.DataFrame(self._rows.values()).to_csv(self._path, index=False, float_format="%.15g")


def look_hard(problem: Problem, best: BestKnown, starts: int) -> None:
    """Look for the best objective with many starts."""
    found = problem.fit(starts, FIRST_SEED).objective
    best.offer(problem, found, f"{starts} starts", of_starts=True)
    for seed in range(OTHERS):
        found = problem.fit(STARTS_OF_OTHERS, FIRST_SEED + 1 + seed).objective
        best.offer(problem, found, f"{STARTS_OF_OTHERS} starts, seed {seed}", of_starts=True)


def measure(problem: Problem, best: BestKnown, seeds: int) -> dict[str, Any]:
    """One row of the table."""
    n, p = problem.X.shape
    seconds = np.empty((seeds, 3))
    objective = np.empty((seeds, 2))
    starts = np.empty(seeds)
    for seed in range(seeds):
        runs: list[Callable[[], Any]] = [
            lambda seed=seed: problem.fit("auto", seed),
            lambda seed=seed: problem.fit(1, seed),
            lambda seed=seed: KMeans(problem.k, n_init=10, random_state=seed).fit(problem.X),
        ]
        timed = [cpu(run) for run in runs]
        seconds[seed] = [spent for spent, _ in timed]
        objective[seed] = [found.objective for _, found in timed[:2]]
        starts[seed] = timed[0][1].n_starts
        for name, value in zip(("default", "one start"), objective[seed], strict=True):
            best.offer(problem, value, f"{name}, seed {seed}", of_starts=name == "one start")
    gap = (objective - best.objective(problem)) / n
    default, single = np.mean(gap <= CLOSE, axis=0)
    reached = np.mean(objective[:, 0] - best.of_starts(problem) <= CLOSE * n)
    cost, cost_single = np.median(seconds[:, :2] / seconds[:, 2:], axis=0)
    return {
        "data": problem.name,
        "n": n,
        "p": p,
        "k": problem.k,
        "penalty": problem.penalty,
        "default reaches 500 starts": reached,
        "default finds it": default,
        "one start finds it": single,
        "starts": np.median(starts),
        "default / k-means": cost,
        "one start / k-means": cost_single,
        "worst gap of the default": worst if (worst := gap[:, 0].max()) > ROUNDING else 0.0,
        "found by": best.found_by(problem),
    }


def table(seeds: int, starts: int) -> pd.DataFrame:
    """Shares and costs in every problem, and in the last row their means and median costs."""
    best = BestKnown(BEST)
    rows = []
    with threadpool_limits(1):
        for problem in problems():
            if starts:
                look_hard(problem, best, starts)
            rows.append(measure(problem, best, seeds))
            best.write()
            print(*rows[-1].values(), sep=" | ", flush=True)
    found = pd.DataFrame(rows)
    columns = ["default reaches 500 starts", "default finds it", "one start finds it"]
    shares = found[columns].mean()
    costs = found[["starts", "default / k-means", "one start / k-means"]].median()
    worst = {"worst gap of the default": found["worst gap of the default"].max()}
    last = {"data": f"all {len(found) * seeds} pairs"} | dict(shares) | dict(costs) | worst
    return pd.concat([found, pd.DataFrame([last])], ignore_index=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="fits of each kind a problem")
    parser.add_argument(
        "--starts", type=int, default=500, help="of the fit that looks hardest; 0 for none"
    )
    options = parser.parse_args()
    print(table(options.seeds, options.starts).to_string(index=False, float_format="%.3g"))


if __name__ == "__main__":
    main()
