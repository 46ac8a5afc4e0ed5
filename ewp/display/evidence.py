"""The verdict on structure: whether held-out rows speak for more than one cluster, or for two.

What is measured stands in `ewp.selection.density` and `ewp.selection.separation`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ewp.common.types import FittedResults
from ewp.display.formatting import short

__all__ = [
    "NO_CLUSTERS",
    "SEPARATED",
    "Evidence",
    "NoClustersWarning",
    "Separation",
    "evidence_of",
]

NO_CLUSTERS = "no evidence for more than one cluster"
#: Log-density that a uniform distribution gains from the best mixture of two normal distributions
#: with one variance, over a normal distribution.
_BOX = 0.0759
#: What two clusters gain at least if they are separated: the middle between the halves of an
#: ellipsoid, which gain nothing, and those of a box. Two normal clusters of one size gain as much
#: with centres 2.65 standard deviations apart, where the density falls to 81 % between them.
SEPARATED = _BOX / 2


class NoClustersWarning(UserWarning):
    """Held-out rows give no evidence for more than one cluster."""


class Evidence(NamedTuple):
    """What held-out rows say of more than one cluster.

    A cloud that is shaped like a box is no ellipsoid, and can be cut into parts whose mixture
    describes it better. Two normal distributions do so by 0.0759 nats along one side, and k parts
    by not more than ``0.0759 log2(k)``: less than that is no evidence.

    Attributes
    ----------
    gain : float
        Mean log-density per held-out row under the partition's mixture, minus that under one
        cluster; the penalty is chosen without the row.
    error : float
        Its standard error over rows, corrected for fits that share most of their rows.
    n_clusters : int
    by_column : bool
        Whether columns have distributions of their own: a single cluster has these, and is no
        ellipsoid.
    """

    gain: float
    error: float
    n_clusters: int
    by_column: bool = False

    def words(self) -> str:
        """Say what was found, in a sentence."""
        found = "Evidence for more than one cluster" if self.clear else NO_CLUSTERS.capitalize()
        if self.by_column:
            return (
                f"{found}: held-out log-density per observation, minus that under a single "
                f"cluster, is {short(self.gain, 2)} nats (standard error {short(self.error, 2)}); "
                f"evidence is more than two standard errors above {short(self.of_box, 2)}."
            )
        return (
            f"{found}: held-out log-density per observation, minus that under a single elliptical "
            f"cluster, is {short(self.gain, 2)} nats (standard error {short(self.error, 2)}); "
            f"parts of a single box-shaped cluster gain up to {short(self.of_box, 2)}."
        )

    @property
    def of_box(self) -> float:
        """What as many parts of a uniform distribution in a box can gain."""
        return _BOX * math.log2(self.n_clusters)

    @property
    def clear(self) -> bool:
        """Whether the gain is more than two standard errors above what parts of a box gain."""
        return self.gain - self.of_box > 2.0 * self.error


class Separation(NamedTuple):
    """What held-out rows say of the two clusters that are separated least.

    Attributes
    ----------
    gain : float
        Mean log-density per held-out row of the two under a mixture of both, minus that under a
        single cloud in their place.
    error : float
        Its standard error over rows.
    """

    gain: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether they are separated."""
        return self.gain > SEPARATED


def evidence_of(results: FittedResults) -> Evidence | None:
    """Return what was found when the penalty of a fit was chosen, None where it was not asked."""
    found = (results.selection or {}).get("evidence")
    if found is None or results.n_clusters < 2:
        return None
    by_column = results.families is not None
    return Evidence(float(found["gain"]), float(found["error"]), results.n_clusters, by_column)
