"""Stability of clusters: which of them, and which rows in them, survive resampling.

Resamples are clustered from scratch. A cluster's stability is its mean Jaccard similarity to the
most similar cluster of each resample, over the rows that are in it, as Hennig (2007) defines it and
the R package fpc reports it (``clusterboot``). Beside it stand, for every row, how often it stays
with its cluster and its silhouette in the weighted metric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ewp.common.checks import check_choice, check_integer, check_number
from ewp.common.parallel import run_replicates
from ewp.common.types import Array, FittedResults
from ewp.data.arguments import generator
from ewp.data.canonical import distinct_groups
from ewp.data.splits import draw_with_k_distinct
from ewp.diagnostics.refit import (
    FittedData,
    Resample,
    fitted_data,
    in_batches,
    partitions,
    seed_of,
)
from ewp.display.axes import INK, PALETTE, despine, new_axes
from ewp.display.formatting import MAX_CLUSTERS, fixed
from ewp.display.summary import CONDITIONAL, INTERRUPTED, EWPSummary, SummaryMixin, render_table
from ewp.metrics import jaccard, match_labels, silhouettes
from ewp.solver.fit import FitOptions

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["StabilityResults", "stability"]

#: Similarities up to the first dissolve a cluster, above the second they recover it.
DISSOLVED, RECOVERED = 0.5, 0.75
_MOST_PAIRS = 5_000


@dataclass(eq=False, repr=False)
class StabilityResults(SummaryMixin):
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
        """One row per cluster.

        Columns ``size``, ``jaccard`` (mean), ``jaccard_sd``, ``dissolved`` and ``recovered``
        (numbers of resamples with a similarity of at most 0.5, and above 0.75), ``stays`` (mean
        share of resamples in which a row stays) and ``silhouette`` (mean).
        """
        k = self.jaccard.shape[1]
        points = self.points
        means = points.groupby("cluster")[["stays", "silhouette"]].mean().reindex(range(k))
        table = {
            "size": np.bincount(self.labels.to_numpy(), minlength=k),
            **similarity_table(self.jaccard),
            "stays": means["stays"].to_numpy(),
            "silhouette": means["silhouette"].to_numpy(),
        }
        return pd.DataFrame(table, index=pd.RangeIndex(k, name="cluster"))

    @property
    def points(self) -> pd.DataFrame:
        """One row per row of the data.

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
        return plot_stability(self.jaccard, (DISSOLVED, RECOVERED), ax=ax)

    def __repr__(self) -> str:
        mean = self.jaccard.mean(axis=0)
        state = "" if self.complete else ", interrupted"
        return (
            f"StabilityResults: {self.n_boot} resamples ({self.scheme}){state}, mean Jaccard "
            f"similarity of the clusters {fixed(mean.min())} to {fixed(mean.max())}"
        )


def similarity_table(similarity: Array) -> dict[str, Array]:
    """What Hennig tells of each cluster, from its similarities in the resamples, (n_boot, k)."""
    return {
        "jaccard": similarity.mean(axis=0),
        "jaccard_sd": similarity.std(axis=0),
        "dissolved": (similarity <= DISSOLVED).sum(axis=0),
        "recovered": (similarity > RECOVERED).sum(axis=0),
    }


class _Draw(NamedTuple):
    jaccard: Array
    labels: np.ndarray


def _replicates(
    source: FittedData, options: FitOptions, kind: str, batch: list[Resample]
) -> list[_Draw]:
    k = options.n_clusters
    made = []
    for drawn, everywhere in zip(batch, partitions(source, batch, options), strict=True):
        numbers = match_labels(everywhere, source.labels, k)
        similarity = jaccard(source.labels[drawn.rows], everywhere[drawn.rows], k)
        made.append(_Draw(similarity, numbers[everywhere].astype(kind)))
    return made


