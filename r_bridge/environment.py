"""What is installed of R and of rpy2, found in processes of their own.

Nothing is started in this process, so a broken installation is described and not suffered. What is
wrong with what was found, and its cure, is in `r_bridge.diagnosis`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata

from r_bridge.diagnosis import Problem, find_problems

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
    mode : str or None
        "API" where rpy2 talks to R through a compiled extension, "ABI" without one; None if R
        could not be started.
    failure : str or None
        Why R does not run, or why rpy2 cannot start it.
    sparcl, reticulate : str or None
        Versions of the R packages. reticulate serves the other direction, ewp from R.
    """

    r_home: str | None
    r_version: str | None
    rpy2: str | None
    rinterface: str | None
    mode: str | None = None
    failure: str | None = None
    sparcl: str | None = None
    reticulate: str | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What keeps Python from calling sparcl, each with its cure; in the order to mend them."""
        return find_problems(self)

    @property
    def starts(self) -> bool:
        """Whether Python can call R, with or without sparcl."""
        return self.mode is not None

    @property
    def ready(self) -> bool:
        """Whether Python can call sparcl."""
        return not self.problems

    def __str__(self) -> str:
        mode = f" ({self.mode} mode)" if self.mode else ""
        rows = {
            "R": self.r_version,
            "R_HOME": self.r_home,
            "rpy2": self.rpy2,
            "rpy2-rinterface": self.rinterface and self.rinterface + mode,
            "sparcl": self.sparcl,
            "reticulate": self.reticulate or "not found (needed only to call ewp from R)",
        }
        lines = [f"{name:<16} {value or 'not found'}" for name, value in rows.items()]
        if self.ready:
            return "\n".join([*lines, "", "Python can call sparcl."])
        steps = enumerate(self.problems, start=1)
        lines += [f"\n{number}. {problem}" for number, problem in steps]
        return "\n".join([*lines, "\nThen run again: ewp doctor"])


def _package_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


_QUESTION = """
version <- function(p) tryCatch(as.character(utils::packageVersion(p)), error = function(e) "")
cat("", R.home(), as.character(getRversion()), version("sparcl"), version("reticulate"), "",
    sep = "\\nanswer:")
"""


def _run(command: list[str]) -> tuple[list[str], str | None]:
    """The lines after "answer:" in a program's output, or none and the last thing it said."""
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=120, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], str(error)
    lines = [x.removeprefix("answer:") for x in answer.stdout.splitlines() if x[:7] == "answer:"]
    if answer.returncode == 0 and lines:
        return lines, None
    said = answer.stderr.strip().splitlines()
    return [], said[-1] if said else f"exit status {answer.returncode}"


def _try_rpy2() -> tuple[str | None, str | None]:
    """The mode in which rpy2 starts R, or None and the reason why it does not."""
    trial = (
        "from rpy2 import rinterface; rinterface.initr(); "
        "from rpy2.rinterface_lib import openrlib; "
        "print('\\nanswer:' + openrlib.cffi_mode.value)"
    )
    lines, failure = _run([sys.executable, "-c", trial])
    return (lines[0], None) if lines else (None, failure)


def check() -> Environment:
    """Look for R, rpy2 and sparcl, and try whether they work together.

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
    home = os.environ.get("R_HOME") or None
    program = shutil.which(os.path.join(home, "bin", "R") if home else "R")
    rpy2, rinterface = _package_version("rpy2"), _package_version("rpy2-rinterface")
    if program is None:
        return Environment(home, None, rpy2, rinterface)
    options = ["--no-echo", "--no-save", "--no-restore"]
    lines, failure = _run([program, *options, "-e", _QUESTION])
    if failure is not None:
        return Environment(home, None, rpy2, rinterface, failure=failure)
    found, version, sparcl, reticulate = lines[:4]
    mode = None
    if rpy2 is not None:
        mode, failure = _try_rpy2()
    return Environment(
        found, version, rpy2, rinterface, mode, failure, sparcl or None, reticulate or None
    )
