"""Uncertainty of weights and centroids: the bootstrap of a fit.

Rows are drawn with replacement and the model is fitted again from the full fit's estimates, with
clusters matched to the full fit's; what follows from the estimates is in ``ewp.bootstrap_results``.
Everything is conditional on the number of clusters, the penalty, the scaling and the form of the
weights: choosing them anew in each resample is not part of it.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ewp.bootstrap_results import BootstrapResults
from ewp.checks import check_integer, check_number
from ewp.inputs import generator
from ewp.refitting import refit, source_of
from ewp.resampling import Resampler, run

if TYPE_CHECKING:
    from ewp.results import EWPResults

__all__ = ["bootstrap"]


def bootstrap(
    results: EWPResults,
    n_boot: int = 200,
    *,
    n_jackknife: int = 50,
    threshold: float | None = None,
    X: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> BootstrapResults:
    """Fit resamples of the rows; see :meth:`ewp.EWPResults.bootstrap` for the arguments."""
    check_integer("n_boot", n_boot, least=2)
    check_integer("n_jackknife", n_jackknife, least=0)
    source = source_of(results, X, sample_weight)
    included = int(np.count_nonzero(results.prior > 0))
    limit = 1.0 / included if threshold is None else check_number("threshold", threshold, below=1)
    if limit < 0:
        raise ValueError(f"threshold={threshold!r} must be a weight: 0 or more, and below 1")
    resampler = Resampler.of(source)
    grouping, *rngs = generator(random_state).spawn(1 + n_boot)
    groups = min(n_jackknife, len(resampler.rows))
    parts = resampler.leave_out(groups, grouping) if groups > 1 else []
    drawn = ((source, *resampler.draw(rng), rng) for rng in rngs)
    seeds = grouping.spawn(len(parts))
    left_out = ((source, *part, rng) for part, rng in zip(parts, seeds, strict=True))
    fits, complete = run(
        refit,
        chain(drawn, left_out),
        total=n_boot + len(parts),
        what="resamples",
        n_jobs=n_jobs,
        progress=progress,
    )
    found, jackknife = fits[:n_boot], fits[n_boot:] if complete else []
    k, p = source.centroids.shape

    def shifts(fits: list[Any]) -> np.ndarray:
        moved = [(fit.centroids - source.centroids).astype(np.float32) for fit in fits]
        return np.array(moved, dtype=np.float32).reshape(-1, k, p)

    return BootstrapResults(
        weights=results.weights,
        centroids=results.centroids,
        weight_draws=np.array([fit.weights for fit in found]),
        centroid_shifts=shifts(found),
        weight_jackknife=np.array([fit.weights for fit in jackknife]).reshape(-1, p),
        centroid_jackknife=shifts(jackknife),
        threshold=limit,
        converged=float(np.mean([fit.converged for fit in found])),
        complete=complete,
    )
