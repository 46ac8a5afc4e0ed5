"""What the tests of the bridge to R share: whether R can be called here, programs, data.

Without R, tests that need it skip with the reason; with CI=true they fail instead. Tests that need
the R package sparcl skip where it is not installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from r_bridge.errors import PackageMissingError, RBridgeError
from r_bridge.session import call, require

ROOT = Path(__file__).parents[2]

CALL = """
import numpy as np, r_bridge
X = np.random.default_rng(0).normal(size=(10, 3))
try:
    r_bridge.{call}
except r_bridge.RBridgeError as error:
    print(type(error).__name__)
    print(error)
"""


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


def message_of(call: str, **environment: str | None) -> str:
    done = run_python(CALL.format(call=call), **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def clusters(seed: int = 0, n: int = 60, p: int = 5, k: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) + 5.0 * (np.arange(n) % k)[:, None]


def draw(n: int, p: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Data with clusters that are clear or hardly there, centres among its rows, bounds."""
    rng = np.random.default_rng([n, p, k, seed])
    X = rng.normal(size=(n, p))
    X[:, : max(2, p // 4)] += rng.uniform(0, 4) * (np.arange(n) % k)[:, None]
    X *= rng.uniform(0.3, 3, size=p)
    centers = X[rng.choice(n, k, replace=False)]
    return X, centers, np.sort(rng.uniform(1.3, 1.02 * np.sqrt(p), size=2))


def named(seed: int = 0) -> pd.DataFrame:
    X, _, _ = draw(45, 8, 3, seed)
    return pd.DataFrame(X, index=[f"s{i}" for i in range(45)], columns=list("abcdefgh"))
