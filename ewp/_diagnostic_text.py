"""Diagnostics in words and tables: the summaries of the objects that answer "how sure is it?"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp._selection_text import summarise_selection
from ewp.checks import check_integer

if TYPE_CHECKING:
    from ewp._summary import EWPSummary
    from ewp.agreement import Agreement
    from ewp.bootstrap_results import BootstrapResults
    from ewp.feature_tests import FeatureTests
    from ewp.results import EWPResults
    from ewp.stability import StabilityResults

__all__ = [
    "INTERRUPTED",
    "one_line",
    "render",
    "summarise_agreement",
    "summarise_bootstrap",
    "summarise_stability",
    "summarise_tests",
    "uncertainty",
]

_CONDITIONAL = "Conditional on the number of clusters, the penalty, the scaling and the form."
_LOCAL = (
    "Resamples are fitted from this fit's estimates; whether other clusters would be found from "
    "scratch is what stability() asks."
)
INTERRUPTED = "INTERRUPTED: the figures rest on the replicates that were finished."
_METHODS = {"bca": "BCa", "percentile": "percentile"}
_MAX_CLUSTERS = 20
_MAX_PAIRS = 5
_MAX_NAME = 28
#: Level that Holm's adjustment should be able to reach.
_HOLM = 0.05


def one_line(name: Any) -> str:
    """Show a name on one line, long ones with their middle left out."""
    text = " ".join(str(name).split())
    half = (_MAX_NAME - 3) // 2
    return text if len(text) <= _MAX_NAME else f"{text[:half]}...{text[-half:]}"


def render(title: str, table: pd.DataFrame, notes: Iterable[str]) -> EWPSummary:
    """Render a table, its names on one line each, with notes below it."""
    shown = table.set_axis([one_line(name) for name in table.index], axis=0)
    return summarise_selection(title, shown, list(notes))


def _interval_cells(table: pd.DataFrame) -> dict[str, list[str]]:
    """Weights and the ends of their intervals, with two digits of the interval's width."""
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
    return cells


def uncertainty(results: EWPResults, order: np.ndarray) -> tuple[pd.DataFrame | None, list[str]]:
    """What bootstrap and tests add to a summary of the fit: a table and its notes.

    Parameters
    ----------
    results : EWPResults
    order : ndarray
        Positions of the features to list.
    """
    columns: dict[str, list[str]] = {}
    notes = []
    boot, tests = results.bootstrap_, results.feature_tests_
    if boot is not None:
        table = boot.weight_intervals(0.95, boot.method).iloc[order]
        columns |= _interval_cells(table)
        columns["selected"] = [f"{100 * share:.0f} %" for share in table["selected"]]
        notes.append(
            f"lower, upper: 95 % bootstrap interval of the weight ({boot.n_boot} resamples, "
            f"{_METHODS[boot.method]}); selected: resamples with a weight above "
            f"{boot.threshold:.3g}."
        )
    if tests is not None:
        found = tests.table.iloc[order]
        for heading, name in (("p-value", "p_value"), ("p (BH)", "p_bh"), ("p (Holm)", "p_holm")):
            columns[heading] = ["--" if np.isnan(p) else f"{p:.2g}" for p in found[name]]
        notes.append(
            "p-values: permutation test that the feature is independent of the others "
            f"({tests.n_perm} permutations), given k and lambda."
        )
    if not columns:
        return None, notes
    names = [one_line(name) for name in results.feature_names[order]]
    return pd.DataFrame(columns, index=names), notes


def summarise_bootstrap(found: BootstrapResults, top: int, level: float) -> EWPSummary:
    """Heaviest features with intervals, and the pairs that change places."""
    check_integer("top", top, least=1)
    table = found.weight_intervals(level, found.method)
    heaviest = table.iloc[np.argsort(-table["weight"].to_numpy(), kind="stable")[:top]]
    notes = [
        f"lower, upper: {100 * level:g} % {_METHODS[found.method]} interval on the log-ratio "
        "scale; se and bias over the resamples.",
        f"selected: share of resamples with a weight above {found.threshold:.3g}.",
    ]
    if len(table) > 1:
        pairs = found.rank_switches(max(top, 2))
        listed = "; ".join(
            f"{one_line(heavier)} and {one_line(lighter)} in {100 * share:.0f} %"
            for heavier, lighter, share in pairs.head(_MAX_PAIRS).to_numpy().tolist()
        )
        more = len(pairs) - _MAX_PAIRS
        if listed:
            tail = f"; ... and {more} more pairs" if more > 0 else ""
            notes.append(f"Order reversed in resamples: {listed}{tail}.")
        else:
            notes.append(
                f"The order of the {min(max(top, 2), len(table))} heaviest features is the same "
                "in at least 95 % of the resamples."
            )
    if len(table) > top:
        notes.append(f"... and {len(table) - top} more features.")
    biased = int((heaviest["bias"].abs() > heaviest["se"]).sum())
    if biased:
        notes.append(
            f"The bias exceeds the standard error in {biased} of these features: there are few "
            "rows a cluster for so many features, and intervals are rough."
        )
    if found.converged < 1:
        notes.append(f"{100 * found.converged:.0f} % of the fits converged.")
    notes += [_CONDITIONAL, _LOCAL]
    if not found.complete:
        notes.append(INTERRUPTED)
    title = f"Bootstrap of the weights, {found.n_boot} resamples"
    shown = pd.DataFrame(_interval_cells(heaviest), index=heaviest.index)
    for name in ("se", "bias"):
        shown[name] = [f"{value:.1e}" for value in heaviest[name]]
    shown["selected"] = [f"{100 * share:.0f} %" for share in heaviest["selected"]]
    return render(title, shown, notes)


