"""Beyond squared differences: counts, yes or no, gross errors, clusters in features of their own.

Designs are drawn here, and the aims were set before. What stands beside is fitted to the same rows:
counts also as logarithms per unit of their total, which is what one does without a divergence for
them. A rule that knows the means of the clusters says how much of the classes the rows tell at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import nbinom, poisson
from sklearn.cluster import KMeans

import ewp
from ewp.datasets import make_simulation2, make_subspaces
from validation.cells import Cell, Store
from validation.page import Section, Table, Verdict
from validation.same_starts import nmi
from validation.summaries import counted, frame_of, mean_sd

__all__ = [
    "binary",
    "binary_cells",
    "count_design",
    "counts",
    "counts_cells",
    "families_section",
    "outliers",
    "outliers_cells",
    "subspaces",
    "subspaces_cells",
]

#: Variance of counts beyond the mean, as a share of the squared mean.
EXTRA = (0.0, 0.5, 1.0)
SHARES = (0.05, 0.1, 0.2)
#: How often a feature says yes in one of two kinds of clusters; it says no as often in the other.
CLEAR = (0.9, 0.85, 0.8)
#: Clusters, features, features in which a cluster differs, and whether all differ in the same.
SUBSPACES = {
    "own features, k = 5, p = 30": (5, 30, 4, False),
    "own features, k = 5, p = 60": (5, 60, 4, False),
    "own features, k = 8, p = 40": (8, 40, 4, False),
    "common features, k = 4, p = 20": (4, 20, 4, True),
    "common features, k = 8, p = 40": (8, 40, 4, True),
}
_DRAWS = 10
_COUNT_METHODS = (
    "known means",
    "poisson, sizes",
    "poisson",
    "squared differences",
    "squared differences, log",
    "k-means",
    "k-means, log",
)
_BINARY_METHODS = (
    "known means",
    "bernoulli",
    "bernoulli, equal weights",
    "squared differences",
    "k-means",
)
#: A penalty under which all weights are equal.
_EQUAL = 1e9
_SUBSPACE_METHODS = ("common weights", "weights of every cluster", "chosen")
_OUTLIER_METHODS = ("without errors", "trimmed", "not trimmed")


def counts_cells() -> list[Cell]:
    """Counts in samples of very different sizes."""
    return [
        Cell("families.counts", {"extra": extra, "seed": seed}, rank=0 if seed < 1 else 3)
        for seed in range(_DRAWS)
        for extra in EXTRA
    ]


def binary_cells() -> list[Cell]:
    """Latent classes of yes or no."""
    return [
        Cell("families.binary", {"clear": clear, "seed": seed}, rank=0 if seed < 1 else 3)
        for seed in range(_DRAWS)
        for clear in CLEAR
    ]


def outliers_cells() -> list[Cell]:
    """Rows in a box ten times as wide."""
    return [
        Cell(
            "families.outliers",
            {"design": design, "share": share, "seed": seed},
            rank=0 if seed < 1 and share == 0.1 else 3,
        )
        for seed in range(_DRAWS)
        for design in ("simulation 2", "overlapping")
        for share in SHARES
    ]


def subspaces_cells() -> list[Cell]:
    """Clusters in features of their own, and in common ones."""
    return [
        Cell("families.subspaces", {"design": design, "seed": seed}, rank=0 if seed < 1 else 3)
        for seed in range(_DRAWS)
        for design in SUBSPACES
    ]


def count_design(extra: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """300 samples of 500 genes, 50 of which differ between three to six groups.

    Means of genes are log-normal; in a relevant gene those of the groups differ by factors whose
    logarithms have standard deviation one. Samples are of sizes that vary 10-fold.

    Returns
    -------
    counts, labels, means of the groups, sizes : ndarray
    """
    rng, k = np.random.default_rng([seed, 26]), 3 + seed % 4
    labels = rng.integers(k, size=300)
    means = np.tile(rng.lognormal(1.0, 1.0, 500), (k, 1))
    means[:, :50] *= np.exp(rng.normal(0.0, 1.0, (k, 50)))
    sizes = np.exp(rng.uniform(-0.5, 0.5, 300) * np.log(10.0))
    expected = sizes[:, None] * means[labels]
    if extra:
        expected = expected * rng.gamma(1.0 / extra, extra, expected.shape)
    return rng.poisson(expected).astype(float), labels, means, sizes


def counts(extra: float, seed: int) -> dict[str, float]:
    """NMI of defaults and of k-means on counts, as they are and as logarithms per unit."""
    X, y, means, sizes = count_design(extra, seed)
    k = len(means)
    logs = np.log1p(X * (X.sum(axis=1).mean() / X.sum(axis=1))[:, None])
    expected = sizes[:, None, None] * means[None]
    if extra:
        told = nbinom.logpmf(X[:, None], 1.0 / extra, 1.0 / (1.0 + extra * expected))
    else:
        told = poisson.logpmf(X[:, None], expected)
    sized = ewp.fit(X, k, divergence="poisson", offset="size", random_state=seed)
    found = {
        "known means": nmi(y, told.sum(axis=2).argmax(axis=1)),
        "poisson, sizes": nmi(y, sized.labels),
        "poisson": nmi(y, ewp.fit(X, k, divergence="poisson", random_state=seed).labels),
        "squared differences": nmi(y, ewp.fit(X, k, random_state=seed).labels),
        "squared differences, log": nmi(y, ewp.fit(logs, k, random_state=seed).labels),
        "k-means": nmi(y, KMeans(k, n_init=10, random_state=seed).fit(X).labels_),
        "k-means, log": nmi(y, KMeans(k, n_init=10, random_state=seed).fit(logs).labels_),
    }
    return found | {"weight of relevant genes": round(float(sized.weights[:50].sum()), 6)}


def binary(clear: float, seed: int) -> dict[str, float]:
    """300 rows of 40 answers, 20 of which differ between two to five classes."""
    rng, k = np.random.default_rng([seed, 27]), 2 + seed % 4
    y = rng.integers(k, size=300)
    share = np.where(rng.random((k, 40)) < 0.5, 1.0 - clear, clear)
    share[:, 20:] = rng.uniform(0.1, 0.9, 20)
    X = (rng.random((300, 40)) < share[y]).astype(float)
    told = X @ np.log(share).T + (1.0 - X) @ np.log1p(-share).T
    return {
        "known means": nmi(y, told.argmax(axis=1)),
        "bernoulli": nmi(y, ewp.fit(X, k, divergence="bernoulli", random_state=seed).labels),
        "bernoulli, equal weights": nmi(
            y, ewp.fit(X, k, _EQUAL, divergence="bernoulli", random_state=seed).labels
        ),
        "squared differences": nmi(y, ewp.fit(X, k, random_state=seed).labels),
        "k-means": nmi(y, KMeans(k, n_init=10, random_state=seed).fit(X).labels_),
    }


def outliers(design: str, share: float, seed: int) -> dict[str, float]:
    """NMI of the other rows where a share of all lies anywhere in a box ten times as wide."""
    rng = np.random.default_rng([seed, 28])
    if design == "overlapping":
        k, y = 3, np.repeat([0, 1, 2], 100)
        X = rng.standard_normal((300, 10))
        X[:, :4] += 1.8 * rng.standard_normal((3, 4))[y]
    else:
        k = 20
        X, y, _ = make_simulation2(k, random_state=seed)
    clean = ewp.fit(X, k, random_state=seed)
    rows = rng.choice(len(X), round(share * len(X)), replace=False)
    middle, width = X.mean(axis=0), np.ptp(X, axis=0)
    wrong = X.copy()
    wrong[rows] = middle + 10.0 * width * rng.uniform(-0.5, 0.5, (len(rows), X.shape[1]))
    others = np.setdiff1d(np.arange(len(X)), rows)
    trimmed = ewp.fit(wrong, k, robust=f"trim:{share}", random_state=seed)
    plain = ewp.fit(wrong, k, random_state=seed)
    return {
        "without errors": nmi(y[others], clean.labels[others]),
        "trimmed": nmi(y[others], trimmed.labels[others]),
        "not trimmed": nmi(y[others], plain.labels[others]),
    }


def subspaces(design: str, seed: int) -> dict[str, float]:
    """NMI with common weights, with weights of every cluster, and with what is chosen."""
    k, p, few, common = SUBSPACES[design]
    if common:
        rng = np.random.default_rng([seed, 29])
        y = rng.integers(k, size=400)
        X = rng.standard_normal((400, p))
        X[:, :few] += 3.0 * rng.standard_normal((k, few))[y]
    else:
        X, y, _ = make_subspaces(k, n=400, p=p, n_relevant=few, sd=0.2, random_state=seed)
    fits = {
        name: ewp.fit(X, k, weights=weights, random_state=seed)
        for name, weights in zip(_SUBSPACE_METHODS, ("common", "cluster", "auto"), strict=True)
    }
    found = {name: nmi(y, one.labels) for name, one in fits.items()}
    took = fits["chosen"].fit_options.weights == "cluster"
    return found | {"chosen rightly": float(took != common)}


def _table(frame: pd.DataFrame, by: list[str], names: tuple[str, ...], what: str) -> Table:
    rows = [
        (*(key if isinstance(key, tuple) else (key,)), *(mean_sd(group[one]) for one in names))
        for key, group in frame.groupby(by if len(by) > 1 else by[0], sort=False)
    ]
    return Table(pd.DataFrame(rows, columns=[*by, *names]), what)


def families_section(store: Store) -> Section | None:
    """Divergences for counts and for yes or no, and trimmed fits, beside what else is done."""
    lists = (counts_cells, binary_cells, outliers_cells, subspaces_cells)
    tables = [frame_of(store, cells()) for cells in lists]
    if any(one.empty for one in tables):
        return None
    numbers, answers, errors, spaces = tables
    aims = _aims(numbers, answers, errors, spaces)
    reached = int(aims["reached"].sum())
    content: list[Any] = [
        Table(
            aims.replace({"reached": {True: "reached", False: "**missed**"}}),
            "Aims that were set before, and what was found: lowest and highest are means of NMI",
        ),
        _table(
            numbers.rename(columns={"extra": "variance beyond the mean"}),
            ["variance beyond the mean"],
            _COUNT_METHODS,
            f"Counts: NMI, mean (sd) over {counted(numbers, ['extra'])}",
        ),
        "300 samples of 500 genes, 50 of which differ between three to six groups; sizes of the "
        "samples vary 10-fold. Variance beyond the mean is in units of the squared mean: 0 is "
        "Poisson, the others are negative binomial. “Known means”: every sample with the group "
        "under which it is likeliest, by the true means and sizes. Log: log(1 + counts per mean "
        "total). All but k-means are defaults, with everything automatic.",
        _table(
            answers.rename(columns={"clear": "share of the usual answer"}),
            ["share of the usual answer"],
            _BINARY_METHODS,
            f"Yes or no: NMI, mean (sd) over {counted(answers, ['clear'])}",
        ),
        "300 rows of 40 answers, 20 of which may differ between two to five classes: each class "
        "has a usual answer, yes or no, which a row gives with the share of the first column. "
        "“Known means”: every row with the class under which it is likeliest, by the true shares. "
        "Where equal weights are as far behind k-means as chosen ones, it is the deviance in place "
        "of squares that is behind, and not the choice of λ.",
        _table(
            errors,
            ["design", "share"],
            _OUTLIER_METHODS,
            f"Gross errors: NMI of the other rows, mean (sd) over "
            f"{counted(errors, ['design', 'share'])}",
        ),
        "A share of the rows lies anywhere in a box ten times as wide as the data; as many are "
        "trimmed. “Without errors”: the default on the data before, scored on the same other rows.",
        _table(
            spaces,
            ["design"],
            (*_SUBSPACE_METHODS, "chosen rightly"),
            f"Weights of every cluster: NMI, mean (sd) over {counted(spaces, ['design'])}",
        ),
        "400 rows; every cluster differs from the noise in four features of its own, or all differ "
        "from each other in the same four. Penalty and scaling are chosen; “chosen” leaves the "
        "kind of weights to held-out rows too, and the last column is how often they took the "
        "kind that drew the data.",
    ]
    lost = aims[~aims["reached"]]
    missed = [f"{aim} ({found})" for aim, found in zip(lost["aim"], lost["found"], strict=True)]
    words = f"{reached} of {len(aims)} aims are reached" + (
        f"; missed: {'; '.join(missed)}" if missed else ""
    )
    return Section("Beyond squared differences", Verdict("new", f"{words}."), content)


def _aims(
    numbers: pd.DataFrame, answers: pd.DataFrame, errors: pd.DataFrame, spaces: pd.DataFrame
) -> pd.DataFrame:
    """Aims that were set before, what was found, and whether that is enough."""
    by_extra = numbers.groupby("extra")[list(_COUNT_METHODS)].mean()
    by_clear = answers.groupby("clear")[list(_BINARY_METHODS)].mean()
    ratio = errors.groupby(["design", "share"])[list(_OUTLIER_METHODS)].mean()
    kept = ratio["trimmed"] / ratio["without errors"]
    least, most = by_extra["poisson, sizes"].min(), by_extra["squared differences"].max()
    clearest = by_clear.loc[max(CLEAR), "bernoulli"]
    behind = (by_clear["bernoulli"] - by_clear["k-means"]).min()
    of_design = spaces.groupby("design")[[*_SUBSPACE_METHODS, "chosen rightly"]].mean()
    shared = of_design.index.str.startswith("common")
    own = of_design.loc[~shared, "weights of every cluster"].min()
    lost = (of_design["weights of every cluster"] - of_design["common weights"])[shared].min()
    right = float(spaces["chosen rightly"].mean())
    rows = [
        ("counts: poisson with sizes at least 0.95", f"lowest {least:.3f}", least >= 0.95),
        ("counts: squared differences below 0.30", f"highest {most:.3f}", most < 0.3),
        ("yes or no, clear classes: at least 0.95", f"{clearest:.3f}", clearest >= 0.95),
        ("yes or no: at least k-means", f"at worst {behind:+.3f} in the mean", behind >= 0.0),
        (
            "gross errors: at least 0.98 of what it is without",
            f"lowest {kept.min():.3f}",
            bool(kept.min() >= 0.98),
        ),
        ("features of their own: at least 0.98", f"lowest {own:.3f}", own >= 0.98),
        (
            "common features: at most 0.01 below common weights",
            f"at worst {lost:+.3f}",
            lost >= -0.01,
        ),
        ("kind of weights chosen rightly in at least 90 %", f"{100 * right:.0f} %", right >= 0.9),
    ]
    return pd.DataFrame(rows, columns=["aim", "found", "reached"])
