"""What the report shows of the contest: tables, ranks, reasons, and the aims set before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from validation.cells import Store
from validation.contest import registry
from validation.contest.contestants import BESIDE, DEFAULT, R_PACKAGES
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
from validation.studies.contest import contest_cells, reason_cells
from validation.studies.structure import Aim, texts
from validation.summaries import counted

__all__ = [
    "aims_of_designs",
    "aims_on_sets",
    "designs_section",
    "real_section",
    "scores_of_contest",
]

#: A contestant that is further ahead than this has beaten the default clearly.
FAR = 0.05
#: Aims in correlated noise, and where p ≫ n the share of sparcl's NMI; level of Friedman's test.
_CORRELATED, _SHARE, _LEVEL = 0.9, 0.95, 0.05
#: Origins of the sets that other sections use too.
_KNOWN = ("the paper", "further files")
#: Contestants of R that were run on fewer of the sets are left out.
_RARE = 0.15
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
    kept, wanted = _complete(part)
    if DEFAULT not in wanted or kept.empty:
        return pd.DataFrame()
    found = kept.pivot_table(what, "name", "method", sort=False, dropna=False)
    return found[sorted(wanted, key=[BESIDE, DEFAULT].__contains__, reverse=True)]


def _complete(part: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Rows of those sets and draws that all contestants have, and the contestants."""
    # one that gave up has a cell without a score; one that was not run has none
    tried = part.assign(there=1).pivot_table("there", ["name", "seed"], "method", sort=False)
    wanted = [one for one in tried if one not in R_PACKAGES or tried[one].notna().mean() > _RARE]
    whole = tried.index[tried[wanted].notna().all(axis=1)]
    return part.set_index(["name", "seed"]).loc[whole].reset_index(), wanted


def _draws(store: Store) -> str:
    """How many draws of the designs all contestants have."""
    scores = scores_of_contest(store)
    part = scores[scores["name"].isin(list(DESIGNS))]
    return counted(_complete(part)[0].drop_duplicates(["name", "seed"]), "name")


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
            "median s": texts(seconds.median().to_frame(), 2)[0].replace("0.00", "< 0.01"),
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
    nemenyi = f"Nemenyi's critical difference of two mean ranks is {apart:.2f}: by it the default "
    if len(worse) or len(better):
        nemenyi += f"is better than {_separated(worse)}, and worse than {_separated(better)}."
    else:
        nemenyi += "differs from no other contestant."
    text = (
        f"Over {len(nmi)} {what} mean ranks {differ} significantly at 5 % (Friedman's test of the "
        "null hypothesis that all contestants have the same mean rank, in Iman and Davenport's "
        f"form: F = {test.f:.1f}, p {p_value}). {nemenyi} In the default's place the "
        f"refined partition would have the mean rank {in_place[BESIDE]:.2f}, "
        f"{_listed([in_place.drop(BESIDE).idxmin()])} {in_place.drop(BESIDE).min():.2f}."
    )
    caption = (
        f"Mean ranks by NMI over {len(nmi)} {what}. Contestants that a bar at the right joins do "
        "not differ significantly (Friedman and Nemenyi, Demšar 2006)."
    )
    return text, Picture.of(name, caption, draw_ranks(ranks, apart, DEFAULT))


def _differ(nmi: pd.DataFrame) -> str:
    """Whether mean ranks differ significantly, in a few words."""
    ranks = mean_ranks(_ranked(nmi))
    return "differ" if friedman(ranks, len(nmi)).p_value < _LEVEL else "do not differ significantly"


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


def _separated(names: Iterable[str]) -> str:
    """Names in a sentence, some of which have commas."""
    return "; ".join(names) or "none"


#: Reasons in the groups in which a verdict counts them.
_GROUPS = {
    "the choice of λ, scaling or form": ("penalty", "scaling", "form"),
    "the objective, which prefers other clusters": ("objective", "model"),
    "the search": ("search",),
}


