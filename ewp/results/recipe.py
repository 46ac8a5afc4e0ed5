"""Doing a fit again: the calls that led to results, what was asked after it, and from what.

`question` makes a method of a diagnostic, which keeps what was found and how it was asked; `recipe`
puts the calls together into lines of Python. What cannot be stated in a call (the state of a
generator, a seed that was left to chance) has become a seed before anything is drawn.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, Concatenate, ParamSpec, TypeVar

from ewp.common.calls import same_as, write_call
from ewp.common.types import FittedResults
from ewp.data.arguments import stated_seed

__all__ = ["RepeatMixin", "question", "recipe"]

P = ParamSpec("P")
T = TypeVar("T")

#: Options on which no figure depends.
_WITHOUT_EFFECT = ("n_jobs", "progress")


def question(
    answer: Callable[Concatenate[Any, P], T], name: str, *, kept_as: str | None = None
) -> Callable[Concatenate[Any, P], T]:
    """Return a method with the signature of a diagnostic that keeps what it found, and the call.

    Parameters
    ----------
    answer : callable
        Of the results and the options of the diagnostic.
    name : str
        Of the method.
    kept_as : str, optional
        Where the results keep the answer; by default under the name with an underscore.
    """
    signature = inspect.signature(answer)
    place = kept_as or f"{name}_"

    @functools.wraps(answer)
    def method(self: Any, /, *arguments: P.args, **options: P.kwargs) -> T:
        try:
            bound = signature.bind(self, *arguments, **options)
        except TypeError as error:
            raise TypeError(f"{name}(): {error}") from None
        if "random_state" in signature.parameters:
            given = bound.arguments.get("random_state")
            bound.arguments["random_state"] = stated_seed(given)
        found: Any = answer(*bound.args, **bound.kwargs)
        found.call = _asked(name, signature, bound)
        setattr(self, place, found)
        others = {key: call for key, call in self.calls.items() if key != place}
        self.calls = others | {place: found.call}
        return found

    method.__name__, method.__qualname__ = name, f"EWPResults.{name}"
    return method


def _asked(name: str, signature: inspect.Signature, bound: inspect.BoundArguments) -> str:
    """Write the call of a diagnostic."""
    others = list(signature.parameters.values())[1:]
    stated = {
        one.name: bound.arguments[one.name]
        for one in others
        if one.name in bound.arguments
        and one.name not in _WITHOUT_EFFECT
        and not same_as(bound.arguments[one.name], one.default)
    }
    # what a diagnostic cannot do without is data or another clustering
    required = [one.name for one in others if one.default is one.empty and one.name in stated]
    return write_call(f"results.{name}", [], stated, named=["X", *required])


def recipe(results: FittedResults) -> str:
    """Lines of Python that give the results again, the data called X.

    Parameters
    ----------
    results : EWPResults
    """
    known = results.versions
    seed = results.fit_options.random_state
    facts = [", ".join(f"{name} {version}" for name, version in known.items())]
    facts += [] if seed is None else [f"seed {seed}"]
    size = f"X: {results.n_obs} rows, {results.n_features} columns"
    sha256 = results.data_sha256
    values = "as 64-bit floats, row by row"
    hashed = f"sha256 {sha256[:16]}... {values}" if sha256 else "hash not computed"
    lines = [f"# {'; '.join(fact for fact in facts if fact)}"] if any(facts) else []
    lines.append(f"# {size}; {hashed}")
    if not results.call:
        return "\n".join([*lines, "# the call of the fit is not recorded in these results"])
    if results.selection is not None and not results.selection["complete"]:
        lines.append("# the choice of the penalty was interrupted: it rests on fewer replicates")
    lines += ["import ewp", "", f"results = {results.call}"]
    for place, call in results.calls.items():
        if not getattr(getattr(results, place, None), "complete", True):
            lines.append("# interrupted: it rests on fewer replicates")
        lines.append(call)
    return "\n".join(lines)


class RepeatMixin:
    """Doing a fit again, as it was or with other options."""

    def refit(self, *, X: Any = None, sample_weight: Any = None, **options: Any) -> Any:
        """Fit the same data again, with this fit's scaling, form and options but those given.

        So another penalty is tried on the features as this fit scaled them, where ``ewp.fit`` with
        a number for `lam` leaves them as they are. The partition of this fit is tried beside the
        new starts, unless the number of clusters changes or nothing is polished.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            The data that were fitted, if the results do not hold them any more.
        sample_weight : array-like of shape (n,), optional
            Their weights; only with `X`.
        **options
            Options of `ewp.EWP` to change, such as ``lam=20.0`` or ``n_clusters=4``. By default
            all are those of this fit, the penalty and the seed too.

        Returns
        -------
        EWPResults

        Examples
        --------
        >>> import ewp
        >>> from ewp.datasets import make_simulation2
        >>> X = 100 * make_simulation2(3, n=150, p=6, n_relevant=2, random_state=0).X
        >>> results = ewp.fit(X, 3, scale="standard", random_state=0)
        >>> results.refit(lam=2 * results.lam).scaling
        'standard'
        """
        # fits are made above this room
        fitting = import_module("ewp.fitting")
        return fitting.refit(self, X=X, sample_weight=sample_weight, **options)

    @property
    def recipe(self) -> str:
        """Lines of Python that give these results again, with all that was asked after the fit.

        The data are called X. Comments state versions, seed and hash of the data.
        """
        results: Any = self
        return recipe(results)
