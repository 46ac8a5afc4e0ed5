"""Tables of any library as tables of numbers, and the names of their rows and columns.

A table of pandas is used as it is. Those of polars, Arrow and what else narwhals knows, and objects
that hand themselves over by Arrow's PyCapsule interface or the data-frame interchange, are read
column by column; lazy ones are collected once. An AnnData object is its matrix with the names of
its observations and variables. Columns that hold no numbers are named with their type, and with
what their library does about them.
"""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from ewp.common.checks import listing, shown
from ewp.common.types import Array
from ewp.data.rows import is_row_source
from ewp.data.sparse import SparseRows, has_sparse_rows

__all__ = [
    "TIMES",
    "align_to_columns",
    "align_to_rows",
    "as_frame",
    "as_table",
    "column_names",
    "default_names",
    "is_anndata",
    "is_frame",
    "is_number_type",
    "refuse_columns",
    "row_and_column_names",
    "row_names",
    "with_columns",
    "with_numbers",
]

#: What is no number but would be cast to one.
TIMES = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    np.datetime64,
    np.timedelta64,
    type(pd.NaT),
)
#: Types that name categories.
_TEXT = ("str", "string", "category", "categorical", "enum")
#: So many columns are named in a call.
_MOST_NAMED = 3


@dataclass(frozen=True)
class _Calls:
    """Calls of a library for columns that hold no numbers, whose names stand at {0}.

    To leave some out, to keep all others, to code categories, and to code dates, of types that
    begin so.
    """

    drop: str = ""
    keep: str = ""
    code: str = ""
    days: str = ""
    dates: str = "date"


_CALLS = {
    "pandas": _Calls(
        "X.drop(columns={0})",
        "X.select_dtypes(['number', 'bool'])",
        "pandas.get_dummies(X, columns={0}, dtype=float)",
        "(X[{0}] - X[{0}].min()).dt.days",
        "datetime",
    ),
    "dask": _Calls("X.drop(columns={0})", "X.select_dtypes(['number', 'bool'])"),
    "polars": _Calls(
        "X.drop({0})",
        "X.select(polars.selectors.numeric() | polars.selectors.boolean())",
        "X.to_dummies({0})",
        "(X[{0}] - X[{0}].min()).dt.total_days()",
    ),
    "pyarrow": _Calls(
        "X.drop_columns({0})", "", "pandas.get_dummies(X.to_pandas(), columns={0}, dtype=float)"
    ),
}


@dataclass(frozen=True)
class _NoNumber:
    """Stands in every row of a column of another library that holds no numbers."""

    kind: str
    library: str


def as_frame(X: Any) -> Any:
    """Return tables of other libraries as tables in memory, all else as it is.

    Lazy tables are collected, what hands itself over becomes a table of Arrow, and AnnData with a
    dense matrix a DataFrame, with a sparse one `SparseRows`.
    """
    if isinstance(X, pd.DataFrame | np.ndarray | list | tuple):
        return X
    if is_anndata(X):
        values = _matrix(X)
        if sparse.issparse(values):
            return SparseRows(values, X.var_names, X.obs_names)
        return pd.DataFrame(values, index=X.obs_names, columns=X.var_names, copy=False)
    known = nw.dependencies
    if is_frame(X) or known.is_dask_dataframe(X) or known.is_into_series(X):
        return X
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return frame.to_native()
    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "__dataframe__"):
        return _taken_over(X)
    if isinstance(getattr(X, "columns", None), list) and hasattr(X, "to_pandas"):
        return X.to_pandas()
    return X


def _taken_over(X: Any) -> Any:
    """Take over a table of an unknown library as one of Arrow."""
    try:
        import pyarrow as pa
        from pyarrow.interchange import from_dataframe
    except ImportError as error:
        raise ImportError(
            f"reading a table of type {type(X).__name__} needs pyarrow: pip install pyarrow"
        ) from error
    return pa.table(X) if hasattr(X, "__arrow_c_stream__") else from_dataframe(X)


def as_table(X: Any) -> Any:
    """Return tables of all libraries as DataFrames of numbers, all else as it is.

    In columns that hold no numbers every row says so, and `with_numbers` refuses them.

    >>> import pyarrow
    >>> as_table(pyarrow.table({"a": [1, None], "b": [True, False]}))
         a    b
    0  1.0  1.0
    1  NaN  0.0
    """
    X = as_frame(X)
    if is_anndata(X):
        return _matrix(X)
    frame = _known(X)
    if frame is None:
        return X
    columns = [_values(frame[name]) for name in frame.columns]
    kind = np.result_type(np.bool_, *columns)
    if kind.kind == "O":
        return pd.DataFrame(dict(enumerate(columns))).set_axis(frame.columns, axis=1)
    # a column lies together, as in pandas: sums over rows are the same to the last bit
    array: Array = np.empty(frame.shape, np.float32 if kind == np.float32 else np.float64, "F")
    for i, values in enumerate(columns):
        array[:, i] = values
    return pd.DataFrame(array, columns=pd.Index(frame.columns), copy=False)


