"""What a page says of the features: weights, intervals, tests, and the whole table as CSV."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp import _summary as show
from ewp._diagnostic_text import one_line

if TYPE_CHECKING:
    from ewp.results import EWPResults

__all__ = ["TOP", "as_csv", "feature_table", "heaviest", "others"]

#: Features that are shown.
TOP = 25
#: Features up to which the whole table is put into the page.
_MOST_FEATURES = 10_000


def feature_table(results: EWPResults) -> pd.DataFrame:
    """Everything that is known of the features, in the order of the data."""
    table = pd.DataFrame({"weight": results.weights.to_numpy(dtype=float)})
    table.index = pd.Index([one_line(name) for name in results.feature_names], name="feature")
    if results.bootstrap_ is not None:
        found = results.bootstrap_.weight_intervals(0.95, results.bootstrap_.method)
        table["lower"], table["upper"] = found["lower"].to_numpy(), found["upper"].to_numpy()
    explained = show._variance_explained(results)
    if explained is not None:
        table["explained"] = explained
    if results.feature_tests_ is not None:
        table["p"] = results.feature_tests_.table["p_holm"].to_numpy()
    return table


def heaviest(table: pd.DataFrame, order: np.ndarray) -> list[dict[str, Any]]:
    """Lines of the page about some features, with the lengths of their bars in percent."""
    shown = table.iloc[order]
    top = float(shown["upper" if "upper" in shown else "weight"].max())
    texts = show._weights(shown["weight"].to_numpy())
    rows = []
    for (name, row), text in zip(shown.iterrows(), texts, strict=True):
        line: dict[str, Any] = {
            "name": name,
            "weight": text,
            "width": round(100 * row["weight"] / top, 2),
        }
        if "lower" in row:
            ends = show._weights(row[["lower", "upper"]].to_numpy(dtype=float))
            line |= {
                "interval": f"{ends[0]} to {ends[1]}",
                "from": round(100 * row["lower"] / top, 2),
                "to": round(100 * row["upper"] / top, 2),
            }
        if "explained" in row:
            line["explained"] = show._percent(row["explained"])
        if "p" in row:
            line["p"] = f"{row['p']:.2g}"
        rows.append(line)
    return rows


def others(results: EWPResults, order: np.ndarray) -> dict[str, Any] | None:
    """How many features the page does not show, and what they weigh."""
    if len(order) <= TOP:
        return None
    weight = float(results.weights.to_numpy(dtype=float)[order[TOP:]].sum())
    return {"count": f"{len(order) - TOP:,}", "share": show._percent(weight)}


def as_csv(table: pd.DataFrame, order: np.ndarray) -> str | None:
    """The whole table of features as a data URI, if the page does not show all of it."""
    if not TOP < len(table) <= _MOST_FEATURES:
        return None
    text = table.iloc[order].to_csv(float_format="%.6g")
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(text.encode()).decode()
