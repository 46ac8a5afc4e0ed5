"""Stability of clusters: which of them, and which rows in them, survive resampling.

Resamples are clustered from scratch. A cluster's stability is its mean Jaccard similarity to the
most similar cluster of each resample, over the rows that are in it, as Hennig (2007) defines it and
the R package fpc reports it (``clusterboot``). Beside it stand, for every row, how often it stays
with its cluster and its silhouette in the weighted metric.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ewp._printed import Printed
from ewp.assigning import assign
from ewp.blas import one_blas_thread
from ewp.checks import check_choice, check_integer, check_number
from ewp.cohesion import jaccard, silhouettes
from ewp.fitting import Recipe
from ewp.folds import distinct_groups
from ewp.inputs import generator
from ewp.kernel import Array
from ewp.matching import match_labels
from ewp.polish import LIGHT
from ewp.refitting import Source, fit_rows, source_of
from ewp.resampling import enough, run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ewp._summary import EWPSummary
    from ewp.results import EWPResults

__all__ = ["StabilityResults", "stability"]

#: Similarities up to the first dissolve a cluster, above the second they recover it.
DISSOLVED, RECOVERED = 0.5, 0.75
_MOST_PAIRS = 5_000


@dataclass(eq=False, repr=False)
class StabilityResults(Printed):
    """Stability of the clusters of a fit, and of the rows in them.

    Instances come from :meth:`ewp.EWPResults.stability`.

    Attributes
    ----------
    jaccard : ndarray of shape (n_boot, k)
        Similarity of every cluster to the most similar one in every resample.
    labels : pandas.Series
        The fit's partition.
    draws : ndarray of shape (n_boot, n)
        Partition of all rows by the fit to every resample, clusters matched to the fit's.
    silhouette : ndarray of shape (n,)
        In the fit's metric; NaN for rows that were left out of a large number.
    scheme : {"bootstrap", "subset"}
    complete : bool
        False if the resampling was interrupted.
    """

    jaccard: Array
    labels: pd.Series
    draws: np.ndarray
    silhouette: Array
    scheme: str
    complete: bool

    @property
    def n_boot(self) -> int:
        """Number of resamples that were finished."""
        return len(self.jaccard)

    @property
    def clusters(self) -> pd.DataFrame:
        """One row a cluster.

        Columns ``size``, ``jaccard`` (mean), ``jaccard_sd``, ``dissolved`` and ``recovered``
        (numbers of resamples with a similarity of at most 0.5, and above 0.75), ``stays`` (mean
        share of resamples in which a row stays) and ``silhouette`` (mean).
        """
        k = self.jaccard.shape[1]
        points = self.points
        means = points.groupby("cluster")[["stays", "silhouette"]].mean().reindex(range(k))
        table = {
            "size": np.bincount(self.labels.to_numpy(), minlength=k),
            "jaccard": self.jaccard.mean(axis=0),
            "jaccard_sd": self.jaccard.std(axis=0),
            "dissolved": (self.jaccard <= DISSOLVED).sum(axis=0),
            "recovered": (self.jaccard > RECOVERED).sum(axis=0),
            "stays": means["stays"].to_numpy(),
            "silhouette": means["silhouette"].to_numpy(),
        }
        return pd.DataFrame(table, index=pd.RangeIndex(k, name="cluster"))

    @property
    def points(self) -> pd.DataFrame:
        """One row a row of the data.

        Columns ``cluster``; ``stays``, the share of resamples that put the row into its own
        cluster; ``together``, the mean share of its cluster's other rows that are with it;
        ``next``, the cluster it goes to most often otherwise (-1 if it never leaves); and
        ``silhouette``.
        """
        own = self.labels.to_numpy()
        k, n = self.jaccard.shape[1], len(own)
        rows = np.arange(n)
        most = max(k, int(self.draws.max(initial=0)) + 1)
        visits = np.zeros((n, most), dtype=np.int32)
        together = np.zeros(n)
        size = np.bincount(own, minlength=k)
        for drawn in self.draws:
            visits[rows, drawn] += 1
            shared = np.zeros((k, most))
            np.add.at(shared, (own, drawn), 1.0)
            together += (shared[own, drawn] - 1.0) / np.maximum(size[own] - 1.0, 1.0)
        together /= self.n_boot
        together[size[own] == 1] = 1.0
        stays = visits[rows, own] / self.n_boot
        visits[rows, own] = 0
        following = np.where(visits.any(axis=1), visits.argmax(axis=1), -1)
        table = {
            "cluster": own,
            "stays": stays,
            "together": together,
            "next": following,
            "silhouette": self.silhouette,
        }
        return pd.DataFrame(table, index=self.labels.index)

    def co_membership(self, rows: Any = None) -> pd.DataFrame:
        """Share of resamples in which two rows are in the same cluster, for all pairs.

        Parameters
        ----------
        rows : array-like of int, optional
            Positions of the rows to compare. By default all, if they are at most 5,000.

        Returns
        -------
        pandas.DataFrame
        """
        chosen = self._positions(rows)
        if len(chosen) > _MOST_PAIRS:
            raise ValueError(
                f"{len(chosen)} rows have {len(chosen) ** 2:.1e} pairs; choose at most "
                f"{_MOST_PAIRS} rows, or see points for each row's own share"
            )
        share = np.zeros((len(chosen), len(chosen)))
        for drawn in self.draws[:, chosen]:
            share += drawn[:, None] == drawn
        names = self.labels.index[chosen]
        return pd.DataFrame(share / self.n_boot, index=names, columns=names)

    def _positions(self, rows: Any) -> np.ndarray:
        n = len(self.labels)
        if rows is None:
            return np.arange(n)
        chosen = np.asarray(rows)
        if chosen.dtype == bool and chosen.shape == (n,):
            return np.flatnonzero(chosen)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise ValueError(
                f"rows={rows!r} must be positions such as [0, 5, 7]; names of rows have them by "
                "labels.index.get_indexer(names)"
            )
        if len(chosen) and not (-n <= chosen.min() and chosen.max() < n):
            raise ValueError(f"rows={rows!r} goes beyond the {n} rows, counted from 0")
        return chosen

    def summary(self) -> EWPSummary:
        """Table of the clusters, with notes in words."""
        from ewp._diagnostic_text import summarise_stability

        return summarise_stability(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the clusters' similarities in all resamples, with fpc's thresholds.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        Axes
        """
        from ewp.diagnostic_plots import plot_stability

        return plot_stability(self.jaccard, (DISSOLVED, RECOVERED), ax=ax)

    def __repr__(self) -> str:
        mean = self.jaccard.mean(axis=0)
        state = "" if self.complete else ", interrupted"
        return (
            f"StabilityResults: {self.n_boot} resamples ({self.scheme}){state}, mean Jaccard "
            f"similarity of the clusters {mean.min():.2f} to {mean.max():.2f}"
        )


