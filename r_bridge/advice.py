"""The commands that cure what is missing, for the machine at hand."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig

__all__ = [
    "REQUIREMENTS",
    "build_cure",
    "package_cure",
    "python_headers",
    "r_cure",
    "rpy2_cure",
]

#: What the extra ``ewp[r]`` asks for; newer rpy2-rinterface cannot be imported with R before 4.5.
REQUIREMENTS = ("rpy2>=3.6.4", "rpy2-rinterface>=3.6.4,<3.6.6")


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


def r_cure() -> str:
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


def build_cure() -> str | None:
    """How to get the tools rpy2 is built with, or None where they are there."""
    if not shutil.which("apt-get"):
        return None
    packages = [] if shutil.which("make") and shutil.which("cc") else ["r-base-dev"]
    packages += python_headers()
    return _apt(packages) if packages else None


def rpy2_cure(*options: str) -> str:
    """How to install the versions of rpy2 that work, into the running Python.

    >>> rpy2_cure().endswith("-m pip install 'rpy2>=3.6.4' 'rpy2-rinterface>=3.6.4,<3.6.6'")
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
