"""Whether intervals cover and tests keep their level, data set by data set.

Coverage: two designs, Simulation 2, whose relevant features are all alike, and clusters that
overlap and differ more in some features than in others, so that the weights differ too. The
population's weights and centroids are those of a fit to a very large sample. Where nothing clusters
there is no population solution to cover: there an interval has to say that the weight could be
nearly anything.

Level: features that are pure noise should be rejected at 5 % in 5 % of the cases, both beside real
clusters and where nothing clusters at all; relevant features should be rejected nearly always.
So should the features of a correlated cloud without clusters. Beside it stands what a careless test
does: compare the means of the clusters that the feature helped to find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import f_oneway

import ewp
from ewp.datasets import make_simulation2
from ewp.metrics import centroid_order
from validation.cells import Cell, Store
from validation.page import Section, Table, Verdict

__all__ = [
    "COVERAGE",
    "LEVEL",
    "METHODS",
    "Design",
    "coverage_cells",
    "interval_ends",
    "level",
    "level_cells",
    "population_cells",
    "pure_noise",
    "pure_noise_cells",
    "solution",
    "uncertainty_section",
]

#: Data sets, in cells of several.
DATA_SETS = 200
_A_CELL = 10
METHODS = ("auto", "bca", "percentile")
STARTS = ("scratch", "estimates")
#: Interval ends of a weight that count as nearly nothing and nearly everything.
_NEARLY = 0.05


@dataclass(frozen=True)
class Design:
    """A way to draw data, and how to fit them."""

    draw: Callable[[int, np.random.Generator], np.ndarray]
    k: int
    n: int
    penalty: float
    relevant: int
    options: dict[str, Any] = field(default_factory=dict)

    def fit(self, n: int, rng: np.random.Generator) -> tuple[ewp.EWPResults, np.ndarray]:
        """Draw n rows and fit them, with the penalty in proportion."""
        X = self.draw(n, rng)
        return ewp.fit(X, self.k, self.penalty * n, random_state=0, **self.options), X


def _simulation2(n: int, rng: np.random.Generator) -> np.ndarray:
    """Simulation 2 about the same five centroids in every draw."""
    centers = make_simulation2(5, p=20, random_state=0).centers
    X = rng.standard_normal((n, 20))
    X[:, :5] = centers[rng.integers(5, size=n), :5] + 0.015 * X[:, :5]
    return X


def _uneven(n: int, rng: np.random.Generator) -> np.ndarray:
    """Three clusters that overlap, in four features of different strength among ten."""
    corners = np.array([[1.0, 1.0, -1.0, -1.0], [-1.0, 1.0, 1.0, 0.0], [0.0, -1.0, 0.0, 1.0]])
    X = rng.standard_normal((n, 10))
    X[:, :4] += (corners * [3.0, 2.5, 2.0, 1.6])[rng.integers(3, size=n)]
    return X


def _fresh_simulation2(n: int, rng: np.random.Generator) -> np.ndarray:
    """Simulation 2: three clusters in three features of ten, about other centroids each time."""
    return make_simulation2(3, n=n, p=10, n_relevant=3, random_state=rng).X


def _overlapping(n: int, rng: np.random.Generator) -> np.ndarray:
    """Three clusters that overlap, in three features of ten."""
    X = rng.standard_normal((n, 10))
    X[:, :3] += 2.5 * np.eye(3)[rng.integers(3, size=n)]
    return X


def _pure_noise(n: int, rng: np.random.Generator) -> np.ndarray:
    """Six features of noise: with a small penalty one of them has all the weight."""
    return rng.standard_normal((n, 6))


def _without_clusters(n: int, rng: np.random.Generator) -> np.ndarray:
    """Ten features of noise, three of them skewed, with heavy tails, or discrete."""
    X = rng.standard_normal((n, 10))
    X[:, 0] = rng.exponential(size=n)
    X[:, 1] = rng.standard_t(3, size=n)
    X[:, 2] = rng.integers(4, size=n)
    return X


def _correlated(n: int, rng: np.random.Generator) -> np.ndarray:
    """One cloud of ten features with correlations of a half."""
    X: np.ndarray = rng.standard_normal((n, 1)) + rng.standard_normal((n, 10))
    return X


def _triangle(n: int, rng: np.random.Generator) -> np.ndarray:
    """Clusters at the corners of a triangle with sides of four deviations, and three of noise."""
    X = rng.standard_normal((n, 5))
    X[:, :2] += np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 12**0.5]])[rng.integers(3, size=n)]
    return X


_STANDARD = {"scale": "standard"}
COVERAGE = {
    "Simulation 2, k = 5, p = 20, n = 500": Design(_simulation2, 5, 500, 0.05, 5),
    "overlapping, k = 3, p = 10, n = 400": Design(_uneven, 3, 400, 0.2, 4, _STANDARD),
}
NOISE = {"pure noise, k = 3, p = 6, n = 300": Design(_pure_noise, 3, 300, 0.0185, 6)}
LEVEL = {
    "Simulation 2, raw": Design(_fresh_simulation2, 3, 150, 0.05, 3),
    "overlapping, standardised": Design(_overlapping, 3, 150, 0.3, 3, _STANDARD),
    "overlapping, between form": Design(_overlapping, 3, 150, 0.5, 3, {"dispersion": "between"}),
    "triangle, standardised": Design(_triangle, 3, 300, 0.2, 2, _STANDARD),
    "no clusters, standardised": Design(_without_clusters, 3, 150, 0.3, 0, _STANDARD),
    "one correlated cloud": Design(_correlated, 3, 150, 0.3, 0, _STANDARD),
}


def population_cells() -> list[Cell]:
    """Weights that intervals should cover."""
    return [
        Cell("uncertainty.solution", {"design": design, "n": 500_000}, rank=0, chooses=False)
        for design in COVERAGE
    ]


#: Designs that a quick run leaves out.
_SLOW = ("one correlated cloud", "overlapping, between form", "overlapping, standardised")


def _data_sets(task: str, designs: dict[str, object], **inputs: object) -> list[Cell]:
    return [
        Cell(
            f"uncertainty.{task}",
            {"design": design, "first": first, "count": _A_CELL, **inputs},
            rank=0 if first == 0 and design not in _SLOW else 3,
            chooses=False,
        )
        for first in range(0, DATA_SETS, _A_CELL)
        for design in designs
    ]


def coverage_cells() -> list[Cell]:
    """Bootstrap intervals."""
    return _data_sets("interval_ends", dict(COVERAGE), n_boot=200)


def pure_noise_cells() -> list[Cell]:
    """Bootstrap intervals where there is nothing to find."""
    return _data_sets("pure_noise", dict(NOISE), n_boot=200)


def level_cells() -> list[Cell]:
    """Tests of features."""
    return _data_sets("level", dict(LEVEL))


def solution(design: str, n: int) -> dict[str, Any]:
    """Weights of the relevant features and their centroids in a very large sample."""
    results, _ = COVERAGE[design].fit(n, np.random.default_rng(0))
    relevant = COVERAGE[design].relevant
    return {
        "weights": results.weights.iloc[:relevant].tolist(),
        "centroids": results.centroids.iloc[:, :relevant].to_numpy().tolist(),
    }


def interval_ends(design: str, first: int, count: int, n_boot: int) -> list[dict[str, Any]]:
    """95 % intervals of the relevant features' weights and centroids in some data sets.

    Parameters
    ----------
    design : str
        One of `COVERAGE`.
    first, count : int
        Seed of the first data set, and how many there are.
    n_boot : int
        Resamples of each.
    """
    how = COVERAGE[design]
    rows = []
    for seed in range(first, first + count):
        results, _ = how.fit(how.n, np.random.default_rng([seed, 1]))
        found = results.bootstrap(n_boot, random_state=seed)
        for method in METHODS:
            table = found.weight_intervals(0.95, method).iloc[: how.relevant]
            ends = {side: table[side].tolist() for side in ("lower", "upper")}
            row = {"seed": seed, "method": method, **ends}
            if method == "auto":
                row["centroids"] = _of_centroids(found.centroid_intervals(), how)
            rows.append(row)
    return rows


def _of_centroids(table: pd.DataFrame, how: Design) -> dict[str, Any]:
    """Centroids of the relevant features with their intervals, a list a cluster."""
    shape = how.k, -1
    return {
        side: table[side].to_numpy().reshape(shape)[:, : how.relevant].round(6).tolist()
        for side in ("centroid", "lower", "upper")
    }


def pure_noise(design: str, first: int, count: int, n_boot: int) -> list[dict[str, Any]]:
    """95 % intervals of the heaviest feature's weight where there are no clusters.

    Parameters
    ----------
    design : str
        One of `NOISE`.
    first, count : int
        Seed of the first data set, and how many there are.
    n_boot : int
        Resamples of each.
    """
    how = NOISE[design]
    rows = []
    for seed in range(first, first + count):
        results, _ = how.fit(how.n, np.random.default_rng([seed, 3]))
        for start in STARTS:
            found = results.bootstrap(n_boot, start=start, random_state=seed)
            heaviest = found.weight_intervals().loc[results.weights.idxmax()]
            rows.append(
                {
                    "seed": seed,
                    "start": start,
                    "weight": heaviest["weight"],
                    "lower": heaviest["lower"],
                    "upper": heaviest["upper"],
                    "dissolved": float(found.clusters["dissolved"].mean()) / found.n_boot,
                }
            )
    return rows


def level(design: str, first: int, count: int) -> list[dict[str, Any]]:
    """P-values of all features in some data sets, by the package's test and by the careless one.

    Parameters
    ----------
    design : str
        One of `LEVEL`.
    first, count : int
        Seed of the first data set, and how many there are.
    """
    how = LEVEL[design]
    rows = []
    for seed in range(first, first + count):
        results, X = how.fit(how.n, np.random.default_rng([seed, 2]))
        tests = results.test_features(random_state=seed)
        rows.append(
            {
                "seed": seed,
                "p_value": tests.table["p_value"].tolist(),
                "careless": _careless(results, X).tolist(),
            }
        )
    return rows


def _careless(results: ewp.EWPResults, X: np.ndarray) -> np.ndarray:
    """P-values of analyses of variance between the clusters of all features."""
    labels = results.labels.to_numpy()
    groups = [X[labels == j] for j in np.unique(labels)]
    p_value: np.ndarray = f_oneway(*groups).pvalue
    return p_value


def _covered(store: Store) -> pd.DataFrame:
    """Whether each interval of each data set covers the population's value."""
    known = {cell.inputs["design"]: value for cell, value in store.finished(population_cells())}
    rows = []
    for cell, value in store.finished(coverage_cells()):
        design = cell.inputs["design"]
        if design not in known:
            continue
        weights, theta = (np.array(known[design][name]) for name in ("weights", "centroids"))
        for one in value:
            kinds = {"weights": (weights, one)}
            if "centroids" in one:
                found = one["centroids"]
                own = np.array(found["centroid"])
                order = centroid_order(theta, own, np.ones(theta.shape[1]))
                kinds["centroids"] = (theta[order], found)
            for what, (wanted, ends) in kinds.items():
                inside = (np.array(ends["lower"]) <= wanted) & (wanted <= np.array(ends["upper"]))
                rows += [
                    {
                        "design": design,
                        "of": what,
                        "method": one["method"],
                        "feature": i,
                        "covered": 100 * hit,
                    }
                    for i, hit in enumerate(np.atleast_2d(inside).mean(axis=0))
                ]
    return pd.DataFrame(rows, columns=["design", "of", "method", "feature", "covered"])


