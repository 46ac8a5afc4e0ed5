"""Uncertainty of weights and centroids: the bootstrap of a fit, its intervals, words and picture.

Rows are drawn with replacement and the model is fitted again from the full fit's estimates, with
clusters matched to the full fit's. Everything is conditional on the number of clusters, the
penalty, the scaling and the form of the weights: choosing them anew in each resample is not part
of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp.common.checks import check_choice, check_integer, check_number
from ewp.common.parallel import run_replicates
from ewp.common.types import Array, FittedResults
from ewp.data.splits import Resampler
from ewp.data.validation import generator
from ewp.diagnostics.intervals import bca_interval, logistic, logit, percentile_interval
from ewp.diagnostics.refit import Resample, fitted_data, in_batches, refit, seed_of
from ewp.display.axes import (
    GRID,
    INK,
    PALETTE,
    despine,
    heaviest_rows,
    height_of_rows,
    name_rows,
    side_by_side,
    start_at_zero,
)
from ewp.display.formatting import (
    INTERVAL_METHODS,
    interval_cells,
    one_line,
    scientific,
    short,
    whole_percent,
)
from ewp.display.summary import CONDITIONAL, INTERRUPTED, EWPSummary, SummaryMixin, render_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["BootstrapResults", "bootstrap"]

_TINY = 1e-300
_LOCAL = (
    "Resamples are fitted from this fit's estimates; whether other clusters would be found from "
    "scratch is what stability() asks."
)
_MAX_PAIRS = 5


@dataclass(eq=False, repr=False)
class BootstrapResults(SummaryMixin):
    """Estimates from resamples of the rows, and what follows from them.

    Instances come from :meth:`ewp.EWPResults.bootstrap`.

    Attributes
    ----------
    weights : pandas.Series
        The fit's weights.
    centroids : pandas.DataFrame
        The fit's centroids.
    weight_draws : ndarray of shape (n_boot, p)
        Weights in the resamples.
    centroid_shifts : ndarray of shape (n_boot, k, p)
        Centroids in the resamples minus the fit's, in data units.
    weight_jackknife, centroid_jackknife : ndarray
        The same with one part of the rows after the other left out.
    threshold : float
        A feature with more weight than this counts as selected.
    converged : float
        Share of the resamples whose fit converged.
    complete : bool
        False if the resampling was interrupted.
    """

    weights: pd.Series
    centroids: pd.DataFrame
    weight_draws: Array
    centroid_shifts: np.ndarray
    weight_jackknife: Array
    centroid_jackknife: np.ndarray
    threshold: float
    converged: float
    complete: bool

    @property
    def n_boot(self) -> int:
        """Number of resamples that were finished."""
        return len(self.weight_draws)

    @property
    def selection_frequency(self) -> pd.Series:
        """Share of the resamples in which a feature has more weight than the threshold."""
        share = (self.weight_draws > self.threshold).mean(axis=0)
        return pd.Series(share, index=self.weights.index, name="selected")

    def weight_intervals(self, level: float = 0.95, method: str = "bca") -> pd.DataFrame:
        r"""Interval of every feature's weight.

        Computed on the scale :math:`\log(w_l / (1 - w_l))`, the log-ratio of a feature to all
        the others together, on which the simplex has no edge.

        Parameters
        ----------
        level : float, default 0.95
        method : {"bca", "percentile"}, default "bca"

        Returns
        -------
        pandas.DataFrame
            Columns ``weight``, ``lower``, ``upper``, ``se`` (standard deviation over the
            resamples), ``bias`` (their mean minus the weight) and ``selected``.
        """
        w = self.weights.to_numpy(dtype=float)
        ends = self._ends(
            logit(self.weight_draws), logit(w), logit(self.weight_jackknife), level, method
        )
        lower, upper = (logistic(end) for end in ends)
        table = {
            "weight": w,
            "lower": lower,
            "upper": upper,
            "se": self.weight_draws.std(axis=0),
            "bias": self.weight_draws.mean(axis=0) - w,
            "selected": self.selection_frequency.to_numpy(),
        }
        return pd.DataFrame(table, index=self.weights.index)

    def log_ratios(
        self, reference: Any = None, level: float = 0.95, method: str = "bca"
    ) -> pd.DataFrame:
        """Interval of every feature's log-ratio.

        Parameters
        ----------
        reference : feature name, optional
            Additive log-ratios, to this feature. By default centred log-ratios: to the geometric
            mean of all features that have any weight.
        level : float, default 0.95
        method : {"bca", "percentile"}, default "bca"

        Returns
        -------
        pandas.DataFrame
            Columns ``log_ratio``, ``lower``, ``upper``.
        """
        position: Any = self.weights.to_numpy(dtype=float) > 0
        if reference is not None:
            if reference not in self.weights.index:
                raise ValueError(f"no feature is called {reference!r}")
            position = [self.weights.index.get_loc(reference)]

        def scale(w: Array) -> Array:
            logs = np.log(np.maximum(w, _TINY))
            return logs - logs[..., position].mean(axis=-1, keepdims=True)

        estimate = scale(self.weights.to_numpy(dtype=float))
        lower, upper = self._ends(
            scale(self.weight_draws), estimate, scale(self.weight_jackknife), level, method
        )
        table = {"log_ratio": estimate, "lower": lower, "upper": upper}
        return pd.DataFrame(table, index=self.weights.index)

    def centroid_intervals(self, level: float = 0.95, method: str = "bca") -> pd.DataFrame:
        """Interval of every coordinate of every centroid, in data units.

        Parameters
        ----------
        level : float, default 0.95
        method : {"bca", "percentile"}, default "bca"

        Returns
        -------
        pandas.DataFrame
            One row per cluster and feature: columns ``cluster``, ``feature``, ``centroid``,
            ``lower``, ``upper``, ``se``.
        """
        theta = self.centroids.to_numpy(dtype=float)
        shifts = np.asarray(self.centroid_shifts, dtype=np.float64)
        lower, upper = self._ends(
            shifts,
            np.zeros_like(theta),
            np.asarray(self.centroid_jackknife, dtype=np.float64),
            level,
            method,
        )
        k, p = theta.shape
        return pd.DataFrame(
            {
                "cluster": np.repeat(self.centroids.index.to_numpy(), p),
                "feature": np.tile(self.centroids.columns.to_numpy(), k),
                "centroid": theta.ravel(),
                "lower": (theta + lower).ravel(),
                "upper": (theta + upper).ravel(),
                "se": shifts.std(axis=0).ravel(),
            }
        )

    def _ends(
        self, draws: Array, estimate: Array, jackknife: Array, level: float, method: str
    ) -> tuple[Array, Array]:
        check_number("level", level, above=0, below=1)
        check_choice("method", method, ("bca", "percentile"))
        if method == "percentile":
            return percentile_interval(draws, level)
        if len(jackknife) < 2:
            raise ValueError(
                "BCa intervals need the jackknife: run bootstrap(n_jackknife=50), or ask for "
                "method='percentile'"
            )
        return bca_interval(draws, estimate, jackknife, level)

    @property
    def method(self) -> str:
        """The method of intervals that summaries and pictures show."""
        return "bca" if len(self.weight_jackknife) > 1 else "percentile"

    def rank_switches(self, top: int = 20, least: float = 0.05) -> pd.DataFrame:
        """Pairs of features whose order by weight is not the same in all resamples.

        Parameters
        ----------
        top : int, default 20
            Number of the heaviest features among which pairs are looked for.
        least : float, default 0.05
            Smallest share of the resamples in which a pair changes places.

        Returns
        -------
        pandas.DataFrame
            Columns ``heavier`` and ``lighter`` (in the fit) and ``switched``, the share of
            resamples in which the order is the other one; most frequent first.
        """
        check_integer("top", top, least=2)
        check_number("least", least, above=0, below=1)
        w = self.weights.to_numpy(dtype=float)
        order = np.argsort(-w, kind="stable")[:top]
        drawn = self.weight_draws[:, order]
        first, second = np.triu_indices(len(order), 1)
        share = (drawn[:, second] > drawn[:, first]).mean(axis=0)
        hit = np.flatnonzero(share >= least)
        hit = hit[np.argsort(-share[hit], kind="stable")]
        names = self.weights.index.to_numpy()[order]
        return pd.DataFrame(
            {"heavier": names[first[hit]], "lighter": names[second[hit]], "switched": share[hit]}
        )

    def summary(self, top: int = 10, level: float = 0.95) -> EWPSummary:
        """Table of the heaviest features with their intervals, and notes in words."""
        return summarise_bootstrap(self, top, level)

    def plot(self, ax: Axes | None = None, top: int = 20, level: float = 0.95) -> Axes:
        """Draw weights with intervals beside selection frequencies.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw the intervals alone. By default a new figure with the frequencies
            beside them.
        top : int, default 20
            Number of features, heaviest first.
        level : float, default 0.95

        Returns
        -------
        Axes
        """
        return plot_bootstrap(self.weight_intervals(level, self.method), level, top=top, ax=ax)

    def __repr__(self) -> str:
        k, p = self.centroids.shape
        state = "" if self.complete else ", interrupted"
        return f"BootstrapResults: {self.n_boot} resamples{state}, {p} weights, {k} x {p} centroids"


def bootstrap(
    results: FittedResults,
    /,
    n_boot: int = 200,
    *,
    n_jackknife: int = 50,
    threshold: float | None = None,
    X: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> BootstrapResults:
    """Put intervals on weights and centroids by resampling the rows.

    Each resample is fitted from the estimates of this fit: the limit problem is iterated to
    its fixed point and, with up to seven clusters, polished lightly. Afterwards ``summary()``
    and ``plot_weights()`` of this object show the intervals. Everything is conditional on the
    number of clusters, the penalty, the scaling and the form of the weights.

    Parameters
    ----------
    results : EWPResults
        The fit, where this is not called as a method of it.
    n_boot : int, default 200
        Number of resamples.
    n_jackknife : int, default 50
        Number of parts of the rows that are left out in turn for the acceleration of BCa
        intervals; 0 leaves percentile intervals only.
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
        With ``weight_intervals()``, ``centroid_intervals()``, ``log_ratios()``,
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
    """
    check_integer("n_boot", n_boot, least=2)
    check_integer("n_jackknife", n_jackknife, least=0)
    source = fitted_data(results, X, sample_weight)
    included = int(np.count_nonzero(results.prior > 0))
    limit = 1.0 / included if threshold is None else check_number("threshold", threshold, below=1)
    if limit < 0:
        raise ValueError(f"threshold={threshold!r} must be a weight: 0 or more, and below 1")
    resampler = Resampler.of(source.X, source.weight, source.options.n_clusters)
    grouping, *rngs = generator(random_state).spawn(1 + n_boot)
    groups = min(n_jackknife, len(resampler.rows))
    parts = resampler.leave_out(groups, grouping) if groups > 1 else []
    drawn = (Resample(*resampler.draw(rng), seed_of(rng)) for rng in rngs)
    left_out = (Resample(*part, seed_of(grouping)) for part in parts)
    fits, complete = run_replicates(
        refit,
        ((source, batch) for batch in in_batches(source, chain(drawn, left_out))),
        total=n_boot + len(parts),
        what="resamples",
        n_jobs=n_jobs,
        progress=progress,
    )
    found, jackknife = fits[:n_boot], fits[n_boot:] if complete else []
    k, p = source.centroids.shape
    whole = source.to_data_units(source.centroids)

    def shifts(fits: list[Any]) -> np.ndarray:
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
    )


def summarise_bootstrap(found: BootstrapResults, top: int, level: float) -> EWPSummary:
    """Heaviest features with intervals, and the pairs that change places."""
    check_integer("top", top, least=1)
    table = found.weight_intervals(level, found.method)
    heaviest = table.iloc[np.argsort(-table["weight"].to_numpy(), kind="stable")[:top]]
    notes = [
        f"lower, upper: {short(100 * level)} % {INTERVAL_METHODS[found.method]} interval on the "
        "log-ratio scale; se and bias over the resamples.",
        f"selected: share of resamples with a weight above {short(found.threshold, 3)}.",
    ]
    if len(table) > 1:
        pairs = found.rank_switches(max(top, 2))
        listed = "; ".join(
            f"{one_line(heavier)} and {one_line(lighter)} in {whole_percent(share)}"
            for heavier, lighter, share in pairs.head(_MAX_PAIRS).to_numpy().tolist()
        )
        more = len(pairs) - _MAX_PAIRS
        if listed:
            tail = f"; ... and {more} more pairs" if more > 0 else ""
            notes.append(f"Order reversed in resamples: {listed}{tail}.")
        else:
            notes.append(
                f"The order of the {min(max(top, 2), len(table))} heaviest features is the same "
                "in at least 95 % of the resamples."
            )
    if len(table) > top:
        notes.append(f"... and {len(table) - top} more features.")
    biased = int((heaviest["bias"].abs() > heaviest["se"]).sum())
    if biased:
        notes.append(
            f"The bias exceeds the standard error in {biased} of these features: there are few "
            "rows per cluster for so many features, and intervals are rough."
        )
    if found.converged < 1:
        notes.append(f"{whole_percent(found.converged)} of the fits converged.")
    notes += [CONDITIONAL, _LOCAL]
    if not found.complete:
        notes.append(INTERRUPTED)
    title = f"Bootstrap of the weights, {found.n_boot} resamples"
    shown = pd.DataFrame(interval_cells(heaviest), index=heaviest.index)
    for name in ("se", "bias"):
        shown[name] = [scientific(value) for value in heaviest[name]]
    shown["selected"] = [whole_percent(share) for share in heaviest["selected"]]
    return render_table(title, shown, notes)


def plot_bootstrap(
    table: pd.DataFrame, level: float, *, top: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw weights with their intervals and, beside them, selection frequencies.

    Parameters
    ----------
    table : DataFrame
        `BootstrapResults.weight_intervals`.
    level : float
        Of the intervals.
    top : int, default 20
        Number of features, heaviest first.
    ax : Axes, optional
        Where to draw the intervals alone.
    """
    shown = heaviest_rows(table, table["weight"].to_numpy(), top)
    rows = np.arange(len(shown))
    panels = side_by_side((7.2, height_of_rows(len(shown), 1.3)), (3, 1)) if ax is None else [ax]
    main = panels[0]
    main.hlines(rows, shown["lower"], shown["upper"], color=PALETTE[0], linewidth=2.2, zorder=2)
    main.plot(shown["weight"], rows, "o", color=INK, markersize=4.5, zorder=3)
    main.axvline(1 / len(table), color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    frame, equal = main.get_xaxis_transform(), f" uniform, 1/{len(table)}"
    main.text(1 / len(table), 1.01, equal, transform=frame, fontsize="small", color=INK)
    name_rows(main, shown.index)
    start_at_zero(main, shown[["lower", "upper"]].to_numpy())
    rest = len(table) - len(shown)
    note = f"\n{rest} more features" if rest else ""
    main.set_xlabel(f"weight, {short(100 * level)} % interval{note}")
    for side in panels[1:]:
        side.barh(rows, 100 * shown["selected"], height=0.62, color=PALETTE[4], zorder=2)
        side.set_xlim(0, 100)
        side.set_xticks([0, 50, 100])
        side.set_xlabel("selected, %")
        side.tick_params(axis="y", length=0)
        side.grid(axis="x", **GRID)
        despine(side)
    return main
