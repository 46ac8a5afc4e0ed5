"""Choosing the penalty and the number of clusters: `select_lambda`, `select_k`, their results.

Each returns a table, words and a picture, with the chosen model fitted to all rows. The outcome
itself is made in `ewp.selection.decision`, the fit in `ewp.fitting`.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp.common.calls import chain_call, write_call
from ewp.common.checks import check_choice, check_integer
from ewp.data.arguments import stated_seed
from ewp.data.sources import open_source
from ewp.display.evidence import NO_CLUSTERS, SEPARATED, NoClustersWarning
from ewp.display.formatting import short
from ewp.display.selection import plot_k, plot_lambda, selection_reason
from ewp.display.summary import EWPSummary, SummaryMixin, render_table
from ewp.engine import rows_for_selection
from ewp.fitting import fit_model, state_options
from ewp.results.results import EWPResults
from ewp.selection.decision import SelectionOutcome
from ewp.selection.number import competing_numbers, lead_table, smallest_as_good
from ewp.selection.options import SelectionOptions
from ewp.selection.prediction_strength import largest_strong
from ewp.solver.fit import FitOptions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["KSelection", "LambdaSelection", "select_k", "select_lambda"]


@dataclass(eq=False, repr=False)
class LambdaSelection(SummaryMixin):
    """How a penalty was chosen.

    Attributes
    ----------
    table : DataFrame
        One row per candidate: scaling, form, penalty (in all and per row), mean and standard error
        of the criterion, effective number of features, stability (mean adjusted Rand index
        between the replicates' partitions or, with the stability criterion, between the two of
        every pair; none with the gap), number of replicates (folds, pairs, permutations), and
        the criterion on each of them.
        Candidates that the first replicates showed to be hopeless have fewer.
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
    call : str
        What gives the selection again, the data called X.
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
    call: str = ""

    @classmethod
    def of(cls, outcome: SelectionOutcome, results: EWPResults, call: str = "") -> LambdaSelection:
        """Dress an outcome and the fit it led to."""
        return cls(
            table=_tabulate(outcome),
            lam=outcome.chosen.lam,
            scaling=outcome.chosen.family.scaling,
            dispersion=outcome.chosen.family.dispersion,
            criterion=outcome.criterion.name,
            unit=outcome.criterion.unit,
            reason=selection_reason(outcome.record()),
            complete=outcome.complete,
            results=results,
            call=call,
        )

    def fit_at(self, lam: float, **options: Any) -> EWPResults:
        """Fit at another penalty, with the scaling and the form that were chosen.

        Parameters
        ----------
        lam : float
            In the units of a sum over all rows, such as an entry of the table.
        **options
            Other options to change, as in `EWPResults.refit`; by default all are kept.

        Returns
        -------
        EWPResults
        """
        again: EWPResults = self.results.refit(lam=lam, **options)
        return again

    def summary(self) -> EWPSummary:
        """Printed account of the selection, as text, HTML or LaTeX."""
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
        notes = [self.reason, f"mean: {self.unit}."]
        if (table["replicates"] < table["replicates"].max()).any():
            notes.append(
                "Candidates far below the best after some replicates were not scored further."
            )
        return render_table(title, table, notes)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the criterion against the penalty, with the choice marked.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        Axes
            Hollow points were not scored further after their first replicates.

        Raises
        ------
        ValueError
            If there were too few rows to score anything.
        """
        chosen = self.scaling, self.dispersion, self.lam
        return plot_lambda(self.table, chosen, self.unit, ax=ax)

    def __repr__(self) -> str:
        return f"LambdaSelection: {self.reason}"


def _tabulate(outcome: SelectionOutcome) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for entry in outcome.entries:
        values = outcome.criterion.values(entry.scores)
        row = {
            "scaling": entry.family.scaling,
            "dispersion": entry.family.dispersion,
            "lam": entry.lam,
            "lam_per_row": entry.lam / outcome.total,
            "mean": entry.mean,
            "se": outcome.criterion.spread(entry.scores) if entry.scores else np.nan,
            "effective_features": entry.effective_features,
            "stability": entry.stability,
            "replicates": len(values),
        }
        rows.append(row | {f"score_{i + 1}": value for i, value in enumerate(values)})
    return pd.DataFrame(rows)


@dataclass(eq=False, repr=False)
class KSelection(SummaryMixin):
    """How a number of clusters was chosen.

    Attributes
    ----------
    table : DataFrame
        One row per number of clusters: the chosen penalty, scaling and form at it, mean and
        standard error of the criterion there, the lead of the best that competes over it and the
        standard error of that difference, over held-out rows; with the predictive criterion
        ``evidence``, whether they speak for more than one cluster, and ``separation``, what the two
        clusters that are separated least gain over one in their place. Every part of the rows is
        scored by the penalty that the others choose (nested cross-validation), so that many
        penalties to choose from are no advantage. Numbers for which the rows are too few have no
        scores.
    k : int
        The chosen number.
    criterion, unit : str
    rule : str
    results : EWPResults
        The fit at the chosen number.
    fits : dict
        The fits at all numbers.
    complete : bool
        False if the selection was interrupted: the table has the numbers that were finished.
    call : str
        What gives the selection again, the data called X.
    """

    table: pd.DataFrame
    k: int
    criterion: str
    unit: str
    rule: str
    results: EWPResults
    fits: dict[int, EWPResults]
    complete: bool = True
    call: str = ""

    def summary(self) -> EWPSummary:
        """Printed account of the selection, as text, HTML or LaTeX."""
        title = f"Selection of the number of clusters, {self.criterion} criterion"
        notes = [
            f"k = {self.k}: {self.rule}.",
            f"mean: {self.unit}.",
            "lead: mean score of the best number that competes minus that of this one, compared "
            "row by row where rows are scored; se_lead: standard error of this difference, where "
            "rows are scored corrected for fits that share most of their rows.",
        ]
        if "evidence" in self.table:
            of_box, of_normal = (
                "what k parts of a single box-shaped cluster gain at most, ",
                ": halves of an ellipsoid gain nothing, those of a box twice as much, and two "
                "normal clusters as much if their centres are 2.65 standard deviations apart",
            )
            if self.results.families is not None:
                of_box = of_normal = ""
            notes.append(
                "evidence: whether held-out rows speak for more than one cluster, that is, whether "
                "their gain is more than two standard errors (corrected for fits that share most "
                f"of their rows) above {of_box}0.0759 log2(k). Without it at any number, k = 1."
            )
            notes.append(
                "separation: log-density that held-out rows of two clusters gain over one cluster "
                "in their place, for the two that are separated least. Numbers compete whose "
                f"clusters gain more than {short(SEPARATED, 2)}{of_normal}."
            )
            if not self.table["evidence"].any():
                notes.append(f"There is {NO_CLUSTERS}.")
        tried = self.table["k"]
        if len(tried) > 1 and self.k == tried.max():
            notes.append(f"{self.k} is the largest number that was tried: more may be better.")
        if self.k == tried.min() > 1:
            notes.append(f"{self.k} is the smallest number that was tried: fewer may be better.")
        if not self.complete:
            notes.append("The selection was interrupted: finished numbers only.")
        return render_table(title, self.table.rename(columns={"dispersion": "form"}), notes)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the criterion against the number of clusters, with the choice marked.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        Axes
        """
        return plot_k(self.table, self.k, self.unit, ax=ax)

    def __repr__(self) -> str:
        tried = ", ".join(str(k) for k in self.table["k"])
        return f"KSelection: k = {self.k} of {tried}, {self.rule}"


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
    criterion : {"predictive", "stability", "gap", "strength", "splitting"} or criterion
        "predictive" is the log-density that held-out rows gain from the partition, over all
        features; "stability" the agreement between subsamples, corrected for chance and for
        degenerate solutions; "gap" the permutation gap; "strength" the prediction strength, which
        is meant for `select_k`: between penalties it prefers what is cut in the same place in
        both halves, if by one feature alone; "splitting", for counts, the log-density of one half
        of every count under a fit to the other, see `ewp.selection.count_splitting`. "predictive"
        is the default. See `ewp.selection.criteria`.
    cv : int or splitter, default=5
        Folds of the predictive criterion: their number, which keeps equal rows together and is
        drawn twice if rows are few; a splitter of scikit-learn that needs no labels; or pairs of
        row numbers for training and testing. For the other criteria, the number of replicates.
    rule : {"stable", "1se", "max"}, default="stable"
        "max" takes the best penalty, "1se" the largest within one standard error of it, "stable"
        the one whose partitions agree best between the replicates among those within half a
        standard error or 0.01 % of the best score; if several agree equally well, the one whose
        effective number of features is closest to the number of features in which the clusters
        differ significantly, and if that does not decide, the largest. With weights of every
        cluster the number of features decides among all within half a standard error or 0.2 %
        whose stability is within 0.02 of the largest. Where features outnumber
        rows and are 500 or more, the number of features decides among all within 1.5 standard
        errors whose stability is within 0.02 of the largest. Only the predictive
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
        Other options of `ewp.EWP`: `scale` and `dispersion` fix what is "auto" by default;
        ``weights="auto"`` chooses between common weights and weights of every cluster,
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
    how = SelectionOptions(lams, criterion, cv, rule, n_lams)
    asked = _with_seed(_fit_options(k, options))
    results, _, outcome = fit_model(X, sample_weight, asked, how)
    assert outcome is not None
    stated = state_options(how, asked, sample_weight)
    return LambdaSelection.of(outcome, results, write_call("ewp.select_lambda", ["X", k], stated))


