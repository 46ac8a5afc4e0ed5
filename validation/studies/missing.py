"""Missing values: fits to observed values, and their mixtures, beside complete rows and imputation.

Values are missing completely at random, but for one design in which large values are missing more
often, where every method fails that does not know it. The figures of k-POD are recorded: they are
another package's, and no code of this one changes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer

import ewp
from ewp.datasets import make_simulation2
from validation.cells import Cell, Store
from validation.data import available, further, load, load_further
from validation.page import Picture, Section, Table, Verdict
from validation.recordings import k_pod
from validation.same_starts import example, nmi
from validation.summaries import axes_row, counted, frame_of, mean_sd

__all__ = [
    "METHODS",
    "compare_fits",
    "holes",
    "holes_cells",
    "missing_section",
    "not_random",
    "not_random_cells",
    "real",
    "real_cells",
    "simulated",
    "simulated_cells",
    "standard_fits",
    "with_missing",
]

SHARES = (0.05, 0.1, 0.2, 0.4)
REAL = ("iris", "wine", "newthyroid", "seeds")
METHODS = (
    "complete data",
    "its centroids",
    "observed",
    "observed, λ chosen",
    "complete rows",
    "mean imputed",
    "iterative imputer",
)
#: Partitions that a mixture refines, and what it is called for complete data.
REFINED = ("complete data", "its mixture", "observed", "mean imputed", "iterative imputer")
_DRAWS = 10
#: Draws of Simulation 2 that are imputed by regressions, which takes long.
_SLOW_DRAWS = 4


def simulated_cells() -> list[Cell]:
    """Simulation 2 at a given penalty."""
    return [
        Cell(
            "missing.simulated",
            {"scaling": scaling, "share": share, "seed": seed},
            rank=0 if seed < 1 and share == 0.2 else 3,
            chooses=False,
        )
        for seed in range(_DRAWS)
        for scaling in ("raw", "standardised")
        for share in SHARES
    ]


def real_cells() -> list[Cell]:
    """Real sets."""
    sets = available() | further()
    return [
        Cell(
            "missing.real",
            {"name": name, "data": sets[name], "share": share, "seed": seed},
            rank=0 if seed < 1 and share == 0.2 and name == "iris" else 4,
        )
        for seed in range(_DRAWS)
        for name in REAL
        if name in sets
        for share in SHARES
    ]


def _draws(task: str, quick: float) -> list[Cell]:
    """Draws at all shares; one of them is in the quick run."""
    return [
        Cell(
            f"missing.{task}",
            {"share": share, "seed": seed},
            rank=0 if seed < 1 and share == quick else 3,
            chooses=False,
        )
        for seed in range(_DRAWS)
        for share in SHARES
    ]


def holes_cells() -> list[Cell]:
    """One relevant feature with half of its values missing."""
    return _draws("holes", 0.2)


def not_random_cells() -> list[Cell]:
    """The largest values of the relevant features missing."""
    return _draws("not_random", 0.4)


def with_missing(X: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Data with values missing completely at random, one left at least in every row."""
    rng = np.random.default_rng([seed, 2])
    absent = rng.random(X.shape) < share
    absent[np.arange(len(X)), rng.integers(0, X.shape[1], len(X))] &= ~absent.all(axis=1)
    return np.where(absent, np.nan, X)


def distance(one: Any, other: Any) -> float:
    """Total variation distance of weights."""
    return round(0.5 * float(np.abs(np.asarray(one) - np.asarray(other)).sum()), 6)


def compare_fits(
    fit: Callable[..., Any],
    X: np.ndarray,
    Z: np.ndarray,
    y: np.ndarray,
    seed: int,
    *,
    impute: bool = True,
    refine: bool = False,
) -> dict[str, float]:
    """NMI with the classes, and distance of the weights from those of the complete data.

    Parameters
    ----------
    fit : callable
        ``fit(X, share, **options)`` fits rows that are a share of all.
    X, Z : ndarray
        Complete data, and with missing values.
    y : ndarray
    seed : int
    impute : bool
        Whether to impute by regressions too, which takes long.
    refine : bool
        Whether to refine the partitions by mixtures too.
    """
    full = fit(X, 1.0, missing="observed")
    found = {
        "complete data": nmi(y, full.labels),
        # what can be had without knowing more than a row's own values
        "its centroids": nmi(y, full.predict(Z)),
    }
    if refine:
        mixture = full.refine()
        found["refined, complete data"] = nmi(y, mixture.labels)
        found["refined, its mixture"] = nmi(y, mixture.predict(Z))

    def keep(name: str, results: Any, classes: np.ndarray) -> None:
        found[name] = nmi(classes, results.labels)
        found[f"weights, {name}"] = distance(results.weights, full.weights)
        if refine and len(classes) == len(y):
            found[f"refined, {name}"] = nmi(classes, results.refine().labels)

    keep("observed", fit(Z, 1.0, missing="observed"), y)
    keep("mean imputed", fit(SimpleImputer().fit_transform(Z), 1.0), y)
    if impute:
        imputed = IterativeImputer(random_state=seed).fit_transform(Z)
        keep("iterative imputer", fit(imputed, 1.0), y)
    whole = ~np.isnan(Z).any(axis=1)
    found["complete rows left"] = float(whole.mean())
    k = full.n_clusters
    if len(np.unique(Z[whole], axis=0)) > 2 * k:
        keep("complete rows", fit(Z[whole], found["complete rows left"]), y[whole])
    return found


