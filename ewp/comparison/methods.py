"""The methods that `ewp.compare` knows by name, and how each chooses its own tuning parameter.

A method is anything with a `name` and ``fit(X, k, start, rng)`` that returns labels and weights
(or None). The registry maps names to functions that tune a method for a problem, which holds the
data but never the classes. `register` adds to it. R's sparcl is in the package `r_bridge`, which is
imported when that name is given and not before.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from sklearn.mixture import GaussianMixture

from ewp.common.checks import check_choice
from ewp.common.types import Array
from ewp.display.evidence import NoClustersWarning
from ewp.estimator import EWP
from ewp.peers.kmeans import KHarmonicMeans, KMeans, PowerKMeans, WKMeans
from ewp.peers.sparcl import SparseGap, sparse_gap
from ewp.peers.sparse_kmeans import SparseKMeans
from ewp.select import LambdaSelection, select_lambda

__all__ = [
    "METHODS",
    "EstimatorMethod",
    "Method",
    "Problem",
    "name_methods",
    "naming",
    "register",
    "tune_methods",
]

METHODS: dict[str, Maker] = {}
#: Modules that register a method when they are imported.
_ELSEWHERE = {"sparcl": "r_bridge.method"}
_needs: dict[str, Callable[[], None]] = {}


@runtime_checkable
class Method(Protocol):
    """What a comparison asks of a method."""

    @property
    def name(self) -> str:
        """Name in tables and pictures."""

    def fit(
        self, X: Array, k: int, start: Array, rng: np.random.Generator
    ) -> tuple[np.ndarray, Array | None]:
        """Return labels, and weights if the method has any, from k starting centroids."""


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Context in which warnings that there are no clusters say whose selection found none.

    Parameters
    ----------
    name : str
        Of a method.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    # where Python keeps what it has told, so that trials do not repeat it
    registry = globals().setdefault("__warningregistry__", {})
    for one in caught:
        text: Any = one.message
        if issubclass(one.category, NoClustersWarning):
            text = f"{name}: {text}"
        warnings.warn_explicit(text, one.category, one.filename, one.lineno, registry=registry)


@dataclass(frozen=True)
class EstimatorMethod:
    """An estimator with the option `n_clusters` or `n_components` as a method.

    It begins at the common start if it has the option `init` or `means_init`, otherwise where it
    begins by itself.

    Attributes
    ----------
    name : str
    estimator : estimator
        Cloned for every fit.
    weighting : bool
        Whether it may have weights: its ``metric_`` or else its ``feature_weights_``.
    settings : dict
        What was chosen or given, for the summary.
    """

    name: str
    estimator: Any
    weighting: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)

    def fit(
        self, X: Array, k: int, start: Array, rng: np.random.Generator
    ) -> tuple[np.ndarray, Array | None]:
        """Fit the estimator from the starting centroids, if it takes any."""
        model = clone(self.estimator)
        begin = "means_init" if _has(model, "means_init") else "init"
        options: dict[str, Any] = {_number(model): k, begin: start}
        if _has(model, "random_state"):
            options["random_state"] = int(rng.integers(2**31))
        model.set_params(**{name: one for name, one in options.items() if _has(model, name)})
        with naming(self.name):
            model.fit(X)
        labels = model.labels_ if hasattr(model, "labels_") else model.predict(X)
        if not self.weighting:
            return labels, None
        weights: Any = getattr(model, "metric_", getattr(model, "feature_weights_", None))
        # weights of every cluster are no column of a table of weights
        return labels, weights if np.ndim(weights) == 1 else None


def _number(estimator: Any) -> str:
    """What an estimator calls its number of clusters."""
    return "n_clusters" if _has(estimator, "n_clusters") else "n_components"


def _clusters(given: Any) -> bool:
    """Whether this is an estimator that makes a given number of clusters."""
    # others count their components
    return _has(given, "n_clusters") or (
        _has(given, "n_components") and callable(getattr(given, "fit_predict", None))
    )


def _has(estimator: Any, *options: str) -> bool:
    """Whether this is an estimator with these options."""
    return hasattr(estimator, "get_params") and set(options) <= set(estimator.get_params())


@dataclass(frozen=True)
class _FunctionMethod:
    """A plain function as a method."""

    name: str
    function: Callable[..., Any]

    def fit(
        self, X: Array, k: int, start: Array, rng: np.random.Generator
    ) -> tuple[np.ndarray, Array | None]:
        found = self.function(X, k, start, rng)
        return found if isinstance(found, tuple) else (found, None)


@dataclass
class Problem:
    """What a method may look at when it is tuned: the data and the user's wishes, no classes.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Data, scaled as they are compared.
    k : int
    lam : float or "auto"
        Penalty of EWP.
    wbound : float or "gap"
        Bound of sparse k-means.
    beta : float
        Exponent of WK-means.
    seed : int
        Every choice starts its own generator from it.
    n_jobs : int or None
    progress : bool or None
    standardised : bool
        Whether the columns of X were standardised or decorrelated, so that the forms of EWP agree.
    selection : LambdaSelection or None
        The selection of EWP's penalty, if it was made already.
    """

    X: Array
    k: int
    lam: float | str
    wbound: float | str
    beta: float
    seed: int
    n_jobs: int | None = None
    progress: bool | None = None
    standardised: bool = False
    selection: LambdaSelection | None = None

    @cached_property
    def gap(self) -> SparseGap:
        """The permutation gap of sparse k-means, made once."""
        return sparse_gap(
            self.X,
            self.k,
            random_state=self.seed,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )

    def bound(self) -> float:
        """Return the bound of sparse k-means, given or by the gap."""
        if isinstance(self.wbound, str):
            check_choice("wbound", self.wbound, ("gap",))
            return self.gap.bestw if self.k > 1 and self.X.shape[1] > 1 else 1.0
        return self.wbound

    def penalty(self, dispersion: str, **options: Any) -> tuple[float, str]:
        """Return EWP's penalty and form, given or by its own selection with these options."""
        if not isinstance(self.lam, str):
            return self.lam, "within" if dispersion == "auto" else dispersion
        check_choice("lam", self.lam, ("auto",))
        chosen = self.selection
        if chosen is None or options or dispersion != "auto":
            chosen = select_lambda(
                self.X,
                self.k,
                scale=None,
                dispersion="within" if self.standardised else dispersion,
                random_state=self.seed,
                n_jobs=self.n_jobs,
                progress=self.progress,
                **options,
            )
        return chosen.lam, chosen.dispersion


