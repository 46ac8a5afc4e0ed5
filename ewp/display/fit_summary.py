"""The summary of a fit: facts, clusters, the heaviest features, and notes in plain words.

Everything is formatted to text here, so that what is printed never depends on the data still being
there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.special import entr

from ewp.common.checks import check_integer
from ewp.common.types import FittedResults
from ewp.display.axes import heaviest_rows
from ewp.display.evidence import NO_CLUSTERS, evidence_of
from ewp.display.formatting import (
    MAX_CLUSTERS,
    amount_cells,
    column_cells,
    fixed,
    interval_table,
    number,
    one_line,
    p_text,
    percent,
    short,
    weight_cells,
    whole_percent,
)
from ewp.display.selection import selection_reason
from ewp.display.summary import EWPSummary

__all__ = [
    "column_deviations",
    "fit_notes",
    "is_weighted",
    "summarise_fit",
    "variance_explained",
]

_TITLE = "Entropy Weighted Power k-means"
_MAX_CENTROID_COLUMNS = 6
_MAX_LISTED = 6
#: Heaviest features of a cluster that has weights of its own.
_IN_A_CELL = 3


def summarise_fit(results: FittedResults, top: int = 10) -> EWPSummary:
    """Render results as a summary with ``as_text``, ``as_html`` and ``as_latex``.

    Parameters
    ----------
    results : EWPResults
    top : int, default 10
        Number of features to list, heaviest first.

    Returns
    -------
    EWPSummary
    """
    check_integer("top", top, least=1)
    evidence = evidence_of(results)
    shown = _TITLE if evidence is None or evidence.clear else f"{_TITLE}: {NO_CLUSTERS}"
    summary = EWPSummary(shown)
    summary.add_dict(_facts(results))
    summary.add_df(_cluster_table(results))
    summary.add_df(_feature_table(results, top))
    table, notes = uncertainty_table(results, heaviest_first(results)[:top])
    if table is not None:
        summary.add_df(table)
    for note in [*fit_notes(results, top), *notes]:
        summary.add_text(note)
    return summary


def _facts(results: FittedResults) -> dict[str, str]:
    given = results.fit_options
    start = given.init if isinstance(given.init, str) else "array"
    # The last row of the trace is where the last iteration ended; none starts from it.
    phases = results.objective_trace["phase"].iloc[:-1]
    counts = [str(int((phases == phase).sum())) for phase in ("anneal", "finish", "polish")]
    explained = results.betweenss / results.totss if results.totss > 0 else np.nan
    plain = results.families is None
    return {
        "Observations:": str(results.n_obs),
        "Features:": str(results.n_features),
        **_missing(results),
        **_trimmed(results),
        **_precision(results),
        **_families(results),
        "Clusters:": str(results.n_clusters),
        "Penalty lambda:": number(results.lam),
        "lambda / n:": number(results.lam / float(results.clusters["mass"].sum())),
        "Scaling:": results.scaling,
        "Dispersion:": results.dispersion,
        **({"Weights:": "of every cluster"} if results.by_cluster else {}),
        "Starts:": f"{results.n_starts} ({start})",
        **_agreeing(results),
        "Seed:": "unknown" if given.random_state is None else str(given.random_state),
        **_gain(results),
        "Objective f_-inf:": number(results.objective, 6),
        "Between / total SS:" if plain else "Between / total:": percent(explained),
        "Effective features:": number(results.effective_features),
        "Starting exponent s0:": number(results.s0),
        "Critical exponent:": number(results.critical_exponent),
        "Iterations:": str(results.n_iter),
        "anneal + finish + polish:": " + ".join(counts),
        "Converged:": "yes" if results.converged else "NO",
    }


def _missing(results: FittedResults) -> dict[str, str]:
    if results.observed is None:
        return {}
    return {"Missing values:": percent(1.0 - results.observed.mean())}


def _trimmed(results: FittedResults) -> dict[str, str]:
    if results.outliers is None:
        return {}
    count = int(results.outliers["trimmed"].sum())
    return {"Rows trimmed:": f"{count} ({percent(count / results.n_obs)})"}


def _precision(results: FittedResults) -> dict[str, str]:
    """Say that a fit was computed in single precision, if it was."""
    single = results.fit_options.dtype == "float32"
    return {"Precision:": "single, last steps double"} if single else {}


def _families(results: FittedResults) -> dict[str, str]:
    """Name the divergences of a fit, if they are not squared differences, and its sizes of rows."""
    families = results.families
    if families is None:
        return {}
    counts = Counter(families.names)
    named = next(iter(counts)) if len(counts) == 1 else "by column"
    if families.sizes is None:
        return {"Divergence:": named}
    least, most = float(families.sizes.min()), float(families.sizes.max())
    return {"Divergence:": named, "Sizes of rows:": f"{short(least, 2)} to {short(most, 3)}"}


def family_notes(results: FittedResults) -> Iterable[str]:
    """What a summary says of divergences that are not squared differences."""
    families = results.families
    if families is None:
        return
    counts = Counter(families.names)
    if len(counts) > 1:
        listed = ", ".join(f"{count} {name}" for name, count in counts.items())
        yield f"Divergences of the columns: {listed}."
    if families.sizes is not None:
        whose = "row totals over their mean" if families.reference is not None else "as given"
        yield (
            f"Sizes of rows: {whose}. A row of size s is compared with s times the centroids, "
            "which are per unit of size. The shares of clusters count rows, whatever their size."
        )
    if results.scaling == "standard":
        yield (
            "Weights relate to standardised features: the divergences of each feature are divided "
            "by their mean about the mean of all rows; centroids are in the units of the data."
        )
    what = "half deviances"
    if "euclidean" in counts:
        what += "; squared differences where euclidean"
    yield (
        f"f_-inf: weighted divergences ({what}) of the rows from their centroids, summed, plus the "
        "entropy penalty. withinss: the sum of these divergences in each cluster."
    )


def _agreeing(results: FittedResults) -> dict[str, str]:
    """How many of several starts found the best objective."""
    if results.starts is None or results.n_starts == 1:
        return {}
    return {"Starts that agree:": f"{int(results.starts['starts'].iloc[0])} of {results.n_starts}"}


def _gain(results: FittedResults) -> dict[str, str]:
    evidence = evidence_of(results)
    if evidence is None:
        return {}
    shown = f"{short(evidence.gain, 2)} (se {short(evidence.error, 2)})"
    return {"Gain over 1 cluster:": shown}


def _cluster_table(results: FittedResults) -> pd.DataFrame:
    clusters = results.clusters.head(MAX_CLUSTERS)
    share = clusters["mass"] / results.clusters["mass"].sum()
    table = {"size": [str(size) for size in clusters["size"]]}
    if is_weighted(results):
        table["mass"] = amount_cells(clusters["mass"])
    table["share"] = [percent(x) for x in share]
    table["withinss"] = amount_cells(clusters["withinss"])
    if results.by_cluster:
        weights = results.weights.to_numpy(dtype=float)[: len(clusters)]
        table["features"] = [short(np.exp(entr(w).sum()), 3) for w in weights]
        table["heaviest"] = [_heaviest(results, w) for w in weights]
    return pd.DataFrame(table, index=[f"cluster {name}" for name in clusters.index])


def _heaviest(results: FittedResults, weights: np.ndarray) -> str:
    """The heaviest features of one cluster in a cell."""
    order = np.argsort(-weights, kind="stable")[:_IN_A_CELL]
    return ", ".join(f"{one_line(results.feature_names[i])} {fixed(weights[i])}" for i in order)


def _feature_table(results: FittedResults, top: int) -> pd.DataFrame:
    order = heaviest_first(results)[:top]
    theta = results.centroids.to_numpy(dtype=float)[:, order]
    table = {"weight": weight_cells(results.mean_weights.to_numpy(dtype=float)[order])}
    if results.observed is not None:
        table["missing"] = [percent(1.0 - x) for x in results.observed[order]]
    explained = variance_explained(results)
    if explained is not None:
        table["explained"] = [percent(x) for x in explained[order]]
    names = [str(name) for name in results.centroids.index]
    formatted = [column_cells(column) for column in theta.T]
    if len(names) <= _MAX_CENTROID_COLUMNS:
        for j, name in enumerate(names):
            table[f"cluster {name}"] = [cells[j] for cells in formatted]
    else:
        for heading, where in (("lowest", theta.argmin(0)), ("highest", theta.argmax(0))):
            cells = [column[j] for column, j in zip(formatted, where, strict=True)]
            table[heading] = cells
            table[f"{heading} in"] = [f"cluster {names[j]}" for j in where]
    return pd.DataFrame(table, index=[one_line(results.feature_names[i]) for i in order])


def fit_notes(results: FittedResults, top: int) -> Iterable[str]:
    """What a summary says of a fit in sentences."""
    weights = results.mean_weights.to_numpy(dtype=float)
    order = heaviest_first(results)
    p, k = results.n_features, results.n_clusters
    if not results.converged:
        limit = results.fit_options.max_iter
        yield (
            f"NOT CONVERGED: stopped after {results.n_iter} iterations (max_iter = {limit}); the "
            "estimates are not yet a fixed point. Raise max_iter or tol."
        )
    evidence = evidence_of(results)
    if evidence is not None and not evidence.clear:
        yield evidence.words()
    elif evidence is not None:
        yield (
            "Gain over 1 cluster: held-out log-density per observation under these clusters, minus "
            "that under a single one, in nats (natural logarithm); the rows that are scored have "
            "no part in the choice of the penalty."
        )
    if (told := starts_note(results)) is not None:
        yield told
    if p > 1:
        cumulated = np.cumsum(weights[order])
        most, almost_all = (int((cumulated < share).sum()) + 1 for share in (0.9, 0.99))
        verb = "holds" if almost_all == 1 else "hold"
        core = f", {most} of them 90 %" if most < almost_all else ""
        yield f"{min(almost_all, p)} of {p} features {verb} 99 % of the weight{core}."
    if p > top:
        rest = float(weights[order[top:]].sum())
        yield f"... and {p - top} more features, together with {percent(rest)} of the weight."
    if k > MAX_CLUSTERS:
        sizes = results.clusters["size"].iloc[MAX_CLUSTERS:]
        yield f"... and {len(sizes)} more clusters, of {sizes.min()} to {sizes.max()} rows."
    critical = results.critical_exponent
    if k > 1 and results.s0 > critical + 1e-6 * abs(critical) > -np.inf:
        yield (
            f"The annealing starts at s0 = {number(results.s0)}, above the critical exponent "
            f"{number(critical)}: down to there all centroids converge to one "
            'point, which may lead to a worse partition. s0="auto" starts below it.'
        )
    excluded = [one_line(name) for name in results.feature_names[results.prior == 0]]
    if excluded:
        more = len(excluded) - _MAX_LISTED
        listed = ", ".join(excluded[:_MAX_LISTED]) + (f", ... and {more} more" if more > 0 else "")
        yield f"Excluded, constant or given prior weight 0: {listed}."
    included = results.prior[results.prior > 0]
    if included.size and np.ptp(included) > 1e-12 * included.max():
        yield "The weights start from a prior that is not the same for all features."
    yield from family_notes(results)
    if results.scaling == "standard" and results.families is None:
        yield (
            "Weights relate to standardised features (each divided by its standard deviation); "
            "centroids are in the units of the data."
        )
    if results.decorrelation is not None:
        yield (
            "Weights relate to decorrelated features: the weight of a feature is that of the part "
            "of it which the other features do not explain (ZCA-cor, correlations shrunk by "
            f"{short(results.decorrelation.shrinkage, 2)}). Centroids are in the units of the data."
        )
    if results.by_cluster:
        yield (
            "Every cluster has feature weights of its own, results.weights; those of the table of "
            "features are their means, by mass. features, heaviest: effective features of a "
            "cluster, and which weigh most."
        )
    if results.observed is not None:
        yield (
            "missing: share of the rows without a value of the feature, "
            f"{percent(float(1.0 - results.observed.max()))} to "
            f"{percent(float(1.0 - results.observed.min()))}. Distances and sums of squares are "
            "over observed values, divided by their share in each feature, which is right if "
            "values are missing completely at random."
        )
    if results.selection is not None:
        yield selection_reason(results.selection)
    if results.outliers is not None:
        yield (
            "Rows trimmed: those farthest from all centroids. They have labels and count in size; "
            "mass, share, n and all sums of squares go without them. results.outliers tells how "
            "far out every row is."
        )
    elif is_weighted(results):
        sums = "sums of squares" if results.families is None else "sums"
        yield f"Rows are weighted: mass, share, n and all {sums} count the weights."
    own = ", which every row pays for the weights of its cluster" if results.by_cluster else ""
    if results.families is None:
        yield (
            "f_-inf: weighted squared distances of the rows to their centroids, summed, plus the "
            f"entropy penalty{own}. withinss: the sum of these distances in each cluster."
        )
    yield (
        "Effective features: exponential of the entropy of the weights, from 1 (one has all the "
        "weight) to all of them. Above the critical exponent all centroids converge to one point."
    )
    if variance_explained(results) is not None:
        what = "variance" if results.families is None else "divergence from its mean"
        yield f"explained: share of the feature's {what} that lies between the clusters."
    refinement = results.refinement_
    if refinement is not None and refinement.clearly_better and refinement.moved_share > 0:
        yield (
            "The refined partition predicts held-out rows better, by "
            f"{fixed(refinement.gain)} (se {fixed(refinement.gain_se)}) nats per row; "
            f"{percent(refinement.moved_share)} of the rows move: see results.refinement_."
        )


def starts_note(results: FittedResults) -> str | None:
    """How many of several starts found the best objective, and what that means if it is one."""
    if results.starts is None or results.n_starts == 1:
        return None
    agreeing, made = int(results.starts["starts"].iloc[0]), results.n_starts
    if agreeing == 0 and "recombined" in results.starts and results.starts["recombined"].iloc[0]:
        return (
            f"None of {made} starts found the best objective: it comes from recombining their "
            "partitions. Another seed may find a lower one."
        )
    if agreeing == 0:
        return (
            f"None of {made} starts found the best objective: it comes from {_source(results)}. "
            "Another start may find a lower one; n_init asks for more."
        )
    found = f"Best objective found by {agreeing} of {made} starts."
    if agreeing == 1:
        return f"{found} Another start may find a lower one; n_init asks for more."
    if len(results.starts) > 1:
        other = fixed(results.starts["ari"].iloc[1])
        return f"{found} Adjusted Rand index with the next best partition: {other}."
    return found


def _source(results: FittedResults) -> str:
    """Where a partition comes from that was known before the starts."""
    return "a fold of the choice of lambda" if results.selection else "the fit before this one"


def heaviest_first(results: FittedResults) -> np.ndarray:
    """Positions of the features, heaviest first."""
    return np.argsort(-results.mean_weights.to_numpy(dtype=float), kind="stable")


def is_weighted(results: FittedResults) -> bool:
    """Whether rows have weights other than one."""
    return not np.allclose(results.clusters["mass"], results.clusters["size"])


def column_deviations(results: FittedResults) -> np.ndarray | None:
    """Standard deviations of the columns in data units, None where they are not known."""
    if results.spread is None and results.scaling == "standard":
        return results.scale
    return results.spread


def variance_explained(results: FittedResults) -> np.ndarray | None:
    """Share of every feature's variance that lies between the clusters, None if unknown."""
    if results.families is not None:
        whole = results.families.total
        within = np.zeros_like(whole) if results.within is None else results.within
        left = np.divide(within, whole, out=np.ones_like(whole), where=whole > 0)
        return np.clip(1.0 - left, 0.0, 1.0)
    spread = column_deviations(results)
    if spread is None:
        return None
    mass = results.clusters["mass"].to_numpy(dtype=float)
    if results.within is not None and results.observed is not None:
        total = mass.sum() * results.observed * spread**2
        left = np.divide(results.within, total, out=np.ones_like(total), where=total > 0)
        return np.clip(1.0 - left, 0.0, 1.0)
    deviations = results.centroids.to_numpy(dtype=float) - results.center
    between = mass @ deviations**2 / mass.sum()
    share = np.divide(between, spread**2, out=np.zeros_like(between), where=spread > 0)
    return np.where(share < 1e-15, 0.0, np.minimum(share, 1.0))  # the former is rounding alone


