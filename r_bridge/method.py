"""R's sparcl as a method of `ewp.compare`, which runs methods from the same starts many times.

Importing this module makes the method known there; `ewp.compare` imports it when the name "sparcl"
is given. R is not needed before that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ewp.comparison.methods import Problem, register
from r_bridge import sparcl
from r_bridge.session import require

__all__ = ["SparclMethod"]


@dataclass(frozen=True)
class SparclMethod:
    """R's sparcl as a method of :func:`ewp.compare`.

    Parameters
    ----------
    wbound : float, optional
        Bound on the one-norm of the weights. By default the one that sparcl's permutation gap
        prefers, found anew on each data set.
    nperms : int, default 25
        Permutations for that choice.
    name : str, default "sparcl"
        Name in the table.
    """

    wbound: float | None = None
    nperms: int = 25
    name: str = "sparcl"

    @property
    def settings(self) -> dict[str, Any]:
        """What was given, for the summary of a comparison."""
        return {"wbound": "gap" if self.wbound is None else self.wbound}

    def fit(
        self,
        X: NDArray[np.float64],
        k: int,
        start: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, NDArray[np.float64]]:
        """Cluster from given centroids: labels and weights."""
        bound = self.wbound
        if bound is None:
            bound = sparcl.permute(X, K=k, nperms=self.nperms, seed=rng).bestw
        found = sparcl.kmeans_sparse_cluster(X, centers=start, wbounds=bound, seed=rng)[0]
        return found.labels.to_numpy(), found.weights.to_numpy()


@register("sparcl", needs=partial(require, "sparcl"))
def _sparcl(problem: Problem, name: str) -> SparclMethod:
    """R's sparcl at the bound that native sparse k-means has in the same comparison."""
    return SparclMethod(wbound=problem.bound(), name=name)
