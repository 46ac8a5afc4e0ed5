"""What sparcl's k-means returns, with the names of the data.

Frozen dataclasses of pandas objects. Clusters count from 0, as everywhere in Python; R counts them
from 1. `to_native` gives the types of `ewp.sparse` and `ewp.permutation`, so that an answer of
sparcl and a native one can be compared field by field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from ewp.permutation import SparseGap
from ewp.sparse import SparseFit
from r_bridge._printed import Printed, sizes
from r_bridge.agreement import selected

__all__ = ["SparseGapTable", "SparseKMeansFit", "SparseKMeansPath"]


@dataclass(frozen=True, repr=False)
class SparseKMeansFit(Printed):
    """Sparse k-means by sparcl at one bound.

    Attributes
    ----------
    wbound : float
        Bound on the one-norm of the weights.
    weights : Series
        Weight of each feature, of two-norm 1. sparcl leaves weights of 1e-11; count the ones that
        matter with :meth:`selected`.
    labels : Series
        Cluster of each row, from 0.
    criterion : Series
        Weighted between-cluster sum of squares after each iteration, from 1.
    within, between : Series
        Within- and between-cluster sums of squares of each feature.
    wcss, weighted_wcss : float
        Within-cluster sum of squares of all features, plain and weighted.
    converged : bool
        Whether fewer than `maxiter` iterations were enough. A fit whose weights settled in the
        last one allowed counts as not converged: sparcl does not tell.
    """

    wbound: float
    weights: pd.Series
    labels: pd.Series
    criterion: pd.Series
    within: pd.Series
    between: pd.Series
    wcss: float
    weighted_wcss: float
    converged: bool

    def _heading(self) -> str:
        used = f"{len(self.selected())} of {len(self.weights)} features"
        return f"Sparse k-means by sparcl, wbound {self.wbound:.4g}: {sizes(self.labels)}; {used}"

    def selected(self, tol: float = 1e-4) -> pd.Index:
        """Names of the features whose weight exceeds `tol` times the largest."""
        return selected(self.weights, tol)

    def to_native(self) -> SparseFit:
        """The same fit as :class:`ewp.sparse.SparseFit`, in arrays."""
        return SparseFit(
            bound=self.wbound,
            weights=self.weights.to_numpy(),
            labels=self.labels.to_numpy(),
            criterion=self.criterion.to_numpy(),
            within=self.within.to_numpy(),
            between=self.between.to_numpy(),
            converged=self.converged,
        )


@dataclass(frozen=True, repr=False)
class SparseKMeansPath(Printed):
    """Sparse k-means by sparcl at one bound or several, in the order given.

    Behaves as a sequence of :class:`SparseKMeansFit`.

    Attributes
    ----------
    fits : tuple of SparseKMeansFit
    seed : int
        Seed of R's random numbers in the call; given again, it gives the same answer.
    console : str
        What R printed.
    """

    fits: tuple[SparseKMeansFit, ...]
    seed: int
    console: str

    def _heading(self) -> str:
        n, p = len(self.labels), len(self.weights)
        return f"Sparse k-means by sparcl: {n} rows, {p} features; seed {self.seed}"

    def _shown(self) -> pd.DataFrame:
        return self.table()

    def __len__(self) -> int:
        return len(self.fits)

    def __getitem__(self, i: int) -> SparseKMeansFit:
        return self.fits[i]

    def __iter__(self) -> Iterator[SparseKMeansFit]:
        return iter(self.fits)

    @property
    def bounds(self) -> pd.Index:
        """The bounds."""
        return pd.Index([fit.wbound for fit in self.fits], name="wbound")

    @property
    def weights(self) -> pd.DataFrame:
        """Weights, one row a feature and one column a bound."""
        return pd.concat([fit.weights for fit in self.fits], axis=1, keys=self.bounds)

    @property
    def labels(self) -> pd.DataFrame:
        """Clusters, one row an observation and one column a bound."""
        return pd.concat([fit.labels for fit in self.fits], axis=1, keys=self.bounds)

    def table(self, tol: float = 1e-4) -> pd.DataFrame:
        """One row a bound: selected features, criterion, within-cluster sums, iterations."""
        rows = [
            {
                "features": len(fit.selected(tol)),
                "criterion": fit.criterion.iloc[-1],
                "wcss": fit.wcss,
                "weighted_wcss": fit.weighted_wcss,
                "iterations": len(fit.criterion),
                "converged": fit.converged,
            }
            for fit in self.fits
        ]
        return pd.DataFrame(rows, index=self.bounds)

    def to_native(self) -> list[SparseFit]:
        """The same fits as :func:`ewp.sparse.sparse_path` returns them."""
        return [fit.to_native() for fit in self.fits]


@dataclass(frozen=True, repr=False)
class SparseGapTable(Printed):
    """The permutation gap by sparcl.

    Attributes
    ----------
    table : DataFrame
        One row a bound: ``criterion`` on the data, ``gap``, its standard deviation ``sd`` over
        the permutations, and ``nonzero``, the number of weights that sparcl counts as not zero.
    permuted : DataFrame
        Criterion on permuted data, one row a bound and one column a permutation.
    bestw : float
        Bound with the largest gap.
    seed : int
    console : str
    """

    table: pd.DataFrame
    permuted: pd.DataFrame
    bestw: float
    seed: int
    console: str

    def _heading(self) -> str:
        permutations = self.permuted.shape[1]
        return (
            f"Permutation gap by sparcl, {permutations} permutations: best wbound {self.bestw:.4g}"
        )

    def _shown(self) -> pd.DataFrame:
        return self.table

    def to_native(self) -> SparseGap:
        """The same figures as :class:`ewp.permutation.SparseGap`."""
        return SparseGap(
            bounds=self.table.index.to_numpy(),
            tots=self.table["criterion"].to_numpy(),
            permtots=self.permuted.to_numpy(),
            gaps=self.table["gap"].to_numpy(),
            sdgaps=self.table["sd"].to_numpy(),
            nnonzerows=self.table["nonzero"].to_numpy(),
            bestw=self.bestw,
        )
