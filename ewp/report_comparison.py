"""What a page says of a comparison: the table, settings, weights and partitions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ewp._comparison_text import summarise
from ewp.report_facts import data_hash
from ewp.report_figures import draw

if TYPE_CHECKING:
    from ewp.comparison_results import Comparison

__all__ = ["describe_comparison"]

_TOP = 15


def describe_comparison(found: Comparison) -> dict[str, Any]:
    """Collect what the page of a comparison shows.

    Parameters
    ----------
    found : Comparison

    Returns
    -------
    dict
        Variables of the template ``comparison.html``.
    """
    summary = summarise(found)
    table = summary.tables[0]
    return {
        "kind": "comparison",
        "title": "Comparison of clustering methods",
        "sentence": _sentence(found),
        "measures": list(table.columns),
        "methods": [
            {"name": str(name), "cells": list(row), "reference": name == found.reference}
            for name, row in zip(table.index, table.to_numpy(), strict=True)
        ],
        "notes": list(summary.extra_txt),
        "weights": _weights(found),
        "partitions": draw(
            found.plot_clusters,
            "partitions",
            "The partitions of the first trial in a t-SNE embedding, one panel a method.",
            size=None,
        ),
        "classes": found.classes is not None,
        "k": found.k,
        "names": repr(tuple(found.methods)),
        "scale": repr("standard" if found.scaling == "standard" else None),
        "seed": found.seed,
        "options": {
            "n_trials": found.n_trials,
            "scaling": found.scaling,
            "init": found.init,
            "random_state": found.seed,
        },
        "hash": data_hash(found.data),
        "hash_of": "the features as they were compared"
        + (", standardised" if found.scaling == "standard" else "")
        + ", as 64-bit floats row by row",
    }


def _sentence(found: Comparison) -> str:
    n, p = found.data.shape
    features = "standardised" if found.scaling == "standard" else "raw"
    scored = "against known classes" if found.classes is not None else "by internal measures"
    trials = f"{found.n_trials} starts" if found.n_trials > 1 else "one start"
    return (
        f"{len(found.methods)} methods put {n} rows with {p} {features} features into {found.k} "
        f"clusters, each from the same {trials}, and were scored {scored}."
    )


def _weights(found: Comparison) -> list[str]:
    names = dict.fromkeys(found.weights.index.get_level_values("method"))
    rows = min(_TOP, found.weights.shape[1])
    return [
        draw(
            partial(found.plot_weights, [name], top=_TOP),
            f"weights-{i}",
            f"Boxplots of the weights of {name} over the trials.",
            (4.2, 1.3 + 0.2 * rows),
        )
        for i, name in enumerate(names)
    ]
