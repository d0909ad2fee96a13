"""Arrays and a few words about them in one file: NumPy's .npz with a JSON text in it. Nothing that could run code is read.

A file may come from anywhere. Its list of contents is checked before any of it is read: no name twice, nothing compressed, and
every array as long as its shape says, all of them together no longer than the file. So no more memory is taken than the file is
long. Arrays are numbers or truth values in the byte order that all our files have, the first byte the lowest.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rumflow.errors import InputError
from rumflow.output.files import write_whole

_HEADER = "header"
_MOST_MEMBERS = 100


def write_archive(path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write whole or not at all."""
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    content: dict[str, Any] = {_HEADER: text, **arrays}

    def write(file: IO[bytes]) -> None:
        np.savez(file, **content)

    write_whole(path, write)


def read_archive(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file whose header says `"kind": kind`."""
    try:
        with zipfile.ZipFile(path) as archive:
            arrays = {
                member.filename.removesuffix(".npy"): _read(archive, member) for member in _members(archive, path)
            }
        if _HEADER not in arrays:
            raise ValueError("it has no header")
        header = json.loads(arrays.pop(_HEADER).tobytes(), parse_constant=_refuse)
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
        RecursionError,
        SyntaxError,
        NotImplementedError,
        RuntimeError,
        zipfile.BadZipFile,
        zlib.error,
    ) as fault:
        raise InputError(f"{path} is not a {kind}, or it is damaged ({str(fault)[:120]})") from None
    return header, arrays


def _members(archive: zipfile.ZipFile, path: str | Path) -> list[zipfile.ZipInfo]:
    """What the file holds, as far as its list of contents can be believed."""
    members = archive.infolist()
    names = [member.filename for member in members]
    if len(names) > _MOST_MEMBERS:
        raise ValueError(f"it holds {len(names):,} arrays, where {_MOST_MEMBERS} are the most")
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise ValueError(f"{twice!r} is in it twice")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("its arrays are compressed, which those of saved files never are")
    if sum(member.file_size for member in members) > Path(path).stat().st_size:
        raise ValueError("its arrays are said to be longer than the file")
    return members


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """One array, once its shape and type are those of what follows."""
    with archive.open(member) as file:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(file)
        if dtype.kind not in "biuf" or dtype.str[0] not in "<|":
            raise ValueError(f"{member.filename!r} holds {dtype.str!r}, not numbers in the usual order of bytes")
        if file.tell() + prod(shape) * dtype.itemsize != member.file_size:
            raise ValueError(f"{member.filename!r} is not as long as its shape {shape} says")
        flat = np.frombuffer(file.read(), dtype)
    array = flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)
    return np.array(array, dtype.newbyteorder("="))


def _refuse(word: str) -> None:
    raise ValueError(f"its header holds {word}, which is no number")
