"""Files, pipes and devices as bytes that can be read again, and never a line without end."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rumflow.errors import InputError

LONGEST_LINE = 1 << 24  # bytes
MOST_EMPTY_BYTES = 1 << 22  # bytes of nothing but line ends in a row
_LATE = 2.0  # seconds at most that are waited for whoever reads ahead
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"


class LocalFile(NamedTuple):
    """A file that can be read more than once."""

    path: Path
    name: str  # for messages
    start: bytes  # its first bytes
    spool: Any = None  # keeps the copy of a stream as long as it is needed


def local_file(path: str | Path) -> LocalFile:
    """The file, or a copy of what comes out of a pipe, a device or (for "-") standard input: these can be read only once."""
    name = "standard input" if str(path) == "-" else str(path)
    file = Path(path)
    try:
        if str(path) != "-":
            if not file.exists():
                raise InputError(f"{name}: there is no such file")
            if file.is_dir():
                raise InputError(f"{name} is a folder; name one file")
            if file.is_file():
                with open(file, "rb") as stream:
                    return LocalFile(file, name, stream.read(4096))
        source: Any = getattr(sys.stdin, "buffer", None) if str(path) == "-" else open(file, "rb")  # noqa: SIM115
        if source is None:
            raise InputError("standard input is closed; name a file")
        start = source.read(4096)
        _refuse_endless(name, start)
        spool = tempfile.NamedTemporaryFile(prefix="rumflow-")  # noqa: SIM115
        spool.write(start)
        shutil.copyfileobj(source, spool, 1 << 20)
        spool.flush()
        if str(path) != "-":
            source.close()
        return LocalFile(Path(spool.name), name, start, spool)
    except (OSError, ValueError) as fault:
        if isinstance(fault, InputError):
            raise
        raise InputError(f"{name}: cannot be read ({getattr(fault, 'strerror', None) or fault})") from None


def _refuse_endless(name: str, start: bytes) -> None:
    """Devices such as /dev/zero never end: what holds zero bytes, and is no known kind of file, is not copied."""
    known = start.startswith((GZIP, ZIP, b"PAR1", b"\xff\xfe", b"\xfe\xff"))
    if b"\x00" in start and not known:
        raise InputError(f"{name}, line 1: this is not a text file (it holds zero bytes); CSV and Parquet are read")


class Lines(io.RawIOBase):
    """A binary stream that refuses a line without end before it fills the memory."""

    def __init__(self, stream: Any, name: str) -> None:
        self.name: str = name
        self.stream, self.length, self.empty = stream, 0, 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes."""
        piece = self.stream.read(len(buffer))
        buffer[: len(piece)] = piece
        self.empty = self.empty + len(piece) if not piece.strip(b"\r\n") else 0
        if self.empty > MOST_EMPTY_BYTES:
            raise InputError(f"{self.name}: more than {MOST_EMPTY_BYTES:,} bytes of empty lines in a row; remove them")
        end = piece.rfind(b"\n")
        self.length = self.length + len(piece) if end < 0 else len(piece) - end - 1
        if self.length > LONGEST_LINE:
            raise InputError(
                f"{self.name}: a line is longer than {LONGEST_LINE >> 20} MiB; is this a table with one row per line?"
            )
        return len(piece)

    def close(self) -> None:
        """Close the stream below too."""
        self.stream.close()
        super().close()


@contextmanager
def let_go(stream: object) -> Iterator[None]:
    """Wait at the end until the threads of a library that reads ahead have let go of a stream.

    They need Python for it: one that is late, when Python shuts down, would end the process by an abort.
    """
    before = sys.getrefcount(stream)
    try:
        yield
    finally:
        until = time.monotonic() + _LATE
        while sys.getrefcount(stream) > before and time.monotonic() < until:
            time.sleep(0.001)