def simulated(scaling: str, share: float, seed: int) -> dict[str, float]:
    """Simulation 2 with 20 clusters at one penalty."""
    X, y, lam = example(scaling, seed)

    def fit(rows: np.ndarray, part: float, **options: Any) -> Any:
        return ewp.fit(rows, 20, lam * part, scale=None, random_state=seed, **options)

    Z = with_missing(X, share, seed)
    return compare_fits(fit, X, Z, y, seed, impute=seed < _SLOW_DRAWS)


def real(name: str, data: str, share: float, seed: int) -> dict[str, float]:
    """A real set, standardised, at the penalty that complete data choose; and with its own.

    Parameters
    ----------
    name : str
    data : str
        Hash of the data: other data are other cells.
    share : float
    seed : int
    """
    X, y = load(name)[:2] if name in available() else load_further(name)
    return standard_fits(X, y, len(np.unique(y)), share, seed)


def standard_fits(
    X: np.ndarray, y: np.ndarray, k: int, share: float, seed: int
) -> dict[str, float]:
    """Compare fits to standardised features at one penalty, and a fit that chooses its own."""
    lam = ewp.fit(X, k, scale="standard", random_state=0).lam

    def fit(rows: np.ndarray, part: float, **options: Any) -> Any:
        return ewp.fit(rows, k, lam * part, scale="standard", random_state=seed, **options)

    Z = with_missing(X, share, seed)
    own = ewp.fit(Z, k, scale="standard", missing="observed", random_state=seed)
    found = compare_fits(fit, X, Z, y, seed, refine=True)
    return found | {"observed, λ chosen": nmi(y, own.labels)}


def holes(share: float, seed: int) -> dict[str, float]:
    """Weight of a relevant feature with half of its values missing, over that in complete data."""
    X, y, relevant = make_simulation2(20, random_state=seed)
    lam, holey = 0.05 * len(X), int(relevant[0])
    Z = with_missing(X, share, seed)
    Z[np.random.default_rng([seed, 3]).random(len(X)) < 0.5, holey] = np.nan
    Z[np.isnan(Z).all(axis=1), relevant[1]] = 0.5
    full = ewp.fit(X, 20, lam, random_state=seed).weights.iloc[holey]
    fits = {
        "observed": ewp.fit(Z, 20, lam, random_state=seed, missing="observed"),
        "mean imputed": ewp.fit(SimpleImputer().fit_transform(Z), 20, lam, random_state=seed),
    }
    ratios = {f"ratio, {name}": float(one.weights.iloc[holey] / full) for name, one in fits.items()}
    return ratios | {name: nmi(y, one.labels) for name, one in fits.items()}


def not_random(share: float, seed: int) -> dict[str, float]:
    """Simulation 2, raw: of the relevant features the largest values are missing, or any.

    And two groups that differ in three of six features, whose values in the upper group are nearly
    all missing, or as many anywhere in these features.
    """
    X, y, relevant = make_simulation2(20, random_state=seed)
    largest = [np.quantile(X[:, one], 1.0 - share) for one in relevant]
    cut, at_random = X.copy(), X.copy()
    cut[:, relevant] = np.where(X[:, relevant] > largest, np.nan, X[:, relevant])
    at_random[:, relevant] = with_missing(X, share, seed)[:, relevant]
    rng = np.random.default_rng([seed, 4])
    group = np.arange(300) % 2
    rows = rng.standard_normal((300, 6))
    rows[:, :3] += 5.0 * group[:, None]
    upper, anywhere = rows.copy(), rows.copy()
    upper[:, :3][(rows[:, :3] > 2.5) & (rng.random((300, 3)) < 0.9)] = np.nan
    anywhere[:, :3][rng.random((300, 3)) < 0.45] = np.nan
    found = {}
    for name, Z, few in (
        ("largest values missing", cut, upper),
        ("at random", at_random, anywhere),
    ):
        fit = ewp.fit(Z, 20, 0.05 * len(X), random_state=seed, missing="observed")
        two = ewp.fit(few, 2, 300.0, scale="standard", random_state=seed, missing="observed")
        found[name] = nmi(y, fit.labels)
        away = np.abs(fit.center[relevant] - X[:, relevant].mean(axis=0))
        found[f"error of means, {name}"] = round(float(away.mean()), 6)
        found[f"two groups, {name}"] = nmi(group, two.labels)
    return found


