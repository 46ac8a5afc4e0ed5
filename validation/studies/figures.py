"""The paper's figures: the motivating example, Simulation 1 in its plane, boxplots of weights."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import ewp
from ewp.comparison.plots import plot_partitions, plot_weight_boxes
from ewp.datasets import make_feature_selection, make_simulation1, make_simulation2
from validation.cells import Cell, Store
from validation.page import Picture, Section, Table, Verdict
from validation.same_starts import (
    PLAIN,
    choose_default,
    draw_starts,
    gap_bound,
    published_at,
    tuned_default,
)
from validation.summaries import TITLES

__all__ = [
    "box_cells",
    "boxes",
    "boxes_section",
    "figure1",
    "figure1_section",
    "figure2",
    "figure2_section",
    "panels_of",
    "partition_cells",
]

REPLICATES = 100
METHODS = ("kmeans", "wkmeans", "power-published", "sparse")
#: The study of feature selection: clusters, scalings, and penalties a row for the published
#: algorithm, which suit it.
_CLUSTERS = 10
_SCALES = {"raw": None, "standardised": "standard"}
_PENALTIES = {"raw": 0.05, "standardised": 0.15}
NAMES = {
    "kmeans": "k-means",
    "wkmeans": "WK-means",
    "power-published": "power k-means",
    "power": "power k-means",
    "sparse": "sparse k-means",
    "ewp-published": "EWP as published",
    "ewp": "this package",
}
#: Methods whose weights the paper draws, and this package's.
_BOXED = {
    "ewp": "this package",
    "published": "EWP as published",
    "sparse": "sparse k-means",
    "wkmeans": "WK-means",
}
#: Rows of the table of weights.
_WEIGHTED = {
    "ewp": "this package, λ chosen",
    "published": "EWP as published, λ given",
    **{
        name: TITLES[name]
        for name in ("ewp-published", "sparse", "sparcl", "wkmeans", "kmeans", "power")
    },
}


def partition_cells() -> list[Cell]:
    """Figures 1 and 2."""
    return [
        Cell("figures.figure1", {"k": 20, "seed": 0}, rank=0),
        Cell("figures.figure2", {"d": 20, "seed": 0}, rank=0),
    ]


def box_cells() -> list[Cell]:
    """Replicates of the study of feature selection."""
    return [
        Cell(
            "figures.boxes",
            {"seed": seed, "scaling": scaling, "part": part},
            rank=0 if seed < 10 else 3 if seed < 30 else 6,
            chooses=part not in PLAIN,
            needs_sparcl=part == "sparcl",
        )
        for seed in range(REPLICATES)
        for scaling in ("raw", "standardised")
        for part in ("native", "sparcl")
    ]


def _partitions(data: Any, k: int, seed: int, bound: float) -> dict[str, Any]:
    """One trial on raw features: five methods as the paper has them, and this package."""
    X, y, _ = data
    chosen = choose_default(X, k, seed)
    published = published_at(ewp.lambda_path(X, k), len(X))
    found = ewp.compare(
        X,
        k,
        y,
        methods=(*METHODS, *published, tuned_default(chosen)),
        n_trials=1,
        scale=None,
        init=draw_starts(X, k, 1, seed),
        wbound=bound,
        random_state=seed,
    )
    nmi = found.scores.set_index("method")["nmi"].to_dict()
    best = max((method.name for method in published), key=lambda name: nmi[name])
    shown = {**{name: name for name in METHODS}, "ewp-published": best, "ewp": "ewp"}
    return {
        "labels": {name: found.labels[kept].iloc[0].tolist() for name, kept in shown.items()},
        "nmi": {name: nmi[kept] for name, kept in shown.items()},
    }


def figure1(k: int, seed: int) -> dict[str, Any]:
    """The motivating example: k clusters in 5 of 100 features."""
    data = make_simulation2(k, random_state=seed)
    return _partitions(data, k, seed, len(data.relevant) ** 0.5)


def figure2(d: int, seed: int) -> dict[str, Any]:
    """Simulation 1, whose clusters can be seen in a plane."""
    data = make_simulation1(d, random_state=seed)
    return _partitions(data, 100, seed, gap_bound(data.X, 100, None, seed, 3, 5))


@cache
def _bound(scaling: str) -> float:
    """Bound of sparse k-means by the permutation gap, chosen once, on the design's first draw."""
    X = make_feature_selection(k=_CLUSTERS, random_state=0).X
    return gap_bound(X, _CLUSTERS, _SCALES[scaling], 0, permutations=5, bounds=6)