def _explained(store: Store, nmi: pd.DataFrame) -> pd.DataFrame:
    """Where some contestant is clearly ahead of the default, and why."""
    kept: dict[str, list[dict[str, Any]]] = {}
    for cell, value in store.finished(reason_cells()):
        kept.setdefault(cell.inputs["name"], []).append(value)
    others = _ranked(nmi).drop(columns=DEFAULT)
    best = others.max(axis=1)
    rows = []
    for name in nmi.index[best - nmi[DEFAULT] > FAR]:
        found = kept.get(name, [])
        names = [reason_of(one, best[name] - FAR) for one in found]
        tops = [max(row["nmi"] for row in (one["own"], *one["others"])) for one in found]
        rows.append(
            {
                "data": name,
                "ewp": f"{nmi.loc[name, DEFAULT]:.3f}",
                "best": f"{best[name]:.3f}",
                "by": others.loc[name].idxmax(),
                "ewp at its best": f"{np.mean(tops):.3f}" if tops else "–",
                "reason": _listed(dict.fromkeys(names)) if names else "–",
            }
        )
    return pd.DataFrame(rows)


def _losses(table: pd.DataFrame) -> list[str | Table]:
    """Table of the clear losses, and what the reasons mean."""
    if table.empty:
        return [f"No contestant is more than {FAR} ahead of the default anywhere."]
    meaning = "; ".join(f"**{name}**: {what}" for name, what in REASONS.items())
    return [
        Table(
            table,
            f"NMI where the best of all others is more than {FAR} ahead of the default. “ewp at "
            "its best” is in hindsight: the best fit at the chosen candidate or at every second of "
            "those (λ, scaling, form) that the default had before it, each a fit on its own; so "
            "it may be below the default, which goes on from fits to folds",
        ),
        "Reasons, by fits started at the classes and by fits at the candidates that were not "
        f"chosen: {meaning}. The first that applies is given; the aim is to be within {FAR} of the "
        "best contestant, itself picked in hindsight.",
    ]


def _why(table: pd.DataFrame, sets: int) -> str:
    """Count the reasons in a sentence."""
    if table.empty:
        return f" No contestant is more than {FAR} ahead of it on any."
    # of several draws with several reasons the first one counts
    first = table["reason"].str.extract(r"(\w+)", expand=False)
    counts = {what: int(first.isin(names).sum()) for what, names in _GROUPS.items()}
    known = "; ".join(f"{what} ({count})" for what, count in counts.items() if count)
    never = "; never because the search missed a better optimum near the classes"
    never = "" if counts["the search"] else never
    why = f", because of {known}{never}" if known else ""
    return (
        f" The best of all others, picked in hindsight, is more than {FAR} ahead on {len(table)} "
        f"of {sets}{why}."
    )


def _unseen(nmi: pd.DataFrame) -> str:
    """How the default does on the sets that no other section uses, in a sentence."""
    part = _ranked(nmi).loc[[one for one in nmi.index if registry.SETS[one].origin not in _KNOWN]]
    if part.empty:
        return ""
    means, ranks = part.mean(), mean_ranks(part)
    others = means.drop(DEFAULT), ranks.drop(DEFAULT)
    return (
        f" On the {len(part)} sets that no other section uses it has mean NMI "
        f"{means[DEFAULT]:.3f} (best other: {others[0].idxmax()} {others[0].max():.3f}) and mean "
        f"rank {ranks[DEFAULT]:.2f} ({others[1].idxmin()} {others[1].min():.2f})."
    )


