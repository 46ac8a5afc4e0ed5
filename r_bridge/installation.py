"""Installing sparcl from CRAN, in an R of its own, into a library the user may write to."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib import resources

from r_bridge.diagnosis import no_r
from r_bridge.errors import InstallationError
from r_bridge.session import add_library, started

__all__ = ["install_sparcl"]


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
        raise no_r().error()
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
    if started():
        add_library(said["library"])
    return said["version"]


_BY_HAND = (
    'Where CRAN can be reached, run in R: install.packages("sparcl")\n'
    "Elsewhere, copy the source package sparcl_<version>.tar.gz here from a machine that reaches "
    "CRAN, and run: R CMD INSTALL sparcl_<version>.tar.gz"
)
