"""The best penalty in hindsight on real data: paths of penalties, and what the scaling does there.

What has seen the labels is no method; it is the limit of what any choice of the penalty can reach.
Paths from single random rows are the paper's protocol; those by this package's own starts are what
a user gets who states the penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.metrics import normalized_mutual_info_score

import ewp
from ewp.display.axes import PALETTE, despine
from validation.cells import Cell, Store
from validation.data import FACES, MENDED, SEED, WIDE, available, load, scaled
from validation.page import Picture, Section, Verdict
from validation.published import PAPER
from validation.same_starts import PUBLISHED, TRIALS, draw_starts
from validation.summaries import axes_row

__all__ = [
    "OWN_STARTS",
    "best",
    "best_of_paths",
    "curves",
    "path_cells",
    "scaling_section",
    "search_cells",
    "searched",
]

_SLOW = ("movement_libras", "wall_robot_4")
#: The variant of the fits that choose their starts themselves.
OWN_STARTS = "own starts"


def path_cells() -> list[Cell]:
    """Paths of penalties on each real set, for what is best in hindsight."""
    return [
        Cell(
            "hindsight.best",
            {
                "name": name,
                "version": version,
                "data": data,
                "scaling": scaling,
                "form": form,
                "variant": variant,
                "lams": 8 if name in FACES else 12 if name in _SLOW else 24,
                "tries": 2 if name in FACES else TRIALS,
                "count": TRIALS,
            },
            rank=_rank_best(name, scaling, form),
            chooses=False,
        )
        for name, data in available().items()
        for version in ("as it is", *(("mended",) if name in MENDED else ()))
        for scaling, form in (
            ("raw", "within"),
            ("raw", "between"),
            ("standardised", "within"),
            ("range", "within"),
            ("range", "between"),
        )
        for variant in ("published", "default")
        # slow, and nothing to be found there
        if not (name in WIDE and form == "between" and variant == "default")
    ]


def search_cells() -> list[Cell]:
    """Paths of penalties on each real set, by this package's own starts."""
    return [
        Cell(
            "hindsight.searched",
            {
                "name": name,
                "version": version,
                "data": data,
                "scaling": scaling,
                "form": form,
                "lams": 12 if name in FACES else 24,
                "tries": 4,
                "count": TRIALS,
            },
            rank=0 if name == "iris" else 2,
            chooses=False,
        )
        for name, data in available().items()
        for version in ("as it is", *(("mended",) if name in MENDED else ()))
        for scaling, form in (
            ("raw", "within"),
            ("raw", "between"),
            ("standardised", "within"),
            ("range", "within"),
            ("range", "between"),
            ("decorrelated", "within"),
        )
        # nothing to be found, and thousands of features are not decorrelated unasked
        if not (name in WIDE and (form == "between" or scaling == "decorrelated"))
    ]


def _rank_best(name: str, scaling: str, form: str) -> int:
    if name == "iris" and scaling != "range":
        return 0
    if name in WIDE:
        return 4 if scaling != "range" and form == "within" else 7
    return 7 if (scaling, form) == ("raw", "between") else 2


def best(
    name: str,
    version: str,
    data: str,
    scaling: str,
    form: str,
    variant: str,
    lams: int,
    tries: int,
    count: int,
) -> dict[str, Any]:
    """A path of penalties, and trials at the one that is best in hindsight.

    Parameters
    ----------
    name, version : str
    data : str
        Hash of the data.
    scaling : {"raw", "standardised", "range"}
    form : {"within", "between"}
    variant : {"published", "default"}
        Algorithm 1 of the paper or this package's.
    lams, tries : int
        Length of the path, and from how many starts each penalty is tried. Eight more penalties
        follow between the neighbours of the best.
    count : int
        Number of trials at the best.
    """
    X, y, k = load(name, version)
    Z = scaled(X, scaling)
    starts = draw_starts(Z, k, count, SEED)
    options = PUBLISHED if variant == "published" else {}

    def scores(lam: float, some: np.ndarray) -> list[float]:
        fits = (
            ewp.fit(Z, k, lam, scale=None, dispersion=form, init=one, random_state=SEED, **options)
            for one in some
        )
        return [round(float(normalized_mutual_info_score(y, fit.labels)), 6) for fit in fits]

    path = ewp.lambda_path(Z, k, lams, dispersion=form).tolist()
    path, tried = _along(path, lambda lam: scores(lam, starts[:tries]))
    at = int(np.argmax([np.mean(one) for one in tried]))
    final = tried[at] + scores(path[at], starts[tries:])
    return {"lams": [lam / len(X) for lam in path], "tried": tried, "at": at, "final": final}


def _along(
    path: list[float], scores: Callable[[float], list[float]]
) -> tuple[list[float], list[list[float]]]:
    """Scores along a path of penalties, and at eight more between the neighbours of the best."""
    tried = [scores(lam) for lam in path]
    at = int(np.argmax([np.mean(one) for one in tried]))
    ends = path[max(at - 1, 0)], path[min(at + 1, len(path) - 1)]
    finer = np.geomspace(*ends, 10)[1:-1].tolist()
    return path + finer, tried + [scores(lam) for lam in finer]


