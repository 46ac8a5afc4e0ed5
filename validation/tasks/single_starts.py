"""Table 1 from single random rows: how often a fit ends in one feature, and at which penalty."""

from __future__ import annotations

from typing import Any

import ewp
from ewp.datasets import make_simulation1
from validation.tasks.contest import choose_default, draw_starts

__all__ = ["collapses"]

#: A fit has ended in one feature when that has at least this weight.
_ALMOST_ALL = 0.99


def collapses(d: int, seed: int, count: int) -> dict[str, Any]:
    """Fits of Simulation 1 that end in one feature, at the chosen penalty and at twice that.

    Parameters
    ----------
    d : int
        Number of noise features.
    seed : int
        Seed of the data, of the choice and of the starts.
    count : int
        Number of starts, each from k random rows.
    """
    data = make_simulation1(d, random_state=seed)
    k = len(data.centers)
    choice = choose_default(data.X, k, seed)
    options = {name: choice[name] for name in ("scale", "dispersion")}
    starts = draw_starts(data.X, k, count, seed)
    ended = {}
    for name, factor in (("once", 1.0), ("twice", 2.0)):
        fits = (
            ewp.fit(data.X, k, factor * choice["lam"], init=one, random_state=seed, **options)
            for one in starts
        )
        ended[name] = sum(bool(fit.weights.max() >= _ALMOST_ALL) for fit in fits)
    return {"lam": choice["lam"], "starts": count, **ended}
