"""Resamples of the rows, fitted again: the bootstrap of a fit.

Rows are drawn with replacement and the model is fitted again. By default solutions that were found
from scratch compete in every resample, so that intervals know of solutions other than the fit's.
Everything is conditional on the number of clusters, the penalty, the scaling and the form of the
weights: choosing them anew in each resample is not part of it.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from ewp.common.checks import check_choice, check_integer, check_number
from ewp.common.parallel import run_replicates
from ewp.common.types import FittedResults
from ewp.data.splits import Resampler
from ewp.data.validation import generator
from ewp.diagnostics.bootstrap import BootstrapResults
from ewp.diagnostics.intervals import warn_of_few
from ewp.diagnostics.refit import (
    Refit,
    Resample,
    check_common_weights,
    distinct_solutions,
    estimates,
    fit_from_scratch,
    fitted_data,
    in_batches,
    refit,
    seed_of,
)

__all__ = ["bootstrap"]

#: Resamples that are fitted from scratch; what is found in them is tried in all.
_SCRATCH = 20


def bootstrap(
    results: FittedResults,
    /,
    n_boot: int = 200,
    *,
    start: str = "scratch",
    n_jackknife: int = 50,
    threshold: float | None = None,
    X: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> BootstrapResults:
    """Put intervals on weights and centroids by resampling the rows.

    By default solutions that this fit did not find may be found in a resample: twenty resamples
    are fitted from scratch, with starts of their own, and in every resample the limit problem is
    iterated from the most promising of all that was found, this fit included; the lowest
    objective wins. Clusters are matched to this fit's by the rows that they share, and how often
    a cluster is another one is told beside the intervals. Afterwards ``summary()`` and
    ``plot_weights()`` of this object show the intervals. Everything is conditional on the number
    of clusters, the penalty, the scaling and the form of the weights.

    Parameters
    ----------
    results : EWPResults
        The fit, where this is not called as a method of it.
    n_boot : int, default 200
        Number of resamples. 95 % intervals need at least 39, and are rough below 160.
    start : {"scratch", "estimates"}, default "scratch"
        "estimates" begins from this fit alone: intervals are then about the solution near it,
        and too narrow where there are others that are about as good.
    n_jackknife : int, default 50
        Number of parts of the rows that are left out in turn for the acceleration of BCa
        intervals, always fitted from the estimates; 0 leaves percentile intervals only.
    threshold : float, optional
        A feature with more weight than this counts as selected. By default an equal share,
        one over the number of features.
    X, sample_weight : array-like, optional
        The data that were fitted, for results that do not hold them any more. Whole numbers
        as weights are repetitions and resampled as such, other weights stay with their rows.
    random_state, n_jobs, progress
        As in `consistency`.

    Returns
    -------
    BootstrapResults
        With ``weight_intervals()``, ``centroid_intervals()``, ``log_ratios()``, ``clusters``,
        ``selection_frequency``, ``rank_switches()``, ``summary()`` and ``plot()``; kept as
        ``bootstrap_``.

    Examples
    --------
    >>> import ewp
    >>> from ewp.datasets import make_simulation2
    >>> X = make_simulation2(3, n=300, p=6, n_relevant=2, random_state=0).X
    >>> results = ewp.fit(X, 3, lam=0.05 * len(X), random_state=0)
    >>> found = results.bootstrap(100, random_state=0)
    >>> found.selection_frequency.tolist()
    [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    >>> table = found.weight_intervals()
    >>> bool((table["lower"] <= table["weight"]).all() and (table["upper"] < 1).all())
    True
    >>> found.clusters["dissolved"].tolist()
    [0, 0, 0]
    """
    check_choice("start", start, ("scratch", "estimates"))
    check_integer("n_boot", n_boot, least=2)
    check_integer("n_jackknife", n_jackknife, least=0)
    check_common_weights(results, "bootstrap")
    source = fitted_data(results, X, sample_weight)
    included = int(np.count_nonzero(results.prior > 0))
    limit = 1.0 / included if threshold is None else check_number("threshold", threshold, below=1)
    if limit < 0:
        raise ValueError(f"threshold={threshold!r} must be a weight: 0 or more, and below 1")
    resampler = Resampler.of(source.X, source.weight, source.options.n_clusters)
    grouping, *rngs = generator(random_state).spawn(1 + n_boot)
    groups = min(n_jackknife, len(resampler.rows))
    parts = resampler.leave_out(groups, grouping) if groups > 1 else []
    warn_of_few(n_boot)
    first = [Resample(*resampler.draw(rng), seed_of(rng)) for rng in rngs[:_SCRATCH]]
    others = (Resample(*resampler.draw(rng), seed_of(rng)) for rng in rngs[_SCRATCH:])
    left_out = (Resample(*part, seed_of(grouping)) for part in parts)
    how: dict[str, Any] = {"what": "resamples", "n_jobs": n_jobs, "progress": progress}
    local = begin = estimates(source)
    fits: list[Refit] = []
    complete = True
    if start == "scratch":
        fits, complete = run_replicates(
            fit_from_scratch,
            ((source, batch) for batch in in_batches(source, first)),
            total=n_boot,
            **how,
        )
        begin = distinct_solutions(source, fits)
    if complete:
        fits, complete = run_replicates(
            refit,
            chain(
                ((source, begin, batch) for batch in in_batches(source, chain(first, others))),
                ((source, local, batch) for batch in in_batches(source, left_out)),
            ),
            total=n_boot + len(parts),
            **how,
        )
    found, jackknife = fits[:n_boot], fits[n_boot:] if complete else []
    k, p = source.centroids.shape
    whole = source.to_data_units(source.centroids)

    def shifts(fits: list[Refit]) -> np.ndarray:
        moved = [source.to_data_units(fit.centroids) - whole for fit in fits]
        return np.array(moved, dtype=np.float64).reshape(-1, k, p)

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
        similarity=np.array([fit.similarity for fit in found]),
        start=start,
    )
