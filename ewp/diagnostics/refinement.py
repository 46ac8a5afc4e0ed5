r"""A model-based finish: the clusters of a fit as a mixture of normal or t distributions.

EWP's clusters are cells of a metric that is the same everywhere and has no correlations. Where
clusters differ in size, spread or direction, a mixture describes them better: started from EWP's
partition, on the features that matter, it gives every row probabilities to belong to the clusters.
Which kind of mixture is chosen by what it says of rows that were held out, see
`ewp.refinement.choice`. EWP's own labels stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import chi2, f

from ewp.common.checks import listing
from ewp.common.parallel import one_blas_thread
from ewp.common.types import Array
from ewp.data.frames import row_names
from ewp.data.sources import in_memory
from ewp.data.validation import check_new_data
from ewp.display.axes import GRID, INK, PALETTE, despine, new_axes, one_line_label, subsample
from ewp.display.formatting import (
    MAX_CLUSTERS,
    counted,
    fixed,
    number,
    one_line,
    percent,
    short,
)
from ewp.display.summary import EWPSummary, SummaryMixin, render_table
from ewp.refinement.choice import CLEAR
from ewp.refinement.mixture import Mixture, MixtureModel
from ewp.refinement.scatter import MatrixScatter, VarianceScatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Refinement", "standardised"]

_LISTED = 6
#: Rows more uncertain than this are counted.
_UNCERTAIN = 0.2
#: Share of a cluster that an ellipse holds.
_INSIDE = 0.9
#: How models of the covariances are called.
_COVARIANCES = {
    "spherical": "one variance per cluster (of the standardised features)",
    "diagonal": "a variance per cluster and feature, without correlations",
    "tied": "one covariance matrix for all clusters",
    "full": "a covariance matrix per cluster",
}


@dataclass(eq=False, repr=False)
class Refinement(SummaryMixin):
    """Mixture that refines the clusters of a fit.

    Instances come from :meth:`ewp.EWPResults.refine`.

    Attributes
    ----------
    labels : pandas.Series
        The most probable cluster of every row, numbered as EWP's clusters that they refine.
    probabilities : pandas.DataFrame
        Probability of every row to belong to every cluster.
    original : pandas.Series
        EWP's labels.
    proportions : pandas.Series
    means : pandas.DataFrame
        Centres of the clusters in the units of the data; one column a feature that takes part.
    covariance : {"spherical", "diagonal", "tied", "full"}
        Model of the covariances.
    tails : float
        Degrees of freedom of the clusters' t distributions; infinite for normal ones.
    equal_proportions : bool
    refined : bool
        False if EWP's partition as it is predicts held-out rows clearly better than any mixture
        that EM leads to; the mixture is then the one this partition implies.
    gain, gain_se : float
        Held-out log-density per row of the refined mixture minus that of the mixture of the same
        kind that EWP's partition implies, and the standard error.
    moved_share : float
        Share of the rows, by weight, that change their cluster.
    log_likelihood : float
        Of the rows, in the units of the data.
    bic, icl : float
        Minus twice the log-likelihood plus the parameters times the log of the rows; `icl` adds
        twice the entropy of the memberships. Smaller is better.
    n_parameters : int
    converged : bool
    n_iter : int
        Steps of EM from the last estimates of the comparison.
    feature_table : pandas.DataFrame
        One row a feature: ``ratio``, the F statistic of its means in the clusters, ``p_value``,
        and ``used``, whether it takes part.
    candidates : pandas.DataFrame
        One row a mixture that was scored, the best first: ``start``, ``covariance``, ``tails``,
        ``proportions``, ``refined``, ``difference`` of its held-out log-density per row to the
        chosen one's, ``se``, ``bic`` and ``icl``.
    center, scale, cell, location, scatter : ndarray
        The mixture in standardised coordinates, for predictions.
    named_features : bool
    missing : {"error", "observed"}
        What is done with missing values.
    """

    labels: pd.Series
    probabilities: pd.DataFrame
    original: pd.Series
    proportions: pd.Series
    means: pd.DataFrame
    covariance: str
    tails: float
    equal_proportions: bool
    refined: bool
    gain: float
    gain_se: float
    moved_share: float
    log_likelihood: float
    bic: float
    icl: float
    n_parameters: int
    converged: bool
    n_iter: int
    feature_table: pd.DataFrame
    candidates: pd.DataFrame
    center: Array
    scale: Array
    cell: Array
    location: Array
    scatter: Array
    named_features: bool
    missing: str = "error"

    @property
    def features(self) -> pd.Index:
        """Names of the features that take part."""
        return self.means.columns

    @property
    def kind(self) -> str:
        """The mixture in words."""
        shape = "t" if np.isfinite(self.tails) else "normal"
        return f"{shape} mixture, {self.covariance} covariances"

    @property
    def moved(self) -> pd.Series:
        """Whether a row changed its cluster."""
        return (self.labels != self.original).rename("moved")

    @property
    def cross_table(self) -> pd.DataFrame:
        """Numbers of rows: EWP's clusters by the refined ones."""
        k = len(self.means)
        counts = np.zeros((k, k), dtype=int)
        np.add.at(counts, (self.original.to_numpy(), self.labels.to_numpy()), 1)
        index = pd.RangeIndex(k, name="cluster")
        return pd.DataFrame(counts, index=index, columns=index.rename("refined"))

    @property
    def uncertainty(self) -> pd.Series:
        """One minus the largest probability of every row."""
        return (1.0 - self.probabilities.max(axis=1)).rename("uncertainty")

    @property
    def clearly_better(self) -> bool:
        """Whether the refined clusters predict held-out rows clearly better than EWP's."""
        return self.refined and self.gain > CLEAR * self.gain_se

    @cached_property
    def mixture(self) -> Mixture:
        """The mixture in standardised coordinates."""
        model = MixtureModel(self.covariance, self.tails, self.equal_proportions)
        matrices = self.scatter.ndim == 3
        scatter = MatrixScatter(self.scatter) if matrices else VarianceScatter(self.scatter)
        log_share = np.log(self.proportions.to_numpy(dtype=float))
        return Mixture(model, log_share, self.location, scatter, self.cell)

    def scatter_matrix(self, cluster: int) -> Array:
        """Scatter matrix of a cluster in standardised coordinates."""
        part: Array = self.scatter[min(cluster, len(self.scatter) - 1)]
        return part if part.ndim == 2 else np.diag(part)

    def covariance_matrix(self, cluster: int) -> pd.DataFrame:
        """Covariance matrix of a cluster in the units of the data.

        Parameters
        ----------
        cluster : int
        """
        if cluster not in self.means.index:
            raise ValueError(
                f"cluster={cluster!r} is none of the {len(self.means)} clusters, counted from 0"
            )
        matrix = self.scatter_matrix(int(cluster))
        if np.isfinite(self.tails):
            matrix = matrix * self.tails / (self.tails - 2.0)
        names = self.features
        return pd.DataFrame(matrix * np.outer(self.scale, self.scale), index=names, columns=names)

    def _rows(self, X: Any) -> Array:
        """Check new rows and place them where the mixture is."""
        names = self.feature_table.index
        array = check_new_data(X, names, named=self.named_features, missing=self.missing)
        used = np.flatnonzero(self.feature_table["used"].to_numpy())
        return standardised(array, used, self.center, self.scale)

    @one_blas_thread()
    def predict_proba(self, X: Any) -> pd.DataFrame | np.ndarray:
        """Probabilities of rows to belong to the clusters.

        Parameters
        ----------
        X : array-like of shape (n, p)
            All features of the fit.

        Returns
        -------
        pandas.DataFrame or numpy.ndarray of shape (n, k)
            A DataFrame where X has row names (pandas, AnnData), else an array.
        """
        X = in_memory(X)
        found = self.mixture.probabilities(self._rows(X))
        rows = row_names(X)
        return found if rows is None else pd.DataFrame(found, rows, self.means.index)

    def predict(self, X: Any) -> pd.Series | np.ndarray:
        """Assign rows to their most probable clusters.

        Parameters
        ----------
        X : array-like of shape (n, p)
            All features of the fit.

        Returns
        -------
        pandas.Series or numpy.ndarray
            A Series where X has row names (pandas, AnnData), else an array.
        """
        X = in_memory(X)
        nearest = np.asarray(self.predict_proba(X)).argmax(axis=1)
        rows = row_names(X)
        return nearest if rows is None else pd.Series(nearest, index=rows, name="cluster")

    def summary(self) -> EWPSummary:
        """Table of the clusters, and what was chosen and gained in words."""
        return summarise_refinement(self)

    def plot(
        self, X: Any = None, ax: Axes | None = None, features: Sequence[Any] | None = None
    ) -> Axes:
        """Draw how uncertain the rows are, or the rows themselves with the clusters' ellipses.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            Rows to draw, all features of the fit. By default the uncertainties of the fitted rows
            are drawn, which needs no data.
        ax : Axes, optional
        features : sequence of two feature names, optional
            The axes where rows are drawn. By default the two features that take part if there are
            two, else the directions that tell the clusters apart best.

        Returns
        -------
        Axes
        """
        if X is None:
            return plot_uncertainty(self, ax=ax)
        return plot_ellipses(self, self._rows(in_memory(X)), features=features, ax=ax)

    def __repr__(self) -> str:
        return (
            f"Refinement: {self.kind} on "
            f"{counted(len(self.features), 'feature')}, {percent(self.moved_share)} of the rows "
            f"move, held-out gain {fixed(self.gain)} (se {fixed(self.gain_se)}) nats per row"
        )


