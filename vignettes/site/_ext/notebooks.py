"""The notebooks as pages of the site: their text, with the outputs that are saved in ``html``.

A page that is not of the present text stops the build; ``make vignettes`` makes it anew.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import render
from sphinx.application import Sphinx
from sphinx.config import Config


def write_notebooks(app: Sphinx, config: Config) -> None:
    """Put the notebooks where Sphinx finds them; files that would not change are not touched."""
    names = "|".join(path.stem for path in render.NOTEBOOKS)
    for path in render.NOTEBOOKS:
        notebook = render.with_recorded_outputs(path)
        for number, cell in enumerate(notebook.cells):
            cell["id"] = f"cell-{number}"
            if cell.cell_type == "markdown":
                cell.source = re.sub(rf"\]\(({names})\.md\)", r"](\1.ipynb)", cell.source)
        text = nbformat.writes(notebook)
        target = Path(app.srcdir) / "tutorial" / f"{path.stem}.ipynb"
        if not target.exists() or target.read_text() != text:
            target.write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the step, which comes before Sphinx looks for its sources."""
    app.connect("config-inited", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
