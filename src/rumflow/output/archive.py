"""Arrays and a few words about them in one file: NumPy's .npz with a JSON text in it. Nothing that could run code is read."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rumflow.errors import InputError
from rumflow.output.files import write_whole

_HEADER = "header"


def write_archive(path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write whole or not at all."""
    text = np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), np.uint8)
    content: dict[str, Any] = {_HEADER: text, **arrays}

    def write(file: IO[bytes]) -> None:
        np.savez(file, **content)

    write_whole(path, write)


def read_archive(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file whose header says `"kind": kind`."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not hasattr(archive, "files") or _HEADER not in archive.files:
                raise ValueError("it has no header")
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop(_HEADER).tobytes())
        if not isinstance(header, dict) or header.get("kind") != kind:
            raise ValueError("its header is another one")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (
        OSError,
        ValueError,
        EOFError,
        KeyError,
        TypeError,
        AttributeError,
        zipfile.BadZipFile,
        zlib.error,
    ) as fault:
        raise InputError(f"{path} is not a {kind}, or it is damaged ({str(fault)[:120]})") from None
    return header, arrays