def standardised(X: Array, columns: np.ndarray, center: Array, scale: Array) -> Array:
    """Columns of rows in the coordinates of a mixture."""
    rows = np.subtract(X[:, columns], center, dtype=np.float64)
    rows /= scale
    return rows


def summarise_refinement(found: Refinement) -> EWPSummary:
    """Clusters before and after, and what the mixture is worth."""
    counts = found.cross_table.to_numpy()
    before, after = counts.sum(axis=1), counts.sum(axis=0)
    uncertainty = found.uncertainty.groupby(found.labels.to_numpy()).mean()
    table = pd.DataFrame(
        {
            "EWP": before,
            "refined": after,
            "stay": [percent(x) for x in np.diag(counts) / np.maximum(before, 1)],
            "proportion": [percent(x) for x in found.proportions],
            "uncertainty": [
                fixed(x, 3) for x in uncertainty.reindex(range(len(after)), fill_value=np.nan)
            ],
        },
        index=[f"cluster {name}" for name in found.means.index],
    )
    notes = [
        "EWP, refined: rows of the cluster before and after; stay: share of the first that is in "
        "the second; uncertainty: one minus the largest probability, mean over the rows.",
        *_words(found),
    ]
    if len(table) > MAX_CLUSTERS:
        notes.append(f"... and {len(table) - MAX_CLUSTERS} more clusters.")
    return render_table(f"Refined clusters: {found.kind}", table.head(MAX_CLUSTERS), notes)