def is_frame(X: Any) -> bool:
    """Whether X is a table in memory that can have more columns."""
    return isinstance(X, pd.DataFrame) or nw.dependencies.is_into_dataframe(X)


def _known(X: Any) -> nw.DataFrame[Any] | None:
    """A table in memory of another library than pandas, in the words of narwhals."""
    if isinstance(X, pd.DataFrame) or not nw.dependencies.is_into_dataframe(X):
        return None
    counts = Counter(column_names(X))
    _refuse_repeated([name for name in counts if counts[name] > 1])
    return nw.from_native(X, eager_only=True)


def _values(column: nw.Series[Any]) -> np.ndarray:
    """Numbers of a column, NaN where they are missing; marks, if it holds none."""
    kind, n = column.dtype, len(column)
    if kind in (nw.Int128, nw.UInt128):
        column = column.cast(nw.Float64)
    if kind.is_numeric() or kind in (nw.Boolean, nw.Object):
        values = column.to_numpy()
        if values.dtype.kind in "biuf":
            return values
        if _kind_of_objects(values) is None:
            return values.astype(np.float64)
    elif kind == nw.Unknown and column.null_count() == n:
        return np.full(n, np.nan)
    mark = _NoNumber(str(kind).split("(")[0], column.implementation.value)
    return np.full(n, mark, dtype=object)


def is_anndata(X: Any) -> bool:
    """Whether X is an AnnData object; anndata is not imported to find out."""
    return any(
        kind.__name__ == "AnnData" and kind.__module__.split(".")[0] == "anndata"
        for kind in type(X).__mro__
    )


def _matrix(adata: Any) -> Any:
    """Matrix of an AnnData object, in memory: an array, or sparse."""
    if adata.X is None:
        raise ValueError(
            f"the AnnData object has no X; name a layer, adata.to_df(layer), out of "
            f"{listing(list(adata.layers)) or 'none'}"
        )
    names = adata.var_names
    if not names.is_unique:
        repeated = list(names[names.duplicated()].unique())
        raise ValueError(
            f"var_names of the AnnData object are not unique: {listing(repeated)}; "
            "adata.var_names_make_unique() makes them so"
        )
    values = adata.X.to_memory() if hasattr(adata.X, "to_memory") else adata.X
    return values if sparse.issparse(values) else np.asarray(values)


# --- names ---------------------------------------------------------------------------------------


def default_names(p: int) -> pd.Index:
    """Names of columns that have none: x0, x1, ..."""
    return pd.Index([f"x{i}" for i in range(p)])


def column_names(X: Any) -> pd.Index | None:
    """The data's own names of the columns, None where they have none."""
    if isinstance(X, pd.DataFrame) or is_row_source(X):
        return X.columns
    if is_anndata(X):
        return X.var_names
    if nw.dependencies.is_into_dataframe(X):
        # what Arrow calls columns are the columns themselves
        return pd.Index(list(getattr(X, "column_names", X.columns)))
    return None


def row_names(X: Any) -> pd.Index | None:
    """The data's own names of the rows, None where they have none."""
    if is_anndata(X):
        return X.obs_names
    return X.index if isinstance(X, pd.DataFrame) or has_sparse_rows(X) else None


def row_and_column_names(
    X: Any, n: int, columns: pd.Index | None, p: int
) -> tuple[pd.Index, pd.Index]:
    """Row and column names of the data: their own, else 0.. and x0, x1, ..."""
    rows = row_names(X)
    return pd.RangeIndex(n) if rows is None else rows, default_names(
        p
    ) if columns is None else columns


def align_to_rows(name: str, value: Any, rows: pd.Index | None) -> Any:
    """Bring an option with an entry per row into the order of the rows, if both have names.

    Parameters
    ----------
    name : str
        Name of the option, for the message.
    value : object
        A Series is matched by name; anything else, and default labels 0, 1, ..., by position.
    rows : Index or None
        Names of the rows; None if they have none.
    """
    if rows is None or not isinstance(value, pd.Series):
        return value
    if value.index.equals(rows) or value.index.equals(pd.RangeIndex(len(value))):
        return value
    if value.index.is_unique and rows.is_unique and set(value.index) == set(rows):
        return value.reindex(rows)
    raise ValueError(
        f"{name} is labelled {listing(list(value.index[:11]))}, but the rows of X are "
        f"{listing(list(rows[:11]))}; use the same names, or pass {name}.to_numpy()"
    )


def align_to_columns(name: str, value: Any, columns: pd.Index | None) -> Any:
    """Bring an option with an entry per feature into the order of the data's columns.

    Parameters
    ----------
    name : str
        Name of the option, for the message.
    value : object
        A Series by feature or a table with a column per feature is matched by name; anything
        else, and default labels 0, 1, ..., by position.
    columns : Index or None
        The data's column names; None if they have none.
    """
    value = as_table(value)
    if columns is None or not isinstance(value, pd.Series | pd.DataFrame):
        return value
    labels = value.index if isinstance(value, pd.Series) else value.columns
    if isinstance(labels, pd.RangeIndex) and labels.equals(pd.RangeIndex(len(labels))):
        return value
    if len(labels) != len(columns) or set(labels) != set(columns):
        raise ValueError(
            f"{name} is labelled {listing(list(labels))}, but the columns of X are "
            f"{listing(list(columns))}; use the same names, or pass {name}.to_numpy()"
        )
    return value[columns]


