"""The directive ``command-line``: the commands of a typer program, as the program knows them."""

from __future__ import annotations

import importlib
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class CommandLine(SphinxDirective):
    """Sections, one a command, with its help, its usage, and its arguments and options.

    The argument is ``module:app``.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Describe every command."""
        module, name = self.arguments[0].split(":")
        group = typer.main.get_command(getattr(importlib.import_module(module), name))
        return [self._section(group.name, command) for _, command in sorted(group.commands.items())]

    def _section(self, program: str, command: Any) -> nodes.section:
        title = f"{program} {command.name}"
        context = typer.Context(command, info_name=title)
        section = nodes.section(ids=[nodes.make_id(title)])
        section += nodes.title("", "", nodes.literal("", title))
        for paragraph in (command.help or "").strip().split("\n\n"):
            section += nodes.paragraph("", " ".join(paragraph.split()))
        usage = " ".join(command.get_usage(context).split())
        section += nodes.literal_block("", usage, language="text")
        # what --help prints: a spelling and an explanation, with defaults and limits
        records = [parameter.get_help_record(context) for parameter in command.params]
        rows = nodes.definition_list()
        for spelling, explanation in filter(None, records):
            term = nodes.term("", "", nodes.literal("", " ".join(spelling.split())))
            definition = nodes.definition("", nodes.paragraph("", " ".join(explanation.split())))
            rows += nodes.definition_list_item("", term, definition)
        if len(rows):
            section += rows
        return section


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
