"""The peers of EWP as scikit-learn estimators, each a schedule and a weight rule on one solver.

K-means, k-harmonic means and power k-means have no weights, WK-means and sparse k-means learn
them. They share validation, starts, trace and canonical order with `ewp.EWP` and have neither its
polish nor its automatic scaling: they are the published methods, to be compared with.
"""

from ewp.peers.plain import KHarmonicMeans, KMeans, PowerKMeans
from ewp.peers.sparse import SparseKMeans
from ewp.peers.weighted import WKMeans
from ewp.permutation import SparseGap, sparse_gap

__all__ = [
    "KHarmonicMeans",
    "KMeans",
    "PowerKMeans",
    "SparseGap",
    "SparseKMeans",
    "WKMeans",
    "sparse_gap",
]
