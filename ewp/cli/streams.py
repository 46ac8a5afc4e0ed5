"""Files as the command line meets them: opened, looked at, counted and hashed while they are read.

`open_stream` takes a path or ``-``; what comes back reads bytes once from front to end, shows a
bar, and knows the SHA-256 of all that was read. What the bytes are is told by their first few, not
by the name of the file: gzip is unpacked, Parquet recognised, and what is no table is refused with
what would help.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from ewp.common.parallel import tqdm

__all__ = [
    "InputError",
    "Joined",
    "ShortLines",
    "Stream",
    "open_stream",
]

#: A bar for less than this many bytes would only flicker.
_WORTH_A_BAR = 20_000_000
_REFUSED = {
    b"PK\x03\x04": "is a zip archive, as Excel's files are; save the sheet as CSV",
    b"\x93NUMPY": "is a NumPy file, which ewp.fit takes in Python; the command line reads tables",
    b"\xd0\xcf\x11\xe0": "is an old Excel file; save the sheet as CSV",
    b"BZh": "is packed by bzip2; unpack it first: bunzip2",
    b"\xfd7zXZ": "is packed by xz; unpack it first: unxz",
    b"(\xb5/\xfd": "is packed by zstd; unpack it first: unzstd",
}
_WIDE = (b"\xff\xfe", b"\xfe\xff")


class InputError(ValueError):
    """Data or options that cannot be used; the message says what would help."""


class Stream(io.RawIOBase):
    """Bytes read once, from front to end.

    Parameters
    ----------
    raw : binary file
    name : str
        As messages call it.
    size : int or None
        Number of bytes, if it is known.
    progress : bool
        Show a bar on stderr.
    """

    def __init__(self, raw: BinaryIO, name: str, size: int | None, *, progress: bool) -> None:
        self.name = name
        self._raw = raw
        self._hash = hashlib.sha256()
        shown = progress and (size is None or size > _WORTH_A_BAR)
        self._bar = tqdm(
            desc="reading", total=size, unit="B", unit_scale=True, leave=False, progress=shown
        )

    def readable(self) -> bool:
        """Whether bytes can be read: they can."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer and return how many bytes there were."""
        view = memoryview(buffer)
        count = cast("Any", self._raw).readinto(view) or 0
        self._hash.update(view[:count])
        self._bar.update(count)
        return count

    def close(self) -> None:
        """Put the bar away and close the file."""
        if not self.closed:
            self._bar.close()
            if self._raw is not getattr(sys.stdin, "buffer", None):
                self._raw.close()
        super().close()

    @property
    def sha256(self) -> str:
        """The hash of what was read, in hexadecimal digits."""
        return self._hash.hexdigest()


class ShortLines:
    """A text file of which no line is so long that it would fill the memory.

    Parameters
    ----------
    text : text file
    name : str
        As messages call it.
    most : int
        Characters that a line may have.
    """

    def __init__(self, text: Any, name: str, most: int) -> None:
        self._text = text
        self._name = name
        self._most = most
        self._length = 0

    def read(self, size: int = -1) -> str:
        """Read so many characters."""
        part = str(self._text.read(size))
        end = max(part.rfind("\n"), part.rfind("\r"))
        self._length = len(part) - end - 1 if end >= 0 else self._length + len(part)
        self._check()
        return part

    def readline(self) -> str:
        """Read a line."""
        line = str(self._text.readline(self._most + 1))
        self._length = len(line)
        self._check()
        self._length = 0
        return line

    def _check(self) -> None:
        if self._length > self._most:
            raise InputError(
                f"a line of {self._name} has more than {self._most:,} characters; is this a table?"
            )

    def __iter__(self) -> Iterator[str]:
        return iter(self.readline, "")


class Joined:
    """A text file with a line put before it again."""

    def __init__(self, line: str, rest: Any) -> None:
        self._line = line
        self._rest = rest

    def read(self, size: int = -1) -> str:
        """Read so many characters."""
        line, self._line = self._line, ""
        return line or str(self._rest.read(size))

    def __iter__(self) -> Iterator[str]:
        if self._line:
            yield self.read()
        yield from self._rest


def open_stream(
    path: str, *, encoding: str | None, progress: bool
) -> tuple[Stream, BinaryIO, bool]:
    """Open a table.

    Parameters
    ----------
    path : str
        ``-`` is standard input.
    encoding : str or None
        What the user says of the text; None is UTF-8.
    progress : bool

    Returns
    -------
    stream : Stream
        What knows the hash.
    content : binary file
        The bytes of the table, unpacked.
    parquet : bool
        Whether they are Parquet; text otherwise.
    """
    stream = _open(path, progress)
    content: Any = io.BufferedReader(stream, 2**20)
    head = content.peek(8192)
    if head[:2] == b"\x1f\x8b":
        content = io.BufferedReader(cast("Any", gzip.GzipFile(fileobj=content)), 2**20)
        try:
            head = content.peek(8192)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{stream.name} is damaged: {error}") from error
    if not head:
        raise InputError(f"{stream.name} is empty; it should have a header and one line per row")
    if head[:4] == b"PAR1":
        return stream, content, True
    for magic, words in _REFUSED.items():
        if head.startswith(magic):
            raise InputError(f"{stream.name} {words}")
    if encoding is None and head[:2] in _WIDE:
        raise InputError(f"{stream.name} is text in UTF-16; give --encoding utf-16")
    if encoding is None and b"\0" in head:
        raise InputError(f"{stream.name} is not a text file; give a CSV, TSV or Parquet table")
    return stream, content, False


def _open(path: str, progress: bool) -> Stream:
    if path == "-":
        if sys.stdin.isatty():
            raise InputError("nothing comes from standard input; write: ewp ... - < data.csv")
        return Stream(cast("BinaryIO", sys.stdin.buffer), "standard input", None, progress=progress)
    file = Path(path)
    if file.is_dir():
        raise InputError(f"{path!r} is a folder; name a file in it")
    if not file.exists():
        raise InputError(f"there is no file {path!r}")
    try:
        raw = file.open("rb", buffering=0)
    except OSError as error:
        raise InputError(f"{path!r} cannot be read: {error.strerror or error}") from error
    return Stream(cast("BinaryIO", raw), repr(path), file.stat().st_size, progress=progress)
