"""Problems that hypothesis draws, how many of them, and what must hold along a run."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

SLOW = settings(max_examples=40, deadline=None)


@st.composite
def problems(draw, max_k=5):
    """Continuous data with some structure, at odd scales, and starting rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(1, max_k))
    n = draw(st.integers(max(k, 2), 40))
    p = draw(st.integers(1, 6))
    X = rng.standard_normal((n, p)) * rng.uniform(0.2, 2, p)
    X += rng.normal(0, draw(st.sampled_from([0.0, 3.0])), (k, p))[rng.integers(0, k, n)]
    X *= 10.0 ** draw(st.integers(-2, 2))
    return X, X[rng.choice(n, k, replace=False)]


def never_rises(values, scale=None):
    values = np.asarray(values)
    slack = 1e-9 * (np.abs(values).max() if scale is None else scale)
    return bool((np.diff(values) <= slack).all())
