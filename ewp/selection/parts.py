"""Fits of many options to parts of the rows, in common passes: what the built-in criteria score.

Options differ in penalty, scaling and form; parts are folds, subsamples, or all rows. The rows are
prepared once for all replicates.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import entr

from ewp.common.types import Array
from ewp.data.decorrelation import given_shrinkage
from ewp.engine import array_engine
from ewp.engine.array import ArrayEngine
from ewp.engine.base import RowMass
from ewp.engine.precision import DOUBLE
from ewp.solver.batch import fit_runs
from ewp.solver.cluster_batch import fit_cluster_runs
from ewp.solver.critical_exponent import critical_exponents
from ewp.solver.fit import FitOptions, default_prior
from ewp.solver.runs import FittedRuns, Runs
from ewp.solver.weights import RelativeEntropy

__all__ = ["CommonRows", "PartFits"]

#: Products n * p * k up to which calls take longer than arithmetic, in which double is as fast.
_FEW_PRODUCTS = 5e5


class PartFits(NamedTuple):
    """Fits of several options to several parts of the rows.

    Attributes
    ----------
    spaces : list of (ArrayEngine, FittedRuns, ndarray)
        The rows as they are or decorrelated, the runs on them (one part after the other, and all
        options in each), and which of the options these are.
    features : ndarray of shape (parts, options)
        Effective numbers of features.
    """

    spaces: list[tuple[ArrayEngine, FittedRuns, np.ndarray]]
    features: Array

    def labels(self) -> np.ndarray:
        """Partitions of all rows, (parts, options, n)."""
        parts, count = self.features.shape
        labels = [found.labels(engine) for engine, found, _ in self.spaces]
        joined = np.empty((parts, count, labels[0].shape[-1]), dtype=labels[0].dtype)
        for one, (_, _, which) in zip(labels, self.spaces, strict=True):
            joined[:, which] = one.reshape(parts, len(which), -1)
        return joined


class CommonRows:
    """Rows that are fitted in parts.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    weight : ndarray of shape (n,) or None
    names : tuple of str or None
        Names of the columns' divergences, None if all are squared differences.
    """

    def __init__(
        self, X: Array, weight: Array | None, names: tuple[str, ...] | None = None
    ) -> None:
        self.engine = array_engine(X, weight, names=names)
        self._spaces: dict[str | None, _Space] = {None: _Space(self.engine)}

    def _space(self, option: FitOptions) -> tuple[str | None, bool]:
        """Prepare the rows on which an option is fitted; their name, and what is fitted."""
        name = option.scale if option.decorrelates else None
        if name not in self._spaces:
            whole = self.engine
            self._spaces[name] = _Space(
                array_engine(whole.X, whole.sample_weight, name, option.prior)
            )
        return name, option.by_cluster

    def fit(
        self, parts: list[np.ndarray], options: list[FitOptions], seed: int | list[int]
    ) -> PartFits:
        """Fit all options to all parts, with the penalties in proportion to the parts' weight.

        Parameters
        ----------
        parts : list of ndarray
            Row numbers.
        options : list of FitOptions
            Settled; those of one scaling and form stand together, with increasing penalties.
        seed : int or list of int
            Of all parts, or one for each.
        """
        seeds = seed if isinstance(seed, list) else [seed] * len(parts)
        names = [self._space(one) for one in options]
        spaces = []
        features = np.empty((len(parts), len(options)))
        for name in dict.fromkeys(names):
            which = np.flatnonzero([one == name for one in names])
            space = self._spaces[name[0]]
            found = space.fit(parts, [options[i] for i in which], seeds)
            own = np.exp(entr(found.mean_weights).sum(axis=1))
            features[:, which] = own.reshape(len(parts), len(which))
            spaces.append((space.engine, found, which))
        return PartFits(spaces, features)


class _Space:
    """Rows as they are, or decorrelated: runs on them share their passes."""

    def __init__(self, engine: ArrayEngine) -> None:
        self.engine = engine
        self._single: ArrayEngine | None = None
        self._critical: dict[tuple[float, bool, bool], float] = {}

    def fit(
        self, parts: list[np.ndarray], options: list[FitOptions], seeds: list[int]
    ) -> FittedRuns:
        """Fit options that are all for these rows."""
        engine, count = self.engine, len(options)
        mass = np.ones(engine.n) if engine.sample_weight is None else engine.sample_weight
        table = np.zeros((len(parts), engine.n))
        for part, rows in zip(table, parts, strict=True):
            part[rows] = mass[rows]
        of_part = np.repeat(np.arange(len(parts)), count)
        lams = np.array([one.penalty for one in options])
        standardise = np.array([one.standardise for one in options])
        between = np.array([one.between for one in options])
        shares = table.sum(axis=1) / engine.total
        runs = Runs(
            (lams * shares[:, None]).ravel(),
            np.tile(standardise, len(parts)),
            np.tile(between, len(parts)),
            np.tile(self._exponents(options), len(parts)),
            # starts of their own: runs of one part try each other's ends
            np.array([_own_seed(seed, one) for seed in seeds for one in options]),
            of_part * 4 + np.tile(2 * standardise + between, len(parts)),
            RowMass(table, of_part),
        )
        if options[0].by_cluster:
            return fit_cluster_runs(engine, options[0].n_clusters, runs, options[0])
        return fit_runs(self._fitted_on(options[0]), options[0].n_clusters, runs, options[0])

    def _fitted_on(self, option: FitOptions) -> ArrayEngine:
        """Return the rows as they are multiplied: in single precision where products take the time.

        Fits that are compared need not be exact, and their partitions are taken in double.
        """
        engine = self.engine
        few = float(engine.n) * engine.p * option.n_clusters <= _FEW_PRODUCTS
        if few or option.dtype == DOUBLE.name or option.begins_sparse(engine):
            return engine
        if self._single is None:
            self._single = engine.in_single()
        return self._single

    def _exponents(self, options: list[FitOptions]) -> Array:
        """Critical exponents of all rows, which serve for the parts as well."""
        keys = [(one.penalty, one.standardise, one.between) for one in options]
        if new := [key for key in dict.fromkeys(keys) if key not in self._critical]:
            engine, prior = self.engine, options[0].prior
            squares = np.tile(engine.squares, (len(new), 1))
            own = np.divide(engine.total, squares, out=np.ones_like(squares), where=squares > 0)
            lams, standardise, between = (np.array(one) for one in zip(*new, strict=True))
            known = np.tile(
                default_prior(engine.varying) if prior is None else prior, (len(new), 1)
            )
            units = np.where(standardise[:, None], own, 1.0)
            rule = RelativeEntropy.of_runs(lams, squares, known, between, units)
            found = critical_exponents(engine, rule.metric(rule.update(squares)))
            self._critical |= dict(zip(new, found.tolist(), strict=True))
        return np.array([self._critical[key] for key in keys])


def _scale_words(option: FitOptions) -> tuple[int, ...]:
    """Return numbers that tell decorrelated features from others, and from each other."""
    if not option.decorrelates:
        return ()
    assert option.scale is not None
    return (1, round(1e6 * (given_shrinkage(option.scale) or 0.0)))


def _own_seed(seed: int, option: FitOptions) -> int:
    """Seed of an option's starts, the same whatever stands beside it."""
    # digits of the penalty that the order of sums cannot change
    penalty = round(1e6 * math.log(option.penalty)) % 2**32
    words = (seed, penalty, 2 * option.standardise + option.between, *_scale_words(option))
    return int(np.random.SeedSequence(np.array(words, dtype=np.uint32)).generate_state(1)[0])
