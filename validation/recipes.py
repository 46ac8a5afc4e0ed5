"""Recipes of the study of correlation: clusters in correlated noise, and data with none or k.

`NOISES` are designs with clusters, drawn with correlated noise or with independent noise of the
same variances, from the same random numbers. `SINGLE` are clouds that are one cluster by
construction: correlated, bounded, with heavy tails, skewed, or with more features than rows.
`separated` draws k Gaussian clusters whose closest centres are a given number of standard
deviations apart, `unequal` such whose sizes, volumes or orientations differ. `genes` has more
features than rows. All are functions of a seed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ewp.common.types import Array

__all__ = ["DIFFERENCES", "GENES", "NOISES", "SINGLE", "ar1", "genes", "separated", "unequal"]

Data = tuple[Array, Array]
_ROWS = 300


def ar1(p: int, correlation: float) -> Array:
    """Correlation matrix of an autoregression of order one.

    Examples
    --------
    >>> ar1(3, 0.5).tolist()
    [[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]]
    """
    matrix: Array = correlation ** np.abs(np.subtract.outer(np.arange(p), np.arange(p))).astype(
        float
    )
    return matrix


def _coloured(noise: Array, covariance: Array, correlated: bool) -> Array:
    """Noise with a covariance matrix, or with its diagonal alone."""
    if not correlated:
        return noise * np.sqrt(np.diag(covariance))
    coloured: Array = noise @ np.linalg.cholesky(covariance).T
    return coloured


def _groups(rng: np.random.Generator, k: int) -> Array:
    """Classes of all rows, of equal sizes, in random order."""
    return rng.permutation(np.arange(_ROWS) % k)


def _within(seed: int, correlated: bool) -> Data:
    """Three clusters; means differ in 5 of 30 features, and all have AR(1) noise, 0.8.

    The shifts are in every sixth feature, and each mean is two standard deviations from the middle
    of the three: hidden in the noise, but plain where the neighbours tell what the noise is.
    """
    rng = np.random.default_rng([seed, 1])
    y = _groups(rng, 3)
    X = _coloured(rng.standard_normal((_ROWS, 30)), ar1(30, 0.8), correlated)
    means = rng.standard_normal((3, 5))
    means -= means.mean(axis=0)
    X[:, 2::6] += (2 * means / np.linalg.norm(means, axis=1, keepdims=True))[y]
    return X, y


def _beside(covariance: Callable[[np.random.Generator], Array], stream: int) -> Callable[..., Data]:
    """Three clusters in 4 independent features, sd 0.8, means N(0, 3²), beside noise features."""

    def draw(seed: int, correlated: bool) -> Data:
        rng = np.random.default_rng([seed, stream])
        y = _groups(rng, 3)
        relevant = 0.8 * rng.standard_normal((_ROWS, 4)) + 3 * rng.standard_normal((3, 4))[y]
        matrix = covariance(rng)
        noise = rng.standard_normal((_ROWS, len(matrix)))
        return np.hstack([relevant, _coloured(noise, matrix, correlated)]), y

    return draw


def _blocks(rng: np.random.Generator) -> Array:
    """Four blocks of six features, correlation 0.9 within a block, variance 9."""
    return 9.0 * np.kron(np.eye(4), 0.1 * np.eye(6) + 0.9)


def _factors(rng: np.random.Generator) -> Array:
    """Forty features that share two factors with loadings N(0, 2²), beside variances of 1."""
    loadings = 2 * rng.standard_normal((40, 2))
    matrix: Array = loadings @ loadings.T + np.eye(40)
    return matrix


NOISES: dict[str, Callable[[int, bool], Data]] = {
    "AR(1) noise, 0.8": _within,
    "blocks of noise, 0.9": _beside(_blocks, 2),
    "factor noise": _beside(_factors, 3),
}


def _gaussian(rng: np.random.Generator, covariance: Array) -> Array:
    drawn: Array = rng.standard_normal((200, len(covariance))) @ np.linalg.cholesky(covariance).T
    return drawn


#: Clouds without clusters, 200 rows but for the last.
SINGLE: dict[str, Callable[[np.random.Generator], Array]] = {
    "Gaussian, p = 5, correlation 0.5": lambda rng: _gaussian(rng, 0.5 * np.eye(5) + 0.5),
    "Gaussian, p = 10, AR(1) 0.9": lambda rng: _gaussian(rng, ar1(10, 0.9)),
    "uniform cube, p = 4": lambda rng: rng.random((200, 4)),
    "t with 3 degrees of freedom, p = 5": lambda rng: rng.standard_t(3, (200, 5)),
    "exponential margins, p = 5": lambda rng: rng.exponential(size=(200, 5)),
    "Gaussian noise, 50 rows, p = 200": lambda rng: rng.standard_normal((50, 200)),
}


def separated(k: int, distance: float, seed: int) -> Array:
    """Draw k Gaussian clusters of 60 rows in six features.

    Parameters
    ----------
    k : int
    distance : float
        Between the two closest centres, in standard deviations.
    seed : int
    """
    rng = np.random.default_rng([seed, k, 4])
    centres = rng.standard_normal((k, 6))
    apart = np.linalg.norm(centres[:, None] - centres, axis=2)[np.triu_indices(k, 1)]
    centres *= distance / apart.min()
    drawn: Array = np.repeat(centres, 60, axis=0) + rng.standard_normal((60 * k, 6))
    return drawn


#: In what clusters may differ.
DIFFERENCES = ("sizes 1 to 6", "volumes, sd 0.5 to 2", "orientations, sd 0.4 to 2.2")
_LEAST = 15


def unequal(difference: str, k: int, seed: int) -> Array:
    """Draw k Gaussian clusters of about 60 rows in six features that are not alike.

    Along the line between two centres these are at least six standard deviations apart, in the
    mean of those of the two clusters along it.

    Parameters
    ----------
    difference : str
        One of `DIFFERENCES`.
    k : int
    seed : int
    """
    rng = np.random.default_rng([seed, k, DIFFERENCES.index(difference), 5])
    sizes, roots = np.full(k, 60), [np.eye(6)] * k
    if difference.startswith("sizes"):
        share = np.geomspace(1.0, 6.0, k)
        sizes = np.maximum((60 * k * share / share.sum()).astype(int), _LEAST)
    elif difference.startswith("volumes"):
        roots = [sd * np.eye(6) for sd in np.geomspace(0.5, 2.0, k)]
    else:
        axes = [np.linalg.qr(rng.standard_normal((6, 6)))[0] for _ in range(k)]
        roots = [one * np.geomspace(0.4, 2.2, 6) for one in axes]
    centres = rng.standard_normal((k, 6))
    gaps = []
    for i, j in zip(*np.triu_indices(k, 1), strict=True):
        line = centres[i] - centres[j]
        length = float(np.linalg.norm(line))
        spread = np.mean([np.linalg.norm(line @ roots[one]) for one in (i, j)]) / length
        gaps.append(length / spread)
    centres *= 6.0 / min(gaps)
    drawn: Array = np.concatenate(
        [
            centre + rng.standard_normal((size, 6)) @ root.T
            for centre, size, root in zip(centres, sizes, roots, strict=True)
        ]
    )
    return drawn


#: Rows, features, clusters, and features whose means differ.
GENES = {"80 × 2,000": (80, 2000, 3, 20), "100 × 5,000": (100, 5000, 4, 50)}


def genes(size: str, seed: int) -> Data:
    """Draw data with more features than rows: few means differ, by N(0, 1.5²), all noise N(0, 1).

    Parameters
    ----------
    size : str
        One of `GENES`.
    seed : int
    """
    n, p, k, relevant = GENES[size]
    rng = np.random.default_rng([seed, 5])
    y = rng.permutation(np.arange(n) % k)
    X = rng.standard_normal((n, p))
    X[:, :relevant] += 1.5 * rng.standard_normal((k, relevant))[y]
    return X, y
