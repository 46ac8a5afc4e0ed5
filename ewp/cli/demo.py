"""The paper's motivating example, run from the command line by ``ewp demo``.

Simulation 2 with 20 clusters in 100 features, of which 5 matter: EWP beside its peers on raw and
on standardised features, with a summary, a table and a picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ewp.common.files import problem_with_target, written_aside
from ewp.comparison.compare import compare
from ewp.comparison.results import Comparison
from ewp.datasets import make_simulation2
from ewp.display.formatting import fixed
from ewp.estimator import fit
from ewp.results.results import EWPResults

__all__ = [
    "Demo",
    "draw",
    "run",
]

_TITLES = {
    "kmeans": "k-means",
    "wkmeans": "WK-means",
    "power": "power k-means",
    "sparse": "sparse k-means",
    "ewp": "EWP",
}
#: EWP's penalty per row.
_PENALTIES = {"raw": 0.05, "standardised": 0.15}


@dataclass
class Demo:
    """What the demonstration found.

    Attributes
    ----------
    X : ndarray of shape (n, p)
    relevant : ndarray
        Columns in which the clusters differ.
    results : EWPResults
        A fit on standardised features.
    comparisons : dict of Comparison
        By scaling, "raw" and "standardised".
    """

    X: np.ndarray
    relevant: np.ndarray
    results: EWPResults
    comparisons: dict[str, Comparison]

    def table(self) -> pd.DataFrame:
        """Agreement of every method with the true clusters, and weight on the true features."""
        columns: dict[tuple[str, str], Any] = {}
        for scaling, found in self.comparisons.items():
            columns["NMI", scaling] = found.table()["nmi"]
        for scaling, found in self.comparisons.items():
            weight = found.weights.iloc[:, self.relevant].sum(axis=1)
            columns["weight on relevant", scaling] = weight.groupby(level="method").mean()
        return pd.DataFrame(columns).reindex(list(_TITLES)).rename(index=_TITLES).rename_axis(None)


def run(seed: int = 0, k: int = 20, n_trials: int = 3) -> Demo:
    """Fit the example.

    Parameters
    ----------
    seed : int
        Seed of the data and of all methods.
    k : int
        Number of clusters.
    n_trials : int
        Number of random starts of every method.

    Examples
    --------
    >>> nmi = run(k=5, n_trials=1).table()["NMI"]
    >>> bool(nmi.loc["EWP"].min() > nmi.loc["k-means"].max())
    True
    """
    X, truth, relevant = make_simulation2(k, random_state=seed)
    n = len(X)
    return Demo(
        X,
        relevant,
        results=fit(X, k, _PENALTIES["standardised"] * n, scale="standard", random_state=seed),
        comparisons={
            scaling: compare(
                X,
                k,
                truth,
                methods=tuple(_TITLES),
                n_trials=n_trials,
                scale="standard" if scaling == "standardised" else None,
                lam=share * n,
                wbound=len(relevant) ** 0.5,
                random_state=seed,
            )
            for scaling, share in _PENALTIES.items()
        },
    )


def problem_with(path: Path) -> str | None:
    """Why a picture cannot be written to a path; None if it can, as far as one sees beforehand."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    formats = FigureCanvasAgg.get_supported_filetypes()
    if not path.is_dir() and path.suffix.lower().removeprefix(".") not in formats:
        return f"the suffix must be one of {', '.join(sorted(formats))}"
    return problem_with_target(path)


def draw(found: Demo, path: Path) -> None:
    """Write the picture: two partitions in the plane of two relevant features, the weights.

    Parameters
    ----------
    found : Demo
    path : Path
        File to write; its suffix chooses the format.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from ewp.display import plots

    figure = Figure(figsize=(11, 8), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(2, 2)
    comparison = found.comparisons["standardised"]
    plane = found.X[:, found.relevant[:2]]
    names = [f"x{i}" for i in found.relevant[:2]]
    first = comparison.scores[comparison.scores["trial"] == 0].set_index("method")["nmi"]
    for ax, method in ((axes[0, 0], "kmeans"), (axes[0, 1], "ewp")):
        labels = comparison.labels[method].iloc[0].to_numpy()
        centroids = pd.DataFrame(plane).groupby(labels).mean().to_numpy()
        plots.plot_clusters(plane, labels, centroids, [0.5, 0.5], names=names, ax=ax)
        ax.set_title(f"{_TITLES[method]}, standardised: NMI {fixed(first[method])}")
    found.results.plot_weights(ax=axes[1, 0], top=10)
    found.results.plot_trace(ax=axes[1, 1])
    with written_aside(path) as file:
        figure.savefig(file, dpi=120, format=path.suffix.lower().removeprefix("."))
