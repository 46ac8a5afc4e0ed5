"""What a page says so that its figures can be had again: versions, options, the data's hash."""

from __future__ import annotations

import datetime
import hashlib
import platform
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd

from ewp.rows import FileRows

__all__ = ["data_hash", "made_on", "versions"]

_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn")
_BLOCK = 2**14


def versions() -> dict[str, str]:
    """Versions of the package, of Python and of what the numbers rest on."""
    from ewp import __version__

    found = {"ewp": __version__, "Python": platform.python_version()}
    return found | {name: metadata.version(name) for name in _PACKAGES}


def made_on() -> str:
    """The present day and time, in UTC."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def data_hash(data: Any) -> str | None:
    """SHA-256 of the values of a table, as 64-bit floats (little-endian), row by row.

    Parameters
    ----------
    data : DataFrame, ndarray, FileRows or other
        Of data that are elsewhere nothing is computed.

    Returns
    -------
    str or None
        Hexadecimal digits.

    Examples
    --------
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> data_hash(X) == hashlib.sha256(X.astype("<f8").tobytes()).hexdigest()
    True
    >>> data_hash(X) == data_hash(pd.DataFrame(X, dtype=int))
    True
    """
    if isinstance(data, list | tuple):
        data = np.asarray(data)
    if not isinstance(data, np.ndarray | pd.DataFrame | FileRows):
        return None
    digest = hashlib.sha256()
    for start in range(0, len(data), _BLOCK):
        part = slice(start, start + _BLOCK)
        rows = data.iloc[part] if isinstance(data, pd.DataFrame) else data[part]
        digest.update(np.ascontiguousarray(rows, dtype="<f8").tobytes())
    return digest.hexdigest()
