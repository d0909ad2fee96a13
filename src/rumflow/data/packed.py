"""How much a packed file holds, before anything of it is kept: a few kilobytes can unpack to more than a disk holds.

Loads nothing but the standard library, since the server of `rumflow app` asks it as well.
"""

from __future__ import annotations

import gzip
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path


def unpacks_to_more(path: Path, most: int) -> bool:
    """Does a packed file hold more than so many bytes? What is wrong with it otherwise is for the reader to say.

    A zip file says how long its parts are, and no more than that is ever read of a part. Other files are unpacked, a piece at a
    time, until that is known; what is not packed holds 0 bytes.
    """
    with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(path) as book:
        return sum(part.file_size for part in book.infolist()) > most
    count = 0
    with suppress(OSError, EOFError, zlib.error), gzip.open(path) as file:
        while count <= most and (piece := file.read(1 << 20)):
            count += len(piece)
    return count > most
