"""Beyond the paper: what choosing the penalty without labels reaches, and where it fails."""

from __future__ import annotations

import pandas as pd

from validation import plan_beyond as plan
from validation.cells import Store
from validation.page import Section, Table, Verdict
from validation.sections.common import frame_of, letters
from validation.sections.published import PAPER, is_reached
from validation.tasks.designs import DESIGNS

__all__ = ["choosing"]

#: Relative differences of objectives below this are those of rounding and of the last steps.
_SAME = 1e-6
_NEAR = 0.03
_FAR = 0.1
_BELOW = 0.05
_SCALINGS = {"none": "raw", "standard": "standardised"}
_KMEANS = ("k-means, raw", "k-means, standardised")


def _objective(excess: pd.Series) -> str:
    """Whether the objective from the classes is lower or higher than that of the fit."""
    words = excess.map(lambda v: "same" if abs(v) < _SAME else "lower" if v < 0 else "higher")
    return ", ".join(words.unique())


def _table(store: Store) -> pd.DataFrame:
    """NMI by data: means over the draws for which both the choice and the limits are known."""
    chosen, possible = (frame_of(store, cells) for cells in (plan.selection(), plan.possible()))
    if chosen.empty or possible.empty:
        return pd.DataFrame()
    draws = ["name", "data", "seed"]
    chosen["chosen"] = [
        letters(_SCALINGS[scaling], form)
        for scaling, form in zip(chosen["scaling"], chosen["form"], strict=True)
    ]
    criteria = chosen.pivot_table("nmi", draws, "criterion", sort=False).reset_index()
    criteria = criteria.reindex(columns=[*draws, *plan.CRITERIA]).dropna(subset="predictive")
    default = chosen[chosen["criterion"] == "predictive"]
    default = default[[*draws, "from_classes", "excess", "chosen"]]
    both = criteria.merge(possible, on=draws).merge(default, on=draws)
    groups = both.groupby("name", sort=False)
    table = groups[[*plan.CRITERIA, "best", *_KMEANS, "from_classes"]].mean()
    table["k-means"] = table[list(_KMEANS)].max(axis=1)
    table["draws"] = groups.size()
    table["objective"] = groups["excess"].apply(_objective)
    table["chosen"] = groups["chosen"].apply(lambda words: ", ".join(words.unique()))
    return table


def _sentence(table: pd.DataFrame, what: str) -> str:
    near = int((table["best"] - table["predictive"] <= _NEAR).sum())
    below = int((table["k-means"] - table["predictive"] > _BELOW).sum())
    return (
        f"on {len(table)} {what} the default has {table['predictive'].mean():.3f} on average, the "
        f"best penalty in hindsight {table['best'].mean():.3f}, the better k-means "
        f"{table['k-means'].mean():.3f}; the default is within {_NEAR} of the best on {near} and "
        f"more than {_BELOW} below k-means on {below}"
    )


def choosing(store: Store) -> Section | None:
    """All data, by every criterion."""
    table = _table(store)
    if table.empty:
        return None
    made = table.index.isin(list(DESIGNS))
    parts = [
        _sentence(rows, what)
        for rows, what in ((table[made], "simulated designs"), (table[~made], "real sets"))
        if len(rows)
    ]
    gap = table["best"] - table["predictive"]
    far = ", ".join(f"{name} ({gap[name]:.2f})" for name in table.index[gap > _FAR])
    columns = {
        "predictive": "predictive (default)",
        "stability": "stability",
        "gap": "gap",
        "best": "best λ in hindsight",
        "k-means": "k-means",
        "from_classes": "from the classes",
    }
    shown = table[list(columns)].map(lambda v: "–" if pd.isna(v) else f"{v:.3f}")
    shown = shown.rename(columns=columns).assign(objective=table["objective"])
    shown.insert(0, "draws", table["draws"].astype(str))
    shown.insert(1, "chosen", table["chosen"])
    items: list[str | Table] = [
        Table(
            shown.rename_axis("data").reset_index(),
            "NMI of the fit that a user gets, its penalty, scaling and form chosen by each "
            "criterion; “chosen” is what the default chose (r raw, s standardised, b "
            "between form). k-means is the better of raw and standardised, with ten starts. “From "
            "the classes” descends from the means of the true classes, at what the default chose, "
            "and compares the objective reached with the fit's",
        ),
        "Where the descent from the classes ends higher than the fit, the fit is the better one by "
        "the objective, whatever its NMI; where it ends lower, the search missed something.",
    ]
    if far:
        items.append(f"More than {_FAR} below the best in hindsight: {far}.")
    return Section(
        "Choosing λ without labels",
        Verdict("new", f"{'; '.join(parts)}."),
        [*items, *_range(store)],
    )


def _range(store: Store) -> list[str | Table]:
    """What the default would be if division by the range were a candidate."""
    chosen = frame_of(store, plan.selection())
    own = chosen[chosen["criterion"] == "predictive"].set_index("name")
    own = own[~own.index.isin(list(DESIGNS))]
    rows, reached = [], {"now": 0, "then": 0, "sets": 0}
    for cell, value in store.finished(plan.with_range()):
        name = cell.inputs["name"]
        if name not in own.index:
            continue
        families = {
            "as it is": own.loc[name],
            "range, within": value["within"],
            "range, between": value["between"],
        }
        winner = max(families, key=lambda family: families[family]["score"])
        rows.append(
            {
                "data": name,
                **{
                    title: f"{one['score']:.3f} / {one['nmi']:.3f}"
                    for title, one in families.items()
                },
                "best score": winner,
            }
        )
        if name in PAPER:
            reached["sets"] += 1
            reached["now"] += is_reached(name, families["as it is"]["nmi"])
            reached["then"] += is_reached(name, families[winner]["nmi"])
    if not rows:
        return []
    table = Table(
        pd.DataFrame(rows),
        "Would division by the range help as a further candidate? Held-out score of the best "
        "penalty (nats a row) / NMI of the fit",
    )
    if not reached["sets"]:
        return [table]
    return [
        table,
        "This package does not divide by the range by itself. If it did wherever that has the best "
        f"score, NMI would be at or above the paper's on {reached['then']} of {reached['sets']} "
        f"sets; it is on {reached['now']}.",
    ]
