"""Data of the paper: its simulation designs, drawn afresh, and its real data sets.

The simulations are those of Chakraborty, Paul, Das & Xu (2020) [1]_: a few features carry the
clusters, the others are N(0, 1) noise. Real data are read from a folder of files, one gzipped CSV
file a data set (a header, the features, and as last column ``class``, an integer), or taken from
scikit-learn. Nothing here opens a network connection, scales or completes the data, or fits
anything.

.. [1] S. Chakraborty, D. Paul, S. Das and J. Xu. Entropy weighted power k-means clustering.
   Proceedings of Machine Learning Research 108 (AISTATS), 691-701, 2020.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets as bundled

from ewp.common.checks import check_integer
from ewp.data.arguments import generator

__all__ = [
    "DATASETS",
    "Dataset",
    "Simulation",
    "load_dataset",
    "make_feature_selection",
    "make_simulation1",
    "make_simulation2",
    "make_subspaces",
]

RandomState = int | np.random.Generator | np.random.RandomState | None
#: The eleven names that `load_dataset` takes.
DATASETS = (
    "iris",
    "automobile",
    "mammographic",
    "newthyroid",
    "wine",
    "wdbc",
    "movement_libras",
    "wall_robot_4",
    "warpAR10P",
    "warpPIE10P",
    "GLIOMA",
)
#: Environment variable that names the folder of data files.
DATA_VARIABLE = "EWP_DATA"


@dataclass(frozen=True, eq=False)
class Simulation:
    """A simulated data set; it unpacks into the three arrays ``X, labels, relevant``.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        The data, one row per point.
    labels : ndarray of shape (n,)
        True cluster of each row, integers from 0 to k - 1, each occurring at least once.
    relevant : ndarray of int
        Indices of the features that carry the clusters.
    centers : ndarray of shape (k, p)
        True cluster means, zero in the irrelevant features; not among what is unpacked.
    """

    X: NDArray[np.float64]
    labels: NDArray[np.intp]
    relevant: NDArray[np.intp]
    centers: NDArray[np.float64]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.X, self.labels, self.relevant))

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: Any) -> Any:
        return (self.X, self.labels, self.relevant)[index]


def make_simulation1(
    d: int, n: int = 1000, sd: float = 0.015, random_state: RandomState = None
) -> Simulation:
    """Draw the paper's Simulation 1: a 10 x 10 grid of clusters and d noise features.

    Each of n points belongs to one of 100 clusters, all equally likely. The first two features
    are N(θ_j, sd²) about the points θ_j of the grid {0.1, 0.2, …, 1.0}², the other d are N(0, 1).

    Parameters
    ----------
    d : int
        Number of irrelevant features; the data have p = d + 2 columns.
    n : int, default=1000
        Number of rows, at least 100.
    sd : float, default=0.015
        Standard deviation of the relevant features within a cluster. The paper prints 0.15, at
        which neighbours on a grid of spacing 0.1 cannot be told apart; the default is the value
        of its Simulation 2.
    random_state : int, Generator, RandomState or None, default=None
        Seed or source of the random numbers. None gives other data at each call.

    Returns
    -------
    Simulation
        Unpacks into ``X, labels, relevant``; the true means are its attribute ``centers``.

    Examples
    --------
    >>> from ewp.datasets import make_simulation1
    >>> simulation = make_simulation1(20, random_state=0)
    >>> simulation.X.shape, simulation.relevant.tolist()
    ((1000, 22), [0, 1])
    >>> simulation.centers[[0, 1, 99], :2].tolist()
    [[0.1, 0.1], [0.1, 0.2], [1.0, 1.0]]
    """
    check_integer("d", d, least=0)
    steps = np.arange(1, 11) / 10
    grid = np.column_stack([np.repeat(steps, 10), np.tile(steps, 10)])
    return _draw(generator(random_state), grid, n, d + 2, sd)


def make_simulation2(
    k: int,
    n: int | None = None,
    p: int = 100,
    n_relevant: int = 5,
    sd: float = 0.015,
    random_state: RandomState = None,
) -> Simulation:
    """Draw the paper's Simulation 2: k clusters in few of many features.

    Each of n points belongs to one of k clusters, all equally likely. The first `n_relevant`
    features are N(θ_jl, sd²) with θ_jl uniform on (0, 1), the others are N(0, 1).

    Parameters
    ----------
    k : int
        Number of clusters.
    n : int, optional
        Number of rows, at least k. By default 100 k.
    p, n_relevant : int, default=100 and 5
        Number of features, and how many of them, the first ones, are relevant.
    sd : float, default=0.015
        Standard deviation of the relevant features within a cluster.
    random_state : int, Generator, RandomState or None, default=None
        Seed or source of the random numbers. None gives other data at each call.

    Returns
    -------
    Simulation
        Unpacks into ``X, labels, relevant``; the true means are its attribute ``centers``.

    Examples
    --------
    >>> from ewp.datasets import make_simulation2
    >>> X, labels, relevant = make_simulation2(20, random_state=0)
    >>> X.shape, len(set(labels.tolist())), relevant.tolist()
    ((2000, 100), 20, [0, 1, 2, 3, 4])
    """
    check_integer("k", k, least=1)
    check_integer("n_relevant", n_relevant, least=1)
    rng = generator(random_state)
    means = rng.uniform(size=(k, n_relevant))
    return _draw(rng, means, 100 * k if n is None else n, p, sd)


def make_feature_selection(
    n: int = 1000,
    p: int = 20,
    n_relevant: int = 5,
    k: int = 10,
    sd: float = 0.015,
    random_state: RandomState = None,
) -> Simulation:
    """Draw the data of the paper's study of feature selection.

    The design of `make_simulation2` at a size where every feature's weight can be looked at.

    Parameters
    ----------
    n, p, n_relevant, k : int, default=1000, 20, 5 and 10
        Numbers of rows, of features, of relevant ones among them (the first), and of clusters.
    sd, random_state
        As in `make_simulation2`.

    Returns
    -------
    Simulation
        Unpacks into ``X, labels, relevant``; the true means are its attribute ``centers``.

    Examples
    --------
    >>> from ewp.datasets import make_feature_selection
    >>> X, labels, relevant = make_feature_selection(random_state=0)
    >>> X.shape, relevant.tolist()
    ((1000, 20), [0, 1, 2, 3, 4])
    """
    return make_simulation2(k, n=n, p=p, n_relevant=n_relevant, sd=sd, random_state=random_state)


def make_subspaces(
    k: int = 5,
    n: int | None = None,
    p: int = 30,
    n_relevant: int = 5,
    sd: float = 0.3,
    shift: float = 1.5,
    random_state: RandomState = None,
) -> Simulation:
    """Draw clusters that live in features of their own.

    Each of n points belongs to one of k clusters, all equally likely. Every cluster has
    `n_relevant` features, drawn for it at random: there it is N(±shift, sd²), the sign drawn too.
    In all other features its points are N(0, 1), as those of all clusters that do not live there.
    The design is not the paper's: it is for ``weights="cluster"`` of `ewp.EWP`.

    Parameters
    ----------
    k : int, default=5
        Number of clusters.
    n : int, optional
        Number of rows, at least k. By default 100 k.
    p, n_relevant : int, default=30 and 5
        Number of features, and in how many of them a cluster lives.
    sd, shift : float, default=0.3 and 1.5
        Standard deviation of a cluster in its features, and how far they lie from zero.
    random_state : int, Generator, RandomState or None, default=None
        Seed or source of the random numbers. None gives other data at each call.

    Returns
    -------
    Simulation
        ``centers`` is zero where a cluster does not live; `relevant` has the features of any.

    Examples
    --------
    >>> from ewp.datasets import make_subspaces
    >>> design = make_subspaces(3, random_state=0)
    >>> design.X.shape, (design.centers != 0).sum(axis=1).tolist()
    ((300, 30), [5, 5, 5])
    """
    check_integer("k", k, least=1)
    check_integer("p", p, least=1)
    check_integer("n_relevant", n_relevant, least=1)
    if n_relevant > p:
        raise ValueError(f"n_relevant={n_relevant} exceeds p={p}")
    rng = generator(random_state)
    centers = np.zeros((k, p))
    for own in centers:
        features = rng.choice(p, n_relevant, replace=False)
        own[features] = shift * rng.choice([-1.0, 1.0], n_relevant)
    labels = _memberships(rng, 100 * k if n is None else n, k)
    deviations = np.where(centers != 0, sd, 1.0)
    X = centers[labels] + deviations[labels] * rng.standard_normal((len(labels), p))
    return Simulation(X, labels, np.flatnonzero(centers.any(axis=0)), centers)


def _draw(
    rng: np.random.Generator, means: NDArray[np.float64], n: int, p: int, sd: float
) -> Simulation:
    """Draw n rows: N(means, sd²) in the first features, N(0, 1) in the others, up to p."""
    k, n_relevant = means.shape
    check_integer("n", n, least=1)
    check_integer("p", p, least=1)
    if n < k:
        raise ValueError(f"n={n} rows cannot fill k={k} clusters; n must be at least k")
    if p < n_relevant:
        raise ValueError(f"n_relevant={n_relevant} exceeds the number of features p={p}")
    if not 0 <= sd < np.inf:
        raise ValueError(f"sd must be a finite number, zero or greater, not {sd!r}")
    labels = _memberships(rng, n, k)
    X = rng.standard_normal((n, p))
    X[:, :n_relevant] = means[labels] + sd * X[:, :n_relevant]
    centers = np.zeros((k, p))
    centers[:, :n_relevant] = means
    return Simulation(X, labels, np.arange(n_relevant), centers)


def _memberships(rng: np.random.Generator, n: int, k: int) -> NDArray[np.intp]:
    """Draw n labels uniformly from 0 … k - 1, such that every one of them occurs.

    A label that was not drawn takes the place of another, in a row chosen at random among those
    whose label occurs more than once. Draws without gaps, nearly all of them, stay as they are.
    """
    labels = rng.integers(k, size=n, dtype=np.intp)
    sizes = np.bincount(labels, minlength=k)
    for empty in np.flatnonzero(sizes == 0):
        row = rng.choice(np.flatnonzero(sizes[labels] > 1))
        sizes[labels[row]] -= 1
        sizes[empty] = 1
        labels[row] = empty
    return labels


@dataclass(frozen=True, eq=False)
class Dataset:
    """A real data set; it unpacks into ``X, y``.

    Attributes
    ----------
    X, frame : DataFrame
        The features, float64, unscaled. Two names of one table, which never holds the classes.
    y : Series
        Class of each row, integers from 0 to k - 1 in the order of the source's own codes.
    name : str
        Name of the data set, spelt as in `DATASETS`.
    k : int
        Number of classes.
    source : str
        ``"scikit-learn"`` or the path of the file that was read.
    """

    X: pd.DataFrame
    y: pd.Series[int]
    name: str
    k: int
    source: str

    @property
    def frame(self) -> pd.DataFrame:
        """The features, the same table as `X`."""
        return self.X

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))


def load_dataset(name: str, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Load one of the paper's eleven real data sets.

    ``<name>.csv.gz`` is read from `data_dir` or, without it, from the folder named by the
    environment variable ``EWP_DATA``. Iris, wine and wdbc come from scikit-learn when there is no
    such folder or file; wdbc is then rounded to three decimals, as in the KEEL repository.
    (KEEL's iris differs from scikit-learn's in two rows, its wine in the order of the rows.)

    Parameters
    ----------
    name : str
        One of ``ewp.datasets.DATASETS``, in upper or lower case.
    data_dir : path, optional
        Folder of gzipped CSV files, each with a header and ``class`` as its last column.

    Returns
    -------
    Dataset
        With ``X``, ``y``, ``name``, ``k`` and ``source``; unpacks into ``X, y``.

    Examples
    --------
    >>> from ewp.datasets import load_dataset
    >>> wdbc = load_dataset("WDBC")
    >>> wdbc.X.shape, wdbc.k, wdbc.y.value_counts().sort_index().tolist()
    ((569, 30), 2, [357, 212])
    """
    known = {entry.lower(): entry for entry in DATASETS}
    if not isinstance(name, str) or name.lower() not in known:
        raise ValueError(f"unknown data set {name!r}; choose one of {', '.join(DATASETS)}")
    name = known[name.lower()]
    chosen = data_dir if data_dir is not None else os.environ.get(DATA_VARIABLE) or None
    folder = None if chosen is None else Path(chosen).expanduser()
    path = None if folder is None else _find(folder, f"{name}.csv.gz")
    if path is not None:
        return _assemble(name, _read(path), str(path))
    if name in _BUNDLED:
        return _assemble(name, _BUNDLED[name](), "scikit-learn")
    raise FileNotFoundError(_missing(name, folder))


