"""Files, written whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Literal

from rumflow.errors import InputError
from rumflow.output.frames import optional

#: What a spreadsheet takes for the beginning of a formula.
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def write_whole(
    path: str | Path, write: Callable[[IO[bytes]], object], inputs: Iterable[str | os.PathLike[str]] = ()
) -> None:
    """Let `write` fill a binary file and put it in place of `path` when it is complete: on an error the old file stays.

    A symbolic link stays and the file it points to is replaced; a device or a pipe is written into. `inputs` are the files
    that were read: none of them is overwritten.
    """
    try:
        mode = _mode(path, inputs)
        if mode is not None and not stat.S_ISREG(mode):
            with tempfile.TemporaryFile() as whole:
                write(whole)
                whole.seek(0)
                with open(path, "wb") as device:
                    shutil.copyfileobj(whole, device)
            return
        target = Path(os.path.realpath(path))
        partial = target.with_name(f".{os.getpid()}.{threading.get_ident()}.part")
        try:
            with open(partial, "wb") as file:
                write(file)
            if mode is not None:
                partial.chmod(stat.S_IMODE(mode))
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as fault:
        raise InputError(f"{path}: cannot be written ({fault.strerror or fault}); name another file") from None


def check_target(path: str | Path, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Raise before the work starts where `write_whole` would refuse to write."""
    try:
        mode = _mode(path, inputs)
    except OSError as fault:
        raise InputError(f"{path}: cannot be written ({fault.strerror or fault}); name another file") from None
    regular = mode is None or stat.S_ISREG(mode)  # replaced by a new file: the folder must be writable
    if not os.access(Path(os.path.realpath(path)).parent if regular else path, os.W_OK):
        raise InputError(f"{path}: cannot be written (no permission); name another file")


def _mode(path: str | Path, inputs: Iterable[str | os.PathLike[str]]) -> int | None:
    """The kind and the permissions of what stands at `path`, None where nothing does; an error where it must not be written."""
    if not str(path):
        raise InputError("the name of the file to write is empty")
    try:
        found = os.stat(path)
    except FileNotFoundError:
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise InputError(f"{path}: cannot be written: there is no folder {folder}") from None
        return None
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"{path} is a folder; name a file")
    if not stat.S_ISREG(found.st_mode):
        return found.st_mode
    for one in inputs:
        if os.path.exists(one) and os.path.samefile(one, path):
            raise InputError(f"{path} is the file that was read; name another file, so that the data are not lost")
    if os.path.abspath(path).startswith(("/dev/", "/proc/")):  # /dev/stdout sent to a file is written into
        return stat.S_IFIFO
    return found.st_mode


def write_table(table: Mapping[str, Any], path: str | Path, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """A table for people: columns as CSV, Parquet or JSON by the ending of the name.

    In CSV a text that a spreadsheet would take for a formula is preceded by an apostrophe; `write_csv` writes texts as they are.
    """
    kind = Path(path).suffix.lower()
    if kind in (".parquet", ".pq"):
        write_parquet(table, path, inputs)
    elif kind == ".json":
        rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
        text = json.dumps(rows, indent=1, default=str, ensure_ascii=False)
        write_whole(path, lambda file: file.write(text.encode()), inputs)
    else:
        write_csv({harmless(name): [harmless(v) for v in column] for name, column in table.items()}, path, inputs)


def harmless(value: Any) -> Any:
    """A text that no spreadsheet runs as a formula: an apostrophe goes before one that would be; numbers stay."""
    if not isinstance(value, str) or not value.startswith(FORMULA_SIGNS):
        return value
    try:
        float(value)
    except ValueError:
        return "'" + value
    return value


def write_csv(
    table: Mapping[str, Any],
    path: str | Path,
    inputs: Iterable[str | os.PathLike[str]] = (),
    quoting: Literal[0, 2] = csv.QUOTE_MINIMAL,
) -> None:
    """Columns as CSV, every text exactly as it is; `quoting` as in the module csv."""

    def write(file: IO[bytes]) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, quoting=quoting)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
        text.detach()

    write_whole(path, write, inputs)


def write_parquet(table: Mapping[str, Any], path: str | Path, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Columns as Parquet, with their types."""
    arrow, parquet = optional("pyarrow", "data"), optional("pyarrow.parquet", "data")
    try:
        columns = arrow.table(dict(table))
    except (arrow.ArrowException, OverflowError) as fault:
        raise InputError(
            f"{path}: a column cannot be written as Parquet ({str(fault).splitlines()[0][:120]})"
        ) from None
    write_whole(path, lambda file: parquet.write_table(columns, file), inputs)
