"""The report as a structure, and the two forms in which it is written: HTML and Markdown.

Sections hold paragraphs, tables and pictures, and open with a verdict. The HTML file contains its
pictures; the Markdown file refers to them. Both come from the same objects.
"""

from __future__ import annotations

import base64
import html
import io
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
import pandas as pd

from validation.table_text import markdown_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Page",
    "Picture",
    "Section",
    "Table",
    "Verdict",
    "parted",
    "slug",
    "to_html",
    "to_markdown",
]

#: Columns with entries of more characters than this are texts, whose lines may be broken.
_LONG = 36
#: About so many characters of a verdict stand in the list of all; the rest unfolds.
_GLANCE = 130


def slug(title: str) -> str:
    """Name of a section in links.

    Examples
    --------
    >>> slug("Table 1: Simulation 1, d = 5")
    'table-1-simulation-1-d-5'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


@dataclass(frozen=True)
class Verdict:
    """What a section found.

    Attributes
    ----------
    kind : {"holds", "holds only if", "does not hold", "new", "open"}
        "new" goes beyond the paper; "open" waits for cells that are not finished.
    text : str
        What follows.
    """

    kind: str
    text: str

    def __post_init__(self) -> None:
        known = ("holds", "holds only if", "does not hold", "new", "open")
        if self.kind not in known:
            raise ValueError(f"verdict {self.kind!r} is none of {', '.join(known)}")


@dataclass(frozen=True)
class Table:
    """A table of texts; its first columns name the rows."""

    frame: pd.DataFrame
    caption: str
    names: int = 1


@dataclass(frozen=True)
class Picture:
    """A picture with the name of its file, a caption, and the bytes of a PNG."""

    name: str
    caption: str
    data: bytes

    @classmethod
    def of(cls, name: str, caption: str, figure: Figure, dpi: int = 110) -> Picture:
        """Draw a figure, and close it."""
        from matplotlib import pyplot as plt

        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
        plt.close(figure)
        return cls(name, caption, buffer.getvalue())


@dataclass
class Section:
    """A part of the report.

    Attributes
    ----------
    title : str
    verdict : Verdict
    items : list of str, Table or Picture
        In the order in which they are read; a text is a paragraph.
    cells : str
        From which cells it was made, in words.
    """

    title: str
    verdict: Verdict
    items: list[str | Table | Picture] = field(default_factory=list)
    cells: str = ""


@dataclass
class Page:
    """The whole report."""

    title: str
    lead: list[str]
    parts: dict[str, list[Section]]
    ending: list[str | Table]


def _inline(text: str) -> str:
    """HTML of a paragraph in which backquotes mark code and double asterisks mark weight."""
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)


def parted(text: str) -> tuple[str, str]:
    """Part a verdict into what is read at a glance, and the rest, where a clause ends.

    Examples
    --------
    >>> parted("it holds.")
    ('it holds.', '')
    >>> parted("it holds at k = 20, 100 and 200, where it was tried; " + 40 * "and so on ")[0]
    'it holds at k = 20, 100 and 200, where it was tried;'
    """
    if len(text) <= _GLANCE + 40:
        return text, ""
    for marks in (r"[.;](?= )", r"[:,)](?= )", r"(?= )"):
        ends = [found.end() for found in re.finditer(marks, text)]
        near = [end for end in ends if _GLANCE / 3 < end <= _GLANCE + 20]
        if near:
            break
    else:
        return text, ""
    cut = near[-1]
    if text[:cut].count("`") % 2 or text[:cut].count("**") % 2:
        return text, ""
    return text[:cut], text[cut:].lstrip()


def _html_table(table: Table) -> str:
    texts = [table.frame[name].astype(str).str.len().max() > _LONG for name in table.frame]

    def row(values: list[str], tag: str) -> str:
        cells = []
        for i, value in enumerate(values):
            name = "th" if i < table.names else tag
            kind = " class='text'" if texts[i] else " class='name'" if i < table.names else ""
            cells.append(f"<{name}{kind}>{_inline(value)}</{name}>")
        return f"<tr>{''.join(cells)}</tr>"

    head = row([str(name) for name in table.frame.columns], "th")
    body = "".join(
        row([str(v) for v in values], "td") for values in table.frame.itertuples(index=False)
    )
    return (
        f"<figure><figcaption>{_inline(table.caption)}</figcaption><div class='wide'>"
        f"<table><thead>{head}</thead><tbody>{body}</tbody></table></div></figure>"
    )


def _html_item(item: str | Table | Picture) -> str:
    if isinstance(item, Table):
        return _html_table(item)
    if isinstance(item, Picture):
        data = base64.b64encode(item.data).decode()
        return (
            f"<figure><img alt='{html.escape(item.caption, quote=True)}' "
            f"src='data:image/png;base64,{data}'>"
            f"<figcaption>{_inline(item.caption)}</figcaption></figure>"
        )
    return f"<p>{_inline(item)}</p>"


def to_html(page: Page) -> str:
    """One self-contained HTML file."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(
        item=lambda one: jinja2.utils.markupsafe.Markup(_html_item(one)),
        inline=lambda text: jinja2.utils.markupsafe.Markup(_inline(text)),
        parted=parted,
        slug=slug,
    )
    return environment.get_template("page.html.j2").render(page=page)


def _markdown_item(item: str | Table | Picture) -> str:
    if isinstance(item, Table):
        return f"*{item.caption}*\n\n{markdown_table(item.frame)}"
    if isinstance(item, Picture):
        return f"![{item.caption}](pictures/{item.name}.png)\n\n*{item.caption}*"
    return item


def _said(verdict: Verdict) -> str:
    """A verdict in one sentence: a condition goes on from its kind, anything else after a colon.

    Examples
    --------
    >>> _said(Verdict("holds only if", "λ is right.")), _said(Verdict("new", "it is fast."))
    ('**holds only if** λ is right.', '**new:** it is fast.')
    """
    colon = "" if verdict.kind in ("holds only if", "does not hold") else ":"
    return f"**{verdict.kind}{colon}** {verdict.text}"


def to_markdown(page: Page) -> str:
    """The same as Markdown, with pictures in the folder ``pictures``."""
    blocks = [f"# {page.title}", *page.lead]
    summary = pd.DataFrame(
        [
            (f"[{one.title}](#{slug(one.title)})", _said(one.verdict))
            for sections in page.parts.values()
            for one in sections
        ],
        columns=["", "verdict"],
    )
    contents = [
        f"- {name}: " + ", ".join(f"[{one.title}](#{slug(one.title)})" for one in sections)
        for name, sections in page.parts.items()
    ]
    blocks += ["## Contents", "\n".join(contents)]
    blocks += ["## Verdicts", _markdown_item(Table(summary, "All sections in short"))]
    for name, sections in page.parts.items():
        blocks.append(f"## {name}")
        for one in sections:
            # headings get their names by rules that differ from one viewer to the next
            blocks.append(f'<a id="{slug(one.title)}"></a>')
            blocks += [f"### {one.title}", _said(one.verdict)]
            blocks += [_markdown_item(item) for item in one.items]
            blocks += [one.cells] if one.cells else []
    blocks += ["## How this was made", *(_markdown_item(item) for item in page.ending)]
    return "\n\n".join(blocks) + "\n"
