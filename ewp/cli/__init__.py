"""The command line ``ewp``: commands, their options, tables that are read, what is given back."""

from ewp.cli.commands import app, main

__all__ = ["app", "main"]
