"""Files that are written aside and put into their place whole.

Whatever stops a program (a full disk, an interrupt, a kill), the file that was there before is
still there, or the new one is, and never half of it. The mode of an old file is kept, a symbolic
link is followed, and what is no file (a folder, a device, a pipe) is not replaced by one.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ewp.common.checks import problem_with_file

__all__ = ["problem_with_target", "written_aside"]


def problem_with_target(path: Path) -> str | None:
    """Why a file cannot be written; None if it can, as far as one sees beforehand."""
    target = path.resolve() if path.is_symlink() else path
    if target.exists() and not (target.is_file() or target.is_dir()):
        return "this is a device or a pipe; give the name of a file"
    return problem_with_file(target)


@contextmanager
def written_aside(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a new file that takes the place of `path` when all is written.

    Parameters
    ----------
    path : path-like
        Used exactly as given.
    mode : {"wb", "w"}
        Text is UTF-8, with the ends of lines as they are given.

    Raises
    ------
    OSError
        If it cannot be written, with the reason; nothing has changed then.
    """
    target = Path(path).resolve()  # the file that a link names is replaced, not the link
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(target.parent)!r}; make it first")
    if problem := problem_with_target(target):
        raise OSError(f"{str(path)!r}: {problem}")
    partial = target.with_name(f".ewp-{secrets.token_hex(8)}.partial")
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    try:
        with partial.open(mode.replace("w", "x"), **text) as file:
            if target.exists():
                os.chmod(partial, stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
