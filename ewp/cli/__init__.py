"""The command line ``ewp``: commands, their options, tables that are read, what is given back.

Nothing is loaded here but the entry point, so that an interrupt while the rest is loaded ends in
words too.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ewp.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Entry point of the console script."""
    try:
        from ewp.cli.commands import main as run
    except KeyboardInterrupt:
        print("ewp: interrupted; nothing was written", file=sys.stderr)
        raise SystemExit(130) from None
    run()


def __getattr__(name: str) -> Any:
    """Load the commands when they are asked for."""
    if name == "app":
        from ewp.cli.commands import app

        return app
    raise AttributeError(f"module 'ewp.cli' has no attribute {name!r}")
