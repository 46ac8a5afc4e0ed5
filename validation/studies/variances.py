"""What the paper leaves open about variances, within clusters and of relevant features.

Simulation 1 has a printed standard deviation at which its clusters overlap. The within form of the
weights rewards a small variance, the between form and sparse k-means a large one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ewp
from ewp.datasets import make_simulation1
from ewp.peers import KMeans, SparseKMeans
from ewp.peers.sparcl import usual_bounds
from validation.cells import Cell, Store
from validation.page import Picture, Section, Verdict
from validation.same_starts import PUBLISHED, draw_starts, nmi
from validation.summaries import axes_row, counted, curve, frame_of

__all__ = ["form_cells", "forms", "forms_section", "spread", "spread_cells", "spread_section"]

SPREADS = (0.015, 0.03, 0.05, 0.075, 0.1, 0.15)
RATIOS = (0.25, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0)


def spread_cells() -> list[Cell]:
    """Standard deviations within clusters."""
    return [
        Cell(
            "variances.spread",
            {"sd": sd, "seed": seed},
            rank=0 if seed < 1 else 2,
            chooses=False,
        )
        for seed in range(5)
        for sd in SPREADS
    ]


def form_cells() -> list[Cell]:
    """Ratios of the standard deviations of relevant features and noise."""
    return [
        Cell(
            "variances.forms",
            {"ratio": ratio, "seed": seed},
            rank=0 if seed < 1 and ratio in (0.5, 1.0, 2.0) else 3 if seed < 1 else 6,
        )
        for seed in range(5)
        for ratio in RATIOS
    ]


def spread(sd: float, seed: int) -> dict[str, float]:
    """Simulation 1, d = 20, at a standard deviation within clusters."""
    data = make_simulation1(20, sd=sd, random_state=seed)
    X, y, relevant = data
    used = X[:, relevant]
    gaps = ((used[:, None, :] - data.centers[None, :, relevant]) ** 2).sum(axis=2)
    (start,) = draw_starts(X, 100, 1, seed)
    lam = 0.0265 * len(X)
    options: dict[str, Any] = {"init": start, "random_state": seed}
    return {
        "true centres": nmi(y, np.argmin(gaps, axis=1)),
        "EWP": nmi(y, ewp.fit(X, 100, lam, **options).labels),
        "EWP as published": nmi(y, ewp.fit(X, 100, lam, **options, **PUBLISHED).labels),
        "k-means": nmi(y, KMeans(100, init=start).fit(X).labels_),
    }


def forms(ratio: float, seed: int) -> dict[str, float]:
    """80 rows, 500 features: 20 relevant ones whose sd is `ratio` times the noise's.

    The form is studied, not the choice of the penalty: each has its best penalty (sparse k-means
    its best bound) in hindsight. Only the automatic fit chooses without the classes.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(80) % 4
    X = rng.standard_normal((80, 500))
    relevant = 1.5 * rng.standard_normal((4, 20))[y] + rng.standard_normal((80, 20))
    X[:, :20] = ratio * relevant / relevant.std(axis=0)
    (start,) = draw_starts(X, 4, 1, seed)
    options: dict[str, Any] = {"init": start, "random_state": seed, "scale": None}
    found = {}
    for name, form, extra in (
        ("EWP as published", "within", PUBLISHED),
        ("within form", "within", {}),
        ("between form", "between", {}),
    ):
        fits = (
            ewp.fit(X, 4, lam, dispersion=form, **options, **extra)
            for lam in ewp.lambda_path(X, 4, dispersion=form)
        )
        found[name] = max(nmi(y, fit.labels) for fit in fits)
    bounds = usual_bounds(X.shape[1], 8)
    sparse = (SparseKMeans(4, wbound=bound, init=start).fit(X) for bound in bounds)
    found["sparse k-means"] = max(nmi(y, fit.labels_) for fit in sparse)
    found["EWP, automatic"] = nmi(y, ewp.fit(X, 4, random_state=seed).labels)
    return found


