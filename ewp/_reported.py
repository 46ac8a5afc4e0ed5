"""Objects of which a page can be written: the method `report`, shared by fits and comparisons."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast

__all__ = ["Reported"]


class Reported:
    """One self-contained page of HTML."""

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
        from ewp.report import write_report

        write_report(cast("Any", self), path, title=title, details=details)
