"""What tests of the comparison share: the names of all methods, and one that takes notes."""

import numpy as np

ALL = (
    "kmeans",
    "harmonic",
    "power",
    "power-published",
    "wkmeans",
    "sparse",
    "sparse-annealed",
    "ewp",
    "ewp-between",
    "ewp-published",
)


class Recorder:
    """A method that remembers what it was given."""

    def __init__(self, name):
        self.name = name
        self.seen = []

    def fit(self, X, k, start, rng):
        self.seen.append((X.copy(), k, start.copy(), rng.random()))
        return np.arange(len(X)) % k, None