def spread_section(store: Store) -> Section | None:
    """The printed standard deviation."""
    table = frame_of(store, spread_cells())
    if table.empty:
        return None
    figure, (ax,) = axes_row(1, (5.4, 3.4))
    curve(ax, table, "sd", ("true centres", "EWP", "EWP as published", "k-means"))
    ax.axhspan(0.91, 0.96, color="#BBBBBB", alpha=0.4, lw=0)
    ax.text(0.15, 0.935, "paper", ha="right", va="center", fontsize=8)
    ax.set_xlabel("standard deviation within clusters (grid: 0.1)")
    ax.legend(frameon=False)
    at = table.groupby("sd")[["true centres", "EWP", "EWP as published"]].mean()
    printed, used = at.loc[0.15], at.loc[0.015]
    return Section(
        "Simulation 1: the printed 0.15 against 0.015",
        Verdict(
            "does not hold",
            "at 0.15: neighbours on a grid of 0.1 overlap so far that even the true centres have "
            f"NMI {printed['true centres']:.2f}, below the paper's 0.91 – 0.96. At 0.015 they have "
            f"{used['true centres']:.3f}, and EWP {used['EWP']:.3f}.",
        ),
        [
            Picture.of(
                "spread",
                "Simulation 1, d = 20, λ = 0.0265 a row; mean and range of "
                f"{counted(table, 'sd')}. “True centres” assigns every row to the nearest true "
                "centre in the relevant features.",
                figure,
            )
        ],
    )


def forms_section(store: Store) -> Section | None:
    """Within against between form, and where sparse k-means wins and loses."""
    table = frame_of(store, form_cells())
    if table.empty:
        return None
    names = ("EWP, automatic", "EWP as published", "within form", "between form", "sparse k-means")
    figure, (ax,) = axes_row(1, (6.2, 3.6))
    curve(ax, table, "ratio", names)
    ax.axvline(1.0, color="#888888", lw=0.8, ls=":")
    ax.set_xscale("log")
    ax.set_xticks(RATIOS, [f"{value:g}" for value in RATIOS])
    ax.minorticks_off()
    ax.set_xlabel("sd of the relevant features / sd of the noise")
    ax.legend(frameon=False, fontsize=8)
    small = table[table["ratio"] < 0.7].mean(numeric_only=True)
    large = table[table["ratio"].between(1.0, 2.0)].mean(numeric_only=True)
    last = table[table["ratio"] > 2.0]["EWP as published"].mean()
    again = (
        ""
        if np.isnan(last)
        else (f" At {table['ratio'].max():g} times the published algorithm has {last:.2f} again.")
    )
    return Section(
        "Within against between form",
        Verdict(
            "holds only if",
            "the relevant features vary less than the noise: there the published algorithm has NMI "
            f"{small['EWP as published']:.2f} and sparse k-means {small['sparse k-means']:.2f}, as "
            "in the paper. Where they vary as much, up to twice as much, it is the reverse, "
            f"{large['EWP as published']:.2f} and {large['sparse k-means']:.2f}.{again} The "
            "default, with everything automatic, has "
            f"{small['EWP, automatic']:.2f} where they vary less and "
            f"{large['EWP, automatic']:.2f} where they vary more.",
        ),
        [
            Picture.of(
                "forms",
                "80 rows, 500 features, 20 of them relevant, 4 clusters; mean and range of "
                f"{counted(table, 'ratio')}. All but the automatic fit have their best penalty "
                "(bound) in hindsight.",
                figure,
            ),
            "The within form rewards a small variance, the between form and sparse k-means a large "
            "one. The within form survives well beyond 1 since its best penalty is then so large "
            "that all weights are nearly equal; the published start does not. A larger "
            "design (2000 features), with the penalties chosen without labels, is in the section "
            "on sparse k-means' home ground.",
        ],
    )
