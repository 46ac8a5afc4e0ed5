"""The simulated designs of the contest: what is easy, what is hard for us, what is hard for others.

Each entry of `DESIGNS` is a function of a seed that returns X and the classes. Where nothing else
is said there are 300 rows, noise features are N(0, 1) and clusters have the standard deviation 1 in
the features that carry them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ewp.common.types import Array
from validation import data
from validation.digest import code_digest, task_digest
from validation.recipes import NOISES, ar1
from validation.recipes import genes as draw_genes

__all__ = ["CORRELATED", "DESIGNS", "WIDE", "recipe"]

Data = tuple[Array, Array]
_ROWS = 300
#: Designs of the package that are among these.
_SIMULATIONS = ("make_simulation1", "make_simulation2", "make_feature_selection")


def _beside(signal: Array, rng: np.random.Generator, noise: int) -> Array:
    """A signal and independent noise features."""
    X: Array = np.hstack([signal, rng.standard_normal((len(signal), noise))])
    return X


def simulation1(seed: int) -> Data:
    """Simulation 1 of the paper: 100 clusters on a grid, 20 noise features."""
    return data.DESIGNS["simulation 1, d = 20"](seed)


def simulation2(seed: int) -> Data:
    """Simulation 2 of the paper: 20 clusters in 5 of 100 features."""
    return data.DESIGNS["simulation 2, k = 20"](seed)


def few_relevant(seed: int) -> Data:
    """Ten clusters in 5 of 20 features, the paper's selection of features."""
    return data.DESIGNS["feature selection"](seed)


def noise(seed: int) -> Data:
    """Three clusters in 3 of 53 features, means N(0, 2.5²)."""
    rng = np.random.default_rng([seed, 10])
    y = rng.integers(0, 3, _ROWS)
    return _beside(
        2.5 * rng.standard_normal((3, 3))[y] + rng.standard_normal((_ROWS, 3)), rng, 50
    ), y


def no_noise(seed: int) -> Data:
    """Five clusters in 8 features, all relevant."""
    return data.no_noise(seed)


def correlated_ar1(seed: int) -> Data:
    """Three clusters hidden in AR(1) noise of correlation 0.8."""
    return NOISES["AR(1) noise, 0.8"](seed, True)


def correlated_blocks(seed: int) -> Data:
    """Three clusters beside four blocks of noise, correlation 0.9."""
    return NOISES["blocks of noise, 0.9"](seed, True)


def correlated_factors(seed: int) -> Data:
    """Three clusters beside forty features that share two factors."""
    return NOISES["factor noise"](seed, True)


def ellipses_alike(seed: int) -> Data:
    """Four clusters in 6 features with one AR(1) covariance, 0.9, means N(0, 1.5²)."""
    rng = np.random.default_rng([seed, 11])
    y = rng.integers(0, 4, _ROWS)
    spread = rng.standard_normal((_ROWS, 6)) @ np.linalg.cholesky(ar1(6, 0.9)).T
    return 1.5 * rng.standard_normal((4, 6))[y] + spread, y


def ellipses_apart(seed: int) -> Data:
    """Three clusters in 4 of 10 features, each long in a direction of its own, sd 0.5 to 2.5."""
    rng = np.random.default_rng([seed, 12])
    y = rng.integers(0, 3, _ROWS)
    axes = [np.linalg.qr(rng.standard_normal((4, 4)))[0] for _ in range(3)]
    shapes = np.array([one * np.geomspace(0.5, 2.5, 4) for one in axes])
    signal = np.einsum("ipq,iq->ip", shapes[y], rng.standard_normal((_ROWS, 4)))
    return _beside(signal + 4 * rng.standard_normal((3, 4))[y], rng, 6), y


def unequal_sizes(seed: int) -> Data:
    """Five clusters of 15 to 300 rows in 4 of 30 features."""
    return data.unbalanced(seed)


def unequal_spreads(seed: int) -> Data:
    """Three clusters with standard deviations 0.5, 1 and 2 in 4 of 14 features."""
    rng = np.random.default_rng([seed, 13])
    y = rng.integers(0, 3, _ROWS)
    sd = np.array([0.5, 1.0, 2.0])[y][:, None]
    return _beside(
        4 * rng.standard_normal((3, 4))[y] + sd * rng.standard_normal((_ROWS, 4)), rng, 10
    ), y


def overlapping(seed: int) -> Data:
    """Three clusters two or three standard deviations apart in 4 of 16 features."""
    return data.overlapping(seed)


def genes_small(seed: int) -> Data:
    """80 rows, three clusters in 20 of 2,000 features."""
    return draw_genes("80 × 2,000", seed)