def searched(
    name: str,
    version: str,
    data: str,
    scaling: str,
    form: str,
    lams: int,
    tries: int,
    count: int,
) -> dict[str, Any]:
    """A path of penalties by this package's own starts, and more fits at the best in hindsight.

    Parameters
    ----------
    name, version : str
    data : str
        Hash of the data.
    scaling : {"raw", "standardised", "range", "decorrelated"}
    form : {"within", "between"}
    lams, tries : int
        Length of the path, and how many fits there are at each penalty, with seeds of their own.
        Eight more penalties follow between the neighbours of the best.
    count : int
        Number of fits at the best.
    """
    X, y, k = load(name, version)
    sphered = scaling == "decorrelated"
    Z = X if sphered else scaled(X, scaling)
    options: dict[str, Any] = {"scale": "decorrelate" if sphered else None, "dispersion": form}

    def scores(lam: float, seeds: range) -> list[float]:
        fits = (ewp.fit(Z, k, lam, random_state=SEED + seed, **options) for seed in seeds)
        return [round(float(normalized_mutual_info_score(y, fit.labels)), 6) for fit in fits]

    path = ewp.lambda_path(Z, k, lams, **options).tolist()
    path, tried = _along(path, lambda lam: scores(lam, range(tries)))
    at = int(np.argmax([np.mean(one) for one in tried]))
    final = tried[at] + scores(path[at], range(tries, count))
    return {"lams": [lam / len(X) for lam in path], "tried": tried, "at": at, "final": final}


def best_of_paths(store: Store) -> pd.DataFrame:
    """One row for each path of penalties: its best mean, at which penalty, and how it was made."""
    rows = []
    for cell, value in store.finished([*path_cells(), *search_cells()]):
        rows.append(
            {
                **{key: cell.inputs[key] for key in ("name", "version", "scaling", "form")},
                "variant": cell.inputs.get("variant", OWN_STARTS),
                "per_row": value["lams"][value["at"]],
                "nmi": float(np.mean(value["final"])),
                "sd": float(np.std(value["final"], ddof=1)),
                "single": max(max(one) for one in value["tried"]),
            }
        )
    columns = ("name", "version", "scaling", "form", "variant", "per_row", "nmi", "sd", "single")
    return pd.DataFrame(rows, columns=list(columns))


def curves(store: Store) -> Picture:
    """NMI along the paths of the published algorithm, a panel a set."""
    kept = [
        (cell.inputs, value)
        for cell, value in store.finished(path_cells())
        if cell.inputs["version"] == "as it is" and cell.inputs["form"] == "within"
    ]
    names = list(dict.fromkeys(inputs["name"] for inputs, _ in kept))
    wide = 4
    figure, axes = plt.subplots(
        -(-len(names) // wide), wide, figsize=(11, 2.3 * -(-len(names) // wide)), squeeze=False
    )
    figure.set_layout_engine("constrained")
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    colours = dict(zip(("raw", "standardised", "range"), PALETTE, strict=False))
    for ax, name in zip(axes.flat, names, strict=False):
        for inputs, value in kept:
            if inputs["name"] != name:
                continue
            order = np.argsort(value["lams"])
            along = np.linspace(0, 1, len(order))
            means = np.array([np.mean(value["tried"][i]) for i in order])
            style = "-" if inputs["variant"] == "default" else ":"
            ax.plot(along, means, style, color=colours[inputs["scaling"]], lw=1.4)
        if name in PAPER:
            ax.axhline(PAPER[name], color="#333333", lw=0.9, ls=(0, (4, 3)))
        ax.set_title(name)
        ax.set_xticks([0, 1], ["one feature", "equal"])
        ax.set_ylim(0, None)
        despine(ax)
    for ax in axes[:, 0]:
        ax.set_ylabel("NMI")
    handles = [plt.Line2D([], [], color=colour, label=name) for name, colour in colours.items()]
    handles += [
        plt.Line2D([], [], color="#555555", ls="-", label="this package"),
        plt.Line2D([], [], color="#555555", ls=":", label="as published"),
        plt.Line2D([], [], color="#333333", ls=(0, (4, 3)), lw=0.9, label="EWP in the paper"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=6, frameon=False)
    caption = (
        "NMI along the penalty, from one feature takes all to equal weights (within form, mean "
        "over 20 random starts, two for the face images)."
    )
    return Picture.of("penalties", caption, figure)


def scaling_section(store: Store) -> Section | None:
    """Raw against standardised features, wherever both were run."""
    best = best_of_paths(store)
    if best.empty:
        return None
    chosen = best[(best["form"] == "within") & (best["version"] == "as it is")]
    wide = chosen[chosen["variant"] == "default"].pivot_table(
        index="name", columns="scaling", values="nmi", sort=False
    )
    wide = wide.reindex(columns=["raw", "standardised", "range"]).dropna()
    if wide.empty:
        return None
    figure, (ax,) = axes_row(1, (8.5, 3.2))
    for i, (name, colour) in enumerate(zip(wide.columns, PALETTE, strict=False)):
        ax.bar(np.arange(len(wide)) + 0.27 * (i - 1), wide[name], 0.25, color=colour, label=name)
    ax.set_xticks(np.arange(len(wide)), wide.index, rotation=30, ha="right")
    ax.set_ylabel("NMI at the best penalty")
    ax.legend(frameon=False, ncols=3)
    winners = wide.idxmax(axis=1).value_counts()
    counts = ", ".join(f"{name} on {winners.get(name, 0)}" for name in wide.columns)
    published = chosen[chosen["variant"] == "published"].set_index(["name", "scaling"])["nmi"]
    note = ""
    if ("wine", "raw") in published.index:
        note = (
            " On wine, at its best λ, the published algorithm has NMI "
            f"{published['wine', 'raw']:.3f} raw (the paper: 0.747) and "
            f"{published['wine', 'standardised']:.3f} standardised, which "
            "suggests that the paper's features were raw."
        )
    return Section(
        "Raw against standardised features",
        Verdict(
            "new",
            "the paper does not say how features were scaled. It can matter more than the method, "
            f"and no scaling always wins (best: {counts} of {len(wide)} sets).{note}",
        ),
        [
            Picture.of(
                "scaling",
                "Mean NMI of this package at its best penalty in hindsight, within form",
                figure,
            )
        ],
    )
