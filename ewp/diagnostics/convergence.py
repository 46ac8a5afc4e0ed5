"""How fast estimates converge: slopes over growing samples, distances along the annealing.

Nothing here fits anything: `convergence_rate` regresses errors that were measured, `along_s` reads
the trace of a fit that is finished. `ConsistencyResults`, its words and its pictures are here too;
the fits to growing subsamples are made in `ewp.diagnostics.consistency`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from ewp.common.types import Array, FittedResults
from ewp.display.axes import GRID, INK, PALETTE, despine, new_axes
from ewp.display.formatting import fixed, short
from ewp.display.summary import INTERRUPTED, EWPSummary, SummaryMixin, render_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = [
    "ERRORS",
    "ConsistencyResults",
    "along_s",
    "convergence_rate",
    "effective_size",
]

#: Measures of error whose slopes are estimated, and those that decide the verdict.
ERRORS = ("weights", "effective_features", "centroids")
DECISIVE = ("weights", "centroids")
#: Half-way between no convergence and the rate of the theorem, on the log-log scale.
_HALF_WAY = -0.25
_SMALLEST = float(np.finfo(float).eps)
_ROUNDING = 1e-7
_WORDS = {
    "weights": "weights (sum of absolute differences)",
    "centroids": "centroids (distance in the weighted metric)",
}
#: From this ratio on, powers of ten are enough to mark an axis.
_WIDE = 1e3


def effective_size(sizes: Any, n_obs: int, population: bool) -> Array:
    """Sizes that set the errors: n itself, or 1/(1/n - 1/N) against the fit of all N rows."""
    sizes = np.asarray(sizes, dtype=float)
    return sizes if population else 1.0 / (1.0 / sizes - 1.0 / n_obs)


def along_s(results: FittedResults) -> pd.DataFrame:
    r"""The annealing of a fit against its limit, from the trace alone.

    Parameters
    ----------
    results : EWPResults

    Returns
    -------
    pandas.DataFrame
        One row per iteration up to the fixed point of the limit problem: ``s``; ``gap``,
        :math:`f_s - f_{-\infty}` at the parameters of the iteration; ``gap_bound``,
        :math:`(k^{-1/s} - 1) \sum_i \min_j d_{ij}`, which no gap exceeds whatever the parameters
        (the uniform convergence of the paper's Theorem 2; known from the trace for the paper's
        own penalty only, else NaN); ``excess``, :math:`f_s` minus the limit's final value;
        ``effective_features`` minus the limit's; and bounds ``weights`` (l1) and ``centroids``
        (standard deviations of the features, root mean square) on the distance to the limit: the
        length of the path that is still to go, which the distance cannot exceed.
    """
    trace = results.objective_trace
    trace = trace[trace["phase"] != "polish"]
    s = trace["s"].to_numpy(dtype=float)
    value = trace["f_inf"].to_numpy(dtype=float)
    features = trace["effective_features"].to_numpy(dtype=float)
    uniform = np.ptp(results.prior[results.prior > 0]) == 0 and results.dispersion == "within"
    offset = np.log(results.prior[results.prior > 0][0])
    nearest = value + results.lam * (trace["entropy"].to_numpy(dtype=float) + offset)
    factor = np.expm1(-np.log(results.n_clusters) / s)
    return pd.DataFrame(
        {
            "iteration": trace["iteration"].to_numpy(),
            "s": s,
            "gap": trace["f_s"].to_numpy(dtype=float) - value,
            "gap_bound": factor * nearest if uniform else np.full(len(s), np.nan),
            "excess": trace["f_s"].to_numpy(dtype=float) - value[-1],
            "effective_features": features - features[-1],
            "weights": 2.0 * _still_to_go(trace["delta_weights"]),
            "centroids": _still_to_go(trace["delta_centroids"]),
        }
    )


def _still_to_go(steps: pd.Series) -> Array:
    """Length of the path from each iteration to the last; the last step is not taken."""
    lengths = np.append(steps.to_numpy(dtype=float)[:-1], 0.0)
    return np.cumsum(lengths[::-1])[::-1]


def typical_errors(errors: Array, population: bool) -> Array:
    """Logarithms of the typical errors by size, through which the line of the slope goes.

    Against the full fit they are root mean squares: a replicate that happens to find the full
    fit's own solution does not hide that others do not. Against a population the replicates of
    the largest sizes are nearly one sample, and means of the logarithms have the better intervals.

    Parameters
    ----------
    errors : ndarray of shape (replicates, sizes)
    population : bool
    """
    errors = np.maximum(errors, _SMALLEST)
    squares: Array = errors**2
    return 0.5 * (np.log(squares).mean(axis=0) if population else np.log(squares.mean(axis=0)))


def convergence_rate(
    sizes: Sequence[float] | Array, errors: Array, n_obs: int, *, population: bool, level: float
) -> tuple[float, float, float, float]:
    r"""Slope of log error in log n over nested subsamples, with an interval.

    The least-squares slope of `typical_errors`, with a standard error from the replicates' shares
    in it. Against the full fit the replicates are independent given the data. Against a population
    they share rows, and two errors of size m and m' have, for estimators that are sums over rows,
    correlation :math:`\sqrt{m m'}/N` between replicates and :math:`\sqrt{\min/\max}` within;
    correlations of log-errors are about their squares. The variance between replicates is inflated
    accordingly.

    Parameters
    ----------
    sizes : sequence of float
        Increasing numbers of rows.
    errors : ndarray of shape (replicates, sizes)
    n_obs : int
        Rows from which the subsamples were drawn.
    population : bool
        Whether errors are distances to a population instead of the full fit.
    level : float

    Returns
    -------
    slope, lower, upper, se : float
        ``-inf`` and NaN if all errors are zero.
    """
    m = np.asarray(sizes, dtype=float)
    if not (errors > _SMALLEST).any():
        return -np.inf, np.nan, np.nan, np.nan
    x = np.log(effective_size(m, n_obs, population))
    x = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    typical = typical_errors(errors, population)
    slope, count = float(typical @ x), len(errors)
    if count < 2:
        return slope, np.nan, np.nan, np.nan
    shares = np.log(np.maximum(errors, _SMALLEST)) - typical
    inflation = 1.0 / count
    if population:
        within = x @ (np.minimum.outer(m, m) / np.maximum.outer(m, m)) @ x
        between = (x @ m / n_obs) ** 2
        shared = within / count + (1.0 - 1.0 / count) * between
        inflation = shared / (within - between)
    else:
        shares = 0.5 * np.expm1(2.0 * shares)
    se = float(np.sqrt((shares @ x).var(ddof=1) * inflation))
    half = float(student.ppf((1.0 + level) / 2, count - 1)) * se
    return slope, slope - half, slope + half, se


@dataclass(eq=False, repr=False)
class ConsistencyResults(SummaryMixin):
    """How fits to subsamples approach a reference.

    Instances come from :meth:`ewp.EWPResults.consistency`.

    Attributes
    ----------
    replicates : pandas.DataFrame
        One row per fit: ``replicate``, ``n``, the errors ``weights`` (l1 distance),
        ``effective_features`` (difference of the exponentials of the entropies) and ``centroids``
        (root mean square over matched clusters, in the reference's w-norm), ``objective_per_row``,
        ``ari`` (with the full fit, on the rows of the subsample), ``converged``.
    slopes : pandas.DataFrame
        One row per error: ``slope`` of its logarithm in log n, ``lower``, ``upper``, ``se``.
    along_s : pandas.DataFrame
        The annealing of the full fit against its limit, see
        :func:`ewp.diagnostics.convergence.along_s`.
    reference : {"full fit", "population"}
    n_obs : int
        Rows of the full fit.
    level : float
        Of the intervals of the slopes.
    complete : bool
        False if the replicates were interrupted.
    """

    replicates: pd.DataFrame
    slopes: pd.DataFrame
    along_s: pd.DataFrame
    reference: str
    n_obs: int
    level: float
    complete: bool

    @property
    def table(self) -> pd.DataFrame:
        """One row per size: mean and, as ``*_sd``, standard deviation of every measure."""
        measures = [*ERRORS, "objective_per_row", "ari"]
        grouped = self.replicates.groupby("n")[measures]
        mean, spread = grouped.mean(), grouped.std()
        columns = {}
        for name in measures:
            columns[name] = mean[name]
            columns[f"{name}_sd"] = spread[name]
        return pd.DataFrame(columns)

    @property
    def effective_n(self) -> pd.Series:
        """Size that sets the error of each subsample, by its number of rows.

        Against a population it is n itself. A subsample of m of the N rows of the full fit
        differs from it as a sample of 1/(1/m - 1/N) rows differs from a population.
        """
        sizes = np.sort(self.replicates["n"].unique())
        scale = effective_size(sizes, self.n_obs, self.reference == "population")
        return pd.Series(scale, index=pd.Index(sizes, name="n"), name="effective_n")

    @property
    def verdicts(self) -> pd.Series:
        """What the slope says of each error: "seen", "not seen", "undecided" or "exact".

        Convergence is seen if the whole interval is steeper than -1/4, half-way between no
        convergence and the theorem's rate, and not seen if the whole interval is flatter.
        """
        ends = self.slopes[["slope", "lower", "upper"]].to_numpy(dtype=float)
        return pd.Series([_judge(*row) for row in ends], index=self.slopes.index, name="verdict")

    @property
    def verdict(self) -> str:
        """The verdict on weights and centroids together: the less favourable of the two."""
        found = set(self.verdicts[list(DECISIVE)])
        for worst in ("not seen", "undecided", "seen"):
            if worst in found:
                return worst
        return "exact"

    def summary(self) -> EWPSummary:
        """Table by size, with slopes and the verdict in words."""
        return summarise_consistency(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the errors of weights and centroids against n on a log-log scale.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw the errors alone. By default a new figure with the agreement of the
            partitions below.

        Returns
        -------
        Axes
        """
        return plot_consistency(self, ax=ax)

    def plot_along_s(self, ax: Axes | None = None) -> Axes:
        """Draw how the annealing approaches its limit as s falls.

        An automatic start goes to the limit as soon as the clusters are told apart; a fit with a
        number for `s0` anneals to the end and shows all of the approach.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        Axes
        """
        return plot_along_s(self.along_s, ax=ax)

    def __repr__(self) -> str:
        slopes = ", ".join(f"{name} {fixed(self.slopes['slope'][name])}" for name in DECISIVE)
        state = "" if self.complete else ", interrupted"
        return f"ConsistencyResults: {self.verdict} (log-log slopes: {slopes}){state}"


def _judge(slope: float, lower: float, upper: float) -> str:
    if slope == -np.inf:
        return "exact"
    if upper < _HALF_WAY:
        return "seen"
    return "not seen" if lower > _HALF_WAY else "undecided"


def summarise_consistency(found: ConsistencyResults) -> EWPSummary:
    """Errors by size, slopes and the verdict."""
    table = found.table
    shown = pd.DataFrame(index=[f"n = {n}" for n in table.index])
    headings = {
        "weights": "weights",
        "effective_features": "eff. features",
        "centroids": "centroids",
        "objective_per_row": "objective/n",
        "ari": "ARI",
    }
    for name, heading in headings.items():
        pairs = zip(table[name], table[f"{name}_sd"], strict=True)
        shown[heading] = [
            short(mean, 3) + ("" if np.isnan(spread) else f" ({_spread(mean, spread)})")
            for mean, spread in pairs
        ]
    title = f"Consistency: distance from the {found.reference} as n grows"
    return render_table(title, shown, _consistency_notes(found))


def _spread(mean: float, spread: float) -> str:
    """Standard deviation to one digit, 0 if of rounding errors: all rows are one sample."""
    return short(float(short(spread, 1))) if spread > _ROUNDING * (abs(mean) + _ROUNDING) else "0"


def _consistency_notes(found: ConsistencyResults) -> Iterable[str]:
    count = found.replicates["replicate"].nunique()
    yield f"Means over {count} nested subsamples, standard deviations in brackets."
    for name, words in _WORDS.items():
        ends = found.slopes.loc[[name], ["slope", "lower", "upper"]].to_numpy(dtype=float)
        slope, lower, upper = ends[0].tolist()
        if slope == -np.inf:
            yield f"{words}: no error at any n."
            continue
        interval = f" [{fixed(lower)}, {fixed(upper)}]" if np.isfinite(lower) else ""
        yield f"{words}: log-log slope {fixed(slope)}{interval}, {_rate_words(lower, upper)}."
    sizes = found.replicates["n"]
    reach = f"between {sizes.min()} and {sizes.max()} rows"
    yield {
        "seen": f"Consistency is seen {reach}: weights and centroids approach the "
        f"{found.reference}.",
        "exact": f"Consistency is seen {reach}: there is no error at all.",
        "not seen": f"CONSISTENCY IS NOT SEEN {reach}: the estimates do not approach the "
        f"{found.reference}. There may be no unique best solution, for instance because "
        "the number of clusters is too large, or the rows are too few to find it.",
        "undecided": f"Whether there is consistency cannot be told {reach}: more replicates or a "
        "wider range of sizes would help.",
    }[found.verdict]
    if found.reference == "full fit":
        yield (
            "Slopes are of root mean squares in 1/(1/n - 1/N), which allows for the rows that "
            f"subsamples share with the full fit of N = {found.n_obs}."
        )
    path = found.along_s
    soft = path[np.isfinite(path["s"])]
    if len(soft) > 1:
        first, last = soft.iloc[0], soft.iloc[-1]
        yield (
            f"Along s, from {short(first['s'], 3)} to {short(last['s'], 3)}: f_s - f_-inf falls "
            f"from {short(first['gap'], 3)} to {short(last['gap'], 3)}, the weights come from "
            f"within {short(min(first['weights'], 2.0), 2)} to within "
            f"{short(last['weights'], 2)} of their limit (sum of absolute differences)."
        )
    if not found.complete:
        yield INTERRUPTED


def _rate_words(lower: float, upper: float) -> str:
    if not np.isfinite(lower):
        return "without an interval"
    if lower <= -0.5 <= upper:
        return "which contains the theorem's -1/2" + (", and 0 too" if upper >= 0 else "")
    if upper < -0.5:
        return "steeper than -1/2"
    return "flatter than -1/2" + (" and not different from 0" if upper >= 0 >= lower else "")


_ERRORS = {
    "weights": (PALETTE[0], "o", "weights, $\\ell_1$"),
    "centroids": (PALETTE[3], "s", "centroids"),
}


def plot_consistency(found: ConsistencyResults, *, ax: Axes | None = None) -> Axes:
    """Draw errors against n on a log-log scale and, below, the agreement of the partitions.

    Parameters
    ----------
    found : ConsistencyResults
    ax : Axes, optional
        Where to draw the errors alone.
    """
    panels = new_axes((6.4, 5.4), (3, 1.1)) if ax is None else [ax]
    top = panels[0]
    rows, scale = found.replicates, found.effective_n
    n = scale.to_numpy()
    at = scale[rows["n"]].to_numpy()
    for i, (name, (colour, marker, words)) in enumerate(_ERRORS.items()):
        ends = ["slope", "lower", "upper"]
        slope, lower, upper = found.slopes.loc[[name], ends].to_numpy(dtype=float)[0].tolist()
        if slope == -np.inf:
            continue
        shift = 0.97 if i == 0 else 1.03
        top.plot(at * shift, rows[name], ".", color=colour, alpha=0.25, markersize=5)
        errors = rows[name].to_numpy(dtype=float).reshape(-1, len(n))
        logs = typical_errors(errors, found.reference == "population")
        line = np.exp(logs.mean() + slope * (np.log(n) - np.log(n).mean()))
        interval = f" [{fixed(lower)}, {fixed(upper)}]" if np.isfinite(lower) else ""
        text = f"{words}: slope {fixed(slope)}{interval}"
        top.plot(n, line, color=colour, linewidth=1.6, label=text)
        top.plot(n * shift, np.exp(logs), marker, color=colour, markersize=6, zorder=3)
        guide = np.exp(logs.mean() - 0.5 * (np.log(n) - np.log(n).mean()))
        label = "slope $-1/2$" if i else None
        top.plot(n, guide, color=INK, linewidth=1, linestyle=(0, (4, 3)), label=label)
    top.set(xscale="log", yscale="log", ylabel=f"distance from the {found.reference}")
    top.legend(fontsize="small", frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    for below in panels[1:]:
        grouped = rows.groupby("n")["ari"]
        low, middle, high = (grouped.quantile(q).to_numpy() for q in (0.25, 0.5, 0.75))
        below.fill_between(n, low, high, color=PALETTE[2], alpha=0.2, lw=0)
        below.plot(n, middle, "-o", color=PALETTE[2], markersize=4)
        below.set_ylabel("ARI with\nthe full fit")
        below.set_ylim(top=1.04)
    last = panels[-1]
    last.set_xticks(n, [f"{size}" for size in scale.index])
    last.minorticks_off()
    corrected = "" if found.reference == "population" else ", placed at 1/(1/n − 1/N)"
    last.set_xlabel(f"rows n{corrected}")
    for panel in panels:
        despine(panel)
        panel.grid(**GRID)
    return top


def plot_along_s(path: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw what separates the annealing from its limit against the exponent.

    Parameters
    ----------
    path : DataFrame
        `ewp.diagnostics.convergence.along_s`.
    ax : Axes, optional
    """
    from matplotlib.ticker import LogLocator, NullLocator

    ax = new_axes((6.4, 4.2))[0] if ax is None else ax
    soft = path[np.isfinite(path["s"])]
    if soft.empty:
        raise ValueError("the fit started at the limit: there is no annealing to draw")
    s = -soft["s"].to_numpy()
    scale = max(float(np.abs(path["gap"]).max()), np.finfo(float).tiny)
    lines = {
        "gap_bound": ("bound on $f_s - f_{-\\infty}$ (relative)", INK, (0, (4, 3)), scale),
        "gap": ("$f_s - f_{-\\infty}$ (relative to its largest)", PALETTE[0], "-", scale),
        "weights": ("weights, $\\ell_1$ still to go", PALETTE[3], "-", 1.0),
        "centroids": ("centroids, sd still to go", PALETTE[2], "-", 1.0),
    }
    for name, (words, colour, style, unit) in lines.items():
        values = soft[name].to_numpy(dtype=float) / unit
        if np.isfinite(values).any():
            ax.plot(s, values, color=colour, linestyle=style, linewidth=1.7, label=words)
    ax.set(xscale="log", yscale="log", xlabel="$-s$", ylabel="distance from the limit")
    ticks = np.unique([float(short(tick, 3)) for tick in np.geomspace(s.min(), s.max(), 6)])
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    bottom, top = ax.get_ylim()
    if top < _WIDE * bottom:
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter("{x:g}")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
    ax.legend(fontsize="small", frameon=False)
    ax.grid(**GRID)
    despine(ax)
    return ax
