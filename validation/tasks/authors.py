"""The updates as the authors' own program makes them, which are not those of their paper.

What differs: memberships lack the factor k^(-1/s), so that the penalty means something else;
1e-4 is added to every squared distance; s moves at every second step, by 1.04; the start is k
random rows plus normal noise of standard deviation 0.1; the iteration stops as soon as the
centroids move by less than a tolerance in the one-norm, wherever s is then.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, softmax

__all__ = ["authors_variant"]


def authors_variant(
    X: np.ndarray,
    k: int,
    lam: float,
    rng: np.random.Generator,
    *,
    start: np.ndarray | None = None,
    eta: float = 1.04,
    max_iter: int = 200,
    tol: float = 1e-5,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Labels, weights and the exponent at which it stopped.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    k : int
    lam : float
    rng : Generator
    start : ndarray of shape (k, p), optional
        Rows to start from, before noise is added; random ones by default.
    eta, max_iter, tol
    """
    n, p = X.shape
    rows = X[rng.choice(n, k, replace=False)] if start is None else start
    theta = rows + rng.normal(0, 0.1, (k, p))
    weights = np.full(p, 1.0 / p)
    s = -1.0
    for step in range(1, max_iter + 1):
        log_d = np.log(_distances(X, theta, weights) + 1e-4)
        phi = np.exp((s - 1) * log_d + (1 / s - 1) * logsumexp(s * log_d, axis=1, keepdims=True))
        moved = (phi.T @ X) / phi.sum(axis=0)[:, None]
        dispersion = phi.sum(axis=1) @ X**2 - phi.sum(axis=0) @ moved**2
        weights = softmax(-dispersion / lam)
        change = np.abs(moved - theta).sum()
        theta = moved
        if step % 2 == 0:
            s *= eta
        if change < tol:
            break
    return np.argmin(_distances(X, theta, weights), axis=1), weights, s


def _distances(X: np.ndarray, theta: np.ndarray, weights: np.ndarray) -> np.ndarray:
    cross = X**2 @ weights[:, None] - 2 * X @ (theta * weights).T + (theta**2 @ weights)
    return np.maximum(cross, 0.0)