def with_columns(X: Any, added: dict[str, np.ndarray]) -> Any:
    """Return a copy of a table with more columns, of the kind it is.

    Parameters
    ----------
    X : table in memory
        A DataFrame of pandas, or of another library that narwhals knows.
    added : dict of str to ndarray
    """
    frame = _known(X)
    if frame is not None:
        backend = frame.implementation
        columns = [nw.new_series(name, column, backend=backend) for name, column in added.items()]
        out = frame.with_columns(*columns)
        return out if isinstance(X, nw.DataFrame) else out.to_native()
    out = X.copy()
    for name, column in added.items():
        # of several levels of column names the last says what it is
        depth = out.columns.nlevels
        out[name if depth == 1 else (*[""] * (depth - 1), name)] = column
    return out


# --- columns that hold no numbers ----------------------------------------------------------------


def with_numbers(X: pd.DataFrame) -> pd.DataFrame:
    """Check that the columns of a DataFrame hold numbers, and return it with NumPy's types.

    Nullable types and those of Arrow have NaN where a value is missing. A DataFrame without them
    is returned as it is.
    """
    if not X.columns.is_unique:
        _refuse_repeated(list(X.columns[X.columns.duplicated()].unique()))
    wrong: dict[Any, str] = {}
    made: dict[Any, np.ndarray] = {}
    library = "pandas"
    for name, kind in X.dtypes.items():
        if isinstance(kind, np.dtype) and kind.kind == "O":
            values = X[name].to_numpy()
            found = _kind_of_objects(values)
            if isinstance(found, _NoNumber):
                library, found = found.library, found.kind
            if found is not None:
                wrong[name] = found
            else:
                made[name] = np.where(pd.isna(values), np.nan, values).astype(np.float64)
        elif not is_number_type(kind):
            wrong[name] = str(kind)
        elif isinstance(kind, pd.api.extensions.ExtensionDtype) and not isinstance(
            kind, pd.SparseDtype
        ):
            plain = getattr(kind, "numpy_dtype", None)
            to = np.float32 if plain == np.float32 else np.float64
            made[name] = X[name].to_numpy(dtype=to, na_value=np.nan)
    if wrong:
        refuse_columns(wrong, library)
    if not made:
        return X
    return pd.DataFrame({name: made.get(name, X[name]) for name in X}, index=X.index)


def is_number_type(kind: Any) -> bool:
    """Whether a column of this type of pandas holds numbers, or True and False."""
    return pd.api.types.is_numeric_dtype(kind) or (
        pd.api.types.is_bool_dtype(kind) and not isinstance(kind, pd.CategoricalDtype)
    )


def _kind_of_objects(values: np.ndarray) -> Any:
    """First type among objects that is no number; None if all are numbers or missing."""
    for kind in dict.fromkeys(map(type, values)):
        if kind is _NoNumber:
            return values[0]
        if issubclass(kind, (str, bytes, np.ndarray, *TIMES)) or not (
            hasattr(kind, "__float__") or kind in (type(None), type(pd.NA))
        ):
            return kind.__name__
    return None


def _refuse_repeated(repeated: list[Any]) -> None:
    if repeated:
        raise ValueError(f"column names of X are not unique: {listing(repeated)}; rename them")


def refuse_columns(wrong: dict[Any, str], library: str) -> None:
    """Refuse columns that hold no numbers, and say what can be done.

    Parameters
    ----------
    wrong : dict
        Their types by their names.
    library : str
        Whose table it is: its calls are told.
    """
    named = [f"{shown(name)} ({kind})" for name, kind in list(wrong.items())[:10]]
    more = f" and {len(wrong) - 10} more" if len(wrong) > 10 else ""
    calls = _CALLS.get(library, _Calls())
    drop = calls.drop if len(wrong) <= _MOST_NAMED or not calls.keep else calls.keep
    text = [name for name, kind in wrong.items() if kind.lower() in _TEXT]
    days = [name for name, kind in wrong.items() if kind.lower().startswith(calls.dates)]
    code = [
        f"{what} by {call.format(names)}"
        for what, call, names in (
            ("categories", calls.code, _names_in_call(text) if text else ""),
            ("dates", calls.days, shown(days[0]) if days else ""),
        )
        if call and names
    ]
    raise ValueError(
        f"{len(wrong)} column(s) of X are not numeric: {', '.join(named)}{more}; drop them"
        + (f", {drop.format(_names_in_call(list(wrong)))}," if drop else "")
        + " or code them as numbers"
        + (f", {' and '.join(code)}" if code else "")
    )


def _names_in_call(names: list[Any]) -> str:
    few = ", ".join(map(shown, names))
    return f"[{few if len(names) <= _MOST_NAMED else '...'}]"