def _words(found: Refinement) -> list[str]:
    """What was chosen and gained, in sentences."""
    names = [one_line(name) for name in found.features[:_LISTED]]
    more = len(found.features) - len(names)
    tails = f"t, {short(found.tails)} degrees of freedom" if np.isfinite(found.tails) else "normal"
    share = "equal" if found.equal_proportions else "free"
    notes = [
        f"Clusters are {tails}, with {_COVARIANCES[found.covariance]} and {share} proportions, on "
        f"{len(found.features)} of {counted(len(found.feature_table), 'feature')}: "
        f"{', '.join(names)}{f', ... and {more} more' if more else ''}."
    ]
    amount = f"{fixed(abs(found.gain))} (se {fixed(found.gain_se)}) nats per row"
    if not found.refined:
        notes.append(
            f"EWP's partition predicts held-out rows better than any refined one, by {amount}: it "
            "is kept, and the mixture is the one it implies."
        )
    elif found.clearly_better:
        notes.append(f"The refined clusters predict held-out rows better than EWP's, by {amount}.")
    else:
        notes.append(
            "The refined clusters do not predict held-out rows clearly better than EWP's: by "
            f"{fixed(found.gain)} (se {fixed(found.gain_se)}) nats per row."
        )
    unsure = int((found.uncertainty > _UNCERTAIN).sum())
    notes.append(
        f"{percent(found.moved_share)} of the rows move to another cluster; the uncertainty is "
        f"above {_UNCERTAIN} in {unsure} of {counted(len(found.labels), 'row')}."
    )
    notes.append(
        f"Log-likelihood {number(found.log_likelihood, 6)} with {found.n_parameters} parameters, "
        f"BIC {number(found.bic, 6)}, ICL {number(found.icl, 6)}; smaller ones are better."
    )
    if not found.converged:
        notes.append("EM stopped before it converged: the estimates are not yet a maximum.")
    return notes


