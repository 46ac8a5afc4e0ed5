"""The printer: one function that turns a results object into a statsmodels summary.

The summary is a table of facts, one of the clusters, one of the heaviest features (two, once their
uncertainty was computed) and notes in plain words. Everything is formatted to text here, so that
what is printed never depends on the data still being there, and everything is plain ASCII except
the user's own names. This is the only module that prints through statsmodels.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from statsmodels.iolib.summary2 import Summary

from ewp._diagnostic_text import one_line, uncertainty
from ewp._selection_text import reason

if TYPE_CHECKING:
    from ewp.results import EWPResults

__all__ = ["EWPSummary", "summarise"]

_TITLE = "Entropy Weighted Power k-means"
_MAX_CLUSTERS = 20
_MAX_CENTROID_COLUMNS = 6
_MAX_LISTED = 6

_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
# Brackets and the star are here because LaTeX takes them for arguments at the start of a row.
_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    **{character: "\\" + character for character in "{}$&#%_"},
}


class EWPSummary(Summary):
    """A statsmodels summary whose HTML and LaTeX hold for names with any characters.

    statsmodels escapes nothing in HTML and a part of the special characters in LaTeX. Here they
    are replaced by Unicode noncharacters before it renders and by their escapes afterwards.
    """

    def as_text(self) -> str:
        """Render as plain text."""
        twin, _ = self._masked({})
        twin.settings = [dict(setting) for setting in self.settings]
        # statsmodels pads tables to one width, but miscounts the gaps of those with an index.
        for table, setting in zip(twin.tables, twin.settings, strict=True):
            if setting["index"]:
                setting.update(index=False, align="l" + "r" * table.shape[1])
                table.insert(0, "", table.index)
        return str(Summary.as_text(twin))

    def as_html(self) -> str:
        """Render as HTML tables, the first captioned with the title."""
        masked, unmask = self._masked(_HTML)
        first = '<table class="simpletable">'
        caption = f"{first}\n<caption>{masked.title}</caption>"
        html = Summary.as_html(masked).replace(first, caption, 1)
        return str(html).translate(unmask)

    def as_latex(self, label: str = "") -> str:
        """Render as a LaTeX table.

        Parameters
        ----------
        label : str, default ""
            Label of the table for references.
        """
        masked, unmask = self._masked(_LATEX)
        return str(Summary.as_latex(masked, label=label)).translate(unmask)

    def _masked(self, escapes: dict[str, str]) -> tuple[Summary, dict[int, str]]:
        masks = {ord(character): 0xFDD0 + i for i, character in enumerate(escapes)}
        twin = Summary()
        twin.settings = self.settings
        twin.title = str(self.title).translate(masks)
        twin.extra_txt = [note.translate(masks) for note in self.extra_txt]
        for table in self.tables:
            cells = [[str(x).translate(masks) for x in row] for row in table.to_numpy()]
            index = [str(x).translate(masks) for x in table.index]
            columns = [str(x).translate(masks) for x in table.columns]
            twin.tables.append(pd.DataFrame(cells, index=index, columns=columns))
        return twin, {mask: escapes[chr(character)] for character, mask in masks.items()}


def summarise(results: EWPResults, top: int = 10) -> EWPSummary:
    """Render results as a summary with ``as_text``, ``as_html`` and ``as_latex``.

    Parameters
    ----------
    results : EWPResults
    top : int, default 10
        Number of features to list, heaviest first.

    Returns
    -------
    EWPSummary
    """
    if top < 1:
        raise ValueError(f"top={top} features cannot be listed: give a number of at least 1")
    summary = EWPSummary()
    summary.add_title(_TITLE)
    summary.add_dict(_facts(results))
    summary.add_df(_cluster_table(results))
    summary.add_df(_feature_table(results, top))
    table, notes = uncertainty(results, _heaviest_first(results)[:top])
    if table is not None:
        summary.add_df(table)
    for note in [*_notes(results, top), *notes]:
        summary.add_text(note)
    return summary


def _facts(results: EWPResults) -> dict[str, str]:
    options = results.options
    # The last row of the trace is where the last iteration ended; none starts from it.
    phases = results.objective_trace["phase"].iloc[:-1]
    counts = [str(int((phases == phase).sum())) for phase in ("anneal", "finish", "polish")]
    explained = results.betweenss / results.totss if results.totss > 0 else np.nan
    return {
        "Observations:": str(results.n_obs),
        "Features:": str(results.n_features),
        "Clusters:": str(results.n_clusters),
        "Penalty lambda:": _number(results.lam),
        "lambda / n:": _number(results.lam / float(results.clusters["mass"].sum())),
        "Scaling:": results.scaling,
        "Dispersion:": results.dispersion,
        "Starts:": f"{options.get('n_init', 1)} ({options.get('init', 'given')})",
        "Objective f_-inf:": _number(results.objective, 6),
        "Between / total SS:": _percent(explained),
        "Effective features:": _number(results.effective_features),
        "Starting exponent s0:": _number(results.s0),
        "Critical exponent:": _number(results.critical_exponent),
        "Iterations:": str(results.n_iter),
        "anneal + finish + polish:": " + ".join(counts),
        "Converged:": "yes" if results.converged else "NO",
    }


def _cluster_table(results: EWPResults) -> pd.DataFrame:
    clusters = results.clusters.head(_MAX_CLUSTERS)
    share = clusters["mass"] / results.clusters["mass"].sum()
    table = {"size": [str(size) for size in clusters["size"]]}
    if _is_weighted(results):
        table["mass"] = _amounts(clusters["mass"])
    table["share"] = [_percent(x) for x in share]
    table["withinss"] = _amounts(clusters["withinss"])
    return pd.DataFrame(table, index=[f"cluster {name}" for name in clusters.index])


def _feature_table(results: EWPResults, top: int) -> pd.DataFrame:
    order = _heaviest_first(results)[:top]
    theta = results.centroids.to_numpy(dtype=float)[:, order]
    table = {"weight": _weights(results.weights.to_numpy(dtype=float)[order])}
    explained = _variance_explained(results)
    if explained is not None:
        table["explained"] = [_percent(x) for x in explained[order]]
    names = [str(name) for name in results.centroids.index]
    formatted = [_column(column) for column in theta.T]
    if len(names) <= _MAX_CENTROID_COLUMNS:
        for j, name in enumerate(names):
            table[f"cluster {name}"] = [cells[j] for cells in formatted]
    else:
        for heading, where in (("lowest", theta.argmin(0)), ("highest", theta.argmax(0))):
            cells = [column[j] for column, j in zip(formatted, where, strict=True)]
            table[heading] = cells
            table[f"{heading} in"] = [f"cluster {names[j]}" for j in where]
    return pd.DataFrame(table, index=[one_line(results.feature_names[i]) for i in order])


def _notes(results: EWPResults, top: int) -> Iterable[str]:
    weights = results.weights.to_numpy(dtype=float)
    order = _heaviest_first(results)
    p, k = results.n_features, results.n_clusters
    if not results.converged:
        limit = results.options.get("max_iter")
        stopped = "" if limit is None else f" (max_iter = {limit})"
        yield (
            f"NOT CONVERGED: stopped after {results.n_iter} iterations{stopped}; the estimates "
            "are not yet a fixed point. Raise max_iter or tol."
        )
    if p > 1:
        cumulated = np.cumsum(weights[order])
        most, almost_all = (int((cumulated < share).sum()) + 1 for share in (0.9, 0.99))
        verb = "holds" if almost_all == 1 else "hold"
        core = f", {most} of them 90 %" if most < almost_all else ""
        yield f"{min(almost_all, p)} of {p} features {verb} 99 % of the weight{core}."
    if p > top:
        rest = float(weights[order[top:]].sum())
        yield f"... and {p - top} more features, together with {_percent(rest)} of the weight."
    if k > _MAX_CLUSTERS:
        sizes = results.clusters["size"].iloc[_MAX_CLUSTERS:]
        yield f"... and {len(sizes)} more clusters, of {sizes.min()} to {sizes.max()} rows."
    critical = results.critical_exponent
    if k > 1 and results.s0 > critical + 1e-6 * abs(critical) > -np.inf:
        yield (
            f"The annealing starts at s0 = {_number(results.s0)}, above the critical exponent "
            f"{_number(critical)}: down to there all centroids are drawn into "
            'one point, which may cost the partition. s0="auto" starts below it.'
        )
    excluded = [one_line(name) for name in results.feature_names[results.prior == 0]]
    if excluded:
        more = len(excluded) - _MAX_LISTED
        listed = ", ".join(excluded[:_MAX_LISTED]) + (f", ... and {more} more" if more > 0 else "")
        yield f"Excluded, constant or given prior weight 0: {listed}."
    included = results.prior[results.prior > 0]
    if included.size and np.ptp(included) > 1e-12 * included.max():
        yield "The weights start from a prior that is not the same for all features."
    if results.scaling == "standard":
        yield (
            "Weights relate to standardised features (each divided by its standard deviation); "
            "centroids are in the units of the data."
        )
    if "selection" in results.options:
        yield reason(results.options["selection"])
    if _is_weighted(results):
        yield "Rows are weighted: mass, share, n and all sums of squares count the weights."
    if _variance_explained(results) is not None:
        yield "explained: share of the feature's variance that lies between the clusters."


def _heaviest_first(results: EWPResults) -> np.ndarray:
    return np.argsort(-results.weights.to_numpy(dtype=float), kind="stable")


def _is_weighted(results: EWPResults) -> bool:
    return not np.allclose(results.clusters["mass"], results.clusters["size"])


def _variance_explained(results: EWPResults) -> np.ndarray | None:
    spread = results.spread
    if spread is None and results.scaling == "standard":
        spread = results.scale
    if spread is None:
        return None
    mass = results.clusters["mass"].to_numpy(dtype=float)
    deviations = results.centroids.to_numpy(dtype=float) - results.center
    between = mass @ deviations**2 / mass.sum()
    share = np.divide(between, spread**2, out=np.zeros_like(between), where=spread > 0)
    return np.where(share < 1e-15, 0.0, np.minimum(share, 1.0))  # the former is rounding alone


def _number(x: float, digits: int = 4) -> str:
    """Show a number alone: so many significant digits and every digit before the point."""
    text = _column([x], digits)[0]
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def _column(values: Iterable[float], digits: int = 3) -> list[str]:
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
    return [cell.lstrip("-") if float(cell) == 0.0 else cell for cell in cells]


def _amounts(values: Iterable[float]) -> list[str]:
    """Show a column of amounts, in which a small one is not to be mistaken for nothing."""
    x = list(values)
    shown = zip(x, _column(x), strict=True)
    return [cell if v == 0 or float(cell) != 0 else f"{v:.1e}" for v, cell in shown]


def _weights(w: np.ndarray) -> list[str]:
    """Show weights with the same decimals, the heaviest with three digits and more."""
    decimals = max(2 - int(np.floor(np.log10(w.max()))), 4)
    small = 5 * 10.0**-decimals
    return ["0" if v == 0 else f"{v:.1e}" if v < small else f"{v:.{decimals}f}" for v in w]


def _percent(share: float) -> str:
    if np.isnan(share):
        return "--"
    percent = 100 * share
    return f"{percent:.1f} %" if share == 0 or abs(percent) >= 0.05 else f"{percent:.0e} %"
