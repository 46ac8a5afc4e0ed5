"""Correlated features, the verdict on structure, and the model-based finish.

Clusters in correlated noise, and in the same noise without correlation, by this package's default
and by its peers at the true k. The number of clusters chosen without labels, which is the study
`validation.studies.structure`. The default, its refinement and k-means on 24 real sets. And
data with thousands of features, beside sparse k-means with its gap. The aims were set before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture

import ewp
from ewp.peers import SparseKMeans, WKMeans
from validation.cells import Cell, Store
from validation.data import available, further, load, load_further, scaled
from validation.mclust import has_mclust, mclust
from validation.page import Section, Table, Verdict
from validation.recipes import GENES, NOISES, genes
from validation.same_starts import gap_bound, nmi
from validation.studies.structure import Aim, Part, numbers, rank_of, texts
from validation.summaries import counted, frame_of

__all__ = [
    "correlation_section",
    "gene_cells",
    "mixture_cells",
    "noise_cells",
    "on_genes",
    "on_real",
    "partition_of_mclust",
    "partitions",
    "refined_cells",
]

DRAWS = 10
_QUICK_SETS = ("iris", "wine", "newthyroid", "wdbc", "seeds", "coffee")
_RESTARTS = 5
_MCLUST_DRAWS = 3


def _noises(task: str, draws: int, quick: bool, **options: Any) -> list[Cell]:
    return [
        Cell(
            f"correlation.{task}",
            {"design": design, "correlated": correlated, "seed": seed},
            rank=rank_of(seed, quick),
            **options,
        )
        for seed in range(draws)
        for design in NOISES
        for correlated in (True, False)
    ]


def noise_cells() -> list[Cell]:
    """All methods but mclust on clusters in noise."""
    return _noises("partitions", DRAWS, quick=True)


def mixture_cells() -> list[Cell]:
    """Mclust on the first draws, where it is at hand: some of its fits take minutes."""
    if not has_mclust():
        return []
    return _noises("partition_of_mclust", _MCLUST_DRAWS, quick=False, chooses=False)


def refined_cells() -> list[Cell]:
    """Default and refinement on the real sets at hand."""
    return [
        Cell("correlation.on_real", {"name": name, "data": data}, int(name not in _QUICK_SETS))
        for name, data in {**available(), **further()}.items()
    ]


def gene_cells() -> list[Cell]:
    """More features than rows."""
    return [
        Cell(
            "correlation.on_genes",
            {"size": size, "seed": seed},
            rank=rank_of(seed, quick=size == next(iter(GENES))),
        )
        for seed in range(DRAWS)
        for size in GENES
    ]


def partitions(design: str, correlated: bool, seed: int) -> dict[str, float]:
    """NMI of all methods but mclust on a draw, at the true k.

    Parameters
    ----------
    design : str
        One of `NOISES`.
    correlated : bool
        Whether its noise is correlated.
    seed : int
    """
    X, y = NOISES[design](seed, correlated)
    k, Z = len(np.unique(y)), scaled(X, "standardised")
    bound = gap_bound(X, k, "standard", seed, permutations=10, bounds=8)
    many = {"n_init": 10, "random_state": seed}
    mixture = {"n_init": _RESTARTS, "random_state": seed}
    spectral = SpectralClustering(k, affinity="nearest_neighbors", random_state=seed)
    found = {
        "default": ewp.fit(X, k, random_state=seed).labels,
        "k-means, raw": KMeans(k, **many).fit_predict(X),
        "k-means, standardised": KMeans(k, **many).fit_predict(Z),
        "Ward": AgglomerativeClustering(k).fit_predict(Z),
        "spectral": spectral.fit_predict(Z),
        "mixture, diagonal": GaussianMixture(k, covariance_type="diag", **mixture).fit_predict(Z),
        "mixture, full": GaussianMixture(k, **mixture).fit_predict(Z),
        "WK-means": WKMeans(k, **many).fit_predict(Z),
        "sparse k-means, gap": SparseKMeans(k, bound, **many).fit_predict(Z),
    }
    return {method: nmi(y, labels) for method, labels in found.items()}


def partition_of_mclust(design: str, correlated: bool, seed: int) -> dict[str, float]:
    """NMI of mclust, its model by BIC.

    Parameters
    ----------
    design, correlated, seed
        As in `partitions`.
    """
    X, y = NOISES[design](seed, correlated)
    _, labels = mclust(scaled(X, "standardised"), len(np.unique(y)))
    if labels is None:
        raise RuntimeError("mclust returned no partition")
    return {"mclust": nmi(y, labels)}


def on_real(name: str, data: str) -> dict[str, float]:
    """NMI of the default, of what `refine` makes of it, and of k-means, at the number of classes.

    Parameters
    ----------
    name : str
    data : str
        Hash of the set.
    """
    X, y = load(name)[:2] if name in available() else load_further(name)
    k = len(np.unique(y))
    results = ewp.fit(X, k, random_state=0)
    plain = {
        f"k-means, {scaling}": KMeans(k, n_init=10, random_state=0).fit_predict(scaled(X, scaling))
        for scaling in ("raw", "standardised")
    }
    found = {"default": results.labels, "refined": results.refine().labels, **plain}
    return {method: nmi(y, labels) for method, labels in found.items()}


def on_genes(size: str, seed: int) -> dict[str, Any]:
    """NMI and CPU seconds of default, sparse k-means with its gap, and k-means.

    Parameters
    ----------
    size : str
        One of `GENES`.
    seed : int
    """
    X, y = genes(size, seed)
    k, Z = len(np.unique(y)), scaled(X, "standardised")
    seconds = {}

    def timed(method: str, run: Callable[[], Any]) -> Any:
        begin = time.process_time()
        found = run()
        seconds[method] = round(time.process_time() - begin, 3)
        return found

    results = timed("default", lambda: ewp.fit(X, k, random_state=seed))
    sparse = timed("gap", lambda: SparseKMeans(k, random_state=seed).fit(Z))
    bound = sparse.wbound_
    again = SparseKMeans(k, bound, n_init=10, random_state=seed)
    best = timed("sparse k-means", lambda: again.fit(Z))
    plain = timed("k-means", lambda: KMeans(k, n_init=10, random_state=seed).fit(Z))
    found = {
        "default": results.labels,
        "sparse k-means, gap": best.labels_,
        "k-means, standardised": plain.labels_,
    }
    relevant = GENES[size][-1]
    return {
        **{method: nmi(y, labels) for method, labels in found.items()},
        "weight": float(results.weights.iloc[:relevant].sum()),
        "seconds": seconds,
    }


_KMEANS = ["k-means, raw", "k-means, standardised"]
#: Headings of a wide table.
_SHORT = {
    "k-means, raw": "k-means r",
    "k-means, standardised": "k-means s",
    "mixture, diagonal": "diagonal mixture",
    "mixture, full": "full mixture",
    "sparse k-means, gap": "sparse",
}
_PAIR = ["default", "sparse k-means, gap"]
_NMI, _PEER, _BELOW, _LOSS, _GAIN = 0.90, 0.20, 0.05, 0.15, 0.02
_LOST = 3
_COLLECTIONS = {"the paper's sets": 0.50, "further sets": 0.60}


def _in_noise(store: Store) -> Part:
    """Mean NMI by design and method."""
    found = frame_of(store, noise_cells())
    if found.empty:
        return [], []
    keys = ["design", "correlated"]
    mixtures = frame_of(store, mixture_cells())
    groups = found.drop(columns="seed").groupby(keys, sort=False)
    means = groups.mean()
    if len(mixtures):
        means["mclust"] = mixtures.groupby(keys)["mclust"].mean()
    shown = texts(means)
    shown.insert(0, "draws", groups.size().astype(str))
    shown = shown.reset_index().rename(columns=_SHORT)
    shown["correlated"] = shown["correlated"].map({True: "yes", False: "no"})
    aims = []
    correlated = means[means.index.get_level_values("correlated")].droplevel("correlated")
    if len(correlated):
        peers = correlated.drop(columns="default")
        lowest, which = correlated["default"].min(), peers.max().idxmax()
        where, highest = peers[which].idxmax(), peers[which].max()
        aims = [
            (
                f"correlated noise: default at least {_NMI:.2f} in every design",
                f"{lowest:.3f} in {correlated['default'].idxmin()}",
                bool(lowest >= _NMI),
            ),
            (
                f"correlated noise: every peer below {_PEER:.2f}",
                f"at most {highest:.3f} ({which}, {where})",
                bool(highest < _PEER),
            ),
        ]
    note = " R's package mclust has not been run."
    if len(mixtures):
        note = (
            f" mclust ({counted(mixtures, keys)}) takes its model by BIC and has its own start by "
            "hierarchical clustering, which may set single rows apart."
        )
    caption = (
        "Clusters in noise, k = 3, n = 300: mean NMI at the true k. Below each design, the same "
        "random numbers without correlation. All methods but the default and k-means r see "
        f"standardised features; sparse k-means takes its bound by the permutation gap.{note}"
    )
    return [Table(shown, caption, 2)], aims


def _real(store: Store) -> Part:
    """NMI on the real sets, and means of both collections."""
    found = frame_of(store, refined_cells())
    if found.empty:
        return [], []
    table = found.set_index("name").drop(columns="data")
    best = table[_KMEANS].max(axis=1)
    change = table["refined"] - table["default"]
    names = [name for name in available() if name in table.index]
    parts = dict(zip(_COLLECTIONS, (names, table.index.difference(names, sort=False)), strict=True))
    aims: list[Aim] = []
    rows = {}
    for title, least in _COLLECTIONS.items():
        if not len(parts[title]):
            continue
        means = table.loc[parts[title]].mean()
        rows[f"mean of {len(parts[title])}: {title}"] = means
        aims.append(
            (
                f"{title}: mean NMI of the default at least {least:.2f}",
                f"{means['default']:.3f} on {len(parts[title])}; better k-means "
                f"{best[parts[title]].mean():.3f}",
                bool(means["default"] >= least),
            )
        )
    lost = table.index[best - table["default"] > _BELOW]
    aims += [
        (
            f"more than {_BELOW} below the better k-means on at most {_LOST} real sets",
            f"{len(lost)} among {len(table)}" + (f" ({', '.join(lost)})" if len(lost) else ""),
            len(lost) <= _LOST,
        ),
        (
            f"`refine()` adds at least {_GAIN} to the mean NMI",
            f"{_signed(change.mean())} on {len(table)} sets",
            bool(change.mean() >= _GAIN),
        ),
        (
            f"`refine()` nowhere more than {_LOSS} below the default",
            f"at worst {_signed(change.min())} ({change.idxmin()})",
            bool(change.min() >= -_LOSS),
        ),
    ]
    shown = texts(pd.concat([table, pd.DataFrame(rows).T]).rename_axis("data"))
    caption = "Real sets at the number of their classes: NMI, one fit each. k-means has ten starts"
    return [Table(shown.reset_index(), caption)], aims


def _signed(value: float) -> str:
    """A difference with its sign.

    Examples
    --------
    >>> _signed(0.0214), _signed(-0.1)
    ('+0.021', '−0.100')
    """
    return f"{value:+.3f}".replace("-", "−")


def _on_genes(store: Store) -> Part:
    """Means of NMI and of CPU seconds, a row a size."""
    found = frame_of(store, gene_cells())
    if found.empty:
        return [], []
    seconds = pd.DataFrame(found.pop("seconds").tolist())
    # the limit that was set: ten times k-means with ten starts, and twice sparse k-means' own time
    limit = 10 * seconds["k-means"] + 2 * seconds["sparse k-means"]
    found["share"] = seconds["default"] / limit
    found["with_gap"] = seconds["default"] / (limit + 2 * seconds["gap"])
    groups = pd.concat([found, seconds.add_suffix(", s")], axis=1).groupby("size", sort=False)
    middle = groups.median(numeric_only=True)
    means = groups.mean(numeric_only=True)[[*_PAIR, _KMEANS[1], "weight"]]
    shown = texts(means).rename(columns={"weight": "weight on relevant features"})
    times = {"default, s": "default, s", "k-means, s": "k-means, s"}
    times |= {"sparse k-means, s": "sparse k-means, s", "gap, s": "its gap, s"}
    shown = shown.join(texts(middle[list(times)], 2).rename(columns=times))
    shown.insert(0, "draws", groups.size().astype(str))
    behind = (means[_PAIR[1]] - means[_PAIR[0]]).max()
    aims: list[Aim] = [
        (
            "thousands of features: default not below sparse k-means with its gap",
            "; ".join(
                f"{row['default']:.3f} and {row[_PAIR[1]]:.3f} at {size}"
                for size, row in means.iterrows()
            ),
            bool(behind <= 0),
        ),
        (
            "thousands of features: CPU seconds within 10 × k-means + 2 × sparse k-means",
            "; ".join(f"{value:.1f} × that at {size}" for size, value in middle["share"].items())
            + f"; at most {middle['with_gap'].max():.2f} × where the gap, which chooses the bound "
            "of sparse k-means as λ is chosen here, is counted with it",
            bool(middle["share"].max() <= 1),
        ),
    ]
    caption = (
        "Gene-like data: 20 of 2,000 features with three clusters, 50 of 5,000 with four. Mean "
        "NMI, mean weight of the default on the relevant features, median CPU seconds on one "
        "thread; k-means and sparse k-means, at the bound of its gap, have ten starts"
    )
    return [Table(shown.reset_index(), caption)], aims


def _parts(store: Store) -> Iterator[Part]:
    for make in (_in_noise, numbers, _real, _on_genes):
        yield make(store)


def correlation_section(store: Store) -> Section | None:
    """What the aims were, and all tables."""
    parts = list(_parts(store))
    aims = [aim for _, found in parts for aim in found]
    if not aims:
        return None
    text = f"{sum(reached is True for *_, reached in aims)} of {len(aims)} aims are reached"
    for reached, word in ((False, "missed"), (None, "open, since too few draws are finished")):
        those = [f"{what} ({found})" for what, found, state in aims if state is reached]
        text += f"; {word}: {'; '.join(those)}" if those else ""
    words = {True: "reached", False: "**missed**", None: "open"}
    rows = [(what, found, words[reached]) for what, found, reached in aims]
    frame = pd.DataFrame(rows, columns=["aim", "found", ""])
    return Section(
        "Correlation, structure and refinement",
        Verdict("new", f"{text}."),
        [
            Table(frame, "Aims that were set before, and what was found"),
            *(item for items, _ in parts for item in items),
        ],
    )
