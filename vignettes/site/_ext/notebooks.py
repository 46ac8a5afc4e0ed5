"""The notebooks as pages of the site, as they are kept in ``vignettes``: nothing is run.

A notebook that is not of the present text stops the build; ``make vignettes`` makes it anew.
"""

from __future__ import annotations

from pathlib import Path

import execute
from sphinx.application import Sphinx
from sphinx.config import Config


def copy_notebooks(app: Sphinx, config: Config) -> None:
    """Put the notebooks where Sphinx finds them; files that would not change are not touched."""
    for text in execute.TEXTS:
        execute.load(text)
        notebook = execute.kept(text).read_text()
        target = Path(app.srcdir) / "tutorial" / execute.kept(text).name
        if not target.exists() or target.read_text() != notebook:
            target.write_text(notebook)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the step, which comes before Sphinx looks for its sources."""
    app.connect("config-inited", copy_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
