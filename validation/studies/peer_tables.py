"""The paper's peers on real data, theirs beside ours: a table a peer, and why figures differ.

Two headings of the paper's Table 5 are probably exchanged, so power k-means and WK-means are each
compared with both columns.
"""

from __future__ import annotations

import pandas as pd

from validation.cells import Store
from validation.page import Table
from validation.published import (
    PAPER_PEERS,
    TABLE3,
    TABLE5,
    Figure,
    headings_for,
)
from validation.studies.peer_settings import NEAR, closest, explanation
from validation.summaries import TITLES, mark_of, mean_sd

__all__ = ["EXCHANGE", "peer_table", "peer_tables", "printed", "table3"]

_SCALINGS = ("raw", "standardised")
EXCHANGE = (
    "The headings of the paper's second and third column (power k-means, WK-means) are probably "
    "exchanged: an earlier version of the table in the paper's own source has the same numbers "
    "under WK-means and power k-means, in that order. Each of our two methods is compared with "
    "both columns"
)


def printed(figure: Figure) -> str:
    """Write a figure as the paper has it, with its mark.

    Examples
    --------
    >>> printed(Figure(0.403, 0.002, "+"))
    '0.403 (0.002) +'
    """
    return f"{figure.mean:.3f} ({figure.sd:.3f}) {figure.mark}".rstrip()


def _ours(scores: pd.DataFrame, method: str) -> tuple[dict[str, str], dict[str, float]]:
    """Entries and means of a peer at both scalings, marked against this package."""
    same = scores[scores["method"] == "ewp, same rows"].set_index("trial")["nmi"]
    texts, means = dict.fromkeys(_SCALINGS, "–"), {}
    for scaling in _SCALINGS:
        here = scores[(scores["method"] == method) & (scores["scaling"] == scaling)]
        if len(here):
            values = here.set_index("trial")["nmi"]
            texts[scaling] = mean_sd(values) + mark_of(values, same)
            means[scaling] = float(values.mean())
    return texts, means


def _verdict(store: Store, name: str, method: str, figure: float, means: dict[str, float]) -> str:
    """Where ours agree with a figure, or what comes closest to it."""
    near = [scaling for scaling, mean in means.items() if abs(mean - figure) <= NEAR]
    if near:
        return "agrees: " + " and ".join(near)
    return explanation(figure, closest(store, name, method, figure))


def peer_table(store: Store, scores: pd.DataFrame, method: str) -> list[str | Table]:
    """Theirs beside ours on the sets of Table 5.

    Parameters
    ----------
    store : Store
    scores : DataFrame
        Rows of the sets as they are.
    method : str
        One of the paper's peers.
    """
    headings = headings_for(method)
    rows, away = [], dict.fromkeys(headings, 0.0)
    agreed, explained, count = dict.fromkeys(headings, 0), 0, 0
    for name, figures in TABLE5.items():
        here = scores[scores["name"] == name]
        texts, means = _ours(here, method)
        if not means:
            continue
        count += 1
        gaps = {
            one: min(abs(mean - figures[one].mean) for mean in means.values()) for one in headings
        }
        for one, gap in gaps.items():
            away[one] += gap
            agreed[one] += gap <= NEAR
        nearest = min(headings, key=gaps.__getitem__)
        verdict = _verdict(store, name, method, figures[nearest].mean, means)
        explained += not verdict.startswith(("agrees", "not "))
        theirs = {
            f"paper, “{TITLES[one].partition(',')[0]}”" if len(headings) > 1 else "paper": printed(
                figures[one]
            )
            for one in headings
        }
        rows.append({"data": name, **theirs, **texts, "verdict": verdict})
    if not rows:
        return []
    words = [
        f"within {NEAR} of the paper's column “{TITLES[one].partition(',')[0]}” on {agreed[one]} "
        f"of {count} sets (mean distance {away[one] / count:.3f})"
        for one in headings
    ]
    caption = (
        f"{TITLES[method]}, theirs beside ours: NMI, mean (sd) over 20 trials from the same random "
        "rows. + and ≃ are the paper's marks against its EWP, and ours against this package from "
        "the same rows"
    )
    rest = f"; another setting explains {explained} of the others" if explained else ""
    text = f"**{TITLES[method]}** is {' and '.join(words)}{rest}."
    return [Table(pd.DataFrame(rows), caption), text]


def peer_tables(store: Store, scores: pd.DataFrame) -> list[str | Table]:
    """All four peers of Table 5.

    Parameters
    ----------
    store, scores
        As in `peer_table`.
    """
    found = [item for method in PAPER_PEERS for item in peer_table(store, scores, method)]
    if not found:
        return []
    tried = (
        f"{EXCHANGE}. The last column says at which of our scalings they agree within {NEAR}; if "
        "at none, what comes closest of eight bounds of sparse k-means, five exponents β of "
        "WK-means (ours is 8), three first exponents of power k-means and both scalings."
    )
    return [tried, *found]


def table3(store: Store, scores: pd.DataFrame) -> Table | None:
    """Theirs beside ours on GLIOMA, a row a method.

    Parameters
    ----------
    store : Store
    scores : DataFrame
        Rows of GLIOMA.
    """
    rows = []
    for method in PAPER_PEERS:
        texts, means = _ours(scores, method)
        figure = TABLE3[method]
        if means:
            verdict = _verdict(store, "GLIOMA", method, figure.mean, means)
            rows.append(
                {"method": TITLES[method], "paper": printed(figure), **texts, "verdict": verdict}
            )
    if not rows:
        return None
    return Table(
        pd.DataFrame(rows),
        "The paper's peers in its Table 3, theirs beside ours: NMI, mean (sd) over 20 trials. + "
        "differs from this package from the same rows at 5 %, ≃ does not",
    )
