"""The page about a fit or a comparison: one HTML file that needs nothing else.

What it says comes as plain data from those who know it, the words around it are in the templates,
and everything that comes from the data is escaped by the template engine. What a page says so that
its figures can be had again (versions, the data's hash) is made here.
"""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ewp.common.calls import versions
from ewp.common.files import written_aside
from ewp.data.frames import as_table, with_numbers
from ewp.data.rows import is_row_source

__all__ = ["ReportMixin", "data_hash", "render_report"]

_BLOCK = 2**14


def render_report(
    template: str,
    content: dict[str, Any],
    *,
    title: str | None = None,
    details: Mapping[str, str] | None = None,
) -> str:
    """Return a page as text.

    Parameters
    ----------
    template : str
        Name of the template.
    content : dict
        Its variables.
    title : str, optional
        Heading of the page.
    details : mapping of str to str, optional
        Further lines for the block on reproducibility.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ewp.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    if title is not None:
        content["title"] = title
    shared = {"details": dict(details or {}), "versions": versions(), "made_on": made_on()}
    return environment.get_template(template).render(**(shared | content))


def made_on() -> str:
    """The present day and time, in UTC."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def data_hash(data: Any) -> str | None:
    """SHA-256 of the values of a table, as 64-bit floats (little-endian), row by row.

    Parameters
    ----------
    data : table, ndarray, RowSource or other
        Tables of all libraries have the same hash if their values are the same. Of data that are
        elsewhere nothing is computed.

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
    data = np.asarray(data) if isinstance(data, list | tuple) else as_table(data)
    data = with_numbers(data) if isinstance(data, pd.DataFrame) else data
    if not (isinstance(data, np.ndarray | pd.DataFrame) or is_row_source(data)):
        return None
    digest = hashlib.sha256()
    for start in range(0, len(data), _BLOCK):
        part = slice(start, start + _BLOCK)
        rows = data.iloc[part] if isinstance(data, pd.DataFrame) else data[part]
        values = np.array(rows, dtype="<f8", order="C")
        values[np.isnan(values)] = np.nan  # which has many forms
        digest.update(values.tobytes())
    return digest.hexdigest()


class ReportMixin:
    """One self-contained page of HTML."""

    def _page(self) -> tuple[str, dict[str, Any]]:
        """Return the template and what it shows, defined by every subclass."""
        raise NotImplementedError

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        details: Mapping[str, str] | None = None,
    ) -> None:
        """Write a page about this object: one HTML file that needs nothing else.

        It says what was done, what was found and how to do it again, with its pictures inside,
        for a screen, a telephone or paper, light or dark. What was computed beside the fit
        (intervals, stability, tests, consistency) is in it.

        Parameters
        ----------
        path : path-like
            File to write, replaced if it is there.
        title : str, optional
            Heading of the page.
        details : mapping of str to str, optional
            Further lines for the block on reproducibility, such as the name of the data's file.

        Examples
        --------
        >>> import tempfile, pathlib, ewp
        >>> from ewp.datasets import make_simulation2
        >>> X = make_simulation2(3, n=150, p=6, n_relevant=2, random_state=0).X
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = pathlib.Path(folder, "report.html")
        ...     ewp.fit(X, 3, lam=7.5, random_state=0).report(page)
        ...     page.read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        page = render_report(*self._page(), title=title, details=details)
        with written_aside(path, "w") as file:
            file.write(page)
