"""A fair comparison of clustering methods: `compare`, and the trials it consists of.

In every trial all methods start from the same centroids on the same data. What a method has to
choose beyond that, it chooses by its own rule (`ewp.comparison.methods`), once, and never with the
classes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ewp.common.calls import chain_call, same_as, write_call
from ewp.common.checks import check_choice, check_integer, check_number
from ewp.common.parallel import one_blas_thread
from ewp.common.types import Array
from ewp.comparison.methods import Problem, name_methods, naming, tune_methods
from ewp.comparison.results import MEASURES, Comparison
from ewp.comparison.several import SeveralComparisons
from ewp.comparison.trials import (
    draw_resamples,
    draw_starts,
    run_trials,
    tabulate_scores,
    tabulate_weights,
)
from ewp.data.arguments import generator, stated_seed
from ewp.data.decorrelation import Decorrelation, given_shrinkage, is_decorrelated
from ewp.data.frames import as_table, column_names, row_and_column_names
from ewp.data.sources import ArraySource
from ewp.data.sparse import is_sparse
from ewp.data.validation import check_data, check_distinct
from ewp.fitting import warn_of_outliers, warn_of_scales
from ewp.peers.sparse_kmeans import check_bound
from ewp.select import select_lambda
from ewp.solver.options import check_scale

__all__ = ["compare"]


def compare(
    X: Any,
    k: Any,
    y: Any = None,
    methods: Sequence[Any] = ("kmeans", "wkmeans", "power", "sparse", "ewp"),
    n_trials: int = 20,
    scale: str | None = "auto",
    init: Any = "random",
    lam: float | str = "auto",
    wbound: float | str = "gap",
    beta: float = 8.0,
    reference: str | None = None,
    replicates: str = "starts",
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Any:
    """Compare clustering methods from the same starting centroids.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, p), or mapping
        The data; or several data sets by name, each X or a pair (X, y). Those are compared one
        by one, and the test is over data sets.
    k : int or mapping
        Number of clusters, of several data sets perhaps by their names.
    y : array-like of shape (n,), optional
        Known classes. They are used to score the partitions and for nothing else; without them
        the partitions are scored by internal measures.
    methods : sequence
        Names: "kmeans", "wkmeans", "power" (from the critical exponent), "power-published" (from
        -1), "harmonic", "sparse", "sparse-annealed", "ewp" (the defaults of this package),
        "ewp-between", "ewp-published" (the paper's Algorithm 1, from the exponent -1, without
        polish), "mixture" and "agglomerative" (scikit-learn's GaussianMixture, with full
        covariances, and AgglomerativeClustering, with Ward's linkage), and "sparcl" (the R package
        itself, through `r_bridge`). Also estimators with the option `n_clusters` or `n_components`
        (scikit-learn's among them; those with `init` or `means_init` begin at the common start),
        objects with a `name` and ``fit(X, k, start, rng)`` that returns labels and weights or None,
        and functions with these arguments.
    n_trials : int, default=20
        Number of starts, or of resamples; with several data sets of each.
    scale : {"auto", "standard", "decorrelate", None}, default="auto"
        "standard" divides every column by its standard deviation for all methods, "decorrelate"
        makes the columns uncorrelated for all of them, as in `ewp.EWP`, None leaves the data as
        they are. "auto" lets the selection of EWP's penalty decide, for all methods alike; with a
        number for `lam` it is None.
    init : {"random", "k-means++"} or array of shape (n_trials, k, p), default="random"
        Starting centroids of the trials; "random" draws k distinct rows, as in the paper.
    lam : float or "auto", default="auto"
        Penalty of EWP. "auto" chooses it for each variant as `ewp.select_lambda` does.
    wbound : float or "gap", default="gap"
        Bound of sparse k-means. "gap" chooses it by its permutation gap, `ewp.peers.sparse_gap`.
    beta : float, default=8.0
        Exponent of WK-means, for which there is no published rule.
    reference : str, optional
        The method that the others are tested against; by default "ewp" or, without it, the first
        of its variants.
    replicates : {"starts", "bootstrap"}, default="starts"
        What the trials are. "starts": starts on the same rows; the test then says whether another
        start could turn the order on these data, and nothing of other data. "bootstrap": resamples
        of the rows, each with a start of its own; tuning parameters are chosen once, on all rows.
    random_state : int, Generator, RandomState or None, default=None
        Seed. The result does not depend on `n_jobs`, and that of a method not on the others.
    n_jobs : int or None, default=None
        Number of processes among which trials (and the fits of a selection) are shared.
    progress : bool or None, default=None
        Show progress bars on stderr. None shows them in a terminal or a notebook, for what takes
        more than some seconds.

    Returns
    -------
    Comparison or SeveralComparisons
        Scores of all trials, a table with Wilcoxon's signed-rank test, weights, pictures; for
        several data sets their mean scores with the test over data sets, and the comparison of
        each. An interruption from the keyboard returns what was finished.

    Examples
    --------
    >>> import ewp
    >>> from ewp.datasets import make_simulation2
    >>> X, y, relevant = make_simulation2(k=4, n=200, p=10, random_state=0)
    >>> found = ewp.compare(X, 4, y, ("kmeans", "ewp"), n_trials=6, lam=10.0, random_state=0)
    >>> found.table()["nmi_mark"].tolist()
    ['+', '']
    >>> bool(found.table().loc["ewp", "nmi"] > 0.99)
    True
    """
    asked = dict(locals())
    if isinstance(X, Mapping):
        return _compare_several(asked)
    X = as_table(X)
    array = np.asarray(_whole(X), dtype=np.float64)
    k = check_integer("k", k, least=1)
    n_trials = check_integer("n_trials", n_trials, least=1)
    check_scale(scale)
    check_choice("replicates", replicates, ("starts", "bootstrap"))
    check_number("beta", beta, above=1)
    if not isinstance(lam, str):
        check_number("lam", lam, above=0)
    if isinstance(wbound, str):
        check_choice("wbound", wbound, ("gap",))
    else:
        check_bound(wbound)
    given = _given_starts(init, (n_trials, k, array.shape[1]))
    check_distinct(array, k)
    warn_of_outliers(ArraySource(array if is_sparse(X) else X, None))
    named = name_methods(methods)
    called = _reference(reference, list(named))
    classes = _classes(y, len(array))
    stated = stated_seed(random_state)
    rng = generator(stated)
    seed, first = (int(value) for value in rng.integers(2**31, size=2))
    selection = None
    rows, columns = row_and_column_names(X, len(array), column_names(X), array.shape[1])
    if scale == "auto" and not isinstance(lam, str):
        warn_of_scales(array.var(axis=0), columns, np.ptp(array, axis=0) > 0, stacklevel=2)
    if lam == "auto" and (scale == "auto" or is_decorrelated(scale)):
        with naming("ewp" if "ewp" in named else "scaling"):
            selection = select_lambda(
                array, k, scale=scale, random_state=seed, n_jobs=n_jobs, progress=progress
            )
        scale = None if selection.scaling == "none" else selection.scaling
    scaled = _Scaled.of(array, None if scale == "auto" else scale)
    array = scaled.rows
    problem = Problem(
        array,
        k,
        lam,
        wbound,
        beta,
        seed,
        n_jobs,
        progress,
        standardised=scaled.scaling != "none",
        selection=selection,
    )
    made = tune_methods(named, problem)
    resamples = None
    if replicates == "bootstrap":
        resamples = draw_resamples(array, k, n_trials, first)
    if given is None:
        starts = draw_starts(array, k, init, resamples, n_trials, first)
    else:
        starts = np.array([scaled.to_columns(theta) for theta in given])
    measures = [m.name for m in MEASURES.values() if m.labelled == (classes is not None)]
    trials, complete = run_trials(
        array,
        k,
        classes,
        made,
        starts,
        measures,
        first,
        resamples=resamples,
        n_jobs=n_jobs,
        progress=progress,
    )
    return Comparison(
        scores=tabulate_scores(made, trials),
        weights=tabulate_weights(made, trials, columns),
        labels={
            method.name: pd.DataFrame(
                [outcomes[i].labels for outcomes in trials], columns=rows
            ).rename_axis("trial")
            for i, method in enumerate(made)
        },
        settings={method.name: dict(getattr(method, "settings", {})) for method in made},
        measures=measures,
        reference=called,
        k=k,
        scaling=scaled.scaling,
        init=init if given is None else "given",
        starts=np.array([scaled.to_data_units(theta) for theta in starts[: len(trials)]]),
        complete=complete,
        data=array,
        classes=classes,
        replicates=replicates,
        seed=stated,
        call=_call(asked, stated),
    )


class _Scaled(NamedTuple):
    """Rows as they are compared, and how centroids go there and back."""

    rows: Array
    scaling: str
    to_columns: Callable[[Array], Array]
    to_data_units: Callable[[Array], Array]

    @classmethod
    def of(cls, X: Array, scale: str | None) -> _Scaled:
        if is_decorrelated(scale):
            assert scale is not None
            with one_blas_thread():
                made = Decorrelation.estimate(X, None, given_shrinkage(scale))
                return cls(made.apply(X), scale, made.apply, made.invert)
        center, spread = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if scale == "standard":
            center, deviation = X.mean(axis=0), X.std(axis=0)
            spread = np.where(deviation > 0, deviation, 1.0)
        return cls(
            (X - center) / spread,
            scale or "none",
            lambda theta: (theta - center) / spread,
            lambda theta: theta * spread + center,
        )


def _compare_several(asked: dict[str, Any]) -> SeveralComparisons:
    """Compare methods on one data set after the other."""
    datasets, k, stated = asked["X"], asked["k"], stated_seed(asked["random_state"])
    if not datasets:
        raise ValueError("X is empty: give data sets by name, such as {'iris': (X, y)}")
    if asked["y"] is not None:
        raise ValueError("y belongs to one data set: give every data set as a pair (X, y)")
    if not isinstance(asked["init"], str):
        raise ValueError("init has centroids of one data set: give 'random' or 'k-means++'")
    pairs = {name: one if _is_pair(one) else (one, None) for name, one in datasets.items()}
    unlabelled = [name for name, (_, y) in pairs.items() if y is None]
    if 0 < len(unlabelled) < len(pairs):
        raise ValueError(
            f"data set {unlabelled[0]!r} has no classes, but others do: all are scored alike; give "
            "(X, y) for all, or for none"
        )
    numbers = k if isinstance(k, Mapping) else dict.fromkeys(pairs, k)
    if missing := [name for name in pairs if name not in numbers]:
        raise ValueError(f"k has no number of clusters for the data set {missing[0]!r}")
    call = _call(asked, stated)
    options = {name: asked[name] for name in asked if name not in ("X", "k", "y", "random_state")}
    found: dict[str, Comparison] = {}
    for place, (name, (X, y)) in enumerate(pairs.items()):
        seed = int(np.random.SeedSequence([stated, place]).generate_state(1)[0])
        one: Comparison = compare(X, numbers[name], y, random_state=seed, **options)
        if not one.complete and found:
            break
        one.call = chain_call(call, f".comparisons[{name!r}]")
        found[name] = one
        if not one.complete:
            break
    complete = len(found) == len(pairs) and all(one.complete for one in found.values())
    return SeveralComparisons(found, stated, complete, call)


def _is_pair(one: Any) -> bool:
    """Whether a data set comes with its classes."""
    return isinstance(one, tuple) and len(one) == 2


def _call(asked: dict[str, Any], seed: int) -> str:
    """Write the call of a comparison."""
    options = {
        name: asked[name]
        for name, one in inspect.signature(compare).parameters.items()
        if one.default is not one.empty
        and name not in ("n_jobs", "progress", "random_state")
        and not same_as(asked[name], one.default)
    }
    options["random_state"] = seed
    return write_call("ewp.compare", ["X", asked["k"]], options, named=["y"])


def _whole(X: Any) -> Array:
    """Checked rows, of which nothing is missing: all methods get the same, and most need it all."""
    array = check_data(X, missing="observed", sparse="dense")
    count = int(np.isnan(array).sum())
    if count:
        values = "1 missing value" if count == 1 else f"{count} missing values"
        raise ValueError(
            f"X has {values}, and most methods need all values of a row: impute them, so that all "
            "methods get the same table, or drop the rows that have some"
        )
    return array


def _classes(y: Any, n: int) -> np.ndarray | None:
    if y is None:
        return None
    classes = np.asarray(y)
    if classes.ndim == 2 and classes.shape[1] == 1:
        classes = classes[:, 0]
    if classes.shape != (n,):
        raise ValueError(f"y has shape {classes.shape}, but X has {n} rows")
    if pd.isna(classes).any():
        where = int(np.flatnonzero(pd.isna(classes))[0])
        raise ValueError(f"y has a missing value in row {where}; drop the rows without a class")
    codes: np.ndarray = np.unique(classes.astype(str), return_inverse=True)[1]
    return codes


def _reference(reference: str | None, called: list[str]) -> str | None:
    if reference is not None:
        check_choice("reference", reference, tuple(called))
        return reference
    variants = [name for name in called if name.startswith("ewp")]
    return "ewp" if "ewp" in called else variants[0] if variants else None


def _given_starts(init: Any, wanted: tuple[int, int, int]) -> Array | None:
    """Check the option `init`; return the user's starting centroids, None if they are drawn."""
    if isinstance(init, str):
        check_choice("init", init, ("random", "k-means++"))
        return None
    given = np.asarray(init, dtype=np.float64)
    if given.shape != wanted:
        raise ValueError(f"init has shape {given.shape}, but n_trials, k, p are {wanted}")
    if not np.isfinite(given).all():
        raise ValueError("init contains NaN or infinity; centroids must be finite")
    return given
