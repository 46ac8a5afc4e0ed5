"""Choosing the penalty and the number of clusters: `select_lambda`, `select_k` and their results.

The choice itself is made in `ewp.choice`; here it is put into a table, words and a picture, and
the chosen model comes fitted to all rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp._selection_text import reason
from ewp.candidates import compare
from ewp.choice import Choice, SelectionOptions
from ewp.inputs import check_choice, check_integer
from ewp.model import EWP
from ewp.results import EWPResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary2 import Summary

__all__ = ["KSelection", "LambdaSelection", "select_k", "select_lambda"]


class _Printed:
    """Text and HTML of an object that has a summary."""

    def summary(self) -> Summary:
        """Printed account."""
        raise AssertionError("defined by every subclass")

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return str(self.summary().as_html())


@dataclass(eq=False, repr=False)
class LambdaSelection(_Printed):
    """How a penalty was chosen.

    Attributes
    ----------
    table : DataFrame
        One row a candidate: scaling, form, penalty (in all and a row), mean and standard error
        of the criterion, effective number of features, stability (mean adjusted Rand index
        between the replicates' partitions), number of replicates, and the criterion on each of
        them. Candidates that the first replicates showed to be hopeless have fewer.
    lam : float
        The chosen penalty, in the units of a sum over all rows.
    scaling, dispersion : str
        The chosen scaling and form.
    criterion, unit : str
        Name of the criterion and what it counts.
    reason : str
        The decision in words, with the runner-up.
    complete : bool
        False if the selection was interrupted.
    results : EWPResults
        The fit to all rows with the chosen options.
    """

    table: pd.DataFrame
    lam: float
    scaling: str
    dispersion: str
    criterion: str
    unit: str
    reason: str
    complete: bool
    results: EWPResults

    def summary(self) -> Summary:
        """Printed account of the selection, as text, HTML or LaTeX."""
        from ewp._selection_text import summarise_selection

        columns = [
            "scaling",
            "dispersion",
            "lam",
            "mean",
            "se",
            "effective_features",
            "stability",
            "replicates",
        ]
        names = {"effective_features": "features", "dispersion": "form"}
        table = self.table[columns].rename(columns=names)
        title = f"Selection of lambda, {self.criterion} criterion"
        return summarise_selection(title, table, [self.reason, f"mean: {self.unit}."])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the criterion against the penalty, with the choice marked.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        Axes
            Hollow points were given up after their first replicates.
        """
        from ewp.selection_plots import plot_lambda

        chosen = self.scaling, self.dispersion, self.lam
        return plot_lambda(self.table, chosen, self.unit, ax=ax)

    def __repr__(self) -> str:
        return f"LambdaSelection: {self.reason}"


def _tabulate(choice: Choice) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for entry in choice.entries:
        row = {
            "scaling": entry.family.scaling,
            "dispersion": entry.family.dispersion,
            "lam": entry.lam,
            "lam_per_row": entry.lam / choice.total,
            "mean": entry.mean,
            "se": choice.criterion.spread(entry.scores) if entry.scores else np.nan,
            "effective_features": entry.effective_features,
            "stability": entry.stability,
            "replicates": len(entry.scores),
        }
        rows.append(row | {f"score_{i + 1}": value for i, value in enumerate(entry.values)})
    return pd.DataFrame(rows)


def select_lambda(
    X: Any,
    k: int,
    lams: Any = None,
    criterion: Any = "predictive",
    *,
    cv: Any = 5,
    rule: str = "stable",
    n_lams: int = 10,
    sample_weight: Any = None,
    **options: Any,
) -> LambdaSelection:
    """Choose the penalty, and what is "auto" in scaling and form, without labels.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, p)
    k : int
        Number of clusters.
    lams : array-like, optional
        Penalties in the units of a sum over all rows; a grid of its own for every scaling and
        form (see `lambda_path`) if not given. Fits to a part of the rows use that part of it.
    criterion : {"predictive", "stability", "gap"} or criterion, default="predictive"
        "predictive" is the log-density that held-out rows gain from the partition, over all
        features; "stability" the agreement between subsamples, corrected for chance and for
        degenerate solutions; "gap" the permutation gap. See `ewp.criteria`.
    cv : int or splitter, default=5
        Folds of the predictive criterion; number of replicates of the others.
    rule : {"stable", "1se", "max"}, default="stable"
        "max" takes the best penalty, "1se" the largest within one standard error of it, "stable"
        the one whose partitions agree best between the replicates among those within half a
        standard error; if several agree equally well, the one whose effective number of features
        is closest to the number of features in which the clusters differ significantly. The
        standard error is that of the difference to the best, over held-out rows, which is much
        smaller than that of either score.
    n_lams : int, default=10
        Length of a grid.
    sample_weight : array-like of shape (n,), optional
    **options
        Other options of `ewp.EWP`: `scale` and `dispersion` fix what is "auto" by default,
        `random_state`, `n_jobs` (processes here), `progress`, ...

    Returns
    -------
    LambdaSelection

    Examples
    --------
    >>> from ewp.datasets import make_simulation2
    >>> X, labels, relevant = make_simulation2(k=4, n=200, p=10, random_state=0)
    >>> chosen = select_lambda(X, 4, scale=None, n_lams=5, random_state=0)
    >>> bool(chosen.results.weights.iloc[relevant].sum() > 0.95)
    True
    """
    model = EWP(k, "auto", **options)
    how = SelectionOptions(lams, criterion, cv, rule, n_lams)
    choice = model.fit_selecting(X, sample_weight, how)
    assert choice is not None
    return LambdaSelection(
        table=_tabulate(choice),
        lam=choice.chosen.lam,
        scaling=choice.chosen.family.scaling,
        dispersion=choice.chosen.family.dispersion,
        criterion=choice.criterion.name,
        unit=choice.criterion.unit,
        reason=reason(choice.record()),
        complete=choice.complete,
        results=model.results_,
    )


@dataclass(eq=False, repr=False)
class KSelection(_Printed):
    """How a number of clusters was chosen.

    Attributes
    ----------
    table : DataFrame
        One row a number of clusters: the chosen penalty, scaling and form at it, mean and
        standard error of the criterion there, and the lead of the best number over it with the
        standard error of that difference.
    k : int
        The chosen number.
    criterion, unit : str
    rule : str
    results : EWPResults
        The fit at the chosen number.
    fits : dict
        The fits at all numbers.
    """

    table: pd.DataFrame
    k: int
    criterion: str
    unit: str
    rule: str
    results: EWPResults
    fits: dict[int, EWPResults]

    def summary(self) -> Summary:
        """Printed account of the selection, as text, HTML or LaTeX."""
        from ewp._selection_text import summarise_selection

        title = f"Selection of the number of clusters, {self.criterion} criterion"
        notes = [f"k = {self.k}: {self.rule}.", f"mean: {self.unit}."]
        return summarise_selection(title, self.table, notes)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the criterion against the number of clusters, with the choice marked.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        Axes
        """
        from ewp.selection_plots import plot_k

        return plot_k(self.table, self.k, self.unit, ax=ax)

    def __repr__(self) -> str:
        tried = ", ".join(str(k) for k in self.table["k"])
        return f"KSelection: k = {self.k} of {tried}, {self.rule}"


def select_k(
    X: Any,
    ks: Iterable[int],
    criterion: Any = "predictive",
    *,
    cv: Any = 5,
    rule: str = "1se",
    lams: Any = None,
    n_lams: int = 10,
    sample_weight: Any = None,
    random_state: Any = None,
    **options: Any,
) -> KSelection:
    """Choose the number of clusters without labels.

    For every number the penalty (and what else is "auto") is chosen as in `select_lambda`, on the
    same folds. The smallest number is taken whose score is within one standard error of the best;
    the standard error is that of the difference.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, p)
    ks : iterable of int
        Numbers of clusters to try.
    criterion, cv, lams, n_lams, sample_weight
        As in `select_lambda`.
    rule : {"1se", "max"}, default="1se"
        The smallest number within one standard error of the best, or the best.
    random_state : int or None
        Seed; an integer makes folds that are the same for all numbers.
    **options
        Other options of `ewp.EWP`.

    Returns
    -------
    KSelection

    Examples
    --------
    >>> from ewp.datasets import make_simulation2
    >>> X, labels, relevant = make_simulation2(k=3, n=150, p=6, random_state=1)
    >>> select_k(X, range(2, 5), scale=None, dispersion="within", n_lams=4, random_state=0).k
    3
    """
    numbers = sorted({check_integer("ks", k, least=1) for k in ks})
    if not numbers:
        raise ValueError("ks is empty; give the numbers of clusters to try")
    how = SelectionOptions(lams, criterion, cv, n_lams=n_lams)
    slack = {"1se": 1.0, "max": 0.0}[check_choice("rule", rule, ("1se", "max"))]
    if not isinstance(random_state, int | np.integer):
        random_state = int(np.random.default_rng(random_state).integers(2**31))
    choices: dict[int, Choice] = {}
    fits: dict[int, EWPResults] = {}
    for k in numbers:
        model = EWP(k, "auto", random_state=random_state, **options)
        choice = model.fit_selecting(X, sample_weight, how)
        assert choice is not None
        choices[k], fits[k] = choice, model.results_
    best = max(numbers, key=lambda k: choices[k].chosen.mean)
    rows = []
    for k in numbers:
        chosen = choices[k].chosen
        lead, error = compare(choices[best].chosen, chosen)
        rows.append(
            {
                "k": k,
                "scaling": chosen.family.scaling,
                "dispersion": chosen.family.dispersion,
                "lam": chosen.lam,
                "mean": chosen.mean,
                "se": choices[k].criterion.spread(chosen.scores),
                "lead": lead,
                "se_lead": error,
            }
        )
    table = pd.DataFrame(rows)
    close = table["lead"] <= slack * table["se_lead"]
    chosen_k = int(table.loc[close, "k"].min())
    words = "the best" if slack == 0 else f"the smallest within {slack:g} SE of the best ({best})"
    made = choices[best].criterion
    return KSelection(table, chosen_k, made.name, made.unit, words, fits[chosen_k], fits)
