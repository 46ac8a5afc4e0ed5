"""How the results of the bridge print: a heading and, where there is one, a table."""

from __future__ import annotations

from html import escape

import pandas as pd

__all__ = ["Printed", "sizes"]


class Printed:
    """Text in a terminal and HTML in a notebook, instead of all that an object holds."""

    def _heading(self) -> str:
        """One line, defined by every subclass."""
        raise NotImplementedError

    def _shown(self) -> pd.DataFrame | None:
        """The table below the heading."""
        return None

    def __repr__(self) -> str:
        table = self._shown()
        if table is None:
            return self._heading()
        return f"{self._heading()}\n{table.to_string(float_format=_number, na_rep='-')}"

    def _repr_html_(self) -> str:
        heading = f"<p>{escape(self._heading())}</p>"
        table = self._shown()
        if table is None:
            return heading
        return heading + table.to_html(float_format=_number, na_rep="-")


def _number(value: float) -> str:
    """Three decimals, or four digits where they say more.

    >>> _number(0.12345), _number(12345.678), _number(1e-5)
    ('0.123', '1.235e+04', '1e-05')
    """
    return f"{value:.3f}" if value == 0 or 0.001 <= abs(value) < 1000 else f"{value:.4g}"


def sizes(labels: pd.Series) -> str:
    """The clusters and how many rows each has.

    >>> sizes(pd.Series([0, 1, 1]))
    '2 clusters of sizes 1, 2'
    """
    counts = labels.value_counts().sort_index()
    return f"{len(counts)} clusters of sizes {', '.join(map(str, counts))}"
