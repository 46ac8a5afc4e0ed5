"""What a page says of a fit: clusters and what sets them apart, features, choices, history."""

from __future__ import annotations

import base64
import contextlib
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from ewp.common.types import FittedResults
from ewp.data.frames import as_table
from ewp.data.rows import is_row_source
from ewp.diagnostics import RECORDS, TITLES
from ewp.display.axes import subsample
from ewp.display.evidence import NO_CLUSTERS, evidence_of
from ewp.display.fit_summary import column_deviations, fit_notes, is_weighted, variance_explained
from ewp.display.formatting import (
    column_cells,
    counted,
    family_name,
    no_formula,
    number,
    one_line,
    percent,
    short,
    signed,
    thousands,
    weight_cells,
)
from ewp.display.profile_plots import plot_cluster_weights
from ewp.display.selection import plot_record, selection_reason
from ewp.report.page import data_hash
from ewp.report.svg import draw

__all__ = ["describe_fit"]

_MEANS = 15
_APART = 4
_MOST_CLUSTERS = 60
_MOST_COLUMNS = 12
#: Panels of clusters that are as wide as other pictures.
_WIDE = 2
#: Features that are shown.
TOP = 25
#: Features up to which the whole table is put into the page.
_MOST_FEATURES = 10_000


def describe_fit(results: FittedResults) -> dict[str, Any]:
    """Collect what the page of a fit shows.

    Parameters
    ----------
    results : EWPResults

    Returns
    -------
    dict
        Variables of the template ``fit.html``.
    """
    order = np.argsort(-results.mean_weights.to_numpy(dtype=float), kind="stable")
    features = feature_table(results)
    return {
        "kind": "fit",
        "title": "Entropy Weighted Power k-means",
        "sentence": _sentence(results),
        "facts": _facts(results),
        "not_converged": None if results.converged else results.fit_options.max_iter,
        "clusters": _clusters(results),
        "more_clusters": max(results.n_clusters - _MOST_CLUSTERS, 0),
        "weighted": is_weighted(results),
        "decorrelated": results.decorrelation is not None,
        "weights": heaviest(features, order[:TOP]),
        "columns": [name for name in ("missing", "explained", "p") if name in features],
        "intervals": "lower" in features,
        "more_features": others(results, order),
        "csv": as_csv(features, order),
        "means": _means(results, order[:_MEANS]),
        "figures": {
            "trace": _trace(results),
            "clusters": _picture(results),
            "weights": _weights_picture(results),
        },
        "many_rows": len(subsample(results.n_obs)) < results.n_obs,
        "start": _start(results),
        "selection": _selection(results),
        "notes": _notes(results),
        "diagnostics": _diagnostics(results),
        "repeat": results.recipe,
        "versions": results.versions,
        "options": {key: value for key, value in results.options.items() if key != "selection"},
        "hash": results.data_sha256 or data_hash(results.data),
        "hash_of": "the values, as 64-bit floats row by row",
    }


def _sentence(results: FittedResults) -> str:
    family = family_name(results.scaling, results.dispersion, results.fit_options.weights)
    selection = results.selection
    how = "chosen by what held-out rows gain from the clusters" if selection else "given"
    if selection and selection["criterion"] != "predictive":
        how = f"chosen by the {selection['criterion']} criterion"
    evidence = evidence_of(results)
    verdict = "" if evidence is None else f" {evidence.words()}"
    return (
        f"{counted(results.n_obs, 'row')} with {counted(results.n_features, 'feature')} were put "
        f"into {counted(results.n_clusters, 'cluster')}, and the features were weighted, by "
        f"Entropy Weighted Power k-means on {family} with the penalty λ = "
        f"{number(results.lam)}, {how}." + verdict
    )


def _facts(results: FittedResults) -> dict[str, str]:
    share = results.betweenss / results.totss if results.totss > 0 else np.nan
    what = "variance" if results.families is None else "divergence"
    return {
        "rows": thousands(results.n_obs),
        "features": thousands(results.n_features),
        "clusters": str(results.n_clusters),
        "effective features": number(results.effective_features, 3),
        f"of the weighted {what} lies between clusters": percent(share),
        "iterations" if results.converged else "iterations, not converged": str(results.n_iter),
    }


