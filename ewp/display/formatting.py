"""How numbers, names and counts are shown: the one place that decides on digits.

Everything is formatted to plain ASCII text, except the user's own names and the minus of `signed`,
which is for pages. Summaries, diagnostics, pages and the demo call these functions instead of
writing formats of their own; messages of errors and ticks of pictures do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

__all__ = [
    "INTERVAL_METHODS",
    "MAX_CLUSTERS",
    "SMALLEST_P",
    "amount_cells",
    "column_cells",
    "counted",
    "family_name",
    "fixed",
    "interval_table",
    "mean_cells",
    "no_formula",
    "number",
    "one_line",
    "p_text",
    "percent",
    "scaling_name",
    "scientific",
    "short",
    "signed",
    "thousands",
    "weight_cells",
    "whole_percent",
]

#: How methods of intervals are called.
INTERVAL_METHODS = {"bca": "BCa", "percentile": "percentile"}
#: Clusters that a table lists.
MAX_CLUSTERS = 20
#: P-values below are shown as such: so far out the tails of tests are approximations.
SMALLEST_P = 1e-10
_MAX_NAME = 28
#: Beginnings of cells that spreadsheets compute.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def number(x: float, digits: int = 4) -> str:
    """Show a number alone: so many significant digits and every digit before the point."""
    text = column_cells([x], digits)[0]
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def column_cells(values: Iterable[float], digits: int = 3) -> list[str]:
    """Show numbers of one unit with the same decimals: so many digits of their range."""
    x = np.asarray(list(values), dtype=float)
    finite = np.abs(x[np.isfinite(x)])
    largest = float(finite.max(initial=0.0))
    if largest == 0.0:
        return [f"{v + 0.0:g}" for v in x]
    extent = float(np.ptp(x[np.isfinite(x)]))
    if extent < 1e-10 * largest:  # equal up to rounding
        extent = largest
    unit, magnitude = (int(np.floor(np.log10(v))) for v in (extent, largest))
    if 1e-4 <= largest < 1e8:
        cells = [f"{v:.{max(digits - 1 - unit, 0)}f}" for v in x]
    else:
        cells = [f"{v:.{max(magnitude - unit, 0) + digits - 1}e}" for v in x]
    return [_unsigned_zero(cell) for cell in cells]


def amount_cells(values: Iterable[float]) -> list[str]:
    """Show a column of amounts, in which a small one is not to be mistaken for nothing."""
    x = list(values)
    shown = zip(x, column_cells(x), strict=True)
    return [cell if v == 0 or float(cell) != 0 else scientific(v) for v, cell in shown]


def mean_cells(means: Iterable[float], sds: Iterable[float]) -> list[str]:
    """Show means with standard deviations in brackets, two digits of the median one of these.

    >>> mean_cells([5.8433, 5.006], [0.8281, 0.3525]), mean_cells([3.0], [float("nan")])
    (['5.84 (0.83)', '5.01 (0.35)'], ['3 (--)'])
    """
    m, s = np.asarray(list(means), dtype=float), np.asarray(list(sds), dtype=float)
    known = s[np.isfinite(s) & (s > 0)]
    largest = float(np.abs(m[np.isfinite(m)]).max(initial=0.0))
    decimals = max(1 - int(np.floor(np.log10(np.median(known)))), 0) if len(known) else 0
    form = f".{decimals}f"
    if decimals > 6 or largest >= 1e8 or not len(known):
        form = ".4g"
    shown = ([f"{v:{form}}" if np.isfinite(v) else "--" for v in x] for x in (m, s))
    return [f"{_unsigned_zero(mean)} ({sd})" for mean, sd in zip(*shown, strict=True)]


def _unsigned_zero(cell: str) -> str:
    return cell.lstrip("-") if cell != "--" and float(cell) == 0.0 else cell


def weight_cells(w: np.ndarray) -> list[str]:
    """Show weights with the same decimals, the heaviest with three digits and more."""
    decimals = max(2 - int(np.floor(np.log10(w.max()))), 4)
    small = 5 * 10.0**-decimals
    return ["0" if v == 0 else scientific(v) if v < small else f"{v:.{decimals}f}" for v in w]


def short(x: float, digits: int = 4) -> str:
    """Show a number in a sentence or a cell: so many significant digits.

    >>> short(1263.4567), short(0.000123456, 3)
    ('1263', '0.000123')
    """
    return f"{x:.{digits}g}"


def p_text(p: float) -> str:
    """Show a p-value, or that there is none.

    >>> p_text(0.01234), p_text(1e-30), p_text(float("nan"))
    ('0.012', '<1e-10', '--')
    """
    if np.isnan(p):
        return "--"
    return short(p, 2) if p >= SMALLEST_P else f"<{SMALLEST_P:g}"


def fixed(x: float, decimals: int = 2) -> str:
    """Show a number of a known scale: so many decimals.

    >>> fixed(-0.4987)
    '-0.50'
    """
    return f"{x:.{decimals}f}"


def signed(x: float, decimals: int = 1) -> str:
    """Show a difference: its sign, a typographic minus, and so many decimals.

    >>> signed(0.52), signed(-1.0)
    ('+0.5', '−1.0')
    """
    return f"{x:+.{decimals}f}".replace("-", "−")


def scientific(x: float) -> str:
    """Show a number of which the order of magnitude matters.

    >>> scientific(0.00123)
    '1.2e-03'
    """
    return f"{x:.1e}"


def thousands(count: int) -> str:
    """Show a count on a page, where large ones are read in groups.

    >>> thousands(150), thousands(1234567)
    ('150', '1,234,567')
    """
    return f"{count:,}"


def whole_percent(share: float) -> str:
    """Show a share in per cent without decimals.

    >>> whole_percent(0.954)
    '95 %'
    """
    return f"{100 * share:.0f} %"


def percent(share: float) -> str:
    """Show a share in per cent with one decimal; a small one is not mistaken for nothing."""
    if np.isnan(share):
        return "--"
    percent = 100 * share
    return f"{percent:.1f} %" if share == 0 or abs(percent) >= 0.05 else f"{percent:.0e} %"


def one_line(name: Any) -> str:
    """Show a name on one line, long ones with their middle left out."""
    text = " ".join(str(name).split())
    half = (_MAX_NAME - 3) // 2
    return text if len(text) <= _MAX_NAME else f"{text[:half]}...{text[-half:]}"


def interval_table(table: pd.DataFrame) -> pd.DataFrame:
    """Weights and the ends of their intervals, with two digits of the interval's width.

    One row per feature; rows that belong to a cluster, the first level of the index, say to which.
    """
    cells: dict[str, list[str]] = {"weight": [], "lower": [], "upper": []}
    for values in table[list(cells)].to_numpy(dtype=float):
        weight, lower, upper = values
        width = upper - lower
        place = 4 if width <= 0 else int(np.clip(1 - np.floor(np.log10(width)), 4, 300))
        form = f".{min(place, 9)}f"
        if weight < 1e-3:
            first = 300 if weight <= 0 else int(-np.floor(np.log10(weight)))
            form = f".{int(np.clip(place - first, 1, 4))}e"
        for column, value in zip(cells.values(), values, strict=True):
            column.append(f"{value:{form}}")
    names = table.index.get_level_values(-1)
    if table.index.nlevels > 1:
        cells = {"cluster": [str(name) for name in table.index.get_level_values(0)], **cells}
    return pd.DataFrame(cells, index=names)


def no_formula(name: Any) -> Any:
    """A name for a CSV file; what a spreadsheet would compute begins with an apostrophe.

    >>> no_formula("=1+1"), no_formula("-5"), no_formula("a")
    ("'=1+1", '-5', 'a')
    """
    if not isinstance(name, str) or not name.startswith(_FORMULA):
        return name
    try:
        float(name)
    except ValueError:
        return f"'{name}"
    return name


def family_name(scaling: str, dispersion: str, weights: str = "common") -> str:
    """Name of a scaling with a form of the weights.

    >>> family_name("none", "between")
    'raw features, between form'
    >>> family_name("standard", "within", "cluster")
    'standardised features with weights of every cluster'
    """
    if weights == "cluster":
        return f"{family_name(scaling, dispersion)} with weights of every cluster"
    name = scaling_name(scaling)
    if name == "raw":
        return f"raw features, {dispersion} form"
    share = scaling.partition(":")[2]
    return f"{name} features" + (f" (shrinkage {share})" if share else "")


def scaling_name(scaling: str) -> str:
    """What features are after a scaling.

    >>> [scaling_name(scaling) for scaling in ("none", "standard", "decorrelate:0.25")]
    ['raw', 'standardised', 'decorrelated']
    """
    if scaling == "standard":
        return "standardised"
    return "decorrelated" if scaling.startswith("decorrelate") else "raw"


def counted(number: int, noun: str) -> str:
    """Number with its noun.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")