def boxes(seed: int, scaling: str, part: str) -> dict[str, Any]:
    """Weights of one replicate of the study of feature selection.

    Parameters
    ----------
    seed : int
        Seed of the data and of the starting centroids.
    scaling : {"raw", "standardised"}
    part : {"native", "sparcl"}
        All methods of this package, or sparcl. The published algorithm has a given penalty, named
        "published", and one by selection.
    """
    X, labels, relevant = make_feature_selection(k=_CLUSTERS, random_state=seed)
    (given,) = published_at(np.array([_PENALTIES[scaling] * len(X)]), len(X))
    native = ("kmeans", "power", "wkmeans", "sparse", "ewp-published", "ewp", given)
    found = ewp.compare(
        X,
        _CLUSTERS,
        labels,
        methods=native if part == "native" else ("sparcl",),
        n_trials=1,
        scale=_SCALES[scaling],
        init=draw_starts(X, _CLUSTERS, 1, seed),
        wbound=_bound(scaling),
        random_state=seed,
    )
    weights = found.weights.droplevel("trial").rename(index={given.name: "published"})
    return {
        "nmi": found.scores.set_index("method")["nmi"].rename({given.name: "published"}).to_dict(),
        "relevant": weights.iloc[:, relevant].sum(axis=1).to_dict(),
        "weights": {name: row.round(6).tolist() for name, row in weights.T.items()},
    }


def panels_of(found: dict[str, Any], truth: np.ndarray) -> dict[str, np.ndarray]:
    """Partitions by the titles of their panels, the classes first."""
    panels = {"classes": truth}
    for name, labels in found["labels"].items():
        panels[f"{NAMES[name]}: NMI {found['nmi'][name]:.2f}"] = np.array(labels)
    return panels


def _cell(store: Store, task: str) -> tuple[dict[str, Any], Any] | None:
    for cell, value in store.finished(partition_cells()):
        if cell.task == task:
            return cell.inputs, value
    return None


def _ranking(found: dict[str, Any]) -> str:
    return ", ".join(f"{NAMES[name]} {value:.2f}" for name, value in found["nmi"].items())


def figure1_section(store: Store) -> Section | None:
    """The motivating example."""
    kept = _cell(store, "figures.figure1")
    if kept is None:
        return None
    inputs, found = kept
    data = make_simulation2(inputs["k"], random_state=inputs["seed"])
    others = max(found["nmi"][name] for name in ("kmeans", "power-published", "sparse"))
    figure = plot_partitions(
        data.X[:, data.relevant],
        panels_of(found, data.labels),
        note=" that carry the clusters",
    )[0].figure
    caption = (
        "Figure 1. Twenty clusters in 5 of 100 features, raw; one trial from the same random rows. "
        "Clusters have the colour of the class with which they overlap most."
    )
    holds = found["nmi"]["ewp-published"] > others + 0.3
    return Section(
        "Figure 1: the motivating example",
        Verdict(
            "holds" if holds else "does not hold",
            "methods that count all features alike, or reward a large variance, see noise only; "
            f"EWP sees the clusters. NMI: {_ranking(found)}.",
        ),
        [Picture.of("figure1", caption, figure)],
    )


