"""Which mixture, and from which partition: chosen by what held-out rows say.

Every kind of mixture is fitted by EM from the partition that is to be refined, and scored by the
log-density it gives rows that were held out, all in the same coordinates. Mixtures that other
partitions lead to take its place only if they are clearly better, and they give way to the
partition as it is, without EM, where this is clearly better than any of them. A difference is clear
if it is larger than two of its standard errors over the rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ewp.common.types import Array
from ewp.data.canonical import distinct_groups
from ewp.data.splits import folds
from ewp.refinement.mixture import Mixture, MixtureModel, fit_mixture, one_hot
from ewp.refinement.observed import estimate_anchor
from ewp.refinement.scatter import Anchor

__all__ = [
    "CLEAR",
    "TAILS",
    "Candidate",
    "Choice",
    "Gain",
    "choose_mixture",
    "paired_gain",
    "possible_models",
]

#: Degrees of freedom of t tails.
TAILS = 5.0
_FOLDS = 5
#: Standard errors that make a difference clear.
CLEAR = 2.0
#: Where steps end while mixtures are compared, and their largest number.
_COARSE, _COARSE_STEPS = 1e-4, 60
_FINE, _FINE_STEPS = 1e-8, 1000
#: Gain of the penalised likelihood per row that makes another optimum of it.
_OTHER = 1e-3
#: Features up to which matrices are estimated.
_MOST_FEATURES = 100


class Gain(NamedTuple):
    """Mean difference of log-densities per row, and its standard error."""

    mean: float
    se: float

    @property
    def clear(self) -> bool:
        """Whether it is larger than two standard errors."""
        return self.mean > CLEAR * self.se


def paired_gain(score: Array, other: Array, mass: Array) -> Gain:
    """Compare two scores of the same rows."""
    total = float(mass.sum())
    difference = score - other
    mean = float(mass @ difference) / total
    variance = float(mass @ (difference - mean) ** 2) / max(total - 1.0, 1.0)
    return Gain(mean, float(np.sqrt(variance / total)))


@dataclass(frozen=True, eq=False)
class Candidate:
    """A mixture with the log-densities of held-out rows.

    Attributes
    ----------
    start : str
        Name of the partition it comes from.
    mixture : Mixture
        Fitted to all rows.
    score : ndarray of shape (n,)
        Log-density of every row under a mixture fitted without it.
    iterated : bool
        False for the mixture that the partition implies, without EM.
    """

    start: str
    mixture: Mixture
    score: Array
    iterated: bool

    @property
    def model(self) -> MixtureModel:
        """Kind of the mixture."""
        return self.mixture.model


class Choice(NamedTuple):
    """Outcome of the choice.

    Attributes
    ----------
    chosen : Candidate
    gain : Gain
        Of the best mixture over the partition that was to be refined, under the same model.
    candidates : list of Candidate
        All that were scored.
    """

    chosen: Candidate
    gain: Gain
    candidates: list[Candidate]


def possible_models(
    n: int, p: int, k: int, covariances: Iterable[str], tails: Iterable[float]
) -> list[MixtureModel]:
    """Kinds of mixtures that so many rows can tell apart.

    Matrices need more rows than features, full ones so in every cluster.
    """
    least = {"tied": p, "full": k * p}
    return [
        MixtureModel(covariance, degrees)
        for covariance, degrees in itertools.product(covariances, tails)
        if covariance not in least or (p <= _MOST_FEATURES and n > least[covariance])
    ]


class _HeldOut:
    """Rows in folds: mixtures are fitted without some, and score these.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
    mass : ndarray of shape (n,)
    cell : ndarray of shape (p,)
    starts : dict of ndarray
        Partitions by name.
    k : int
    """

    def __init__(
        self, rows: Array, mass: Array, cell: Array, starts: dict[str, np.ndarray], k: int
    ) -> None:
        self.rows, self.mass, self.cell, self.starts, self.k = rows, mass, cell, starts, k
        distinct = distinct_groups(rows, mass)[1]
        self.folds = folds(rows, mass, min(_FOLDS, distinct), np.random.default_rng(0))
        self._anchors: dict[tuple[str, float, int | None, bool], Anchor] = {}

    def _anchor(self, start: str, model: MixtureModel, fold: int | None) -> Anchor:
        key = start, model.tails, fold, model.covariance in ("tied", "full")
        if key not in self._anchors:
            kept = slice(None) if fold is None else self.folds[fold].train
            labels = self.starts[start][kept]
            self._anchors[key] = estimate_anchor(
                self.rows[kept],
                self.mass[kept],
                labels,
                self.k,
                self.cell,
                model.tails,
                pool=key[-1],
            )
        return self._anchors[key]

    def fit(
        self,
        start: str,
        model: MixtureModel,
        *,
        begin: Mixture | None = None,
        hold: bool = False,
        fold: int | None = None,
        fine: bool = False,
    ) -> Mixture:
        """Fit to all rows, or to the training rows of a fold.

        Parameters
        ----------
        start : str
            Name of the partition.
        model : MixtureModel
        begin : Mixture or None
            Where to begin instead of at the partition.
        hold : bool
            Keep the partition as it is.
        fold : int or None
        fine : bool
            Go on to convergence.
        """
        kept = slice(None) if fold is None else self.folds[fold].train
        return fit_mixture(
            self.rows[kept],
            self.mass[kept],
            one_hot(self.starts[start][kept], self.k) if begin is None else begin,
            model,
            self._anchor(start, model, fold),
            max_iter=_FINE_STEPS if fine else _COARSE_STEPS,
            tol=_FINE if fine else _COARSE,
            hold=hold,
        )

    def score(self, start: str, mixture: Mixture, *, hold: bool = False) -> Candidate:
        """Score every row by a mixture that is fitted without it.

        Where the mixture is not the one that the partition implies, folds begin with it, so that
        they end in the same optimum.
        """
        score = np.empty(len(self.rows))
        for i, fold in enumerate(self.folds):
            begin = None if hold else mixture
            found = self.fit(start, mixture.model, begin=begin, hold=hold, fold=i)
            score[fold.test] = found.log_density(self.rows[fold.test])
        return Candidate(start, mixture, score, not hold)

    def is_whole(self, mixture: Mixture) -> bool:
        """Whether every component is the most probable one of some row."""
        return len(np.unique(mixture.joint(self.rows).argmax(axis=0))) == self.k

    def best(self, candidates: list[Candidate]) -> Candidate:
        """Return the candidate that predicts best."""
        return max(candidates, key=lambda one: float(self.mass @ one.score))


def choose_mixture(
    rows: Array,
    mass: Array,
    cell: Array,
    starts: dict[str, np.ndarray],
    models: list[MixtureModel],
    k: int,
    proportions: str = "auto",
) -> Choice:
    """Choose a mixture of k components.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        Standardised.
    mass : ndarray of shape (n,)
        Positive numbers of copies.
    cell : ndarray of shape (p,)
        Variances of uniform distributions in the cells of the columns.
    starts : dict of ndarray
        Partitions by name; the first is the one to be refined.
    models : list of MixtureModel
        With free proportions.
    k : int
    proportions : {"auto", "free", "equal"}, default "auto"
        "auto" takes equal ones where they predict at least as well.
    """
    held = _HeldOut(rows, mass, cell, starts, k)
    if proportions == "equal":
        models = [replace(model, equal=True) for model in models]
    first, *others = starts
    implied = [held.score(first, held.fit(first, model, hold=True), hold=True) for model in models]
    candidates = list(implied)
    reached: dict[MixtureModel, float] = {}

    def refined(start: str) -> list[Candidate]:
        """Candidates of a start, without those that end where another start ended, or lower."""
        found = []
        for model in models:
            mixture = held.fit(start, model)
            value = mixture.trace[-1]
            other = value > reached.get(model, -np.inf) + _OTHER * float(mass.sum())
            if other and held.is_whole(mixture):
                reached[model] = value
                found.append(held.score(start, mixture))
        candidates.extend(found)
        return found

    own = refined(first)
    chosen = held.best(own or implied)
    for name in others:
        found = refined(name)
        if found:
            rival = held.best(found)
            if not own or paired_gain(rival.score, chosen.score, mass).clear:
                chosen, own = rival, found
    same_kind = next(one for one in implied if one.model == chosen.model)
    gain = paired_gain(chosen.score, same_kind.score, mass)
    if not chosen.iterated or gain.mean < -CLEAR * gain.se:
        return Choice(held.best(implied), gain, candidates)
    if proportions == "auto":
        equal = replace(chosen.model, equal=True)
        mixture = held.fit(chosen.start, equal, begin=chosen.mixture)
        if held.is_whole(mixture):
            twin = held.score(chosen.start, mixture)
            candidates.append(twin)
            if paired_gain(twin.score, chosen.score, mass).mean >= 0.0:
                chosen = twin
                partition = held.fit(first, equal, hold=True)
                same_kind = held.score(first, partition, hold=True)
                gain = paired_gain(twin.score, same_kind.score, mass)
    mixture = held.fit(chosen.start, chosen.model, begin=chosen.mixture, fine=True)
    if held.is_whole(mixture):
        chosen = replace(chosen, mixture=mixture)
    return Choice(chosen, gain, candidates)