def _halves(nmi: pd.DataFrame) -> Table:
    """Means and ranks on the sets of the sections above, and on those that are only here."""
    known = [name for name in nmi.index if registry.SETS[name].origin in _KNOWN]
    rows = []
    for what, names in (
        ("the paper's and further files, used in other sections", known),
        ("all others, which are only here", nmi.index.difference(known, sort=False)),
    ):
        part = _ranked(nmi).loc[names]
        if part.empty:
            continue
        means, ranks = part.mean(), mean_ranks(part)
        others = means.drop(DEFAULT), ranks.drop(DEFAULT)
        rows.append(
            {
                "sets": what,
                "number": str(len(part)),
                "ewp, mean NMI": f"{means[DEFAULT]:.3f}",
                "best other": f"{others[0].max():.3f} ({others[0].idxmax()})",
                "ewp, mean rank": f"{ranks[DEFAULT]:.2f}",
                "best other rank": f"{others[1].min():.2f} ({others[1].idxmin()})",
            }
        )
    return Table(
        pd.DataFrame(rows),
        "The same on the sets that the package was developed with, and on others",
    )


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


def _verdict(aims: list[Aim], lead: str, ending: str) -> Verdict:
    words = {True: "reached", False: "missed", None: "open"}
    said = "; ".join(f"{what}: {words[state]} ({found})" for what, found, state in aims)
    return Verdict("new", f"{lead} {said}.{ending}")


def _tables(store: Store, names: Iterable[str]) -> list[pd.DataFrame]:
    scores = scores_of_contest(store)
    return [_wide(scores, what, names) for what in ("nmi", "ari", "seconds")]


def real_section(store: Store) -> Section | None:
    """All contestants on the real sets."""
    nmi, ari, seconds = _tables(store, registry.SETS)
    if nmi.empty:
        return None
    text, picture = _ranks(nmi, "contest_real", "real sets")
    aims, behind = _judge(nmi), _explained(store, nmi)
    against = tally(_ranked(nmi), DEFAULT, FAR)
    least = against["wins"] - against["losses"]
    lead = (
        f"on {len(nmi)} real sets against {len(_ranked(nmi).columns) - 1} methods. The default is "
        f"ahead more often than behind against {int((least > 0).sum())} of them; mean ranks "
        f"{_differ(nmi)} at 5 % (Friedman's test);"
    )
    missing = [name for name in registry.SETS if name not in registry.at_hand()]
    absent = f" Not at hand here: {_listed(missing)}." if missing else ""
    return Section(
        "The contest on real sets",
        _verdict(aims, lead, _unseen(nmi) + _why(behind, len(nmi))),
        [
            _WHO,
            Table(
                _summary(nmi, ari, seconds),
                "Means over the real sets, and on how many the default wins, ties (NMI within "
                f"{TIE}) and loses against each, and loses by more than {FAR}. Rank 1 is the best "
                "on a set, equal scores share theirs. Seconds are medians of CPU time on one "
                "thread, choices of bounds, models and penalties included; “gave up” counts sets "
                "on which a contestant found nothing",
            ),
            _halves(nmi),
            text,
            picture,
            *_losses(behind),
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


def aims_on_sets(store: Store) -> list[Aim]:
    """Aims on the real sets, and whether they are reached; none without cells."""
    nmi = _tables(store, registry.SETS)[0]
    return [] if nmi.empty else _judge(nmi)


def aims_of_designs(store: Store) -> list[Aim]:
    """Aims on the simulated designs, and whether they are reached; none without cells."""
    nmi = _tables(store, DESIGNS)[0]
    if nmi.empty:
        return []
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
    return aims


def designs_section(store: Store) -> Section | None:
    """All contestants on the simulated designs."""
    nmi, ari, seconds = _tables(store, DESIGNS)
    if nmi.empty:
        return None
    draws = _draws(store)
    text, picture = _ranks(nmi, "contest_designs", "designs")
    aims, behind = aims_of_designs(store), _explained(store, nmi)
    return Section(
        "The contest on simulated designs",
        _verdict(aims, f"on {len(nmi)} designs, {draws} of each:", _why(behind, len(nmi))),
        [
            Table(
                _summary(nmi, ari, seconds),
                "As on the real sets; the score of a design is its mean over the draws, wins, ties "
                "and losses are of designs",
            ),
            text,
            picture,
            *_losses(behind),
            Table(_entries(nmi, _of_design), "Mean NMI in every design, at the true k", 1),
        ],
    )
