"""What a page says of a fit: clusters and what sets them apart, weights, choices, history."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from ewp import _summary as show
from ewp._diagnostic_text import one_line
from ewp._records import RECORDS
from ewp._selection_text import counted, family_name, reason
from ewp.drawing import subsample
from ewp.report_facts import data_hash
from ewp.report_features import TOP, as_csv, feature_table, heaviest, others
from ewp.report_figures import draw
from ewp.rows import FileRows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ewp.results import EWPResults

__all__ = ["describe_fit"]

_MEANS = 15
_APART = 4
_MOST_CLUSTERS = 60
_MOST_COLUMNS = 12

_TITLES = {
    "bootstrap_": "Intervals",
    "stability_": "Stability of the clusters",
    "feature_tests_": "Tests of the features",
    "consistency_": "Consistency",
    "agreement_": "Agreement with another clustering",
}


def describe_fit(results: EWPResults) -> dict[str, Any]:
    """Collect what the page of a fit shows.

    Parameters
    ----------
    results : EWPResults

    Returns
    -------
    dict
        Variables of the template ``fit.html``.
    """
    order = np.argsort(-results.weights.to_numpy(dtype=float), kind="stable")
    features = feature_table(results)
    return {
        "kind": "fit",
        "title": "Entropy Weighted Power k-means",
        "sentence": _sentence(results),
        "facts": _facts(results),
        "not_converged": None if results.converged else results.options.get("max_iter", "?"),
        "clusters": _clusters(results),
        "more_clusters": max(results.n_clusters - _MOST_CLUSTERS, 0),
        "weighted": show._is_weighted(results),
        "weights": heaviest(features, order[:TOP]),
        "columns": [name for name in ("explained", "p") if name in features],
        "intervals": "lower" in features,
        "more_features": others(results, order),
        "csv": as_csv(features, order),
        "means": _means(results, order[:_MEANS]),
        "figures": {"trace": _trace(results), "clusters": _picture(results)},
        "many_rows": len(subsample(results.n_obs)) < results.n_obs,
        "start": _start(results),
        "selection": _selection(results),
        "notes": _notes(results),
        "diagnostics": _diagnostics(results),
        "repeat": _call(results),
        "options": {key: value for key, value in results.options.items() if key != "selection"},
        "hash": data_hash(results.data),
        "hash_of": "the values, as 64-bit floats row by row",
    }


def _sentence(results: EWPResults) -> str:
    family = family_name(results.scaling, results.dispersion)
    chosen = "selection" in results.options
    how = "chosen by what held-out rows gain from the clusters" if chosen else "given"
    if chosen and results.options["selection"]["criterion"] != "predictive":
        how = f"chosen by the {results.options['selection']['criterion']} criterion"
    return (
        f"{counted(results.n_obs, 'row')} with {counted(results.n_features, 'feature')} were put "
        f"into {counted(results.n_clusters, 'cluster')}, and the features were weighted, by "
        f"Entropy Weighted Power k-means on {family} with the penalty λ = "
        f"{show._number(results.lam)}, {how}."
    )


def _facts(results: EWPResults) -> dict[str, str]:
    share = results.betweenss / results.totss if results.totss > 0 else np.nan
    return {
        "rows": f"{results.n_obs:,}",
        "features": f"{results.n_features:,}",
        "clusters": str(results.n_clusters),
        "effective features": show._number(results.effective_features, 3),
        "of the weighted variance lies between clusters": show._percent(share),
        "iterations" if results.converged else "iterations, not converged": str(results.n_iter),
    }


def _spread(results: EWPResults) -> np.ndarray | None:
    if results.spread is None and results.scaling == "standard":
        return results.scale
    return results.spread


def _deviations(results: EWPResults) -> np.ndarray:
    """Differences of the cluster means from the overall means, in standard deviations."""
    theta = results.centroids.to_numpy(dtype=float) - results.center
    spread = _spread(results)
    divisor = np.ones_like(results.center) if spread is None else np.where(spread > 0, spread, 1.0)
    return theta / divisor


def _clusters(results: EWPResults) -> list[dict[str, Any]]:
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
                "size": f"{results.clusters['size'].iloc[j]:,}",
                "share": show._percent(mass[j] / mass.sum()),
                "width": round(100 * mass[j] / mass.max(), 1),
                "apart": [
                    {
                        "feature": one_line(results.feature_names[i]),
                        "sd": f"{deviation[j, i]:+.1f}".replace("-", "−"),
                        "mean": show._number(theta[j, i], 3),
                        "overall": show._number(results.center[i], 3),
                        "high": bool(deviation[j, i] > 0),
                    }
                    for i in order
                    if contribution[j, i] > 0
                ],
            }
        )
    return rows


def _means(results: EWPResults, order: np.ndarray) -> dict[str, Any] | None:
    """Cluster means of the heaviest features, where there is room for them."""
    if results.n_clusters > _MOST_COLUMNS:
        return None
    theta = results.centroids.to_numpy(dtype=float)
    rows = []
    for i in order:
        cells = show._column([results.center[i], *theta[:, i]])
        rows.append({"name": one_line(results.feature_names[i]), "cells": cells})
    return {"clusters": [str(name) for name in results.centroids.index], "rows": rows}


def _trace(results: EWPResults) -> Markup:
    words = "The objective along the iterations and the exponent below it."
    return draw(results.plot_trace, "trace", words, (4.2, 3.9))


def _picture(results: EWPResults) -> Markup | None:
    """The rows in the plane, where they are at hand."""
    if not isinstance(results.data, pd.DataFrame | np.ndarray | FileRows):
        return None
    words = "Rows and centroids in the plane, by cluster."
    return draw(results.plot_clusters, "clusters", words)


def _start(results: EWPResults) -> str:
    """Where the annealing starts, and where that lies."""
    s0, critical = results.s0, results.critical_exponent
    if np.isinf(s0):
        return "There was no annealing: the fit started at the limit problem."
    text = f"The exponent starts at {show._number(s0)} and falls to minus infinity."
    if results.n_clusters > 1 and np.isfinite(critical):
        below = s0 <= critical + 1e-6 * abs(critical)
        text += (
            " All centroids are drawn into one point while the exponent is above the critical one, "
            f"{show._number(critical, 3)}; the start lies {'below' if below else 'ABOVE'} it."
        )
    return text.replace(" -", " −")


def _notes(results: EWPResults) -> list[str]:
    """The notes of the summary that the page does not have elsewhere."""
    told = ("...", "NOT CONVERGED", "lambda =")
    return [note for note in show._notes(results, TOP) if not note.startswith(told)]


def _selection(results: EWPResults) -> dict[str, Any] | None:
    """The curve of the criterion against the penalty, with the choice."""
    record = results.options.get("selection")
    if record is None:
        return None
    found: dict[str, Any] = {"reason": reason(record).replace("lambda", "λ")}
    curve = pd.DataFrame(record.get("curve", []))
    if len(curve) and curve["replicates"].max() > 0:
        from ewp.selection_plots import plot_lambda

        table = curve.rename(columns={"score": "mean"})
        table["lam_per_row"] = table["lam"] / record["total"]
        chosen = record["chosen"]
        picture: Callable[[], Axes] = partial(
            plot_lambda,
            table,
            (chosen["scaling"], chosen["dispersion"], chosen["lam"]),
            record["unit"],
        )
        found["figure"] = draw(
            picture, "lambda", "The criterion against the penalty, with the choice marked."
        )
    return found


def _diagnostics(results: EWPResults) -> list[dict[str, Any]]:
    """What was asked after the fit, each with its tables and, where there is one, its picture."""
    found = []
    for name in RECORDS:
        record = getattr(results, name)
        if record is None:
            continue
        key = name.strip("_").replace("_", "-")
        try:
            figure = draw(record.plot, key, _TITLES[name], (5.2, 4.2))
        except ValueError:  # so a record says that it has nothing to draw
            figure = None
        tables = Markup(record._repr_html_())
        found.append({"title": _TITLES[name], "tables": tables, "figure": figure})
    return found


def _call(results: EWPResults) -> str:
    """The call that gives these results again; what is too long to print goes by its name."""
    options = results.options
    arguments: dict[str, str] = {
        "lam": repr(results.lam),
        "scale": repr("standard" if results.scaling == "standard" else None),
        "dispersion": repr(results.dispersion),
    }
    defaults = {"s0": "auto", "init": "k-means++", "n_init": 1, "polish": True}
    for key, default in (defaults | {"max_iter": 500, "tol": 1e-8}).items():
        value = options.get(key, default)
        if value != default:
            arguments[key] = "init" if value == "array" else repr(value)
    if results.eta != 1.05:
        arguments["eta"] = repr(results.eta)
    spread = _spread(results)
    varying = np.ones(results.n_features, bool) if spread is None else spread > 0
    if varying.any() and np.ptp(results.prior[varying]) > 1e-12:
        arguments["prior"] = "prior"
    if show._is_weighted(results):
        arguments["sample_weight"] = "sample_weight"
    if options.get("random_state") is not None:
        arguments["random_state"] = repr(options["random_state"])
    listed = ", ".join(f"{key}={value}" for key, value in arguments.items())
    return f"ewp.fit(X, {results.n_clusters}, {listed})"