def _deviations(results: FittedResults) -> np.ndarray:
    """Differences of the cluster means from the overall means, in standard deviations.

    They are those of the columns that have weights.
    """
    if (made := results.decorrelation) is not None:
        deviations: np.ndarray = made.apply(results.centroids.to_numpy(dtype=float))
        return deviations / np.sqrt(np.maximum(made.variances, np.finfo(float).tiny))
    theta = results.centroids.to_numpy(dtype=float) - results.center
    spread = column_deviations(results)
    divisor = np.ones_like(results.center) if spread is None else np.where(spread > 0, spread, 1.0)
    return theta / divisor


def _clusters(results: FittedResults) -> list[dict[str, Any]]:
    """Sizes, and the features whose means are furthest from the overall ones, as weighted."""
    deviation = _deviations(results)
    contribution = np.sqrt(results.weights.to_numpy(dtype=float)) * np.abs(deviation)
    theta = results.centroids.to_numpy(dtype=float)
    mass = results.clusters["mass"].to_numpy(dtype=float)
    rows = []
    for j in range(min(results.n_clusters, _MOST_CLUSTERS)):
        order = np.argsort(-contribution[j], kind="stable")[:_APART]
        rows.append(
            {
                "name": str(results.centroids.index[j]),
                "size": thousands(results.clusters["size"].iloc[j]),
                "share": percent(mass[j] / mass.sum()),
                "width": round(100 * mass[j] / mass.max(), 1),
                "apart": [
                    {
                        "feature": one_line(results.feature_names[i]),
                        "sd": signed(deviation[j, i]),
                        "mean": number(theta[j, i], 3),
                        "overall": number(results.center[i], 3),
                        "high": bool(deviation[j, i] > 0),
                    }
                    for i in order
                    if contribution[j, i] > 0
                ],
            }
        )
    return rows


def _means(results: FittedResults, order: np.ndarray) -> dict[str, Any] | None:
    """Cluster means of the heaviest features, where there is room for them."""
    if results.n_clusters > _MOST_COLUMNS:
        return None
    theta = results.centroids.to_numpy(dtype=float)
    rows = []
    for i in order:
        cells = column_cells([results.center[i], *theta[:, i]])
        rows.append({"name": one_line(results.feature_names[i]), "cells": cells})
    return {"clusters": [str(name) for name in results.centroids.index], "rows": rows}


def _trace(results: FittedResults) -> Markup:
    words = "The objective along the iterations and the exponent below it."
    return draw(results.plot_trace, "trace", words, (4.2, 3.9))


def _weights_picture(results: FittedResults) -> Markup | None:
    """The weights of every cluster, where these have weights of their own.

    Intervals have a picture of theirs.
    """
    if not results.by_cluster:
        return None
    words = "The weights of the heaviest features in every cluster."
    each, names = results.weights.to_numpy(dtype=float), list(results.feature_names)
    picture = partial(plot_cluster_weights, each, names, clusters=list(results.weights.index))
    return draw(picture, "cluster-weights", words)


def _picture(results: FittedResults) -> Markup | None:
    """The rows in the plane, where they are at hand."""
    data = as_table(results.data)
    if not (isinstance(data, pd.DataFrame | np.ndarray) or is_row_source(data)):
        return None
    words = "Rows and centroids in the plane, by cluster."
    return draw(results.plot_clusters, "clusters", words)


def _start(results: FittedResults) -> str:
    """Where the annealing starts, and where that lies."""
    s0, critical = results.s0, results.critical_exponent
    if np.isinf(s0):
        return "There was no annealing: the fit started at the limit problem."
    text = f"The exponent starts at {number(s0)} and falls to minus infinity."
    if results.n_clusters > 1 and np.isfinite(critical):
        below = s0 <= critical + 1e-6 * abs(critical)
        text += (
            " All centroids converge to one point while the exponent is above the critical one, "
            f"{number(critical, 3)}; the start lies {'below' if below else 'ABOVE'} it."
        )
    return text.replace(" -", " −")