def stability(
    results: FittedResults,
    /,
    n_boot: int = 100,
    *,
    scheme: str = "bootstrap",
    share: float = 0.5,
    X: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> StabilityResults:
    """See which clusters, and which rows in them, survive resampling.

    Resamples are clustered from scratch (from the same centroids, if the fit was given some as
    `init`), with the penalty in proportion to their rows. A cluster's similarity to a resample is
    its Jaccard similarity to the most similar cluster there, over the rows that are in the resample
    (Hennig 2007, as ``fpc::clusterboot`` in R reports it). By Hennig's rule of thumb means of 0.75
    and more are stable clusters, and below 0.6 they should not be trusted.

    Parameters
    ----------
    results : EWPResults
        The fit, where this is not called as a method of it.
    n_boot : int, default 100
        Number of resamples.
    scheme : {"bootstrap", "subset"}, default "bootstrap"
        "bootstrap" takes the rows that a draw with replacement hits, each once, as fpc does;
        "subset" draws a part of the rows.
    share : float, default 0.5
        Size of that part.
    X, sample_weight, random_state, n_jobs, progress
        As in `consistency`.

    Returns
    -------
    StabilityResults
        With ``clusters``, ``points`` (how often each row stays, and its silhouette in the
        weighted metric), ``co_membership()``, ``summary()`` and ``plot()``; kept as
        ``stability_``.

    References
    ----------
    Hennig, C. (2007). Cluster-wise assessment of cluster stability. *Computational Statistics
    and Data Analysis* 52, 258-271.

    Examples
    --------
    >>> import ewp
    >>> from ewp.datasets import make_simulation2
    >>> X = make_simulation2(3, n=150, p=5, random_state=0).X
    >>> results = ewp.fit(X, 3, lam=0.05 * len(X), random_state=0)
    >>> found = results.stability(20, random_state=0)
    >>> found.clusters["jaccard"].round(2).tolist()
    [1.0, 1.0, 1.0]
    >>> bool(found.points["silhouette"].mean() > 0.8)
    True
    """
    check_integer("n_boot", n_boot, least=1)
    check_choice("scheme", scheme, ("bootstrap", "subset"))
    check_number("share", share, above=0, below=1)
    source = fitted_data(results, X, sample_weight)
    # as many fits need only be good enough to be compared
    options = source.options.lighter()
    used, k = source.used, results.n_clusters
    group, _ = distinct_groups(source.X, source.weight)
    size = max(round(share * len(used)), k)

    def draw(rng: np.random.Generator) -> np.ndarray:
        if scheme == "subset":
            return np.sort(rng.choice(used, size, replace=False))
        return np.unique(rng.choice(used, len(used)))

    kind = np.min_scalar_type(-2 * k).str
    mass = np.ones(len(source.X)) if source.weight is None else source.weight

    def resample(rng: np.random.Generator) -> Resample:
        rows = draw_with_k_distinct(draw, group, k, rng)
        return Resample(rows, mass[rows], seed_of(rng))

    resamples = map(resample, generator(random_state).spawn(n_boot))
    done, complete = run_replicates(
        _replicates,
        ((source, options, kind, batch) for batch in in_batches(source, resamples)),
        total=n_boot,
        what="resamples",
        n_jobs=n_jobs,
        progress=progress,
    )
    return StabilityResults(
        jaccard=np.array([drawn.jaccard for drawn in done]),
        labels=results.labels,
        draws=np.array([drawn.labels for drawn in done]),
        silhouette=silhouettes(source.X, source.labels, source.metric, weight=source.weight),
        scheme=scheme,
        complete=complete,
    )


def summarise_stability(found: StabilityResults) -> EWPSummary:
    """Clusters with their mean similarity, as fpc reports them."""
    table = found.clusters
    shown = table.head(MAX_CLUSTERS).drop(columns="jaccard_sd")
    shown = shown.set_axis([f"cluster {name}" for name in shown.index], axis=0)
    notes = [
        "jaccard: mean similarity to the most similar cluster of a resample; dissolved and "
        "recovered: resamples in which it is at most 0.5, and above 0.75.",
        "stays: mean share of resamples that keep a row in its cluster; silhouette: in the "
        "weighted metric.",
    ]
    mean = table["jaccard"]
    weak = [str(name) for name in table.index[mean < 0.6]]
    if weak:
        more = f", ... and {len(weak) - 10} more" if len(weak) > 10 else ""
        notes.append(f"Not stable, below 0.6: {', '.join(weak[:10])}{more}.")
    elif (mean >= 0.75).all():
        notes.append("All clusters are stable: 0.75 or more.")
    if len(table) > MAX_CLUSTERS:
        rest = mean.iloc[MAX_CLUSTERS:]
        notes.append(
            f"... and {len(rest)} more clusters, with means from {fixed(rest.min())} to "
            f"{fixed(rest.max())}."
        )
    notes.append(CONDITIONAL)
    if not found.complete:
        notes.append(INTERRUPTED)
    title = f"Stability of the clusters, {found.n_boot} resamples ({found.scheme})"
    return render_table(title, shown, notes)


def plot_stability(
    jaccard: np.ndarray, thresholds: tuple[float, float], *, ax: Axes | None = None
) -> Axes:
    """Draw the similarity of every cluster in all resamples, and its mean.

    Parameters
    ----------
    jaccard : ndarray of shape (n_boot, k)
    thresholds : pair of float
        Similarities that dissolve and that recover a cluster, marked by lines.
    ax : Axes, optional
    """
    from matplotlib.ticker import MaxNLocator

    k = jaccard.shape[1]
    ax = new_axes((float(np.clip(2.4 + 0.34 * k, 4.2, 12)), 3.8))[0] if ax is None else ax
    places = np.arange(k)
    low, high = np.quantile(jaccard, [0.1, 0.9], axis=0)
    width = max(1.2, min(7.0, 90 / k))
    ax.vlines(
        places, low, high, color=PALETTE[4], linewidth=width, alpha=0.55, label="80 % of resamples"
    )
    size = float(np.clip(260 / k, 3, 7))
    ax.plot(
        places, jaccard.mean(axis=0), "o", color=PALETTE[0], markersize=size, label="mean", zorder=3
    )
    for value, words in zip(thresholds, ("dissolved", "recovered"), strict=True):
        ax.axhline(value, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        frame = ax.get_yaxis_transform()
        ax.text(1.01, value, f"{words}\n{value:g}", transform=frame, va="center", fontsize="small")
    ax.set(ylim=(0, 1.03), xlabel="cluster", ylabel="Jaccard similarity")
    ax.set_xlim(-0.6, k - 0.4)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=20))
    ax.legend(frameon=False, fontsize="small", loc="lower left")
    despine(ax)
    return ax
