"""Signatures worth reading: those of results, which users do not make themselves, are left out."""

from __future__ import annotations

import dataclasses
from typing import Any

from sphinx.application import Sphinx

#: Classes that users do make.
_MADE_BY_USERS = {"SparclMethod", "Predictive", "Stability", "Gap"}


def shorten(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returned: str
) -> tuple[str, str] | None:
    """Drop the signature of a dataclass: its fields are among the attributes below it."""
    result = dataclasses.is_dataclass(obj) or (what == "class" and hasattr(obj, "_fields"))
    if what == "class" and result and obj.__name__ not in _MADE_BY_USERS:
        return "", ""
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the filter."""
    app.connect("autodoc-process-signature", shorten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
