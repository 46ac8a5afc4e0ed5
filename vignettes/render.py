"""Notebooks kept as text: how they are read, run, and written as pages.

The notebooks are the MyST Markdown files beside this one. ``python vignettes/render.py`` runs them
and writes ``html/<name>.html``, one file each that needs no network: pictures are inside, formulas
are MathML. A page carries the fingerprint of the cells it was made from, by which the tests tell a
page that has gone stale, and its outputs can be read back, so that the documentation site shows
the notebooks without running them again.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jupytext
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_output

HERE = Path(__file__).parent
PAGES = HERE / "html"
#: In the order in which they are best read.
NOTEBOOKS = [
    HERE / f"{name}.md"
    for name in (
        "getting_started",
        "how_ewp_works",
        "choosing_lambda_and_k",
        "beside_sparcl",
        "uncertainty",
        "large_data",
        "case_study",
    )
]
_META = '<meta name="source-sha256" content="{}">'


def read(path: Path) -> NotebookNode:
    """Read a notebook from its text."""
    return jupytext.read(path)


def page_of(path: Path) -> Path:
    """Where the page of a notebook is kept."""
    return PAGES / f"{path.stem}.html"


def fingerprint(notebook: NotebookNode) -> str:
    """Hash of the types and sources of all cells: what a page depends on."""
    cells = [f"{cell.cell_type}\n{cell.source.strip()}\n" for cell in notebook.cells]
    return hashlib.sha256("\0".join(cells).encode()).hexdigest()


def recorded_fingerprint(page: str) -> str | None:
    """Fingerprint that a page carries."""
    found = re.search(_META.format("([0-9a-f]{64})"), page)
    return found[1] if found else None


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Cells that are run."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def execute(notebook: NotebookNode, env: dict[str, str] | None = None) -> NotebookNode:
    """Run a notebook in place, in the folder where a reader would open it.

    A cell that fails raises with its traceback. One thread of BLAS: the problems are small.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", **(env or {})}
    resources = {"metadata": {"path": str(HERE)}}
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources=resources,
        coalesce_streams=True,
    )
    client.execute(env=environment)
    return notebook


def kind(output: NotebookNode) -> str:
    """What an output is shown as: stdout, stderr, error, or the richest MIME type it has."""
    if "data" not in output:
        return str(output.get("name", output.output_type))
    return next((mime for mime in ("image/png", "text/html") if mime in output.data), "text/plain")


def title_of(notebook: NotebookNode) -> str:
    """Heading of a notebook."""
    found = re.search(r"^# (.+)$", notebook.cells[0].source, flags=re.MULTILINE)
    if found is None:
        raise ValueError("a notebook opens with a heading of the first level, '# Title'")
    return found[1]


def to_html(notebook: NotebookNode) -> str:
    """Write an executed notebook as a page without scripts and without anything to download."""
    title, body = title_of(notebook), "\n".join(_cells(notebook))
    return _PAGE.format(
        title=html.escape(title.replace("`", "")),
        meta=_META.format(fingerprint(notebook)),
        style=_style(),
        body=body,
    )


def recorded_outputs(page: str) -> list[list[NotebookNode]]:
    """Outputs of the code cells of a page, in their order."""
    from bs4 import BeautifulSoup

    found = []
    for cell in BeautifulSoup(page, "html.parser").select("div.cell"):
        outputs = []
        for part in cell.select("div.output"):
            mime = str(part["data-kind"])
            if mime in ("stdout", "stderr"):
                outputs.append(new_output("stream", name=mime, text=part.pre.get_text()))
                continue
            if mime == "image/png":
                data = {mime: str(part.img["src"]).split(",", 1)[1]}
            elif mime == "text/html":
                data = {mime: part.decode_contents()}
            else:
                data = {mime: part.pre.get_text()}
            outputs.append(new_output("display_data", data=data))
        found.append(outputs)
    return found


def with_recorded_outputs(path: Path) -> NotebookNode:
    """Read a notebook with the outputs that its page has."""
    notebook, page = read(path), page_of(path).read_text()
    if recorded_fingerprint(page) != fingerprint(notebook):
        raise ValueError(f"{page_of(path)} is not of the present {path.name}: run make vignettes")
    cells = code_cells(notebook)
    for number, (cell, outputs) in enumerate(
        zip(cells, recorded_outputs(page), strict=True), start=1
    ):
        cell.outputs, cell.execution_count = outputs, number
    return notebook


