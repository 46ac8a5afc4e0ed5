"""The notebooks as pages of the site, as they are kept in ``vignettes``: nothing is run.

A notebook that is not of the present text stops the build; ``make vignettes`` makes it anew. Links
from the pages to the notebooks lead to the files of the repository, and to the pages in the site.
"""

from __future__ import annotations

import re
from pathlib import Path

import execute
from sphinx.application import Sphinx
from sphinx.config import Config

_LINK = re.compile(rf"\]\((?:\.\./)+({'|'.join(execute.NAMES)})\.ipynb")


def copy_notebooks(app: Sphinx, config: Config) -> None:
    """Put the notebooks where Sphinx finds them; files that would not change are not touched."""
    for text in execute.TEXTS:
        execute.load(text)
        notebook = execute.kept(text).read_text()
        target = Path(app.srcdir) / "tutorial" / execute.kept(text).name
        if not target.exists() or target.read_text() != notebook:
            target.write_text(notebook)


def lead_to_pages(app: Sphinx, page: str, source: list[str]) -> None:
    """Turn links to files of the repository into links to pages of the site."""
    source[0] = _LINK.sub(r"](/tutorial/\1.ipynb", source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the two steps; the first comes before Sphinx looks for its sources."""
    app.connect("config-inited", copy_notebooks)
    app.connect("source-read", lead_to_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
