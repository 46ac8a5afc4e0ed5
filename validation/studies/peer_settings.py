"""What the paper's peers find at other settings, to say why their figures differ from ours.

The paper does not say how features were scaled, which exponent WK-means had, or where the
permutation gap put the bound of sparse k-means. Here the peers run from the same random rows at
several of these. The classes only score what is found; the closest figure explains a difference as
far as that can be shown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ewp.datasets import Simulation, make_simulation1, make_simulation2
from ewp.peers import KMeans, PowerKMeans, SparseKMeans, WKMeans
from ewp.peers.sparcl import usual_bounds
from validation.cells import Cell, Store
from validation.data import SEED, available, load, scaled
from validation.same_starts import TRIALS, draw_starts, nmi

__all__ = [
    "NEAR",
    "Closest",
    "at_settings",
    "closest",
    "explanation",
    "setting_cells",
    "with_uniform_noise",
]

#: Figures that are no further apart agree.
NEAR = 0.05
_BETAS = (1.5, 2.0, 4.0, 8.0, 16.0)
_EXPONENTS = (-1.0, -3.0, -10.0)
_BOUNDS = 8
#: Designs of the paper on which this does not take long: what is drawn, and how noise is.
_SIZES: dict[str, tuple[Callable[..., Simulation], int]] = {
    "simulation 1, d = 5": (make_simulation1, 5),
    "simulation 1, d = 10": (make_simulation1, 10),
    "simulation 1, d = 20": (make_simulation1, 20),
    "simulation 1, d = 50": (make_simulation1, 50),
    "simulation 1, d = 100": (make_simulation1, 100),
    "simulation 2, k = 20": (make_simulation2, 20),
}
_VARIANTS = ("as elsewhere", "sd 0.15", "uniform noise")
_SD = 0.15
_FEW = 3
_QUICK = ("iris", "wine")
_WORDS = {"kmeans": "", "wkmeans": "β = {:g}", "power": "s0 = {:g}", "sparse": "bound {:.3g}"}


class Closest(NamedTuple):
    """The setting at which a peer comes closest to a figure.

    Attributes
    ----------
    text : str
        Setting and scaling in words.
    nmi : float
        Mean over the starts.
    low, high : float
        Range of single starts.
    """

    text: str
    nmi: float
    low: float
    high: float


def setting_cells() -> list[Cell]:
    """All peers at several settings, on the paper's real sets and on draws of its designs."""
    places = [
        *((name, data, TRIALS) for name, data in available().items()),
        *((name, variant, _FEW) for name in _SIZES for variant in _VARIANTS),
    ]
    return [
        Cell(
            "peer_settings.at_settings",
            {"name": name, "version": version, "scaling": scaling, "count": count},
            rank=0 if name in _QUICK else 3,
            chooses=False,
        )
        for name, version, count in places
        for scaling in ("raw", "standardised")
    ]


def with_uniform_noise(drawn: Simulation, seed: int) -> np.ndarray:
    """Features of a simulation, its noise drawn anew from the uniform distribution on (0, 2).

    Parameters
    ----------
    drawn : Simulation
    seed : int
    """
    X = drawn.X.copy()
    noise = np.setdiff1d(np.arange(X.shape[1]), drawn.relevant)
    X[:, noise] = np.random.default_rng([seed, 3]).uniform(0, 2, (len(X), len(noise)))
    return X


def _data(name: str, version: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Features, classes and their number of a real set or of a design's first draw."""
    if name not in _SIZES:
        return load(name)
    make, size = _SIZES[name]
    options = {"sd": _SD} if version == "sd 0.15" else {}
    drawn = make(size, random_state=SEED, **options)
    X = with_uniform_noise(drawn, SEED) if version == "uniform noise" else drawn.X
    return X, drawn.labels, len(drawn.centers)


def at_settings(name: str, version: str, scaling: str, count: int) -> list[dict[str, Any]]:
    """Run peers from the same random rows at several settings.

    Parameters
    ----------
    name : str
        A real set or one of the paper's designs, of which the first draw is taken.
    version : str
        Hash of a real set, or a variant of a design: clusters as wide as printed, or noise uniform
        on (0, 2), as the paper's text has it for Simulation 1.
    scaling : {"raw", "standardised"}
    count : int
        Number of starts.

    Returns
    -------
    list of dict
        Method, setting, mean, lowest and highest NMI of the starts.
    """
    X, y, k = _data(name, version)
    Z = scaled(X, scaling)
    starts = draw_starts(Z, k, count, SEED)
    models: list[tuple[str, float, Callable[[np.ndarray], Any]]] = [
        ("kmeans", 0.0, lambda start: KMeans(k, init=start))
    ]
    for beta in _BETAS:
        models.append(("wkmeans", beta, lambda start, b=beta: WKMeans(k, beta=b, init=start)))
    for s0 in _EXPONENTS:
        models.append(("power", s0, lambda start, s=s0: PowerKMeans(k, s0=s, init=start)))
    for bound in usual_bounds(Z.shape[1], _BOUNDS):
        models.append(
            ("sparse", float(bound), lambda start, b=bound: SparseKMeans(k, float(b), init=start))
        )
    rows = []
    for method, setting, make_model in models:
        found = [nmi(y, make_model(start).fit(Z).labels_) for start in starts]
        row = {"nmi": float(np.mean(found)), "low": min(found), "high": max(found)}
        rows.append({"method": method, "setting": setting, **row})
    return rows


def closest(store: Store, name: str, method: str, figure: float) -> Closest | None:
    """Setting and scaling at which a peer's mean is closest to a figure; None without cells.

    Parameters
    ----------
    store : Store
    name : str
        As in `at_settings`.
    method : str
        As in `validation.published`.
    figure : float
        The paper's.
    """
    found = [
        Closest(_worded(method, row["setting"], cell.inputs), *_range(row))
        for cell, value in store.finished(_cells())
        if cell.inputs["name"] == name
        for row in value
        if row["method"] == method
    ]
    return min(found, key=lambda one: abs(one.nmi - figure), default=None)


@cache
def _cells() -> list[Cell]:
    return setting_cells()


def _worded(method: str, setting: float, inputs: dict[str, Any]) -> str:
    version = inputs["version"] if inputs["version"] in _VARIANTS[1:] else ""
    setting_in_words = _WORDS[method].format(setting).replace("-", "−")
    words = (setting_in_words, inputs["scaling"], version)
    return ", ".join(word for word in words if word)


def _range(row: dict[str, Any]) -> tuple[float, float, float]:
    return row["nmi"], row["low"], row["high"]


def explanation(figure: float, found: Closest | None) -> str:
    """Say how far other settings explain a figure that ours do not have.

    Parameters
    ----------
    figure : float
        The paper's.
    found : Closest or None

    Examples
    --------
    >>> explanation(0.10, Closest("bound 1.2, raw", 0.12, 0.05, 0.2))
    'bound 1.2, raw has 0.120'
    >>> explanation(0.17, Closest("raw", 0.30, 0.1, 0.4))
    'not explained; single starts (raw) have 0.100 to 0.400'
    >>> explanation(0.5, Closest("raw", 0.30, 0.1, 0.4))
    'not explained; closest 0.300 (raw)'
    """
    if found is None:
        return "not tried at other settings, which would take long"
    if abs(found.nmi - figure) <= NEAR:
        return f"{found.text} has {found.nmi:.3f}"
    if found.low <= figure <= found.high:
        starts = f"{found.low:.3f} to {found.high:.3f}"
        return f"not explained; single starts ({found.text}) have {starts}"
    return f"not explained; closest {found.nmi:.3f} ({found.text})"