class _Draw(NamedTuple):
    jaccard: Array
    labels: np.ndarray


def _replicate(
    source: Source, recipe: Recipe, rows: np.ndarray, kind: str, rng: np.random.Generator
) -> _Draw:
    k = recipe.n_clusters
    found = fit_rows(source, rows, recipe, rng)
    with one_blas_thread():
        everywhere = assign(source.X, found.centroids, found.weights, found.center, found.scale)[0]
    numbers = match_labels(everywhere, source.labels, k)
    similarity = jaccard(source.labels[rows], found.labels, k)
    return _Draw(similarity, numbers[everywhere].astype(kind))


def stability(
    results: EWPResults,
    n_boot: int = 100,
    *,
    scheme: str = "bootstrap",
    share: float = 0.5,
    X: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> StabilityResults:
    """Cluster resamples; see :meth:`ewp.EWPResults.stability` for the arguments."""
    check_integer("n_boot", n_boot, least=1)
    check_choice("scheme", scheme, ("bootstrap", "subset"))
    check_number("share", share, above=0, below=1)
    source = source_of(results, X, sample_weight)
    # as many fits need only be good enough to be compared
    effort = LIGHT if source.recipe.polish.rounds else source.recipe.polish
    recipe = dataclasses.replace(source.recipe, eta=source.recipe.eta**2, polish=effort)
    used, k = source.used, results.n_clusters
    group, _ = distinct_groups(source.X, source.weight)
    size = max(round(share * len(used)), k)

    def draw(rng: np.random.Generator) -> np.ndarray:
        if scheme == "subset":
            return np.sort(rng.choice(used, size, replace=False))
        return np.unique(rng.choice(used, len(used)))

    kind = np.min_scalar_type(-2 * k).str
    rngs = generator(random_state).spawn(n_boot)
    done, complete = run(
        _replicate,
        ((source, recipe, enough(draw, group, k, rng), kind, rng) for rng in rngs),
        total=n_boot,
        what="resamples",
        n_jobs=n_jobs,
        progress=progress,
    )
    return StabilityResults(
        jaccard=np.array([drawn.jaccard for drawn in done]),
        labels=results.labels,
        draws=np.array([drawn.labels for drawn in done]),
        silhouette=silhouettes(source.X, source.labels, source.metric),
        scheme=scheme,
        complete=complete,
    )
