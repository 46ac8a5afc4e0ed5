"""What is installed of R and of rpy2, found without starting either."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from importlib import metadata

__all__ = ["Environment", "check"]


@dataclass(frozen=True)
class Environment:
    """R and rpy2 as found on this machine; None where there is nothing.

    Attributes
    ----------
    r_home : str or None
        R's home directory, from the variable R_HOME or from R itself.
    r_version : str or None
    rpy2, rinterface : str or None
        Versions of the Python packages rpy2 and rpy2-rinterface.
    """

    r_home: str | None
    r_version: str | None
    rpy2: str | None
    rinterface: str | None

    @property
    def ready(self) -> bool:
        """Whether both R and rpy2 are there."""
        return self.r_version is not None and self.rpy2 is not None

    def __str__(self) -> str:
        rows = {
            "R": self.r_version,
            "R_HOME": self.r_home,
            "rpy2": self.rpy2,
            "rpy2-rinterface": self.rinterface,
        }
        lines = [f"{name:<16} {value or 'not found'}" for name, value in rows.items()]
        if self.r_version is None:
            lines.append("Install R first; on Debian and Ubuntu: apt-get install r-base-dev")
        if self.rpy2 is None:
            lines.append('Install rpy2 with: pip install "ewp[r]"')
        return "\n".join(lines)


def _package_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _ask_r(home: str | None) -> tuple[str | None, str | None]:
    """R's home and version as R itself reports them."""
    program = os.path.join(home, "bin", "R") if home else shutil.which("R")
    if program is None or not os.path.exists(program):
        return home, None
    question = 'cat(R.home(), as.character(getRversion()), sep = "\\n")'
    answer = subprocess.run(
        [program, "--vanilla", "--no-echo", "-e", question],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if answer.returncode != 0:
        return home, None
    found, version = answer.stdout.splitlines()[:2]
    return found, version


def check() -> Environment:
    """Look for R and rpy2.

    Returns
    -------
    Environment
        Print it for one screen that says what is there and what cures what is not.

    Examples
    --------
    >>> from r_bridge import check
    >>> check().ready in (True, False)
    True
    """
    home, version = _ask_r(os.environ.get("R_HOME"))
    return Environment(home, version, _package_version("rpy2"), _package_version("rpy2-rinterface"))
