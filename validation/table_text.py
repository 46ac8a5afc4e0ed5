"""Tables as Markdown, for the page and the benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

__all__ = ["markdown_table"]


def markdown_table(table: pd.DataFrame, text: Callable[[Any], str] = str) -> str:
    r"""Lines of a Markdown table, without the index.

    Parameters
    ----------
    table : DataFrame
    text : callable
        How a value is written.

    Examples
    --------
    >>> print(markdown_table(pd.DataFrame({"a": [1, 2], "b": ["x", "y|z"]})))
    | a | b |
    | --- | --- |
    | 1 | x |
    | 2 | y\|z |
    """
    rows = [
        [str(name) for name in table.columns],
        ["---"] * table.shape[1],
        *([text(value) for value in values] for values in table.itertuples(index=False)),
    ]
    return "\n".join("| " + " | ".join(v.replace("|", "\\|") for v in row) + " |" for row in rows)