def _on_noise(store: Store) -> pd.DataFrame:
    """Intervals where there are no clusters, a row a kind of start."""
    values = [value for _, value in store.finished(pure_noise_cells())]
    found = pd.DataFrame([one for value in values for one in value])
    if found.empty:
        return found
    found["wide"] = (found["lower"] < _NEARLY) & (found["upper"] > 1 - _NEARLY)
    table = found.groupby("start", sort=False).agg(
        weight=("weight", "median"),
        wide=("wide", "mean"),
        dissolved=("dissolved", "mean"),
        sets=("seed", "size"),
    )
    return pd.DataFrame(
        {
            "resamples fitted from": table.index,
            "weight of the heaviest feature, median": table["weight"].map("{:.4f}".format),
            "interval from below 0.05 to above 0.95, %": (100 * table["wide"]).map("{:.1f}".format),
            "cluster is another one, % of resamples": (100 * table["dissolved"]).map(
                "{:.1f}".format
            ),
            "data sets": table["sets"],
        }
    ).reset_index(drop=True)


def _rejected(store: Store) -> pd.DataFrame:
    """Rejections at 5 % in per cent, a row a design."""
    parts: dict[str, list[dict[str, list[float]]]] = {}
    for cell, value in store.finished(level_cells()):
        parts.setdefault(cell.inputs["design"], []).extend(value)
    rows = []
    for design, found in parts.items():
        first = LEVEL[design].relevant
        own, careless = (
            100 * (np.array([one[test] for one in found]) <= 0.05)
            for test in ("p_value", "careless")
        )
        rows.append(
            {
                "design": design,
                "noise, % rejected": own[:, first:].mean(),
                "relevant, % rejected": own[:, :first].mean() if first else np.nan,
                "careless test, noise": careless[:, first:].mean(),
                "data sets": len(found),
            }
        )
    return pd.DataFrame(rows)