def figure2_section(store: Store) -> Section | None:
    """Simulation 1 at d = 20, centroids as diamonds."""
    kept = _cell(store, "figures.figure2")
    if kept is None:
        return None
    inputs, found = kept
    data = make_simulation1(inputs["d"], random_state=inputs["seed"])
    plane = pd.DataFrame(data.X[:, :2], columns=["x1", "x2"])
    figure, axes = plt.subplots(
        2, 3, figsize=(9.6, 6.6), layout="constrained", sharex=True, sharey=True
    )
    for ax, (name, labels) in zip(axes.flat, found["labels"].items(), strict=True):
        colours = np.random.default_rng(0).permutation(100)[np.array(labels)]
        ax.scatter(plane["x1"], plane["x2"], s=5, c=colours, cmap="nipy_spectral", alpha=0.6)
        centres = plane.groupby(np.array(labels)).mean()
        ax.scatter(
            centres["x1"], centres["x2"], marker="D", s=16, c="white", edgecolors="black", lw=0.8
        )
        ax.set_title(f"{NAMES[name]}: NMI {found['nmi'][name]:.2f}")
    for ax in axes[-1]:
        ax.set_xlabel("first relevant feature")
    for ax in axes[:, 0]:
        ax.set_ylabel("second relevant feature")
    holds = found["nmi"]["ewp-published"] > 0.9 > found["nmi"]["kmeans"]
    caption = (
        "Figure 2. Simulation 1, d = 20, raw, one trial; the published algorithm at its best λ. "
        "Points are coloured by cluster, diamonds are the means of the clusters found in the two "
        "relevant features."
    )
    return Section(
        "Figure 2: Simulation 1 with 20 noise features",
        Verdict(
            "holds only if" if holds else "does not hold",
            f"the standard deviation is 0.015, as in Table 1. NMI: {_ranking(found)}.",
        ),
        [Picture.of("figure2", caption, figure)],
    )


def boxes_section(store: Store) -> Section | None:
    """Boxplots of the weights over replicates, raw and standardised."""
    kept = store.finished(box_cells())
    if len({cell.inputs["scaling"] for cell, _ in kept if cell.inputs["part"] == "native"}) < 2:
        return None
    pictures: list[Any] = []
    rows = []
    for scaling in ("raw", "standardised"):
        chosen = [value for cell, value in kept if cell.inputs["scaling"] == scaling]
        drawn = {
            title: pd.DataFrame(
                [one["weights"][name] for one in chosen if name in one["weights"]]
            ).add_prefix("x")
            for name, title in _BOXED.items()
        }
        figure = plot_weight_boxes(drawn)[0].figure
        caption = (
            f"Weights on {scaling} features, {len(drawn['this package'])} of {REPLICATES} "
            "replicates; x0 to x4 carry the clusters."
        )
        pictures.append(Picture.of(f"weights_{scaling}", caption, figure))
        scores = pd.DataFrame([one["nmi"] for one in chosen])
        weights = pd.DataFrame([one["relevant"] for one in chosen])
        rows += [
            {
                "features": scaling,
                "method": title,
                "weight on relevant, mean": _mean_of(weights, name),
                "least": f"{weights[name].min():.3f}" if name in weights else "–",
                "NMI": _mean_of(scores, name),
                "replicates": f"{scores[name].count()} of {REPLICATES}",
            }
            for name, title in _WEIGHTED.items()
            if name in scores
        ]
    table = pd.DataFrame(rows)
    found = table.set_index(["method", "features"])["weight on relevant, mean"]
    return Section(
        "Boxplots of the feature weights",
        Verdict(
            "holds",
            f"on raw features, with a given λ, EWP as published puts "
            f"{found['EWP as published, λ given', 'raw']} of the weight on the relevant features, "
            f"with a selected λ {found['EWP as published, λ selected', 'raw']}; on standardised "
            f"ones {found['EWP as published, λ given', 'standardised']} and "
            f"{found['EWP as published, λ selected', 'standardised']}. This package, which "
            f"chooses λ, puts {found['this package, λ chosen', 'raw']} and "
            f"{found['this package, λ chosen', 'standardised']} there. That sparse k-means "
            f"fails is a matter of scale: it has {found['sparse k-means, gap', 'raw']} of its "
            "weight there on raw features, "
            f"{found['sparse k-means, gap', 'standardised']} on standardised ones.",
        ),
        [
            "1000 rows, 10 clusters in 5 of 20 features. Nothing is set with the classes but the "
            "published algorithm's given λ, 0.05 a row raw and 0.15 standardised. The bound of "
            "sparse k-means is the gap's on the design's first draw.",
            Table(
                table,
                "Share of the weight on the five relevant features, mean and least over the "
                "replicates, and mean NMI of the partition",
                2,
            ),
            *pictures,
        ],
    )


def _mean_of(table: pd.DataFrame, name: str) -> str:
    """Mean of a column with three decimals, or a dash where there is none."""
    return f"{table[name].mean():.3f}" if name in table else "–"