def genes_large(seed: int) -> Data:
    """100 rows, four clusters in 50 of 5,000 features."""
    return draw_genes("100 × 5,000", seed)


def tails_of_noise(seed: int) -> Data:
    """Four clusters in 5 of 30 features; the noise is t with 3 degrees of freedom."""
    return data.heavy_tails(seed)


def tails_of_clusters(seed: int) -> Data:
    """Four clusters that are t with 3 degrees of freedom in all 6 features, means N(0, 5²)."""
    rng = np.random.default_rng([seed, 14])
    y = rng.integers(0, 4, _ROWS)
    return 5 * rng.standard_normal((4, 6))[y] + rng.standard_t(3, (_ROWS, 6)), y


def skewed(seed: int) -> Data:
    """Three log-normal clusters in 4 of 12 features, all skewed."""
    rng = np.random.default_rng([seed, 15])
    y = rng.integers(0, 3, _ROWS)
    Z = _beside(2 * rng.standard_normal((3, 4))[y] + 0.6 * rng.standard_normal((_ROWS, 4)), rng, 8)
    return np.exp(0.6 * Z), y


def mixed_scales(seed: int) -> Data:
    """Four clusters in 6 of 20 features, whose units differ by eight orders of magnitude."""
    return data.mixed_scales(seed)


def subspaces(seed: int) -> Data:
    """Four clusters, each far out in three features of its own, of 30."""
    rng = np.random.default_rng([seed, 16])
    y = rng.integers(0, 4, _ROWS)
    X = rng.standard_normal((_ROWS, 30))
    for j in range(4):
        X[y == j, 3 * j : 3 * j + 3] = 3 + 0.4 * rng.standard_normal(((y == j).sum(), 3))
    return X, y


def counts(seed: int) -> Data:
    """Negative binomial counts of 200 genes, 30 of which differ between four groups."""
    rng = np.random.default_rng([seed, 17])
    y = rng.integers(0, 4, _ROWS)
    level = np.tile(rng.lognormal(2.0, 1.0, 200), (4, 1))
    level[:, :30] *= np.exp(1.0 * rng.standard_normal((4, 30)))
    mean = level[y] * np.exp(0.2 * rng.standard_normal((_ROWS, 1)))
    return rng.poisson(mean * rng.gamma(5.0, 0.2, mean.shape)).astype(float), y


def binary(seed: int) -> Data:
    """Three latent classes; 10 of 30 binary features have other shares in each, 0.1 to 0.9."""
    rng = np.random.default_rng([seed, 18])
    y = rng.integers(0, 3, _ROWS)
    share = np.tile(rng.uniform(0.2, 0.8, 30), (3, 1))
    share[:, :10] = rng.choice([0.1, 0.9], (3, 10))
    return (rng.random((_ROWS, 30)) < share[y]).astype(float), y


def outliers(seed: int) -> Data:
    """Four clusters in 5 of 15 features; every tenth row is moved into a box ten times as wide."""
    rng = np.random.default_rng([seed, 19])
    y = rng.integers(0, 4, _ROWS)
    X = _beside(3 * rng.standard_normal((4, 5))[y] + rng.standard_normal((_ROWS, 5)), rng, 10)
    far = rng.choice(_ROWS, _ROWS // 10, replace=False)
    X[far] = rng.uniform(-15, 15, (len(far), 15))
    return X, y


def many_clusters(seed: int) -> Data:
    """Thirty clusters of 20 rows in 4 of 12 features, means N(0, 6²)."""
    rng = np.random.default_rng([seed, 20])
    y = np.repeat(np.arange(30), 20)
    return _beside(6 * rng.standard_normal((30, 4))[y] + rng.standard_normal((600, 4)), rng, 8), y


#: Designs whose noise features are correlated, and those with more features than rows.
CORRELATED = (correlated_ar1, correlated_blocks, correlated_factors)
WIDE = (genes_small, genes_large)
DESIGNS: dict[str, Callable[[int], Data]] = {
    one.__name__: one
    for one in (
        simulation1,
        simulation2,
        few_relevant,
        noise,
        no_noise,
        *CORRELATED,
        ellipses_alike,
        ellipses_apart,
        unequal_sizes,
        unequal_spreads,
        overlapping,
        *WIDE,
        tails_of_noise,
        tails_of_clusters,
        skewed,
        mixed_scales,
        subspaces,
        counts,
        binary,
        outliers,
        many_clusters,
    )
}


@cache
def recipe(name: str) -> str:
    """Hash of the code that draws a design.

    Parameters
    ----------
    name : str
    """
    # other designs of the package may come and go
    simulations = [task_digest("ewp.datasets", one) for one in _SIMULATIONS]
    return code_digest(f"a = {task_digest(__name__, name)!r}; b = {simulations!r}")[:16]