def uncertainty_section(store: Store) -> Section | None:
    """Coverage of intervals and level of tests."""
    covered, level = _covered(store), _rejected(store)
    if covered.empty or level.empty:
        return None
    kind = ["design", "of", "method"]
    by_feature = covered.groupby([*kind, "feature"])["covered"].mean()
    groups = by_feature.groupby(kind)
    shown = pd.DataFrame(
        {
            "coverage, %": groups.mean().map("{:.1f}".format),
            "lowest of a feature": groups.min().map("{:.1f}".format),
            "highest": groups.max().map("{:.1f}".format),
            "data sets": covered[covered["feature"] == 0].groupby(kind).size(),
        }
    ).reset_index()
    means, rates = groups.mean().xs("auto", level="method"), level["noise, % rejected"]
    on_noise = _on_noise(store)
    words = (
        "Pure noise (six features, k = 3): intervals of the heaviest feature's weight. There is no "
        "right value; an interval has to say that it could be nearly anything"
    )
    noise = [] if on_noise.empty else [Table(on_noise, words)]
    tests = level.map(
        lambda v: "–" if pd.isna(v) else f"{v:.1f}" if isinstance(v, float) else str(v)
    )
    return Section(
        "Intervals and tests",
        Verdict(
            "new",
            f"95 % bootstrap intervals cover {means.min():.1f} – {means.max():.1f} % of the "
            "population's weights and centroids; tests at 5 % reject "
            f"{rates.min():.1f} – {rates.max():.1f} % of the true null hypotheses, that a feature "
            "is noise.",
        ),
        [
            Table(
                shown,
                f"Bootstrap intervals ({coverage_cells()[0].inputs['n_boot']} resamples) of the "
                "weights and centroids of relevant features: how often they hold the population's, "
                f"for which a sample of {population_cells()[0].inputs['n']:,} rows stands; mean, "
                "lowest and highest over the features. The standard error of a feature's coverage "
                "is 1.5 points at 200 data sets",
                3,
            ),
            *noise,
            Table(
                tests,
                "Tests of features at 5 %, given the other features: % of the features that are "
                "noise, for which the null hypothesis is true, and of the relevant ones, that are "
                "rejected. The careless test, here on noise, is an analysis of variance between "
                "the clusters that the feature helped to find",
            ),
        ],
    )