Maker = Callable[[Problem, str], Method]


def register(name: str, needs: Callable[[], None] | None = None) -> Callable[[Maker], Maker]:
    """Add a method to those that `ewp.compare` knows by name.

    Parameters
    ----------
    name : str
    needs : callable, optional
        Called when the method is asked for, before anything is computed; raises an error if the
        method cannot run here.

    Returns
    -------
    callable
        Decorator of a function ``make(problem, name) -> Method``.
    """

    def add(make: Maker) -> Maker:
        METHODS[name] = make
        if needs is not None:
            _needs[name] = needs
        return make

    return add


def name_methods(given: Any) -> dict[str, Any]:
    """Check methods given by their names, as estimators, objects or functions; name them all."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    methods = list(given) if several else [given]
    if not methods:
        raise ValueError(f"methods is empty; choose from {_choices()}")
    named: dict[str, Any] = {}
    for one in methods:
        name = _name(one)
        if name in named:
            raise ValueError(f"two methods are called {name!r}; give them different names")
        named[name] = one
    return named


def tune_methods(named: dict[str, Any], problem: Problem) -> list[Method]:
    """Tune the methods of `name_methods` for a problem."""
    tuned: list[Method] = []
    for name, given in named.items():
        if isinstance(given, str):
            with naming(name):
                tuned.append(METHODS[given](problem, name))
        elif _clusters(given):
            learns = bool(getattr(given, "learns_weights", True))
            tuned.append(EstimatorMethod(name, given, weighting=learns))
        else:
            tuned.append(given if isinstance(given, Method) else _FunctionMethod(name, given))
    return tuned


def _choices() -> str:
    return ", ".join(dict.fromkeys([*METHODS, *_ELSEWHERE]))


def _name(given: Any) -> str:
    if isinstance(given, str):
        if given in _ELSEWHERE:
            import_module(_ELSEWHERE[given])
        if given not in METHODS:
            raise ValueError(
                f"method {given!r} is unknown; choose from {_choices()}, or give an "
                "estimator or a function of X, k, start and rng"
            )
        if given in _needs:
            _needs[given]()
        return given
    if isinstance(given, type):
        raise TypeError(f"method {given.__name__} is a class; give an instance of it")
    if isinstance(given, Method):
        return given.name
    if callable(given):
        return str(getattr(given, "__name__", type(given).__name__))
    if _clusters(given):
        return type(given).__name__
    raise TypeError(
        f"method {given!r} is neither a name, nor an estimator of clusters with the option "
        "n_clusters or n_components, nor an object with name and fit(X, k, start, rng), nor a "
        "function of these"
    )


@register("kmeans")
def _kmeans(problem: Problem, name: str) -> Method:
    return EstimatorMethod(name, KMeans(), weighting=False)


@register("harmonic")
def _harmonic(problem: Problem, name: str) -> Method:
    return EstimatorMethod(name, KHarmonicMeans(), weighting=False)


@register("power")
def _power(problem: Problem, name: str) -> Method:
    return EstimatorMethod(name, PowerKMeans(), weighting=False, settings={"s0": "critical"})


@register("power-published")
def _power_published(problem: Problem, name: str) -> Method:
    return EstimatorMethod(name, PowerKMeans(s0=-1.0), weighting=False, settings={"s0": -1.0})


@register("wkmeans")
def _wkmeans(problem: Problem, name: str) -> Method:
    return EstimatorMethod(name, WKMeans(beta=problem.beta), settings={"beta": problem.beta})


@register("sparse")
def _sparse(problem: Problem, name: str) -> Method:
    bound = problem.bound()
    return EstimatorMethod(name, SparseKMeans(wbound=bound), settings={"wbound": bound})


@register("sparse-annealed")
def _sparse_annealed(problem: Problem, name: str) -> Method:
    bound = problem.bound()
    model = SparseKMeans(wbound=bound, algorithm="annealed", threshold="exact")
    return EstimatorMethod(name, model, settings={"wbound": bound})


@register("mixture")
def _mixture(problem: Problem, name: str) -> Method:
    settings = {"covariance": "full"}
    return EstimatorMethod(name, GaussianMixture(), weighting=False, settings=settings)


@register("agglomerative")
def _agglomerative(problem: Problem, name: str) -> Method:
    settings = {"linkage": "ward"}
    return EstimatorMethod(name, AgglomerativeClustering(), weighting=False, settings=settings)


def _ewp(problem: Problem, name: str, dispersion: str, **options: Any) -> Method:
    lam, form = problem.penalty(dispersion, **options)
    model = EWP(lam=lam, scale=None, dispersion=form, **options)
    return EstimatorMethod(name, model, settings={"lam": lam, "form": form, **options})


@register("ewp")
def _ewp_automatic(problem: Problem, name: str) -> Method:
    return _ewp(problem, name, "auto")


@register("ewp-between")
def _ewp_between(problem: Problem, name: str) -> Method:
    return _ewp(problem, name, "between")


@register("ewp-published")
def _ewp_published(problem: Problem, name: str) -> Method:
    return _ewp(problem, name, "within", s0=-1.0, polish=False)
