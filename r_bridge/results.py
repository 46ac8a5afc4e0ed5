"""What sparcl's k-means and its permutation gap return, with the names of the data.

Frozen dataclasses of pandas objects, and what they share with the other results of the bridge: how
they print and which weights count. Clusters count from 0, as everywhere in Python; R counts them
from 1. `to_native` gives the types of the native sparse k-means, so that an answer of sparcl and a
native one can be compared field by field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

import pandas as pd

from ewp.peers import SparseFit, SparseGap

# What users see; the helpers are for the bridge's own modules.
__all__ = ["SparseGapTable", "SparseKMeansFit", "SparseKMeansPath"]


class PrintedResult:
    """Text in a terminal and HTML in a notebook, instead of all that an object holds."""

    def _heading(self) -> str:
        """One line, defined by every subclass."""
        raise NotImplementedError

    def _printed_table(self) -> pd.DataFrame | None:
        """The table below the heading."""
        return None

    def __repr__(self) -> str:
        table = self._printed_table()
        if table is None:
            return self._heading()
        return f"{self._heading()}\n{table.to_string(float_format=_number, na_rep='-')}"

    def _repr_html_(self) -> str:
        heading = f"<p>{escape(self._heading())}</p>"
        table = self._printed_table()
        if table is None:
            return heading
        return heading + table.to_html(float_format=_number, na_rep="-")


def _number(value: float) -> str:
    """Three decimals, or four digits where they say more.

    >>> _number(0.12345), _number(12345.678), _number(1e-5)
    ('0.123', '1.235e+04', '1e-05')
    """
    return f"{value:.3f}" if value == 0 or 0.001 <= abs(value) < 1000 else f"{value:.4g}"


def cluster_sizes(labels: pd.Series) -> str:
    """The clusters and how many rows each has.

    >>> cluster_sizes(pd.Series([0, 1, 1]))
    '2 clusters of sizes 1, 2'
    """
    counts = labels.value_counts().sort_index()
    return f"{len(counts)} clusters of sizes {', '.join(map(str, counts))}"


def selected(weights: pd.Series, tol: float = 1e-4) -> pd.Index:
    """Names of the features whose weight exceeds `tol` times the largest.

    >>> list(selected(pd.Series({"a": 0.7, "b": 1e-11, "c": 0.3})))
    ['a', 'c']
    """
    return weights.index[weights > tol * weights.max()]


@dataclass(frozen=True, repr=False)
class SparseKMeansFit(PrintedResult):
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
        sizes = cluster_sizes(self.labels)
        return f"Sparse k-means by sparcl, wbound {self.wbound:.4g}: {sizes}; {used}"

    def selected(self, tol: float = 1e-4) -> pd.Index:
        """Names of the features whose weight exceeds `tol` times the largest."""
        return selected(self.weights, tol)

    def to_native(self) -> SparseFit:
        """The same fit as :class:`ewp.peers.sparcl.SparseFit`, in arrays."""
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
class SparseKMeansPath(PrintedResult):
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

    def _printed_table(self) -> pd.DataFrame:
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
        """Weights, one row per feature and one column per bound."""
        return pd.concat([fit.weights for fit in self.fits], axis=1, keys=self.bounds)

    @property
    def labels(self) -> pd.DataFrame:
        """Clusters, one row per observation and one column per bound."""
        return pd.concat([fit.labels for fit in self.fits], axis=1, keys=self.bounds)

    def table(self, tol: float = 1e-4) -> pd.DataFrame:
        """One row per bound: selected features, criterion, within-cluster sums, iterations."""
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
        """The same fits as :func:`ewp.peers.sparcl.sparse_path` returns them."""
        return [fit.to_native() for fit in self.fits]


@dataclass(frozen=True, repr=False)
class SparseGapTable(PrintedResult):
    """The permutation gap by sparcl.

    Attributes
    ----------
    table : DataFrame
        One row per bound: ``criterion`` on the data, ``gap``, its standard deviation ``sd`` over
        the permutations, and ``nonzero``, the number of weights that sparcl counts as not zero.
    permuted : DataFrame
        Criterion on permuted data, one row per bound and one column per permutation.
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

    def _printed_table(self) -> pd.DataFrame:
        return self.table

    def to_native(self) -> SparseGap:
        """The same figures as :class:`ewp.peers.SparseGap`."""
        return SparseGap(
            bounds=self.table.index.to_numpy(),
            tots=self.table["criterion"].to_numpy(),
            permtots=self.permuted.to_numpy(),
            gaps=self.table["gap"].to_numpy(),
            sdgaps=self.table["sd"].to_numpy(),
            nnonzerows=self.table["nonzero"].to_numpy(),
            bestw=self.bestw,
        )