def _find(folder: Path, filename: str) -> Path | None:
    """Find a file by its name, in upper or lower case, the exact spelling first."""
    if not folder.is_dir():
        return None
    if (folder / filename).is_file():
        return folder / filename
    others = sorted(path for path in folder.iterdir() if path.name.lower() == filename.lower())
    return others[0] if others else None


def _missing(name: str, folder: Path | None) -> str:
    if folder is None:
        where = f"no folder was given and the environment variable {DATA_VARIABLE} is not set"
    elif not folder.is_dir():
        where = f"the folder '{folder}' does not exist"
    else:
        where = f"the folder '{folder}' does not contain it"
    return (
        f"{name}.csv.gz was not found: {where}. Set {DATA_VARIABLE} or pass data_dir= to name a "
        f"folder that holds {name}.csv.gz, a gzipped CSV file with a header and the integer "
        "column 'class' as its last"
    )


def _read(path: Path) -> pd.DataFrame:
    """Read a data file; every number becomes the nearest double, which pandas does not promise."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        columns = next(csv.reader(file), [])
        try:
            values = np.loadtxt(file, delimiter=",", ndmin=2)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
    if values.shape[1] != len(columns):
        raise ValueError(f"{path}: {len(columns)} names for {values.shape[1]} columns")
    return pd.DataFrame(values, columns=columns)


def _assemble(name: str, table: pd.DataFrame, source: str) -> Dataset:
    """Split a table into features and classes, and number the classes from 0."""
    if table.columns[-1] != "class":
        raise ValueError(f"{source}: the last column is {table.columns[-1]!r}, not 'class'")
    classes = table["class"].to_numpy()
    if not np.array_equal(classes, np.rint(classes)):
        raise ValueError(f"{source}: the column 'class' must hold integers")
    values, codes = np.unique(classes, return_inverse=True)
    y: pd.Series[int] = pd.Series(codes.tolist(), index=table.index, name="class", dtype="int64")
    return Dataset(table.iloc[:, :-1].astype(np.float64), y, name, len(values), source)


def _iris() -> pd.DataFrame:
    return bundled.load_iris(as_frame=True).frame.rename(columns={"target": "class"})


def _wine() -> pd.DataFrame:
    return bundled.load_wine(as_frame=True).frame.rename(columns={"target": "class"})


def _wdbc() -> pd.DataFrame:
    table = bundled.load_breast_cancer(as_frame=True).frame.rename(columns={"target": "class"})
    table.columns = table.columns.str.replace(" ", "_")
    # KEEL rounds halves to even; only integers tell a half, for 1000 * 0.5115 < 511.5 in floats.
    rounded = np.rint(np.rint(table * 1e6) / 1e3) / 1e3
    # Benign is KEEL's first class and scikit-learn's second.
    return rounded.assign(**{"class": 1 - table["class"]})


_BUNDLED = {"iris": _iris, "wine": _wine, "wdbc": _wdbc}