def _notes(results: FittedResults) -> list[str]:
    """The notes of the summary that the page does not have elsewhere."""
    told = (
        "...",
        "NOT CONVERGED",
        "lambda =",
        "f_-inf",
        "Gain over 1 cluster",
        NO_CLUSTERS.capitalize(),
    )
    return [note for note in fit_notes(results, TOP) if not note.startswith(told)]


def _selection(results: FittedResults) -> dict[str, Any] | None:
    """The curve of the criterion against the penalty, with the choice."""
    record = results.selection
    if record is None:
        return None
    found: dict[str, Any] = {"reason": selection_reason(record).replace("lambda", "λ")}
    with contextlib.suppress(ValueError):  # which says that there are no scores
        words = "The criterion against the penalty, with the choice marked."
        found["figure"] = draw(partial(plot_record, record), "lambda", words)
    return found


def _diagnostics(results: FittedResults) -> list[dict[str, Any]]:
    """What was asked after the fit, each with its tables and, where there is one, its picture."""
    found = []
    for name in RECORDS:
        record = getattr(results, name)
        if record is None:
            continue
        key = name.strip("_").replace("_", "-")
        # panels of clusters take the room that they need
        panels = results.n_clusters if getattr(record, "by_cluster", False) else 0
        size = None if panels else (5.2, 4.2)
        try:
            figure = draw(record.plot, key, TITLES[name], size)
        except ValueError:  # so a record says that it has nothing to draw
            figure = None
        tables = Markup(record._repr_html_())
        wide = panels > _WIDE
        found.append({"title": TITLES[name], "tables": tables, "figure": figure, "wide": wide})
    return found


def feature_table(results: FittedResults) -> pd.DataFrame:
    """Everything that is known of the features, in the order of the data."""
    table = pd.DataFrame({"weight": results.mean_weights.to_numpy(dtype=float)})
    table.index = pd.Index([one_line(name) for name in results.feature_names], name="feature")
    if results.bootstrap_ is not None and not results.by_cluster:
        found = results.bootstrap_.weight_intervals()
        table["lower"], table["upper"] = found["lower"].to_numpy(), found["upper"].to_numpy()
    if results.observed is not None:
        table["missing"] = 1.0 - results.observed
    explained = variance_explained(results)
    if explained is not None:
        table["explained"] = explained
    if results.feature_tests_ is not None:
        table["p"] = results.feature_tests_.table["p_holm"].to_numpy()
    return table


def heaviest(table: pd.DataFrame, order: np.ndarray) -> list[dict[str, Any]]:
    """Lines of the page about some features, with the lengths of their bars in percent."""
    shown = table.iloc[order]
    top = float(shown["upper" if "upper" in shown else "weight"].max())
    texts = weight_cells(shown["weight"].to_numpy())
    rows = []
    for (name, row), text in zip(shown.iterrows(), texts, strict=True):
        line: dict[str, Any] = {
            "name": name,
            "weight": text,
            "width": round(100 * row["weight"] / top, 2),
        }
        if "lower" in row:
            ends = weight_cells(row[["lower", "upper"]].to_numpy(dtype=float))
            line |= {
                "interval": f"{ends[0]} to {ends[1]}",
                "from": round(100 * row["lower"] / top, 2),
                "to": round(100 * row["upper"] / top, 2),
            }
        if "missing" in row:
            line["missing"] = percent(row["missing"])
        if "explained" in row:
            line["explained"] = percent(row["explained"])
        if "p" in row:
            line["p"] = short(row["p"], 2)
        rows.append(line)
    return rows


def others(results: FittedResults, order: np.ndarray) -> dict[str, Any] | None:
    """How many features the page does not show, and what they weigh."""
    if len(order) <= TOP:
        return None
    weight = float(results.mean_weights.to_numpy(dtype=float)[order[TOP:]].sum())
    return {"count": thousands(len(order) - TOP), "share": percent(weight)}


def as_csv(table: pd.DataFrame, order: np.ndarray) -> str | None:
    """The whole table of features as a data URI, if the page does not show all of it."""
    if not TOP < len(table) <= _MOST_FEATURES:
        return None
    names = pd.Index([no_formula(name) for name in table.index], name=table.index.name)
    text = table.set_axis(names, axis=0).iloc[order].to_csv(float_format="%.6g")
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(text.encode()).decode()
