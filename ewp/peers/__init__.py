"""The peers of EWP as scikit-learn estimators, each a schedule and a weight rule on one solver.

K-means, k-harmonic means and power k-means have no weights, WK-means and sparse k-means learn
them. They share validation, starts, trace and canonical order with `ewp.EWP` and have neither its
polish nor its automatic scaling: they are the published methods, to be compared with.
"""

from ewp.peers.kmeans import KHarmonicMeans, KMeans, PowerKMeans, WKMeans
from ewp.peers.sparcl import SparseFit, SparseGap, sparse_gap
from ewp.peers.sparse_kmeans import SparseKMeans

__all__ = [
    "KHarmonicMeans",
    "KMeans",
    "PowerKMeans",
    "SparseFit",
    "SparseGap",
    "SparseKMeans",
    "WKMeans",
    "sparse_gap",
]
