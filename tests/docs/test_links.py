"""Links between the files of the repository lead to files and headings that are there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
VIGNETTES = ROOT / "vignettes"
#: Copies that a build of the site leaves are no sources.
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(VIGNETTES.glob("*.md")),
    *sorted(VIGNETTES.glob("*.ipynb")),
    *sorted((VIGNETTES / "site").rglob("*.md")),
]


def text_of(path):
    """Text of a page without its code."""
    if path.suffix == ".ipynb":
        cells = nbformat.read(path, as_version=4).cells
        return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)


def links(text):
    """Targets of links and pictures that are not addresses."""
    found = re.findall(r"\]\(([^()\s]+(?:\([^()\s]*\))?)\)", re.sub(r"`[^`\n]*`", "", text))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(text):
    """Anchors that code hosts make from headings, and those that are written out."""
    seen: Counter[str] = Counter()
    found = set(re.findall(r'<a id="([^"]+)"', text))
    for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.add(plain if not seen[plain] else f"{plain}-{seen[plain]}")
        seen[plain] += 1
    return found


def broken(path, text):
    for link in links(text):
        name, _, anchor = link.partition("#")
        target = (path.parent / unquote(name)).resolve() if name else path
        there = target.exists() and target.is_relative_to(ROOT)
        if not there or (anchor and unquote(anchor) not in anchors(text_of(target))):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_resolve(page):
    assert list(broken(page, text_of(page))) == []


def test_a_broken_link_is_seen():
    text = "[a](README.md) [b](README.md#limits) [c](README.md#no) [d](nothing.md) [e](https://x.y)"
    assert list(broken(ROOT / "made.md", text)) == ["README.md#no", "nothing.md"]


def test_the_readme_leads_to_every_notebook():
    found = set(links(text_of(ROOT / "README.md")))
    assert {f"vignettes/{path.name}" for path in VIGNETTES.glob("*.ipynb")} <= found
