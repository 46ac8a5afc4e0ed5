"""Face images: whether partitions follow the persons or the conditions of the photographs.

The files have the images of each person in the same order, so that the place of an image among
those of its person says under which condition (light, expression, pose) it was taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

from validation.cells import Cell, Store
from validation.data import FACES, SEED, available, load, scaled
from validation.page import Table
from validation.same_starts import choose_default

__all__ = ["face_cells", "followed", "places", "share", "what_is_followed"]


def face_cells() -> list[Cell]:
    """What partitions of the face images follow."""
    return [
        Cell("face_images.what_is_followed", {"name": name, "data": available()[name]}, rank=3)
        for name in FACES
        if name in available()
    ]


def places(y: np.ndarray) -> np.ndarray:
    """Place of each row among those of its class.

    Examples
    --------
    >>> places(np.array([0, 0, 1, 0, 1])).tolist()
    [0, 1, 0, 2, 1]
    """
    return np.array([np.count_nonzero(y[:i] == one) for i, one in enumerate(y)])


def share(Z: np.ndarray, groups: np.ndarray) -> float:
    """Share of the sum of squares that lies between groups."""
    Z = Z - Z.mean(axis=0)
    between = sum(
        np.count_nonzero(groups == one) * (Z[groups == one].mean(axis=0) ** 2).sum()
        for one in np.unique(groups)
    )
    return float(between / (Z**2).sum())


def what_is_followed(name: str, data: str) -> dict[str, Any]:
    """Agreement of this package's default and of k-means with persons and with conditions.

    Parameters
    ----------
    name : {"warpAR10P", "warpPIE10P"}
    data : str
        Hash of the data.
    """
    X, y, k = load(name)
    Z = scaled(X, "standardised")
    partitions = {
        "this package's default": choose_default(X, k, SEED)["labels"],
        "k-means, best of 20 starts": KMeans(k, n_init=20, random_state=SEED).fit_predict(Z),
    }
    groups = {"person": y, "condition": places(y)}
    return {
        "share": {kind: share(Z, group) for kind, group in groups.items()},
        "nmi": {
            method: {
                kind: normalized_mutual_info_score(group, labels) for kind, group in groups.items()
            }
            for method, labels in partitions.items()
        },
        "ami": {
            method: {
                kind: adjusted_mutual_info_score(group, labels) for kind, group in groups.items()
            }
            for method, labels in partitions.items()
        },
    }


def followed(store: Store) -> list[str | Table]:
    """Agreement of partitions with persons and with conditions, where it was computed."""
    rows = []
    leads = []
    for cell, value in store.finished(face_cells()):
        for method, adjusted in value["ami"].items():
            leads.append(adjusted["condition"] > adjusted["person"])
            rows.append(
                {
                    "data": cell.inputs["name"],
                    "partition": method,
                    "NMI, person": f"{value['nmi'][method]['person']:.3f}",
                    "NMI, condition": f"{value['nmi'][method]['condition']:.3f}",
                    "AMI, person": f"{adjusted['person']:.3f}",
                    "AMI, condition": f"{adjusted['condition']:.3f}",
                    "variance, person": f"{value['share']['person']:.0%}",
                    "variance, condition": f"{value['share']['condition']:.0%}",
                }
            )
    if not rows:
        return []
    table = Table(
        pd.DataFrame(rows),
        "What partitions of the face images follow. The condition of an image is its place among "
        "those of its person, which come in the same order for each. NMI is high by chance with "
        "many small groups; AMI, adjusted mutual information, is 0 on average by chance. The last "
        "columns are the share of the variance of standardised pixels that lies between persons "
        "and between conditions",
        2,
    )
    text = (
        "In face images the partitions, k-means' too, follow the condition (light, expression, "
        "pose) more than the person, whose class is asked for."
    )
    return [text, table] if all(leads) else [table]
