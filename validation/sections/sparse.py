"""Beyond the paper: sparse k-means on its home ground, and annealed."""

from __future__ import annotations

import numpy as np
import pandas as pd

from validation import plan_beyond as plan
from validation.cells import Store
from validation.page import Section, Table, Verdict
from validation.sections.common import TITLES, counted, scores_of
from validation.tasks.sparse import ALGORITHMS, WIDE

__all__ = ["annealed", "wide"]

_TITLES = {
    **TITLES,
    "sparse-annealed": "annealed sparse k-means",
    "ewp-published": "EWP as published",
    "ewp-between": "EWP, between form",
}


def wide(store: Store) -> Section | None:
    """80 rows, 2000 features; the relevant ones vary more than the noise."""
    scores = scores_of(store, plan.wide())
    if scores.empty:
        return None
    draws = scores.groupby(["scaling", "method", "draw"], sort=False)[["nmi", "ari", "relevant"]]
    groups = draws.mean().groupby(["scaling", "method"], sort=False)
    mean, worst = groups.mean(), groups["nmi"].min()
    draws_of = counted(scores.drop_duplicates(["scaling", "draw"]), "scaling")
    rows = [
        {
            "features": scaling,
            "method": _TITLES[method],
            "NMI": f"{mean['nmi'][scaling, method]:.3f}",
            "worst draw": f"{worst[scaling, method]:.3f}",
            "ARI": f"{mean['ari'][scaling, method]:.3f}",
            "weight on relevant": _share(mean["relevant"][scaling, method]),
        }
        for scaling in ("raw", "standardised")
        for method in WIDE
        if (scaling, method) in mean.index
    ]
    if "raw" not in mean.index:
        return None
    raw = mean["nmi"]["raw"]
    return Section(
        "Sparse k-means on its home ground",
        Verdict(
            "new",
            f"many features, few rows, relevant features of large variance: sparse k-means has "
            f"{raw['sparse']:.2f}, EWP as published {raw['ewp-published']:.2f}, its between form "
            f"{raw['ewp-between']:.2f}, at penalties and bounds chosen without labels.",
        ),
        [
            Table(
                pd.DataFrame(rows),
                f"80 rows, 4 clusters in 20 of 2000 features; mean of {draws_of}, "
                f"{scores['trials'].max()} starts each",
                2,
            )
        ],
    )


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def annealed(store: Store) -> Section | None:
    """The criterion of sparse k-means by four algorithms from the same starts."""
    found = store.finished(plan.annealed())
    if not found:
        return None
    criterion, agreement = [], []
    lead, agrees = 0, 0
    for cell, value in found:
        best = max(max(one["criterion"]) for one in value.values())
        bound = next(iter(value.values()))["bound"]
        names = {"data": cell.inputs["name"], "bound": f"{bound:.2f}"}
        relative = {title: np.array(value[title]["criterion"]) / best for title in ALGORITHMS}
        means = {title: part.mean() for title, part in relative.items()}
        lead += means["annealed"] >= max(means.values()) - 1e-6
        shares = {title: np.mean(value[title]["nmi"]) for title in ALGORITHMS}
        agrees += shares["annealed"] >= max(shares.values()) - 1e-6
        criterion.append(
            names
            | {
                title: f"{part.mean():.4f} ({int((part > 1 - 1e-6).sum())})"
                for title, part in relative.items()
            }
        )
        agreement.append(names | {title: f"{share:.3f}" for title, share in shares.items()})
    return Section(
        "Annealed sparse k-means",
        Verdict(
            "new",
            "sparse k-means' criterion with power means, which the one solver gives for nothing: "
            f"the best mean criterion in {lead} of {len(found)} cases, the best agreement with the "
            f"classes in {agrees}.",
        ),
        [
            Table(
                pd.DataFrame(criterion),
                "Criterion relative to the best that any start of any algorithm reached, mean over "
                f"{found[0][0].inputs['starts']} starts; in brackets, how many reach it. "
                "Standardised features",
                2,
            ),
            Table(pd.DataFrame(agreement), "NMI, mean over the same starts", 2),
        ],
    )
