"""From the arrays of a finished fit to the results object with the data's own names."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from ewp.choice import Choice
from ewp.fitting import Fit, Recipe
from ewp.results import EWPResults
from ewp.sources import Source

__all__ = ["assemble"]


def assemble(
    found: Fit,
    recipe: Recipe,
    source: Source,
    seed: Any,
    choice: Choice | None = None,
) -> EWPResults:
    """Dress a fit in the data's own names.

    Parameters
    ----------
    found : Fit
    recipe : Recipe
    source : Source
        The data as the user gave them, kept by reference, with their names.
    seed : object
        The user's `random_state`; noted if it is an integer.
    choice : Choice or None
        How the penalty was chosen, if it was.
    """
    rows, columns = source.names
    k = recipe.n_clusters
    clusters = pd.RangeIndex(k, name="cluster")
    trace = pd.DataFrame([dataclasses.asdict(row) for row in found.solution.trace])
    trace.insert(0, "iteration", range(len(trace)))
    options: dict[str, Any] = {
        "init": recipe.init if isinstance(recipe.init, str) else "array",
        "n_init": recipe.n_init,
        "s0": "auto" if recipe.s0 is None else recipe.s0,
        "named_features": source.columns is not None,
        "polish": recipe.polish.rounds > 0,
        "max_iter": recipe.max_iter,
        "tol": recipe.tol,
        "random_state": int(seed) if isinstance(seed, int | np.integer) else None,
    }
    if choice is not None:
        options["selection"] = choice.record()
    return EWPResults(
        weights=pd.Series(found.weights, index=columns, name="weight"),
        centroids=pd.DataFrame(found.centroids, index=clusters, columns=columns),
        labels=pd.Series(found.labels, index=rows, name="cluster", copy=False),
        objective=found.solution.objective,
        objective_trace=trace,
        lam=recipe.lam,
        s0=found.s0,
        eta=recipe.eta,
        converged=found.solution.converged,
        n_iter=found.solution.n_iter,
        clusters=pd.DataFrame(
            {
                "size": found.partition.size,
                "mass": found.partition.mass,
                "withinss": found.partition.within,
            },
            index=clusters,
        ),
        totss=float(found.squares @ found.weights),
        center=found.center,
        scale=found.scale,
        scaling="standard" if recipe.standardise else "none",
        dispersion="between" if recipe.between else "within",
        prior=found.prior,
        critical_exponent=found.critical_exponent,
        options=options,
        data=source.data,
        sample_weight=source.weight,
        spread=np.sqrt(found.squares / found.total) * found.scale,
    )