def _cells(notebook: NotebookNode) -> Iterator[str]:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    markdown = _markdown()
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield f"<div class='text'>\n{markdown.render(cell.source)}</div>"
            continue
        shown = highlight(cell.source, PythonLexer(), HtmlFormatter(cssclass="source"))
        yield f"<div class='cell'>\n{shown}" + "\n".join(map(_output, cell.outputs)) + "</div>"


def _output(output: NotebookNode) -> str:
    mime = kind(output)
    if mime in ("stdout", "stderr"):
        shown = f"<pre>{html.escape(output.text)}</pre>"
    elif mime == "image/png":
        shown = f'<img alt="picture" src="data:{mime};base64,{output.data[mime].strip()}">'
    elif mime == "text/html":
        shown = str(output.data[mime])
    else:
        shown = f"<pre>{html.escape(output.data[mime])}</pre>"
    return f'<div class="output" data-kind="{mime}">{shown}</div>'


def _markdown() -> Any:
    """Markdown with formulas between dollars; links between notebooks lead to their pages."""
    from latex2mathml.converter import convert
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    names = {path.name for path in NOTEBOOKS}

    def formula(tex: str, options: dict[str, Any]) -> str:
        return str(convert(tex, display="block" if options["display_mode"] else "inline"))

    def link(tokens: Any, index: int, options: Any, env: Any) -> str:
        target = tokens[index].attrs.get("href", "")
        if target in names:
            tokens[index].attrs["href"] = target.replace(".md", ".html")
        return str(markdown.renderer.renderToken(tokens, index, options, env))

    markdown = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin, renderer=formula)
    markdown.renderer.rules["link_open"] = link
    return markdown


def _style() -> str:
    from pygments.formatters import HtmlFormatter

    return _STYLE + HtmlFormatter(style="friendly").get_style_defs(".source")


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{meta}
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""

_STYLE = """
body { margin: 0; background: #fff; color: #222;
  font: 17px/1.55 Charter, "Bitstream Charter", Georgia, "DejaVu Serif", serif; }
main { max-width: 50rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; overflow-wrap: break-word; }
h1, h2, h3 { font-family: system-ui, "DejaVu Sans", sans-serif; line-height: 1.25; }
h1 { font-size: 1.9rem; } h2 { font-size: 1.35rem; margin-top: 2.4rem; } h3 { font-size: 1.1rem; }
a { color: #0b5fa5; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
code { font-size: .86em; } p code, li code, td code { background: #f4f4f2; padding: 0 .2em; }
pre { font-size: 12.5px; line-height: 1.4; margin: 0; overflow-x: auto; }
.source { background: #f6f6f3; border-left: 3px solid #7a9cbc; margin: 1rem 0 0;
  padding: .6rem .8rem; }
.output { margin: .3rem 0 0; padding: .4rem .8rem; overflow-x: auto; }
.output img { max-width: 100%; height: auto; display: block; }
.cell { margin-bottom: 1.2rem; }
table { border-collapse: collapse; font: 13px/1.4 system-ui, "DejaVu Sans", sans-serif;
  margin: .4rem 0; border: 0; }
.text table { display: block; overflow-x: auto; }
th, td { padding: .18rem .6rem; text-align: right; border: 0; }
.text th, .text td { text-align: left; }
thead tr, table.simpletable { border-bottom: 1px solid #999; }
caption { font-weight: bold; text-align: left; }
math { font-family: "STIX Two Math", "Cambria Math", "Latin Modern Math", "STIX Math", math; }
math[display="block"] { margin: 1rem 0; overflow-x: auto; overflow-y: hidden; }
blockquote { margin: 1rem 0; padding: .1rem 1rem; border-left: 3px solid #ccc; color: #444; }
"""


def main() -> None:
    """Run the notebooks that are named, or all of them, and write their pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="names of notebooks; all of them if none is given")
    parser.add_argument("--stale", action="store_true", help="only those whose page is out of date")
    parser.add_argument("--jobs", type=int, default=2, help="notebooks that run at a time")
    arguments = parser.parse_args()
    chosen = [p for p in NOTEBOOKS if not arguments.names or p.stem in arguments.names]
    PAGES.mkdir(exist_ok=True)

    def make(path: Path) -> None:
        notebook, page = read(path), page_of(path)
        made_from = recorded_fingerprint(page.read_text()) if page.exists() else None
        if arguments.stale and made_from == fingerprint(notebook):
            return
        page.write_text(to_html(execute(notebook)))
        print(f"{page.name}: {page.stat().st_size / 1000:.0f} kB", flush=True)

    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(make, chosen))


if __name__ == "__main__":
    main()