def _means(group: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Means with their spread, and a dash for what no draw has."""
    return [mean_sd(group[m].dropna()) if m in group and group[m].any() else "–" for m in names]


def missing_section(store: Store) -> Section | None:
    """Fits to observed values beside what else is done."""
    simulations, sets = frame_of(store, simulated_cells()), frame_of(store, real_cells())
    if simulations.empty or sets.empty:
        return None
    simulations["name"] = "simulation 2, " + simulations["scaling"]
    table = pd.concat([simulations, sets], ignore_index=True)
    rows = []
    for (name, share), group in table.groupby(["name", "share"], sort=False):
        recorded = k_pod(name, share)
        other = "–" if recorded is None else f"{recorded:.3f}"
        rows.append((name, f"{100 * share:g} %", *_means(group, METHODS), other))
    shown = pd.DataFrame(rows, columns=["data", "missing", *METHODS, "k-POD"])
    of_mixtures = pd.DataFrame(
        [
            (name, f"{100 * share:g} %", *_means(group, [f"refined, {one}" for one in REFINED]))
            for (name, share), group in sets.groupby(["name", "share"], sort=False)
        ],
        columns=["data", "missing", *REFINED],
    )
    fifth = simulations[simulations["share"] == 0.2]
    lost = sets[sets["share"] == 0.2]
    gap = float((lost["complete data"] - lost["observed"]).mean())
    kept = float((lost["complete data"] - lost["its centroids"]).mean())
    ratios = frame_of(store, holes_cells())
    content: list[Any] = [
        Table(shown, f"NMI, mean (sd) over {counted(table, ['name', 'share'])}"),
        "Values are missing completely at random. The penalty is the same for all methods, on real "
        "sets the one that complete data choose (but for “λ chosen”). Complete rows are scored on "
        "themselves alone, so that they do not compare with the others; a dash: too few of them, "
        "or not computed. “Its centroids”: rows with missing values, assigned to the "
        "centroids of complete data by their weights. Of simulation 2, "
        f"{_SLOW_DRAWS} draws are imputed by regressions (the iterative imputer). k-POD (Chi, Chi "
        "and Baraniuk 2016; the package kPOD, without weights) was run once and is recorded.",
        Table(
            of_mixtures,
            f"NMI of refine()'s labels, mean (sd) over {counted(sets, ['name', 'share'])}",
        ),
        "The same partitions, refined by mixtures. “Its mixture”: rows with missing values under "
        "the mixture of complete data, which is what can be had if nothing has to be estimated.",
    ]
    if len(ratios):
        figure, (ax,) = axes_row(1, (5.0, 3.0))
        for name, marker in (("observed", "o"), ("mean imputed", "s")):
            at = ratios.groupby("share")[f"ratio, {name}"].mean()
            ax.plot(100 * at.index, at, marker, ls="-", label=name)
        ax.axhline(1.0, color="#888888", lw=0.8, ls=":")
        ax.set_xlabel("missing elsewhere, %")
        ax.set_ylabel("weight / weight in complete data")
        ax.legend(frameon=False)
        caption = (
            "Weight of a relevant feature with half of its values missing, as a ratio to its "
            f"weight in complete data, simulation 2, raw; mean of {counted(ratios, 'share')}."
        )
        content.append(Picture.of("missing", caption, figure))
    wrong = frame_of(store, not_random_cells())
    if len(wrong):
        at = wrong[wrong["share"] == 0.4].mean(numeric_only=True)
        content.append(
            "Values that are missing because they are large: where the upper 40 % of the relevant "
            f"features are missing, NMI is {at['largest values missing']:.2f}, with as many "
            f"missing at random {at['at random']:.2f}, and the features' means are wrong by "
            f"{at['error of means, largest values missing']:.2f} of their range of 1. Of two "
            "groups of which one hardly has a value in the features that tell them apart, NMI is "
            f"{at['two groups, largest values missing']:.2f}, with as many missing at random "
            f"{at['two groups, at random']:.2f}."
        )
    return Section(
        "Missing values",
        Verdict(
            "new",
            "with a fifth of the values missing at random, fits to observed values have mean NMI "
            f"{fifth['observed'].mean():.3f} on simulation 2 (complete data "
            f"{fifth['complete data'].mean():.3f}, imputed by means "
            f"{fifth['mean imputed'].mean():.3f}). On {lost['name'].nunique()} real sets they have "
            f"{lost['observed'].mean():.3f}, {gap:.3f} less than on complete data; "
            f"{kept:.3f} is lost even with the centroids of complete data. Imputed by means it is "
            f"{lost['mean imputed'].mean():.3f}, by regressions "
            f"{lost['iterative imputer'].mean():.3f}. Refined by mixtures it is "
            f"{lost['refined, observed'].mean():.3f} (complete data "
            f"{lost['refined, complete data'].mean():.3f}, imputed by regressions "
            f"{lost['refined, iterative imputer'].mean():.3f}).",
        ),
        content,
    )
