"""The notebooks run from top to bottom, and show what the present code computes."""

from __future__ import annotations

import base64
import re
import sys
from pathlib import Path

import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

ROOT = Path(__file__).parents[2]
VIGNETTES = ROOT / "vignettes"
sys.path.insert(0, str(VIGNETTES))

import execute  # noqa: E402

#: What the notebooks may weigh together, pictures included.
_MOST_BYTES = 6_000_000
_NUMBER = re.compile(r"[-−+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
#: Differences of a size that rounding errors have.
_ROUNDING = 1e-9


@pytest.fixture(params=execute.TEXTS, ids=lambda path: path.stem)
def text(request):
    return request.param


def shown(notebook):
    """Kinds of the outputs of every cell."""
    return [
        [execute.kind(output) for output in cell.outputs] for cell in execute.code_cells(notebook)
    ]


def unit(number):
    """One unit in the last digit that is printed: 0.01 for 3.14, 100 for 2.5e3."""
    digits, _, power = number.partition("e")
    return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def differences(old, new):
    """What differs between two texts: words, or numbers by more than rounding can explain."""
    words = [" ".join(re.sub(r"[-=\s]+", " ", _NUMBER.sub("#", t)).split()) for t in (old, new)]
    if words[0] != words[1]:
        return [tuple(words)]
    return [
        (a, b)
        for a, b in zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True)
        if abs(value(a) - value(b)) > max(1.001 * max(unit(a), unit(b)), _ROUNDING)
        and max(abs(value(a)), abs(value(b))) > _ROUNDING
    ]


def value(number):
    return float(number.replace("−", "-"))


def test_every_notebook_is_listed_and_kept():
    assert {path.stem for path in VIGNETTES.glob("*.md")} == set(execute.NAMES)
    assert {path.stem for path in VIGNETTES.glob("*.ipynb")} == set(execute.NAMES)


def test_kept_notebooks_are_of_the_present_text(text):
    execute.load(text)


def test_kept_notebooks_have_pictures_and_nothing_of_the_machine(text):
    notebook = execute.load(text)
    assert any("image/png" in kinds for kinds in shown(notebook))
    assert list(execute.complaints(notebook)) == []
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert set(notebook.metadata.language_info) == {"name"}
    for cell in execute.code_cells(notebook):
        assert set(cell.metadata) <= {"tags"}
        for output in cell.outputs:
            assert not output.get("metadata")
            picture = base64.b64decode(output.get("data", {}).get("image/png", ""))
            assert b"tEXt" not in picture


def test_kept_notebooks_are_small():
    assert sum(execute.kept(text).stat().st_size for text in execute.TEXTS) < _MOST_BYTES


def test_notebooks_run_and_show_what_is_kept(text):
    stored = execute.load(text)
    found = execute.execute(execute.read(text))
    assert shown(found) == shown(stored)
    for old, new in zip(execute.code_cells(stored), execute.code_cells(found), strict=True):
        if execute.MACHINE in old.metadata.get("tags", []):
            continue
        for one, other in zip(old.outputs, new.outputs, strict=True):
            assert differences(execute.words(one), execute.words(other)) == [], old.source


def test_the_comparison_with_sparcl_runs_without_r(tmp_path):
    notebook = execute.read(VIGNETTES / "beside_sparcl.md")
    # what comes after the comparison with R itself does not depend on R
    last = next(i for i, cell in enumerate(notebook.cells) if "## Side by side" in cell.source)
    notebook.cells = notebook.cells[:last]
    execute.execute(notebook, {"PATH": str(tmp_path), "R_HOME": ""})
    printed = [
        output.text
        for cell in execute.code_cells(notebook)
        for output in cell.outputs
        if execute.kind(output) == "stdout"
    ]
    assert any("is not installed" in text for text in printed)
    difference = float(re.search(r"native and sparcl: (\S+)", printed[-1])[1])
    assert difference < 1e-9


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("ARI 0.88,  NMI 1", "ARI 0.87, NMI 1", True),
        ("ARI 0.88, NMI 1", "ARI 0.86, NMI 1", False),
        ("lambda 100", "penalty 100", False),
        ("largest difference 3.3e-16", "largest difference 0.0e+00", True),
        ("largest difference 3.3e-16", "largest difference 3.3e-06", False),
        ("slope −0.46", "slope 0.46", False),
        ("1.2e-02", "1.3e-02", True),
        ("1.2e-02", "1.4e-02", False),
        ("3 rows", "3 4 rows", False),
    ],
)
def test_outputs_are_compared_to_the_last_digit(old, new, same):
    assert (differences(old, new) == []) == same


def made(source="1 + 1"):
    cell = new_code_cell(source)
    cell.execution_count = 1
    return new_notebook(cells=[new_markdown_cell("# Title\n\nWith $x^2$."), cell])


def test_a_cell_that_fails_is_reported():
    with pytest.raises(CellExecutionError, match="no such thing"):
        execute.execute(made("raise RuntimeError('no such thing')"))


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (new_output("stream", name="stderr", text="careful"), "careful"),
        (new_output("stream", name="stdout", text=f"{ROOT}/ewp"), "path"),
        (new_output("stream", name="stdout", text="<object at 0x7f00>"), "address"),
    ],
)
def test_complaints_and_what_belongs_to_the_machine_are_not_kept(tmp_path, output, reason):
    notebook = made()
    notebook.cells[1].outputs = [output]
    with pytest.raises(ValueError, match=reason):
        execute.write(notebook, tmp_path / "made.ipynb")
    assert not list(tmp_path.iterdir())


def test_a_run_leaves_no_trace_of_the_run():
    run = execute.execute(made("object()"))
    assert run.cells[1].outputs[0].data["text/plain"] == "<object>"
    assert run.cells[1].metadata == {}
    assert set(run.metadata.language_info) == {"name"}


def test_links_lead_from_notebook_to_notebook():
    linked = [cell.source for text in execute.TEXTS for cell in execute.read(text).cells]
    assert any("](uncertainty.ipynb)" in source for source in linked)
    assert not any(re.search(r"\]\(\w+\.md", source) for source in linked)
