r"""Count splitting: every count is split in two, one half is clustered and the other scores.

A Poisson count whose units go to one of two halves by chance gives two counts that are independent
(Neufeld and others 2024). So all rows take part in a fit, and all of them score it, by counts that
the fit has not seen; with folds a row does either. Counts that vary more than Poisson ones have
halves that depend on each other, and what they gain is then more than new rows would: folds are the
default, and right for these too.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ewp.common.types import Array
from ewp.selection.base import CommonPasses, Score, copies_of, mean_error
from ewp.selection.family_density import Counted, FamilyDensity
from ewp.selection.parts import CommonRows
from ewp.solver.fit import FitOptions

__all__ = ["CountSplitting"]

#: Share of a count that is clustered; the rest scores.
_SHARE = 0.5


@dataclass
class CountSplitting(CommonPasses):
    """Nats that a row's other half gains from the partition, see `ewp.selection.family_density`.

    For whole numbers, with ``divergence="poisson"`` in all columns.

    Parameters
    ----------
    n_splits : int
    """

    n_splits: int = 5
    name: str = "splitting"
    unit: str = "nats of log-density gained per row by the halves of the counts not clustered"
    over_one_cluster: ClassVar[bool] = True

    def _counts(self, X: Array) -> tuple[Array, Array]:
        """Counts in data units, and the sizes of the rows."""
        if self.names is None or set(self.names) != {"poisson"}:
            raise ValueError(
                'criterion="splitting" splits counts: give divergence="poisson", or take the '
                'criterion "predictive"'
            )
        sizes = np.ones(len(X)) if self.sizes is None else self.sizes
        counts = X * sizes[:, None]
        whole = np.rint(counts)
        wrong = np.argwhere(np.abs(counts - whole) > 1e-6 * np.maximum(whole, 1.0))
        if len(wrong):
            row, column = wrong[0]
            raise ValueError(
                f'criterion="splitting" needs whole numbers, but row {row} has '
                f'{counts[row, column]:g} in column {column}; take the criterion "predictive"'
            )
        return whole, sizes

    def replicates(self, X: Array, weight: Array | None, rng: np.random.Generator) -> list[Any]:
        """Split the counts, as often as asked."""
        counts, _ = self._counts(X)
        whole = counts.astype(np.int64)
        return [rng.binomial(whole, _SHARE).astype(float) for _ in range(self.n_splits)]

    def score_all(
        self, X: Array, weight: Array | None, options: list[FitOptions], replicate: Array, seed: int
    ) -> list[Score]:
        """Fit one half of all counts, and score the partitions by the other."""
        counts, sizes = self._counts(X)
        n = len(counts)
        half = replicate / (_SHARE * sizes)[:, None]
        mass = _SHARE * (np.ones(n) if weight is None else weight)
        scaled = [dataclasses.replace(one, lam=_SHARE * one.penalty) for one in options]
        fitted = CommonRows(half, mass, self.names).fit([np.arange(n)], scaled, seed)
        copies = copies_of(self.without_sizes(weight))
        both = np.concatenate([replicate, counts - replicate])
        halves = np.concatenate([_SHARE * sizes, (1.0 - _SHARE) * sizes])
        rows = np.arange(n)
        judge = FamilyDensity(
            Counted(self.names or (), both, halves),
            rows,
            rows + n,
            None if copies is None else np.concatenate([copies, copies]),
        )
        partitions = fitted.labels()[0]
        return [
            Score(
                float(np.average(judged.gain, weights=copies)),
                float(features),
                judged.gain,
                copies,
                labels,
                len(judged.features),
            )
            for judged, features, labels in zip(
                judge.judge_all(partitions), fitted.features[0], partitions, strict=True
            )
        ]

    def spread(self, scores: list[Score]) -> float:
        """Standard error of the mean over splits."""
        return mean_error(scores)
