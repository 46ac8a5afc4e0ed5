"""What is installed of R, rpy2 and sparcl, what is not, and the commands that cure it.

`check` finds out in processes of their own, so that a broken installation is described and not
suffered; the `problems` of what it found each carry a cure for the machine at hand, and become the
errors of a session that cannot start. `install_sparcl` carries out one of the cures: sparcl from
CRAN, in an R of its own, into a library the user may write to.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib import metadata, resources

from r_bridge.errors import (
    InstallationError,
    PackageMissingError,
    RBridgeError,
    RNotFoundError,
    Rpy2Error,
)

__all__ = [
    "REQUIREMENTS",
    "Environment",
    "Problem",
    "check",
    "explain_failure",
    "install_sparcl",
    "package_cure",
    "python_headers",
    "quick_problem",
]

#: What the extra ``ewp-kmeans[r]`` asks for; newer rpy2-rinterface needs R 4.5.
REQUIREMENTS = ("rpy2>=3.6.4", "rpy2-rinterface>=3.6.4,<3.6.6")


# -- what is installed --------------------------------------------------------------------------


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
    other_ewp : str or None
        Version of the other Python package, called ewp on the index, if it is installed.
    """

    r_home: str | None
    r_version: str | None
    rpy2: str | None
    rinterface: str | None
    mode: str | None = None
    failure: str | None = None
    sparcl: str | None = None
    reticulate: str | None = None
    other_ewp: str | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What keeps Python from calling sparcl, or may do so, each with its cure, in order."""
        return _find_problems(self)

    @property
    def starts(self) -> bool:
        """Whether Python can call R, with or without sparcl."""
        return self.mode is not None

    @property
    def ready(self) -> bool:
        """Whether Python can call sparcl, and nothing stands in the way of ewp itself."""
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


def _other_ewp() -> str | None:
    """Version of the package that is called ewp on the index, where this one is ewp-kmeans."""
    try:
        found = metadata.metadata("ewp")
    except metadata.PackageNotFoundError:
        return None
    # Versions before 0.2 of this package had that name in copies of the repository.
    ours = "Author" in found and found["Author"] == _AUTHOR
    return None if ours else found["Version"]


_AUTHOR = "The ewp developers"
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
    other = _other_ewp()
    if program is None:
        return Environment(home, None, rpy2, rinterface, other_ewp=other)
    options = ["--no-echo", "--no-save", "--no-restore"]
    lines, failure = _run([program, *options, "-e", _QUESTION])
    if failure is not None:
        return Environment(home, None, rpy2, rinterface, failure=failure, other_ewp=other)
    found, version, sparcl, reticulate = lines[:4]
    mode = None
    if rpy2 is not None:
        mode, failure = _try_rpy2()
    return Environment(
        found,
        version,
        rpy2,
        rinterface,
        mode,
        failure,
        sparcl=sparcl or None,
        reticulate=reticulate or None,
        other_ewp=other,
    )


# -- what is wrong with it ----------------------------------------------------------------------


def _two_packages(version: str) -> Problem:
    """Another package of the same module name is installed beside this one."""
    text = (
        f"Another package called ewp ({version}) is installed beside this one, which is called "
        "ewp-kmeans; import ewp may find either."
    )
    words = (sys.executable or "python3", "-m", "pip", "uninstall", "-y", "ewp")
    return Problem(text, f"Remove it: {shlex.join(words)}")


def _no_r() -> Problem:
    """There is no R, or the variable R_HOME leads elsewhere."""
    home = os.environ.get("R_HOME")
    if not home:
        text = "R was not found: no program R on the PATH, and R_HOME is not set."
        return Problem(text, f"Install R: {_r_cure()}", RNotFoundError)
    text = f"R_HOME={home} does not lead to R: there is no program {os.path.join('bin', 'R')}."
    if shutil.which("R"):
        cure = "Remove the variable (unset R_HOME), or set it to what the command R RHOME prints."
    else:
        cure = f"Remove the variable (unset R_HOME) and install R: {_r_cure()}"
    return Problem(text, cure, RNotFoundError)


def _no_rpy2(tools: bool = True) -> Problem:
    """rpy2 is missing; `tools`: the cure says where to get what it is built with."""
    first = _build_cure() if tools else None
    cure = f"Install it: {_rpy2_cure()}"
    if first is not None:
        cure = f"First what it is built with: {first}\n{cure}"
        if shutil.which("make"):
            cure += f"\nOr, without a compiler: RPY2_CFFI_MODE=ABI {_rpy2_cure()}"
    return Problem("The Python package rpy2 is not installed.", cure, Rpy2Error)


def _broken_rpy2(found: Environment) -> Problem:
    """Both are there, but rpy2 cannot start R."""
    if _numbers(found.rinterface) >= (3, 6, 6) and _numbers(found.r_version) < (4, 5):
        text = (
            f"rpy2-rinterface {found.rinterface} needs R 4.5 or newer, "
            f"and R is {found.r_version}: {found.failure}"
        )
        return Problem(text, f"Install versions that fit: {_rpy2_cure()}", Rpy2Error)
    text = f"rpy2 {found.rpy2} cannot start R {found.r_version}: {found.failure}"
    again = _rpy2_cure("--force-reinstall", "--no-cache-dir")
    cure = f"Build it again for this R: {again}"
    first = _build_cure()
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


def _find_problems(found: Environment) -> tuple[Problem, ...]:
    """What is missing or broken, in the order to repair it."""
    problems: list[Problem] = []
    if found.other_ewp is not None:
        problems.append(_two_packages(found.other_ewp))
    if found.r_version is None and found.failure is None:
        problems.append(_no_r())
    elif found.r_version is None:
        text = f"R is there but does not run: {found.failure}"
        cure = "Run R in a terminal and repair what it says; often it is the file .Rprofile."
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
        return _no_r().error()
    if importlib.util.find_spec("rpy2") is None:
        return _no_rpy2().error()
    return None


def explain_failure(error: BaseException) -> RBridgeError:
    """The error for a start of R that failed, by looking at the whole installation."""
    for problem in check().problems:
        if problem.kind not in (PackageMissingError, RBridgeError):
            return problem.error()
    return Rpy2Error(f"rpy2 could not start R: {error}\nMore: ewp doctor")


# -- the cures ---------------------------------------------------------------------------------


def _as_root(command: str) -> str:
    root = not hasattr(os, "geteuid") or os.geteuid() == 0
    return command if root else f"sudo {command}"


def _apt(packages: list[str]) -> str:
    install = "apt-get install -y " + " ".join(packages)
    return f"{_as_root('apt-get update')} && {_as_root(install)}"


def python_headers() -> list[str]:
    """Debian's package of Python's headers, where the interpreter needs it."""
    include = sysconfig.get_path("include", vars={"installed_base": sys.base_prefix})
    if sys.base_prefix != "/usr" or os.path.exists(os.path.join(include, "Python.h")):
        return []
    return [f"python{sys.version_info.major}.{sys.version_info.minor}-dev"]


def _r_cure() -> str:
    """How to install R, with what is needed to build rpy2 and R packages."""
    if shutil.which("apt-get"):
        return _apt(["r-base-dev", *python_headers()])
    if shutil.which("dnf"):
        return _as_root("dnf install -y R-devel python3-devel")
    if shutil.which("brew"):
        return "brew install r"
    if shutil.which("conda"):
        return "conda install -c conda-forge r-base"
    return "version 4.0 or newer, from the Comprehensive R Archive Network (CRAN)"


def _build_cure() -> str | None:
    """How to get the tools rpy2 is built with, or None where they are there."""
    if not shutil.which("apt-get"):
        return None
    packages = [] if shutil.which("make") and shutil.which("cc") else ["r-base-dev"]
    packages += python_headers()
    return _apt(packages) if packages else None


def _rpy2_cure(*options: str) -> str:
    """How to install the versions of rpy2 that work, into the running Python.

    >>> _rpy2_cure().endswith("-m pip install 'rpy2>=3.6.4' 'rpy2-rinterface>=3.6.4,<3.6.6'")
    True
    """
    words = (sys.executable or "python3", "-m", "pip", "install", *options, *REQUIREMENTS)
    return shlex.join(words)


def package_cure(name: str) -> str:
    """How to install an R package.

    >>> print(package_cure("cluster"))
    In R, run: install.packages("cluster")
    """
    in_r = f'In R, run: install.packages("{name}")'
    if name != "sparcl":
        return in_r
    return f"{in_r}\nor in Python: import r_bridge; r_bridge.install_sparcl()"


# -- installing sparcl -------------------------------------------------------------------------

_BY_HAND = (
    'Where CRAN can be reached, run in R: install.packages("sparcl")\n'
    "Elsewhere, copy the source package sparcl_<version>.tar.gz here from a machine that reaches "
    "CRAN, and run: R CMD INSTALL sparcl_<version>.tar.gz"
)


def install_sparcl(repository: str | None = None, timeout: float = 1800.0) -> str:
    """Install the R package sparcl from CRAN, unless it is there.

    It goes into the first of R's libraries that can be written to, else into the user's own,
    which is made if need be. It is built from source, for which R's development tools are needed
    (Debian: r-base-dev).

    Parameters
    ----------
    repository : str, optional
        Address of a CRAN mirror. By default R's own setting, or CRAN's cloud if there is none.
    timeout : float, default 1800
        Seconds after which to give up.

    Returns
    -------
    str
        The version of sparcl.

    Raises
    ------
    InstallationError
        If CRAN cannot be reached or the package cannot be built; the message says which.
    RNotFoundError
        If there is no R.
    """
    home = os.environ.get("R_HOME")
    program = shutil.which(os.path.join(home, "bin", "Rscript") if home else "Rscript")
    if program is None:
        raise _no_r().error()
    with resources.as_file(resources.files("r_bridge").joinpath("install.R")) as script:
        try:
            answer = subprocess.run(
                [program, "--no-save", "--no-restore", str(script), "sparcl", repository or ""],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise InstallationError(
                f"sparcl was not installed within {timeout:g} seconds: the connection to CRAN may "
                f"be blocked.\n{_BY_HAND}"
            ) from error
    said = {
        line.partition(":")[0]: line.partition(":")[2]
        for line in answer.stdout.splitlines()
        if line.startswith(("library:", "version:", "unreachable:", "absent:"))
    }
    if "unreachable" in said:
        raise InstallationError(
            f"CRAN cannot be reached from this machine ({said['unreachable']}).\n{_BY_HAND}"
        )
    if "absent" in said:
        raise InstallationError(f"{said['absent']} has no sparcl.\n{_BY_HAND}")
    if "version" not in said:
        tail = "\n".join(answer.stderr.strip().splitlines()[-15:])
        raise InstallationError(f"R could not install sparcl:\n{tail}\n{_BY_HAND}")
    # Not at the top: a session that cannot start asks this module why.
    from r_bridge.session import add_library

    add_library(said["library"])
    return said["version"]
