"""The notebooks run from top to bottom, and their saved pages are of the present text."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "vignettes"))

import render  # noqa: E402

#: What a page may weigh, pictures included.
_MOST_BYTES = 1_000_000


@pytest.fixture(params=render.NOTEBOOKS, ids=lambda path: path.stem)
def path(request):
    return request.param


def shown(outputs):
    """Kinds of the outputs of every cell."""
    return [[render.kind(output) for output in cell] for cell in outputs]


def recorded(path):
    return render.recorded_outputs(render.page_of(path).read_text())


def test_every_notebook_is_listed_and_has_a_page():
    texts = {path for path in (ROOT / "vignettes").glob("*.md") if path.name != "README.md"}
    assert set(render.NOTEBOOKS) == texts
    pages = {render.page_of(path) for path in render.NOTEBOOKS}
    assert set((ROOT / "vignettes" / "html").iterdir()) == pages


def test_pages_belong_to_the_present_text(path):
    page = render.page_of(path).read_text()
    assert render.recorded_fingerprint(page) == render.fingerprint(render.read(path)), (
        f"{path.name} has changed since its page was made: run make vignettes"
    )


def test_pages_need_no_network_and_are_small(path):
    page = render.page_of(path).read_text()
    assert len(page.encode()) < _MOST_BYTES
    assert "<script" not in page
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#|\w+\.html)[^"']*""", page)


def test_pages_have_pictures_and_no_complaints(path):
    kinds = [kind for cell in shown(recorded(path)) for kind in cell]
    assert "image/png" in kinds
    assert "stderr" not in kinds
    assert "error" not in kinds


def test_notebooks_run_and_show_the_same_kinds_of_things(path):
    stored = shown(recorded(path))
    notebook = render.execute(render.read(path))
    assert shown([cell.outputs for cell in render.code_cells(notebook)]) == stored


def test_the_comparison_with_sparcl_runs_without_r(tmp_path):
    path = ROOT / "vignettes" / "beside_sparcl.md"
    without = {"PATH": str(tmp_path), "R_HOME": ""}
    notebook = render.read(path)
    # what comes after the comparison with R itself does not depend on R
    last = next(i for i, cell in enumerate(notebook.cells) if "## Side by side" in cell.source)
    notebook.cells = notebook.cells[:last]
    render.execute(notebook, without)
    printed = [
        output.text
        for cell in render.code_cells(notebook)
        for output in cell.outputs
        if render.kind(output) == "stdout"
    ]
    assert any("is not installed" in text for text in printed)
    difference = float(re.search(r"native and sparcl: (\S+)", printed[-1])[1])
    assert difference < 1e-9


def test_code_of_the_notebooks_is_clean(path):
    import jupytext

    code = jupytext.writes(render.read(path), "ipynb")
    name = f"vignettes/{path.stem}.ipynb"
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", name, "-"],
            input=code,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def made(source="1 + 1"):
    cell = new_code_cell(source)
    cell.outputs = [
        new_output("stream", name="stdout", text="a < b\n"),
        new_output("display_data", data={"image/png": "AAAA\n", "text/plain": "<Figure>"}),
        new_output("execute_result", data={"text/html": "<table></table>", "text/plain": "t"}),
        new_output("execute_result", data={"text/plain": "<x> & y"}),
    ]
    return new_notebook(cells=[new_markdown_cell("# Title\n\nWith $x^2$."), cell])


def test_a_page_gives_its_outputs_and_its_fingerprint_back():
    notebook = made()
    page = render.to_html(notebook)
    assert "<math" in page
    assert render.recorded_fingerprint(page) == render.fingerprint(notebook)
    (outputs,) = render.recorded_outputs(page)
    assert outputs[0].text == "a < b\n"
    assert outputs[1].data == {"image/png": "AAAA"}
    assert outputs[2].data == {"text/html": "<table></table>"}
    assert outputs[3].data == {"text/plain": "<x> & y"}


def test_the_fingerprint_changes_with_every_cell():
    assert render.fingerprint(made()) != render.fingerprint(made("1 + 2"))
    other = made()
    other.cells[0].source += " More."
    assert render.fingerprint(made()) != render.fingerprint(other)


def test_a_cell_that_fails_is_reported():
    with pytest.raises(CellExecutionError, match="no such thing"):
        render.execute(made("raise RuntimeError('no such thing')"))
