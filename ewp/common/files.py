"""Files that are written aside and put into their place whole.

Whatever stops a program (a full disk, an interrupt, a kill), the file that was there before is
still there, or the new one is, and never half of it. The mode of an old file is kept, a symbolic
link is followed, and what is no file (a folder, a device, a pipe) is not replaced by one.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ewp.common.checks import problem_with_file

__all__ = ["problem_with_target", "written_aside", "written_together"]


def problem_with_target(path: Path) -> str | None:
    """Why a file cannot be written; None if it can, as far as one sees beforehand."""
    target = path.resolve() if path.is_symlink() else path
    if target.exists() and not (target.is_file() or target.is_dir()):
        return "this is a device or a pipe; give the name of a file"
    return problem_with_file(target)


@contextmanager
def written_together() -> Iterator[Callable[..., IO[Any]]]:
    """Open new files that take their places together, when all of them are written.

    Yields
    ------
    callable
        Opens a file as `written_aside` does, with its path and mode; it is closed here.
    """
    opened: list[_Aside] = []

    def new(path: str | os.PathLike[str], mode: str = "wb") -> IO[Any]:
        opened.append(_Aside(path, mode))
        return opened[-1].file

    try:
        yield new
        for one in opened:
            one.finish()
        for one in opened:
            os.replace(one.partial, one.target)
    except BaseException:
        for one in opened:
            one.discard()
        raise


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
    with written_together() as new:
        yield new(path, mode)


class _Aside:
    """A file beside the one whose place it is to take."""

    def __init__(self, path: str | os.PathLike[str], mode: str) -> None:
        self.target = Path(path).resolve()  # the file that a link names is replaced, not the link
        if not self.target.parent.is_dir():
            raise FileNotFoundError(
                f"there is no folder {str(self.target.parent)!r}; make it first"
            )
        if problem := problem_with_target(self.target):
            raise OSError(f"{str(path)!r}: {problem}")
        self.partial = self.target.with_name(f".ewp-{secrets.token_hex(8)}.partial")
        text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
        self.file = self.partial.open(mode.replace("w", "x"), **text)
        if self.target.exists():
            os.chmod(self.partial, stat.S_IMODE(self.target.stat().st_mode))

    def finish(self) -> None:
        """Bring all that was written to the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()

    def discard(self) -> None:
        """Remove what was written."""
        with contextlib.suppress(OSError):  # what is still to be written may not fit either
            self.file.close()
        self.partial.unlink(missing_ok=True)
