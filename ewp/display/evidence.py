"""The verdict on structure in words: whether held-out rows speak for more than one cluster.

What is measured stands in `ewp.selection.structure`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ewp.common.types import Array, FittedResults
from ewp.display.formatting import short

__all__ = ["NO_CLUSTERS", "Evidence", "NoClustersWarning", "evidence_of"]

NO_CLUSTERS = "no evidence for more than one cluster"


class NoClustersWarning(UserWarning):
    """Held-out rows give no evidence for more than one cluster."""


class Evidence(NamedTuple):
    """What held-out rows say of more than one cluster.

    Attributes
    ----------
    gain : float
        Mean log-density per row under the partition's mixture minus that under one cluster.
    error : float
        Its standard error over rows.
    """

    gain: float
    error: float

    def words(self) -> str:
        """Say what was found, in a sentence."""
        found = "Evidence for more than one cluster" if self.clear else NO_CLUSTERS.capitalize()
        return (
            f"{found}: held-out log-density per observation, minus that under a single cluster, "
            f"{short(self.gain, 2)} nats (standard error {short(self.error, 2)})."
        )

    @property
    def clear(self) -> bool:
        """Whether the gain is more than two standard errors above zero."""
        return self.gain > 2.0 * self.error

    @classmethod
    def of_rows(cls, gain: Array, copies: Array | None) -> Evidence:
        """Average the gains of single rows, with their numbers of copies."""
        count = float(len(gain) if copies is None else copies.sum())
        mean = float(np.average(gain, weights=copies))
        square = float(np.average((gain - mean) ** 2, weights=copies))
        return cls(mean, float(np.sqrt(square / max(count - 1.0, 1.0))))


def evidence_of(results: FittedResults) -> Evidence | None:
    """Return what was found when the penalty of a fit was chosen, None where it was not asked."""
    found = (results.selection or {}).get("evidence")
    if found is None or results.n_clusters < 2:
        return None
    return Evidence(float(found["gain"]), float(found["error"]))
