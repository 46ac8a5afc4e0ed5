"""Pictures of consistency: errors against n, and the annealing against its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ewp.diagnostic_plots import GRID
from ewp.drawing import INK, PALETTE, despine, new_axes
from ewp.rates import typical_errors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ewp.consistency import ConsistencyResults

__all__ = ["plot_along_s", "plot_consistency"]

#: From this ratio on, powers of ten are enough to mark an axis.
_WIDE = 1e3
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
        slope = found.slopes.loc[name]
        if slope["slope"] == -np.inf:
            continue
        shift = 0.97 if i == 0 else 1.03
        top.plot(at * shift, rows[name], ".", color=colour, alpha=0.25, markersize=5)
        errors = rows[name].to_numpy(dtype=float).reshape(-1, len(n))
        logs = typical_errors(errors, found.reference == "population")
        line = np.exp(logs.mean() + slope["slope"] * (np.log(n) - np.log(n).mean()))
        ends = f" [{slope['lower']:.2f}, {slope['upper']:.2f}]" if slope["se"] >= 0 else ""
        text = f"{words}: slope {slope['slope']:.2f}{ends}"
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
        `ewp.rates.along_s`.
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
    ticks = np.unique([float(f"{tick:.3g}") for tick in np.geomspace(s.min(), s.max(), 6)])
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
