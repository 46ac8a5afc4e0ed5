"""Choosing the penalty and the number of clusters: `select_lambda` and `select_k`.

The choice itself is made in `ewp.choice`; what a user gets to see of it is in
`ewp.selection_results`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from ewp.checks import check_choice, check_integer
from ewp.choice import Choice, SelectionOptions
from ewp.inputs import generator
from ewp.model import EWP
from ewp.racing import NOTHING, compare
from ewp.results import EWPResults
from ewp.selection_results import KSelection, LambdaSelection
from ewp.sources import open_source

__all__ = ["KSelection", "LambdaSelection", "select_k", "select_lambda"]


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
        Folds of the predictive criterion: their number, which keeps equal rows together and is
        drawn twice if rows are few; a splitter of scikit-learn that needs no labels; or pairs of
        row numbers for training and testing. For the other criteria, the number of replicates.
    rule : {"stable", "1se", "max"}, default="stable"
        "max" takes the best penalty, "1se" the largest within one standard error of it, "stable"
        the one whose partitions agree best between the replicates among those within half a
        standard error or 0.01 % of the best score; if several agree equally well, the one whose
        effective number of features is closest to the number of features in which the clusters
        differ significantly, and if that does not decide, the largest. Only the predictive
        criterion compares partitions between replicates; with the others "stable" takes the
        largest within these limits. The standard error is that of the difference to the best,
        over held-out rows (replicates, permutations), which is much smaller than that of either
        score and vanishes with many rows; hence the 0.01 %. Scalings and forms come first: of those
        whose best is as close to the best of all, standardised features, then the within form
        are preferred, and the penalty is chosen among theirs.
    n_lams : int, default=10
        Length of a grid. Not used with `lams`.
    sample_weight : array-like of shape (n,), optional
        Numbers of copies of the rows; if their mean is below one, the selection takes them for
        proportions. The predictive criterion chooses as it would from the copies; the others
        permute the rows' values whatever their weights.
    **options
        Other options of `ewp.EWP`: `scale` and `dispersion` fix what is "auto" by default,
        `random_state`, `n_jobs` (processes here), `progress`, ...

    Returns
    -------
    LambdaSelection
        An interruption (Ctrl-C) after the first replicate keeps the finished ones, which decide.

    Examples
    --------
    >>> from ewp.datasets import make_simulation2
    >>> X, labels, relevant = make_simulation2(k=4, n=200, p=10, random_state=0)
    >>> chosen = select_lambda(X, 4, scale=None, n_lams=5, random_state=0)
    >>> bool(chosen.results.weights.iloc[relevant].sum() > 0.95)
    True
    """
    _refuse_penalty(options)
    model = EWP(k, "auto", **options)
    how = SelectionOptions(lams, criterion, cv, rule, n_lams)
    choice = model.fit_selecting(X, sample_weight, how)
    assert choice is not None
    return LambdaSelection.of(choice, model.results_)


def _refuse_penalty(options: dict[str, Any]) -> None:
    if "lam" in options:
        raise ValueError(
            f"lam={options['lam']!r} leaves nothing to select; give the penalties to try as lams"
        )


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
    random_state : int, Generator, RandomState or None
        Seed; the folds are the same for all numbers in any case.
    **options
        Other options of `ewp.EWP`.

    Returns
    -------
    KSelection
        An interruption (Ctrl-C) keeps the numbers that are finished.

    Examples
    --------
    >>> from ewp.datasets import make_simulation2
    >>> X, labels, relevant = make_simulation2(k=3, n=150, p=6, random_state=1)
    >>> select_k(X, range(2, 5), scale=None, dispersion="within", n_lams=4, random_state=0).k
    3
    """
    _refuse_penalty(options)
    numbers = _numbers(ks)
    check_choice("rule", rule, ("1se", "max"))
    rows, _, _ = open_source(X, sample_weight).selection_rows(numbers[-1])
    how = SelectionOptions(lams, criterion, cv, n_lams=n_lams, partial=False).with_folds(rows)
    if not isinstance(random_state, int | np.integer):
        random_state = int(generator(random_state).integers(2**31))
    choices: dict[int, Choice] = {}
    fits: dict[int, EWPResults] = {}
    for k in numbers:
        model = EWP(k, "auto", random_state=random_state, **options)
        try:
            choice = model.fit_selecting(X, sample_weight, how)
        except KeyboardInterrupt:
            if not choices:
                raise
            warnings.warn(
                f"selection interrupted: choosing among k = {', '.join(map(str, choices))}",
                UserWarning,
                stacklevel=2,
            )
            break
        assert choice is not None
        choices[k], fits[k] = choice, model.results_
    table, best = _lead_table(choices)
    slack = 1.0 if rule == "1se" else 0.0
    close = table["lead"] <= slack * table["se_lead"] + NOTHING
    chosen = int(table.loc[close, "k"].min())
    words = f"the smallest within {slack:g} SE of the best ({best})" if slack else "the best"
    made = choices[best].criterion
    complete = len(choices) == len(numbers)
    return KSelection(table, chosen, made.name, made.unit, words, fits[chosen], fits, complete)


def _numbers(ks: Any) -> list[int]:
    """Check numbers of clusters, and sort them."""
    if not isinstance(ks, Iterable):
        raise ValueError(f"ks={ks!r} is no list; give the numbers to try, such as range(2, 9)")
    numbers = sorted({check_integer("ks", k, least=1) for k in ks})
    if not numbers:
        raise ValueError("ks is empty; give the numbers of clusters to try")
    return numbers


def _lead_table(choices: dict[int, Choice]) -> tuple[pd.DataFrame, int]:
    """Compare the numbers of clusters with the best of them."""
    scored = [k for k in choices if choices[k].chosen.scores]
    if not scored:
        raise ValueError(
            f"X has too few distinct rows to score k = {', '.join(map(str, choices))}; try fewer "
            "clusters"
        )
    best = max(scored, key=lambda k: choices[k].chosen.mean)
    rows = []
    for k, choice in choices.items():
        chosen = choice.chosen
        row = {
            "k": k,
            "scaling": chosen.family.scaling,
            "dispersion": chosen.family.dispersion,
            "lam": chosen.lam,
            "mean": chosen.mean,
        }
        if k in scored:
            lead, error = compare(choices[best].chosen, chosen)
            row |= {"se": choice.criterion.spread(chosen.scores), "lead": lead, "se_lead": error}
        rows.append(row)
    return pd.DataFrame(rows), best