def plot_uncertainty(found: Refinement, *, ax: Axes | None = None) -> Axes:
    """Draw the uncertainty of the rows, sorted, with those marked that changed their cluster."""
    ax = new_axes((6.4, 4.0))[0] if ax is None else ax
    values = found.uncertainty.to_numpy()
    order = np.argsort(values, kind="stable")
    drawn = order[subsample(len(order))]
    place = np.linspace(0.0, 100.0, len(drawn))
    moved = found.moved.to_numpy()[drawn]
    for which, colour, name in ((~moved, PALETTE[0], "stay"), (moved, PALETTE[3], "move")):
        label = f"rows that {name}"
        ax.plot(place[which], values[drawn][which], "o", color=colour, markersize=4, label=label)
    ax.set(xlabel="rows from sure to unsure, %", ylabel="1 - largest probability")
    ax.set_ylim(bottom=-0.01)
    ax.grid(axis="y", **GRID)
    ax.legend(frameon=False, fontsize="small", loc="upper left")
    despine(ax)
    return ax


def plot_ellipses(
    found: Refinement,
    rows: Array,
    *,
    features: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows in the plane, by their most probable cluster, with an ellipse a cluster.

    Parameters
    ----------
    found : Refinement
    rows : ndarray of shape (n, q)
        In the coordinates of the mixture, with NaN for missing values.
    features : sequence of two feature names, optional
    ax : Axes, optional
    """
    if len(found.features) < 2:
        raise ValueError("one feature takes part, and ellipses need two: see plot() without rows")
    axes, names = _plane(found, features)
    mixture = found.mixture
    drawn = subsample(len(rows))
    probabilities = mixture.probabilities(rows[drawn])
    cluster, sure = probabilities.argmax(axis=1), probabilities.max(axis=1)
    # a missing value is drawn at the mean
    points, centres = np.nan_to_num(rows[drawn]) @ axes, mixture.means @ axes
    ax = new_axes((6.4, 5.2))[0] if ax is None else ax
    turn = np.linspace(0.0, 2.0 * np.pi, 181)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    finite = np.isfinite(found.tails)
    radius = np.sqrt(2.0 * f.ppf(_INSIDE, 2, found.tails) if finite else chi2.ppf(_INSIDE, 2))
    for j, centre in enumerate(centres):
        own = cluster == j
        colour = PALETTE[j % len(PALETTE)]
        size = 8.0 + 60.0 * (1.0 - sure[own])
        x, y = points[own].T
        ax.scatter(x, y, s=size, color=colour, alpha=0.6, linewidths=0, zorder=2)
        lower = np.linalg.cholesky(axes.T @ found.scatter_matrix(j) @ axes)
        ax.plot(*(centre[:, None] + radius * lower @ circle), color=colour, linewidth=1.8, zorder=3)
        ax.annotate(str(j), centre, color=INK, ha="center", va="center", weight="bold", zorder=4)
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.set_title("ellipses hold 90 % of a cluster; uncertain rows are larger", fontsize="small")
    despine(ax)
    return ax


def _plane(found: Refinement, features: Sequence[Any] | None) -> tuple[Array, list[str]]:
    """Two directions in the coordinates of the mixture, and what they are called."""
    known = list(found.features)
    if features is None and len(known) == 2:
        features = known
    if features is not None:
        wanted = [features] if isinstance(features, str) else list(features)
        if len(wanted) != 2 or not all(name in known for name in wanted):
            raise ValueError(
                f"features={wanted!r} must be two of the features that take part: {listing(known)}"
            )
        axes = np.zeros((len(known), 2))
        axes[[known.index(name) for name in wanted], [0, 1]] = 1.0
        return axes, [f"{one_line_label(name)}, standardised" for name in wanted]
    share = found.proportions.to_numpy()
    within = sum(a * found.scatter_matrix(j) for j, a in enumerate(share))
    inverse = np.linalg.inv(np.linalg.cholesky(within))
    centred = found.location - share @ found.location
    between = inverse @ (centred.T * share) @ centred @ inverse.T
    axes = inverse.T @ np.linalg.eigh(between)[1][:, :-3:-1]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    return axes, ["first discriminant direction", "second discriminant direction"]
