"""What the report shows of the contest: tables, ranks, reasons, and the aims set before."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from validation.cells import Store
from validation.contest import registry
from validation.contest.contestants import BESIDE, DEFAULT, NUMBERS, R_PACKAGES
from validation.contest.designs import CORRELATED, DESIGNS, WIDE
from validation.contest.ranks import (
    TIE,
    critical_difference,
    draw_ranks,
    friedman,
    mean_ranks,
    tally,
)
from validation.contest.reasons import REASONS, reason_of
from validation.page import Picture, Section, Table, Verdict
from validation.studies.contest import contest_cells, number_cells, reason_cells
from validation.studies.structure import Aim, texts

__all__ = ["designs_section", "numbers_section", "real_section", "scores_of_contest"]

#: A contestant that is further ahead than this has beaten the default clearly.
FAR = 0.05
#: Aims in correlated noise, and where p ≫ n the share of sparcl's NMI; level of Friedman's test.
_CORRELATED, _SHARE, _LEVEL = 0.9, 0.95, 0.05
_SPARSE = "sparse k-means, gap"
_SHORT = {
    DEFAULT: "ewp",
    BESIDE: "refined",
    "k-means, raw": "k-means r",
    "k-means, standardised": "k-means s",
    "mixture, diagonal": "diagonal",
    "mixture, full": "full",
    "sparse k-means, gap": "sparse",
}
_WHO = (
    "All contestants but `ewp` and k-means r see standardised features: k-means raw (r) and "
    "standardised (s), Ward's method, spectral clustering on ten neighbours, mixtures with "
    "diagonal and full covariances (scikit-learn), sparse k-means at the bound of its permutation "
    "gap (the native one, which equals sparcl), WK-means (β = 8), R's mclust (model by BIC) and "
    "PAM. Ten random starts, five for mixtures. Beyond 50 features a full mixture and mclust see "
    "20 principal components. “Refined” is `results.refine()` of the default, a mixture fitted "
    "from its partition; it has no rank. No method sees a class; all are told their number."
)


def scores_of_contest(store: Store) -> pd.DataFrame:
    """Scores of all finished cells: name, seed, method, nmi, ari, seconds."""
    rows = []
    for cell, value in store.finished(contest_cells()):
        name, seed = cell.inputs["name"], cell.inputs["seed"]
        for method, found in value.items():
            rows.append({"name": name, "seed": seed, "method": method, **found})
    columns = ["name", "seed", "method", "nmi", "ari", "seconds"]
    return pd.DataFrame(rows, columns=columns).astype({"nmi": float, "ari": float})


def _wide(scores: pd.DataFrame, what: str, names: Iterable[str]) -> pd.DataFrame:
    """A row a set or design, a column a contestant: means over the draws that all have."""
    part = scores[scores["name"].isin(list(names))]
    if part.empty:
        return pd.DataFrame()
    # one that gave up has a cell without a score; one that was not run has none
    tried = part.assign(there=1).pivot_table("there", ["name", "seed"], "method", sort=False)
    wanted = [one for one in tried if one not in R_PACKAGES or tried[one].notna().mean() > 0.3]
    complete = tried.index[tried[wanted].notna().all(axis=1)]
    if DEFAULT not in wanted or complete.empty:
        return pd.DataFrame()
    kept = part.set_index(["name", "seed"]).loc[complete].reset_index()
    found = kept.pivot_table(what, "name", "method", sort=False, dropna=False)
    return found[sorted(wanted, key=[BESIDE, DEFAULT].__contains__, reverse=True)]


def _ranked(table: pd.DataFrame) -> pd.DataFrame:
    return table.drop(columns=BESIDE)


def _summary(nmi: pd.DataFrame, ari: pd.DataFrame, seconds: pd.DataFrame) -> pd.DataFrame:
    """One row a contestant, the best mean first."""
    ranks = mean_ranks(_ranked(nmi))
    against = tally(_ranked(nmi), DEFAULT, FAR)
    found = pd.DataFrame(
        {
            "mean NMI": texts(nmi.mean().to_frame())[0],
            "mean ARI": texts(ari.mean().to_frame())[0],
            "mean rank": texts(ranks.to_frame(), 2)[0],
            "ewp wins": against["wins"],
            "ties": against["ties"],
            "loses": against["losses"],
            f"by > {FAR}": against["far"],
            "median s": texts(seconds.median().to_frame(), 2)[0],
            "gave up": nmi.isna().sum().map(lambda count: str(count) if count else ""),
        }
    ).reindex(nmi.mean().sort_values(ascending=False).index)
    counts = ["ewp wins", "ties", "loses", f"by > {FAR}"]
    found[counts] = found[counts].map(lambda v: "" if pd.isna(v) else str(int(v)))
    return found.fillna("").rename_axis("contestant").reset_index()


def _ranks(nmi: pd.DataFrame, name: str, what: str) -> tuple[str, Picture]:
    """Friedman's test in words, and the critical-difference diagram."""
    ranks = mean_ranks(_ranked(nmi))
    test = friedman(ranks, len(nmi))
    apart = critical_difference(len(ranks), len(nmi))
    worse = ranks.index[ranks > ranks[DEFAULT] + apart]
    better = ranks.index[ranks < ranks[DEFAULT] - apart]
    p_value = "below 0.0001" if test.p_value < 1e-4 else f"{test.p_value:.4f}"
    differ = "differ" if test.p_value < _LEVEL else "do not differ"
    in_place = mean_ranks(nmi.drop(columns=DEFAULT))
    text = (
        f"Over {len(nmi)} {what} mean ranks {differ} significantly at 5 % (Friedman's test: F = "
        f"{test.f:.1f}, p {p_value}). Nemenyi's critical difference is {apart:.2f}: by it the "
        f"default is better than {_listed(worse)}, and worse than {_listed(better)}. In its place "
        f"the refined partition would have the mean rank {in_place[BESIDE]:.2f}, "
        f"{_listed([in_place.drop(BESIDE).idxmin()])} {in_place.drop(BESIDE).min():.2f}."
    )
    caption = (
        f"Mean ranks by NMI over {len(nmi)} {what}. Contestants that a bar at the right joins do "
        "not differ significantly (Friedman and Nemenyi, Demšar 2006)."
    )
    return text, Picture.of(name, caption, draw_ranks(ranks, apart, DEFAULT))


