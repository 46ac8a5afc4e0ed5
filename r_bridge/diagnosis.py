"""What is wrong with an installation, as errors that name the cure."""

from __future__ import annotations

import importlib.util
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from r_bridge.advice import build_cure, package_cure, r_cure, rpy2_cure
from r_bridge.errors import PackageMissingError, RBridgeError, RNotFoundError, Rpy2Error

if TYPE_CHECKING:
    from r_bridge.environment import Environment

__all__ = ["Problem", "explain_failure", "find_problems", "no_r", "quick_problem"]


@dataclass(frozen=True)
class Problem:
    """One thing that is missing or broken, and the command that cures it."""

    text: str
    cure: str
    kind: type[RBridgeError] = RBridgeError

    def __str__(self) -> str:
        cure = self.cure.replace("\n", "\n   ")
        return f"{self.text}\n   {cure}"

    def error(self) -> RBridgeError:
        """The exception with this problem's text and cure."""
        return self.kind(f"{self.text}\n{self.cure}\nMore: ewp doctor")


def no_r() -> Problem:
    """There is no R, or the variable R_HOME leads elsewhere."""
    home = os.environ.get("R_HOME")
    if not home:
        text = "R was not found: no program R on the PATH, and R_HOME is not set."
        return Problem(text, f"Install R: {r_cure()}", RNotFoundError)
    text = f"R_HOME={home} does not lead to R: there is no program {os.path.join('bin', 'R')}."
    if shutil.which("R"):
        cure = "Remove the variable (unset R_HOME), or set it to what the command R RHOME prints."
    else:
        cure = f"Remove the variable (unset R_HOME) and install R: {r_cure()}"
    return Problem(text, cure, RNotFoundError)


def _no_rpy2(tools: bool = True) -> Problem:
    """rpy2 is missing; `tools`: the cure says where to get what it is built with."""
    first = build_cure() if tools else None
    cure = f"Install it: {rpy2_cure()}"
    if first is not None:
        cure = f"First what it is built with: {first}\n{cure}"
        if shutil.which("make"):
            cure += f"\nOr, without a compiler: RPY2_CFFI_MODE=ABI {rpy2_cure()}"
    return Problem("The Python package rpy2 is not installed.", cure, Rpy2Error)


def _broken_rpy2(found: Environment) -> Problem:
    """Both are there, but rpy2 cannot start R."""
    if _numbers(found.rinterface) >= (3, 6, 6) and _numbers(found.r_version) < (4, 5):
        text = (
            f"rpy2-rinterface {found.rinterface} needs R 4.5 or newer, "
            f"and R is {found.r_version}: {found.failure}"
        )
        return Problem(text, f"Install versions that fit: {rpy2_cure()}", Rpy2Error)
    text = f"rpy2 {found.rpy2} cannot start R {found.r_version}: {found.failure}"
    again = rpy2_cure("--force-reinstall", "--no-cache-dir")
    cure = f"Build it again for this R: {again}"
    first = build_cure()
    if first is not None:
        cure = f"First what it is built with: {first}\n{cure}"
    return Problem(text, cure, Rpy2Error)


def _numbers(version: str | None) -> tuple[int, ...]:
    """The numeric parts of a version.

    >>> _numbers("3.6.10") > _numbers("3.6.6"), _numbers("4.5.0.dev1")
    (True, (4, 5, 0))
    """
    parts = (version or "").split(".")
    return tuple(int(part) for part in parts if part.isdigit())[:3]


def find_problems(found: Environment) -> tuple[Problem, ...]:
    """What is missing or broken, in the order to mend it."""
    problems: list[Problem] = []
    if found.r_version is None and found.failure is None:
        problems.append(no_r())
    elif found.r_version is None:
        text = f"R is there but does not run: {found.failure}"
        cure = "Run R in a terminal and mend what it says; often it is the file .Rprofile."
        problems.append(Problem(text, cure, RNotFoundError))
    if found.rpy2 is None:
        # The cure for a missing R brings the tools.
        problems.append(_no_rpy2(tools=found.r_version is not None))
    elif found.r_version is not None and not found.starts:
        problems.append(_broken_rpy2(found))
    if found.sparcl is None:
        text = "The R package sparcl is not installed."
        if found.r_version is None:
            text = "The R package sparcl is needed too."
        problems.append(Problem(text, package_cure("sparcl"), PackageMissingError))
    return tuple(problems)


def quick_problem() -> RBridgeError | None:
    """The error for what can be seen to be missing without starting anything."""
    session = os.environ.get("R_SESSION_INITIALIZED", "")
    if f"PID={os.getpid()}:" in session and "rpy2" not in session:
        return RBridgeError(
            "This Python runs inside R, which cannot be started twice.\n"
            "Call sparcl in R itself, or run this Python program on its own."
        )
    home = os.environ.get("R_HOME")
    if shutil.which(os.path.join(home, "bin", "R") if home else "R") is None:
        return no_r().error()
    if importlib.util.find_spec("rpy2") is None:
        return _no_rpy2().error()
    return None


def explain_failure(error: BaseException) -> RBridgeError:
    """The error for a start of R that failed, by looking at the whole installation."""
    from r_bridge.environment import check

    for problem in check().problems:
        if problem.kind is not PackageMissingError:
            return problem.error()
    return Rpy2Error(f"rpy2 could not start R: {error}\nMore: ewp doctor")
