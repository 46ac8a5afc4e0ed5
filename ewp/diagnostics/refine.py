"""Refining a fit: from its rows and partition to a mixture, and to what the user sees of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.special import entr

from ewp.common.checks import check_choice
from ewp.common.parallel import one_blas_thread
from ewp.common.types import Array, FittedResults
from ewp.data.canonical import block_rows, sample_by_hash
from ewp.diagnostics.refinement import Refinement, standardised
from ewp.diagnostics.refit import FittedData, feature_positions, fitted_data
from ewp.refinement.choice import (
    TAILS,
    Choice,
    choose_mixture,
    paired_gain,
    possible_models,
)
from ewp.refinement.coordinates import Coordinates, as_copies, prepare
from ewp.refinement.mixture import Mixture, MixtureModel
from ewp.refinement.scatter import COVARIANCES, MatrixScatter

__all__ = ["refine"]

_DEGREES = {"normal": np.inf, "t": TAILS}
#: Rows from which mixtures are estimated; more are represented by a sample.
_MOST_ROWS = 10_000
#: Numbers that scatter matrices may take.
_MOST_NUMBERS = 2**24


@one_blas_thread()
def refine(
    results: FittedResults,
    /,
    *,
    covariance: str = "auto",
    tails: str = "auto",
    proportions: str = "auto",
    features: Any = None,
    X: Any = None,
    sample_weight: Any = None,
) -> Refinement:
    """Refine the clusters by a mixture of normal or t distributions.

    EM starts from EWP's partition, on the features whose means differ significantly between its
    clusters or between those of k-means on decorrelated features. The kind of mixture is the one
    that predicts held-out rows best (five folds of the rows). Two partitions of k-means, on
    decorrelated and on standardised features, serve as further starts; what they lead to is
    taken only if it predicts clearly better, by more than two standard errors. Where EWP's
    partition predicts clearly better than what EM makes of it, it is kept. Nothing is
    random: the same data give the same answer, in any order of the rows.

    Parameters
    ----------
    results : EWPResults
        The fit, where this is not called as a method of it.
    covariance : {"auto", "spherical", "diagonal", "tied", "full"}, default "auto"
        One variance per cluster; one per cluster and feature; one matrix for all clusters; a
        matrix per cluster, shrunk to the pooled one. "auto" chooses, matrices only where there
        are more rows than features (for "full" in every cluster, on average) and at most 100
        features.
    tails : {"auto", "normal", "t"}, default "auto"
        Normal clusters, or t distributions with five degrees of freedom.
    proportions : {"auto", "free", "equal"}, default "auto"
        "auto" takes equal proportions where they predict at least as well.
    features : list of feature names, optional
        The features that take part, instead of those that matter.
    X, sample_weight : array-like, optional
        The data that were fitted, for results that do not hold them any more. Weights count as
        numbers of copies. Dask collections are read into memory.

    Returns
    -------
    Refinement
        With ``labels``, ``probabilities``, ``predict_proba()``, ``means``, ``gain``, ``moved``,
        ``summary()`` and ``plot()``; kept as ``refinement_``. The labels of the fit stay as they
        are.

    Notes
    -----
    Where the fit did without missing values (``missing="observed"``) rows count with the density of
    what is observed of them, and EM maximises the likelihood of the observed values. Correlations
    then tell what a row has not. Values must be missing at random: whether one is may depend on
    what is observed of the row.

    More than 10,000 rows are represented by a sample of them; all rows get probabilities.

    References
    ----------
    McLachlan, G. and Peel, D. (2000). *Finite Mixture Models*. Wiley.

    Ghahramani, Z. and Jordan, M. I. (1994). Supervised learning from incomplete data via an EM
    approach. *Advances in Neural Information Processing Systems* 6, 120-127.

    Liu, C. (1995). Missing data imputation using the multivariate t distribution. *Journal of
    Multivariate Analysis* 53, 139-158.

    Examples
    --------
    >>> import numpy as np, ewp
    >>> rng = np.random.default_rng(0)
    >>> small, large = rng.normal(0, 0.3, (100, 2)), rng.normal(0, 2, (100, 2)) + [5, 0]
    >>> results = ewp.fit(np.vstack([small, large]), 2, lam=100.0, random_state=0)
    >>> found = results.refine()
    >>> bool(found.clearly_better), found.cross_table.to_numpy().tolist()
    (True, [[101, 70], [0, 29]])
    """
    check_choice("covariance", covariance, ("auto", *COVARIANCES))
    check_choice("tails", tails, ("auto", *_DEGREES))
    check_choice("proportions", proportions, ("auto", "free", "equal"))
    k = results.n_clusters
    if k < 2:
        raise ValueError("there is one cluster, and nothing to refine: fit two or more")
    chosen = feature_positions(results, features)
    source = fitted_data(results, X, sample_weight, as_given=True, squared="refine")
    rows, mass, labels = _rows_to_fit(source, results)
    place = prepare(rows, mass, labels, k, chosen)
    q = place.rows.shape[1]
    degrees = list(_DEGREES.values()) if tails == "auto" else [_DEGREES[tails]]
    if covariance == "auto":
        models = possible_models(len(rows), q, k, COVARIANCES, degrees)
    else:
        matrices = {"tied": 1, "full": k}.get(covariance, 0)
        if matrices * q * q > _MOST_NUMBERS:
            raise ValueError(
                f"covariance={covariance!r} of {q} features needs {matrices * q * q:.1e} numbers; "
                "name fewer features, or give covariance='diagonal'"
            )
        models = [MixtureModel(covariance, tail) for tail in degrees]
    choice = choose_mixture(place.rows, mass, place.cell, place.starts, models, k, proportions)
    return _present(results, source, place, mass, choice)


def _rows_to_fit(source: FittedData, results: FittedResults) -> tuple[Array, Array, np.ndarray]:
    """Rows that count, as copies, with their clusters; a sample where they are many."""
    used = source.used
    if len(used) <= _MOST_ROWS:
        weight = np.ones(len(used)) if source.weight is None else source.weight[used]
        return source.X[used], as_copies(weight), source.labels[used]
    blocks = (
        (source.X[at], None if source.weight is None else source.weight[at])
        for at in _blocks(source)
    )
    sample = sample_by_hash(blocks, results.n_features, _MOST_ROWS)
    return sample.rows, as_copies(sample.mass), np.asarray(results.predict(sample.rows))


def _blocks(source: FittedData) -> Iterator[slice]:
    size = block_rows(source.X.shape[1], len(source.centroids))
    for first in range(0, len(source.X), size):
        yield slice(first, first + size)


class _Account(NamedTuple):
    """What a mixture says of rows."""

    probabilities: Array
    log_likelihood: float
    entropy: float


def _account(mixture: Mixture, rows: Array, mass: Array) -> _Account:
    density, membership, _ = mixture.expectation(rows)
    entropy = float(mass @ entr(membership).sum(axis=0))
    return _Account(membership.T, float(mass @ density), entropy)


def _of_missing(rows: Array, mass: Array, scale: Array) -> float:
    """Sum of the logs of scales over missing values, which have no density to be rescaled."""
    return float(mass @ (np.isnan(rows) @ np.log(scale)))


def _present(
    results: FittedResults, source: FittedData, place: Coordinates, mass: Array, choice: Choice
) -> Refinement:
    """Number the clusters as EWP's, and dress the mixture in the data's own names and units."""
    k, n = results.n_clusters, results.n_obs
    weight = as_copies(np.ones(n) if source.weight is None else source.weight)
    mixture = choice.chosen.mixture
    shares = np.zeros((k, k))
    probabilities = np.empty((n, k))
    log_likelihood = entropy = of_missing = 0.0
    for at in _blocks(source):
        rows = standardised(source.X[at], place.columns, place.center, place.scale)
        found = _account(mixture, rows, weight[at])
        probabilities[at] = found.probabilities
        log_likelihood += found.log_likelihood
        of_missing += _of_missing(rows, weight[at], place.scale)
        entropy += found.entropy
        np.add.at(shares, source.labels[at], weight[at][:, None] * found.probabilities)
    order = linear_sum_assignment(shares, maximize=True)[1]
    probabilities = probabilities[:, order]
    labels = probabilities.argmax(axis=1)
    model, total = mixture.model, float(weight.sum())
    q = len(place.columns)
    n_parameters = model.count_parameters(k, q)
    # densities per unit of the data
    log_likelihood -= total * float(np.log(place.scale).sum()) - of_missing
    bic = n_parameters * np.log(total) - 2.0 * log_likelihood
    index, clusters = results.labels.index, results.centroids.index
    names = results.feature_names
    scatter = mixture.scatter
    parts = scatter.matrix if isinstance(scatter, MatrixScatter) else scatter.variance
    location = mixture.means[order]
    return Refinement(
        labels=pd.Series(labels, index=index, name="cluster"),
        probabilities=pd.DataFrame(probabilities, index=index, columns=clusters),
        original=results.labels,
        proportions=pd.Series(np.exp(mixture.log_share[order]), index=clusters, name="proportion"),
        means=pd.DataFrame(
            place.center + location * place.scale, index=clusters, columns=names[place.columns]
        ),
        covariance=model.covariance,
        tails=model.tails,
        equal_proportions=model.equal,
        refined=choice.chosen.iterated,
        gain=choice.gain.mean,
        gain_se=choice.gain.se,
        moved_share=float(weight @ (labels != source.labels)) / total,
        log_likelihood=log_likelihood,
        bic=bic,
        icl=bic + 2.0 * entropy,
        n_parameters=n_parameters,
        converged=mixture.converged,
        n_iter=len(mixture.trace),
        feature_table=pd.DataFrame(
            {
                "ratio": place.ratio,
                "p_value": place.p_value,
                "used": np.isin(np.arange(len(names)), place.columns),
            },
            index=names,
        ),
        candidates=_tabulate(choice, place, mass),
        center=place.center,
        scale=place.scale,
        cell=place.cell,
        location=location,
        scatter=parts[order] if len(parts) == k else parts,
        named_features=results.named_features,
        missing=results.missing,
    )


def _tabulate(choice: Choice, place: Coordinates, mass: Array) -> pd.DataFrame:
    """One row a mixture that was scored, the best first."""
    total = float(mass.sum())
    units = total * float(np.log(place.scale).sum())
    units -= _of_missing(place.rows, mass, place.scale)
    lines = []
    for one in choice.candidates:
        found = _account(one.mixture, place.rows, mass)
        likelihood = found.log_likelihood - units
        model = one.model
        size = model.count_parameters(len(one.mixture.means), place.rows.shape[1])
        bic = size * np.log(total) - 2.0 * likelihood
        difference = paired_gain(one.score, choice.chosen.score, mass)
        lines.append(
            {
                "start": one.start,
                "covariance": model.covariance,
                "tails": "t" if np.isfinite(model.tails) else "normal",
                "proportions": "equal" if model.equal else "free",
                "refined": one.iterated,
                "difference": difference.mean,
                "se": difference.se,
                "bic": bic,
                "icl": bic + 2.0 * found.entropy,
            }
        )
    table = pd.DataFrame(lines).sort_values("difference", ascending=False, kind="stable")
    return table.reset_index(drop=True)
