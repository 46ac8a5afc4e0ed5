"""Consistency on one's own data: how estimates settle as rows are added, and along s.

The paper's theorem says that centroids and weights converge to the population's as n grows and s
falls. :func:`consistency` fits nested random subsamples of growing size, with the penalty in
proportion, and measures how far they are from the full fit or from a population that is known. The
errors of a consistent estimator fall like :math:`n^{-1/2}`; slopes and their intervals, words and
pictures are in ``ewp.diagnostics.convergence``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import entr
from sklearn.metrics import adjusted_rand_score

from ewp.common.checks import check_integer, check_number, shown
from ewp.common.parallel import run_replicates
from ewp.common.types import Array, FittedResults
from ewp.data.arguments import check_prior, generator
from ewp.data.canonical import distinct_groups
from ewp.data.frames import align_to_columns
from ewp.data.splits import draw_with_k_distinct
from ewp.diagnostics.convergence import ERRORS, ConsistencyResults, along_s, convergence_rate
from ewp.diagnostics.refit import FittedData, check_common_weights, fit_rows, fitted_data
from ewp.metrics import centroid_order

__all__ = ["ConsistencyResults", "consistency"]

#: Default sizes: how many at most, and by which factors they grow.
_MOST_SIZES = 6
_SMALLEST_STEP, _LARGEST_STEP = 1.4, 2.0
#: Rows a cluster in the smallest subsample, and where there are few rows.
_ROWS_A_CLUSTER = (4, 2)


def _replicate(
    source: FittedData,
    theta: Array,
    weights: Array,
    sizes: list[int],
    order: np.ndarray,
    rng: np.random.Generator,
) -> list[list[dict[str, Any]]]:
    """Fit nested subsamples of one random order of the rows and measure their errors."""
    metric = weights / source.scale**2
    measured = []
    for n, seed in zip(sizes, rng.spawn(len(sizes)), strict=True):
        rows = order[:n]
        found = fit_rows(source, rows, source.options, seed)
        gap = found.centroids[centroid_order(found.centroids, theta, metric)] - theta
        features = [np.exp(entr(w).sum()) for w in (found.weights, weights)]
        measured.append(
            {
                "n": n,
                "weights": float(np.abs(found.weights - weights).sum()),
                "effective_features": abs(float(features[0] - features[1])),
                "centroids": float(np.sqrt((gap**2 @ metric).mean())),
                "objective_per_row": found.solution.objective / found.total,
                "ari": float(adjusted_rand_score(source.labels[rows], found.labels)),
                "converged": found.solution.converged,
            }
        )
    return [measured]


def consistency(
    results: FittedResults,
    /,
    sizes: Sequence[int] | None = None,
    n_rep: int = 20,
    *,
    reference: Any = None,
    level: float = 0.95,
    X: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> ConsistencyResults:
    r"""See whether the estimates settle as rows are added.

    Nested random subsamples of growing size are fitted from scratch, with the options of this
    fit and the penalty in proportion to the rows. Their clusters are matched to the
    reference's by the Hungarian method. Errors of a consistent estimator fall like
    :math:`n^{-1/2}`, a slope of -1/2 on a log-log scale.

    Parameters
    ----------
    results : EWPResults
        The fit, where this is not called as a method of it.
    sizes : sequence of int, optional
        Numbers of rows. By default three to six that grow by equal factors, at most 2, up to
        half of the rows (up to all of them with a `reference`).
    n_rep : int, default 20
        Number of random orders of the rows, each of which gives one subsample of every size.
    reference : EWPResults or pair (centroids, weights), optional
        The population: true centroids, or those of a very large sample, of shape (k, p) in
        data units, and weights of shape (p,). By default the reference is this fit; slopes
        are then in ``1/(1/n - 1/N)``, which allows for the rows that a subsample shares with
        the N of the fit.
    level : float, default 0.95
        Of the intervals of the slopes.
    X, sample_weight : array-like, optional
        The data that were fitted, for results that do not hold them any more.
    random_state : int, Generator, RandomState or None
        Seed; the outcome does not depend on `n_jobs`.
    n_jobs : int, optional
        Number of processes, as in joblib.
    progress : bool or None, default None
        Show a progress bar; None shows it in a terminal or a notebook, after some
        seconds. An interruption keeps the replicates that are finished.

    Returns
    -------
    ConsistencyResults
        With ``summary()``, ``plot()`` and ``plot_along_s()``; kept as ``consistency_``.

    Examples
    --------
    >>> import ewp
    >>> from ewp.datasets import make_simulation2
    >>> X = make_simulation2(3, n=2000, p=6, random_state=0).X
    >>> results = ewp.fit(X, 3, lam=0.05 * len(X), scale=None, random_state=0)
    >>> found = results.consistency([30, 60, 120, 240, 480, 960], random_state=0)
    >>> found.verdict
    'seen'
    >>> bool(found.slopes.loc["centroids", "upper"] < -0.25)
    True
    """
    check_integer("n_rep", n_rep, least=1)
    check_number("level", level, above=0, below=1)
    check_common_weights(results, "consistency")
    source = fitted_data(results, X, sample_weight, squared="consistency")
    population = reference is not None
    theta, weights = source.centroids, source.weights
    if population:
        named = results.named_features
        theta, weights = choose_reference(
            reference, source, results.feature_names if named else None
        )
        theta = source.to_columns(theta)
    n_obs = len(source.used)
    chosen = choose_sizes(sizes, n_obs, results.n_clusters, population)
    group, _ = distinct_groups(source.X, source.weight)

    def order(rng: np.random.Generator) -> np.ndarray:
        return draw_with_k_distinct(
            lambda rng: rng.permutation(source.used), group, results.n_clusters, rng, chosen[0]
        )

    rngs = generator(random_state).spawn(n_rep)
    done, complete = run_replicates(
        _replicate,
        ((source, theta, weights, chosen, order(rng), rng) for rng in rngs),
        total=n_rep,
        what="replicates",
        n_jobs=n_jobs,
        progress=progress,
    )
    replicates = pd.DataFrame([row for measured in done for row in measured])
    replicates.insert(0, "replicate", np.repeat(np.arange(len(done)), len(chosen)))
    slopes = {}
    for name in ERRORS:
        errors = replicates[name].to_numpy(dtype=float).reshape(len(done), len(chosen))
        slopes[name] = convergence_rate(chosen, errors, n_obs, population=population, level=level)
    return ConsistencyResults(
        replicates=replicates,
        slopes=pd.DataFrame(slopes, index=["slope", "lower", "upper", "se"]).T,
        along_s=along_s(results),
        reference="population" if population else "full fit",
        n_obs=n_obs,
        level=level,
        complete=complete,
    )


def choose_sizes(sizes: Sequence[int] | None, n: int, k: int, population: bool) -> list[int]:
    """Check the user's sizes, or choose some that grow by equal factors."""
    largest = n if population else n - 1
    if sizes is None:
        high = n if population else max(n // 2, 1)
        for rows_a_cluster in _ROWS_A_CLUSTER:
            low = rows_a_cluster * max(k, 4)
            span = np.log(high / low)
            count = min(int(span / np.log(_SMALLEST_STEP)), _MOST_SIZES - 1)
            if count >= 2:
                break
        else:
            raise ValueError(
                f"{n} rows are too few for subsamples of three sizes with {k} clusters; "
                "give sizes of your own"
            )
        step = min(span / count, np.log(_LARGEST_STEP))
        return [round(high * float(np.exp(-i * step))) for i in range(count, -1, -1)]
    if isinstance(sizes, str) or not np.iterable(sizes):
        raise ValueError(f"sizes={shown(sizes)} must be numbers of rows, such as [100, 200, 400]")
    chosen = sorted({check_integer("sizes", size, least=k) for size in sizes})
    if len(chosen) < 2 or chosen[-1] > largest:
        what = f"at most {n}" if population else f"less than the {n} of the full fit"
        raise ValueError(f"sizes={chosen} must be two or more numbers of rows, {what}")
    return chosen


def choose_reference(
    reference: Any, source: FittedData, columns: pd.Index | None
) -> tuple[Array, Array]:
    """Centroids and weights of a population, features matched by name where there are names."""
    if hasattr(reference, "centroids") and hasattr(reference, "weights"):
        pair = [reference.centroids, reference.weights]
        if not reference.named_features:
            pair = [part.to_numpy() for part in pair]
    elif isinstance(reference, tuple | list) and len(reference) == 2:
        pair = list(reference)
    else:
        raise ValueError(
            f"the reference is a {type(reference).__name__}; give the results of another fit, or "
            "a pair (centroids, weights)"
        )
    theta, weights = (
        np.asarray(align_to_columns(name, part, columns), dtype=float)
        for name, part in zip(("reference centroids", "reference weights"), pair, strict=True)
    )
    if theta.shape != source.centroids.shape or weights.shape != source.weights.shape:
        raise ValueError(
            f"the reference has centroids of shape {theta.shape} and weights of shape "
            f"{weights.shape}, the fit {source.centroids.shape} and {source.weights.shape}"
        )
    if not np.isfinite(theta).all():
        raise ValueError("the centroids of the reference must be finite")
    share = check_prior(weights, len(weights), "the reference's weights")
    assert share is not None
    return theta, share / share.sum()
