"""The critical exponent: where the collapsed solution of the annealing loses its stability.

`critical_exponent` is the public function, with the formula and its derivation; the solver uses
`engine_critical_exponent`, which needs one pass over the data or a few products with them, and
`critical_exponents` for several metrics at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from ewp.common.checks import check_choice, check_number
from ewp.common.types import Array
from ewp.data.arguments import check_prior, check_sample_weight
from ewp.data.canonical import block_rows
from ewp.data.frames import as_frame, column_names
from ewp.data.validation import check_data
from ewp.engine import array_engine, rows_engine
from ewp.engine.array import ArrayEngine
from ewp.engine.base import RowEngine
from ewp.engine.bregman import BregmanEngine
from ewp.engine.columns import PLAIN, checked_families
from ewp.engine.divergence import SQUARED_EUCLIDEAN
from ewp.engine.sparse import SparseEngine
from ewp.solver.weights import RelativeEntropy

__all__ = ["check_exponent", "critical_exponent", "critical_exponents", "engine_critical_exponent"]

#: Up to this many features the p x p matrix is formed in one pass, beyond it is only applied.
_DENSE = 256
#: Blocks of rows stay in a core's cache between the two products with them.
_BLOCK_BYTES = 2**19
#: Vectors that the search for the largest eigenvalue keeps; mostly it needs no more products.
_VECTORS = 12
#: Products by which largest eigenvalues in several metrics are found; a smaller one is on the safe
#: side.
_POWER_STEPS = 20
#: Entries, and at least rows, of the sample for them.
_POWER_ENTRIES, _POWER_ROWS = 2**23, 200
#: Blocks of unit rows are kept between products up to this size.
_KEPT_BYTES = 40 * 2**20
#: Squared lengths that have an inverse.
_TINY = 4.0 * float(np.finfo(float).tiny)
#: Closer to zero the power mean gives rows next to a centroid nearly all influence, and rounding
#: errors of their distances show in the objective.
_SOFTEST = -0.1


def engine_critical_exponent(engine: RowEngine, weights: Array, price: float = 0.0) -> float:
    """Critical exponent of an engine's data in the metric of the given weights.

    Parameters
    ----------
    engine : RowEngine
        Data, centred at their mean.
    weights : ndarray of shape (p,)
    price : float
        What is added to all squared distances, where every cluster has weights of its own.

    Returns
    -------
    float
        ``1 - 1 / (2 lambda_max(G))``, at most 1/2.
    """
    used = np.flatnonzero(weights * engine.squares > 0)
    if not len(used):
        return -np.inf  # all rows equal: nothing can split, and no exponent is critical
    # rows count by their direction alone: a power of 2 keeps their squares within range
    length = float(weights[used] @ engine.squares[used]) / engine.total
    power = -math.frexp(math.sqrt(length))[1]
    root = np.ldexp(np.sqrt(weights[used]), power)
    added = math.ldexp(price, 2 * power)
    size = max(_BLOCK_BYTES // (8 * len(used)), 16)
    starts = range(0, engine.n, size)
    prepared = engine.n * len(used) * 8 <= _KEPT_BYTES

    def unit_rows(start: int) -> Array:
        rows = slice(start, min(start + size, engine.n))
        if isinstance(engine, SparseEngine):  # the other columns are not made dense
            block = engine.take(np.arange(rows.start, rows.stop), used) * root
        else:
            block = engine.tangents(rows)[:, used] * root
        if isinstance(engine, BregmanEngine):
            length = engine.potentials(rows)[:, used] @ root**2
        else:
            length = np.einsum("il,il->i", block, block)
            length += added
        # a row at the mean has no direction: it contributes nothing
        inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > _TINY)
        if engine.sample_weight is not None:
            inverse *= engine.sample_weight[rows]
        block *= np.sqrt(inverse / engine.total)[:, None]
        if engine.missingness:
            # a centroid is the mean of the observed values alone
            block /= np.sqrt(engine.missingness.share[used])
        return block

    if len(used) <= _DENSE:
        G = np.zeros((len(used), len(used)))
        for start in starts:
            block = unit_rows(start)
            G += block.T @ block
        top = len(used) - 1
        largest = eigh(G, eigvals_only=True, subset_by_index=(top, top))[0]
    else:
        largest = _largest_eigenvalue(engine, used, root, unit_rows, starts, prepared=prepared)
    return 1.0 - 0.5 / float(largest)


def _largest_eigenvalue(
    engine: RowEngine,
    used: np.ndarray,
    root: Array,
    unit_rows: Callable[[int], Array],
    starts: range,
    *,
    prepared: bool,
) -> float:
    """Largest eigenvalue of the matrix of many features, which is only applied."""
    if isinstance(engine, SparseEngine):
        apply = _sparse_products(engine, used, root)
    else:
        kept = [unit_rows(start) for start in starts] if prepared else None

        def apply(vector: Array) -> Array:
            result = np.zeros(len(used))
            for i, start in enumerate(starts):
                block = unit_rows(start) if kept is None else kept[i]
                result += (block @ vector) @ block
            return result

    operator = LinearOperator((len(used), len(used)), matvec=apply, dtype=np.float64)
    first = np.random.default_rng(0).standard_normal(len(used))
    found = eigsh(
        operator, k=1, ncv=_VECTORS, which="LA", v0=first, tol=1e-9, return_eigenvectors=False
    )
    return float(found[0])


def _sparse_products(
    engine: SparseEngine, used: np.ndarray, root: Array
) -> Callable[[Array], Array]:
    """Products with the matrix, from two with the rows of a sparse matrix."""
    metric = np.zeros(engine.p)
    metric[used] = root**2
    length = engine.lengths(metric)
    inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    if engine.sample_weight is not None:
        inverse *= engine.sample_weight
    inverse /= engine.total

    def apply(vector: Array) -> Array:
        whole = np.zeros((engine.p, 1))
        whole[used, 0] = root * vector.ravel()
        along = engine.dot(whole)
        along *= inverse[:, None]
        product: Array = engine.transposed_dot(along)[used, 0] * root
        return product

    return apply


def critical_exponent(
    X: Any,
    weights: Any = None,
    lam: float | None = None,
    *,
    sample_weight: Any = None,
    missing: str = "error",
    divergence: Any = PLAIN,
) -> float:
    r"""Exponent below which collapsed centroids leave the mean of the data.

    At centroids :math:`\theta_j = \mu` the MM map multiplies a perturbation along the leading
    eigenvector of

    .. math::
        G = W^{1/2} \Big[ \frac1n \sum_i
            \frac{(x_i - \mu)(x_i - \mu)^T}{\|x_i - \mu\|_w^2} \Big] W^{1/2}

    by :math:`2 (1 - s) \lambda_{\max}(G)`. Hence the collapsed point is stable exactly for
    :math:`s > s_c = 1 - 1 / (2 \lambda_{\max}(G))`. An annealing that starts above :math:`s_c`
    loses its starting centroids; `ewp.EWP` starts at ``min(-1, s_c)``. The derivation:

    Put :math:`\theta_j = \mu + \delta_j` with :math:`\sum_j \delta_j = 0`. To first order
    :math:`d_{ij} = d_i - 2 \langle x_i - \mu, \delta_j \rangle_w`, their mean over j stays
    :math:`d_i`, and :math:`\phi_{ij} = \frac1k d_{ij}^{s-1} M_s^{1-s}` becomes
    :math:`\frac1k (1 + 2 (1 - s) \langle x_i - \mu, \delta_j \rangle_w / d_i)`. The new centroid
    is the mean of the rows with these weights,
    :math:`\mu + 2 (1 - s) [\frac1n \sum_i (x_i - \mu)(x_i - \mu)^T / d_i] W \delta_j`,
    and in the coordinates :math:`W^{1/2} \delta` the matrix is G. Where values are missing, they
    are 0 in :math:`x_i - \mu`, and as a centroid is the mean of observed values alone, the sum over
    i of feature l is divided by its observed share.

    For another divergence with the potential :math:`\psi` the same steps lead to
    :math:`d_{ij} = d_i - \sum_l w_l \psi_l''(\mu_l) (x_{il} - \mu_l) \delta_{jl}`, so that the
    outer products are those of :math:`\sqrt{\psi''(\mu) / 2}\, (x_i - \mu)`, and :math:`d_i` is
    the divergence of the row from the mean.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, p)
    weights : array-like of shape (p,), optional
        Feature weights w; they are normalised to sum 1.
    lam : float, optional
        Without `weights`: take the weights at the collapsed point,
        :math:`w_l \propto \exp(-n \operatorname{Var}_l / \lambda)`. Equal weights if neither is
        given.
    sample_weight : array-like of shape (n,), optional
    missing : {"error", "observed"}, default="error"
        As in `ewp.EWP`.
    divergence : str, sequence of str or mapping, default="euclidean"
        As in `ewp.EWP`. Counts with sizes are given per unit of size, with the sizes as sample
        weights.

    Returns
    -------
    float
        s_c, at most 1/2 with squared differences and below 1 otherwise; ``-inf`` if all rows are
        equal.

    Examples
    --------
    Isotropic data in p dimensions have s_c near 1 - p/2:

    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((20000, 10))
    >>> round(critical_exponent(X), 1)
    -3.9
    """
    check_choice("missing", missing, ("error", "observed"))
    frame = as_frame(X)
    plain = isinstance(divergence, str) and divergence == PLAIN
    array = check_data(frame, missing=missing, sparse="keep" if plain else "dense")
    row_weight = check_sample_weight(sample_weight, len(array))
    names = checked_families(divergence, array, column_names(frame))
    engine: ArrayEngine = (
        rows_engine(array, row_weight)
        if names is None
        else array_engine(array, row_weight, names=names)
    )
    if weights is not None:
        metric = check_prior(weights, engine.p, name="weights")
        assert metric is not None
        metric = metric / metric.sum()
    elif lam is not None:
        rule = RelativeEntropy.make(check_number("lam", lam, above=0), engine.squares)
        metric = rule.update(engine.squares)
    else:
        metric = np.full(engine.p, 1.0 / engine.p)
    return engine_critical_exponent(engine, metric)


def check_exponent(s0: Any) -> float | None:
    """Check the option `s0`: None for "auto", else a number, perhaps ``-inf``."""
    if isinstance(s0, str):
        check_choice("s0", s0, ("auto",))
        return None
    if s0 == -math.inf:
        return -math.inf
    number = check_number("s0", s0, below=0)
    if number > _SOFTEST:
        raise ValueError(f"s0={s0!r} must be {_SOFTEST:g} or less; the paper's choice is -1")
    return number


def critical_exponents(whole: RowEngine, metric: Array) -> Array:
    """Critical exponents in several metrics, by power iteration in common products.

    Many rows are represented by a sample.

    Parameters
    ----------
    whole : RowEngine
    metric : ndarray of shape (runs, p)

    Returns
    -------
    ndarray of shape (runs,)
        Not above those of `engine_critical_exponent`, but for eigenvalues that lie close
        together: exponents from which the annealing starts.
    """
    most = max(_POWER_ENTRIES // whole.p, _POWER_ROWS)
    engine = whole if whole.n <= most else whole.sample(most)
    root = np.sqrt(metric / engine.missingness.share).T
    plain = engine.divergence is SQUARED_EUCLIDEAN
    inverse = engine.lengths_of_runs(metric).T
    small = inverse <= 4.0 * np.finfo(float).tiny
    np.divide(1.0, inverse, out=inverse, where=~small)
    inverse[small] = 0.0
    if engine.sample_weight is not None:
        inverse *= engine.sample_weight[:, None]
    inverse /= engine.total
    vector = root * np.random.default_rng(0).standard_normal((engine.p, 1))
    size = block_rows(engine.p, len(metric))
    largest = np.ones(len(metric))
    for _ in range(_POWER_STEPS):
        length = np.sqrt((vector**2).sum(axis=0))
        if not length.all():
            break
        vector /= length
        result = np.zeros_like(vector)
        for start in range(0, engine.n, size):
            rows = slice(start, min(start + size, engine.n))
            if plain and engine.prepared is not None:
                block = engine.prepared[rows, : engine.p]
            else:
                block = engine.tangents(rows)
            result += block.T @ ((block @ (root * vector)) * inverse[rows])
        result *= root
        largest = np.einsum("lb,lb->b", vector, result)
        vector = result
    return 1.0 - 0.5 / np.maximum(largest, np.finfo(float).tiny)