def _listed(names: Iterable[str]) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> _listed(["a", "b", "c"]), _listed([])
    ('a, b and c', 'none')
    """
    given = list(names)
    if len(given) < 2:
        return given[0] if given else "none"
    return f"{', '.join(given[:-1])} and {given[-1]}"


def _losses(store: Store, nmi: pd.DataFrame) -> list[str | Table]:
    """Where some contestant is clearly ahead of the default, and why."""
    kept: dict[str, list[dict]] = {}
    for cell, value in store.finished(reason_cells()):
        kept.setdefault(cell.inputs["name"], []).append(value)
    others = _ranked(nmi).drop(columns=DEFAULT)
    best = others.max(axis=1)
    rows = []
    for name in nmi.index[best - nmi[DEFAULT] > FAR]:
        found = kept.get(name, [])
        names = [reason_of(one, best[name] - FAR) for one in found]
        top = max((row["nmi"] for one in found for row in one["others"]), default=np.nan)
        rows.append(
            {
                "data": name,
                "ewp": f"{nmi.loc[name, DEFAULT]:.3f}",
                "best": f"{best[name]:.3f}",
                "by": others.loc[name].idxmax(),
                "ewp at its best": "–" if np.isnan(top) else f"{top:.3f}",
                "reason": _listed(dict.fromkeys(names)) if names else "–",
            }
        )
    if not rows:
        return [f"No contestant is more than {FAR} ahead of the default anywhere."]
    table = pd.DataFrame(rows)
    counted = table["reason"].value_counts()
    words = "; ".join(f"{count} × {name}" for name, count in counted.items())
    meaning = "; ".join(f"**{name}**: {what}" for name, what in REASONS.items())
    return [
        Table(
            table,
            f"Where the best of all others is more than {FAR} ahead of the default. “ewp at its "
            "best” is in hindsight, over every second candidate that the default had before it",
        ),
        f"Reasons, by fits started at the classes and fits at the candidates that were not chosen "
        f"({words}). {meaning}. The first that applies is given.",
    ]


def _entries(nmi: pd.DataFrame, about: Callable[[str], dict[str, str]]) -> pd.DataFrame:
    """All scores, a row a set."""
    shown = texts(nmi, 2).rename(columns=_SHORT)
    front = pd.DataFrame([about(name) for name in nmi.index], index=nmi.index)
    return front.join(shown).rename_axis("data").reset_index()


def _of_set(name: str) -> dict[str, str]:
    X, y = registry.fetch(name, registry.at_hand()[name])
    n, p, k = len(X), X.shape[1], len(np.unique(y))
    return {"n, p, k": f"{n:,}, {p:,}, {k}", "from": registry.SETS[name].origin}


def _of_design(name: str) -> dict[str, str]:
    return {"what": str(DESIGNS[name].__doc__).partition("\n")[0].rstrip(".")}


def _judge(nmi: pd.DataFrame) -> list[Aim]:
    """Whether the default is the best of all, by mean and by rank."""
    means, ranks = _ranked(nmi).mean(), mean_ranks(_ranked(nmi))
    found = []
    for what, values, first in (
        ("mean NMI", means, means.sort_values(ascending=False).index),
        ("mean rank", ranks, ranks.sort_values().index),
    ):
        next_best = first[1] if first[0] == DEFAULT else first[0]
        digits = 3 if what == "mean NMI" else 2
        said = f"{values[DEFAULT]:.{digits}f}; {next_best} {values[next_best]:.{digits}f}"
        found.append((f"best {what} of all contestants", said, bool(first[0] == DEFAULT)))
    return found


def _verdict(aims: list[Aim], lead: str) -> Verdict:
    words = {True: "reached", False: "missed", None: "open"}
    said = "; ".join(f"{what}: {words[state]} ({found})" for what, found, state in aims)
    return Verdict("new", f"{lead} {said}.")


def _tables(store: Store, names: Iterable[str]) -> list[pd.DataFrame]:
    scores = scores_of_contest(store)
    return [_wide(scores, what, names) for what in ("nmi", "ari", "seconds")]


def real_section(store: Store) -> Section | None:
    """All contestants on the real sets."""
    nmi, ari, seconds = _tables(store, registry.SETS)
    if nmi.empty:
        return None
    text, picture = _ranks(nmi, "contest_real", "real sets")
    aims = _judge(nmi)
    against = tally(_ranked(nmi), DEFAULT, FAR)
    least = against["wins"] - against["losses"]
    lead = (
        f"on {len(nmi)} real sets against {len(_ranked(nmi).columns) - 1} methods. The default is "
        f"ahead more often than behind against {int((least > 0).sum())} of them;"
    )
    missing = [name for name in registry.SETS if name not in registry.at_hand()]
    absent = f" Not at hand here: {_listed(missing)}." if missing else ""
    return Section(
        "The contest on real sets",
        _verdict(aims, lead),
        [
            _WHO,
            Table(
                _summary(nmi, ari, seconds),
                "Means over the real sets, and on how many the default wins, ties (NMI within "
                f"{TIE}) and loses against each. Seconds are CPU time on one thread, choices of "
                "bounds, models and penalties included",
            ),
            text,
            picture,
            *_losses(store, nmi),
            Table(
                _entries(nmi, _of_set),
                "NMI on every set, at the number of its classes. Sets of more than 2,000 rows are "
                "samples of as many, the paper's excepted. Who they are: "
                "`validation/contest/registry.py`",
                1,
            ),
            f"The sets were listed before any of them was run.{absent}",
        ],
    )


def designs_section(store: Store) -> Section | None:
    """All contestants on the simulated designs."""
    nmi, ari, seconds = _tables(store, DESIGNS)
    if nmi.empty:
        return None
    draws = scores_of_contest(store).query("name in @DESIGNS").groupby("name")["seed"].nunique()
    text, picture = _ranks(nmi, "contest_designs", "designs")
    aims = _judge(nmi)
    correlated = nmi.index.intersection([one.__name__ for one in CORRELATED])
    wide = nmi.index.intersection([one.__name__ for one in WIDE])
    if len(correlated):
        own = nmi.loc[correlated, DEFAULT]
        aims.append(
            (
                f"at least {_CORRELATED} in correlated noise",
                f"lowest {own.min():.3f}, {own.idxmin()}",
                bool(own.min() >= _CORRELATED),
            )
        )
    if len(wide):
        share = nmi.loc[wide, DEFAULT] / nmi.loc[wide, _SPARSE]
        aims.append(
            (
                "p ≫ n within 5 % of sparcl",
                f"{100 * share.min():.1f} % of its NMI in {share.idxmin()}",
                bool(share.min() >= _SHARE),
            )
        )
    return Section(
        "The contest on simulated designs",
        _verdict(aims, f"on {len(nmi)} designs, {draws.min()} draws of each:"),
        [
            Table(
                _summary(nmi, ari, seconds),
                "As on the real sets; the score of a design is its mean over the draws",
            ),
            text,
            picture,
            *_losses(store, nmi),
            Table(_entries(nmi, _of_design), "Mean NMI in every design, at the true k", 1),
        ],
    )


def numbers_section(store: Store) -> Section | None:
    """The number of clusters chosen, and what the partitions are then worth."""
    rows = []
    for cell, value in store.finished(number_cells()):
        for method, found in value.items():
            rows.append({"name": cell.inputs["name"], "method": method, **found})
    if not rows:
        return None
    found = pd.DataFrame(rows).astype({"nmi": float, "ari": float})
    counts = {name: registry.fetch(name, registry.at_hand()[name])[1].max() + 1
              for name in found["name"].unique()}  # fmt: skip
    found["off"] = found["k"] - found["name"].map(counts)
    whole = found.groupby("name")["method"].transform("nunique") == found["method"].nunique()
    groups = found[whole].groupby("method")
    if not groups.ngroups:
        return None
    sets = int(groups.size().max())
    table = pd.DataFrame(
        {
            "mean NMI": groups["nmi"].mean().map("{:.3f}".format),
            "mean ARI": groups["ari"].mean().map("{:.3f}".format),
            "right k, %": (100 * groups["off"].agg(lambda off: (off == 0).mean())).map(
                "{:.0f}".format
            ),
            "within one, %": (100 * groups["off"].agg(lambda off: (off.abs() <= 1).mean())).map(
                "{:.0f}".format
            ),
            "k = 1, %": (100 * groups["k"].agg(lambda k: (k == 1).mean())).map("{:.0f}".format),
            "mean k": groups["k"].mean().map("{:.1f}".format),
            "median s": groups["seconds"].median().map("{:.1f}".format),
        }
    )
    by_ari, by_nmi = groups["ari"].mean(), groups["nmi"].mean()
    place = int((by_ari > by_ari[DEFAULT]).sum()) + 1
    right = groups["off"].agg(lambda off: (off == 0).mean())
    every = found[whole].pivot_table("k", "name", "method", sort=False).astype(int).astype(str)
    every.insert(0, "classes", [str(counts[name]) for name in every.index])
    return Section(
        "The contest with chosen numbers of clusters",
        Verdict(
            "new",
            f"on {sets} real sets `select_k` takes the number of classes on "
            f"{100 * right[DEFAULT]:.0f} % (the others {100 * right.drop(DEFAULT).min():.0f} to "
            f"{100 * right.drop(DEFAULT).max():.0f} %); mean NMI {by_nmi[DEFAULT]:.3f}, the best "
            f"other {by_nmi.drop(DEFAULT).max():.3f}; by mean ARI it is number {place} of "
            f"{len(table)}. Where it finds no evidence for clusters, k = 1 and both are 0.",
        ),
        [
            Table(
                table.sort_values("mean NMI", ascending=False).reset_index(),
                f"k among {NUMBERS[0]} to {NUMBERS[-1]}, on sets of at most {NUMBERS[-1]} classes "
                "and 500 features: `ewp.select_k`; k-means with the largest silhouette (2 to 9); "
                "mixtures with full covariances and mclust by BIC. “Within one” counts numbers "
                "that are right or off by one",
            ),
            Table(
                every.rename_axis("data").reset_index(),
                "The chosen numbers. Classes are what somebody has named; that there are as many "
                "clusters is no truth, but the same measure for all",
            ),
        ],
    )
