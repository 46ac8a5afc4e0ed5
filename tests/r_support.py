"""What the tests of the bridge to R share: whether R can be called here, and programs of their own.

Without R, tests that need it skip with the reason; with CI=true they fail instead. Tests that need
the R package sparcl skip where it is not installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from r_bridge.errors import PackageMissingError, RBridgeError
from r_bridge.session import call, require

ROOT = Path(__file__).parent.parent


def require_r() -> None:
    try:
        call("base", "nchar", {"x": "R"})
    except RBridgeError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI=true, but R cannot be called: {error}")
        pytest.skip(f"R cannot be called: {error}")


def require_sparcl() -> None:
    require_r()
    try:
        require("sparcl")
    except PackageMissingError:
        pytest.skip(
            'sparcl is not installed, and CRAN may be out of reach: install.packages("sparcl")'
        )


def run_python(code: str, **environment: str | None) -> subprocess.CompletedProcess[str]:
    """Run a program with variables set, or removed where they are None."""
    variables = {"R_HOME": None, "CI": None, **environment}
    env: dict[str, Any] = {**os.environ, **variables}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={name: value for name, value in env.items() if value is not None},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def fake_r(home: Path, version: str = "4.2.2", sparcl: str = "1.0.4") -> Path:
    """A folder that looks like R's home: its program answers what `r_bridge.check` asks."""
    program = home / "bin" / "R"
    program.parent.mkdir(parents=True)
    answers = "".join(f"\\nanswer:{text}" for text in (home, version, sparcl, "", ""))
    program.write_text(f"#!/bin/sh\nprintf '{answers}\\n'\n")
    program.chmod(0o755)
    return home