def _with_seed(options: FitOptions) -> FitOptions:
    """Options with a seed that can be stated."""
    return dataclasses.replace(options, random_state=stated_seed(options.random_state))


def _fit_options(k: int, options: dict[str, Any]) -> FitOptions:
    """The options of `ewp.EWP` for k clusters and an automatic penalty."""
    known = {field.name for field in dataclasses.fields(FitOptions)} - {"n_clusters", "lam"}
    for name in options:
        if name not in known:
            raise TypeError(f"got an unexpected keyword argument {name!r}; it is no option of EWP")
    return FitOptions(k, "auto", **options)


def _refuse_penalty(options: dict[str, Any]) -> None:
    if "lam" in options:
        raise ValueError(
            f"lam={options['lam']!r} leaves nothing to select; give the penalties to try as lams"
        )


def select_k(
    X: Any,
    ks: Iterable[int] = range(1, 9),
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
    the standard error is that of the difference. With the predictive criterion a number is also as
    good as the best if the clusters it lacks would each gain less than a fifth of what a cluster
    gains on average: halves of a cluster that look alike are no clusters. A number competes only if
    its clusters are separated: held-out rows of every cluster and the one next to it have to be
    better described as two clusters than as one in their place. A cluster whose shape is its own
    may be described better by several of a common shape, but these are not separated. And numbers
    above one compete only if held-out rows speak for more than one cluster at any number: if their
    gain over a single elliptical cluster is more than two standard errors above what parts of a
    single box-shaped cluster gain. Where none does, the number is one, if that was tried.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, p)
    ks : iterable of int, default=range(1, 9)
        Numbers of clusters to try.
    criterion, cv, lams, n_lams, sample_weight
        As in `select_lambda`.
    rule : {"1se", "max"}, default="1se"
        The smallest number within one standard error of the best, or the best. With the criterion
        "strength" it is always the largest whose prediction strength is at least 0.8, the rule of
        Tibshirani and Walther (2005).
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
    missing: str = options.get("missing", FitOptions.missing)
    if options.get("robust") is not None:
        raise ValueError(
            f"robust={options['robust']!r}: numbers of clusters are compared on the same rows, and "
            "each would trim others; fit with the largest number first and give the rows it kept: "
            "X[~results.outliers['trimmed']]"
        )
    check_choice("missing", missing, ("error", "observed"))
    source = open_source(X, sample_weight, missing)
    source.check_clusters(numbers[-1])
    how = SelectionOptions(lams, criterion, cv, n_lams=n_lams, partial=False, separation=True)
    seeded = _with_seed(_fit_options(numbers[-1], options | {"random_state": random_state}))
    stated = state_options(how, seeded, sample_weight)
    if rule != "1se":
        stated = {"rule": rule} | stated
    call = write_call("ewp.select_k", ["X", ks if isinstance(ks, range) else numbers], stated)
    rows, *_ = rows_for_selection(source, numbers[-1], whole=how.needs_all_rows)
    how = how.with_folds(rows)
    outcomes: dict[int, SelectionOutcome] = {}
    fits: dict[int, EWPResults] = {}
    for k in numbers:
        asked = dataclasses.replace(seeded, n_clusters=k)
        try:
            with warnings.catch_warnings():
                # told once, for all numbers
                warnings.simplefilter("ignore", NoClustersWarning)
                results, _, outcome = fit_model(source.data, sample_weight, asked, how)
        except KeyboardInterrupt:
            if not outcomes:
                raise
            warnings.warn(
                f"selection interrupted: choosing among k = {', '.join(map(str, outcomes))}",
                UserWarning,
                stacklevel=2,
            )
            break
        assert outcome is not None
        outcomes[k], fits[k] = outcome, results
        results.call = chain_call(call, f".fits[{k}]")
    rivals, alone = competing_numbers(outcomes)
    table, best = lead_table(outcomes, rivals)
    made = outcomes[best].criterion
    chosen, words = best, "the best"
    if rule == "1se":
        chosen, words = smallest_as_good(
            table[table["k"].isin(rivals)], best, per_cluster=made.over_one_cluster
        )
    if any(one.separation is not None and not one.separation.clear for one in outcomes.values()):
        words += ", of those whose clusters are separated"
    words = alone or words
    if getattr(made, "threshold", None) is not None:
        chosen, words = largest_strong(table)
    complete = len(outcomes) == len(numbers)
    return KSelection(
        table, chosen, made.name, made.unit, words, fits[chosen], fits, complete, call
    )


def _numbers(ks: Any) -> list[int]:
    """Check numbers of clusters, and sort them."""
    if not isinstance(ks, Iterable):
        raise ValueError(f"ks={ks!r} is no list; give the numbers to try, such as range(2, 9)")
    numbers = sorted({check_integer("ks", k, least=1) for k in ks})
    if not numbers:
        raise ValueError("ks is empty; give the numbers of clusters to try")
    return numbers
