"""The page about a fit or a comparison: one HTML file that needs nothing else.

What it says is collected in `report_fit` and `report_comparison`, its pictures are drawn by
`report_figures`, the words around them are in the templates. Everything that comes from the data
is escaped by the template engine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ewp.report_facts import made_on, versions

if TYPE_CHECKING:
    from ewp.comparison_results import Comparison
    from ewp.results import EWPResults

__all__ = ["render_report", "write_report"]


def render_report(
    found: EWPResults | Comparison,
    *,
    title: str | None = None,
    details: Mapping[str, str] | None = None,
) -> str:
    """Return the page as text.

    Parameters
    ----------
    found : EWPResults or Comparison
    title : str, optional
        Heading of the page.
    details : mapping of str to str, optional
        Further lines for the block on reproducibility.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from ewp.comparison_results import Comparison
    from ewp.report_comparison import describe_comparison
    from ewp.report_fit import describe_fit

    environment = Environment(
        loader=PackageLoader("ewp"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    if isinstance(found, Comparison):
        template, content = "comparison.html", describe_comparison(found)
    else:
        template, content = "fit.html", describe_fit(found)
    if title is not None:
        content["title"] = title
    shared = {"details": dict(details or {}), "versions": versions(), "made_on": made_on()}
    return environment.get_template(template).render(**content, **shared)


def write_report(
    found: EWPResults | Comparison,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    details: Mapping[str, str] | None = None,
) -> None:
    """Write the page to a file, see :meth:`ewp.EWPResults.report`."""
    Path(path).write_text(render_report(found, title=title, details=details), encoding="utf-8")
