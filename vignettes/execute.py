"""The notebooks: made from their text, run, and kept with their outputs.

The text of a notebook is the MyST Markdown file beside this one, which is what one edits and
reviews. ``python vignettes/execute.py`` runs it and writes ``<name>.ipynb`` beside it, with the
outputs and the pictures inside. What differs from run to run or from machine to machine is left
out, so that a run without changes leaves every file as it is. The documentation site shows the
notebooks as they are kept and runs nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

HERE = Path(__file__).parent
#: In the order in which they are best read.
NAMES = (
    "getting_started",
    "how_ewp_works",
    "choosing_lambda_and_k",
    "correlated_features",
    "count_data",
    "beside_sparcl",
    "uncertainty",
    "large_data",
    "case_study",
)
TEXTS = [HERE / f"{name}.md" for name in NAMES]
#: Tag of a cell whose output depends on what is installed.
MACHINE = "machine"
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# Matplotlib writes its version into a picture unless told not to.
_PICTURES = (
    "--InlineBackend.print_figure_kwargs={'bbox_inches':'tight','metadata':{'Software':None}}"
)
_LINK = re.compile(rf"\]\(({'|'.join(NAMES)})\.md")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def kept(text: Path) -> Path:
    """Where the notebook with outputs is, given its text."""
    return text.with_suffix(".ipynb")


def read(text: Path) -> NotebookNode:
    """Make a notebook without outputs from its text; links lead from notebook to notebook."""
    notebook = jupytext.read(text)
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _LINK.sub(r"](\1.ipynb", cell.source)
        tags = cell.metadata.get("tags")
        cell.metadata = NotebookNode(tags=tags) if tags else NotebookNode()
        # an identifier from the content changes with the cell, not with its place
        digest = hashlib.sha256(cell.source.encode()).hexdigest()[:12]
        seen[digest] += 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
    notebook.metadata = nbformat.from_dict(_METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def load(text: Path) -> NotebookNode:
    """Read the notebook that is kept, given its text; it must be of that text."""
    notebook = nbformat.read(kept(text), as_version=4)
    if _cells(notebook) != _cells(read(text)):
        raise ValueError(f"{text.name} has changed since it was run: run make vignettes")
    return notebook


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Cells that are run."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def execute(notebook: NotebookNode, env: dict[str, str] | None = None) -> NotebookNode:
    """Run a notebook in place, in the folder where a reader would open it.

    A cell that fails raises with its traceback. One thread of BLAS: the problems are small. No
    progress bars, which would be kept as they stood.
    """
    fixed = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "TQDM_DISABLE": "1"}
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(HERE)}},
        coalesce_streams=True,
        record_timing=False,
        # the kernel warns of its connection, which does not leave this machine
        extra_arguments=[_PICTURES, "--IPKernelApp.log_level=ERROR"],
    )
    client.execute(env={**os.environ, **fixed, **(env or {})})
    notebook.metadata = nbformat.from_dict(_METADATA)
    for cell in code_cells(notebook):
        for output in cell.outputs:
            _steady(output)
    return notebook


def kind(output: NotebookNode) -> str:
    """What an output is shown as: stdout, stderr, error, or the richest MIME type it has."""
    if "data" not in output:
        return str(output.get("name", output.output_type))
    return next((mime for mime in ("image/png", "text/html") if mime in output.data), "text/plain")


def words(output: NotebookNode) -> str:
    """Text of an output; of a picture, nothing."""
    shown = kind(output)
    if shown == "image/png":
        return ""
    return str(output.data[shown] if "data" in output else output.get("text", ""))


def complaints(notebook: NotebookNode) -> Iterator[str]:
    """Say what should not be in a notebook that is kept."""
    for number, cell in enumerate(code_cells(notebook), start=1):
        if cell.execution_count != number:
            yield f"cell {number} was run out of turn"
        for output in cell.outputs:
            if kind(output) in ("stderr", "error"):
                yield f"cell {number} complains: {words(output)[:200]}"
    text = nbformat.writes(notebook)
    for folder in {str(HERE.parent), str(Path.home()), tempfile.gettempdir()} - {"/"}:
        if folder + "/" in text:
            yield f"a path of this machine: {folder}"
    if _ADDRESS.search(text):
        yield "the address of an object in memory"


def write(notebook: NotebookNode, path: Path) -> None:
    """Keep a notebook that was run, unless there is something wrong with it."""
    found = list(complaints(notebook))
    if found:
        raise ValueError(f"{path.name}: " + "; ".join(found))
    nbformat.validate(notebook)
    path.write_text(nbformat.writes(notebook) + "\n")


def _cells(notebook: NotebookNode) -> list[tuple[str, str, str, NotebookNode]]:
    """What a notebook has from its text."""
    return [(cell.id, cell.cell_type, cell.source, cell.metadata) for cell in notebook.cells]


def _steady(output: NotebookNode) -> None:
    """Leave out what differs between runs: hints for the display, and addresses in memory."""
    if "metadata" in output:
        output.metadata = NotebookNode()
    if "text/plain" in output.get("data", {}):
        output.data["text/plain"] = _ADDRESS.sub("", output.data["text/plain"])


def main() -> None:
    """Run the notebooks that are named, or all of them, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="names of notebooks; all of them if none is given")
    parser.add_argument("--jobs", type=int, default=2, help="notebooks that run at a time")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(NAMES)
    if unknown:
        parser.error(f"no notebook is called {', '.join(sorted(unknown))}")

    def make(text: Path) -> None:
        path = kept(text)
        write(execute(read(text)), path)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB", flush=True)

    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(make, [t for t in TEXTS if not arguments.names or t.stem in arguments.names]))


if __name__ == "__main__":
    main()
