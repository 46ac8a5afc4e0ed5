"""The contest, cell by cell: every contestant on every real set and on draws of every design.

The default, our own peers, other packages' methods and R's are cells of their own, so that a change
of the package's code does not make scikit-learn's and R's anew. The true number of clusters is
given; in further cells it is chosen. What the report shows is made in
`validation.contest.sections`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from validation.cells import Cell
from validation.contest import contestants, reasons, registry
from validation.contest.designs import DESIGNS, recipe
from validation.mclust import has_mclust

__all__ = [
    "DRAWS",
    "contest_cells",
    "default",
    "number_cells",
    "number_of_default",
    "number_of_others",
    "others",
    "own_peers",
    "r_packages",
    "reason_cells",
    "searched",
]

#: Draws of every design, and those on which reasons are looked for.
DRAWS, _EXPLAINED = 5, 2
#: Sets and designs of the quick run, whose cells take a second or two.
_QUICK = ("iris", "wine", "newthyroid", "penguins", "crabs", "no_noise", "outliers", "skewed")
_KINDS: dict[str, dict[str, bool]] = {
    "default": {},
    "own_peers": {"chooses": False},
    "others": {"foreign": True},
    "r_packages": {"foreign": True},
}
#: Number of clusters up to which it is also chosen, and the most features.
_LARGEST, _WIDEST = contestants.NUMBERS[-1], 500


def _places() -> list[dict[str, Any]]:
    """Real sets with the hashes of their data, then designs with those of their recipes."""
    real = [{"name": name, "data": data, "seed": 0} for name, data in registry.at_hand().items()]
    simulated = [
        {"name": name, "data": recipe(name), "seed": seed}
        for seed in range(DRAWS)
        for name in DESIGNS
    ]
    return [*real, *simulated]


def _rank(inputs: dict[str, Any], later: int) -> int:
    return 0 if inputs["name"] in _QUICK and not inputs["seed"] else later


def contest_cells() -> list[Cell]:
    """All contestants at the true number of clusters."""
    return [
        Cell(f"contest.{task}", inputs, rank=_rank(inputs, 1), **options)
        for inputs in _places()
        for task, options in _KINDS.items()
        if task != "r_packages" or has_mclust()
    ]


def reason_cells() -> list[Cell]:
    """Fits from the classes, for what the default missed."""
    return [
        Cell("contest.searched", inputs, rank=_rank(inputs, 2))
        for inputs in _places()
        if inputs["seed"] < _EXPLAINED
    ]


def number_cells() -> list[Cell]:
    """The number of clusters chosen, on real sets of at most nine classes and 500 features."""
    cells = []
    for name, data in registry.at_hand().items():
        X, y = registry.fetch(name, data)
        if len(np.unique(y)) <= _LARGEST and X.shape[1] <= _WIDEST:
            inputs = {"name": name, "data": data, "seed": 0}
            cells.append(Cell("contest.number_of_default", inputs, rank=3))
            if has_mclust():
                cells.append(Cell("contest.number_of_others", inputs, rank=3, foreign=True))
    return cells


def _drawn(name: str, data: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and classes of a real set or of a draw of a design.

    The modules that know all sets and designs are asked by their names: one set more is no other
    code for those that are there, and the hash of a set or of a recipe is an input of its cells.
    """
    designs = import_module("validation.contest.designs").DESIGNS
    if name in designs:
        X, y = designs[name](seed)
        return X, y
    X, y = import_module("validation.contest.registry").fetch(name, data)
    return X, y


def default(name: str, data: str, seed: int) -> contestants.Scores:
    """Run this package's default.

    Parameters
    ----------
    name : str
        A real set or a design.
    data : str
        Hash of the set, or of the code that draws the design.
    seed : int
        Of the draw and of the contestants.
    """
    return contestants.run_default(*_drawn(name, data, seed), seed)


def own_peers(name: str, data: str, seed: int) -> contestants.Scores:
    """Run sparse k-means and WK-means; name, data and seed as in `default`."""
    return contestants.run_own_peers(*_drawn(name, data, seed), seed)


def others(name: str, data: str, seed: int) -> contestants.Scores:
    """Run methods of scikit-learn; name, data and seed as in `default`."""
    return contestants.run_others(*_drawn(name, data, seed), seed)


def r_packages(name: str, data: str, seed: int) -> contestants.Scores:
    """Run R's mclust and PAM; name, data and seed as in `default`."""
    return contestants.run_r_packages(*_drawn(name, data, seed))


def searched(name: str, data: str, seed: int) -> dict[str, Any]:
    """Find what could have been found; name, data and seed as in `default`."""
    return reasons.tried(*_drawn(name, data, seed), seed)


def number_of_default(name: str, data: str, seed: int) -> contestants.Scores:
    """Run this package at its own number of clusters; name, data and seed as in `default`."""
    return contestants.chosen_by_default(*_drawn(name, data, seed), seed)


def number_of_others(name: str, data: str, seed: int) -> contestants.Scores:
    """Run other methods at numbers of their own; name, data and seed as in `default`."""
    return contestants.chosen_by_others(*_drawn(name, data, seed), seed)
