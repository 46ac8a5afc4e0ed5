"""The notebooks run from top to bottom, and what they show is what is stored in them."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "vignettes").glob("*.ipynb"))


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kinds(cell):
    """What a cell put out: names of streams, and MIME types of what was displayed."""
    return [
        sorted(output["data"]) if "data" in output else output.get("name", output.output_type)
        for output in cell.outputs
    ]


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def test_notebooks_are_stored_as_they_ran(notebook):
    nbformat.validate(notebook)
    numbers = [cell.execution_count for cell in code_cells(notebook)]
    assert numbers == list(range(1, len(numbers) + 1))
    for cell in code_cells(notebook):
        assert "error" not in kinds(cell)
        assert "stderr" not in kinds(cell)
    assert any("image/png" in kind for cell in code_cells(notebook) for kind in kinds(cell))


def test_notebooks_run_and_show_the_same_kinds_of_things(notebook):
    stored = [kinds(cell) for cell in code_cells(notebook)]
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": ROOT}}
    )
    client.execute()  # raises with the traceback of a cell that fails
    assert [kinds(cell) for cell in code_cells(notebook)] == stored
