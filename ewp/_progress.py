"""The progress bar: tqdm's, for a terminal or a notebook.

tqdm decides at import where it is, and warns in notebooks that lack widgets; it is asked only when
a bar is shown.
"""

from __future__ import annotations

from typing import Any

__all__ = ["tqdm"]


def tqdm(*arguments: Any, disable: bool = False, **options: Any) -> Any:
    """Return tqdm's bar; a disabled one only counts and passes on what it iterates over.

    Parameters
    ----------
    *arguments, **options
        As tqdm takes them.
    disable : bool, default False
    """
    if disable:
        from tqdm import tqdm as bar
    else:
        from tqdm.auto import tqdm as bar
    return bar(*arguments, disable=disable, **options)