def summarise_stability(found: StabilityResults) -> EWPSummary:
    """Clusters with their mean similarity, as fpc reports them."""
    table = found.clusters
    shown = table.head(_MAX_CLUSTERS).drop(columns="jaccard_sd")
    shown = shown.set_axis([f"cluster {name}" for name in shown.index], axis=0)
    notes = [
        "jaccard: mean similarity to the most similar cluster of a resample; dissolved and "
        "recovered: resamples in which it is at most 0.5, and above 0.75.",
        "stays: mean share of resamples that keep a row in its cluster; silhouette: in the "
        "weighted metric.",
    ]
    mean = table["jaccard"]
    weak = [str(name) for name in table.index[mean < 0.6]]
    if weak:
        more = f", ... and {len(weak) - 10} more" if len(weak) > 10 else ""
        notes.append(f"Not to be trusted, below 0.6: {', '.join(weak[:10])}{more}.")
    elif (mean >= 0.75).all():
        notes.append("All clusters are stable: 0.75 or more.")
    if len(table) > _MAX_CLUSTERS:
        rest = mean.iloc[_MAX_CLUSTERS:]
        notes.append(
            f"... and {len(rest)} more clusters, with means from {rest.min():.2f} to "
            f"{rest.max():.2f}."
        )
    notes.append(_CONDITIONAL)
    if not found.complete:
        notes.append(INTERRUPTED)
    title = f"Stability of the clusters, {found.n_boot} resamples ({found.scheme})"
    return render(title, shown, notes)


def summarise_tests(found: FeatureTests, top: int) -> EWPSummary:
    """Features by p-value, heaviest first among equals."""
    check_integer("top", top, least=1)
    table = found.table
    order = np.lexsort((-table["weight"].to_numpy(), table["p_value"].fillna(2.0).to_numpy()))
    tested = int(table["p_value"].notna().sum())
    notes = [
        "earned: the weight that clusters found without the feature give it; permuted: the "
        "median of the same when the column is permuted.",
        f"{len(found.significant())} of {tested} tested features have a p-value of at most 0.05 "
        "after Benjamini and Hochberg, "
        f"{len(found.significant(adjust='holm'))} after Holm. The smallest possible p-value is "
        f"{1 / (found.n_perm + 1):.2g}.",
        "Null hypothesis: the feature is independent of all the others. A feature with clusters "
        "that no other feature shares cannot be told from noise.",
        _CONDITIONAL,
    ]
    if tested > _HOLM * (found.n_perm + 1):
        notes.insert(
            2,
            f"Holm's adjustment cannot reach {_HOLM} with so few permutations; "
            f"n_perm={round(2 * tested / _HOLM) - 1} would let it.",
        )
    if len(table) > top:
        notes.insert(0, f"... and {len(table) - top} more features.")
    if not found.complete:
        notes.append("INTERRUPTED: features without a p-value were not tested.")
    return render(
        f"Permutation tests of the weights, {found.n_perm} permutations",
        table.iloc[order[:top]],
        notes,
    )


def summarise_agreement(found: Agreement, top: int) -> EWPSummary:
    """Clusters side by side, then the weights that differ most."""
    check_integer("top", top, least=1)
    this, other = found.names
    clusters = found.clusters.head(_MAX_CLUSTERS)
    clusters = clusters.rename(columns={"size": this, "other_size": other})
    clusters = clusters.set_axis([f"cluster {name}" for name in clusters.index], axis=0)
    notes = [
        f"ARI {found.ari:.4f}, NMI {found.nmi:.4f}; {100 * found.same:.1f} % of the "
        f"{len(found.labels)} common rows are in matched clusters."
    ]
    if len(found.clusters) > _MAX_CLUSTERS:
        notes.append(f"... and {len(found.clusters) - _MAX_CLUSTERS} more clusters.")
    if np.isfinite(found.centroid_distance):
        notes.append(
            f"Matched centroids are {found.centroid_distance:.3g} apart (root mean square, in "
            f"the metric of {this})."
        )
    summary = render(f"Two clusterings: {this} and {other}", clusters, [])
    if found.weights is not None:
        order = np.argsort(-found.weights["difference"].abs().to_numpy(), kind="stable")[:top]
        table = found.weights.iloc[order].rename(columns={"this": this, "other": other})
        for part in render("", table, []).tables:
            summary.add_df(part)
        first, second = found.effective_features
        notes.append(
            f"{100 * found.weight_distance:.1f} % of the weight is on other features; effective "
            f"features {first:.3g} and {second:.3g}. Features by the size of the difference."
        )
    for note in notes:
        summary.add_text(note)
    return summary
