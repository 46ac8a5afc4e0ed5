"""The paper's motivating example, run from the command line by ``ewp demo``.

Simulation 2 with 20 clusters in 100 features, of which 5 matter: EWP raw and standardised beside
k-means, with the summary, a table of normalised mutual information and a picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from ewp.datasets import make_simulation2
from ewp.model import fit
from ewp.results import EWPResults

__all__ = ["Demo", "draw", "run"]


@dataclass
class Demo:
    """What the demonstration found.

    Attributes
    ----------
    X : ndarray of shape (n, p)
    truth : ndarray of shape (n,)
    relevant : ndarray
        Columns in which the clusters differ.
    raw, standardised : EWPResults
    kmeans : dict
        Labels of k-means by scaling, "raw" and "standardised".
    """

    X: np.ndarray
    truth: np.ndarray
    relevant: np.ndarray
    raw: EWPResults
    standardised: EWPResults
    kmeans: dict[str, np.ndarray]

    def table(self) -> pd.DataFrame:
        """Agreement of every method with the true clusters, and weight on the true features."""
        rows = {
            ("k-means (10 starts)", name): (labels, np.nan) for name, labels in self.kmeans.items()
        }
        for name, found in (("raw", self.raw), ("standardised", self.standardised)):
            weight = float(found.weights.iloc[self.relevant].sum())
            rows["EWP", name] = found.labels.to_numpy(), weight
        return pd.DataFrame(
            {
                "NMI": {
                    key: normalized_mutual_info_score(self.truth, labels)
                    for key, (labels, _) in rows.items()
                },
                "ARI": {
                    key: adjusted_rand_score(self.truth, labels)
                    for key, (labels, _) in rows.items()
                },
                "weight on relevant": {key: weight for key, (_, weight) in rows.items()},
            }
        ).rename_axis(["method", "features"])


def run(seed: int = 0, k: int = 20) -> Demo:
    """Fit the example.

    Parameters
    ----------
    seed : int
        Seed of the data and of all methods.
    k : int
        Number of clusters.

    Examples
    --------
    >>> nmi = run(k=5).table()["NMI"]
    >>> bool(nmi["EWP"].min() > nmi["k-means (10 starts)"].max())
    True
    """
    X, truth, relevant = make_simulation2(k, random_state=seed)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    n = len(X)
    return Demo(
        X,
        truth,
        relevant,
        raw=fit(X, k, 0.05 * n, scale=None, dispersion="within", random_state=seed),
        standardised=fit(X, k, 0.15 * n, scale="standard", random_state=seed),
        kmeans={
            name: KMeans(k, n_init=10, random_state=seed).fit_predict(data)
            for name, data in (("raw", X), ("standardised", scaled))
        },
    )


def draw(found: Demo, path: Path) -> None:
    """Write the picture: the two partitions in the plane of two relevant features, the weights.

    Parameters
    ----------
    found : Demo
    path : Path
        File to write; its suffix chooses the format.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from ewp import plots

    figure = Figure(figsize=(11, 8), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(2, 2)
    table = found.table()["NMI"]
    plane = found.X[:, found.relevant[:2]]
    names = [f"x{i}" for i in found.relevant[:2]]
    for ax, labels, key in (
        (axes[0, 0], found.kmeans["standardised"], ("k-means (10 starts)", "standardised")),
        (axes[0, 1], found.standardised.labels.to_numpy(), ("EWP", "standardised")),
    ):
        centroids = pd.DataFrame(plane).groupby(labels).mean().to_numpy()
        plots.plot_clusters(plane, labels, centroids, [0.5, 0.5], names=names, ax=ax)
        ax.set_title(f"{key[0]}, {key[1]}: NMI {table[key]:.2f}")
    found.standardised.plot_weights(ax=axes[1, 0], top=10)
    found.standardised.plot_trace(ax=axes[1, 1])
    figure.savefig(path, dpi=120)
