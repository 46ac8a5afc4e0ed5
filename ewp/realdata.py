"""The paper's real data sets, read from a folder of files or taken from scikit-learn.

The folder holds one gzipped CSV file a data set: a header, the features, and as last column
``class``, an integer. Nothing here opens a network connection, scales or completes the data.
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
from sklearn import datasets as bundled

__all__ = ["DATASETS", "DATA_VARIABLE", "Dataset", "load_dataset"]

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