def uncertainty_table(
    results: FittedResults, order: np.ndarray
) -> tuple[pd.DataFrame | None, list[str]]:
    """What bootstrap and tests add to a summary of the fit: a table and its notes.

    Parameters
    ----------
    results : EWPResults
    order : ndarray
        Positions of the features to list; where every cluster has weights of its own, which only
        the bootstrap asks about, the heaviest of every cluster are listed.
    """
    columns: dict[str, list[str]] = {}
    notes = []
    boot, tests = results.bootstrap_, results.feature_tests_
    if boot is not None:
        table = boot.weight_intervals()
        if boot.by_cluster:
            most = _IN_A_CELL * MAX_CLUSTERS
            table = heaviest_rows(table, table["weight"].to_numpy(), _IN_A_CELL).iloc[:most]
        else:
            table = table.iloc[order]
        shown = interval_table(table)
        shown["selected"] = [whole_percent(share) for share in table["selected"]]
        notes.append(
            f"lower, upper: 95 % bootstrap interval of the weight ({boot.n_boot} resamples); "
            f"selected: resamples with a weight above {short(boot.threshold, 3)}."
        )
        notes += boot.notes()
        if boot.by_cluster:
            return shown.set_axis([one_line(name) for name in shown.index], axis=0), notes
        columns |= {str(name): list(cells) for name, cells in shown.items()}
    if tests is not None:
        found = tests.table.iloc[order]
        for heading, name in (("p-value", "p_value"), ("p (BH)", "p_bh"), ("p (Holm)", "p_holm")):
            columns[heading] = [p_text(p) for p in found[name]]
        notes.append(
            "p-values: does the feature help to tell the clusters apart, given the others? A "
            "small one speaks against the null hypothesis that it adds nothing to them; given k "
            "and lambda."
        )
    if not columns:
        return None, notes
    names = [one_line(name) for name in results.feature_names[order]]
    return pd.DataFrame(columns, index=names), notes
